//! Tables of text with aligned columns.

use unicode_width::UnicodeWidthStr;

/// Returns the rows as lines in which each column is as wide as its widest cell. The first row usually contains the
/// headings.
pub fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let padded: Vec<String> = cells
            .map(|(at, cell)| format!("{cell}{}", " ".repeat(width(at) - cell.width())))
            .collect();
        padded.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
