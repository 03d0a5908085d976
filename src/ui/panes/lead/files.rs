//! The files and directories that the completion list offers while the user types a mention.

use crate::domain::mention;
use crate::ui::app::App;
use crate::ui::app::mentions::FileListState;
use crate::ui::frame::pick::PickerRow;
use crate::ui::panes::lead::complete::{Choice, CompletionRow};
use crate::ui::text::fuzzy::FuzzyPattern;
use crate::ui::text::width;

/// Returns a row for each file that matches `query`, the text after `@`, best match first.
pub fn rows(app: &App, query: &str) -> Vec<CompletionRow> {
    let mut pattern = FuzzyPattern::of_path(query);
    let still_matches = |path: &str| pattern.score(path).is_some();
    let files = app.input.mentions.matches(query, still_matches);
    let rows = files.into_iter().map(|file| {
        let words = mention::format_mention(&file.path);
        let offset = if words.starts_with("@\"") { 2 } else { 1 };
        PickerRow {
            marked: file.marked.iter().map(|at| at + offset).collect(),
            ..PickerRow::new(words, String::new(), Choice::File)
        }
    });
    rows.collect()
}

/// Returns a note if the list of files is incomplete, because files are still being read or there are too many. `None`
/// if the list is complete or the user is not typing a mention.
pub fn note(app: &App) -> Option<String> {
    app.file_query()?;
    match app.input.mentions.state()? {
        FileListState::Reading => Some("reading files…".into()),
        FileListState::Complete => None,
        FileListState::Cut(count) => Some(format!("lists only the first {count} files")),
    }
}

/// Returns whether the files of the project are still being read, so that matches may be missing.
pub fn is_reading(app: &App) -> bool {
    app.input.mentions.state() == Some(FileListState::Reading)
}

/// Shortens the path in `row` to `room` columns by cutting its start. The end is kept, because it names the file.
pub fn shorten(row: &mut CompletionRow, room: usize) {
    let Some(over) = width(&row.words).checked_sub(room).filter(|over| *over > 0) else {
        return;
    };
    let mut gone = 0;
    let mut freed = 0;
    // One more column than necessary is freed, for the `…` that marks the cut.
    for c in row.words.chars().skip(1) {
        if freed > over {
            break;
        }
        freed += width(c.encode_utf8(&mut [0; 4]));
        gone += 1;
    }
    let rest: String = row.words.chars().skip(1 + gone).collect();
    row.words = format!("@…{rest}");
    let moved = row.marked.iter().filter_map(|at| at.checked_sub(gone));
    row.marked = moved.map(|at| at + 1).filter(|at| *at > 1).collect();
}
