//! Replaces `${NAME}` and `${NAME:-default}` in the configuration of MCP servers by the values of environment
//! variables. Pure.

/// Maximum size, in bytes, of a text after its variables were replaced.
const EXPANDED_MAX: usize = 256 * 1024;

/// The result of looking up an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    Value(String),
    /// The value is a secret, and the server that uses it is not approved.
    Withheld,
    Unset,
}

/// A function that looks up an environment variable by its name.
pub type Lookup<'a> = dyn Fn(&str) -> Variable + 'a;

/// The result of replacing the variables in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expanded {
    pub text: String,
    /// The names of the variables that are not set and have no default. They are not replaced in `text`.
    pub unset: Vec<String>,
    /// Whether the value of a variable was withheld because it is a secret. Such a variable is not replaced in `text`.
    pub is_withheld: bool,
}

/// Replaces the variables in `text`. As in a shell, the default is used if a variable is not set or empty. A `$` that
/// does not begin a variable stays unchanged.
///
/// # Errors
/// Fails if the result up to the end of its last variable is longer than `EXPANDED_MAX`.
pub fn expand(text: &str, lookup: &Lookup<'_>) -> Result<Expanded, String> {
    let mut out = Expanded::default();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.text.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((whole, name, default)) = variable_at(rest) else {
            out.text.push_str("${");
            rest = &rest[2..];
            continue;
        };
        match (lookup(name), default) {
            (Variable::Value(value), _) if !value.is_empty() || default.is_none() => {
                out.text.push_str(&value);
            }
            (Variable::Withheld, _) => {
                out.is_withheld = true;
                out.text.push_str(whole);
            }
            (Variable::Value(_) | Variable::Unset, Some(default)) => out.text.push_str(default),
            (Variable::Value(_) | Variable::Unset, None) => {
                out.unset.push(name.to_string());
                out.text.push_str(whole);
            }
        }
        if out.text.len() > EXPANDED_MAX {
            return Err(format!(
                "is longer than {} KiB after its variables were replaced",
                EXPANDED_MAX / 1024
            ));
        }
        rest = &rest[whole.len()..];
    }
    out.text.push_str(rest);
    Ok(out)
}

/// Returns the variable at the start of `text` as written, its name and its default; `None` if `text` begins with no
/// variable.
fn variable_at(text: &str) -> Option<(&str, &str, Option<&str>)> {
    let end = text.find('}')?;
    let inner = text.get(2..end)?;
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let mut chars = name.chars();
    let is_name = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((&text[..=end], name, default))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Variable {
        match name {
            "HOME" => Variable::Value("/home/ada".into()),
            "EMPTY" => Variable::Value(String::new()),
            "KEY" => Variable::Withheld,
            "LONG" => Variable::Value("x".repeat(100_000)),
            _ => Variable::Unset,
        }
    }

    #[test]
    fn variables_and_defaults_are_replaced() {
        for (text, expected, unset) in [
            ("", "", vec![]),
            ("plain $HOME", "plain $HOME", vec![]),
            ("${HOME}/x:${HOME}", "/home/ada/x:/home/ada", vec![]),
            ("${HOME:-/tmp}", "/home/ada", vec![]),
            ("${NONE:-/tmp}", "/tmp", vec![]),
            ("${NONE:-}", "", vec![]),
            ("${EMPTY:-x}", "x", vec![]),
            ("a${EMPTY}b", "ab", vec![]),
            ("${NONE}", "${NONE}", vec!["NONE"]),
            ("${KEY:-x}", "${KEY:-x}", vec![]),
            ("${", "${", vec![]),
            ("${HOME", "${HOME", vec![]),
            ("${1A} ${} ${A-B} ${ü}", "${1A} ${} ${A-B} ${ü}", vec![]),
            ("${${HOME}}", "${/home/ada}", vec![]),
        ] {
            let found = expand(text, &lookup).unwrap();
            assert_eq!(
                (found.text.as_str(), found.unset),
                (
                    expected,
                    unset.iter().map(ToString::to_string).collect::<Vec<_>>()
                ),
                "{text}"
            );
            assert_eq!(found.is_withheld, text.contains("KEY"), "{text}");
        }
        assert!(expand("${LONG}${LONG}${LONG}", &lookup).is_err());
    }
}
