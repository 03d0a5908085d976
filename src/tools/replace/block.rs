//! Rewrites a block of the file. Lines that are in both the old and the new text stay as they are in the file. New
//! lines get the style of the file.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::indent::Indents;
use super::lines::FileLine;

/// A range of bytes in the file, and the text that replaces it.
pub type Patch = (Range<usize>, String);

/// Returns the replacement for a block of the file. `old` and `new` are the lines of the edit. For each line of `old`,
/// `pairs` contains the index of the matching line of `file`, counted from 0, or `None`. The block extends from the
/// first to the last matching line. If no line matches, returns an empty range and an empty text.
///
/// Blank lines that exist only in the file are kept, unless the lines around them are removed. The last line of the
/// block keeps its line end; if it has none, it gets none.
pub fn rebuild(
    file: &[FileLine<'_>],
    old: &[&str],
    new: &[&str],
    pairs: &[Option<usize>],
) -> Patch {
    let paired = || pairs.iter().flatten().copied();
    let (Some(first), Some(last)) = (paired().min(), paired().max()) else {
        return (0..0, String::new());
    };
    let block = &file[first..=last];
    let end = block
        .iter()
        .chain(file)
        .map(|line| line.end)
        .find(|end| !end.is_empty())
        .unwrap_or("\n");
    let mut writer = BlockWriter {
        file,
        out: Vec::new(),
        next: first,
    };
    let indents = Indents::new(file, old, new, pairs);
    let mut is_gap_dropped = false;
    for op in capture_diff_slices(
        Algorithm::Myers,
        &normalise_blanks(old),
        &normalise_blanks(new),
    ) {
        let (tag, of_old, of_new) = op.as_tag_tuple();
        let near = of_old.start;
        for at in pairs[of_old].iter().flatten() {
            writer.gap(*at, is_gap_dropped);
            is_gap_dropped = tag != DiffTag::Equal;
            if is_gap_dropped {
                writer.next = at + 1;
            } else {
                writer.keep(*at);
            }
        }
        if tag != DiffTag::Equal && !of_new.is_empty() {
            writer.add(&new[of_new], near, &indents);
            is_gap_dropped = false;
        }
    }
    let range = file[first].start..file[last].after();
    (range, writer.text(end, file[last].end))
}

/// Returns the lines with each blank line replaced by an empty text, so that all blank lines are equal in a comparison.
fn normalise_blanks<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let text = |line: &&'a str| if line.trim().is_empty() { "" } else { *line };
    lines.iter().map(text).collect()
}

struct BlockWriter<'a> {
    file: &'a [FileLine<'a>],
    /// The lines of the result, each with its line end. `None` stands for the line end that the replaced block uses.
    out: Vec<(String, Option<&'a str>)>,
    /// Index of the next line of the file to process, counted from 0.
    next: usize,
}

impl BlockWriter<'_> {
    /// Processes the lines of the file from index `next` to index `at`, excluding `at`. No line of the edit matches
    /// them. Drops these lines if `is_dropped` is true, otherwise keeps them.
    fn gap(&mut self, at: usize, is_dropped: bool) {
        while self.next < at {
            if !is_dropped {
                self.keep(self.next);
            }
            self.next += 1;
        }
    }

    fn keep(&mut self, at: usize) {
        let line = self.file[at];
        self.out.push((
            line.text.into(),
            Some(line.end).filter(|end| !end.is_empty()),
        ));
        self.next = at + 1;
    }

    fn add(&mut self, lines: &[&str], old_index: usize, indents: &Indents) {
        for (nth, line) in lines.iter().enumerate() {
            self.out.push((indents.apply(line, old_index + nth), None));
        }
    }

    fn text(self, end: &str, last_end: &str) -> String {
        let last = self.out.len().saturating_sub(1);
        let mut text = String::new();
        for (at, (line, own)) in self.out.into_iter().enumerate() {
            text.push_str(&line);
            text.push_str(if at == last {
                last_end
            } else {
                own.unwrap_or(end)
            });
        }
        text
    }
}
