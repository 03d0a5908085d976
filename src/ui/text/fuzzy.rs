//! Fuzzy matching of a typed pattern against texts, with a score and the matched positions: `gol` matches
//! `Graph Or List`. No I/O.
//!
//! Uses `nucleo-matcher`, the matcher of Helix: each word of the pattern must occur in the text as a subsequence;
//! matches at word starts and consecutive matches score higher, and gaps cost points.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Minimum score of a word of the pattern, per character of the word, if scattered matches are rejected. It is the
/// score of a match without a bonus and without gaps. A lower score means that the match is scattered over the text.
const CHARACTER_SCORE_MIN: usize = 16;

/// Added to the score of a text, other than a path, that begins with the whole pattern. It is greater than the score of
/// any other match, because what a user types is usually the start of the text that the user means.
const START_BONUS: u32 = 10_000;

/// Added to the score of a short text in which each word of the pattern occurs as a whole word. It is greater than the
/// score of a match of scattered characters.
const WORDS_BONUS: u32 = 5_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FuzzyMatch {
    /// The quality of the match; a higher score is better.
    pub score: u32,
    /// Indices of the matched characters in the text, counted from 0, ascending and without duplicates.
    pub positions: Vec<usize>,
}

/// A function that matches a pattern against one text after another. Returns `None` for a text that does not match.
pub type TextSearch = Box<dyn FnMut(&str) -> Option<FuzzyMatch>>;

/// A pattern that is matched against the texts of a list. All matches use the same buffers, so one pattern should be
/// used for the whole list.
pub struct FuzzyPattern {
    pattern: Pattern,
    matcher: Matcher,
    accepts_scattered: bool,
    /// The pattern in lower case, for the comparison with the start of a text. Empty for paths.
    start: String,
    characters: Vec<char>,
    indices: Vec<u32>,
}

impl FuzzyPattern {
    /// Creates a pattern for short texts. Ignores case, and rejects matches that are scattered over a text.
    pub fn new(typed: &str) -> FuzzyPattern {
        FuzzyPattern {
            start: typed.trim().to_lowercase(),
            ..FuzzyPattern::of(typed, CaseMatching::Ignore, Config::DEFAULT, false)
        }
    }

    /// Creates a pattern for paths, which prefers matches in the name of the file. A word of the pattern with an
    /// uppercase character matches only in exactly this case; other words ignore case. Accepts matches that are
    /// scattered over a path.
    pub fn of_path(typed: &str) -> FuzzyPattern {
        let config = Config::DEFAULT.match_paths();
        FuzzyPattern::of(typed, CaseMatching::Smart, config, true)
    }

    fn of(
        typed: &str,
        case: CaseMatching,
        config: Config,
        accepts_scattered: bool,
    ) -> FuzzyPattern {
        FuzzyPattern {
            pattern: Pattern::new(typed, case, Normalization::Smart, AtomKind::Fuzzy),
            matcher: Matcher::new(config),
            accepts_scattered,
            start: String::new(),
            characters: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Returns the score of the match of the pattern in `text`; `None` if a word of the pattern does not match. A
    /// pattern that is not for paths also returns `None` if the match of a word is scattered over the text. An empty
    /// pattern matches every text with score 0.
    pub fn score(&mut self, text: &str) -> Option<u32> {
        let mut lower = text.chars().flat_map(char::to_lowercase);
        let begins = !self.start.is_empty() && self.start.chars().all(|c| lower.next() == Some(c));
        let bonus = if begins {
            START_BONUS
        } else if has_words(text, &self.start) {
            WORDS_BONUS
        } else {
            0
        };
        let text = characters(text, &mut self.characters);
        let (accepts_scattered, matcher) = (self.accepts_scattered, &mut self.matcher);
        let scores = self.pattern.atoms.iter().map(|word| {
            let least = word.needle_text().len() * CHARACTER_SCORE_MIN;
            let score = word.score(text, matcher)?;
            (accepts_scattered || usize::from(score) >= least).then_some(u32::from(score))
        });
        let sum: Option<u32> = scores.sum();
        sum.map(|sum| sum.saturating_add(bonus))
    }

    /// Like [`FuzzyPattern::score`], but also returns the positions of the match.
    pub fn find(&mut self, text: &str) -> Option<FuzzyMatch> {
        let score = self.score(text)?;
        self.indices.clear();
        let text = characters(text, &mut self.characters);
        (self.pattern).indices(text, &mut self.matcher, &mut self.indices);
        let positions = self.indices.iter().map(|at| *at as usize);
        let mut positions: Vec<usize> = positions.collect();
        positions.sort_unstable();
        positions.dedup();
        Some(FuzzyMatch { score, positions })
    }
}

/// Returns whether each word of `wanted`, which is in lower case, occurs in `text` as a whole word. `false` if `wanted`
/// is blank.
fn has_words(text: &str, wanted: &str) -> bool {
    let text = text.to_lowercase();
    let has = |word: &str| {
        text.split(|c: char| !c.is_alphanumeric())
            .any(|w| w == word)
    };
    !wanted.is_empty() && wanted.split_whitespace().all(has)
}

/// Converts a text for the matcher. Splits the text into characters and not into graphemes, so that the positions of
/// matches count characters. `buffer` holds the characters of a text that is not ASCII.
fn characters<'a>(text: &'a str, buffer: &'a mut Vec<char>) -> Utf32Str<'a> {
    if text.is_ascii() {
        return Utf32Str::Ascii(text.as_bytes());
    }
    buffer.clear();
    buffer.extend(text.chars());
    Utf32Str::Unicode(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn characters_match_in_order_and_words_in_any_order() {
        let cases: [(&str, &str, Option<&[usize]>); 12] = [
            ("", "next pane", Some(&[])),
            ("np", "next pane", Some(&[0, 5])),
            ("NEXT", "next pane", Some(&[0, 1, 2, 3])),
            ("pn", "next pane", Some(&[5, 7])),
            ("pane next", "next pane", Some(&[0, 1, 2, 3, 5, 6, 7, 8])),
            ("pane x y", "next pane", None),
            ("enp", "next pane", None),
            ("ext", "next pane", Some(&[1, 2, 3])),
            ("et", "next pane", None),
            ("ü", "测 Über alles", Some(&[2])),
            ("cc", "c", None),
            ("nudg", "owner:NAME status:ready tag:T", None),
        ];
        for (pattern, text, expected) in cases {
            let found = FuzzyPattern::new(pattern).find(text);
            let places = found.map(|found| found.positions);
            assert_eq!(places.as_deref(), expected, "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn word_starts_and_consecutive_matches_score_higher() {
        // In each row, the first text must score higher than the second.
        let cases = [
            ("mer", "merge the branch", "move to the right"),
            ("bj", "background jobs", "abject"),
            ("nt", "choose the next task and the one", "continue"),
            ("jobs", "show the jobs", "j o b s"),
            ("ml", "moveLine", "small"),
            ("me", "merge the branch", "choose what to copy: a message"),
            ("Me", "merge", "an me"),
            (
                "resume",
                "choose an earlier session and resume it",
                "suspend; the shell command fg resumes",
            ),
        ];
        for (typed, better, worse) in cases {
            let mut pattern = FuzzyPattern::new(typed);
            let (better_score, worse_score) = (pattern.score(better), pattern.score(worse));
            assert!(better_score > worse_score, "{typed}: {better} / {worse}");
        }
    }

    #[test]
    fn best_match_is_marked_not_the_first() {
        let found = FuzzyPattern::new("jobs").find("just old: jobs");
        assert_eq!(found.unwrap().positions, [10, 11, 12, 13]);
    }

    #[test]
    fn pattern_of_a_path_accepts_scattered_matches_and_uppercase_only_if_typed() {
        let mut pattern = FuzzyPattern::of_path("sdm");
        assert!(pattern.find("src/app/doctor/model.rs").is_some());
        assert_eq!(FuzzyPattern::new("rtrr").find("src/app/doctor/xr"), None);
        let mut pattern = FuzzyPattern::of_path("Read");
        assert!(pattern.find("docs/README.md").is_none() && pattern.find("Reader.rs").is_some());
    }
}
