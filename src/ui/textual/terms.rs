//! The words of a filter: `word`, `key:value`, and `!` before what is not wanted. Pure.

/// Whether a term has to be there or must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It has to be there.
    Wanted,
    /// It must not be there.
    Unwanted,
}

/// One term, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Whether it is wanted.
    pub sign: Sign,
    /// What stands before the colon; `None`: a word as others are.
    pub key: Option<String>,
    /// The word, or what stands behind the colon; may be empty.
    pub value: String,
}

/// The terms of `text`.
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
        // `std::fs` and `http://` are words as others are.
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
    fn what_each_word_is() {
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
