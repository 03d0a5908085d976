//! The diff page: a summary, a list of files, then the changes of each file. Pure.

use ratatui::text::Span;

use crate::domain::text::{head_and_tail, one_line};
use crate::domain::worktree::ChangeSize;
use crate::ui::diff::painter::{CUT, DiffPainter, DiffParams, DiffPlacement, counts, digits};
use crate::ui::diff::read::{DiffFile, DiffLine, read};
use crate::ui::text::wrap::{Break, Margin, Row, width, wrap};
use crate::ui::theme::Theme;

/// Maximum size of a diff, in bytes. A longer diff is cut in the middle. The crew already truncates git's output; this
/// limit is a safeguard.
const DIFF_MAX: usize = 257 * 1024;
/// Maximum number of files in the list above the diff.
const FILES_MAX: usize = 30;
/// Maximum size of the list of untracked files, in bytes.
const NAMES_MAX: usize = 4 * 1024;

/// The diff of a branch as the diff page shows it, and the untracked files in its worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The numbers of changed files and lines that git reports. They include the parts that are truncated in `text`.
    /// All are 0 if git did not report them.
    size: ChangeSize,
    /// The diff in git's format, truncated to [`DIFF_MAX`].
    text: String,
    files: Vec<String>,
    /// The names of untracked files, separated by commas and truncated to [`NAMES_MAX`].
    untracked: String,
}

impl Changes {
    /// Builds the changes from three sources: `stat`, the output of `git diff --stat`; `text`, the output of `git
    /// diff`; and `untracked`, the names of untracked files. Of `stat`, only the last line is used, which has the
    /// totals.
    pub fn new(stat: &str, text: &str, untracked: &[String]) -> Changes {
        let last = stat.trim_end().lines().next_back().unwrap_or_default();
        let names: Vec<String> = untracked.iter().map(|name| one_line(name)).collect();
        let text = head_and_tail(text.trim_end_matches('\n'), DIFF_MAX);
        let lines = read(&text);
        Changes {
            size: ChangeSize::parse(last),
            files: files(&lines).map(|file| one_line(&file.path)).collect(),
            text,
            untracked: head_and_tail(&names.join(", "), NAMES_MAX),
        }
    }

    /// Returns whether there are neither changes nor untracked files.
    pub fn is_empty(&self) -> bool {
        self.size == ChangeSize::default() && self.text.is_empty() && self.untracked.is_empty()
    }

    /// Returns the diff in git's format, truncated to [`DIFF_MAX`]. Control characters are not escaped.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the paths of the files in the order of the diff, each as one line for display.
    pub fn files(&self) -> &[String] {
        &self.files
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRow {
    pub row: Row,
    /// Marks the row for navigation between files, if it is the heading of a file or an entry of the file list; `None`
    /// for other rows. Of a wrapped heading or entry, only the first row is marked.
    pub file_mark: Option<FileMark>,
}

/// Marks a row of the diff page for navigation between files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMark {
    /// The heading of a file's changes. Holds the index of the file, from 0.
    Begins(usize),
    /// An entry of the file list at the top of the page. Holds the index of the file that the entry names, from 0.
    LeadsTo(usize),
}

/// Returns the index, from 0, of the file whose changes contain the row with the index `line`; `None` if the diff has
/// no files. Rows above the first file's heading count as part of the first file, rows beyond the end as part of the
/// last. `spots` holds the [`PageRow::file_mark`] of each row of the page.
pub fn file_at(spots: impl Iterator<Item = Option<FileMark>>, line: usize) -> Option<usize> {
    let mut found = None;
    for (at, spot) in spots.enumerate() {
        match spot {
            Some(FileMark::Begins(_)) if at > line && found.is_some() => break,
            Some(FileMark::Begins(file)) => found = Some(file),
            Some(FileMark::LeadsTo(_)) | None => {}
        }
    }
    found
}

pub fn page(changes: &Changes, columns: usize, theme: &Theme) -> Vec<PageRow> {
    let lines = read(&changes.text);
    let look = DiffParams {
        columns,
        theme,
        placement: DiffPlacement::Page,
        digits: digits(&lines),
    };
    let mut out = Vec::new();
    let mut put = |rows: Vec<Row>, spot: Option<FileMark>| {
        let mut spot = spot;
        out.extend(rows.into_iter().map(|row| PageRow {
            row,
            file_mark: spot.take(),
        }));
    };
    put(summary(changes, &lines, look), None);
    let all: Vec<&DiffFile> = files(&lines).collect();
    if all.len() > 1 {
        let most = all.iter().take(FILES_MAX).map(|f| width(&count(f))).max();
        for (at, file) in all.iter().take(FILES_MAX).enumerate() {
            let row = render_file_entry(file, most.unwrap_or(0), look);
            put(row, Some(FileMark::LeadsTo(at)));
        }
        if all.len() > FILES_MAX {
            let more = format!("… and {} more files", all.len() - FILES_MAX);
            put(words(&more, theme.dim, look), None);
        }
    }
    let mut painter = DiffPainter::new(look);
    let is_heading = |line: &DiffLine| matches!(line, DiffLine::File(_));
    let mut at = 0;
    for part in lines.chunk_by(|_, next| !is_heading(next)) {
        let spot = part.first().filter(|line| is_heading(line)).map(|_| {
            at += 1;
            FileMark::Begins(at - 1)
        });
        if spot.is_some() {
            put(vec![Row::default()], None);
        }
        put(painter.rows(part, &mut 0), spot);
    }
    out
}

fn files<'a, 'b>(lines: &'a [DiffLine<'b>]) -> impl Iterator<Item = &'a DiffFile<'b>> {
    lines.iter().filter_map(|line| match line {
        DiffLine::File(file) => Some(file),
        _ => None,
    })
}

/// Renders the summary: totals as `3 files, +40 −2`, a note about truncated parts, and untracked files.
fn summary(changes: &Changes, lines: &[DiffLine<'_>], look: DiffParams<'_>) -> Vec<Row> {
    let theme = look.theme;
    let mut seen = ChangeSize::default();
    for file in files(lines) {
        seen.files += 1;
        seen.added += file.added as u64;
        seen.removed += file.removed as u64;
    }
    // Only git's totals include truncated parts.
    let is_cut = lines
        .iter()
        .any(|l| matches!(l, DiffLine::Other(t) if t.starts_with(CUT)));
    let size = if is_cut && changes.size.files > 0 {
        changes.size
    } else {
        seen
    };
    let mut out = Vec::new();
    if size.files > 0 {
        let end = if size.files == 1 { "" } else { "s" };
        let mut spans = vec![Span::styled(
            format!("{} file{end}", size.files),
            theme.text,
        )];
        if size.added + size.removed > 0 {
            spans.push(Span::styled(", ", theme.text));
            let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            spans.extend(counts(number(size.added), number(size.removed), theme));
        }
        if is_cut {
            let left = size.files.saturating_sub(seen.files);
            let words = match left {
                0 => " · too long, truncated".to_string(),
                n => format!(" · too long, truncated: {n} more files not shown"),
            };
            spans.push(Span::styled(words, theme.warn));
        }
        out.extend(wrap(
            &spans,
            look.columns,
            &Margin::default(),
            Break::Words,
            &mut 0,
        ));
    }
    if !changes.untracked.is_empty() {
        let names = format!("untracked: {}", changes.untracked);
        out.extend(words(&names, theme.warn, look));
    }
    out
}

fn words(text: &str, style: ratatui::style::Style, look: DiffParams<'_>) -> Vec<Row> {
    let margin = Margin::hanging(vec![], vec!["  ".into()]);
    let words = [Span::styled(one_line(text), style)];
    wrap(&words, look.columns, &margin, Break::Words, &mut 0)
}

/// Formats the numbers of added and removed lines as `+3 −1`; empty if both are 0.
fn count(file: &DiffFile<'_>) -> String {
    match file.added + file.removed {
        0 => String::new(),
        _ => format!("+{} −{}", file.added, file.removed),
    }
}

/// Renders an entry of the file list, such as `  +3 −1  path  new`. `most` is the width of the widest [`count`] in the
/// list, in columns; the numbers are aligned to the right in it.
fn render_file_entry(file: &DiffFile<'_>, most: usize, look: DiffParams<'_>) -> Vec<Row> {
    let theme = look.theme;
    let wide = width(&count(file));
    let mut first = vec![Span::raw(" ".repeat(2 + most - wide.min(most)))];
    if wide > 0 {
        first.extend(counts(file.added, file.removed, theme));
    }
    first.push(if most > 0 { "  " } else { "" }.into());
    let margin = Margin::hanging(first, vec!["      ".into()]);
    let mut spans = vec![Span::styled(one_line(&file.path), theme.text)];
    let said = file.words();
    if !said.is_empty() {
        spans.push(Span::styled(format!("  {}", one_line(&said)), theme.dim));
    }
    wrap(&spans, look.columns, &margin, Break::Words, &mut 0)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns the text of each row of a rendered page, and the role of the row in navigation.
    fn page_rows(changes: &Changes, columns: usize) -> Vec<(String, Option<FileMark>)> {
        let theme = Theme::default();
        let rows = page(changes, columns, &theme).into_iter();
        let text = |row: &Row| row.spans.iter().map(|s| s.content.as_ref()).collect();
        rows.map(|r| (text(&r.row), r.file_mark)).collect()
    }

    fn words(changes: &Changes) -> Vec<String> {
        page_rows(changes, 40)
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    }

    #[test]
    fn file_list_comes_first_and_each_file_has_a_heading() {
        let text = "diff --git a/a.sh b/a.sh\nindex 1..2 100644\n--- a/a.sh\n+++ b/a.sh\n@@ -1,3 +1,3 @@\n one\n \n+two\n--- three\n\
                    diff --git a/run b/run\nold mode 100644\nnew mode 100755\n";
        let changes = Changes::new(" a.sh | 2 +-\n", text, &[]);
        let expected = [
            ("2 files, +1 −1", None),
            ("  +1 −1  a.sh", Some(FileMark::LeadsTo(0))),
            ("         run  executable", Some(FileMark::LeadsTo(1))),
            ("", None),
            ("a.sh  +1 −1", Some(FileMark::Begins(0))),
            ("1   one", None),
            ("2   ", None),
            ("3 + two", None),
            // A removed line that begins with two dashes.
            ("3 - -- three", None),
            ("", None),
            ("run  executable", Some(FileMark::Begins(1))),
        ];
        assert_eq!(
            page_rows(&changes, 40),
            expected.map(|(text, spot)| (text.to_string(), spot))
        );
        assert_eq!(changes.files(), ["a.sh", "run"]);
    }

    #[test]
    fn truncated_parts_and_untracked_files_are_reported() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1,9 @@\n+1\n[… 99 bytes cut here …]\n";
        let stat = " x | 9 +\n 3 files changed, 1000 insertions(+)";
        let changes = Changes::new(stat, text, &["n\u{1b}w".into(), "m".into()]);
        let expected = [
            "3 files, +1000 −0 · too long, truncated:",
            "2 more files not shown",
            "untracked: n␛w, m",
            "",
            "x  +1 −0",
            "1 + 1",
            "[… 99 bytes cut here …]",
        ];
        assert_eq!(words(&changes), expected);
        let many: Vec<String> = (0..40)
            .map(|n| format!("diff --git a/{n} b/{n}\n"))
            .collect();
        let all = words(&Changes::new("", &many.concat(), &[]));
        assert_eq!(all[30..33], ["  29", "… and 10 more files", ""]);
        let long = "+a\n".repeat(200_000);
        let changes = Changes::new(
            "",
            &format!("--- x\n+++ x\n@@ -0,0 +1,200000 @@\n{long}"),
            &[],
        );
        assert!(changes.text().len() < DIFF_MAX + 100);
        let all = words(&changes);
        assert!(
            all[0].starts_with("1 file, +") && all[0].contains("too long"),
            "{}",
            all[0]
        );
        assert!(Changes::new(" \n", "\n", &[]).is_empty());
    }

    #[test]
    fn no_row_is_wider_than_the_page() {
        let text = format!(
            "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1,3 @@ {0}\n+{0}\n+\u{1b}]0;x\u{7}\t中\n+{1}\n\
             diff --git a/y b/y\nrename from {0}\nrename to y\n",
            "中文/é 👍👍/".repeat(9),
            "x".repeat(5000)
        );
        let changes = Changes::new("", &text, &["中".repeat(50)]);
        for columns in 1..60 {
            for row in page(&changes, columns, &Theme::default()) {
                assert!(row.row.width() <= columns.max(2), "{columns}: {row:?}");
            }
        }
    }
}
