//! Brace lists of the shell: `rm {-r,src}` runs `rm` with two arguments.

/// Maximum number of words to which one word is expanded.
const WORDS_MAX: usize = 256;
/// Maximum number of opening braces in a word.
pub const BRACES_MAX: usize = 64;
/// Why a word with more than [`BRACES_MAX`] opening braces is not parsed.
pub const TOO_MANY_BRACES: &str = "a word has more than 64 braces";

/// Returns whether each brace in `text`, a word without quotes, belongs to a list with a separator of its own, or the word
/// has no comma. Otherwise, the shell may take a brace for text: it expands `{a{b},c}` to `a{b}` and `c`.
pub fn is_regular(text: &str) -> bool {
    if !text.contains(',') {
        return true;
    }
    // For each open brace, whether a separator is directly inside of it.
    let mut open = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '{' => open.push(false),
            '}' if open.pop() != Some(true) => return false,
            '.' if before != '.' => {}
            ',' | '.' => {
                if let Some(separates) = open.last_mut() {
                    *separates = true;
                }
            }
            _ => {}
        }
        before = c;
    }
    open.is_empty()
}

/// Returns the words to which the shell expands `text`, a word without quotes. A range of numbers such as `{1..3}` stays
/// as it is: its results are numbers.
///
/// # Errors
/// Fails with the reason if `text` has more than [`BRACES_MAX`] opening braces, a range of characters such as `{a..c}`,
/// or more than [`WORDS_MAX`] results.
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    if text.matches('{').count() > BRACES_MAX {
        return Err(TOO_MANY_BRACES.into());
    }
    let ranges = text.split('{').skip(1).filter_map(|part| {
        let inner = part.split(['}', ',']).next().unwrap_or_default();
        inner.contains("..").then_some(inner)
    });
    let mut bounds = ranges.flat_map(|range| range.split(".."));
    if bounds.any(|bound| bound.parse::<i64>().is_err()) {
        return Err("a brace list is a range of characters".into());
    }
    expand_lists(text).ok_or_else(|| "its brace lists make more than 256 words".into())
}

fn expand_lists(text: &str) -> Option<Vec<String>> {
    let Some((before, alternatives, after)) = first_list(text) else {
        return Some(vec![text.into()]);
    };
    let ends = expand_lists(after)?;
    let mut words = Vec::new();
    for alternative in alternatives {
        for middle in expand_lists(alternative)? {
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
            assert_eq!(expand(text), Ok(all), "{text}");
        }
    }

    #[test]
    fn braces_that_the_shell_may_take_for_text_are_irregular() {
        for text in [
            "{a,b}",
            "{a,{b,c}d}x{1..3}",
            "HEAD@{0}",
            "a{b}..c",
            "a,b",
            "{}",
        ] {
            assert!(is_regular(text), "{text}");
        }
        for text in [
            "{a{b},c}",
            "{a},c}",
            "x{},c}",
            "{HEAD@{0},--hard}",
            "{a,b",
            "{1.2}{a,b}",
        ] {
            assert!(!is_regular(text), "{text}");
        }
    }

    #[test]
    fn words_that_cannot_be_expanded_are_refused() {
        assert_eq!(expand(&"{a,b}".repeat(8)).map(|w| w.len()), Ok(256));
        for text in [
            &"{a,b}".repeat(40),
            &"{a,b}".repeat(12_000),
            &"{a,".repeat(20_000),
            "-{d..d}elete",
            "{a,{1..x}}",
        ] {
            assert!(expand(text).is_err(), "{}", &text[..10]);
        }
    }
}
