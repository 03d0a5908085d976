//! Syntax highlighting for common languages: keywords, strings, numbers and comments. Written here instead of using
//! `syntect`, whose grammars enlarge the binary and take time to load at the start.
//!
//! The scanner has no grammars. It only knows how comments and strings begin and end. A wrong guess changes the style,
//! never the text. The work is linear in the length of the code.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::ui::theme::Theme;

/// The lexical rules of a programming language.
#[derive(Debug)]
pub struct Language {
    names: &'static [&'static str],
    /// Prefixes of line comments.
    comments: &'static [&'static str],
    /// Start and end of block comments.
    block: Option<(&'static str, &'static str)>,
    /// String delimiters, longer ones first.
    quotes: &'static [Quote],
    /// Keywords, separated by blanks.
    words: &'static str,
}

#[derive(Debug)]
struct Quote {
    sign: &'static str,
    /// Whether a string may contain newlines.
    is_multiline: bool,
    /// Whether a backslash escapes the next character.
    has_escapes: bool,
}

/// Returns the rules of strings with escapes on one line.
const fn quote(sign: &'static str) -> Quote {
    Quote {
        sign,
        is_multiline: false,
        has_escapes: true,
    }
}

const DOUBLE: Quote = quote("\"");
const SINGLE: Quote = quote("'");
/// Maximum length of a string in single quotes, in bytes. If no closing quote follows within it, the quote counts as an
/// apostrophe.
const SINGLE_QUOTED_MAX: usize = 200;
const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: Option<(&str, &str)> = Some(("/*", "*/"));

#[rustfmt::skip]
const LANGUAGES: &[Language] = &[
    Language { names: &["rust", "rs"], comments: SLASHES, block: STARS, quotes: &[quote("\"").multiline(), SINGLE],
        words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while" },
    Language { names: &["python", "py", "python3"], comments: HASH, block: None,
        quotes: &[quote("\"\"\"").multiline(), quote("'''").multiline(), DOUBLE, SINGLE],
        words: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield" },
    Language { names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"], comments: SLASHES, block: STARS,
        quotes: &[DOUBLE, SINGLE, quote("`").multiline()],
        words: "abstract any as async await boolean break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while with yield" },
    Language { names: &["go", "golang"], comments: SLASHES, block: STARS, quotes: &[DOUBLE, SINGLE, quote("`").multiline().without_escapes()],
        words: "any bool break byte case chan const continue default defer else error fallthrough false for func go goto if import int interface iota make map nil package range return rune select string struct switch true type var" },
    Language { names: &["shell", "sh", "bash", "zsh", "console"], comments: HASH, block: None,
        quotes: &[quote("\"").multiline(), quote("'").multiline().without_escapes()],
        words: "case cd do done echo elif else esac exit export fi for function if in local readonly return set shift source then trap until while" },
    Language { names: &["json", "jsonc", "json5"], comments: SLASHES, block: STARS, quotes: &[DOUBLE], words: "true false null" },
    Language { names: &["toml", "ini"], comments: HASH, block: None,
        quotes: &[quote("\"\"\"").multiline(), quote("'''").multiline().without_escapes(), DOUBLE, quote("'").without_escapes()],
        words: "true false inf nan" },
    Language { names: &["yaml", "yml"], comments: HASH, block: None, quotes: &[DOUBLE, quote("'").without_escapes()], words: "true false null yes no on off" },
    Language { names: &["c", "h", "cpp", "c++", "hpp", "cc"], comments: SLASHES, block: STARS, quotes: &[DOUBLE, SINGLE],
        words: "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int long namespace new noexcept NULL nullptr operator override private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while" },
    Language { names: &["java", "kotlin", "kt"], comments: SLASHES, block: STARS, quotes: &[quote("\"\"\"").multiline(), DOUBLE, SINGLE],
        words: "abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for fun if implements import in instanceof int interface is long native new null object package private protected public record return short static super switch synchronized this throw throws transient true false try val var void volatile when while" },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Plain,
    Keyword,
    String,
    Number,
    Comment,
}

/// The token that is still open at the end of a chunk of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenToken {
    #[default]
    Nothing,
    /// A block comment.
    Comment,
    /// A string. Holds the index of its delimiter in [`Language::quotes`].
    String(usize),
}

/// The result of searching the end of a string, after its opening delimiter.
enum StringEnd {
    /// The string ends after this many bytes.
    At(usize),
    /// The end is missing: the string is still being streamed, or is never closed.
    Open,
    /// The delimiter starts no string.
    NotAString,
}

impl Language {
    /// Returns the language that the info string of a code fence names; `None` if it is unknown.
    pub fn of(fence: &str) -> Option<&'static Language> {
        if !cfg!(feature = "highlight") {
            return None;
        }
        Language::named(fence)
    }

    fn named(fence: &str) -> Option<&'static Language> {
        let is_end = |c: char| c.is_whitespace() || ",{:".contains(c);
        let name = fence.split(is_end).next()?.to_ascii_lowercase();
        let all = LANGUAGES.iter();
        all.into_iter().find(|l| l.names.contains(&name.as_str()))
    }

    /// Returns the styled spans of a chunk of code. `inside` is the token that the previous chunk left open. Also
    /// returns the token that this chunk leaves open.
    pub fn spans(
        &self,
        code: &str,
        inside: OpenToken,
        theme: &Theme,
    ) -> (Vec<Span<'static>>, OpenToken) {
        let style = |look: TokenKind| -> Style {
            match look {
                TokenKind::Plain => theme.code,
                TokenKind::Keyword => theme.keyword,
                TokenKind::String => theme.string,
                TokenKind::Number => theme.number,
                TokenKind::Comment => theme.comment,
            }
        };
        let mut out: Vec<(TokenKind, String)> = Vec::new();
        let mut inside = inside;
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            let (look, len, after) = match inside {
                OpenToken::Nothing => self.next(rest, &code[..at]),
                OpenToken::Comment => self.comment(rest),
                OpenToken::String(quote) => self.text(quote, rest),
            };
            inside = after;
            let token = &rest[..len];
            match out.last_mut() {
                Some((last, text)) if *last == look => text.push_str(token),
                Some(_) | None => out.push((look, token.into())),
            }
            at += len;
        }
        let span = |(look, text): (TokenKind, String)| Span::styled(text, style(look));
        (out.into_iter().map(span).collect(), inside)
    }

    /// Reads the rest of a block comment. Returns the same values as [`Language::next`].
    fn comment(&self, rest: &str) -> (TokenKind, usize, OpenToken) {
        let close = self.block.map_or("", |(_, close)| close);
        match rest.find(close) {
            Some(at) => (TokenKind::Comment, at + close.len(), OpenToken::Nothing),
            None => (TokenKind::Comment, rest.len(), OpenToken::Comment),
        }
    }

    /// Reads the rest of a multi-line string. Returns the same values as [`Language::next`].
    fn text(&self, quote: usize, rest: &str) -> (TokenKind, usize, OpenToken) {
        match self.quotes.get(quote).map(|q| q.end(rest)) {
            Some(StringEnd::At(len)) => (TokenKind::String, len, OpenToken::Nothing),
            Some(StringEnd::Open) => (TokenKind::String, rest.len(), OpenToken::String(quote)),
            Some(StringEnd::NotAString) | None => {
                (TokenKind::Plain, rest.len(), OpenToken::Nothing)
            }
        }
    }

    /// Reads the next token. Returns its kind, its length in bytes (at least one character), and the token that is open
    /// after it. `before` is the code before the token.
    fn next(&self, rest: &str, before: &str) -> (TokenKind, usize, OpenToken) {
        if let Some((open, _)) = self.block
            && let Some(inside) = rest.strip_prefix(open)
        {
            let (look, len, after) = self.comment(inside);
            return (look, open.len() + len, after);
        }
        // A hash inside a word starts no comment: `$#`, `a#b`.
        let is_hash_word =
            rest.starts_with('#') && !before.is_empty() && !before.ends_with(char::is_whitespace);
        if !is_hash_word && self.comments.iter().any(|c| rest.starts_with(c)) {
            let len = rest.find('\n').unwrap_or(rest.len());
            return (TokenKind::Comment, len, OpenToken::Nothing);
        }
        for (at, quote) in self.quotes.iter().enumerate() {
            let Some(inside) = rest.strip_prefix(quote.sign) else {
                continue;
            };
            match quote.end(inside) {
                StringEnd::At(len) => {
                    return (
                        TokenKind::String,
                        quote.sign.len() + len,
                        OpenToken::Nothing,
                    );
                }
                StringEnd::Open if quote.is_multiline => {
                    return (TokenKind::String, rest.len(), OpenToken::String(at));
                }
                StringEnd::Open => return (TokenKind::String, rest.len(), OpenToken::Nothing),
                StringEnd::NotAString => {}
            }
        }
        let (look, len) = self.word(rest);
        (look, len, OpenToken::Nothing)
    }

    /// Reads a word, a number or a single character. Returns its kind and its length in bytes.
    fn word(&self, rest: &str) -> (TokenKind, usize) {
        let first = rest.chars().next().unwrap_or(' ');
        let part = |c: char| c.is_alphanumeric() || c == '_';
        if first.is_ascii_digit() {
            let is_part = |c: char| part(c) || c == '.';
            let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            // Two dots are a range, not part of the number.
            let len = rest[..len].find("..").unwrap_or(len);
            return (TokenKind::Number, len.max(1));
        }
        if part(first) {
            let len = rest.find(|c| !part(c)).unwrap_or(rest.len());
            let is_word = self.words.split(' ').any(|word| word == &rest[..len]);
            let look = if is_word {
                TokenKind::Keyword
            } else {
                TokenKind::Plain
            };
            return (look, len);
        }
        (TokenKind::Plain, first.len_utf8())
    }
}

impl Quote {
    const fn multiline(self) -> Quote {
        Quote {
            is_multiline: true,
            ..self
        }
    }

    const fn without_escapes(self) -> Quote {
        Quote {
            has_escapes: false,
            ..self
        }
    }

    /// Finds the end of a string. `inside` is the text after its opening delimiter.
    fn end(&self, inside: &str) -> StringEnd {
        let mut is_escaped = false;
        for (at, c) in inside.char_indices() {
            if is_escaped {
                is_escaped = false;
            } else if c == '\\' && self.has_escapes {
                is_escaped = true;
            } else if inside[at..].starts_with(self.sign) {
                return StringEnd::At(at + self.sign.len());
            } else if !self.is_multiline {
                if c == '\n' && self.sign == "\"" {
                    return StringEnd::At(at);
                }
                // An apostrophe, as in `don't` or Rust lifetimes.
                if self.sign == "'" && (c == '\n' || at > SINGLE_QUOTED_MAX) {
                    return StringEnd::NotAString;
                }
            }
        }
        if self.is_multiline || self.sign == "\"" {
            StringEnd::Open
        } else {
            StringEnd::NotAString
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Highlights code and marks the tokens: `[keyword]`, `«string»`, `<number>`, `{comment}`.
    fn marked(fence: &str, code: &str) -> String {
        let theme = Theme::default();
        let language = Language::named(fence).unwrap();
        let (spans, _) = language.spans(code, OpenToken::Nothing, &theme);
        let whole: String = spans.iter().map(|s| s.content.as_ref()).collect();
        assert_eq!(whole, code);
        let mark = |span: &Span| match span.style {
            style if style == theme.keyword => format!("[{}]", span.content),
            style if style == theme.string => format!("«{}»", span.content),
            style if style == theme.number => format!("<{}>", span.content),
            style if style == theme.comment => format!("{{{}}}", span.content),
            _ => span.content.to_string(),
        };
        spans.iter().map(mark).collect()
    }

    #[test]
    fn keywords_strings_numbers_and_comments_are_highlighted() {
        let cases = [
            (
                "rust",
                "let x: &'a str = \"a \\\" b\"; // why",
                "[let] x: &'a str = «\"a \\\" b\"»; {// why}",
            ),
            (
                "rs,ignore",
                "/* a\n b */ 0..10 1.5 0xff_u8",
                "{/* a\n b */} <0>..<10> <1.5> <0xff_u8>",
            ),
            (
                "python",
                "def f():\n  \"\"\"a\nb\"\"\" # c",
                "[def] f():\n  «\"\"\"a\nb\"\"\"» {# c}",
            ),
            ("ts", "const s = `a\n${b}`", "[const] s = «`a\n${b}`»"),
            ("go", "x := `\\` + 'a'", "x := «`\\`» + «'a'»"),
            ("sh", "echo $# 'it' # all", "[echo] $# «'it'» {# all}"),
            ("json", "{\"a\": [1, true]}", "{«\"a\"»: [<1>, [true]]}"),
            ("toml", "a = 'x' # y", "a = «'x'» {# y}"),
            ("yml", "on: true", "[on]: [true]"),
            ("C", "int a; /* open", "[int] a; {/* open}"),
            ("java {.x}", "return \"half", "[return] «\"half»"),
            ("rust", "\"中文 still open", "«\"中文 still open»"),
            ("rust", "lettuce returns", "lettuce returns"),
        ];
        for (fence, code, expected) in cases {
            assert_eq!(marked(fence, code), expected, "{fence}");
        }
        assert!(Language::named("brainfuck").is_none() && Language::named("").is_none());
    }

    #[test]
    fn chunked_code_is_highlighted_like_whole_code() {
        let theme = Theme::default();
        let cases = [
            (
                "rust",
                "/* a\nb \" c\n*/ let x = \"1\n2 \\\n\\\" 3\n4\"; // \"\nlet y;",
            ),
            (
                "python",
                "x = \"\"\"a\n'''\n# no\n\"\"\" # yes\ny = 'half\nz = 1",
            ),
            ("ts", "`a\n\"b\n${c}\n` + 'd'"),
            ("sh", "echo 'a\nb # c\n' # d\necho \"e\nf\""),
            ("json", "{\"half\n: [1,\ntrue]}"),
        ];
        for (fence, code) in cases {
            let language = Language::named(fence).unwrap();
            let mut inside = OpenToken::Nothing;
            let mut parts: Vec<(String, Style)> = Vec::new();
            for line in code.split_inclusive('\n') {
                // As in a code block, the final newline of a chunk is not passed in.
                let (spans, after) = language.spans(line.trim_end_matches('\n'), inside, &theme);
                parts.extend(signs(&spans));
                inside = after;
            }
            let (whole, _) = language.spans(code, OpenToken::Nothing, &theme);
            let mut whole = signs(&whole);
            whole.retain(|(sign, _)| sign != "\n");
            assert_eq!(parts, whole, "{fence}");
        }
    }

    /// Splits spans into single characters with their styles.
    fn signs(spans: &[Span]) -> Vec<(String, Style)> {
        let of = |span: &Span| -> Vec<(String, Style)> {
            let style = span.style;
            let chars = span.content.chars();
            chars.map(|c| (c.to_string(), style)).collect()
        };
        spans.iter().flat_map(of).collect()
    }

    #[test]
    fn pathological_code_is_read_in_linear_time() {
        for code in ["\"", "'", "/*", "#", "\\", "`", "'a", "\"\\"] {
            let code = code.repeat(20_000);
            for language in LANGUAGES {
                let (spans, _) = language.spans(&code, OpenToken::Nothing, &Theme::default());
                assert!(spans.iter().map(|s| s.content.len()).sum::<usize>() == code.len());
            }
        }
    }
}
