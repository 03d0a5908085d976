//! Finds what killed git processes left in the repository: lock files, incomplete worktrees, interrupted merges.

use crate::doctor::{CrewPresence, DoctorContext, Finding, Fix};
use crate::store::{self, Debris, StoreError, Worktrees};

const CHECK: &str = "leftovers";
/// Maximum number of leftovers that get a warning each. The number of further leftovers is given in one more warning.
const NAMED_MAX: usize = 50;

/// Reports what killed git processes left behind ([`Debris`]). Reports nothing while a crew is running, because the
/// crew repairs such leftovers itself when it starts and before it merges.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) || matches!(context.crew, CrewPresence::Runs(_)) {
        return Vec::new();
    }
    evaluate(Worktrees::open(&context.root).debris())
}

/// Returns one warning for each of the first [`NAMED_MAX`] leftovers, and one warning with the number of further ones. If
/// the leftovers could not be listed, returns one failure. One fix repairs all leftovers, so only the first warning about
/// a repairable leftover offers it.
fn evaluate(found: Result<Vec<Debris>, StoreError>) -> Vec<Finding> {
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
        let text = format!("{more} more leftovers of killed git processes");
        findings.push(Finding::warn(CHECK, text, REPAIR));
    }
    // One repair fixes everything that can be fixed.
    let has_fix = |debris: &Debris| remedy(debris) == REPAIR;
    if let Some(first) = debris.iter().take(NAMED_MAX).position(has_fix) {
        findings[first].fix = Some(Fix::Repair);
    }
    findings
}

const REPAIR: &str =
    "run crewdeck doctor --mend: it repairs this or says why it cannot; no work is lost";

/// Returns what the user should do: [`REPAIR`], or a manual step for leftovers that only the user can judge.
fn remedy(debris: &Debris) -> &'static str {
    match debris {
        Debris::InvisibleLock(_) => {
            "check that no git process uses the repository, also in containers and on other machines, then delete the file; or wait: crewdeck removes the file when it is ten minutes old"
        }
        Debris::Unlinked(_) => {
            "save what you need from the folder, move it away, then run crewdeck doctor --mend"
        }
        Debris::Lock(_)
        | Debris::Incomplete(_)
        | Debris::MissingWork(_)
        | Debris::MissingFiles(_)
        | Debris::Merge(_)
        | Debris::Landing
        | Debris::Checkouts
        | Debris::Removal(_)
        | Debris::Branch(_) => REPAIR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::worktree::WorktreeName;

    #[test]
    fn each_leftover_is_listed_and_one_repair_is_offered() {
        assert_eq!(evaluate(Ok(Vec::new())), Vec::new());
        let name = || WorktreeName::new("task-3").unwrap();
        let found = evaluate(Ok(vec![
            Debris::Lock(".git/packed-refs.lock".into()),
            Debris::Merge(name()),
        ]));
        let texts: Vec<&str> = found.iter().map(|f| f.text.as_str()).collect();
        assert!(texts[0].contains(".git/packed-refs.lock"), "{texts:?}");
        assert!(texts[1].contains("wt/task-3"), "{texts:?}");
        let offered: Vec<bool> = found.iter().map(|f| f.fix.is_some()).collect();
        assert_eq!(offered, [true, false]);
    }

    #[test]
    fn leftovers_without_a_repair_have_a_remedy() {
        let name = WorktreeName::new("task-3").unwrap();
        let found = evaluate(Ok(vec![
            Debris::InvisibleLock(".git/index.lock".into()),
            Debris::Unlinked(name.clone()),
            Debris::Removal(name),
        ]));
        let offered: Vec<bool> = found.iter().map(|f| f.fix.is_some()).collect();
        assert_eq!(offered, [false, false, true]);
        let remedies = found.iter().map(|f| f.remedy.as_deref().unwrap());
        let words = ["delete the file", "move it away", "--mend"];
        assert!(remedies.zip(words).all(|(r, w)| r.contains(w)), "{found:?}");
    }
}
