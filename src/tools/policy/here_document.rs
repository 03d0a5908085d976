//! Here-documents (`<<END`): finds where they end and whether they can start programs. Pure.

/// Whether the shell expands variables and commands in a here-document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    /// It expands them.
    Enabled,
    /// It does not, because the delimiter is quoted.
    Disabled,
}

/// How the shell treats tabs at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tabs {
    /// It keeps them: a line with a tab before the delimiter does not end the document.
    Keep,
    /// It strips them (`<<-`).
    Strip,
}

/// A here-document whose text follows the current line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HereDocument {
    end: String,
    expansion: Expansion,
    tabs: Tabs,
}

impl HereDocument {
    /// Creates a here-document with the delimiter `end`.
    ///
    /// # Errors
    /// If the delimiter is empty.
    pub fn new(end: String, expansion: Expansion, tabs: Tabs) -> Result<HereDocument, String> {
        if end.is_empty() {
            return Err("a here-document has no delimiter".into());
        }
        Ok(HereDocument {
            end,
            expansion,
            tabs,
        })
    }

    /// Moves `at` past the here-document.
    ///
    /// # Errors
    /// If it does not end, if shells disagree where it ends, or if expanding it would start programs.
    pub fn skip(&self, chars: &[char], at: &mut usize) -> Result<(), String> {
        // Shells join lines that end in a backslash before they expand variables and commands.
        let (mut joined, mut lines) = (String::new(), 0);
        while *at < chars.len() {
            let rest = &chars[*at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            *at += (length + 1).min(rest.len());
            joined.push_str(&line);
            lines += 1;
            if self.expansion == Expansion::Enabled && is_continued(&line) {
                joined.pop();
                if self.is_end(&joined) {
                    return Err(self.ambiguous_end_error());
                }
                continue;
            }
            if lines == 1 && self.is_end(&line) {
                return Ok(());
            }
            if self.is_end(&line) || self.is_end(&joined) {
                return Err(self.ambiguous_end_error());
            }
            let starts = joined.contains("$(") || joined.contains('`');
            if self.expansion == Expansion::Enabled && starts {
                return Err("a here-document starts programs".into());
            }
            (joined, lines) = (String::new(), 0);
        }
        Err(self.unterminated_error())
    }

    fn is_end(&self, line: &str) -> bool {
        match self.tabs {
            Tabs::Keep => line == self.end,
            Tabs::Strip => line.trim_start_matches('\t') == self.end,
        }
    }

    fn ambiguous_end_error(&self) -> String {
        format!(
            "shells disagree where the here-document with delimiter {} ends",
            self.end
        )
    }

    /// Returns the error for a here-document that does not end.
    pub fn unterminated_error(&self) -> String {
        format!("the here-document with delimiter {} does not end", self.end)
    }
}

/// Returns whether a line ends in an unescaped backslash, so that it continues on the next line.
fn is_continued(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}
