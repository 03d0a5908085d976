//! Here-documents (`<<END`) in commands: finds where each one ends, and whether its text can start programs. Does no
//! I/O.

/// A here-document. Its text begins on the line after the `<<` operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HereDocument {
    end: String,
    /// Whether the shell expands variables and commands in the text. The shell does so unless the delimiter is quoted.
    expands: bool,
    /// Whether the shell strips the tabs at the start of each line. The shell does so if the operator is `<<-`.
    strips_tabs: bool,
}

impl HereDocument {
    /// Creates a here-document with the delimiter `end`.
    ///
    /// # Errors
    /// Fails if the delimiter is empty.
    pub fn new(end: String, expands: bool, strips_tabs: bool) -> Result<HereDocument, String> {
        if end.is_empty() {
            return Err("a here-document has no delimiter".into());
        }
        Ok(HereDocument {
            end,
            expands,
            strips_tabs,
        })
    }

    /// Moves `at`, an index in `chars`, from the first character of the text to the position after the line with the
    /// delimiter.
    ///
    /// # Errors
    /// Fails if the here-document does not end, if its end depends on the shell, or if expanding its text would start
    /// programs.
    pub fn skip(&self, chars: &[char], at: &mut usize) -> Result<(), String> {
        // Join lines that end in a backslash, as shells do before they expand variables and commands.
        let (mut joined, mut lines) = (String::new(), 0);
        while *at < chars.len() {
            let rest = &chars[*at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            *at += (length + 1).min(rest.len());
            joined.push_str(&line);
            lines += 1;
            if self.expands && is_continued(&line) {
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
            if self.expands && starts {
                return Err("a here-document starts programs".into());
            }
            (joined, lines) = (String::new(), 0);
        }
        Err(self.unterminated_error())
    }

    fn is_end(&self, line: &str) -> bool {
        line == self.end || (self.strips_tabs && line.trim_start_matches('\t') == self.end)
    }

    fn ambiguous_end_error(&self) -> String {
        format!(
            "shells disagree where the here-document with delimiter {} ends",
            self.end
        )
    }

    pub fn unterminated_error(&self) -> String {
        format!("the here-document with delimiter {} does not end", self.end)
    }
}

/// Returns whether a line ends in an unescaped backslash, so that it continues on the next line.
fn is_continued(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}
