//! The rules of `synoptic`, one set per language, and the tokens that they find.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use synoptic::{Highlighter, TokOpt, TokenRef, from_extension};

use crate::ui::highlight::{Token, TokenKind};

thread_local! {
    /// The compiled rules of each language, by file ending. The rules of a language are compiled when its first line is
    /// highlighted.
    static RULES: RefCell<HashMap<&'static str, Highlighter>> = RefCell::default();
}

/// Returns the byte ranges and kinds of the tokens in `line`, in order, and the text of the comment or string that
/// continues on the next line. `ending` is the file ending of the language. `open` is the text of the comment or string
/// that continues from the previous line. Returns neither tokens nor a text if `synoptic` has no rules for `ending`.
pub fn tokens(
    ending: &'static str,
    line: &str,
    open: Option<&str>,
) -> (Vec<Token>, Option<Arc<str>>) {
    RULES.with_borrow_mut(|all| {
        if !all.contains_key(ending)
            && let Some(rules) = from_extension(ending, 1)
        {
            all.insert(ending, rules);
        }
        match all.get_mut(ending) {
            Some(rules) => of_line(rules, ending, line, open),
            None => (Vec::new(), None),
        }
    })
}

fn of_line(
    rules: &mut Highlighter,
    ending: &str,
    line: &str,
    open: Option<&str>,
) -> (Vec<Token>, Option<Arc<str>>) {
    // The highlighter first reads the text of the open token again, so that it is in the right state at the start of
    // `line`.
    let mut lines: Vec<String> = open.map(str::to_string).into_iter().collect();
    let line = match ending {
        "sh" => without_false_comments(line),
        _ => line.to_string(),
    };
    let line = line.as_str();
    lines.push(line.to_string());
    rules.run(&lines);
    let parts = rules.line(lines.len() - 1, line);
    let mut out: Vec<Token> = Vec::new();
    let mut end = 0;
    for part in &parts {
        let start = end;
        end += part.text().len();
        if let TokOpt::Some(_, name) = part
            && let Some(kind) = kind(name)
        {
            out.push((start..end, kind));
        }
    }
    if end != line.len() {
        return (Vec::new(), None);
    }
    let is_open = matches!(
        rules.tokens.last(),
        Some(TokenRef::Bounded { end: None, .. })
    );
    let next = match (open, parts.last()) {
        _ if !is_open => None,
        // The only token is the one that was open at the start of the line.
        (Some(open), _) if rules.tokens.len() == 1 => Some(open.into()),
        (_, Some(last @ TokOpt::Some(..))) => Some(Arc::from(last.text().as_str())),
        _ => None,
    };
    (out, next.filter(|text: &Arc<str>| continues(ending, text)))
}

/// Returns a line of a shell script in which `_` replaces each `#` that is part of a word, as in `$#` and `${#name}`.
/// The rules of `synoptic` take every `#` for the start of a comment.
fn without_false_comments(line: &str) -> String {
    let mut before = ' ';
    let part = |c: char| {
        let begins = before.is_whitespace() || ";&|()`".contains(before);
        before = c;
        if c == '#' && !begins { '_' } else { c }
    };
    line.chars().map(part).collect()
}

/// Returns whether a token that begins with `text` may continue on the next line. A token in single quotes may do so
/// only in shell scripts, because in other languages a single quote is more often an apostrophe.
fn continues(ending: &str, text: &str) -> bool {
    !text.starts_with('\'') || text.starts_with("'''") || ending == "sh"
}

fn kind(name: &str) -> Option<TokenKind> {
    Some(match name {
        "keyword" => TokenKind::Keyword,
        "string" | "character" => TokenKind::String,
        "digit" | "boolean" => TokenKind::Number,
        "comment" => TokenKind::Comment,
        "function" | "macro" => TokenKind::Function,
        "struct" | "namespace" | "attribute" | "tag" | "key" | "table" | "header" => {
            TokenKind::Type
        }
        _ => return None,
    })
}
