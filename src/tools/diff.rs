//! Unified diffs of changed files, bounded in size, for the screen and for tool results.

use similar::TextDiff;

use crate::domain::text::head_and_tail;

/// Maximum size of a diff, in bytes. A longer diff is cut in the middle.
const DIFF_MAX: usize = 32 * 1024;
/// Maximum size of both texts together, in bytes, for which a diff is computed. Comparing larger texts takes too long.
const COMPARE_MAX: usize = 512 * 1024;

/// Returns the unified diff of `path`, cut in the middle to about 32 KiB. If the texts are too large to compare, returns their
/// sizes instead.
pub fn format_diff(path: &str, before: &str, after: &str) -> String {
    format_limited(path, before, after, DIFF_MAX).0
}

/// Returns the unified diff of `path`, cut in the middle to about `most` bytes, and whether the diff shows every
/// change. If both texts together exceed [`COMPARE_MAX`], returns their sizes instead of a diff, and `false`.
pub fn format_limited(path: &str, before: &str, after: &str, most: usize) -> (String, bool) {
    if before.len() + after.len() > COMPARE_MAX {
        let text = format!("{path}: {} bytes → {} bytes\n", before.len(), after.len());
        return (text, false);
    }
    let diff = TextDiff::from_lines(before, after);
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(path, path)
        .to_string();
    (head_and_tail(&text, most), text.len() <= most)
}
