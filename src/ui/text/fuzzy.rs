//! Fuzzy matching of a typed pattern against a text, with a score and the matched positions: `gol` matches
//! `Graph Or List`. No I/O.
//!
//! Each word of the pattern must occur in the text, either as a substring or as a subsequence that begins at the start
//! of a word. As in fzf, matches at word starts and consecutive matches score higher, and gaps cost points.
//!
//! The crate `strsim`, which finds similar names elsewhere, is not used, because it has neither subsequences nor
//! matched positions.

/// Number of points for each matched character.
const MATCH_SCORE: i32 = 16;
/// Bonus for a match at the start of a word.
const WORD_START_BONUS: i32 = 14;
/// Bonus for a match directly after the previous one.
const CONSECUTIVE_BONUS: i32 = 14;
/// Cost of each skipped character between two matches, up to [`GAP_COST_MAX`] per gap.
const GAP_COST: i32 = 1;
const GAP_COST_MAX: i32 = 12;
/// Maximum number of characters of a text that are searched; the rest is ignored.
const TEXT_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FuzzyMatch {
    /// The quality of the match; a higher score is better.
    pub score: i32,
    /// Character positions of the matches in the text, ascending.
    pub positions: Vec<usize>,
}

/// Matches `pattern` against `text`, ignoring case. Returns `None` if a word of the pattern does not match. An empty
/// pattern matches everything with score 0.
pub fn fuzzy_match(pattern: &str, text: &str) -> Option<FuzzyMatch> {
    let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
    let text: Vec<char> = text.chars().take(TEXT_MAX).collect();
    let starts: Vec<bool> = text
        .iter()
        .enumerate()
        .map(|(at, c)| {
            let before = at.checked_sub(1).map(|b| text[b]);
            let is_hump = before.is_some_and(char::is_lowercase) && c.is_uppercase();
            c.is_alphanumeric() && (is_hump || before.is_none_or(|b| !b.is_alphanumeric()))
        })
        .collect();
    let text: Vec<char> = text.into_iter().map(lower).collect();
    let mut out = FuzzyMatch::default();
    for word in pattern.split_whitespace() {
        let word: Vec<char> = word.chars().map(lower).collect();
        let found = best_match(&word, &text, &starts)?;
        out.score += found.score;
        out.positions.extend(found.positions);
    }
    out.positions.sort_unstable();
    out.positions.dedup();
    Some(out)
}

/// Finds the highest-scoring match of `word` in `text` with dynamic programming: for each character of the word and
/// each position in the text, it keeps the best score and the position of the previous matched character.
fn best_match(word: &[char], text: &[char], starts: &[bool]) -> Option<FuzzyMatch> {
    let mut rows: Vec<Vec<Option<(i32, usize)>>> = Vec::new();
    for (nth, character) in word.iter().enumerate() {
        let mut row = vec![None; text.len()];
        for at in (nth..text.len()).filter(|at| text[*at] == *character) {
            let own = MATCH_SCORE + if starts[at] { WORD_START_BONUS } else { 0 };
            row[at] = match rows.last() {
                None if starts[at] || text[at..].starts_with(word) => Some((own, at)),
                None => None,
                Some(before) => (0..at)
                    .filter_map(|prev| before[prev].map(|(score, _)| (score, prev)))
                    .map(|(score, prev)| (score + own + gap_score(at - prev), prev))
                    .max_by_key(|(score, prev)| (*score, *prev)),
            };
        }
        rows.push(row);
    }
    let last = rows.last()?;
    let ends = last.iter().enumerate();
    let ends = ends.filter_map(|(at, cell)| cell.map(|(score, _)| (score, at)));
    // On a tie, the first position wins.
    let (score, mut at) = ends.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)))?;
    // Rejects matches that are scattered over the text.
    if score < MATCH_SCORE * i32::try_from(word.len()).unwrap_or(i32::MAX / MATCH_SCORE) {
        return None;
    }
    let mut places = Vec::with_capacity(word.len());
    for row in rows.iter().rev() {
        places.push(at);
        at = row[at].map_or(at, |(_, prev)| prev);
    }
    places.reverse();
    Some(FuzzyMatch {
        score,
        positions: places,
    })
}

/// Returns the bonus, or the negative cost of a gap, for the distance between two consecutive matched characters.
fn gap_score(distance: usize) -> i32 {
    match i32::try_from(distance).unwrap_or(i32::MAX) {
        1 => CONSECUTIVE_BONUS,
        n => -(GAP_COST * n.saturating_sub(1)).min(GAP_COST_MAX),
    }
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
            ("ü", "Über alles", Some(&[0])),
            ("cc", "c", None),
            ("nudg", "owner:NAME status:ready tag:T", None),
        ];
        for (pattern, text, expected) in cases {
            let places = fuzzy_match(pattern, text).map(|f| f.positions);
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
        ];
        for (pattern, better, worse) in cases {
            let score = |text| fuzzy_match(pattern, text).map(|f| f.score);
            assert!(
                score(better) > score(worse),
                "{pattern}: {better} / {worse}"
            );
        }
    }

    #[test]
    fn best_match_is_marked_not_the_first() {
        assert_eq!(
            fuzzy_match("jobs", "just old: jobs").unwrap().positions,
            [10, 11, 12, 13]
        );
        let long = format!("{}z", "a".repeat(TEXT_MAX));
        assert_eq!(fuzzy_match("z", &long), None);
    }
}
