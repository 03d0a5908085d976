//! The texts that follow a command line which feeds them to its programs (`<<END`). Pure.

/// What the shell does with such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It puts in what variables hold and programs say.
    Expanded,
    /// Nothing: its end mark is quoted.
    Literally,
}

/// A text that is still to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    end: String,
    taken: Taken,
}

impl Body {
    /// One up to the line `end`.
    ///
    /// # Errors
    /// There is no such line.
    pub fn new(end: String, taken: Taken) -> Result<Body, String> {
        if end.is_empty() {
            return Err("a text in it has no end mark".into());
        }
        Ok(Body { end, taken })
    }

    /// Moves `at` behind it.
    ///
    /// # Errors
    /// It does not end, or the shell would start programs to fill it in.
    pub fn skip(&self, chars: &[char], at: &mut usize) -> Result<(), String> {
        while *at < chars.len() {
            let rest = &chars[*at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            *at += (length + 1).min(rest.len());
            if line.trim_start_matches('\t') == self.end {
                return Ok(());
            }
            let starts = line.contains("$(") || line.contains('`');
            if self.taken == Taken::Expanded && starts {
                return Err("a text in it starts programs".into());
            }
        }
        Err(self.has_no_end())
    }

    /// That it does not end.
    pub fn has_no_end(&self) -> String {
        format!("the text up to {} does not end", self.end)
    }
}
