//! Pure: how well a few written letters fit a text, and where. `gtl` finds `Graph or lisT`.
//!
//! Each word of the pattern must be in the text: in one piece anywhere, or its letters in order from the start of some
//! word on. Letters at the start of a word and letters in a row count more, gaps cost, as fzf does it.

/// What one letter that fits is worth.
const LETTER: i32 = 16;
/// What a letter at the start of a word is worth besides.
const START: i32 = 14;
/// What a letter right behind the one before is worth besides.
const ROW: i32 = 14;
/// What each letter between two that fit costs, up to [`GAP_MAX`].
const GAP: i32 = 1;
/// Most that one gap costs.
const GAP_MAX: i32 = 12;
/// So many letters of a text are looked at: what lies behind them is not found.
const TEXT_MAX: usize = 200;

/// How a pattern fits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fit {
    /// The more the better.
    pub score: i32,
    /// The places of the letters that fit, counted in characters, in order.
    pub places: Vec<usize>,
}

/// How `pattern` fits `text`, without regard to case; `None` when it does not. An empty one fits everything with 0.
pub fn fit(pattern: &str, text: &str) -> Option<Fit> {
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
    let mut out = Fit::default();
    for word in pattern.split_whitespace() {
        let word: Vec<char> = word.chars().map(lower).collect();
        let found = best(&word, &text, &starts)?;
        out.score += found.score;
        out.places.extend(found.places);
    }
    out.places.sort_unstable();
    out.places.dedup();
    Some(out)
}

/// The best way to find the letters of `word` in `text`: for each letter and each place the best score with that letter
/// there, and the place of the letter before.
fn best(word: &[char], text: &[char], starts: &[bool]) -> Option<Fit> {
    let mut rows: Vec<Vec<Option<(i32, usize)>>> = Vec::new();
    for (nth, letter) in word.iter().enumerate() {
        let mut row = vec![None; text.len()];
        for at in (nth..text.len()).filter(|at| text[*at] == *letter) {
            let own = LETTER + if starts[at] { START } else { 0 };
            row[at] = match rows.last() {
                None if starts[at] || text[at..].starts_with(word) => Some((own, at)),
                None => None,
                Some(before) => (0..at)
                    .filter_map(|prev| before[prev].map(|(score, _)| (score, prev)))
                    .map(|(score, prev)| (score + own + joint(at - prev), prev))
                    .max_by_key(|(score, prev)| (*score, *prev)),
            };
        }
        rows.push(row);
    }
    let last = rows.last()?;
    let ends = last.iter().enumerate();
    let ends = ends.filter_map(|(at, cell)| cell.map(|(score, _)| (score, at)));
    // Of equal ones the first.
    let (score, mut at) = ends.max_by_key(|(score, at)| (*score, std::cmp::Reverse(*at)))?;
    // Letters that are only strewn over the text are there by chance.
    if score < LETTER * i32::try_from(word.len()).unwrap_or(i32::MAX / LETTER) {
        return None;
    }
    let mut places = Vec::with_capacity(word.len());
    for row in rows.iter().rev() {
        places.push(at);
        at = row[at].map_or(at, |(_, prev)| prev);
    }
    places.reverse();
    Some(Fit { score, places })
}

/// What the distance between two letters that fit is worth.
fn joint(distance: usize) -> i32 {
    match i32::try_from(distance).unwrap_or(i32::MAX) {
        1 => ROW,
        n => -(GAP * n.saturating_sub(1)).min(GAP_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn letters_fit_in_order_and_words_in_any() {
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
            let places = fit(pattern, text).map(|f| f.places);
            assert_eq!(places.as_deref(), expected, "{pattern:?} in {text:?}");
        }
    }

    #[test]
    fn starts_of_words_and_letters_in_a_row_win() {
        // The first text of each line is better.
        let cases = [
            ("mer", "merge the branch", "move to the right"),
            ("bj", "background jobs", "abject"),
            ("nt", "choose the next task and the one", "continue"),
            ("jobs", "show the jobs", "j o b s"),
            ("ml", "moveLine", "small"),
        ];
        for (pattern, better, worse) in cases {
            let score = |text| fit(pattern, text).map(|f| f.score);
            assert!(
                score(better) > score(worse),
                "{pattern}: {better} / {worse}"
            );
        }
    }

    #[test]
    fn the_best_place_is_marked_and_not_the_first() {
        assert_eq!(
            fit("jobs", "just old: jobs").unwrap().places,
            [10, 11, 12, 13]
        );
        let long = format!("{}z", "a".repeat(TEXT_MAX));
        assert_eq!(fit("z", &long), None);
    }
}
