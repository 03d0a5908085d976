//! Parses shell expansions: variables, arithmetic and command substitutions. Does no I/O.

use super::{Lexer, Word, parse_into};

impl Lexer<'_> {
    pub(super) fn double_quoted(&mut self, word: &mut Word) -> Result<(), String> {
        loop {
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.next() {
                        Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                        Some('\n') => {}
                        Some(c) => word.text.extend(['\\', c]),
                        None => return Err("a quote is not closed".into()),
                    }
                }
                Some('$' | '`') => self.expansion(word)?,
                Some(c) => {
                    word.text.push(c);
                    self.at += 1;
                }
                None => return Err("a quote is not closed".into()),
            }
        }
    }

    pub(super) fn expansion(&mut self, word: &mut Word) -> Result<(), String> {
        if self.takes("`") {
            let start = self.at;
            while self.peek().is_some_and(|c| c != '`') {
                self.at += 1;
            }
            if self.peek().is_none() {
                return Err("a backquote is not closed".into());
            }
            let inside: String = self.chars[start..self.at].iter().collect();
            self.at += 1;
            word.expands = true;
            return parse_into(&inside, self.depth + 1, self.inner);
        }
        if self.takes("$\\\n") {
            // The shell joins the lines first, so the text of the next line decides which kind of expansion this is.
            return Err("a line ends in the middle of a variable".into());
        }
        if self.takes("$((") {
            self.arithmetic()?;
            word.expands = true;
            return Ok(());
        }
        if self.takes("$(") {
            word.expands = true;
            return self.substitution(')');
        }
        if self.takes("$'") {
            return Err("it uses $'…' quoting".into());
        }
        self.at += 1;
        match self.peek() {
            Some('{') => {
                while let Some(c) = self.next() {
                    match c {
                        '}' => break,
                        '`' | '(' => return Err("a ${…} expansion may start programs".into()),
                        _ => {}
                    }
                }
                word.expands = true;
            }
            Some(c) if c.is_ascii_alphanumeric() || "_?!@*#$-".contains(c) => {
                self.at += 1;
                if c.is_ascii_alphabetic() || c == '_' {
                    while self
                        .peek()
                        .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                    {
                        self.at += 1;
                    }
                }
                word.expands = true;
            }
            Some(_) | None => word.text.push('$'),
        }
        Ok(())
    }

    /// Skips an arithmetic expansion including the `))` at its end. Fails if the expansion contains a substitution,
    /// because a substitution starts programs. Also fails if it does not end in `))`, because some shells then run its
    /// text as commands.
    fn arithmetic(&mut self) -> Result<(), String> {
        let programs = || Err("an arithmetic expansion may start programs".into());
        let mut open = 0;
        while let Some(c) = self.next() {
            match c {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' if self.takes(")") => return Ok(()),
                ')' | '`' => return programs(),
                '$' if matches!(self.peek(), Some('(' | '\\')) => return programs(),
                _ => {}
            }
        }
        Err("an arithmetic expansion is not closed".into())
    }

    /// Parses the command in a substitution up to the character `close`, and adds its simple commands to the parsed
    /// commands. A `close` character in quotes or nested parentheses does not end the substitution. Fails if the
    /// substitution does not end, or if its command cannot be parsed.
    pub(super) fn substitution(&mut self, close: char) -> Result<(), String> {
        let start = self.at;
        let (mut open, mut quote) = (1, None);
        while let Some(c) = self.next() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(q), c) if c == q => quote = None,
                (None | Some('"'), '\\') => self.at += 1,
                (None, '(') => open += 1,
                (None, c) if c == close => {
                    open -= 1;
                    if open == 0 {
                        let inside: String = self.chars[start..self.at - 1].iter().collect();
                        return parse_into(&inside, self.depth + 1, self.inner);
                    }
                }
                (_, _) => {}
            }
        }
        Err("a substitution is not closed".into())
    }
}
