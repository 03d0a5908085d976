//! The `matcher` of a hook. It selects events by a text, for example the name of the tool, the reason of a session
//! start or the type of a notification.

use regex::Regex;

/// Maximum length of a regular expression, in bytes.
const PATTERN_MAX: usize = 4096;
/// Maximum size of a compiled regular expression, in bytes.
const COMPILED_MAX: usize = 1024 * 1024;

/// Selects the events at which a hook runs.
#[derive(Debug, Clone)]
pub enum Matcher {
    All,
    /// Matches an event if one of its texts equals one of these names.
    Names(Vec<String>),
    /// Matches an event if this regular expression matches a part of one of its texts.
    Pattern(Regex),
}

impl Matcher {
    /// Parses the `matcher` of a hook. An empty text and `*` match all events. A text of only ASCII letters, digits,
    /// `_`, `-`, spaces, `,` and `|` is a list of names, separated by `,` or `|`. Any other text is a regular
    /// expression.
    ///
    /// # Errors
    /// Returns why the regular expression is invalid or too long.
    pub fn parse(text: &str) -> Result<Matcher, String> {
        if text.is_empty() || text == "*" {
            return Ok(Matcher::All);
        }
        let is_list = |c: char| c.is_ascii_alphanumeric() || "_- ,|".contains(c);
        if text.chars().all(is_list) {
            let names = text.split(['|', ',']).map(str::trim);
            let names: Vec<String> = names.filter(|n| !n.is_empty()).map(String::from).collect();
            return Ok(Matcher::Names(names));
        }
        if text.len() > PATTERN_MAX {
            return Err(format!("the matcher is longer than {PATTERN_MAX} bytes"));
        }
        let pattern = regex::RegexBuilder::new(text)
            .size_limit(COMPILED_MAX)
            .build()
            .map_err(|e| {
                let last = e.to_string();
                let last = last.lines().last().unwrap_or_default().to_string();
                format!("the matcher is not a valid regular expression: {last}")
            })?;
        Ok(Matcher::Pattern(pattern))
    }

    /// Returns whether at least one of `subjects` matches. The subjects are the texts of an event, see
    /// [`super::HookInput::subjects`]. Without subjects, nothing matches, not even [`Matcher::All`].
    pub fn matches<'a>(&self, subjects: impl IntoIterator<Item = &'a str>) -> bool {
        subjects.into_iter().any(|subject| match self {
            Matcher::All => true,
            Matcher::Names(names) => names.iter().any(|name| name == subject),
            Matcher::Pattern(pattern) => pattern.is_match(subject),
        })
    }

    /// Returns the matcher in the form that a configuration file contains, such as `Bash|Edit`; `*` for all events.
    pub fn text(&self) -> String {
        match self {
            Matcher::All => "*".into(),
            Matcher::Names(names) => names.join("|"),
            Matcher::Pattern(pattern) => pattern.as_str().into(),
        }
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Matcher) -> bool {
        match (self, other) {
            (Matcher::All, Matcher::All) => true,
            (Matcher::Names(a), Matcher::Names(b)) => a == b,
            (Matcher::Pattern(a), Matcher::Pattern(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }
}

impl Eq for Matcher {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_exact_and_other_texts_are_regular_expressions() {
        for (matcher, subject, expected) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("bash", "Bash", false),
            ("Edit|Write", "Write", true),
            ("Edit, Write", "Write", true),
            ("Edit|Write", "MultiEdit", false),
            ("Edit.*", "MultiEdit", true),
            ("^Edit", "MultiEdit", false),
            ("mcp__x", "mcp__x__tool", false),
            ("mcp__x__.*", "mcp__x__tool", true),
            ("mcp__.*__write.*", "mcp__memory__write_all", true),
            ("|", "Bash", false),
        ] {
            let parsed = Matcher::parse(matcher).unwrap();
            assert_eq!(parsed.matches([subject]), expected, "{matcher} {subject}");
        }
        assert!(
            Matcher::parse("(")
                .unwrap_err()
                .contains("not a valid regular expression")
        );
        assert!(Matcher::parse("a{1000}{1000}{1000}").is_err());
        assert!(Matcher::parse(&".".repeat(5000)).is_err());
    }
}
