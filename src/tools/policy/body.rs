//! The texts that follow a command line which feeds them to its programs (`<<END`). Pure.

/// What the shell does with such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It puts in what variables hold and programs say.
    Expanded,
    /// Nothing: its end mark is quoted.
    Literally,
}

/// What the shell does with the tabs before a line of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tabs {
    /// They count: such a line is not the end mark.
    Kept,
    /// It takes them away (`<<-`).
    Cut,
}

/// A text that is still to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    end: String,
    taken: Taken,
    tabs: Tabs,
}

impl Body {
    /// One up to the line `end`.
    ///
    /// # Errors
    /// There is no such line.
    pub fn new(end: String, taken: Taken, tabs: Tabs) -> Result<Body, String> {
        if end.is_empty() {
            return Err("a text in it has no end mark".into());
        }
        Ok(Body { end, taken, tabs })
    }

    /// Moves `at` behind it.
    ///
    /// # Errors
    /// It does not end, shells do not agree where, or they would start programs to fill it in.
    pub fn skip(&self, chars: &[char], at: &mut usize) -> Result<(), String> {
        // Lines that a backslash joins; shells take that away before they look for variables and programs.
        let (mut joined, mut lines) = (String::new(), 0);
        while *at < chars.len() {
            let rest = &chars[*at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            *at += (length + 1).min(rest.len());
            joined.push_str(&line);
            lines += 1;
            if self.taken == Taken::Expanded && goes_on(&line) {
                joined.pop();
                if self.is_end(&joined) {
                    return Err(self.ends_unclear());
                }
                continue;
            }
            if lines == 1 && self.is_end(&line) {
                return Ok(());
            }
            if self.is_end(&line) || self.is_end(&joined) {
                return Err(self.ends_unclear());
            }
            let starts = joined.contains("$(") || joined.contains('`');
            if self.taken == Taken::Expanded && starts {
                return Err("a text in it starts programs".into());
            }
            (joined, lines) = (String::new(), 0);
        }
        Err(self.has_no_end())
    }

    fn is_end(&self, line: &str) -> bool {
        match self.tabs {
            Tabs::Kept => line == self.end,
            Tabs::Cut => line.trim_start_matches('\t') == self.end,
        }
    }

    fn ends_unclear(&self) -> String {
        format!("shells do not agree where the text up to {} ends", self.end)
    }

    /// That it does not end.
    pub fn has_no_end(&self) -> String {
        format!("the text up to {} does not end", self.end)
    }
}

/// Whether the end of a line is taken away, so that the next one belongs to it.
fn goes_on(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}
