//! The `if` of a hook: one permission rule, such as `Bash(git push *)` or `Edit(src/**)`. The hook runs only for tool
//! calls that match the rule.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;

use super::tools::ExternalCall;
use crate::domain::path::without_dots;

/// Maximum length of a rule, in bytes.
const RULE_MAX: usize = 4096;

/// A permission rule that selects the tool calls for which a hook runs.
#[derive(Debug, Clone)]
pub struct ToolRule {
    /// The rule as it is written in the configuration file.
    text: String,
    tool: Regex,
    argument: Argument,
}

#[derive(Debug, Clone)]
enum Argument {
    Any,
    /// A pattern that one of the simple commands in a shell command must match.
    Command(Regex),
    /// A pattern that the path in the input of the tool must match.
    Path {
        glob: GlobMatcher,
        base: PathBase,
    },
    /// A pattern that the whole text of a field in the input of the tool must match.
    Text(Regex),
}

/// The part of a path that a pattern is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathBase {
    FileName,
    /// The path relative to the agent's work directory. A path outside of it does not match.
    WorkDirectory,
    /// The absolute path.
    Root,
}

impl ToolRule {
    /// Parses `TOOL` or `TOOL(PATTERN)`. In `TOOL`, `*` stands for any text. What `PATTERN` is compared with depends on
    /// the tool:
    ///
    /// - `Bash`: each simple command of the shell command; `*` stands for any text.
    /// - `Read`, `Edit`, `Write`, `MultiEdit`, `Glob`, `Grep`: the path, as a glob in which `*` does not match `/`.
    /// - Any other tool: each text field of the input; `*` stands for any text.
    ///
    /// An empty `PATTERN` and `*` match every call of the tool.
    ///
    /// # Errors
    /// Returns why `text` is not a valid rule.
    pub fn parse(text: &str) -> Result<ToolRule, String> {
        let text = text.trim();
        let wrong = || {
            "the field 'if' must be a tool with an optional pattern, such as Bash(git push *)"
                .to_string()
        };
        if text.len() > RULE_MAX {
            return Err(format!(
                "the field 'if' is longer than {RULE_MAX} bytes: shorten it"
            ));
        }
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(wrong)?)),
            None => (text, None),
        };
        let is_tool = |c: char| c.is_ascii_alphanumeric() || "_-*".contains(c);
        if tool.is_empty() || !tool.chars().all(is_tool) {
            return Err(wrong());
        }
        let argument = match pattern {
            None | Some("" | "*") => Argument::Any,
            Some(pattern) => match tool {
                "Bash" | "bash" => Argument::Command(command_pattern(pattern)?),
                "Read" | "Edit" | "Write" | "MultiEdit" | "Glob" | "Grep" => path_pattern(pattern)?,
                _ => Argument::Text(wildcards(pattern, "")?),
            },
        };
        Ok(ToolRule {
            text: text.to_string(),
            tool: wildcards(tool, "")?,
            argument,
        })
    }

    /// Returns whether the rule matches a call. `dir` is the agent's work directory, to which relative paths refer. A
    /// rule for `Edit` also matches calls of `Write`. A call without a path does not match a pattern for paths.
    ///
    /// A shell command that cannot be split safely always matches, so that a command substitution or an open quote
    /// cannot hide a command from a hook. Quotes are part of the command: `rm *` does not match `'rm' x`.
    pub fn matches(&self, call: &ExternalCall, dir: &Path) -> bool {
        // A rule for `Edit` covers every tool that changes a file.
        let is_edit = self.tool.is_match("Edit") && call.names.iter().any(|name| name == "Write");
        if !is_edit && !call.names.iter().any(|name| self.tool.is_match(name)) {
            return false;
        }
        let text = |field: &str| call.input.get(field).and_then(|value| value.as_str());
        match &self.argument {
            Argument::Any => true,
            Argument::Command(pattern) => text("command").is_none_or(|command| {
                parts(command).is_none_or(|parts| parts.iter().any(|part| pattern.is_match(part)))
            }),
            Argument::Path { glob, base } => {
                let Some(path) = text("file_path").or_else(|| text("path")) else {
                    return false;
                };
                // `..` is resolved first. Otherwise, `a/../secrets` would evade a rule for `secrets`.
                let path = without_dots(&dir.join(path));
                match base {
                    PathBase::FileName => path.file_name().is_some_and(|name| glob.is_match(name)),
                    PathBase::WorkDirectory => path
                        .strip_prefix(dir)
                        .is_ok_and(|below| glob.is_match(below)),
                    PathBase::Root => glob.is_match(&path),
                }
            }
            Argument::Text(pattern) => {
                let values = call.input.as_object().into_iter().flatten();
                values
                    .filter_map(|(_, value)| value.as_str())
                    .any(|value| pattern.is_match(value))
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for ToolRule {
    fn eq(&self, other: &ToolRule) -> bool {
        self.text == other.text
    }
}

impl Eq for ToolRule {}

/// Returns a regular expression that matches a whole simple command. A pattern that ends with `:*`, or with a blank and
/// `*`, also matches without further words: `git push:*` matches `git push` and `git push origin`.
fn command_pattern(pattern: &str) -> Result<Regex, String> {
    let prefix = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    match prefix {
        Some(prefix) => wildcards(prefix, r"(\s.*)?"),
        None => wildcards(pattern, ""),
    }
}

/// Parses the pattern for a path. `//PATH` is compared with the absolute path. `/PATH`, `./PATH` and any other pattern
/// that contains a slash are compared with the path relative to the work directory. A pattern without a slash is
/// compared with the file name.
fn path_pattern(pattern: &str) -> Result<Argument, String> {
    let (pattern, base) = match pattern.strip_prefix("//") {
        Some(rest) => (format!("/{rest}"), PathBase::Root),
        None if pattern.starts_with('/') || pattern.starts_with("./") => (
            pattern
                .trim_start_matches("./")
                .trim_start_matches('/')
                .to_string(),
            PathBase::WorkDirectory,
        ),
        None if pattern.contains('/') => (pattern.to_string(), PathBase::WorkDirectory),
        None => (pattern.to_string(), PathBase::FileName),
    };
    let glob = GlobBuilder::new(&pattern)
        .literal_separator(true)
        .build()
        .map_err(|e| format!("the field 'if' has an invalid pattern: {e}"))?;
    Ok(Argument::Path {
        glob: glob.compile_matcher(),
        base,
    })
}

/// Returns a regular expression that matches a whole text: first `pattern`, in which `*` stands for any text, then the
/// regular expression `end`.
fn wildcards(pattern: &str, end: &str) -> Result<Regex, String> {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("(?s)^{}{end}$", parts.join(".*")))
        .map_err(|_| "the pattern in the field 'if' is too long: shorten it".into())
}

/// Splits a shell command into its simple commands. A command that follows keywords, assignments or redirections is
/// returned both with and without them. Hook patterns are compared with the command as it is written, including its
/// quotes. The parser in `tools::policy` is not used, because it removes the quotes.
///
/// Returns `None` if the shell command cannot be split safely, because it contains one of these:
///
/// - a command or process substitution
/// - an open quote, or a quote of the form `$'…'`
/// - a comment that contains a quote or a backslash
/// - a here-document, and a quote or a backslash after its operator
fn parts(command: &str) -> Option<Vec<String>> {
    let mut out = vec![String::new()];
    let mut quote = None;
    let (mut begins_word, mut has_document) = (true, false);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let is_first = std::mem::take(&mut begins_word);
        let next = chars.peek().copied();
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                out.last_mut()?.push(c);
            }
            (None | Some('"'), '`') => return None,
            // After a backslash, the text of the next line can decide what this is.
            (None | Some('"'), '$') | (None, '<' | '>') if matches!(next, Some('(' | '\\')) => {
                return None;
            }
            (None, '$') if next == Some('\'') => return None,
            (None, '\'' | '"' | '\\') if has_document => return None,
            // Read as code, because only a complete parser can tell whether this is a comment.
            (None, '#') if is_first => {
                let mut line = chars.clone().take_while(|c| *c != '\n');
                if line.any(|c| "'\"\\".contains(c)) {
                    return None;
                }
                out.last_mut()?.push(c);
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                out.last_mut()?.push(c);
            }
            // The shell joins such lines.
            (None | Some('"'), '\\') if next == Some('\n') => {
                chars.next();
                begins_word = is_first;
            }
            (None | Some('"'), '\\') => {
                out.last_mut()?.push(c);
                out.last_mut()?.extend(chars.next());
            }
            (None, '<' | '>') => {
                out.last_mut()?.push(c);
                let operators: &[char] = if c == '<' { &['<', '&'] } else { &['&', '|'] };
                let more = chars.next_if(|c| operators.contains(c));
                out.last_mut()?.extend(more);
                if more == Some('<') {
                    let string = chars.next_if_eq(&'<');
                    has_document |= string.is_none();
                    out.last_mut()?.extend(string);
                }
            }
            (None, ';' | '&' | '|' | '\n' | '(' | ')') => {
                out.push(String::new());
                begins_word = true;
            }
            (None, '{' | '}') if is_first && next.is_none_or(|c| " \t\n;&|()<>".contains(c)) => {
                out.push(String::new());
            }
            (_, c) => {
                out.last_mut()?.push(c);
                begins_word = quote.is_none() && matches!(c, ' ' | '\t');
            }
        }
    }
    if quote.is_some() {
        return None;
    }
    let all = out.iter().flat_map(|part| without_prefixes(part));
    Some(all.filter(|part| !part.is_empty()).collect())
}

/// Shell keywords that can precede a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "while", "until", "do", "!", "time", "coproc",
];

/// Returns `part`, a simple command, and also what remains of it after each keyword, assignment or redirection at its
/// start is removed.
fn without_prefixes(part: &str) -> Vec<String> {
    let mut rest = part.trim();
    let mut all = vec![rest.to_string()];
    loop {
        let (word, after) = split_word(rest);
        let operator = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            let name = name.split('[').next().unwrap_or_default();
            let name = name.trim_end_matches('+');
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_redirection = operator.starts_with(['<', '>']);
        // `-p` is an option of the keyword `time`. No program has such a name.
        if !(is_assignment || is_redirection || word == "-p" || KEYWORDS.contains(&word)) {
            return all;
        }
        let needs_target = is_redirection && operator.chars().all(|c| "<>&|-".contains(c));
        rest = if needs_target {
            split_word(after).1
        } else {
            after
        };
        if rest.is_empty() {
            return all;
        }
        all.push(rest.to_string());
    }
}

/// Splits `text` after its first word, which ends at a blank that is not quoted. Removes the blanks in front of the
/// rest.
fn split_word(text: &str) -> (&str, &str) {
    let (mut quote, mut is_escaped) = (None, false);
    let end = text.find(|c: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c.is_whitespace() => return true,
            _ => {}
        }
        false
    });
    let (word, after) = text.split_at(end.unwrap_or(text.len()));
    (word, after.trim_start())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tools::external_call;
    use super::*;

    #[test]
    fn rules_select_calls() {
        let bash = |command: &str| ("bash", json!({"command": command}));
        let file = |tool, path: &str| (tool, json!({"path": path}));
        for (rule, (tool, input), expected) in [
            ("Bash", bash("ls"), true),
            ("Bash(*)", bash("ls"), true),
            ("Bash(rm *)", bash("rm -rf x"), true),
            ("Bash(rm *)", bash("rm"), true),
            ("Bash(rm *)", bash("rmdir x"), false),
            ("Bash(rm:*)", bash("cd /tmp && A=1 rm x"), true),
            ("Bash(rm *)", bash("echo 'rm x; rm y'"), false),
            ("Bash(rm *)", bash("echo $(rm x)"), true),
            ("Bash(rm *)", bash("echo \"open"), true),
            ("Bash(rm *)", bash("A='x y' B+=\"1 2\" C=a\\ b rm z"), true),
            ("Bash(rm *)", bash("if true; then rm x; fi"), true),
            ("Bash(rm *)", bash("while rm x; do ls; done"), true),
            ("Bash(rm *)", bash("for a in b; do rm x; done"), true),
            ("Bash(rm *)", bash("{ rm x; }"), true),
            ("Bash(rm *)", bash("function f { rm x; }"), true),
            ("Bash(rm *)", bash("! time -p rm x"), true),
            ("Bash(time *)", bash("time make"), true),
            ("Bash(rm *)", bash("2>&1 >| log rm x"), true),
            ("Bash(rm *)", bash("ls \\\n; \\\nrm x"), true),
            ("Bash(rm *)", bash("A='x rm z' ls"), false),
            ("Bash(rm *)", bash("echo then rm x"), false),
            // Quotes that the shell does not see, or sees elsewhere, hide nothing.
            ("Bash(rm *)", bash("ls # it's\nrm x # it's"), true),
            ("Bash(rm *)", bash("cat <<E\nit's\nE\nrm x; echo 'a'"), true),
            ("Bash(rm *)", bash("echo $'\\''; rm x #'"), true),
            ("Bash(rm *)", bash("echo \\ #; rm x"), true),
            ("Bash(rm *)", bash("ls # a comment"), false),
            ("Bash(rm *)", bash("cat <<E\ntext\nE\n"), false),
            ("Bash(git * main)", bash("git push origin main"), true),
            ("Bash(git * main)", bash("git push ${REMOTE} main"), true),
            ("Bash(git push)", bash("git push --force"), false),
            (
                "Bash(rm *)",
                ("background_run", json!({"command": "rm x"})),
                true,
            ),
            ("Read", bash("ls"), false),
            ("Edit(src/**)", file("edit_file", "src/a/b.rs"), true),
            ("Edit(src/**)", file("write_file", "src/b.rs"), true),
            ("Write(src/**)", file("edit_file", "src/b.rs"), false),
            ("Edit(*.md)", file("edit_file", "docs/a.md"), true),
            ("Edit(/docs/*.md)", file("edit_file", "docs/a.md"), true),
            ("Edit(/docs/*.md)", file("edit_file", "docs/x/a.md"), false),
            (
                "Edit(/docs/*.md)",
                file("edit_file", "x/../docs/a.md"),
                true,
            ),
            ("Edit(src/**)", file("edit_file", "src/../a.rs"), false),
            ("Read(//w/.env)", file("read_file", ".env"), true),
            ("Read(.env)", file("read_file", "sub/.env"), true),
            ("mcp__git__*", ("mcp__git__log", json!({})), true),
            ("mcp__git", ("mcp__git__log", json!({})), false),
        ] {
            let call = external_call(tool, &input, Path::new("/w"));
            let parsed = ToolRule::parse(rule).unwrap();
            assert_eq!(
                parsed.matches(&call, Path::new("/w")),
                expected,
                "{rule} {input}"
            );
        }
        for rule in [
            "",
            "(x)",
            "Bash(x",
            "Ba sh(x)",
            "Edit([)",
            &"a".repeat(5000),
        ] {
            assert!(ToolRule::parse(rule).is_err(), "{rule}");
        }
    }
}
