//! Parser of SKILL.md files: YAML front matter between `---` lines, then the text that agents load.

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::UserMessageFormatter;

use super::{DESCRIPTION_MAX, NAME_MAX, TAG_MAX, TAGS_MAX};
use crate::domain::text::{clip, escape_control_chars, is_hidden, one_line};

/// Maximum size of a skill's text, in bytes. With the `<skill>` tags that the tool `load_skill` adds, it fits into one
/// tool result (64 KiB).
pub const BODY_MAX: usize = 63 * 1024;
/// Maximum size of the front matter, in bytes.
const FRONT_MAX: usize = 16 * 1024;
/// The description of a skill that has none, as in learn-claude-code.
const NO_DESCRIPTION: &str = "No description";
/// The line before and after the front matter.
const FENCE: &str = "---";

/// Why a SKILL.md cannot be used: the line (from 1), the problem, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// The front matter has no end. The number is the line in which it begins.
    #[error("line {0}: the front matter has no end: add a line --- below it")]
    Open(usize),
    /// The front matter is longer than 16 KiB. The number is the line in which it begins.
    #[error("line {0}: the front matter is longer than 16 KiB: move text below the second ---")]
    TooLong(usize),
    /// The front matter is not valid YAML, or a field has the wrong type.
    #[error(
        "line {line}: {what}: write lines of KEY: VALUE, and quote values that contain ': ' or '#'"
    )]
    Yaml {
        line: usize,
        /// The message of the YAML parser.
        what: String,
    },
    /// The name of the skill is not valid. It is the value of the field `name` or, without that field, the name of the
    /// folder.
    #[error("line {line}: {name:?} is not a valid name: set name: to {NAME_FORM}")]
    Name {
        /// The line of the `name` field, or the first line of the front matter if there is no such field.
        line: usize,
        name: String,
    },
    /// The file has no text below the front matter. The number is the line where the text should begin.
    #[error("line {0}: the skill has no text: write instructions below the front matter")]
    Empty(usize),
}

/// Describes a valid name in error messages.
const NAME_FORM: &str =
    "1 to 64 letters, digits, spaces, '-', '_', '.', starting with a letter or digit";

/// A parsed SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The name by which agents load the skill.
    pub name: String,
    /// When to use the skill, on one line.
    pub description: String,
    /// Tags that agents see in the list of skills.
    pub tags: Vec<String>,
    /// The text that agents read. Cut to [`BODY_MAX`] bytes, with a marker if it was longer.
    pub body: String,
}

impl SkillFile {
    /// Parses `text`, the SKILL.md in the folder `folder`. As in learn-claude-code, a file without front matter is a
    /// skill with the folder's name.
    ///
    /// # Errors
    /// Returns an error that names the line, the problem and what to do.
    pub fn parse(text: &str, folder: &str) -> Result<SkillFile, SkillError> {
        let parts = SkillParts::split(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        let meta = parts.meta()?;
        let given = meta.name.as_deref().unwrap_or(folder);
        let name = valid_name(given).ok_or_else(|| SkillError::Name {
            line: parts.line_of("name:"),
            name: one_line(&clip(given, NAME_MAX)),
        })?;
        let description = single_line(meta.description.as_deref().unwrap_or_default());
        let body = escape_keeping_tabs(parts.body.trim());
        if body.is_empty() {
            return Err(SkillError::Empty(parts.body_line));
        }
        Ok(SkillFile {
            name,
            description: if description.is_empty() {
                NO_DESCRIPTION.into()
            } else {
                clip(&description, DESCRIPTION_MAX)
            },
            tags: meta.tags.0,
            body: truncate_body(body),
        })
    }
}

/// The front matter and the text of a file.
struct SkillParts<'a> {
    front: &'a str,
    /// The line number of the first line of the front matter.
    front_line: usize,
    body: &'a str,
    body_line: usize,
}

impl<'a> SkillParts<'a> {
    fn split(text: &'a str) -> Result<SkillParts<'a>, SkillError> {
        let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, *at, line.trim_end()))
        });
        // Blank lines before the front matter are ignored.
        let opening = lines.by_ref().enumerate().find(|(_, l)| !l.2.is_empty());
        let Some((before, (_, begin, FENCE))) = opening else {
            return Ok(SkillParts {
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
            .ok_or(SkillError::Open(fence_line))?;
        if end - begin > FRONT_MAX {
            return Err(SkillError::TooLong(fence_line));
        }
        Ok(SkillParts {
            front: &text[begin..end],
            front_line: fence_line + 1,
            body: &text[body..],
            body_line: fence_line + within + 2,
        })
    }

    /// Returns the line number of the line that begins with `key`, or the first line of the front matter.
    fn line_of(&self, key: &str) -> usize {
        let below = self.front.lines().position(|l| l.starts_with(key));
        self.front_line + below.unwrap_or(0)
    }

    fn meta(&self) -> Result<Meta, SkillError> {
        serde_saphyr::from_str::<Meta>(self.front).map_err(|error| {
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
            SkillError::Yaml {
                line,
                what: clip(&what, 200),
            }
        })
    }
}

/// The keys of the front matter that crewdeck reads. Other keys are ignored.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: SkillTags,
}

/// Returns the trimmed text if it is a valid name: at most [`NAME_MAX`] letters, digits, spaces, `-`, `_` and `.`, and
/// the first is a letter or digit.
fn valid_name(text: &str) -> Option<String> {
    let name = text.trim();
    // Unicode classifies some invisible characters as alphabetic.
    let is_letter = |c: char| c.is_alphanumeric() && !is_hidden(c);
    let is_allowed = |c: char| is_letter(c) || matches!(c, ' ' | '-' | '_' | '.');
    let fits = name.chars().next().is_some_and(is_letter)
        && name.chars().all(is_allowed)
        && name.chars().count() <= NAME_MAX;
    fits.then(|| name.to_string())
}

/// The tags, read from a list or from a string with commas.
#[derive(Default)]
struct SkillTags(Vec<String>);

impl SkillTags {
    fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> SkillTags {
        let words = words.map(|w| clip(&single_line(w), TAG_MAX));
        SkillTags(words.filter(|w| !w.is_empty()).take(TAGS_MAX).collect())
    }
}

impl<'de> Deserialize<'de> for SkillTags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagsVisitor)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = SkillTags;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of tags, or a string with commas")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SkillTags, E> {
        Ok(SkillTags::from_words(text.split(',')))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<SkillTags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<SkillTags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<SkillTags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<SkillTags, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<SkillTags, E> {
        Ok(SkillTags::default())
    }

    fn visit_none<E: Error>(self) -> Result<SkillTags, E> {
        Ok(SkillTags::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SkillTags, A::Error> {
        let mut words: Vec<String> = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        Ok(SkillTags::from_words(words.iter().map(String::as_str)))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, _: A) -> Result<SkillTags, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &self))
    }
}

/// Joins the words with single spaces and escapes control characters.
fn single_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escape_control_chars(&words.join(" "))
}

/// Escapes control characters except tabs, which Makefiles need.
fn escape_keeping_tabs(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(escape_control_chars).collect();
    parts.join("\t")
}

/// Keeps the first [`BODY_MAX`] bytes of a text. If bytes are cut, a marker at the end says how many.
fn truncate_body(mut body: String) -> String {
    if body.len() > BODY_MAX {
        let at = body.floor_char_boundary(BODY_MAX);
        let missing = body.len() - at;
        body.truncate(at);
        body.push_str(&format!("\n[… {missing} bytes cut here …]"));
    }
    body
}
