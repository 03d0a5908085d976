//! The nearest block: for text that differs in more than blanks and quotes.
//!
//! A block is taken only if all of this holds:
//! - It has at least [`LINES_MIN`] lines that are not blank, and at most [`LINES_MAX`].
//! - At least half of them are the same apart from blanks at both ends.
//! - It is alike by [`ALIKE`] or more: of all characters, the share that need not be changed (Levenshtein).
//! - No other place is alike by more than that minus [`APART`].
//!
//! One line alone is never taken: `const A = 3;` is nearly `const B = 3;`.

use std::collections::HashMap;

use super::lines::{self, Line, Pairs};

/// The share of characters that must be the same.
pub const ALIKE: f64 = 0.9;
/// How much less alike the second best place must be.
pub const APART: f64 = 0.1;
const LINES_MIN: usize = 2;
const LINES_MAX: usize = 200;
/// Most places that are compared character by character.
const PLACES_MAX: usize = 50;
/// Longest line that is compared by Levenshtein, which takes the square of it; longer ones by their ends.
const LINE_MAX: usize = 200;
/// A line of the pattern that stands in the file more often says little about the place.
const REPEATS_MAX: usize = 500;

/// The place that is alike enough, if it is the only one.
pub fn find(file: &[Line<'_>], old: &[&str]) -> Option<Pairs> {
    let places = best(file, old);
    let wanted = lines::numbers(old.iter().copied(), true);
    if wanted.len() < LINES_MIN {
        return None;
    }
    let (first, rest) = places.split_first()?;
    let is_anchored = first.same * 2 >= wanted.len();
    let is_alone = rest.iter().all(|p| p.alike <= first.alike - APART);
    (is_anchored && is_alone && first.alike >= ALIKE).then(|| first.pairs.clone())
}

/// A place and how alike it is.
#[derive(Debug, Clone)]
pub struct Place {
    /// The lines that belong together.
    pub pairs: Pairs,
    /// The share of characters that are the same.
    pub alike: f64,
    /// How many lines are the same.
    same: usize,
}

/// The places that share a line with `old`, the most alike first.
pub fn best(file: &[Line<'_>], old: &[&str]) -> Vec<Place> {
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
    let mut places: Vec<Place> = starts
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
            Place {
                pairs,
                alike: equal / all,
                same,
            }
        })
        .collect();
    places.sort_by(|a, b| b.alike.total_cmp(&a.alike));
    places
}

/// The share of characters of two lines that are the same.
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
