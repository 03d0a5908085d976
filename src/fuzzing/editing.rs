//! The fuzz target of the `edit_file` tool.

use super::{CheckResult, ensure};
use crate::tools::replace::{Edit, Occurrences, replace};

/// Maximum size of an error message of `edit_file`, in bytes. The message quotes lines of the file that resemble the
/// text to replace. Without a limit, such lines could make it very long.
const ERROR_MAX: usize = 16 * 1024;

/// Checks the `edit_file` tool: an exact match is replaced by exactly the new text, and an error has at most
/// [`ERROR_MAX`] bytes. `bytes` contains the content of a file, the text to replace and the replacement, separated by
/// NUL bytes.
pub fn edit(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\0');
    let mut part = || parts.next().unwrap_or_default();
    let (file, old, new) = (part(), part(), part());
    for places in [Occurrences::One, Occurrences::All] {
        let count = file.matches(old).count();
        // The tool keeps the line endings of the file. An edit that changes only line endings may therefore change
        // nothing.
        let has_no_cr = !file.contains('\r') && !old.contains('\r');
        let is_exact = has_no_cr
            && !old.is_empty()
            && old != new
            && (count == 1 || (count > 1 && places == Occurrences::All));
        let done = match replace(
            file,
            &Edit {
                old,
                new,
                occurrences: places,
            },
        ) {
            Ok(done) => done,
            Err(error) => {
                let size = error.why.len() + error.help.len();
                ensure(size <= ERROR_MAX, || format!("the error has {size} bytes"))?;
                ensure(!is_exact, || "an exact match was rejected".into())?;
                continue;
            }
        };
        ensure(done.text != file, || "the edit changed nothing".into())?;
        if is_exact {
            ensure(done.text == file.replace(old, new), || {
                "an exact match was replaced incorrectly".into()
            })?;
        }
        let max = file.len() + done.count * (new.len() + 1) * (file.len() + 2);
        ensure(done.text.len() <= max, || {
            format!("{} bytes from {}", done.text.len(), file.len())
        })?;
    }
    Ok(())
}
