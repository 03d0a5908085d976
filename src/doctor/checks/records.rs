//! Checks the disk usage of session records.

use crate::doctor::{DoctorContext, Finding};
use crate::domain::worktree::DiskUse;
use crate::store;

const CHECK: &str = "records";
/// The folders of records, relative to the root, each with the name of its content for the report.
const FOLDERS: &[(&str, &str)] = &[
    (".transcripts", "conversations"),
    (".crewdeck/sessions", "journals"),
    (".crewdeck/logs", "logs"),
];
/// The check warns if the records have at least this total size, in bytes.
const WARN_SIZE: u64 = 1024 * 1024 * 1024;

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) {
        return Vec::new();
    }
    let sizes: Vec<DiskUse> = FOLDERS
        .iter()
        .map(|(folder, _)| store::size_below(&context.root, folder))
        .collect();
    vec![evaluate(&sizes)]
}

fn evaluate(sizes: &[DiskUse]) -> Finding {
    let parts: Vec<String> = FOLDERS
        .iter()
        .zip(sizes)
        .map(|((folder, what), size)| format!("{what} {size} in {folder}"))
        .collect();
    let text = parts.join(", ");
    if sizes.iter().map(|s| s.bytes).sum::<u64>() < WARN_SIZE {
        return Finding::ok(CHECK, text);
    }
    Finding::warn(
        CHECK,
        text,
        "delete the files of sessions that you will not resume; their names start with the session id",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use pretty_assertions::assert_eq;

    #[test]
    fn large_records_are_a_warning() {
        let of = |bytes| DiskUse {
            bytes,
            at_least: false,
        };
        let found = evaluate(&[of(4096), of(0), of(1)]);
        assert_eq!(
            found.text,
            "conversations 4 KiB in .transcripts, journals 0 KiB in .crewdeck/sessions, logs 1 KiB in .crewdeck/logs"
        );
        assert_eq!(evaluate(&[of(WARN_SIZE), of(0), of(0)]).level, Level::Warn);
    }
}
