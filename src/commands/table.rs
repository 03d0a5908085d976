//! Rows of text, one line each. Other programs write the records of tasks, messages and members, so a line break in a
//! field must not begin a line: it is shown as `⏎`.

use unicode_width::UnicodeWidthStr;

use crate::domain::text::one_line;

/// Returns the rows as lines in which each column is as wide as its widest cell. The first row usually contains the
/// headings.
pub fn table(rows: &[Vec<String>]) -> String {
    let rows = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)));
    let rows: Vec<Vec<String>> = rows.map(Iterator::collect).collect();
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
    lines(rows.iter().map(line))
}

/// Returns the rows as lines.
pub fn lines(rows: impl IntoIterator<Item = String>) -> String {
    let rows: Vec<String> = rows.into_iter().map(|row| one_line(&row)).collect();
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn line_breaks_in_fields_begin_no_rows() {
        let rows = ["a\nb".to_string(), "c".to_string()];
        assert_eq!(lines(rows), "a⏎b\nc");
        let cells = [["NAME", "ROLE"], ["x\ny", "r"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&cells), "NAME  ROLE\nx⏎y   r");
    }
}
