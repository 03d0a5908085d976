//! The unified diff of a changed file, bounded, for the screen and for results.

use similar::TextDiff;

use crate::domain::text::head_and_tail;

/// Most bytes of a diff.
const DIFF_MAX: usize = 32 * 1024;
/// Larger files are not compared: it would take longer than writing them.
const COMPARE_MAX: usize = 512 * 1024;

/// Whether a diff shows all that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// It does.
    Whole,
    /// It is cut.
    Cut,
}

/// What changed in `path`.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    bounded(path, before, after, DIFF_MAX).0
}

/// What changed in `path`, in about `most` bytes.
pub fn bounded(path: &str, before: &str, after: &str, most: usize) -> (String, Extent) {
    if before.len() + after.len() > COMPARE_MAX {
        let text = format!("{path}: {} bytes → {} bytes\n", before.len(), after.len());
        return (text, Extent::Cut);
    }
    let diff = TextDiff::from_lines(before, after);
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(path, path)
        .to_string();
    let extent = if text.len() > most {
        Extent::Cut
    } else {
        Extent::Whole
    };
    (head_and_tail(&text, most), extent)
}
