//! What killed gits left in the repository: lock files, incomplete worktrees, interrupted merges.

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
    let mut findings: Vec<Finding> = debris
        .iter()
        .take(NAMED_MAX)
        .map(|debris| Finding::warn(CHECK, debris.to_string(), remedy(debris)))
        .collect();
    if more > 0 {
        let text = format!("{more} more things were left by killed gits");
        findings.push(Finding::warn(CHECK, text, MEND));
    }
    // One repair mends everything that can be mended.
    let is_mended = |debris: &Debris| remedy(debris) == MEND;
    if let Some(first) = debris.iter().take(NAMED_MAX).position(is_mended) {
        findings[first].mend = Some(Mend::Repair);
    }
    findings
}

const MEND: &str = "crewdeck doctor --mend repairs it, or says why it stays; no work is lost";

/// What helps: some things only the user can decide.
fn remedy(debris: &Debris) -> &'static str {
    match debris {
        Debris::UnseenLock(_) => {
            "if no git works in the repository, in a container or on another machine either, delete the file; crewdeck removes it when it is ten minutes old"
        }
        Debris::Unlinked(_) => "look what is in it, move it away, then run crewdeck doctor --mend",
        Debris::Lock(_)
        | Debris::HalfMade(_)
        | Debris::NotStarted(_)
        | Debris::Merge(_)
        | Debris::Removal(_)
        | Debris::Branch(_) => MEND,
    }
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

    #[test]
    fn what_a_repair_leaves_is_named_with_what_the_user_can_do() {
        let name = WorktreeName::new("task-3").unwrap();
        let found = judge(Ok(vec![
            Debris::UnseenLock(".git/index.lock".into()),
            Debris::Unlinked(name.clone()),
            Debris::Removal(name),
        ]));
        let offered: Vec<bool> = found.iter().map(|f| f.mend.is_some()).collect();
        assert_eq!(offered, [false, false, true]);
        let remedies = found.iter().map(|f| f.remedy.as_deref().unwrap());
        let words = ["delete the file", "move it away", "--mend"];
        assert!(remedies.zip(words).all(|(r, w)| r.contains(w)), "{found:?}");
    }
}
