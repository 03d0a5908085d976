//! Brace lists of the shell: `rm {-r,src}` runs `rm` with two arguments.

/// Maximum number of words to which one word is expanded.
const WORDS_MAX: usize = 256;

/// Returns the words to which the shell expands the brace lists in `text`; `None` if there are more than [`WORDS_MAX`].
/// The brace lists must be outside of quotes. A range such as `{1..3}` stays as it is, because its results contain only
/// letters, digits and signs.
pub fn expand(text: &str) -> Option<Vec<String>> {
    let Some((before, alternatives, after)) = first_list(text) else {
        return Some(vec![text.into()]);
    };
    let ends = expand(after)?;
    let mut words = Vec::new();
    for alternative in alternatives {
        for middle in expand(alternative)? {
            for end in &ends {
                words.push(format!("{before}{middle}{end}"));
                if words.len() > WORDS_MAX {
                    return None;
                }
            }
        }
    }
    Some(words)
}

/// Returns the first brace list in `text`: what is before it, its alternatives, and what is after it.
fn first_list(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    text.match_indices('{').find_map(|(open, _)| {
        let mut depth = 0_usize;
        let mut start = open + 1;
        let mut alternatives = Vec::new();
        for (at, c) in text[open..].char_indices().map(|(at, c)| (open + at, c)) {
            match c {
                '{' => depth += 1,
                ',' if depth == 1 => {
                    alternatives.push(&text[start..at]);
                    start = at + 1;
                }
                '}' if depth > 1 => depth -= 1,
                '}' if alternatives.is_empty() => return None,
                '}' => {
                    alternatives.push(&text[start..at]);
                    return Some((&text[..open], alternatives, &text[at + 1..]));
                }
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn lists_are_expanded_as_bash_does() {
        for (text, words) in [
            ("plain", "plain"),
            ("{-rf,src}", "-rf src"),
            ("a{b,c}d", "abd acd"),
            ("{a,b}{1,2}", "a1 a2 b1 b2"),
            ("{a,{b,c}d}", "a bd cd"),
            ("{a}{b,c}", "{a}b {a}c"),
            ("{1..3}", "{1..3}"),
            ("{open,b", "{open,b"),
            ("x{,.bak}", "x x.bak"),
            ("{{a,b}", "{a {b"),
        ] {
            let all: Vec<String> = words.split(' ').map(String::from).collect();
            assert_eq!(expand(text), Some(all), "{text}");
        }
    }

    #[test]
    fn number_of_words_is_bounded() {
        assert_eq!(expand(&"{a,b}".repeat(8)).map(|w| w.len()), Some(256));
        assert_eq!(expand(&"{a,b}".repeat(40)), None);
    }
}
