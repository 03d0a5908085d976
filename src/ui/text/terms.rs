//! Parses filter text into terms: `word`, `key:value`, and `!` for negation. No I/O.

/// Whether a term must match or must not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The term must match.
    Wanted,
    /// The term must not match.
    Unwanted,
}

/// One filter term, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub sign: Sign,
    /// The key before the colon; `None` for a plain word.
    pub key: Option<String>,
    /// The word, or the value after the colon; may be empty.
    pub value: String,
}

/// Splits `text` into terms.
pub fn terms(text: &str) -> Vec<Term> {
    let text = text.to_lowercase();
    text.split_whitespace().map(term).collect()
}

fn term(word: &str) -> Term {
    let (sign, word) = match word.strip_prefix('!') {
        Some(rest) => (Sign::Unwanted, rest),
        None => (Sign::Wanted, word),
    };
    let (key, value) = match word.split_once(':') {
        // `std::fs` and `http://` are plain words.
        Some((key, value))
            if !key.is_empty()
                && key.chars().all(char::is_alphabetic)
                && !value.starts_with([':', '/']) =>
        {
            (Some(key.to_string()), value)
        }
        Some(_) | None => (None, word),
    };
    Term {
        sign,
        key,
        value: value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn terms_are_parsed() {
        let cases = [
            ("Word", Sign::Wanted, None, "word"),
            ("!word", Sign::Unwanted, None, "word"),
            ("!", Sign::Unwanted, None, ""),
            ("who:Alice", Sign::Wanted, Some("who"), "alice"),
            ("!kind:", Sign::Unwanted, Some("kind"), ""),
            ("std::fs", Sign::Wanted, None, "std::fs"),
            ("http://x", Sign::Wanted, None, "http://x"),
            ("12:30", Sign::Wanted, None, "12:30"),
        ];
        for (text, sign, key, value) in cases {
            let (key, value) = (key.map(String::from), value.into());
            assert_eq!(terms(text), [Term { sign, key, value }], "{text}");
        }
    }
}
