//! Finds the most similar block, for text that differs in more than whitespace and quotes.
//!
//! A block matches only if all of this is true:
//! - The old text has at least [`LINES_MIN`] and at most [`LINES_MAX`] lines that are not blank.
//! - At least half of these lines are equal to lines of the block, apart from whitespace at both ends.
//! - The similarity of the block is at least [`SIMILARITY_MIN`]: the share of characters that need not change
//!   (Levenshtein).
//! - The similarity of every other block is lower by at least [`LEAD_MIN`].
//!
//! A single line never matches: `const A = 3;` is too similar to `const B = 3;`.

use std::collections::HashMap;

use super::lines::{self, FileLine, Pairs};

/// Minimum similarity of a match: the share of characters that need not change, from 0 to 1.
pub const SIMILARITY_MIN: f64 = 0.9;
/// Minimum difference in similarity between the best and the second-best match. If the difference is smaller, the match
/// is ambiguous.
pub const LEAD_MIN: f64 = 0.1;
const LINES_MIN: usize = 2;
const LINES_MAX: usize = 200;
/// Maximum number of places in the file that are compared with the old text character by character. The places with the
/// most equal lines are compared.
const PLACES_MAX: usize = 50;
/// Maximum length, in bytes, of lines that are compared by Levenshtein distance, which takes quadratic time. Of longer
/// lines, only the common beginning and the common end are counted.
const LINE_MAX: usize = 200;
/// Maximum number of occurrences in the file that are considered for one line of the old text. Further ones are
/// ignored.
const REPEATS_MAX: usize = 500;

/// Returns the block of the file that is most similar to `old`. Returns `None` if this block does not match by the
/// rules of the [module documentation](self).
pub fn find(file: &[FileLine<'_>], old: &[&str]) -> Option<Pairs> {
    let places = best(file, old);
    let wanted = lines::numbers(old.iter().copied(), true);
    if wanted.len() < LINES_MIN {
        return None;
    }
    let (first, rest) = places.split_first()?;
    let is_anchored = first.same * 2 >= wanted.len();
    let is_alone = rest.iter().all(|p| p.alike <= first.alike - LEAD_MIN);
    (is_anchored && is_alone && first.alike >= SIMILARITY_MIN).then(|| first.pairs.clone())
}

/// A block of the file that may match the old text.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// For each line of the old text, the index of the line of the file with which it was compared; `None` for a blank
    /// line without a counterpart.
    pub pairs: Pairs,
    /// The similarity of the block to the old text: the share of characters that need not change, from 0 to 1.
    pub alike: f64,
    /// Number of lines of the old text that are equal to their line in the file, apart from whitespace at both ends.
    same: usize,
}

/// Returns the blocks of the file that have at least one line in common with `old`, the most similar block first. If
/// there are more than [`PLACES_MAX`], returns those with the most lines in common. Ignores whitespace at both ends of
/// lines, and blank lines. Empty if all lines of `old` are blank, or if `old` has more than [`LINES_MAX`] lines that
/// are not blank, or more of them than the file.
pub fn best(file: &[FileLine<'_>], old: &[&str]) -> Vec<Candidate> {
    let wanted = lines::numbers(old.iter().copied(), true);
    let there = lines::numbers(file.iter().map(|l| l.text), true);
    if wanted.is_empty() || wanted.len() > LINES_MAX || wanted.len() > there.len() {
        return Vec::new();
    }
    let mut stand: HashMap<&str, Vec<usize>> = HashMap::new();
    for (nth, at) in there.iter().enumerate() {
        stand.entry(file[*at].text.trim()).or_default().push(nth);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (nth, at) in wanted.iter().enumerate() {
        let Some(places) = stand.get(old[*at].trim()) else {
            continue;
        };
        for place in places.iter().take(REPEATS_MAX) {
            if let Some(start) = place.checked_sub(nth)
                && start + wanted.len() <= there.len()
            {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let mut starts: Vec<(usize, usize)> = votes.into_iter().collect();
    starts.sort_by_key(|(start, votes)| (usize::MAX - votes, *start));
    starts.truncate(PLACES_MAX);
    let mut places: Vec<Candidate> = starts
        .into_iter()
        .map(|(start, same)| {
            let mut pairs = vec![None; old.len()];
            let (mut equal, mut all) = (0.0, 0.0);
            for (nth, at) in wanted.iter().enumerate() {
                let found = there[start + nth];
                pairs[*at] = Some(found);
                let (a, b) = (old[*at].trim(), file[found].text.trim());
                let length = a.chars().count().max(b.chars().count());
                #[allow(clippy::cast_precision_loss)] // lengths of lines
                let length = length as f64;
                equal += alike(a, b) * length;
                all += length;
            }
            lines::pair_blanks(file, &mut pairs);
            Candidate {
                pairs,
                alike: equal / all,
                same,
            }
        })
        .collect();
    places.sort_by(|a, b| b.alike.total_cmp(&a.alike));
    places
}

/// Returns the similarity of two lines: the share of characters that need not change, from 0 to 1. If a line is longer
/// than [`LINE_MAX`], counts only the common beginning and the common end.
pub fn alike(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    if a.len() <= LINE_MAX && b.len() <= LINE_MAX {
        return strsim::normalized_levenshtein(a, b);
    }
    let front = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (a_len, b_len) = (a.chars().count(), b.chars().count());
    let back = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take(a_len.min(b_len) - front)
        .take_while(|(a, b)| a == b)
        .count();
    #[allow(clippy::cast_precision_loss)] // lengths of lines
    let share = (front + back) as f64 / a_len.max(b_len) as f64;
    share
}
