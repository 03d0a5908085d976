//! Syntax highlighting of code, line by line, with the rules of `synoptic`.
//!
//! The rules of a language are compiled when its first line is drawn, and then kept. A wrongly guessed language changes
//! only the style, never the text. Without the feature `highlight`, no language is known.

#[cfg(feature = "highlight")]
mod rules;
#[cfg(test)]
#[cfg(feature = "highlight")]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::Span;

use crate::ui::theme::Theme;

/// Maximum length of a highlighted line, in bytes. A longer line has one style, because the cost of highlighting grows
/// with the length of the line times the number of rules.
const LINE_MAX: usize = 400;

/// The known languages. The first element of a row is the file extension by which the crate `synoptic` finds the rules
/// of the language. The second element lists the names in code fences and the file extensions that select the language.
const NAMES: &[(&str, &[&str])] = &[
    ("rs", &["rs", "rust"]),
    ("py", &["py", "pyw", "pyi", "python", "python3"]),
    ("js", &["js", "jsx", "mjs", "cjs", "javascript"]),
    ("ts", &["ts", "tsx", "mts", "typescript"]),
    ("go", &["go", "golang"]),
    (
        "sh",
        &["sh", "bash", "zsh", "shell", "console", "shellscript"],
    ),
    ("json", &["json", "jsonc", "json5", "jsonl"]),
    ("toml", &["toml", "ini"]),
    ("yaml", &["yaml", "yml"]),
    ("c", &["c", "h"]),
    ("cpp", &["cpp", "c++", "cc", "cxx", "hpp", "hh", "hxx"]),
    ("cs", &["cs", "csharp", "c#"]),
    ("java", &["java"]),
    ("kt", &["kt", "kts", "kotlin"]),
    ("swift", &["swift"]),
    ("dart", &["dart"]),
    ("rb", &["rb", "ruby"]),
    ("php", &["php"]),
    ("lua", &["lua"]),
    ("r", &["r"]),
    ("scala", &["scala"]),
    ("hs", &["hs", "haskell"]),
    ("sql", &["sql"]),
    ("html", &["html", "htm", "xhtml"]),
    ("xml", &["xml", "svg"]),
    ("css", &["css", "scss"]),
    ("nu", &["nu", "nushell"]),
];

/// A language whose code is highlighted. Holds the file ending for which `synoptic` has rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(&'static str);

/// A comment or string that continues on the next line. Holds its text in the line in which it begins; `None` if no
/// comment or string continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "highlight"), allow(dead_code))]
pub struct OpenToken(Option<Arc<str>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "highlight"), allow(dead_code))]
enum TokenKind {
    Keyword,
    String,
    Number,
    Comment,
    Function,
    Type,
}

/// The byte range of a token in its line, and its kind.
type Token = (Range<usize>, TokenKind);

impl Language {
    /// Returns the language that the info string of a code fence names in its first word, in upper or lower case;
    /// `None` if it is unknown.
    pub fn of_fence(info: &str) -> Option<Language> {
        let is_end = |c: char| c.is_whitespace() || ",{:".contains(c);
        Language::from_name(info.split(is_end).next()?)
    }

    /// Returns the language of a file; `None` if its ending is unknown.
    pub fn of_path(path: &str) -> Option<Language> {
        let name = path.rsplit('/').next()?;
        Language::from_name(name.rsplit_once('.')?.1)
    }

    fn from_name(name: &str) -> Option<Language> {
        let name = name.to_ascii_lowercase();
        let known = NAMES.iter().filter(|_| cfg!(feature = "highlight"));
        let mut found = known.filter(|(_, names)| names.contains(&name.as_str()));
        found.next().map(|(ending, _)| Language(ending))
    }

    /// Returns the styled spans of one line of code without control characters. `open` is the comment or string that
    /// continues from the previous line. The function sets `open` to the comment or string that continues on the next
    /// line. A line of more than [`LINE_MAX`] bytes has one style, and `open` stays unchanged.
    pub fn spans(self, line: &str, open: &mut OpenToken, theme: &Theme) -> Vec<Span<'static>> {
        let plain = theme.text;
        let mut out = Vec::new();
        let mut put = |range: Range<usize>, style: Style| {
            if !range.is_empty() {
                out.push(Span::styled(line[range].to_string(), style));
            }
        };
        let mut end = 0;
        if line.len() <= LINE_MAX {
            for (range, kind) in tokens(self, line, open) {
                put(end..range.start, plain);
                end = range.end;
                put(range, kind.style(theme));
            }
        }
        put(end..line.len(), plain);
        out
    }
}

impl TokenKind {
    fn style(self, theme: &Theme) -> Style {
        match self {
            TokenKind::Keyword => theme.keyword,
            TokenKind::String => theme.string,
            TokenKind::Number => theme.number,
            TokenKind::Comment => theme.comment,
            TokenKind::Function => theme.function,
            TokenKind::Type => theme.type_name,
        }
    }
}

#[cfg(feature = "highlight")]
fn tokens(language: Language, line: &str, open: &mut OpenToken) -> Vec<Token> {
    let (tokens, next) = rules::tokens(language.0, line, open.0.as_deref());
    *open = OpenToken(next);
    tokens
}

#[cfg(not(feature = "highlight"))]
fn tokens(_: Language, _: &str, _: &mut OpenToken) -> Vec<Token> {
    Vec::new()
}
