//! Pure: reads a unified diff, git's with all that it says of a file, or a plain one.
//!
//! Whatever is none of a diff comes back as it is: nothing of the text is lost but what the heading of a file says.

use std::borrow::Cow;

use crate::ui::diff::path::{both, path, unquoted};

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// The file that the lines below are of.
    File(File<'a>),
    /// Lines are left out here; what the diff says of where they are.
    Gap(&'a str),
    /// A line that stays: its number in the new file.
    Same(usize, &'a str),
    /// A line that was added: its number in the new file.
    Added(usize, &'a str),
    /// A line that was removed: its number in the old file.
    Removed(usize, &'a str),
    /// Something else, as it is.
    Other(&'a str),
}

/// A file of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct File<'a> {
    /// Its path, after the change where it is still there.
    pub path: Cow<'a, str>,
    /// What became of it.
    pub change: Change<'a>,
    /// Whether its lines can be shown.
    pub content: Content,
    /// What it may be used for, before and after; empty: not said.
    pub modes: (&'a str, &'a str),
    /// Lines that were added, as far as they are in the diff.
    pub added: usize,
    /// Lines that were removed, as far as they are in the diff.
    pub removed: usize,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change<'a> {
    /// It was there and still is.
    #[default]
    Edited,
    /// It was not there.
    New,
    /// It is gone.
    Deleted,
    /// It had this path.
    Renamed(Cow<'a, str>),
    /// It was made from the file with this path.
    Copied(Cow<'a, str>),
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Lines.
    #[default]
    Text,
    /// Bytes.
    Binary,
}

impl File<'_> {
    /// What a reader is told beside its path; empty for one that was edited.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        match &self.change {
            Change::Edited => {}
            Change::New => words.push("new".to_string()),
            Change::Deleted => words.push("deleted".to_string()),
            Change::Renamed(from) => words.push(format!("renamed from {from}")),
            Change::Copied(from) => words.push(format!("copied from {from}")),
        }
        if self.content == Content::Binary {
            words.push("binary".into());
        }
        match self.modes {
            (before, after) if before == after => {}
            ("100644" | "", "100755") => words.push("executable".into()),
            ("100755", "100644") => words.push("no longer executable".into()),
            (_, "120000") => words.push("a link".into()),
            (_, "160000") => words.push("a repository inside".into()),
            ("", _) | (_, "") => {}
            (before, after) => words.push(format!("mode {before} → {after}")),
        }
        words.join(", ")
    }
}

/// Reads a unified diff. What is none comes back as it is.
pub fn read(text: &str) -> Vec<Line<'_>> {
    let mut reader = Reader::default();
    for line in text.split_terminator('\n') {
        reader.take(line);
    }
    reader.out
}

#[derive(Default)]
struct Reader<'a> {
    out: Vec<Line<'a>>,
    /// Where the file is that is being read.
    file: Option<usize>,
    part: Part,
    /// Whether a hunk of the file was read.
    has_hunk: bool,
    /// The path in the last `---`.
    before: Option<Cow<'a, str>>,
}

/// What the next line may be.
#[derive(Default, Clone, Copy)]
enum Part {
    /// The head of another file, or anything.
    #[default]
    Outside,
    /// What git says of a file before its lines.
    Head,
    /// A line of a hunk: the next number and how many lines are still to come, of the old file and of the new one.
    Hunk((usize, usize), (usize, usize)),
    /// A line of a hunk that compares with so many files: the next number of the new one.
    Combined(usize, usize),
}

impl<'a> Reader<'a> {
    fn take(&mut self, line: &'a str) {
        let is_taken = match self.part {
            Part::Hunk(old, new) => self.hunk(line, old, new),
            Part::Combined(signs, new) => self.combined(line, signs, new),
            Part::Head => self.head(line),
            Part::Outside => false,
        };
        if !is_taken {
            self.outside(line);
        }
    }

    /// Takes a line of a hunk: whether it was one.
    fn hunk(&mut self, line: &'a str, old: (usize, usize), new: (usize, usize)) -> bool {
        let rest = line.get(1..).unwrap_or_default();
        let next = |at: (usize, usize)| (at.0.saturating_add(1), at.1 - 1);
        match line.as_bytes().first() {
            Some(b'+') if new.1 > 0 => {
                self.part = Part::Hunk(old, next(new));
                self.added(new.0, rest);
            }
            Some(b'-') if old.1 > 0 => {
                self.part = Part::Hunk(next(old), new);
                self.removed(old.0, rest);
            }
            // Some programs drop the blank of an empty line.
            Some(b' ') | None if old.1 > 0 && new.1 > 0 => {
                self.part = Part::Hunk(next(old), next(new));
                self.out.push(Line::Same(new.0, text_of(rest)));
            }
            // That the last line has no end says nothing of the lines behind it.
            Some(b'\\') => self.out.push(Line::Other(line)),
            Some(_) | None => return false,
        }
        true
    }

    /// Takes a line of a hunk that compares with several files, with a sign for each of them: whether it was one.
    fn combined(&mut self, line: &'a str, signs: usize, new: usize) -> bool {
        let Some((marks, rest)) = line.split_at_checked(signs) else {
            return false;
        };
        if !marks.bytes().all(|b| matches!(b, b' ' | b'+' | b'-')) {
            return false;
        }
        if marks.contains('-') {
            // It is in none of the numbered lines: the one that is next there stands for it.
            self.removed(new, rest);
            return true;
        }
        self.part = Part::Combined(signs, new.saturating_add(1));
        if marks.contains('+') {
            self.added(new, rest);
        } else {
            self.out.push(Line::Same(new, text_of(rest)));
        }
        true
    }

    fn added(&mut self, number: usize, text: &'a str) {
        self.out.push(Line::Added(number, text));
        self.change_file(|file| file.added += 1);
    }

    fn removed(&mut self, number: usize, text: &'a str) {
        self.out.push(Line::Removed(number, text));
        self.change_file(|file| file.removed += 1);
    }

    fn change_file(&mut self, change: impl FnOnce(&mut File<'a>)) {
        if let Some(Line::File(file)) = self.file.and_then(|at| self.out.get_mut(at)) {
            change(file);
        }
    }

    /// Takes what git says of a file before its lines: whether that was it.
    fn head(&mut self, line: &'a str) -> bool {
        let after = |start: &str| line.strip_prefix(start);
        if let Some(mode) = after("old mode ") {
            self.change_file(|file| file.modes.0 = mode);
        } else if let Some(mode) = after("new mode ") {
            self.change_file(|file| file.modes.1 = mode);
        } else if let Some(mode) = after("new file mode ") {
            self.change_file(|file| {
                file.change = Change::New;
                // What a new file usually is needs no word.
                file.modes.1 = if mode == "100644" { "" } else { mode };
            });
        } else if after("deleted file mode ").is_some() {
            self.change_file(|file| file.change = Change::Deleted);
        } else if let Some(from) = after("rename from ") {
            self.change_file(|file| file.change = Change::Renamed(unquoted(from)));
        } else if let Some(from) = after("copy from ") {
            self.change_file(|file| file.change = Change::Copied(unquoted(from)));
        } else if let Some(to) = after("rename to ").or(after("copy to ")) {
            self.change_file(|file| file.path = unquoted(to));
        } else if after("Binary files ").is_some() || after("GIT binary patch").is_some() {
            self.change_file(|file| file.content = Content::Binary);
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

    /// Takes a line that is in no hunk.
    fn outside(&mut self, line: &'a str) {
        let is_head = matches!(self.part, Part::Head);
        if let Some(paths) = line.strip_prefix("diff --git ") {
            self.begin(both(paths), Part::Head);
        } else if let Some(path) = line
            .strip_prefix("diff --cc ")
            .or(line.strip_prefix("diff --combined "))
        {
            self.begin(unquoted(path), Part::Head);
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
                self.begin(path, Part::Outside);
            }
            self.change_file(|file| match file.change {
                Change::Edited if after == "/dev/null" => file.change = Change::Deleted,
                Change::Edited if before.is_none() => file.change = Change::New,
                Change::Edited
                | Change::New
                | Change::Deleted
                | Change::Renamed(_)
                | Change::Copied(_) => {}
            });
        } else if let Some((part, about)) = hunk(line) {
            self.part = part;
            if self.has_hunk || !about.is_empty() {
                self.out.push(Line::Gap(about));
            }
            self.has_hunk = true;
        } else {
            self.part = if is_head { Part::Head } else { Part::Outside };
            self.out.push(Line::Other(line));
        }
    }

    fn begin(&mut self, path: Cow<'a, str>, part: Part) {
        self.file = Some(self.out.len());
        self.has_hunk = false;
        self.before = None;
        self.part = part;
        self.out.push(Line::File(File {
            path,
            ..File::default()
        }));
    }
}

/// A line that stays, without the carriage return at its end: nobody has changed it.
fn text_of(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// `@@ -1,2 +3,4 @@ about`: first line and count of both files; with one more `@` for each further file that it compares.
fn hunk(line: &str) -> Option<(Part, &str)> {
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
        2 => Part::Hunk(old?, new),
        3.. => Part::Combined(signs - 1, new.0),
        0 | 1 => return None,
    };
    Some((part, about.trim()))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
