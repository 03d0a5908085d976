//! Selects the lines of the file that a refusal quotes: those most similar to `old_text`, with line numbers.

use super::clean::{self, Variant};
use super::lines::{self, FileLine};
use super::similar;
use crate::domain::text::clip;

/// Maximum number of lines of the file that a refusal quotes.
const SHOWN_MAX: usize = 16;
/// Number of context lines before and after the most similar lines.
const AROUND: usize = 1;
/// Maximum length of a quoted line, in characters. The rest is cut.
const WIDTH_MAX: usize = 160;
/// Number of characters at the start of a line that are compared with another line, because the time of a comparison
/// grows with the product of both lengths.
const COMPARED_MAX: usize = 200;
/// Number of lines at the start of the file that are compared with a line of the old text.
const COMPARED_LINES: usize = 5000;
/// Similarity (Jaro-Winkler, from 0 to 1) above which a single line is quoted.
const SIMILARITY_MIN: f64 = 0.8;

/// Returns the advice for a model whose `old_text` was not found, with the most similar lines of the file if there are
/// any.
pub fn help(file: &[FileLine<'_>], variants: &[Variant]) -> String {
    let left_out = variants
        .first()
        .filter(|v| clean::pieces(&v.old).len() > 1)
        .map_or("", |_| {
            " A line such as ... can stand for omitted lines. Then new_text must contain that line too, and the text before and after it must match the file."
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

/// Returns the indexes, counted from 0, of the first and the last line to quote for `old`: the most similar lines with
/// [`AROUND`] lines of context, at most [`SHOWN_MAX`] lines. `None` if no line is similar.
fn region(file: &[FileLine<'_>], old: &[&str]) -> Option<(usize, usize)> {
    let from_block = || {
        let places = similar::best(file, old);
        let paired = places.first()?.pairs.iter().flatten().copied();
        Some((paired.clone().min()?, paired.max()?))
    };
    // A block whose only common line is a bracket is less useful than a single similar line.
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

/// Finds the line of the file that is most similar to the longest line of `old`. Returns the indexes of the first and
/// the last line of a block around the found line. The block has as many lines as `old`, and the found line has the
/// same position in the block as the longest line has in `old`. Returns `None` if the similarity is not above
/// [`SIMILARITY_MIN`].
///
/// Compares only the first [`COMPARED_MAX`] characters of each line, the first [`COMPARED_LINES`] lines of the file,
/// and the first [`SHOWN_MAX`] lines of `old`.
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
