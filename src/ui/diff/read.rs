//! Parser for unified diffs, plain or with git's extended headers. Pure.
//!
//! Lines that are not part of a diff are kept unchanged. Header lines of a diff are dropped; [`DiffFile`] holds their
//! content.

use std::borrow::Cow;

use crate::ui::diff::path::{git_header_path, path, unquote_path};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine<'a> {
    /// The heading of a file's changes.
    File(DiffFile<'a>),
    /// A gap where the diff omits unchanged lines. Holds the section heading of the next hunk, which may be empty. The
    /// first hunk of a file has a gap before it only if it has a section heading.
    Gap(&'a str),
    /// A context line without its sign, and its number in the new file, from 1.
    Same(usize, &'a str),
    /// An added line without its sign, and its number in the new file, from 1.
    Added(usize, &'a str),
    /// A removed line without its sign, and its number in the old file, from 1. In a combined diff, the number is that
    /// of the next line in the new file.
    Removed(usize, &'a str),
    /// Text that is neither a line of a file nor a diff header, kept as it is.
    Other(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffFile<'a> {
    /// The path after the change, or before it if the file was deleted.
    pub path: Cow<'a, str>,
    pub change: FileChange<'a>,
    /// Whether the content is binary data, which is not shown.
    pub is_binary: bool,
    /// The file modes before and after the change, such as `100755`. A mode that the diff does not give is empty. Both
    /// are empty for a deleted file, and for a new file with the usual mode 100644.
    pub modes: (&'a str, &'a str),
    pub added: usize,
    pub removed: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FileChange<'a> {
    /// The content or the mode was changed.
    #[default]
    Edited,
    New,
    Deleted,
    /// The file was renamed from this path.
    Renamed(Cow<'a, str>),
    /// The file was copied from this path.
    Copied(Cow<'a, str>),
}

impl DiffFile<'_> {
    /// Returns a description of the change, shown beside the path, such as `new, executable`; empty for a normal edit.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        match &self.change {
            FileChange::Edited => {}
            FileChange::New => words.push("new".to_string()),
            FileChange::Deleted => words.push("deleted".to_string()),
            FileChange::Renamed(from) => words.push(format!("renamed from {from}")),
            FileChange::Copied(from) => words.push(format!("copied from {from}")),
        }
        if self.is_binary {
            words.push("binary".into());
        }
        match self.modes {
            (before, after) if before == after => {}
            ("100644" | "", "100755") => words.push("executable".into()),
            ("100755", "100644") => words.push("no longer executable".into()),
            (_, "120000") => words.push("symlink".into()),
            (_, "160000") => words.push("submodule".into()),
            ("", _) | (_, "") => {}
            (before, after) => words.push(format!("mode {before} → {after}")),
        }
        words.join(", ")
    }
}

/// Parses a unified diff, including git's combined diffs. Text that is not part of a diff becomes [`DiffLine::Other`].
pub fn read(text: &str) -> Vec<DiffLine<'_>> {
    let mut reader = Reader::default();
    for line in text.split_terminator('\n') {
        reader.take(line);
    }
    reader.out
}

#[derive(Default)]
struct Reader<'a> {
    out: Vec<DiffLine<'a>>,
    /// The index in `out` of the current file; `None` before the first file.
    file: Option<usize>,
    part: ParserState,
    /// Whether a hunk of the current file has begun. Before further hunks, a gap is shown.
    has_hunk: bool,
    /// The path in the last `---` line. Removed when the `+++` line that follows is read.
    before: Option<Cow<'a, str>>,
}

/// The part of the diff that the parser has reached. The part determines how the next line is read.
#[derive(Default, Clone, Copy)]
enum ParserState {
    /// Neither in a hunk nor in a git header. The next line begins a file, begins a hunk, or is text that does not
    /// belong to the diff.
    #[default]
    Outside,
    /// In git's extended header, the lines such as `new file mode 100755` between the `diff` line and the first hunk.
    Head,
    /// In a hunk. Holds a pair for the old file and a pair for the new file. Each pair contains the number of the next
    /// line, and how many lines of the hunk are still to come.
    Hunk((usize, usize), (usize, usize)),
    /// In a hunk of a combined diff. Holds the number of old files, and the number of the next line in the new file.
    Combined(usize, usize),
}

impl<'a> Reader<'a> {
    fn take(&mut self, line: &'a str) {
        let is_taken = match self.part {
            ParserState::Hunk(old, new) => self.hunk(line, old, new),
            ParserState::Combined(signs, new) => self.parse_combined_line(line, signs, new),
            ParserState::Head => self.head(line),
            ParserState::Outside => false,
        };
        if !is_taken {
            self.outside(line);
        }
    }

    /// Parses `line` as part of a hunk. Returns `false` if the line is not part of the hunk. `old` and `new` are the
    /// pairs of [`ParserState::Hunk`].
    fn hunk(&mut self, line: &'a str, old: (usize, usize), new: (usize, usize)) -> bool {
        let rest = line.get(1..).unwrap_or_default();
        let next = |at: (usize, usize)| (at.0.saturating_add(1), at.1 - 1);
        match line.as_bytes().first() {
            Some(b'+') if new.1 > 0 => {
                self.part = ParserState::Hunk(old, next(new));
                self.push_added(new.0, rest);
            }
            Some(b'-') if old.1 > 0 => {
                self.part = ParserState::Hunk(next(old), new);
                self.push_removed(old.0, rest);
            }
            // Some programs drop the leading space of an empty line.
            Some(b' ') | None if old.1 > 0 && new.1 > 0 => {
                self.part = ParserState::Hunk(next(old), next(new));
                self.out.push(DiffLine::Same(new.0, text_of(rest)));
            }
            // "\ No newline at end of file" does not end the hunk.
            Some(b'\\') => self.out.push(DiffLine::Other(line)),
            Some(_) | None => return false,
        }
        true
    }

    /// Parses `line` as part of a combined diff's hunk, where a line begins with one sign for each of the `signs` old
    /// files. Returns `false` if the line is not part of the hunk.
    fn parse_combined_line(&mut self, line: &'a str, signs: usize, new: usize) -> bool {
        let Some((marks, rest)) = line.split_at_checked(signs) else {
            return false;
        };
        if !marks.bytes().all(|b| matches!(b, b' ' | b'+' | b'-')) {
            return false;
        }
        if marks.contains('-') {
            // In a combined diff, the line numbers of the old files are not tracked. A removed line gets the number of
            // the next line in the new file.
            self.push_removed(new, rest);
            return true;
        }
        self.part = ParserState::Combined(signs, new.saturating_add(1));
        if marks.contains('+') {
            self.push_added(new, rest);
        } else {
            self.out.push(DiffLine::Same(new, text_of(rest)));
        }
        true
    }

    fn push_added(&mut self, number: usize, text: &'a str) {
        self.out.push(DiffLine::Added(number, text));
        self.change_file(|file| file.added += 1);
    }

    fn push_removed(&mut self, number: usize, text: &'a str) {
        self.out.push(DiffLine::Removed(number, text));
        self.change_file(|file| file.removed += 1);
    }

    fn change_file(&mut self, change: impl FnOnce(&mut DiffFile<'a>)) {
        if let Some(DiffLine::File(file)) = self.file.and_then(|at| self.out.get_mut(at)) {
            change(file);
        }
    }

    /// Parses `line` as part of git's extended header. Returns `false` if the line is not part of the header.
    fn head(&mut self, line: &'a str) -> bool {
        let after = |start: &str| line.strip_prefix(start);
        if let Some(mode) = after("old mode ") {
            self.change_file(|file| file.modes.0 = mode);
        } else if let Some(mode) = after("new mode ") {
            self.change_file(|file| file.modes.1 = mode);
        } else if let Some(mode) = after("new file mode ") {
            self.change_file(|file| {
                file.change = FileChange::New;
                // The usual mode of a new file is not mentioned.
                file.modes.1 = if mode == "100644" { "" } else { mode };
            });
        } else if after("deleted file mode ").is_some() {
            self.change_file(|file| file.change = FileChange::Deleted);
        } else if let Some(from) = after("rename from ") {
            self.change_file(|file| file.change = FileChange::Renamed(unquote_path(from)));
        } else if let Some(from) = after("copy from ") {
            self.change_file(|file| file.change = FileChange::Copied(unquote_path(from)));
        } else if let Some(to) = after("rename to ").or(after("copy to ")) {
            self.change_file(|file| file.path = unquote_path(to));
        } else if after("Binary files ").is_some() || after("GIT binary patch").is_some() {
            self.change_file(|file| file.is_binary = true);
        } else {
            const NOISE: [&str; 4] = [
                "index ",
                "similarity index ",
                "dissimilarity index ",
                "mode ",
            ];
            return NOISE.iter().any(|start| line.starts_with(start));
        }
        true
    }

    /// Parses a line outside of hunks and headers: the start of a file, the start of a hunk, or other text.
    fn outside(&mut self, line: &'a str) {
        let is_head = matches!(self.part, ParserState::Head);
        if let Some(paths) = line.strip_prefix("diff --git ") {
            self.begin(git_header_path(paths), ParserState::Head);
        } else if let Some(path) = line
            .strip_prefix("diff --cc ")
            .or(line.strip_prefix("diff --combined "))
        {
            self.begin(unquote_path(path), ParserState::Head);
        } else if let Some(text) = line.strip_prefix("--- ") {
            self.before = Some(path(text));
        } else if let Some(text) = line.strip_prefix("+++ ") {
            let after = path(text);
            let before = self.before.take().filter(|p| p != "/dev/null");
            let path = if after == "/dev/null" {
                before.clone().unwrap_or(after.clone())
            } else {
                after.clone()
            };
            if is_head {
                self.change_file(|file| file.path = path);
            } else {
                self.begin(path, ParserState::Outside);
            }
            self.change_file(|file| match file.change {
                FileChange::Edited if after == "/dev/null" => file.change = FileChange::Deleted,
                FileChange::Edited if before.is_none() => file.change = FileChange::New,
                _ => {}
            });
        } else if let Some((part, about)) = hunk(line) {
            self.part = part;
            if self.has_hunk || !about.is_empty() {
                self.out.push(DiffLine::Gap(about));
            }
            self.has_hunk = true;
        } else {
            self.part = if is_head {
                ParserState::Head
            } else {
                ParserState::Outside
            };
            self.out.push(DiffLine::Other(line));
        }
    }

    fn begin(&mut self, path: Cow<'a, str>, part: ParserState) {
        self.file = Some(self.out.len());
        self.has_hunk = false;
        self.before = None;
        self.part = part;
        self.out.push(DiffLine::File(DiffFile {
            path,
            ..DiffFile::default()
        }));
    }
}

/// Removes a trailing carriage return from a context line. In an unchanged line, the kind of line ending does not
/// matter.
fn text_of(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Parses a hunk header such as `@@ -1,2 +3,4 @@ about`, which has the first line and line count of both files, and the
/// section heading. A combined diff has one more `@` for each additional old file. Returns the state for the lines of
/// the hunk and the section heading; `None` if `line` is not a hunk header.
fn hunk(line: &str) -> Option<(ParserState, &str)> {
    let signs = line.bytes().take_while(|b| *b == b'@').count();
    let (ranges, about) = line
        .get(signs..)?
        .strip_prefix(' ')?
        .split_once(line.get(..signs)?)?;
    let mut ranges = ranges.split_whitespace();
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let mut old = None;
    for _ in 1..signs {
        old = Some(range(ranges.next()?.strip_prefix('-')?)?);
    }
    let new = range(ranges.next()?.strip_prefix('+')?)?;
    let part = match signs {
        2 => ParserState::Hunk(old?, new),
        3.. => ParserState::Combined(signs - 1, new.0),
        0 | 1 => return None,
    };
    Some((part, about.trim()))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
