//! The unified diff of a changed file, bounded, for the screen.

use similar::TextDiff;

use crate::domain::text::head_and_tail;

/// Most bytes of a diff.
const DIFF_MAX: usize = 32 * 1024;
/// Larger files are not compared: it would take longer than writing them.
const COMPARE_MAX: usize = 512 * 1024;

/// What changed in `path`.
pub fn unified(path: &str, before: &str, after: &str) -> String {
    if before.len() + after.len() > COMPARE_MAX {
        return format!("{path}: {} bytes → {} bytes\n", before.len(), after.len());
    }
    let diff = TextDiff::from_lines(before, after);
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(path, path)
        .to_string();
    head_and_tail(&text, DIFF_MAX)
}
