//! Replaces text in a file, even if the model did not copy the old text exactly. Does no I/O.
//!
//! The old text is searched in these steps, from strict to tolerant. The first step with a match decides.
//! 1. The exact text, with the line ends of the file.
//! 2. Whole lines. Ignores, one after the other: whitespace at line ends; indentation; spacing and blank lines; quotes
//!    and trailing commas or semicolons (`lines::Tolerance`).
//! 3. Steps 1 and 2 after removing what does not belong to the file: a code fence, line numbers, escapes (`clean`).
//!    A text from which a code fence or line numbers were removed matches only whole lines.
//! 4. The pieces between lines such as `...` that stand for omitted text. Each piece is searched as in step 2.
//! 5. The most similar block (`similar`), if it is similar enough and no other block is nearly as similar.
//!
//! Steps 4 and 5 are first done with the text as the model sent it, and then with each cleaned text.
//!
//! Only one place may match. With [`Occurrences::All`], steps 1 to 3 replace every match. In a block that does not
//! match exactly, lines that are in both the old and the new text stay as they are in the file. New lines get the
//! file's indentation and line ends (`block`). Nothing outside the block changes.

mod block;
mod clean;
mod exact;
mod indent;
mod lines;
mod nearest;
mod similar;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;

use block::Patch;
use clean::Variant;
use lines::FileLine;
pub use lines::Occurrences;

/// A text to find in the file, and its replacement.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub occurrences: Occurrences,
}

/// The result of a successful edit: the new text of the file, and how the old text was matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The whole new text of the file.
    pub text: String,
    pub count: usize,
    /// The differences between the old text and the file that were ignored; empty if the match was exact.
    pub ignored: Vec<&'static str>,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, without a full stop. The caller appends the file's path.
    pub why: String,
    /// What the model can do, with the most similar lines of the file if there are any. May be empty.
    pub help: String,
}

impl Refusal {
    fn new(why: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal {
            why: why.into(),
            help: help.into(),
        }
    }
}

/// Minimum size of a new text, in bytes, for the hint that the edit was made before. The hint is given if the file
/// already contains the new text.
const REPEATED_MIN: usize = 8;
/// Maximum number of line numbers that a refusal lists. For further ones, it shows `…`.
const LISTED_MAX: usize = 10;

/// Applies `edit` to `text`, the whole text of the file.
///
/// # Errors
/// Fails if `edit.old` is empty, if nothing in the file matches well enough, if several places match although only one
/// is allowed, or if the edit would change nothing.
pub fn replace(text: &str, edit: &Edit<'_>) -> Result<Replaced, Refusal> {
    if edit.old.is_empty() {
        return Err(Refusal::new(
            "old_text is empty",
            "Pass the text to replace; to write a whole file, use write_file.",
        ));
    }
    if edit.old == edit.new {
        return Err(Refusal::new(
            "old_text and new_text are the same, so there is nothing to change",
            "",
        ));
    }
    let variants = clean::variants(edit.old, edit.new);
    let file = lines::split(text);
    for variant in &variants {
        if let Some(done) = exact_or_lines(text, &file, variant, edit.occurrences)? {
            return done;
        }
    }
    for variant in &variants {
        let patches = around_ellipses(text, &file, variant)
            .map(|patches| (patches, "lines omitted with ..."))
            .or_else(|| {
                let old = lines::pattern(&variant.old);
                let pairs = similar::find(&file, &old)?;
                let patch = block::rebuild(&file, &old, &lines::pattern(&variant.new), &pairs);
                Some((vec![patch], "small differences in the text"))
            });
        if let Some((patches, label)) = patches {
            let mut ignored = variant.ignored.clone();
            ignored.push(label);
            return apply(text, patches, ignored, 1);
        }
    }
    let help = nearest::help(&file, &variants);
    let new = edit.new.trim();
    Err(if new.len() >= REPEATED_MIN && text.contains(new) {
        Refusal::new(
            "Text not found",
            format!(
                "The file already contains new_text: if you made this edit before, go on. {help}"
            ),
        )
    } else {
        Refusal::new("Text not found", help)
    })
}

/// Replaces the old text of `variant` where it matches exactly, unless it can match only whole lines. If it does not
/// match exactly, replaces whole lines that match apart from whitespace and punctuation (steps 1 and 2 of the [module
/// documentation](self)). Returns `None` if nothing matches.
///
/// # Errors
/// Fails if there are several matches although only one is allowed. The inner result fails if the edit would change
/// nothing.
#[allow(clippy::type_complexity)] // the outer error ends the search, the inner result is its end
fn exact_or_lines(
    text: &str,
    file: &[FileLine<'_>],
    variant: &Variant,
    places: Occurrences,
) -> Result<Option<Result<Replaced, Refusal>>, Refusal> {
    let found = exact::find(text, &variant.old, &variant.new);
    if !variant.has_whole_lines && !found.patches.is_empty() {
        one_or_all(text, found.patches.iter().map(|(at, _)| at.start), places)?;
        let mut ignored = variant.ignored.clone();
        ignored.extend(found.ignored);
        let count = found.patches.len();
        return Ok(Some(apply(text, found.patches, ignored, count)));
    }
    let old = lines::pattern(&variant.old);
    let Some((step, matches)) = lines::find(file, &old, places) else {
        return Ok(None);
    };
    let starts = matches
        .iter()
        .filter_map(|pairs| pairs.iter().flatten().min())
        .map(|at| file[*at].start);
    one_or_all(text, starts, places)?;
    let new = lines::pattern(&variant.new);
    let patches: Vec<Patch> = matches
        .iter()
        .map(|pairs| block::rebuild(file, &old, &new, pairs))
        .collect();
    let mut ignored = variant.ignored.clone();
    let is_same = |pairs: &lines::Pairs| {
        let same = |(old, at): (&&str, &Option<usize>)| at.is_some_and(|at| file[at].text == *old);
        old.iter().zip(pairs).all(same)
    };
    if ignored.is_empty() || !matches.iter().all(is_same) {
        ignored.push(step.label());
    }
    let count = patches.len();
    Ok(Some(apply(text, patches, ignored, count)))
}

/// Fails if there are several matches although only one is allowed. `starts` contains the byte offset of each match in
/// `text`. The error names the lines of the matches, counted from 1.
fn one_or_all(
    text: &str,
    starts: impl Iterator<Item = usize>,
    places: Occurrences,
) -> Result<(), Refusal> {
    let starts: Vec<usize> = starts.collect();
    if starts.len() < 2 || places == Occurrences::All {
        return Ok(());
    }
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let mut listed: Vec<String> = starts
        .iter()
        .take(LISTED_MAX)
        .map(|at| line(*at).to_string())
        .collect();
    if starts.len() > LISTED_MAX {
        listed.push("…".into());
    }
    Err(Refusal::new(
        format!(
            "old_text occurs {} times (lines {})",
            starts.len(),
            listed.join(", ")
        ),
        "Add surrounding lines until it occurs only once, or set replace_all.",
    ))
}

/// Returns the replacements for the pieces between lines such as `...`, which stand for omitted text (step 4 of the
/// [module documentation](self)). Returns `None` if there are no such lines, or if the old and the new text do not have
/// the same number of them. Also returns `None` unless each piece that is not blank matches exactly one place and these
/// places are in order, or if a blank old piece has a new piece that is not blank.
fn around_ellipses(text: &str, file: &[FileLine<'_>], variant: &Variant) -> Option<Vec<Patch>> {
    let old = clean::pieces(&variant.old);
    let new = clean::pieces(&variant.new);
    if old.len() < 2 || old.len() != new.len() {
        return None;
    }
    let mut patches: Vec<Patch> = Vec::new();
    let mut end = 0;
    for (old, new) in old.iter().zip(&new) {
        if old.trim().is_empty() {
            // There is no old text here that shows where new lines would have to be added.
            if new.trim().is_empty() {
                continue;
            }
            return None;
        }
        let found = exact::find_lines(text, file, old, new)?;
        if found.0.start < end {
            return None;
        }
        end = found.0.end;
        patches.push(found);
    }
    (!patches.is_empty()).then_some(patches)
}

/// Applies `patches`, which must be in the order of the file and must not overlap, to `text`. `count` is the number of
/// replaced matches. Fails if this changes nothing.
fn apply(
    text: &str,
    patches: Vec<Patch>,
    ignored: Vec<&'static str>,
    count: usize,
) -> Result<Replaced, Refusal> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in patches {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    if out == text {
        return Err(Refusal::new(
            "the text that old_text matches is already the same as new_text, so there is nothing to change",
            "",
        ));
    }
    Ok(Replaced {
        text: out,
        count,
        ignored,
    })
}
