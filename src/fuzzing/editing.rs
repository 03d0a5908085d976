//! An edit as a model sends it, of a file as anybody wrote it.

use super::{Held, hold};
use crate::tools::replace::{Edit, Places, replace};

/// Most bytes of a refusal, with the nearest lines of the file.
const REFUSAL_MAX: usize = 16 * 1024;

/// `edit_file`: the file, the old and the new text, with a NUL between them.
pub fn edit(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\0');
    let mut part = || parts.next().unwrap_or_default();
    let (file, old, new) = (part(), part(), part());
    for places in [Places::One, Places::All] {
        let count = file.matches(old).count();
        // Line ends that are kept can make an edit one that changes nothing.
        let has_one_end = !file.contains('\r') && !old.contains('\r');
        let is_exact = has_one_end
            && !old.is_empty()
            && old != new
            && (count == 1 || (count > 1 && places == Places::All));
        let done = match replace(file, &Edit { old, new, places }) {
            Ok(done) => done,
            Err(refusal) => {
                let size = refusal.why.len() + refusal.help.len();
                hold(size <= REFUSAL_MAX, || format!("a refusal of {size} bytes"))?;
                hold(!is_exact, || "an exact match was refused".into())?;
                continue;
            }
        };
        hold(done.text != file, || "an edit changed nothing".into())?;
        if is_exact {
            hold(done.text == file.replace(old, new), || {
                "an exact match was replaced in another way".into()
            })?;
        }
        let most = file.len() + done.count * (new.len() + 1) * (file.len() + 2);
        hold(done.text.len() <= most, || {
            format!("{} bytes from {}", done.text.len(), file.len())
        })?;
    }
    Ok(())
}
