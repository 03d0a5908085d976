//! The words in which two versions of a line differ. Pure.

use std::ops::Range;

use similar::{Algorithm, capture_diff_slices};

/// Maximum length of a compared line, in bytes.
const LINE_MAX: usize = 400;
/// Minimum share of the shorter line that both lines have in common, in percent. Lines with less in common are different
/// lines, in which single words say nothing.
const COMMON_MIN: usize = 50;

/// Returns the byte ranges that differ in two versions of a line, in order; none if the lines have little in common.
pub fn changed(old: &str, new: &str) -> [Vec<Range<usize>>; 2] {
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
        in_old.extend(bytes(&old_words, op.old_range()));
        in_new.extend(bytes(&new_words, op.new_range()));
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

/// Returns the byte range of some words of a line; `None` if there are none.
fn bytes(words: &[Range<usize>], range: Range<usize>) -> Option<Range<usize>> {
    let some = words.get(range)?;
    Some(some.first()?.start..some.last()?.end)
}

/// Splits a line into words: letters and digits, blanks, or a single other character.
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
    fn changed_words_are_found() {
        let cases: [(&str, &str, &[&str], &[&str]); 7] = [
            ("    return a - b", "    return a + b", &["-"], &["+"]),
            ("let n = 1;", "let mut n = 2;", &["1"], &["mut ", "2"]),
            ("same", "same", &[], &[]),
            ("foo(größe, 中文)", "foo(größe, 文)", &["中文"], &["文"]),
            ("a quite different line", "fn x() {}", &[], &[]),
            ("", "x", &[], &[]),
            ("  indented();", "indented();", &["  "], &[]),
        ];
        for (old, new, in_old, in_new) in cases {
            let [left, right] = changed(old, new);
            let texts = |line: &'static str, ranges: &[Range<usize>]| -> Vec<&str> {
                ranges.iter().map(|range| &line[range.clone()]).collect()
            };
            assert_eq!(
                (texts(old, &left), texts(new, &right)),
                (in_old.to_vec(), in_new.to_vec())
            );
        }
        let long = "x ".repeat(LINE_MAX);
        let found = changed(&long, &(long.clone() + "y"));
        assert!(found.iter().all(Vec::is_empty), "{found:?}");
    }
}
