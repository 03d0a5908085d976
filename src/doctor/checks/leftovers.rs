//! What gits that were killed with their crew have left in the repository: locks, half-made worktrees, cut merges.

use crate::doctor::{Crew, Finding, Mend, Place};
use crate::store::{self, Debris, StoreError, Worktrees};

const CHECK: &str = "leftovers";
/// Most things that are named.
const NAMED_MAX: usize = 50;

/// Looks for them. A crew that runs repairs them when it starts and before it merges.
pub fn look(place: &Place) -> Vec<Finding> {
    if !store::is_used(&place.root) || matches!(place.crew, Crew::Runs(_)) {
        return Vec::new();
    }
    judge(Worktrees::open(&place.root).debris())
}

/// Nothing to say where nothing is left: the worktrees have a line of their own.
fn judge(found: Result<Vec<Debris>, StoreError>) -> Vec<Finding> {
    let debris = match found {
        Ok(debris) => debris,
        Err(error) => return vec![super::unreadable(CHECK, &error)],
    };
    let more = debris.len().saturating_sub(NAMED_MAX);
    let named = debris.iter().take(NAMED_MAX).map(ToString::to_string);
    let more = (more > 0).then(|| format!("{more} more things were left by killed gits"));
    let mut findings: Vec<Finding> = named
        .chain(more)
        .map(|text| {
            Finding::warn(
                CHECK,
                text,
                "crewdeck doctor --mend repairs it; no work is lost",
            )
        })
        .collect();
    // One repair puts everything in order.
    if let Some(first) = findings.first_mut() {
        first.mend = Some(Mend::Repair);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::worktree::WorktreeName;

    #[test]
    fn each_thing_is_named_and_one_repair_is_offered() {
        assert_eq!(judge(Ok(Vec::new())), Vec::new());
        let name = || WorktreeName::new("task-3").unwrap();
        let found = judge(Ok(vec![
            Debris::Lock(".git/packed-refs.lock".into()),
            Debris::Merge(name()),
        ]));
        let texts: Vec<&str> = found.iter().map(|f| f.text.as_str()).collect();
        assert!(texts[0].contains(".git/packed-refs.lock"), "{texts:?}");
        assert!(texts[1].contains("wt/task-3"), "{texts:?}");
        let offered: Vec<bool> = found.iter().map(|f| f.mend.is_some()).collect();
        assert_eq!(offered, [true, false]);
    }
}
