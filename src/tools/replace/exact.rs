//! Finds exact matches, and matches that differ only in line ends: models write `\n` even for files with `\r\n`.

use std::borrow::Cow;

use super::block::{self, Patch};
use super::lines::{self, FileLine, Occurrences};

/// The places where the old text matches the file exactly, or exactly apart from line ends.
pub struct Exact {
    /// The replacement for each place, in the order of the file. The places do not overlap.
    pub patches: Vec<Patch>,
    /// `line ends` if `old` contains `\r` and matches only because `\r\n` and `\n` are treated as equal, else `None`.
    /// If `old` contains only `\n`, a match with `\r\n` is no difference to report, because models see every line end
    /// as `\n`.
    pub ignored: Option<&'static str>,
}

/// Finds all occurrences of `old`, which must not be empty, in `text`.
///
/// - If neither `text` contains `\r\n` nor `old` contains `\r`, finds the exact matches. They are replaced by `new`.
/// - If `old` contains `\r` and has exact matches, finds only these. They are replaced by `new`.
/// - Otherwise treats `\r\n` and `\n` as equal. Each replacement gets the line end of its place in the file.
pub fn find(text: &str, old: &str, new: &str) -> Exact {
    let is_plain = !text.contains("\r\n") && !old.contains('\r');
    if is_plain || old.contains('\r') {
        let patches: Vec<Patch> = text
            .match_indices(old)
            .map(|(at, _)| (at..at + old.len(), new.to_string()))
            .collect();
        if is_plain || !patches.is_empty() {
            return Exact {
                patches,
                ignored: None,
            };
        }
    }
    let (view, folded) = unix(text);
    let (old_view, _) = unix(old);
    let (new_view, _) = unix(new);
    if old_view.is_empty() {
        return Exact {
            patches: Vec::new(),
            ignored: None,
        };
    }
    // Converts an offset in `view` to an offset in `text`, in which each converted line end before it is one byte
    // longer.
    let real = |at: usize| at + folded.partition_point(|end| *end < at);
    let patches = view
        .match_indices(&*old_view)
        .map(|(at, _)| {
            let range = real(at)..real(at + old_view.len());
            let end = line_end(text, range.start);
            (range, new_view.replace('\n', end))
        })
        .collect();
    Exact {
        patches,
        // A model sees `\n` for every line end. Only if it wrote `\r`, a difference was ignored.
        ignored: old.contains('\r').then_some("line ends"),
    }
}

/// Returns the replacement for the place where [`lines::find`] finds the lines of `old`. Returns `None` if there is no
/// such place, or more than one.
pub fn find_lines(text: &str, file: &[FileLine<'_>], old: &str, new: &str) -> Option<Patch> {
    let old = lines::pattern(old);
    let new = lines::pattern(new);
    let (_, matches) = lines::find(file, &old, Occurrences::One)?;
    match &matches[..] {
        [only] => {
            let patch = block::rebuild(file, &old, &new, only);
            debug_assert!(patch.0.end <= text.len());
            Some(patch)
        }
        _ => None,
    }
}

/// Returns `text` with each `\r\n` converted to `\n`, and the offsets of the converted line ends in the result.
fn unix(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    if !text.contains("\r\n") {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut out = String::with_capacity(text.len());
    let mut folded = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\r\n") {
        out.push_str(&rest[..at]);
        folded.push(out.len());
        out.push('\n');
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    (Cow::Owned(out), folded)
}

/// Returns the line end of the line that contains the byte offset `at`. If this line has none, returns the line end of
/// the line before; `\n` for a text without line ends.
fn line_end(text: &str, at: usize) -> &'static str {
    let is_crlf = |newline: usize| text[..newline].ends_with('\r');
    let newline = text[at..]
        .find('\n')
        .map(|n| at + n)
        .or_else(|| text[..at].rfind('\n'));
    match newline {
        Some(newline) if is_crlf(newline) => "\r\n",
        Some(_) | None => "\n",
    }
}
