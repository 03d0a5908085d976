//! Converts the indentation of new lines to the style of the file. The lines that the model's text shares with the file
//! show that style.

use std::collections::BTreeMap;

use super::lines::FileLine;

/// How the indentation of a model's text differs from that of the file.
pub struct Indents {
    /// For each line of the model's text that matches a line of the file: its index, its indentation, and the
    /// indentation of the line in the file.
    pairs: Vec<(usize, String, String)>,
    /// One level of indentation in the model's text.
    theirs: String,
    /// One level of indentation in the file.
    ours: String,
    /// Whether all paired lines have the same indentation on both sides.
    is_same: bool,
}

impl Indents {
    /// Compares the lines of `old` with the lines of the file that `pairs` assigns to them.
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
                Some((at, leading(line).into(), leading(ours.text).into()))
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

    /// Returns a new line with its indentation converted to that of the file. `near` is the index of the old line
    /// next to it.
    pub fn apply(&self, line: &str, near: usize) -> String {
        if self.is_same {
            return line.into();
        }
        if line.trim().is_empty() {
            return String::new();
        }
        let indent = leading(line);
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
        // Models often drop the indentation of the first line only, so it is used last.
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
                Some(deeper) => format!("{ours}{}", self.converted(deeper)),
                None => shortened(ours, &self.converted(&theirs[indent.len()..])),
            },
            // One side uses tabs, the other spaces.
            None => self.converted(indent),
        }
    }

    /// Converts the model's indentation `blanks` to the same number of levels in the file's style.
    fn converted(&self, blanks: &str) -> String {
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
                // Less than a level, or other whitespace: kept unchanged.
                let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
                out.push_str(&rest[..next]);
                rest = &rest[next..];
            }
        }
        out
    }
}

/// Removes the suffix `blanks` from `indent`. If `indent` ends differently, removes as many characters as `blanks` has.
fn shortened(indent: &str, blanks: &str) -> String {
    if let Some(short) = indent.strip_suffix(blanks) {
        return short.into();
    }
    let keep = indent
        .chars()
        .count()
        .saturating_sub(blanks.chars().count());
    indent.chars().take(keep).collect()
}

/// Returns the leading whitespace of a line.
fn leading(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Guesses one level of indentation: the most frequent increase from one line to the next.
fn unit<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut steps: BTreeMap<String, usize> = BTreeMap::new();
    let mut last = "";
    for line in lines.filter(|l| !l.trim().is_empty()) {
        let indent = leading(line);
        if let Some(step) = indent.strip_prefix(last).filter(|step| !step.is_empty()) {
            // Several tabs at once are several levels.
            let step = if step.starts_with('\t') { "\t" } else { step };
            *steps.entry(step.into()).or_default() += 1;
        }
        last = indent;
    }
    let most = steps.into_iter().max_by_key(|(step, n)| {
        // Of equally frequent steps the shorter one is a level.
        (*n, usize::MAX - step.len())
    });
    most.map(|(step, _)| step)
}
