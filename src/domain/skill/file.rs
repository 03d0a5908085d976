//! Parser of SKILL.md files: YAML front matter between `---` lines, then the text that agents load.

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::{DESCRIPTION_MAX, TAG_MAX, TAGS_MAX};
use crate::domain::front_matter::{
    FrontMatter, FrontMatterError, NAME_FORM, NAME_MAX, escape_keeping_tabs, single_line,
    truncate_body, valid_name,
};
use crate::domain::text::{clip, one_line};

/// The description of a skill that has none, as in learn-claude-code.
const NO_DESCRIPTION: &str = "No description";

/// Why a SKILL.md cannot be used. The message contains the line number (from 1), the problem and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// The front matter cannot be read.
    #[error(transparent)]
    Front(#[from] FrontMatterError),
    /// The name of the skill is not valid. It is the value of the field `name` or, without that field, the name of the
    /// folder.
    #[error("line {line}: {name:?} is not a valid name: set `name` to {NAME_FORM}")]
    Name {
        /// The line of the `name` field, or the first line of the front matter if there is no such field.
        line: usize,
        name: String,
    },
    /// The file has no text below the front matter. The value is the number of the line, counted from 1, where the text
    /// should begin.
    #[error("line {0}: the skill has no text: write instructions below the front matter")]
    Empty(usize),
}

/// A parsed SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// The name by which agents load the skill.
    pub name: String,
    /// When to use the skill, on one line.
    pub description: String,
    /// Tags that agents see in the list of skills, at most [`TAGS_MAX`].
    pub tags: Vec<String>,
    /// The text that agents read. Cut to [`BODY_MAX`](super::BODY_MAX) bytes, with a marker if it was longer.
    pub body: String,
}

impl SkillFile {
    /// Parses `text`, the SKILL.md in the folder `folder`. As in learn-claude-code, a file without front matter is a
    /// skill with the folder's name.
    ///
    /// # Errors
    /// Fails if the front matter or the name is not valid, or if there is no text below the front matter. The message
    /// names the line, the problem and what to do.
    pub fn parse(text: &str, folder: &str) -> Result<SkillFile, SkillError> {
        let parts = FrontMatter::split(text)?;
        let meta = parts.fields::<Meta>()?;
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

/// The fields of the front matter that crewdeck reads. Other fields are ignored.
#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: SkillTags,
}

/// The tags of a skill. Deserialized from a list, or from a string in which commas separate the tags.
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
        f.write_str("a list of tags, or a string of tags separated by commas")
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
