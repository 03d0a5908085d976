//! Parses Markdown files with YAML front matter between `---` lines: skills, roles and slash commands. Also defines
//! limits and valid names for all three.

use serde::de::DeserializeOwned;
use serde_saphyr::UserMessageFormatter;

use crate::domain::text::{clip, escape_control_chars, is_hidden, one_line};

/// Maximum size of the text below the front matter, in bytes. With the tags that the tool `load_skill` adds, a text of
/// this size still fits into one tool result (64 KiB).
pub const BODY_MAX: usize = 63 * 1024;
/// Maximum length of a name, in characters.
pub const NAME_MAX: usize = 64;
/// Maximum size of the front matter, in bytes.
const FRONT_MAX: usize = 16 * 1024;
/// The line before and after the front matter.
const FENCE: &str = "---";

/// Why the front matter of a file cannot be read. The message contains the line number in the file (from 1), the
/// problem, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// The front matter has no end. The value is the number of its first `---` line in the file, counted from 1.
    #[error("line {0}: the front matter has no end: add a line --- below it")]
    Open(usize),
    /// The front matter is longer than 16 KiB. The value is the number of its first `---` line in the file, counted
    /// from 1.
    #[error("line {0}: the front matter is longer than 16 KiB: move text below the second ---")]
    TooLong(usize),
    /// The front matter is not valid YAML, or a field has the wrong type.
    #[error(
        "line {line}: {what}: write lines of KEY: VALUE, and quote values that contain ': ' or '#'"
    )]
    Yaml {
        /// Number of the line in the file, counted from 1.
        line: usize,
        /// The message of the YAML parser.
        what: String,
    },
}

/// A file, split into its front matter and the text below the front matter.
pub struct FrontMatter<'a> {
    front: &'a str,
    /// Number of the line in the file, counted from 1, where the front matter begins: the line after the first `---`. 1
    /// if there is no front matter.
    pub front_line: usize,
    /// The text of the file below the front matter.
    pub body: &'a str,
    /// Number of the line in the file, counted from 1, where `body` begins: the line after the second `---`. 1 if there
    /// is no front matter.
    pub body_line: usize,
}

impl<'a> FrontMatter<'a> {
    /// Splits the text of a file. The file has front matter if its first line that is not blank is `---`. Otherwise,
    /// the whole text becomes `body`. A byte order mark at the start is dropped.
    ///
    /// # Errors
    /// Fails if the front matter has no end or is longer than 16 KiB.
    pub fn split(text: &'a str) -> Result<FrontMatter<'a>, FrontMatterError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, *at, line.trim_end()))
        });
        // Blank lines before the front matter are ignored.
        let opening = lines.by_ref().enumerate().find(|(_, l)| !l.2.is_empty());
        let Some((before, (_, begin, FENCE))) = opening else {
            return Ok(FrontMatter {
                front: "",
                front_line: 1,
                body: text,
                body_line: 1,
            });
        };
        let fence_line = before + 1;
        let (within, (end, body, _)) = lines
            .enumerate()
            .find(|(_, (_, _, line))| *line == FENCE)
            .ok_or(FrontMatterError::Open(fence_line))?;
        if end - begin > FRONT_MAX {
            return Err(FrontMatterError::TooLong(fence_line));
        }
        Ok(FrontMatter {
            front: &text[begin..end],
            front_line: fence_line + 1,
            body: &text[body..],
            body_line: fence_line + within + 2,
        })
    }

    /// Returns whether the file has no front matter, or only blank front matter.
    pub fn is_empty(&self) -> bool {
        self.front.trim().is_empty()
    }

    /// Returns the number, counted from 1 in the file, of the first line in the front matter that begins with `key`. If
    /// no line does, returns [`FrontMatter::front_line`].
    pub fn line_of(&self, key: &str) -> usize {
        let below = self.front.lines().position(|l| l.starts_with(key));
        self.front_line + below.unwrap_or(0)
    }

    /// Deserializes the fields of the front matter.
    ///
    /// # Errors
    /// Fails if the front matter is not valid YAML or a field has the wrong type.
    pub fn fields<T: DeserializeOwned>(&self) -> Result<T, FrontMatterError> {
        self.parse(self.front)
    }

    /// Deserializes the fields of the front matter, like [`fields`](Self::fields), but also accepts unquoted values
    /// that YAML would reject or misread, such as values with `: ` or ` #`. These values are read as plain text, as
    /// other programs do. Also returns the numbers of their lines in the file, counted from 1.
    ///
    /// # Errors
    /// Fails as [`fields`](Self::fields) does.
    pub fn lenient_fields<T: DeserializeOwned>(&self) -> Result<(T, Vec<usize>), FrontMatterError> {
        self.fields()
            .map(|fields| (fields, Vec::new()))
            .or_else(|error| {
                let mut quoted = Vec::new();
                let mut text = String::with_capacity(self.front.len() + 64);
                for (at, line) in self.front.lines().enumerate() {
                    match quote_value(line) {
                        Some(line) => {
                            quoted.push(self.front_line + at);
                            text.push_str(&line);
                        }
                        None => text.push_str(line),
                    }
                    text.push('\n');
                }
                let fields = self.parse(&text).map_err(|_| error)?;
                Ok((fields, quoted))
            })
    }

    fn parse<T: DeserializeOwned>(&self, front: &str) -> Result<T, FrontMatterError> {
        serde_saphyr::from_str::<T>(front).map_err(|error| {
            let plain = error.without_snippet();
            let what = plain.render_with_formatter(&UserMessageFormatter);
            let mut what = one_line(&what);
            let mut line = self.front_line;
            if let Some(at) = plain.location() {
                // Remove the position from the message. It is relative to the front matter; `line` is relative to the
                // file.
                let position = format!(" at line {}, column {}", at.line(), at.column());
                what = what.replace(&position, "");
                let below = usize::try_from(at.line()).unwrap_or(1);
                line += below.saturating_sub(1);
            }
            FrontMatterError::Yaml {
                line,
                what: clip(&what, 200),
            }
        })
    }
}

/// Returns the line `KEY: VALUE` with quotes around the value. Returns `None` if the line has another form, or if the
/// value needs no quotes, for example because it is already quoted or is a YAML list.
fn quote_value(line: &str) -> Option<String> {
    let (key, value) = line.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let value = value.trim();
    // A value such as `[file] [line]`, the hint for a command's arguments, is text and not a YAML list.
    let is_list = value.starts_with('[') && value.find(']') == value.len().checked_sub(1);
    let is_text = !value.starts_with(|c| "\"'{|>&".contains(c));
    let is_plain = is_text && !is_list && !value.is_empty();
    let is_misread = value.contains(": ") || value.contains(" #") || value.ends_with(':');
    let starts_as_syntax = value.starts_with(['[', '*', '@', '`', '%', '!', '#']);
    if key.is_empty() || !key.chars().all(is_key) || !is_plain || !(is_misread || starts_as_syntax)
    {
        return None;
    }
    Some(format!("{key}: {}", serde_json::Value::from(value)))
}

/// The form of a valid name, for error messages.
pub const NAME_FORM: &str =
    "1 to 64 letters, digits, spaces, '-', '_', '.', starting with a letter or digit";

/// Returns the trimmed name if it has the form [`NAME_FORM`], otherwise `None`.
pub fn valid_name(text: &str) -> Option<String> {
    let name = text.trim();
    // Unicode classifies some invisible characters as alphabetic.
    let is_word_char = |c: char| c.is_alphanumeric() && !is_hidden(c);
    let is_allowed = |c: char| is_word_char(c) || matches!(c, ' ' | '-' | '_' | '.');
    let fits = name.chars().next().is_some_and(is_word_char)
        && name.chars().all(is_allowed)
        && name.chars().count() <= NAME_MAX;
    fits.then(|| name.to_string())
}

/// Returns the text on one line: words are separated by single spaces, and control characters are escaped.
pub fn single_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escape_control_chars(&words.join(" "))
}

/// Like [`escape_control_chars`], but keeps tabs, which Makefiles need.
pub fn escape_keeping_tabs(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(escape_control_chars).collect();
    parts.join("\t")
}

/// Keeps at most the first [`BODY_MAX`] bytes of a text, cut at a character boundary. If bytes are cut, a marker at the
/// end says how many. The marker is not counted in [`BODY_MAX`].
pub fn truncate_body(mut body: String) -> String {
    if body.len() > BODY_MAX {
        let at = body.floor_char_boundary(BODY_MAX);
        let missing = body.len() - at;
        body.truncate(at);
        body.push_str(&format!("\n[… {missing} bytes cut here …]"));
    }
    body
}
