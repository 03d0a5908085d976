//! Patterns for calls of MCP servers' tools, as in the setting `allow`.

use serde_json::Value;

use super::mcp::{TOOL_PREFIX, is_name_byte, matches_tool, matches_wildcards};

/// Maximum length, in bytes, of an argument that is compared with a pattern. A longer argument never matches.
const ARGUMENT_MAX: usize = 16 * 1024;

/// A pattern `mcp__SERVER` or `mcp__SERVER__TOOL`, optionally followed by conditions on arguments:
/// `mcp__SERVER__TOOL(ARGUMENT:TEXT, ARGUMENT:TEXT)`. In `SERVER`, `TOOL` and `TEXT`, `*` stands for any characters,
/// including none. `ARGUMENT` is the exact name of a field of the input. `TEXT` cannot contain a comma followed by a
/// space, because these separate two conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPattern<'a> {
    tool: &'a str,
    /// Pairs of the name of an argument and the pattern for its value. A call must match all pairs.
    arguments: Vec<(&'a str, &'a str)>,
}

impl<'a> CallPattern<'a> {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Fails if `text` does not have one of the forms in [`CallPattern`]. The message says what to write instead.
    pub fn parse(text: &'a str) -> Result<CallPattern<'a>, String> {
        let text = text.trim();
        let (tool, conditions) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest)),
            None => (text, None),
        };
        let rest = tool.strip_prefix(TOOL_PREFIX).unwrap_or_default();
        let is_valid = |byte: u8| is_name_byte(byte) || byte == b'*';
        if rest.is_empty() || rest.starts_with("__") || !rest.bytes().all(is_valid) {
            return Err("write mcp__SERVER or mcp__SERVER__TOOL (* matches any characters)".into());
        }
        let mut arguments = Vec::new();
        if let Some(conditions) = conditions {
            let wrong = || {
                "write arguments as in mcp__SERVER__TOOL(path:docs/*), separated by a comma and a space"
                    .to_string()
            };
            let conditions = conditions.strip_suffix(')').ok_or_else(wrong)?;
            for condition in conditions.split(", ") {
                let (name, value) = condition.split_once(':').ok_or_else(wrong)?;
                let name = name.trim();
                if name.is_empty() {
                    return Err(wrong());
                }
                arguments.push((name, value));
            }
        }
        Ok(CallPattern { tool, arguments })
    }

    pub fn has_arguments(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// Returns whether the pattern matches a call of `tool` with `input`, the JSON text of an object. A pattern without
    /// conditions on arguments matches any input.
    ///
    /// For each condition, the argument must be a string, number or boolean of at most 16 KiB. Strings are compared
    /// without their JSON quotes, numbers and booleans as they are written in JSON. If `TEXT` contains a `*`, an
    /// argument with the path segment `..` does not match.
    pub fn matches(&self, tool: &str, input: &str) -> bool {
        if !matches_tool(self.tool, tool) {
            return false;
        }
        if self.arguments.is_empty() {
            return true;
        }
        let input: Value = serde_json::from_str(input).unwrap_or_default();
        self.arguments.iter().all(|(name, pattern)| {
            let value = match input.get(*name) {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => return false,
            };
            value.len() <= ARGUMENT_MAX
                && !(pattern.contains('*') && leaves_folder(&value))
                && matches_wildcards(pattern.as_bytes(), value.as_bytes())
        })
    }
}

/// Returns whether a path or URL contains the segment `..`, which leads out of the folder that the text names. Slashes
/// and backslashes separate segments. Dots, slashes, backslashes and percent signs can also be in the percent encoding
/// of URLs, once or twice.
fn leaves_folder(text: &str) -> bool {
    let mut plain = text.to_ascii_lowercase();
    for (encoded, decoded) in [("%25", "%"), ("%2e", "."), ("%2f", "/"), ("%5c", "\\")] {
        plain = plain.replace(encoded, decoded);
    }
    plain.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(pattern: &str, input: &Value) -> bool {
        let pattern = CallPattern::parse(pattern).unwrap();
        pattern.matches("mcp__fs__write", &input.to_string())
    }

    #[test]
    fn arguments_must_match_their_patterns() {
        let input = json!({"path": "docs/a.md", "mode": "append", "times": 3, "force": false, "list": ["a"], "empty": null});
        for (pattern, expected) in [
            ("mcp__fs", true),
            ("mcp__fs__write(path:docs/*)", true),
            ("mcp__fs__write(path:docs/a.md)", true),
            ("mcp__fs__w*(path:*.md)", true),
            ("mcp__fs(mode:append)", true),
            ("mcp__fs__write(path:docs/*, mode:append)", true),
            ("mcp__fs__write(times:3, force:false)", true),
            ("mcp__fs__write(path:docs/*, mode:replace)", false),
            ("mcp__fs__write(path:doc)", false),
            ("mcp__fs__read(path:docs/*)", false),
            ("mcp__fs__write(none:*)", false),
            ("mcp__fs__write(list:*)", false),
            ("mcp__fs__write(empty:*)", false),
        ] {
            assert_eq!(matches(pattern, &input), expected, "{pattern}");
        }
    }

    #[test]
    fn wildcards_cover_no_path_that_leaves_its_folder() {
        for path in [
            "docs/../secret",
            "docs/a/..",
            "docs/%2e%2E/secret",
            "docs/%252e%252e%252fsecret",
            "docs/..\\secret",
            "docs/..%5csecret",
        ] {
            let input = json!({ "path": path });
            assert!(!matches("mcp__fs__write(path:docs/*)", &input), "{path}");
            assert!(!matches("mcp__fs__write(path:docs*)", &input), "{path}");
        }
        let named = json!({"path": "docs/../a"});
        assert!(matches("mcp__fs__write(path:docs/../a)", &named));
        assert!(matches(
            "mcp__fs__write(path:docs/*)",
            &json!({"path": "docs/a..b"})
        ));
        let long = json!({"path": "a".repeat(ARGUMENT_MAX + 1)});
        assert!(!matches("mcp__fs__write(path:*)", &long));
    }

    #[test]
    fn texts_that_are_no_pattern_are_rejected() {
        for text in [
            "docker",
            "mcp__",
            "mcp____tool",
            "mcp__s__tool name",
            "mcp__s__tool(",
            "mcp__s__tool()",
            "mcp__s__tool(a:b",
            "mcp__s__tool(a:b)c",
            "mcp__s__tool(answer)",
            "mcp__s__tool(:b)",
            "mcp__s__tool(a:b, c)",
        ] {
            assert!(CallPattern::parse(text).is_err(), "{text}");
        }
    }
}
