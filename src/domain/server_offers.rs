//! What MCP servers offer to the user: resources, which a message mentions as `@SERVER:URI`, and prompts, which the
//! user calls with `/SERVER:PROMPT ARGUMENTS`. The functions here do not call servers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mcp::is_server_name;
use super::slash_command::split_arguments;
use super::text::{clip, join_names, one_line};

/// Maximum number of resources and templates of one server that are listed for the user.
pub const RESOURCES_MAX: usize = 500;
/// Maximum number of prompts of one server that are listed for the user.
pub const PROMPTS_MAX: usize = 200;
/// Maximum number of names that an error message lists.
const NAMED_MAX: usize = 10;

/// What a server offers to the user. Descriptions and problems are on one line, with control characters escaped. The
/// names of prompts and arguments are stored exactly as the server sent them, so callers must escape them before
/// showing them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerOffers {
    pub server: String,
    /// The resources, followed by the resource templates.
    pub resources: Vec<OfferedResource>,
    pub prompts: Vec<OfferedPrompt>,
    /// Why resources or prompts could not be listed; empty if there was no error.
    #[serde(default)]
    pub problem: String,
}

/// A resource, or a resource template: a URI with placeholders that the user fills in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedResource {
    /// The URI. The URI of a template contains placeholders, such as `{NAME}`, which the user replaces.
    pub uri: String,
    /// The name of the resource, followed by its description if it has one.
    pub about: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedPrompt {
    /// The name that the server itself uses for the prompt.
    pub name: String,
    pub description: String,
    pub arguments: Vec<OfferedArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedArgument {
    pub name: String,
    #[serde(rename = "required")]
    pub is_required: bool,
}

impl OfferedResource {
    /// Returns the part of the URI before the first placeholder if this is a template, otherwise `None`.
    pub fn template_start(&self) -> Option<&str> {
        let (start, rest) = self.uri.split_once('{')?;
        rest.contains('}').then_some(start)
    }
}

impl OfferedPrompt {
    /// Returns the names of the arguments as a hint for the user, such as `<required> [optional]`.
    pub fn hint(&self) -> String {
        let words = self.arguments.iter().map(|argument| {
            if argument.is_required {
                format!("<{}>", argument.name)
            } else {
                format!("[{}]", argument.name)
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Assigns the words of `text` to the arguments, and returns the values by the names of the arguments.
    ///
    /// - Text in quotes is one word.
    /// - A word `NAME=VALUE` sets the argument `NAME`, if the prompt has this argument and it is not set yet.
    /// - The other words are assigned to the remaining arguments in their order. If there are more words than
    ///   arguments, the last argument gets all further words, joined by blanks.
    /// - An optional argument that gets no word is absent from the result.
    ///
    /// # Errors
    /// Fails if a required argument is missing, or if words are left over because every argument has a value. The
    /// message is one line that names these arguments or words.
    pub fn fill(&self, text: &str) -> Result<BTreeMap<String, String>, String> {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        let mut words = Vec::new();
        for word in split_arguments(text) {
            let named = word.split_once('=').filter(|(name, _)| {
                let mut known = self.arguments.iter();
                known.any(|a| a.name == *name) && !values.contains_key(*name)
            });
            match named {
                Some((name, value)) => {
                    values.insert(name.into(), value.into());
                }
                None => words.push(word),
            }
        }
        let free = self.arguments.iter().map(|a| &a.name);
        let free: Vec<&String> = free.filter(|name| !values.contains_key(*name)).collect();
        if free.is_empty() && !words.is_empty() {
            let all = clip(&one_line(&words.join(" ")), 80);
            return Err(if self.arguments.is_empty() {
                format!("it takes no arguments: remove {all}")
            } else {
                format!("all arguments already have a value: remove {all}")
            });
        }
        let mut words = words.into_iter();
        for (at, name) in free.iter().enumerate() {
            let value = if at + 1 == free.len() {
                words.by_ref().collect::<Vec<_>>().join(" ")
            } else {
                words.next().unwrap_or_default()
            };
            if !value.is_empty() {
                values.insert((*name).clone(), value);
            }
        }
        let required = self.arguments.iter().filter(|a| a.is_required);
        let missing = required.filter(|a| values.get(&a.name).is_none_or(String::is_empty));
        let missing: Vec<String> = missing.map(|a| one_line(&clip(&a.name, 80))).collect();
        match missing.as_slice() {
            [] => Ok(values),
            [one] => Err(format!("the argument {one} is missing")),
            all => Err(format!("the arguments {} are missing", all.join(", "))),
        }
    }
}

/// Splits `SERVER:URI`, the path of a mention of a server's resource. Returns `None` if `SERVER` is not a valid server
/// name or `URI` is empty.
pub fn split_resource(path: &str) -> Option<(&str, &str)> {
    let (server, uri) = path.split_once(':')?;
    (is_server_name(server) && !uri.is_empty()).then_some((server, uri))
}

/// Returns whether a URI begins with a scheme, such as `file://`. If it does, a mention `SERVER:URI` means a resource
/// even if the server is unknown.
pub fn has_scheme(uri: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    uri.split_once("://")
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Splits a message that calls a prompt into three parts: the server, the prompt as the user typed it, and the
/// arguments. Returns `None` if the message does not begin with `/SERVER:PROMPT`.
pub fn split_prompt(text: &str) -> Option<(&str, &str, &str)> {
    let (name, arguments) = super::slash_command::split(text)?;
    let (server, prompt) = name.split_once(':')?;
    (is_server_name(server) && !prompt.is_empty()).then_some((server, prompt, arguments))
}

/// Returns what the user types after the slash to call a prompt: `SERVER:PROMPT` in lower case, with `-` in place of
/// each character of the prompt's name that a command cannot contain.
pub fn command(server: &str, prompt: &str) -> String {
    let typed = |c: char| {
        let c = c.to_ascii_lowercase();
        let is_kept = c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if is_kept { c } else { '-' }
    };
    let prompt: String = prompt.chars().map(typed).collect();
    format!("{}:{prompt}", server.to_ascii_lowercase())
}

/// Returns the prompt that `typed` names. `typed` is either the server's own name for the prompt, or the part after the
/// colon in a result of [`command`].
///
/// # Errors
/// Fails if the server has no such prompt. The message is one line that lists the first ten existing prompts.
pub fn find_prompt<'a>(
    server: &str,
    typed: &str,
    prompts: &'a [OfferedPrompt],
) -> Result<&'a OfferedPrompt, String> {
    let wanted = command(server, typed);
    let exact = prompts.iter().find(|prompt| prompt.name == typed);
    let found = exact.or_else(|| {
        let mut all = prompts.iter();
        all.find(|prompt| command(server, &prompt.name) == wanted)
    });
    found.ok_or_else(|| {
        let shown = one_line(&clip(typed, 80));
        if prompts.is_empty() {
            return format!("the MCP server {server} has no prompts");
        }
        let names: Vec<String> = prompts
            .iter()
            .take(NAMED_MAX)
            .map(|prompt| one_line(&clip(&prompt.name, 80)))
            .collect();
        format!(
            "the MCP server {server} has no prompt {shown}: its prompts are {}",
            join_names(&names, NAMED_MAX, prompts.len())
        )
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn prompt(arguments: &[(&str, bool)]) -> OfferedPrompt {
        let argument = |(name, is_required): &(&str, bool)| OfferedArgument {
            name: (*name).into(),
            is_required: *is_required,
        };
        OfferedPrompt {
            name: "p".into(),
            description: String::new(),
            arguments: arguments.iter().map(argument).collect(),
        }
    }

    #[test]
    fn mentions_of_resources_differ_from_paths() {
        for (path, expected) in [
            ("git:repo://main", Some(("git", "repo://main"))),
            ("my-docs:a", Some(("my-docs", "a"))),
            ("git:", None),
            ("src/a:b", None),
            ("README.md", None),
            (":x", None),
        ] {
            assert_eq!(split_resource(path), expected, "{path}");
        }
        assert!(has_scheme("repo://main") && has_scheme("file:///a"));
        assert!(!has_scheme("hello") && !has_scheme("://a") && !has_scheme("a b://c"));
    }

    #[test]
    fn words_are_assigned_to_the_arguments() {
        let fill = |arguments: &[(&str, bool)], text: &str| {
            let filled = prompt(arguments).fill(text)?;
            let pairs = filled.iter().map(|(name, value)| format!("{name}:{value}"));
            Ok(pairs.collect::<Vec<_>>().join(" "))
        };
        let two = &[("city", true), ("unit", false)][..];
        for (arguments, text, expected) in [
            (two, "Bern", Ok("city:Bern")),
            (two, "Bern C", Ok("city:Bern unit:C")),
            (two, "unit=C \"New York\"", Ok("city:New York unit:C")),
            (two, "Bern very warm", Ok("city:Bern unit:very warm")),
            (two, "city=\"a b\"", Ok("city:a b")),
            (two, "x=1", Ok("city:x=1")),
            (two, "", Err("the argument city is missing")),
            (two, "city=", Err("the argument city is missing")),
            (two, "unit=C", Err("the argument city is missing")),
            (
                two,
                "city=a unit=b c",
                Err("all arguments already have a value: remove c"),
            ),
            (
                &[("a", true), ("b", true)][..],
                "",
                Err("the arguments a, b are missing"),
            ),
            (&[][..], "x", Err("it takes no arguments: remove x")),
            (&[][..], "", Ok("")),
        ] {
            let expected = expected.map(String::from).map_err(String::from);
            assert_eq!(fill(arguments, text), expected, "{text}");
        }
    }

    #[test]
    fn prompts_are_found_by_what_the_user_can_type() {
        let named = |name: &str| OfferedPrompt {
            name: name.into(),
            ..prompt(&[])
        };
        let all = [named("Code Review"), named("greet")];
        assert_eq!(command("Git", "Code Review"), "git:code-review");
        let find = |typed: &str| find_prompt("git", typed, &all).map(|p| p.name.as_str());
        assert_eq!(find("code-review"), Ok("Code Review"));
        assert_eq!(find("greet"), Ok("greet"));
        assert_eq!(
            find("x").unwrap_err(),
            "the MCP server git has no prompt x: its prompts are Code Review, greet"
        );
        assert_eq!(
            split_prompt("/git:greet a b"),
            Some(("git", "greet", "a b"))
        );
        assert_eq!(
            (split_prompt("/greet"), split_prompt("git:greet")),
            (None, None)
        );
        assert_eq!(prompt(&[("a", true), ("b", false)]).hint(), "<a> [b]");
    }

    #[test]
    fn templates_begin_with_the_text_before_the_first_placeholder() {
        let resource = |uri: &str| OfferedResource {
            uri: uri.into(),
            about: String::new(),
        };
        assert_eq!(resource("a://{id}/x").template_start(), Some("a://"));
        assert_eq!(resource("a://b").template_start(), None);
    }
}
