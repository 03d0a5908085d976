//! Parses shell commands into words. Knows enough of the shell grammar to find every program that a command starts.
//! Does no I/O.
//!
//! Crates such as `shlex` are not enough: they split words, but do not know operators, substitutions or redirections.

mod braces;
mod expansions;

use super::here_document::HereDocument;
use crate::domain::sandbox::ASKS_FOR_NETWORK;

/// Maximum nesting depth of substitutions. A command with deeper ones is not parsed, so it needs approval.
const DEPTH_MAX: usize = 8;
/// Maximum length of a command that is parsed, in bytes. A longer one needs approval.
const COMMAND_MAX: usize = 64 * 1024;

/// A word of a shell command, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    pub text: String,
    /// Whether the word contains a variable or a substitution, which the shell replaces at run time. `text` does not
    /// contain these parts.
    pub expands: bool,
    /// Whether the word contains a file name pattern or a brace list, such as `{a,b}`, outside of quotes.
    pub globs: bool,
    /// Whether the word contains a brace list outside of quotes that is not expanded yet.
    pub(super) has_braces: bool,
}

impl Word {
    /// Returns whether the program gets exactly this text from the shell. A `~`, which the shell also expands, is not
    /// considered.
    pub fn is_plain(&self) -> bool {
        !self.expands && !self.globs
    }
}

/// A simple command: one program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    /// The program and its arguments, without leading assignments.
    pub words: Vec<Word>,
    /// The files that the shell opens for writing before it starts the program: targets of `>`, `>>`, `>|`, `>&`, `&>`,
    /// `&>>` and `<>`.
    pub redirects: Vec<Word>,
    /// Whether standard input comes from a pipe, a file, a here-document or a here-string.
    pub is_fed: bool,
    /// Whether assignments such as `A=1` precede the program or are the whole command. [`ASKS_FOR_NETWORK`] does not
    /// count.
    pub assigns: bool,
}

/// Shell keywords that can precede a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "time",
];

/// Returns all simple commands of `command`, including those in substitutions. A substitution comes before the command
/// that contains it. Text that a program runs, as in `bash -c TEXT`, is not parsed.
///
/// # Errors
/// Fails with the reason if `command` cannot be parsed, is longer than 64 KiB, or nests substitutions more than 8
/// levels deep. Such a command may start any program.
pub fn parse(command: &str) -> Result<Vec<SimpleCommand>, String> {
    if command.len() > COMMAND_MAX {
        return Err("it is longer than 64 KiB".into());
    }
    let mut out = Vec::new();
    parse_into(command, 0, &mut out)?;
    Ok(out)
}

fn parse_into(command: &str, depth: usize, out: &mut Vec<SimpleCommand>) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err("its substitutions are nested more than 8 levels deep".into());
    }
    let mut lexer = Lexer {
        chars: command.chars().collect(),
        at: 0,
        depth,
        inner: out,
    };
    lexer.run()
}

struct Lexer<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    inner: &'a mut Vec<SimpleCommand>,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += 1;
        c
    }

    fn takes(&mut self, text: &str) -> bool {
        let fits = text
            .chars()
            .enumerate()
            .all(|(i, c)| self.chars.get(self.at + i) == Some(&c));
        if fits {
            self.at += text.chars().count();
        }
        fits
    }

    fn run(&mut self) -> Result<(), String> {
        let mut simple = SimpleCommand::default();
        let mut documents: Vec<HereDocument> = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.chars.get(self.at + 1) == Some(&'\n') => self.at += 2,
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '\n' => {
                    self.at += 1;
                    for document in documents.drain(..) {
                        document.skip(&self.chars, &mut self.at)?;
                    }
                    self.end(&mut simple);
                }
                ';' | '(' | ')' => {
                    if c == '(' && !simple.words.is_empty() {
                        return Err("it defines a function".into());
                    }
                    self.at += 1;
                    self.end(&mut simple);
                }
                '&' if self.takes("&>>") || self.takes("&>") => {
                    let target = self.target()?;
                    simple.redirects.push(target);
                }
                '&' => {
                    self.at += 1;
                    self.takes("&");
                    self.end(&mut simple);
                }
                '|' => {
                    self.at += 1;
                    let is_or = self.takes("|");
                    if !is_or {
                        self.takes("&");
                    }
                    self.end(&mut simple);
                    simple.is_fed |= !is_or;
                }
                '<' => self.input(&mut simple, &mut documents)?,
                '>' => self.output(&mut simple)?,
                _ => {
                    let word = self.word()?;
                    if simple.words.is_empty() && word.is_plain() {
                        match word.text.as_str() {
                            "function" => return Err("it defines a function".into()),
                            "coproc" => return Err("it starts a coprocess".into()),
                            _ => {}
                        }
                    }
                    let is_number = word.text.chars().all(|c| c.is_ascii_digit());
                    // A number before a redirection is a file descriptor.
                    if is_number && !word.text.is_empty() && matches!(self.peek(), Some('<' | '>'))
                    {
                        continue;
                    }
                    Self::take_word(&mut simple, word)?;
                }
            }
        }
        if let Some(document) = documents.first() {
            return Err(document.unterminated_error());
        }
        self.end(&mut simple);
        Ok(())
    }

    /// Adds a word to a command, or the words to which the shell expands its brace lists.
    ///
    /// # Errors
    /// Fails with the reason if the brace lists cannot be expanded.
    fn take_word(simple: &mut SimpleCommand, word: Word) -> Result<(), String> {
        if simple.words.is_empty() {
            // No program has such a name, so these are options of the keyword `time`.
            let is_option = matches!(word.text.as_str(), "-p" | "--");
            if (is_option || KEYWORDS.contains(&word.text.as_str())) && word.is_plain() {
                return Ok(());
            }
            let is_assignment = word.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            if is_assignment {
                simple.assigns |= word.text != ASKS_FOR_NETWORK.trim_end();
                return Ok(());
            }
        }
        if !word.has_braces {
            simple.words.push(word);
            return Ok(());
        }
        let part = |text| Word {
            text,
            has_braces: false,
            ..word.clone()
        };
        let texts = braces::expand(&word.text)?;
        simple.words.extend(texts.into_iter().map(part));
        Ok(())
    }

    /// Adds the current simple command to the parsed commands, unless it is empty, and begins a new one.
    fn end(&mut self, simple: &mut SimpleCommand) {
        let done = std::mem::take(simple);
        let is_empty = done.words.is_empty() && done.redirects.is_empty() && !done.assigns;
        // If a line ends after a pipe, the command that reads from the pipe is on the next line.
        simple.is_fed = is_empty && done.is_fed;
        if !is_empty {
            self.inner.push(done);
        }
    }

    fn input(
        &mut self,
        simple: &mut SimpleCommand,
        documents: &mut Vec<HereDocument>,
    ) -> Result<(), String> {
        if self.takes("<<<") {
            self.target()?;
            simple.is_fed = true;
        } else if self.takes("<<") {
            let strips_tabs = self.takes("-");
            self.skip_blanks();
            // The shell joins a line that ends in a backslash with the next one before it reads the delimiter.
            while self.takes("\\\n") {}
            let expands = !matches!(self.peek(), Some('\'' | '"' | '\\'));
            documents.push(HereDocument::new(self.word()?.text, expands, strips_tabs)?);
            simple.is_fed = true;
        } else if self.takes("<(") {
            self.substitution(')')?;
            simple.words.push(Word {
                expands: true,
                ..Word::default()
            });
        } else if self.takes("<>") {
            let target = self.target()?;
            simple.redirects.push(target);
            simple.is_fed = true;
        } else {
            let _ = self.takes("<&") || self.takes("<");
            self.target()?;
            simple.is_fed = true;
        }
        Ok(())
    }

    fn output(&mut self, simple: &mut SimpleCommand) -> Result<(), String> {
        if self.takes(">(") {
            self.substitution(')')?;
            simple.words.push(Word {
                expands: true,
                ..Word::default()
            });
            return Ok(());
        }
        if self.takes(">&") {
            let target = self.target()?;
            let is_descriptor =
                target.text == "-" || target.text.chars().all(|c| c.is_ascii_digit());
            if !is_descriptor || !target.is_plain() {
                simple.redirects.push(target);
            }
            return Ok(());
        }
        let _ = self.takes(">>") || self.takes(">|") || self.takes(">");
        let target = self.target()?;
        simple.redirects.push(target);
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn target(&mut self) -> Result<Word, String> {
        self.skip_blanks();
        let word = self.word()?;
        if word == Word::default() {
            return Err("a redirection has no target".into());
        }
        if word.has_braces {
            return Err("the target of a redirection has a brace list".into());
        }
        Ok(word)
    }

    fn word(&mut self) -> Result<Word, String> {
        let mut word = Word::default();
        let mut has_quotes = false;
        let mut braces = 0;
        while let Some(c) = self.peek() {
            has_quotes |= matches!(c, '\'' | '"' | '\\');
            if c == '{' {
                braces += 1;
                if braces > braces::BRACES_MAX {
                    return Err(braces::TOO_MANY_BRACES.into());
                }
            }
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    self.at += 1;
                    loop {
                        match self.next() {
                            Some('\'') => break,
                            Some(c) => word.text.push(c),
                            None => return Err("a quote is not closed".into()),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut word)?;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => word.text.push(c),
                        None => return Err("it ends in a backslash".into()),
                    }
                }
                '$' | '`' => self.expansion(&mut word)?,
                '*' | '?' | '[' | '{' | '~' => {
                    word.globs |= match c {
                        '{' => {
                            let is_list = self.is_brace_list();
                            word.has_braces |= is_list;
                            is_list
                        }
                        // At the start of a word, `[` or `[[` is a program name, not a pattern.
                        '[' => {
                            !word.text.is_empty()
                                || !matches!(self.chars.get(self.at + 1), Some(' ' | '['))
                        }
                        other => other != '~',
                    };
                    word.text.push(c);
                    self.at += 1;
                }
                other => {
                    word.text.push(other);
                    self.at += 1;
                }
            }
        }
        let separates = word.text.contains(',') || word.text.contains("..");
        if braces > 0 && separates && (has_quotes || word.expands) {
            // The text no longer shows which braces and commas are quoted and which words come from a substitution.
            return Err("a word has braces beside quotes or variables".into());
        }
        if braces > 0 && !braces::is_regular(&word.text) {
            return Err("its braces and commas do not form plain lists".into());
        }
        Ok(word)
    }

    /// Returns whether the brace at the current position begins a list, such as `{a,b}` or `{1..3}`. The shell expands
    /// a list to several words, and leaves other braces unchanged.
    fn is_brace_list(&self) -> bool {
        let mut separates = false;
        // Words with a list and quotes are refused, and so are those in which a brace closes a list without a separator.
        for c in &self.chars[self.at..] {
            match c {
                '}' => return separates,
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => return false,
                ',' | '.' => separates = true,
                _ => {}
            }
        }
        false
    }
}

/// Returns whether `args` contain the flag `short`, alone or combined with others as in `-rf`, or the flag `long`, such
/// as `--recursive`.
pub fn has_flag(args: &[Word], short: char, long: &str) -> bool {
    args.iter().any(|a| {
        a.text == long
            || (a.text.starts_with('-') && !a.text.starts_with("--") && a.text.contains(short))
    })
}
