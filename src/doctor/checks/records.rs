//! How much the records of sessions take.

use crate::doctor::{Finding, Place};
use crate::domain::worktree::DiskUse;
use crate::store;

const CHECK: &str = "records";
/// Folders of records, and what they hold.
const FOLDERS: &[(&str, &str)] = &[
    (".transcripts", "conversations"),
    (".crewdeck/sessions", "journals"),
    (".crewdeck/logs", "logs"),
];
/// From here on it is worth a look.
const MUCH: u64 = 1024 * 1024 * 1024;

/// Adds them up.
pub fn look(place: &Place) -> Vec<Finding> {
    if !store::is_used(&place.root) {
        return Vec::new();
    }
    let sizes: Vec<DiskUse> = FOLDERS
        .iter()
        .map(|(folder, _)| store::size_below(&place.root, folder))
        .collect();
    vec![judge(&sizes)]
}

fn judge(sizes: &[DiskUse]) -> Finding {
    let parts: Vec<String> = FOLDERS
        .iter()
        .zip(sizes)
        .map(|((folder, what), size)| format!("{what} {size} in {folder}"))
        .collect();
    let text = parts.join(", ");
    if sizes.iter().map(|s| s.bytes).sum::<u64>() < MUCH {
        return Finding::ok(CHECK, text);
    }
    Finding::warn(
        CHECK,
        text,
        "delete the files of sessions that you will not resume: their names begin with the session's id",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn much_is_worth_a_look() {
        let of = |bytes| DiskUse {
            bytes,
            at_least: false,
        };
        let found = judge(&[of(4096), of(0), of(1)]);
        assert_eq!(
            found.text,
            "conversations 4 KiB in .transcripts, journals 0 KiB in .crewdeck/sessions, logs 1 KiB in .crewdeck/logs"
        );
        assert_eq!(judge(&[of(MUCH), of(0), of(0)]).level, Level::Warn);
    }
}
