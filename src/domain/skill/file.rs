//! One SKILL.md: front matter in YAML between `---` lines, then the text that agents load.

use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::UserMessageFormatter;

use super::{DESCRIPTION_MAX, NAME_MAX, TAG_MAX, TAGS_MAX};
use crate::domain::text::{clip, harmless, one_line};

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
        "line {line}: {what}: mend the YAML (a text with ': ', '#' or quotes in it goes into quotes)"
    )]
    Yaml {
        /// The line in the file.
        line: usize,
        /// What the reader of YAML says.
        what: String,
    },
    /// The folder's name can not be the skill's name.
    #[error("line {line}: the folder {folder:?} gives no name: write name: {NAME_FORM}")]
    Nameless {
        /// The line where a name could stand.
        line: usize,
        /// The folder.
        folder: String,
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
        let name = match meta.name {
            Some(SkillName(name)) => name,
            None => checked(folder).ok_or_else(|| SkillError::Nameless {
                line: parts.front_line,
                folder: one_line(&clip(folder, NAME_MAX)),
            })?,
        };
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
    name: Option<SkillName>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    tags: Tags,
}

/// A name that can be asked for.
struct SkillName(String);

impl<'de> Deserialize<'de> for SkillName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        checked(&text).map(SkillName).ok_or_else(|| {
            let shown = one_line(&clip(&text, NAME_MAX));
            D::Error::custom(format!("{shown:?} is not a name ({NAME_FORM})"))
        })
    }
}

/// A name without the blanks around it, if it is one.
fn checked(text: &str) -> Option<String> {
    let name = text.trim();
    let form = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    let fits = name.chars().next().is_some_and(char::is_alphanumeric)
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn parsed(text: &str) -> SkillFile {
        SkillFile::parse(text, "folder").unwrap()
    }

    fn file(name: &str, description: &str, tags: &[&str], body: &str) -> SkillFile {
        SkillFile {
            name: name.into(),
            description: description.into(),
            tags: tags.iter().map(|t| (*t).to_string()).collect(),
            body: body.into(),
        }
    }

    #[test]
    fn files_that_can_be_used() {
        let cases = [
            (
                "---\nname: pdf\ndescription: Reads PDF files\ntags: [a, b]\n---\n\n# Do\n\nthis\n",
                file("pdf", "Reads PDF files", &["a", "b"], "# Do\n\nthis"),
            ),
            (
                "\u{feff}---\r\nname: \"pdf\"\r\ndescription: |\r\n  Two\r\n  lines\r\ntags: a, b ,,\r\n---\r\nDo\r\nthis\r\n",
                file("pdf", "Two lines", &["a", "b"], "Do\nthis"),
            ),
            (
                "---\ndescription: >-\n  Folded\n  text: with a colon\nlicense: MIT\nmetadata: {version: 1}\nallowed-tools: Read, Grep\n---\nDo",
                file("folder", "Folded text: with a colon", &[], "Do"),
            ),
            ("Do", file("folder", "No description", &[], "Do")),
            (
                "---\n---\nDo",
                file("folder", "No description", &[], "Do"),
            ),
            (
                "\n\n---  \nname: PDF files 2.0\ntags:\n  - 1\n  - yes\n---\nDo\n---\nmore",
                file("PDF files 2.0", "No description", &["1", "yes"], "Do\n---\nmore"),
            ),
            (
                "---\nname: 12\ndescription:\ntags:\n---\nDo",
                file("12", "No description", &[], "Do"),
            ),
            (
                "---\nname: größe\ntags: one\n---\n\tDo",
                file("größe", "No description", &["one"], "Do"),
            ),
            (
                "--- not a fence\nDo",
                file("folder", "No description", &[], "--- not a fence\nDo"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(SkillFile::parse(text, "folder"), Ok(expected), "{text}");
        }
    }

    #[test]
    fn files_that_can_not_be_used_say_where_and_what_to_do() {
        let long = format!("---\nname: a\nx: {}\n---\nDo", "y".repeat(FRONT_MAX));
        let cases = [
            (
                "---\nname: a\nDo this",
                "line 1: the front matter has no end: write a line --- below it",
            ),
            (
                "---\nname: a\ndescription: Use when: asked\n---\nDo",
                "line 3: mapping values are not allowed in this context: mend the YAML (a text with ': ', '#' or quotes in it goes into quotes)",
            ),
            ("---\nname: a\n\n---\n\n", "line 5: there is no text: write below the front matter what an agent is to do"),
            ("", "line 1: there is no text: write below the front matter what an agent is to do"),
            ("---\nname: 'a\n---\nDo", "line 3: "),
            ("\n---\nname: a/b\n---\nDo", "line 3: \"a/b\" is not a name (1 to 64 letters"),
            ("---\ndescription: x\nname: ../../etc\n---\nDo", "line 3: "),
            ("---\nname: \"a\\u001b[2J\"\n---\nDo", "line 2: \"a␛[2J\" is not a name"),
            ("---\nname: [a]\n---\nDo", "line 2: "),
            ("---\nname: a\nname: b\n---\nDo", "line 3: "),
            ("---\nname: a\ndescription: [x]\n---\nDo", "line 3: "),
            ("---\nname: a\ntags: {x: 1}\n---\nDo", "line 3: "),
            ("---\nname: a\ntags: [[x]]\n---\nDo", "line 3: "),
            ("---\n- a\n---\nDo", "line 2: "),
            ("---\nwords\n---\nDo", "line 2: "),
            ("---\nname: a\n\tx: 1\n---\nDo", "line 2: "),
            ("---\nname: *gone\n---\nDo", "line 2: "),
            (long.as_str(), "line 1: the front matter is longer than 16 KiB"),
        ];
        for (text, expected) in cases {
            let why = SkillFile::parse(text, "folder").unwrap_err().to_string();
            println!("{why}");
            assert!(why.starts_with(expected), "{text}\n{why}\n{expected}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
        let why = SkillFile::parse("Do", "-odd-").unwrap_err().to_string();
        assert!(why.starts_with("line 1: the folder \"-odd-\" gives no name: write name: "), "{why}");
    }

    #[test]
    fn every_field_is_bounded() {
        let long = "é".repeat(3000);
        let name = "n".repeat(NAME_MAX + 1);
        assert!(SkillFile::parse(&format!("---\nname: {name}\n---\nDo"), "f").is_err());
        let tags = vec![long.as_str(); 40].join(",");
        let text = format!("---\ndescription: {long}\ntags: t\n---\n{}", long.repeat(40));
        let skill = parsed(&text);
        assert_eq!(skill.description.chars().count(), DESCRIPTION_MAX);
        assert!(skill.description.ends_with('…'));
        assert!(skill.body.len() < BODY_MAX + 60);
        assert!(skill.body.ends_with(" bytes cut here …]"));
        let bounded = Tags::from_words(tags.split(',')).0;
        assert_eq!(bounded, vec![clip(&long, TAG_MAX); TAGS_MAX]);
    }

    #[test]
    fn nothing_in_a_skill_drives_a_terminal() {
        let text = "---\nname: a\ndescription: \"x\\u001b[2J\\ny\\u202e\"\ntags: [\"\\u0007\"]\n---\nall:\n\tcc \u{1b}]0;t\u{7}\n";
        let skill = parsed(text);
        assert_eq!(
            skill,
            file("a", "x␛[2J y�", &["␇"], "all:\n\tcc ␛]0;t␇")
        );
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for n in 1..12 {
            let refs = vec![format!("*a{}", n - 1); 10].join(", ");
            yaml.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
        }
        let text = format!("---\nname: a\n{yaml}---\nDo");
        // Either it is refused, or what is not asked for is passed over; it must not hang.
        let _ = SkillFile::parse(&text, "a");
        let tags = format!("---\n{yaml}tags: *a11\n---\nDo");
        assert!(SkillFile::parse(&tags, "a").is_err());
    }
}
