//! Slash commands that are defined by files: the files in `.claude/commands`, and skills.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::front_matter::{
    FrontMatter, FrontMatterError, escape_keeping_tabs, single_line, truncate_body,
};
use super::text::{clip, head_and_tail};

/// Maximum length, in characters, of the description and the hint in a command file. Longer texts are cut. Descriptions
/// of skills have another limit.
const DESCRIPTION_MAX: usize = 200;
/// Maximum length, in characters, of a command's name. A longer name is not valid.
const NAME_MAX: usize = 64;
/// Maximum size, in bytes, of a command's text with the arguments filled in. A longer text is cut in the middle; the
/// note that says how much was cut is not counted.
const EXPANDED_MAX: usize = 96 * 1024;

/// A slash command that a file or skill defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// The name without the slash, as [`command_name`] returns it.
    pub name: String,
    /// A description of the command on one line.
    pub description: String,
    /// A description of the command's arguments (`argument-hint` in the file); may be empty.
    pub hint: String,
    /// The path of the file as messages show it; empty for a built-in skill.
    pub path: String,
}

/// A slash command as its file `.claude/commands/NAME.md` defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    pub description: String,
    pub hint: String,
    /// The names of the arguments (`arguments` in the file), in the order in which the user types the arguments.
    pub arguments: Vec<String>,
    pub body: String,
}

/// Why a command's file cannot be used. The text contains the line (counted from 1), the problem and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Front(#[from] FrontMatterError),
    /// The file has no text below the front matter. The value is the number of the line, counted from 1, where the text
    /// should begin.
    #[error("line {0}: the command has no text: write instructions")]
    Empty(usize),
}

impl CommandFile {
    /// Parses a file of `.claude/commands`. Uses only `description`, `argument-hint` and `arguments` of the front
    /// matter. If there is no description, uses the first line of the text instead, without the `#` of a heading. Texts
    /// that are too long are cut: the description and the hint at `DESCRIPTION_MAX` characters, the command's text at
    /// [`BODY_MAX`](super::front_matter::BODY_MAX) bytes, with a marker that says how much is missing.
    ///
    /// # Errors
    /// Fails if the front matter is not valid, or if there is no text below the front matter. The message names the
    /// line, the problem and what to do.
    pub fn parse(text: &str) -> Result<CommandFile, CommandError> {
        let front = FrontMatter::split(text)?;
        let fields = if front.is_empty() {
            Map::new()
        } else {
            front.lenient_fields::<Map<String, Value>>()?.0
        };
        let field = |name: &str| match fields.get(name) {
            Some(Value::String(text)) => clip(&single_line(text), DESCRIPTION_MAX),
            // YAML reads an unquoted `argument-hint` such as [file] as a list.
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
            arguments: argument_names(fields.get("arguments")),
            body,
        })
    }
}

/// Returns the names in the field `arguments`, which is a list of names, or a text with names separated by blanks or
/// commas. Names that cannot be written as `$NAME` are kept, so that each name has the position of its argument.
fn argument_names(field: Option<&Value>) -> Vec<String> {
    match field {
        Some(Value::String(text)) => {
            let words = text.split(|c: char| c.is_whitespace() || c == ',');
            words.filter(|w| !w.is_empty()).map(String::from).collect()
        }
        Some(Value::Array(list)) => {
            let name = |name: &Value| name.as_str().unwrap_or_default().trim().to_string();
            list.iter().map(name).collect()
        }
        _ => Vec::new(),
    }
}

/// Converts the name of a file or skill to the name of a command: in lower case, with `-` instead of blanks. The result
/// must begin with an ASCII letter or digit, may contain only ASCII letters, digits, `-`, `_`, `:` and `.`, and has at
/// most 64 characters. Returns `None` for a name that does not fit.
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

/// Splits a message `/NAME ARGUMENTS` into the name, without the slash, and the arguments. Returns `None` if the
/// message does not begin with a slash and a name, or if the name contains another slash, as a path does.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim(), ""));
    let name = word.strip_prefix('/')?;
    (!name.is_empty() && !name.contains('/')).then_some((name, rest.trim()))
}

/// The text of a command with the user's arguments filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// Whether the command's text contains shell commands in the form !`COMMAND`. Claude Code runs them; crewdeck does
    /// not. Arguments of the user do not count.
    pub has_commands: bool,
}

/// A placeholder in a command's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPlaceholder<'a> {
    /// `$ARGUMENTS`: all arguments as the user typed them.
    All,
    /// `$ARGUMENTS[N]`: the argument at this position, counted from 0.
    Indexed(usize),
    /// `$N`: the argument with this number, which has one or two digits. `expand` decides whether the numbers begin
    /// with 0 or 1.
    Numbered(usize),
    /// `$NAME`: an argument that the file has named. The value is the argument's position, counted from 0.
    Named(usize),
    /// `${NAME}`: a variable. This field contains the value of the variable.
    Variable(&'a str),
}

/// Replaces the placeholders in `body`, the text of a command, by the user's arguments and by variables.
///
/// - `$ARGUMENTS` stands for all arguments.
/// - `$ARGUMENTS[N]` stands for one argument, counted from 0.
/// - `$N`, with one or two digits, stands for one argument, counted from 0 if the text contains `$0` or
///   `$ARGUMENTS[N]`, else from 1 as in older commands. Prices such as `$5.00` are not replaced.
/// - `$NAME` stands for the argument whose name is in `names`, which lists the names in the order of the arguments.
/// - `${NAME}` stands for the value of a variable in `variables`.
///
/// A placeholder without an argument is not replaced, because it may be a price or a shell variable. If no argument is
/// used in the text, the arguments are appended after `ARGUMENTS:`. A result of more than 96 KiB is cut in the middle.
pub fn expand(
    body: &str,
    arguments: &str,
    names: &[String],
    variables: &[(&str, &str)],
) -> Expansion {
    let words = split_arguments(arguments);
    let parts: Vec<(&str, Option<CommandPlaceholder<'_>>)> = placeholders(body, names, variables);
    let counts_from_0 = |part: &(&str, Option<CommandPlaceholder<'_>>)| {
        matches!(
            part.1,
            Some(CommandPlaceholder::Numbered(0) | CommandPlaceholder::Indexed(_))
        )
    };
    let first = usize::from(!parts.iter().any(counts_from_0));
    let mut out = String::with_capacity(body.len() + arguments.len());
    let mut is_used = false;
    for (text, placeholder) in parts {
        let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map(String::as_str);
        let value = match placeholder {
            Some(CommandPlaceholder::All) => Some(arguments),
            Some(CommandPlaceholder::Indexed(at) | CommandPlaceholder::Named(at)) => word(Some(at)),
            Some(CommandPlaceholder::Numbered(number)) => word(number.checked_sub(first)),
            Some(CommandPlaceholder::Variable(value)) => {
                out.push_str(value);
                continue;
            }
            None => None,
        };
        is_used |= value.is_some();
        out.push_str(value.unwrap_or(text));
        if out.len() > EXPANDED_MAX * 2 {
            break;
        }
    }
    if !is_used && !arguments.is_empty() {
        out.push_str("\n\nARGUMENTS: ");
        out.push_str(arguments);
    }
    Expansion {
        text: head_and_tail(&out, EXPANDED_MAX),
        has_commands: body.contains("!`"),
    }
}

/// Splits a command's text into its placeholders and the texts between them, in order. Each part consists of its text
/// and the placeholder that this text represents; `None` for a text between placeholders.
fn placeholders<'a>(
    body: &'a str,
    names: &[String],
    variables: &[(&str, &'a str)],
) -> Vec<(&'a str, Option<CommandPlaceholder<'a>>)> {
    let mut parts = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find('$') {
        let (before, here) = rest.split_at(at);
        parts.push((before, None));
        let found = placeholder(&here[1..], names, variables);
        let (len, placeholder) = match found {
            Some((len, placeholder)) => (len + 1, Some(placeholder)),
            None => (1, None),
        };
        parts.push((&here[..len], placeholder));
        rest = &here[len..];
    }
    parts.push((rest, None));
    parts
}

/// Returns the placeholder at the start of `text`, and its length in bytes. `text` is what follows a `$`; the length
/// does not include the `$`. Returns `None` if there is no placeholder at the start.
fn placeholder<'a>(
    text: &str,
    names: &[String],
    variables: &[(&str, &'a str)],
) -> Option<(usize, CommandPlaceholder<'a>)> {
    if let Some(inside) = text.strip_prefix('{') {
        let is_it = |name: &str| {
            inside
                .strip_prefix(name)
                .is_some_and(|r| r.starts_with('}'))
        };
        let (name, value) = variables.iter().find(|(name, _)| is_it(name))?;
        return Some((name.len() + 2, CommandPlaceholder::Variable(value)));
    }
    if let Some(after) = text.strip_prefix("ARGUMENTS") {
        let index = after
            .strip_prefix('[')
            .and_then(|list| list.split_once(']'))
            .and_then(|(digits, _)| Some((digits.len(), digits.parse().ok()?)));
        return Some(match index {
            Some((digits, at)) => (
                "ARGUMENTS[]".len() + digits,
                CommandPlaceholder::Indexed(at),
            ),
            None => ("ARGUMENTS".len(), CommandPlaceholder::All),
        });
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let len = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (word, after) = text.split_at(len);
    if let Some(at) = names.iter().position(|name| name == word) {
        return Some((len, CommandPlaceholder::Named(at)));
    }
    // `$5.00` and `$1,000` are prices.
    let mut next = after.chars();
    let is_price =
        matches!(next.next(), Some('.' | ',')) && next.next().is_some_and(|c| c.is_ascii_digit());
    let is_number = (1..=2).contains(&len) && word.bytes().all(|b| b.is_ascii_digit());
    let number = (is_number && !is_price).then(|| word.parse().ok())??;
    Some((len, CommandPlaceholder::Numbered(number)))
}

/// Splits arguments at blanks outside of single and double quotes, and removes the quotes. A `'` within a word, as in
/// `don't`, is not a quote. A quote that is not closed extends to the end of the text.
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
                "Fix a and b c, not $3.",
            ),
            ("Fix $0 and $1", "a b", "Fix a and b"),
            (
                "Fix $ARGUMENTS[0], $ARGUMENTS[1]$ARGUMENTS[9]",
                "a b",
                "Fix a, b$ARGUMENTS[9]",
            ),
            ("Fix $ARGUMENTS[1]", "a b", "Fix b"),
            ("Fix $ARGUMENTS[x", "a", "Fix a[x"),
            ("$1", "$2 $1", "$2"),
            (
                "It costs $100 or $x, $HOME",
                "",
                "It costs $100 or $x, $HOME",
            ),
            // Prices and words are not replaced, and the arguments are not lost.
            ("Spend $0.50 on $1", "a b", "Spend $0.50 on a"),
            (
                "At most $5, $5.00, $50, $1,000 or $1st",
                "a",
                "At most $5, $5.00, $50, $1,000 or $1st\n\nARGUMENTS: a",
            ),
            ("Costs $2.", "a b", "Costs b."),
            (
                "Fix $issue on $branch, $issues",
                "7",
                "Fix 7 on $branch, $issues",
            ),
            ("$branch", "7 \"my branch\"", "my branch"),
            ("In ${DIR}/x ${OTHER}", "", "In /w/x ${OTHER}"),
            ("$1", "don't stop", "don't"),
        ] {
            let names = ["issue".to_string(), "branch".to_string()];
            assert_eq!(
                expand(body, arguments, &names, &[("DIR", "/w")]).text,
                expected,
                "{body}"
            );
        }
        assert!(expand("Status: !`git status`", "", &[], &[]).has_commands);
        let long = expand(&"$ARGUMENTS ".repeat(1000), &"x".repeat(10_000), &[], &[]).text;
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
        for arguments in ["[issue, branch]", "issue branch", "issue, branch"] {
            let named = file(&format!("---\narguments: {arguments}\n---\nx"));
            assert_eq!(named.arguments, ["issue", "branch"]);
        }
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
