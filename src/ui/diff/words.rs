//! The words in which two versions of a line differ. Pure.

use std::ops::Range;

use similar::{Algorithm, capture_diff_slices};

/// Maximum length of a line, in bytes, for the comparison of its words. In longer lines, no words are marked.
const LINE_MAX: usize = 400;
/// Minimum share, in percent, of the shorter line that must be equal in both lines. Blanks do not count. Lines with a
/// smaller equal part are treated as unrelated, and no words are marked in them.
const COMMON_MIN: usize = 40;
/// Maximum number of comparisons to find similar lines in one change. In a change that would need more, lines are
/// paired by position.
const COMPARED_MAX: usize = 256;

/// Returns the byte ranges that differ in two versions of a line: first the ranges in `old`, then those in `new`, each
/// in order. Both lists are empty if the lines have little in common ([`COMMON_MIN`]), or if one of them is longer than
/// [`LINE_MAX`].
pub fn changed_ranges(old: &str, new: &str) -> [Vec<Range<usize>>; 2] {
    if old.len().max(new.len()) > LINE_MAX {
        return Default::default();
    }
    let (old_words, new_words) = (words(old), words(new));
    let texts = |line, words: &[Range<usize>]| -> Vec<&str> {
        let line: &str = line;
        words.iter().map(|range| &line[range.clone()]).collect()
    };
    let ops = capture_diff_slices(
        Algorithm::Myers,
        &texts(old, &old_words),
        &texts(new, &new_words),
    );
    let differing = ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal);
    let (mut in_old, mut in_new) = (Vec::new(), Vec::new());
    for op in differing {
        extend(&mut in_old, bytes(&old_words, op.old_range()), old);
        extend(&mut in_new, bytes(&new_words, op.new_range()), new);
    }
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let sizes = [(old, &in_old), (new, &in_new)].map(|(line, ranges)| {
        let changed: usize = ranges
            .iter()
            .map(|range| visible(&line[range.clone()]))
            .sum();
        (visible(line), visible(line) - changed)
    });
    let [(shorter, common), _] = if sizes[0] <= sizes[1] {
        sizes
    } else {
        [sizes[1], sizes[0]]
    };
    if common > 0 && common * 100 >= shorter * COMMON_MIN {
        [in_old, in_new]
    } else {
        Default::default()
    }
}

/// The index of an old line and the index of the new line that replaces it. The first index is `None` for a line that
/// was only added, the second for a line that was only removed.
pub type Pair = (Option<usize>, Option<usize>);

/// Returns which old lines are replaced by which new lines, as pairs of indexes in order. Each line is in exactly one
/// pair. If there are as many old as new lines, or more than [`COMPARED_MAX`] comparisons would be needed, lines are
/// paired by position. Otherwise similar lines are paired first, then the lines between two such pairs by position.
pub fn pairs<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<Pair> {
    let mut similar = Vec::new();
    if old.len() != new.len() && old.len() * new.len() <= COMPARED_MAX {
        let mut next = 0;
        for (at, line) in old.iter().enumerate() {
            let is_similar = |to: &usize| {
                let words = changed_ranges(line.as_ref(), new[*to].as_ref());
                words.iter().any(|words| !words.is_empty())
            };
            if let Some(found) = (next..new.len()).find(is_similar) {
                similar.push((at, found));
                next = found + 1;
            }
        }
    }
    similar.push((old.len(), new.len()));
    let mut out = Vec::new();
    let (mut left, mut right) = (0, 0);
    for (old_end, new_end) in similar {
        for at in 0..(old_end - left).max(new_end - right) {
            let within = |at: usize, end: usize| (at < end).then_some(at);
            out.push((within(left + at, old_end), within(right + at, new_end)));
        }
        if old_end < old.len() {
            out.push((Some(old_end), Some(new_end)));
        }
        (left, right) = (old_end + 1, new_end + 1);
    }
    out
}

/// Appends `range`, a byte range of `line`, to `ranges`. If only blanks separate it from the last range, extends the
/// last range instead.
fn extend(ranges: &mut Vec<Range<usize>>, range: Option<Range<usize>>, line: &str) {
    let Some(range) = range else { return };
    match ranges.last_mut() {
        Some(last) if line[last.end..range.start].trim().is_empty() => last.end = range.end,
        Some(_) | None => ranges.push(range),
    }
}

/// Returns the byte range that spans the words with indexes in `range`; `None` if `range` is empty.
fn bytes(words: &[Range<usize>], range: Range<usize>) -> Option<Range<usize>> {
    let some = words.get(range)?;
    Some(some.first()?.start..some.last()?.end)
}

/// Splits a line into the byte ranges of its words: a run of letters, digits and `_`, a run of blanks, or a single
/// other character.
fn words(line: &str) -> Vec<Range<usize>> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut out: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, c) in line.char_indices() {
        let (class, end) = (class(c), at + c.len_utf8());
        match out.last_mut() {
            Some((last, range)) if *last == class && class != 2 => range.end = end,
            Some(_) | None => out.push((class, at..end)),
        }
    }
    out.into_iter().map(|(_, range)| range).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn similar_lines_are_paired() {
        let both = |old: usize, new: usize| (Some(old), Some(new));
        let cases: [(&[&str], &[&str], &[Pair]); 6] = [
            (
                &["let a = 1;"],
                &["// why", "let a = 2;"],
                &[(None, Some(0)), both(0, 1)],
            ),
            (
                &["x", "let a = 1;"],
                &["let a = 2;"],
                &[(Some(0), None), both(1, 0)],
            ),
            (&["a b", "c d"], &["1", "2"], &[both(0, 0), both(1, 1)]),
            (&["a", "b"], &[], &[(Some(0), None), (Some(1), None)]),
            (&["a"], &["1", "2"], &[both(0, 0), (None, Some(1))]),
            (&[], &[], &[]),
        ];
        for (old, new, expected) in cases {
            assert_eq!(pairs(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn changed_words_are_found() {
        let cases: [(&str, &str, &[&str], &[&str]); 8] = [
            ("    return a - b", "    return a + b", &["-"], &["+"]),
            ("let n = 1;", "let mut n = 2;", &["1"], &["mut ", "2"]),
            ("same", "same", &[], &[]),
            (
                "say(not a file);",
                "say(bad magic name);",
                &["not a file"],
                &["bad magic name"],
            ),
            ("foo(größe, 中文)", "foo(größe, 文)", &["中文"], &["文"]),
            ("a quite different line", "fn x() {}", &[], &[]),
            ("", "x", &[], &[]),
            ("  indented();", "indented();", &["  "], &[]),
        ];
        for (old, new, in_old, in_new) in cases {
            let [left, right] = changed_ranges(old, new);
            let texts = |line: &'static str, ranges: &[Range<usize>]| -> Vec<&str> {
                ranges.iter().map(|range| &line[range.clone()]).collect()
            };
            assert_eq!(
                (texts(old, &left), texts(new, &right)),
                (in_old.to_vec(), in_new.to_vec())
            );
        }
        let long = "x ".repeat(LINE_MAX);
        let found = changed_ranges(&long, &(long.clone() + "y"));
        assert!(found.iter().all(Vec::is_empty), "{found:?}");
    }
}
