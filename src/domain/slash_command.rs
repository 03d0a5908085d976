//! Slash commands that files define: those of `.claude/commands`, and skills.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::front_matter::{
    FrontMatter, FrontMatterError, escape_keeping_tabs, single_line, truncate_body,
};
use super::text::{clip, head_and_tail};

/// Maximum length of a description and of a hint, in characters.
const DESCRIPTION_MAX: usize = 200;
/// Maximum length of a name, in characters.
const NAME_MAX: usize = 64;
/// Maximum size of a command with its arguments, in bytes, without the mark of a cut.
const EXPANDED_MAX: usize = 96 * 1024;

/// A command of a file or skill that the user can type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// The name without the slash, see [`command_name`].
    pub name: String,
    /// What it does, on one line.
    pub description: String,
    /// A description of its arguments (`argument-hint` of the file); can be empty.
    pub hint: String,
    /// The path of the file as messages show it; empty for a built-in skill.
    pub path: String,
}

/// A parsed command file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    pub description: String,
    pub hint: String,
    pub body: String,
}

/// Why a command's file cannot be used: the line (from 1), the problem, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Front(#[from] FrontMatterError),
    /// The file has no text below the front matter.
    #[error("line {0}: the command has no text: write instructions")]
    Empty(usize),
}

impl CommandFile {
    /// Parses a file of `.claude/commands`. Of the front matter, only `description` and `argument-hint` are used.
    /// Without a description, the first line of the text is the description.
    ///
    /// # Errors
    /// Returns the line, the problem and what to do.
    pub fn parse(text: &str) -> Result<CommandFile, CommandError> {
        let front = FrontMatter::split(text)?;
        let fields = if front.is_empty() {
            Map::new()
        } else {
            front.lenient_fields::<Map<String, Value>>()?.0
        };
        let field = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => clip(&single_line(text), DESCRIPTION_MAX),
            // YAML reads an unquoted hint such as [file] as a list.
            Some(Value::Array(list)) => {
                let words: Vec<String> = list
                    .iter()
                    .map(|w| w.as_str().map_or_else(|| w.to_string(), str::to_string))
                    .collect();
                clip(
                    &single_line(&format!("[{}]", words.join(", "))),
                    DESCRIPTION_MAX,
                )
            }
            _ => String::new(),
        };
        let body = truncate_body(escape_keeping_tabs(front.body.trim()));
        if body.is_empty() {
            return Err(CommandError::Empty(front.body_line));
        }
        let first_line = body
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches('#')
            .trim();
        let description = match field("description") {
            text if text.is_empty() => clip(&single_line(first_line), DESCRIPTION_MAX),
            text => text,
        };
        Ok(CommandFile {
            description,
            hint: field("argument-hint"),
            body,
        })
    }
}

/// Returns the command name for the name of a file or skill: in lower case, with `-` instead of spaces. `None` unless
/// the result begins with an ASCII letter or digit, contains only these and `-`, `_`, `:` and `.`, and has at most 64
/// characters.
pub fn command_name(text: &str) -> Option<String> {
    let name: String = text
        .trim()
        .to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join("-");
    let is_typed = |c: char| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':' | '.')
    };
    let fits = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_typed)
        && name.len() <= NAME_MAX;
    fits.then_some(name)
}

/// Splits a message into the name of a command and its arguments. `None` if it does not begin with a slash and a name.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    let name = word.strip_prefix('/')?;
    (!name.is_empty() && !name.contains('/')).then_some((name, rest.trim()))
}

/// The text of a command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// Whether the text contains shell commands, written !`COMMAND`, that Claude Code would run. crewdeck does not run
    /// them.
    pub has_commands: bool,
}

/// Replaces `$ARGUMENTS`, `$ARGUMENTS[N]` and `$N` in a command's text by the arguments. N counts from 0 if the text
/// contains `$0` or `$ARGUMENTS[0]`, else from 1 as in older commands. If the text contains none of these, the
/// arguments are appended. `variables` are the names and values that replace `${NAME}`.
pub fn expand(body: &str, arguments: &str, variables: &[(&str, &str)]) -> Expansion {
    let words = split_arguments(arguments);
    let first = usize::from(!body.contains("$0") && !body.contains("$ARGUMENTS[0]"));
    let word = |number: usize| {
        number
            .checked_sub(first)
            .and_then(|at| words.get(at))
            .map_or("", String::as_str)
    };
    let mut out = String::with_capacity(body.len() + arguments.len());
    let mut is_used = false;
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            is_used = true;
            let index = after.strip_prefix('[').and_then(|list| {
                let len = digits(list);
                let number: usize = list[..len].parse().ok()?;
                Some((number, list[len..].strip_prefix(']')?))
            });
            match index {
                Some((number, after)) => {
                    out.push_str(word(number));
                    rest = after;
                }
                None => {
                    out.push_str(arguments);
                    rest = after;
                }
            }
        } else if (1..=2).contains(&digits(rest)) {
            let len = digits(rest);
            is_used = true;
            out.push_str(word(rest[..len].parse().unwrap_or(usize::MAX)));
            rest = &rest[len..];
        } else {
            let found = variables.iter().find_map(|(name, value)| {
                let after = rest
                    .strip_prefix('{')?
                    .strip_prefix(name)?
                    .strip_prefix('}')?;
                Some((*value, after))
            });
            match found {
                Some((value, after)) => {
                    out.push_str(value);
                    rest = after;
                }
                None => out.push('$'),
            }
        }
        if out.len() > EXPANDED_MAX * 2 {
            break;
        }
    }
    out.push_str(rest);
    if !is_used && !arguments.is_empty() {
        out.push_str("\n\nARGUMENTS: ");
        out.push_str(arguments);
    }
    Expansion {
        text: head_and_tail(&out, EXPANDED_MAX),
        has_commands: body.contains("!`"),
    }
}

/// Splits arguments at blanks outside of quotes, and removes the quotes. A `'` within a word is no quote.
pub(super) fn split_arguments(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || (c == '\'' && word.is_none()) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            Some(_) | None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn arguments_are_filled_in_once() {
        for (body, arguments, expected) in [
            ("Do it.", "", "Do it."),
            ("Do it.", "a b", "Do it.\n\nARGUMENTS: a b"),
            ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
            (
                "Fix $1 and $2, not $3.",
                "a \"b c\"",
                "Fix a and b c, not .",
            ),
            ("Fix $0 and $1", "a b", "Fix a and b"),
            (
                "Fix $ARGUMENTS[0], $ARGUMENTS[1]$ARGUMENTS[9]",
                "a b",
                "Fix a, b",
            ),
            ("Fix $ARGUMENTS[x", "a", "Fix a[x"),
            ("$1", "$2 $1", "$2"),
            (
                "It costs $100 or $x, $HOME",
                "",
                "It costs $100 or $x, $HOME",
            ),
            ("In ${DIR}/x ${OTHER}", "", "In /w/x ${OTHER}"),
            ("$1", "don't stop", "don't"),
        ] {
            assert_eq!(
                expand(body, arguments, &[("DIR", "/w")]).text,
                expected,
                "{body}"
            );
        }
        assert!(expand("Status: !`git status`", "", &[]).has_commands);
        let long = expand(&"$ARGUMENTS ".repeat(1000), &"x".repeat(10_000), &[]).text;
        assert!(long.len() < EXPANDED_MAX + 100 && long.contains("bytes cut here"));
    }

    #[test]
    fn files_are_parsed_and_mistakes_name_the_line() {
        let file = |text: &str| CommandFile::parse(text).unwrap();
        let whole = file(
            "---\ndescription: Fix: it\nargument-hint: [file] [line]\nallowed-tools: Bash(git *)\n---\nFix $1",
        );
        assert_eq!(
            (whole.description.as_str(), whole.body.as_str()),
            ("Fix: it", "Fix $1")
        );
        assert_eq!(file("# Fix it\nNow.").description, "Fix it");
        assert_eq!(file("---\nargument-hint: [a, b]\n---\nx").hint, "[a, b]");
        for (text, expected) in [
            ("", "line 1: the command has no text"),
            ("---\nmodel: x\n---\n", "line 4: the command has no text"),
            ("---\nmodel: x\n", "line 1: the front matter has no end"),
            ("---\n- x\n---\nDo", "line 2: "),
        ] {
            let why = CommandFile::parse(text).unwrap_err().to_string();
            assert!(why.starts_with(expected), "{text}\n{why}");
        }
    }

    #[test]
    fn names_can_be_typed() {
        assert_eq!(command_name("Code Review").as_deref(), Some("code-review"));
        assert_eq!(command_name("git:fix_1").as_deref(), Some("git:fix_1"));
        assert_eq!(
            (command_name("größe"), command_name("-x"), command_name("")),
            (None, None, None)
        );
        assert_eq!(split("/fix  a b "), Some(("fix", "a b")));
        assert_eq!(
            (split("/etc/hosts"), split("fix"), split("/")),
            (None, None, None)
        );
    }
}
