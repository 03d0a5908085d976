//! One SKILL.md: front matter in YAML between `---` lines, then the text that agents load.

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::UserMessageFormatter;

use super::{DESCRIPTION_MAX, NAME_MAX, TAG_MAX, TAGS_MAX};
use crate::domain::text::{clip, harmless, is_hidden, one_line};

/// Most bytes of a skill's text. With its frame it stays below what one tool result may hold (64 KiB).
pub const BODY_MAX: usize = 63 * 1024;
/// Most bytes of front matter.
const FRONT_MAX: usize = 16 * 1024;
/// What a skill says that does not describe itself; the reference's words.
const NO_DESCRIPTION: &str = "No description";
/// What surrounds the front matter.
const FENCE: &str = "---";

/// Why a SKILL.md can not be used: the line (from 1), what is wrong with it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// The front matter begins and does not end.
    #[error("line {0}: the front matter has no end: write a line --- below it")]
    Open(usize),
    /// The front matter is longer than it may be.
    #[error("line {0}: the front matter is longer than 16 KiB: move its text below the second ---")]
    TooLong(usize),
    /// The front matter is no YAML, or does not hold what it should.
    #[error(
        "line {line}: {what}: write lines of KEY: VALUE, and put a value with ': ' or '#' in it into quotes"
    )]
    Yaml {
        /// The line in the file.
        line: usize,
        /// What the reader of YAML says.
        what: String,
    },
    /// The name, or the folder's where none is given, can not be asked for.
    #[error("line {line}: {name:?} is not a name: write name: and {NAME_FORM}")]
    Name {
        /// The line where the name stands or could stand.
        line: usize,
        /// What is no name.
        name: String,
    },
    /// There is nothing to load.
    #[error("line {0}: there is no text: write below the front matter what an agent is to do")]
    Empty(usize),
}

/// What a name looks like, for messages.
const NAME_FORM: &str =
    "1 to 64 letters, digits, blanks, '-', '_', '.', beginning with a letter or digit";

/// A SKILL.md that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// What it is loaded by.
    pub name: String,
    /// What it is good for, on one line.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What an agent reads; at most [`BODY_MAX`] bytes, and a mark where it was cut.
    pub body: String,
}

impl SkillFile {
    /// Reads `text`, the SKILL.md of the folder `folder`. As in the reference, a file without front
    /// matter is a skill with the folder's name.
    ///
    /// # Errors
    /// What is wrong, where, and what to do.
    pub fn parse(text: &str, folder: &str) -> Result<SkillFile, SkillError> {
        let parts = Parts::of(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        let meta = parts.meta()?;
        let given = meta.name.as_deref().unwrap_or(folder);
        let name = checked(given).ok_or_else(|| SkillError::Name {
            line: parts.line_of("name:"),
            name: one_line(&clip(given, NAME_MAX)),
        })?;
        let description = flat(meta.description.as_deref().unwrap_or_default());
        let body = visible(parts.body.trim());
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
            body: cut(body),
        })
    }
}

/// A file taken apart.
struct Parts<'a> {
    front: &'a str,
    /// The line of the file on which the front matter's first line stands.
    front_line: usize,
    body: &'a str,
    body_line: usize,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Parts<'a>, SkillError> {
        let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, *at, line.trim_end()))
        });
        // Blank lines above the first fence are easily left behind and mean nothing.
        let opening = lines.by_ref().enumerate().find(|(_, l)| !l.2.is_empty());
        let Some((before, (_, begin, FENCE))) = opening else {
            return Ok(Parts {
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
        Ok(Parts {
            front: &text[begin..end],
            front_line: fence_line + 1,
            body: &text[body..],
            body_line: fence_line + within + 2,
        })
    }

    /// The line of the file that begins with `key`, or else the first one of the front matter.
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
                // The place is told once, as a line of the whole file.
                let there = format!(" at line {}, column {}", at.line(), at.column());
                what = what.replace(&there, "");
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

/// The front matter; other keys mean nothing here.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: Tags,
}

/// A name without the blanks around it, if it is one.
fn checked(text: &str) -> Option<String> {
    let name = text.trim();
    // Fillers count as letters, and nobody sees them.
    let letter = |c: char| c.is_alphanumeric() && !is_hidden(c);
    let form = |c: char| letter(c) || matches!(c, ' ' | '-' | '_' | '.');
    let fits = name.chars().next().is_some_and(letter)
        && name.chars().all(form)
        && name.chars().count() <= NAME_MAX;
    fits.then(|| name.to_string())
}

/// Tags: a list, or one text with commas.
#[derive(Default)]
struct Tags(Vec<String>);

impl Tags {
    fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Tags {
        let words = words.map(|w| clip(&flat(w), TAG_MAX));
        Tags(words.filter(|w| !w.is_empty()).take(TAGS_MAX).collect())
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TagsVisitor)
    }
}

struct TagsVisitor;

impl<'de> Visitor<'de> for TagsVisitor {
    type Value = Tags;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of tags, or one text with commas")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tags, E> {
        Ok(Tags::from_words(text.split(',')))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Tags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Tags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Tags, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tags, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<Tags, E> {
        Ok(Tags::default())
    }

    fn visit_none<E: Error>(self) -> Result<Tags, E> {
        Ok(Tags::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tags, A::Error> {
        let mut words: Vec<String> = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        Ok(Tags::from_words(words.iter().map(String::as_str)))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, _: A) -> Result<Tags, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &self))
    }
}

/// On one line, with single blanks, harmless.
fn flat(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" "))
}

/// Harmless, with the tabs kept: in a Makefile they are not blanks.
fn visible(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(harmless).collect();
    parts.join("\t")
}

/// The beginning of a text that is too long; a skill is read from the top.
fn cut(mut body: String) -> String {
    if body.len() > BODY_MAX {
        let mut at = BODY_MAX;
        while !body.is_char_boundary(at) {
            at -= 1;
        }
        let missing = body.len() - at;
        body.truncate(at);
        body.push_str(&format!("\n[… {missing} bytes cut here …]"));
    }
    body
}
