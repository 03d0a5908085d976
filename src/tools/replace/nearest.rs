//! Selects the lines of the file that a refusal shows: those most similar to `old_text`, with line numbers.

use super::clean::{self, Variant};
use super::lines::{self, FileLine};
use super::similar;
use crate::domain::text::clip;

/// Maximum number of lines of the file that a refusal quotes.
const SHOWN_MAX: usize = 16;
/// Number of context lines before and after the most similar lines.
const AROUND: usize = 1;
/// Maximum number of characters to show of a line.
const WIDTH_MAX: usize = 160;
/// Maximum number of characters to compare of a line.
const COMPARED_MAX: usize = 200;
/// Maximum number of lines of the file to compare one by one.
const COMPARED_LINES: usize = 5000;
/// Minimum similarity (Jaro-Winkler, 0 to 1) of a line that is shown.
const SIMILARITY_MIN: f64 = 0.8;

/// Returns the advice for a model whose `old_text` was not found, with the most similar lines of the file if there are
/// any.
pub fn help(file: &[FileLine<'_>], variants: &[Variant]) -> String {
    let left_out = variants
        .first()
        .filter(|v| clean::pieces(&v.old).len() > 1)
        .map_or("", |_| {
            " A line such as ... stands for omitted lines only if new_text has the same line and the text before and after it is found."
        });
    let near = variants.iter().rev().find_map(|variant| {
        let old = lines::pattern(&variant.old);
        region(file, &old)
    });
    match near {
        Some((first, last)) => {
            let shown: Vec<String> = (first..=last)
                .map(|at| format!("{:>5} | {}", at + 1, clip(file[at].text, WIDTH_MAX)))
                .collect();
            format!(
                "Copy the text from the file, without the line numbers.{left_out} The most similar lines:\n{}",
                shown.join("\n")
            )
        }
        None => {
            format!(
                "No line of the file is similar: read the file with read_file and try again.{left_out}"
            )
        }
    }
}

/// Selects the lines to show for `old`: returns the indexes of the first and the last one. `None` if no line is
/// similar.
fn region(file: &[FileLine<'_>], old: &[&str]) -> Option<(usize, usize)> {
    let from_block = || {
        let places = similar::best(file, old);
        let paired = places.first()?.pairs.iter().flatten().copied();
        Some((paired.clone().min()?, paired.max()?))
    };
    // A block that shares only a bracket is less useful than a single similar line.
    let block = from_block().filter(|(first, last)| {
        file[*first..=*last].iter().any(|line| {
            line.text.trim().len() > 3 && old.iter().any(|o| o.trim() == line.text.trim())
        })
    });
    let (first, last) = block.or_else(|| from_line(file, old))?;
    let first = first.saturating_sub(AROUND);
    let last = (last + AROUND)
        .min(first + SHOWN_MAX - 1)
        .min(file.len() - 1);
    Some((first, last))
}

/// Returns the indexes of the first and the last line of a region as long as `old`. It is placed so that the longest
/// line of `old` meets the line of the file that is most similar to it.
///
/// Comparing two lines costs the product of their lengths, so only the first [`COMPARED_MAX`] characters are compared.
fn from_line(file: &[FileLine<'_>], old: &[&str]) -> Option<(usize, usize)> {
    let begin = |line: &str| line.trim().chars().take(COMPARED_MAX).collect::<String>();
    let (nth, wanted) = old
        .iter()
        .take(SHOWN_MAX)
        .enumerate()
        .max_by_key(|(nth, line)| (line.trim().len().min(COMPARED_MAX), usize::MAX - nth))?;
    let wanted = begin(wanted);
    let (alike, at) = file
        .iter()
        .take(COMPARED_LINES)
        .enumerate()
        .map(|(at, line)| (strsim::jaro_winkler(&begin(line.text), &wanted), at))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    let first = at.saturating_sub(nth);
    (alike > SIMILARITY_MIN).then(|| (first, (first + old.len()).min(file.len()) - 1))
}
