//! Parses filter text into terms: `word`, `key:value`, and `!` for negation. No I/O.

/// One filter term, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Whether the term began with `!`: rows that match it are excluded.
    pub is_negated: bool,
    /// The key before the colon, such as `owner`; `None` for a plain word.
    pub key: Option<String>,
    /// The word, or the value after the colon; may be empty.
    pub value: String,
}

/// Splits `text` at whitespace into terms, in lower case.
pub fn terms(text: &str) -> Vec<Term> {
    let text = text.to_lowercase();
    text.split_whitespace().map(term).collect()
}

fn term(word: &str) -> Term {
    let (is_negated, word) = match word.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, word),
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
        is_negated,
        key,
        value: value.to_string(),
    }
}

/// The terms of a filter, matched against rows of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterTerms(Vec<Term>);

impl FilterTerms {
    /// Parses `text`. A term without a value, such as `from:`, matches everything.
    pub fn new(text: &str) -> FilterTerms {
        let all = terms(text).into_iter();
        FilterTerms(all.filter(|term| !term.value.is_empty()).collect())
    }

    /// Returns whether a row matches: it contains all terms that are not negated and none of the negated ones. A plain
    /// word is searched in `hay`. The value of a term with a key is searched in the text that `keyed` returns for the
    /// key; a leading `@` of the value is ignored. If `keyed` returns `None`, the whole term is searched in `hay`.
    /// `hay` and the result of `keyed` must be in lower case.
    pub fn matches<'a>(&self, hay: &str, keyed: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| {
            let value = term.value.as_str();
            let part = term.key.as_deref().map(|key| (key, keyed(key)));
            let found = match part {
                None => hay.contains(value),
                Some((_, Some(part))) => part.contains(value.trim_start_matches('@')),
                Some((key, None)) => hay.contains(&format!("{key}:{value}")),
            };
            found != term.is_negated
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn terms_are_parsed() {
        let cases = [
            ("Word", false, None, "word"),
            ("!word", true, None, "word"),
            ("!", true, None, ""),
            ("who:Alice", false, Some("who"), "alice"),
            ("!kind:", true, Some("kind"), ""),
            ("std::fs", false, None, "std::fs"),
            ("http://x", false, None, "http://x"),
            ("12:30", false, None, "12:30"),
        ];
        for (text, is_negated, key, value) in cases {
            let expected = Term {
                is_negated,
                key: key.map(String::from),
                value: value.into(),
            };
            assert_eq!(terms(text), [expected], "{text}");
        }
    }

    #[test]
    fn every_term_must_match_with_or_without_key() {
        let hay = "alice bob asks std::fs of note:9";
        let keyed = |key: &str| match key {
            "from" => Some("alice"),
            "to" => Some("bob"),
            _ => None,
        };
        let cases = [
            ("", true),
            ("!", true),
            ("from:", true),
            ("ASKS bob", true),
            ("asks carol", false),
            ("asks !carol", true),
            ("!asks", false),
            ("from:ali", true),
            ("from:@alice to:bob", true),
            ("from:bob", false),
            ("!from:bob", true),
            ("std::fs", true),
            // A term with an unknown key is searched as a plain word.
            ("note:9", true),
            ("note:8", false),
        ];
        for (text, expected) in cases {
            assert_eq!(
                FilterTerms::new(text).matches(hay, keyed),
                expected,
                "{text}"
            );
        }
    }
}
