//! The files that the user mentions with `@`, and the files that are offered while a mention is typed. No I/O: the
//! front end searches for the files that match [`App::file_query`] and returns them as
//! [`Msg::Files`](crate::ui::Msg::Files).

use std::collections::BTreeSet;
use std::ops::Range;

use crate::domain::mention::{self, Mention};
use crate::ui::app::App;
use crate::ui::keymap::pane::Focus;

/// Maximum number of paths of existing files and directories that [`Mentions`] remembers. Further paths are not
/// remembered.
const KNOWN_MAX: usize = 1000;

/// The result of a search for files of the project that match the text after an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFiles {
    /// The text after the `@` for which the files were searched.
    pub query: String,
    /// The files and directories that match best, best match first.
    pub files: Vec<FileMatch>,
    pub state: FileListState,
}

/// A file or directory of the project that matches a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatch {
    /// The path, relative to the project. The path of a directory ends with `/`.
    pub path: String,
    /// The indices of the characters in `path` that match the query, in ascending order.
    pub marked: Vec<usize>,
}

/// Whether the front end knows all files of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileListState {
    /// The files are still being read, so matches may be missing.
    Reading,
    Complete,
    /// The project has too many files; only this number was read.
    Cut(usize),
}

/// State of the mentions in the composer: the result of the last file search, and the paths that are known to exist.
#[derive(Debug, Default)]
pub struct Mentions {
    /// The result of the last search; `None` before the first one.
    found: Option<FoundFiles>,
    /// Paths that the user has chosen or typed completely. A message that mentions such a path is refused if the file
    /// does not exist any more when the message is sent.
    known: BTreeSet<String>,
}

impl Mentions {
    /// Stores the result of a search. If the text after the `@` is the whole path of a found file, also remembers this
    /// path.
    pub fn answer(&mut self, found: FoundFiles) {
        if found.files.iter().any(|file| file.path == found.query) {
            self.remember(&found.query);
        }
        self.found = Some(found);
    }

    /// Remembers `path` as the path of an existing file or directory. Does nothing if [`KNOWN_MAX`] paths are
    /// remembered.
    pub fn remember(&mut self, path: &str) {
        if self.known.len() < KNOWN_MAX {
            self.known.insert(path.into());
        }
    }

    /// Returns whether `path` is remembered as the path of an existing file or directory.
    pub fn is_known(&self, path: &str) -> bool {
        self.known.contains(path)
    }

    /// Returns the mentions in the message `text`, in order. The mention of a remembered path is required: the message
    /// is refused if the path does not exist any more when the message is sent.
    pub fn of(&self, text: &str) -> Vec<Mention> {
        mention::mentions(text, |path| self.is_known(path))
    }

    /// Returns the byte ranges of the required mentions in `row`, a row of the draft. A mention is required if its path
    /// is remembered, is in quotes, or starts with `/`, `./`, `../` or `~/`.
    pub fn ranges_in(&self, row: &str) -> Vec<Range<usize>> {
        mention::required_ranges(row, |path| self.is_known(path))
    }

    /// Returns whether the front end knows all files of the project; `None` before the first search result.
    pub fn state(&self) -> Option<FileListState> {
        self.found.as_ref().map(|found| found.state)
    }

    /// Returns the files that match `query`, best match first.
    ///
    /// If the front end has not searched for `query` yet, but for a prefix of it, returns those matches of the prefix
    /// for which `still_matches` is true. Returns no files if there is no result of such a search, or if `query` is the
    /// whole path of a found file.
    pub fn matches(
        &self,
        query: &str,
        mut still_matches: impl FnMut(&str) -> bool,
    ) -> Vec<&FileMatch> {
        let Some(found) = &self.found else {
            return Vec::new();
        };
        if !query.starts_with(&found.query) || found.files.iter().any(|f| f.path == query) {
            return Vec::new();
        }
        let is_current = found.query == query;
        let files = found.files.iter();
        files
            .filter(|file| is_current || still_matches(&file.path))
            .collect()
    }
}

impl App {
    /// Returns the text after the `@` of the mention that is being typed in the composer. The front end searches for
    /// the files that match this text. Returns `None` if no mention is being typed, in a shell command, in an unchanged
    /// message from the history, and while the composer does not receive the keys.
    pub fn file_query(&self) -> Option<String> {
        let is_writing =
            self.popups.is_empty() && self.focus == Focus::Composer && self.replay.is_none();
        if !is_writing || self.input.composer.is_recalled() || self.is_shell_mode() {
            return None;
        }
        let (before, _) = self.input.composer.before_cursor();
        mention::at_cursor(&before).map(|found| found.query.to_string())
    }
}

/// Returns the mentions for a pasted text that consists only of paths of images, with a space after each mention;
/// `None` for other texts. An image is a file with the extension `png`, `jpg`, `jpeg` or `webp`, and its path must
/// begin with `/`, `./`, `../` or `~/`. Terminals paste the paths of dropped files as words of a shell command, as
/// `file:` URLs, or as a single path without quotes.
pub fn pasted_images(text: &str) -> Option<String> {
    let text = text.trim();
    let urls = || -> Option<Vec<String>> {
        let words = text.split(' ');
        let path = |word: &str| decode_percent(word.strip_prefix("file://")?);
        words.map(path).collect()
    };
    let paths = [urls(), shell_words(text), Some(vec![text.into()])];
    let mut paths = paths.into_iter().flatten();
    let paths = paths.find(|paths| !paths.is_empty() && paths.iter().all(|p| is_image_path(p)))?;
    let mentions = paths.iter().map(|path| mention::format_mention(path) + " ");
    Some(mentions.collect())
}

fn is_image_path(path: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| path.starts_with(start));
    let lower = path.to_ascii_lowercase();
    let is_image = [".png", ".jpg", ".jpeg", ".webp"]
        .iter()
        .any(|end| lower.ends_with(end));
    is_path && is_image && !path.contains(['"', '\n', '\r'])
}

/// Splits `text` at blanks into words, and resolves quotes and backslashes as a POSIX shell does. Returns `None` if a
/// quote is not closed or a backslash is the last character.
fn shell_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == ' ' {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\\' => word.push(chars.next()?),
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => word.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        c @ ('$' | '`' | '"' | '\\') => word.push(c),
                        c => word.extend(['\\', c]),
                    },
                    c => word.push(c),
                }
            },
            c => word.push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn decode_percent(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn pasted_paths_of_images_become_mentions() {
        for (text, expected) in [
            ("/tmp/a.png", Some("@/tmp/a.png ")),
            ("'/tmp/a b.PNG' ", Some("@\"/tmp/a b.PNG\" ")),
            ("/tmp/a\\ b.jpeg", Some("@\"/tmp/a b.jpeg\" ")),
            ("file:///tmp/a%20b.webp\n", Some("@\"/tmp/a b.webp\" ")),
            ("/tmp/shot\\ \\(1\\).png", Some("@\"/tmp/shot (1).png\" ")),
            ("/tmp/it\\'s.png", Some("@/tmp/it's.png ")),
            ("'/tmp/it'\\''s.png'", Some("@/tmp/it's.png ")),
            ("\"/tmp/a \\$b.png\"", Some("@\"/tmp/a $b.png\" ")),
            // Several files.
            (
                "/tmp/a\\ b.png '/tmp/c d.jpg' ~/e.webp",
                Some("@\"/tmp/a b.png\" @\"/tmp/c d.jpg\" @~/e.webp "),
            ),
            (
                "file:///tmp/a.png file:///tmp/b%20c.png",
                Some("@/tmp/a.png @\"/tmp/b c.png\" "),
            ),
            // Some terminals paste the path as it is.
            ("/tmp/a b.png", Some("@\"/tmp/a b.png\" ")),
            ("/tmp/it's.png", Some("@/tmp/it's.png ")),
            ("/tmp/say \"hi\".png", None),
            ("/tmp/a.png /tmp/b.txt", None),
            ("/tmp/a.txt", None),
            ("see /tmp/a.png", None),
            ("a.png", None),
            ("/tmp/a.png\n/tmp/b.png", None),
            ("file:///%zz.png", None),
        ] {
            assert_eq!(pasted_images(text).as_deref(), expected, "{text}");
        }
    }
}
