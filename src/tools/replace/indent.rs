//! Converts the indentation of new lines from the style of the model's text to the style of the file. Lines that are
//! both in the model's text and in the file show how to convert it.

use std::collections::BTreeMap;

use super::lines::FileLine;

/// How the indentation of a model's text differs from the indentation of the same lines in the file.
pub struct Indents {
    /// One entry for each line of the model's old text that is not blank and matches a line of the file. It contains
    /// the index of the line in the old text, its indentation in the old text, and its indentation in the file.
    pairs: Vec<(usize, String, String)>,
    /// One level of indentation in the model's text.
    theirs: String,
    /// One level of indentation in the file.
    ours: String,
    /// Whether every line in `pairs` has the same indentation in the model's text and in the file.
    is_same: bool,
}

impl Indents {
    /// Compares the indentation of the lines of `old` with the indentation of the matching lines of the file. For each
    /// line of `old`, `pairs` contains the index of the matching line of `file`, counted from 0, or `None` if no line
    /// matches. `new` helps only to detect one level of the model's indentation.
    ///
    /// If one level of the file cannot be detected, assumes 4 spaces. If one level of the model's text cannot be
    /// detected, assumes the level of the file.
    pub fn new(
        file: &[FileLine<'_>],
        old: &[&str],
        new: &[&str],
        pairs: &[Option<usize>],
    ) -> Indents {
        let pairs: Vec<(usize, String, String)> = old
            .iter()
            .zip(pairs)
            .enumerate()
            .filter(|(_, (line, _))| !line.trim().is_empty())
            .filter_map(|(at, (line, pair))| {
                let ours = file.get((*pair)?)?;
                Some((
                    at,
                    leading_whitespace(line).into(),
                    leading_whitespace(ours.text).into(),
                ))
            })
            .collect();
        let is_same = pairs.iter().all(|(_, theirs, ours)| theirs == ours);
        let ours = unit(file.iter().map(|l| l.text)).unwrap_or_else(|| "    ".into());
        let theirs = unit(old.iter().copied().chain(new.iter().copied()));
        Indents {
            pairs,
            theirs: theirs.unwrap_or_else(|| ours.clone()),
            ours,
            is_same,
        }
    }

    /// Returns `line`, a line of the new text, with its indentation converted to the style of the file. Returns it
    /// unchanged if all compared lines have the same indentation in the model's text and in the file. Otherwise, a
    /// blank line becomes empty.
    ///
    /// `near` is the index of a line of the old text, and may be past the end. If several lines of the old text show
    /// equally well how to convert the indentation, the one that is closest to `near` decides.
    pub fn apply(&self, line: &str, near: usize) -> String {
        if self.is_same {
            return line.into();
        }
        if line.trim().is_empty() {
            return String::new();
        }
        let indent = leading_whitespace(line);
        format!("{}{}", self.of(indent, near), &line[indent.len()..])
    }

    fn of(&self, indent: &str, near: usize) -> String {
        let distance = |at: usize| at.abs_diff(near);
        let same = self
            .pairs
            .iter()
            .filter(|(_, theirs, _)| theirs == indent)
            .min_by_key(|(at, ..)| distance(*at));
        if let Some((.., ours)) = same {
            return ours.clone();
        }
        // Prefer other lines to the first one: models often drop the indentation of the first line only.
        let nearest = self
            .pairs
            .iter()
            .filter(|(_, theirs, _)| theirs.starts_with(indent) || indent.starts_with(theirs))
            .min_by_key(|(at, theirs, _)| {
                let off = theirs.len().abs_diff(indent.len());
                (off, usize::from(*at == 0), distance(*at))
            });
        match nearest {
            Some((_, theirs, ours)) => match indent.strip_prefix(theirs.as_str()) {
                Some(deeper) => format!("{ours}{}", self.convert_indent(deeper)),
                None => shorten_indent(ours, &self.convert_indent(&theirs[indent.len()..])),
            },
            // The model's text and the file have no indentation in common, for example because one uses tabs and the
            // other spaces.
            None => self.convert_indent(indent),
        }
    }

    /// Converts the model's indentation `blanks` to the same number of levels in the file's style.
    fn convert_indent(&self, blanks: &str) -> String {
        if self.theirs == self.ours {
            return blanks.into();
        }
        let mut out = String::new();
        let mut rest = blanks;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(self.theirs.as_str()) {
                out.push_str(&self.ours);
                rest = after;
            } else {
                // Keep whitespace that is less than one level, or that is of another kind.
                let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
                out.push_str(&rest[..next]);
                rest = &rest[next..];
            }
        }
        out
    }
}

/// Removes the suffix `blanks` from `indent`. If `indent` does not end with `blanks`, removes the same number of
/// characters from its end, at most all.
fn shorten_indent(indent: &str, blanks: &str) -> String {
    if let Some(short) = indent.strip_suffix(blanks) {
        return short.into();
    }
    let keep = indent
        .chars()
        .count()
        .saturating_sub(blanks.chars().count());
    indent.chars().take(keep).collect()
}

fn leading_whitespace(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Guesses what one level of indentation is: the most frequent increase from one line to the next. Returns `None` if
/// the indentation never increases.
fn unit<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut steps: BTreeMap<String, usize> = BTreeMap::new();
    let mut last = "";
    for line in lines.filter(|l| !l.trim().is_empty()) {
        let indent = leading_whitespace(line);
        if let Some(step) = indent.strip_prefix(last).filter(|step| !step.is_empty()) {
            // An increase by several tabs is an increase by several levels.
            let step = if step.starts_with('\t') { "\t" } else { step };
            *steps.entry(step.into()).or_default() += 1;
        }
        last = indent;
    }
    let most = steps.into_iter().max_by_key(|(step, n)| {
        // Of equally frequent increases, prefer the shorter one.
        (*n, usize::MAX - step.len())
    });
    most.map(|(step, _)| step)
}
