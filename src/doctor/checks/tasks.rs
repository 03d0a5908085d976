//! Finds tasks whose owner is gone, and task files that cannot be read.

use crate::doctor::units::ago;
use crate::doctor::{CrewPresence, DoctorContext, Finding, Fix};
use crate::domain::crash_recovery::{self, OwnedTask, OwnerState};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::text::{clip, count_noun};
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Board, Roster};

const CHECK: &str = "tasks";
/// Maximum length of a task's subject in a finding, in characters.
const SUBJECT_MAX: usize = 60;

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    if !store::has_state(&context.root) {
        return Vec::new();
    }
    let read = Board::open(&context.root).read();
    let read = read.and_then(|board| Ok((board, Roster::open(&context.root).read()?)));
    let (board, team) = match read {
        Ok(read) => read,
        Err(error) => return vec![super::unreadable(CHECK, &error)],
    };
    let claims = match context.crew {
        CrewPresence::Runs(_) => Vec::new(),
        CrewPresence::None => crash_recovery::orphaned_claims(&board.graph, &team),
    };
    evaluate(&board.graph, &claims, &board.notices, context.now)
}

fn evaluate(
    graph: &TaskGraph,
    claims: &[OwnedTask],
    errors: &[String],
    now: Timestamp,
) -> Vec<Finding> {
    let orphan = |claim| orphaned_task(graph, claim, now);
    let mut found: Vec<Finding> = claims.iter().map(orphan).collect();
    for error in errors {
        let remedy = "repair the file, or run crewdeck task list, which renames damaged files";
        found.push(Finding::warn(CHECK, error.clone(), remedy));
    }
    if found.is_empty() {
        let (all, done) = (graph.len(), graph.done());
        let text = format!("{} on the board, {done} completed", count_noun(all, "task"));
        found.push(Finding::ok(CHECK, text));
    }
    found
}

fn orphaned_task(graph: &TaskGraph, claim: &OwnedTask, now: Timestamp) -> Finding {
    let OwnedTask {
        task: id,
        owner,
        subject,
        ..
    } = claim;
    let subject = clip(subject, SUBJECT_MAX);
    let task = graph.get(*id);
    let since = task
        .and_then(|task| ago(now, task.updated_at))
        .map_or(String::new(), |ago| {
            format!("; the task was last changed {ago}")
        });
    let owner_name = Name::party(owner);
    let release = format!("crewdeck task release {} --as {owner}", id.0);
    match (claim.owner_state, owner_name) {
        (OwnerState::Gone, Ok(owner)) => Finding::warn(
            CHECK,
            format!("task {id} ({subject}) is owned by {owner}, who is no longer running{since}"),
            "continue it: crewdeck --resume; or release it: crewdeck doctor --mend",
        )
        .with_fix(Fix::Release { task: *id, owner }),
        (OwnerState::External, Ok(_)) => Finding::warn(
            CHECK,
            format!("task {id} ({subject}) is owned by {owner}, who is not on the team{since}"),
            format!("if {owner} does not work on it, release it: {release}"),
        ),
        (OwnerState::Gone | OwnerState::External, Err(_)) => Finding::warn(
            CHECK,
            format!(
                "task {id} ({subject}) is owned by {owner:?}, which is not a valid agent name{since}"
            ),
            format!(
                "to release it, clear the owner in .tasks/task_{}.json",
                id.0
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::ids::TaskId;
    use crate::domain::task::Task;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn tasks_of_gone_members_have_a_fix_and_those_of_strangers_do_not() {
        let task: Task =
            serde_json::from_value(json!({"id": 1, "subject": "Write it", "updated_at": 40.0}))
                .unwrap();
        let graph = TaskGraph::new([task]);
        let claim = |owner: &str, holder| OwnedTask {
            task: TaskId(1),
            subject: "Write it".into(),
            owner: owner.into(),
            owner_state: holder,
        };
        let now = Timestamp(100.0);
        let found = evaluate(&graph, &[claim("bob", OwnerState::Gone)], &[], now);
        assert_eq!(
            found[0].text,
            "task #1 (Write it) is owned by bob, who is no longer running; the task was last changed 60 s ago"
        );
        let owner = Name::member("bob").unwrap();
        assert_eq!(
            found[0].fix,
            Some(Fix::Release {
                task: TaskId(1),
                owner
            })
        );
        let found = evaluate(
            &graph,
            &[
                claim("eve", OwnerState::External),
                claim("a b", OwnerState::External),
            ],
            &[],
            now,
        );
        assert!(
            found
                .iter()
                .all(|f| f.fix.is_none() && f.level == Level::Warn)
        );
        assert_eq!(
            found[0].remedy.as_deref(),
            Some("if eve does not work on it, release it: crewdeck task release 1 --as eve")
        );
        let found = evaluate(&graph, &[], &["task_2.json is damaged".into()], now);
        assert_eq!((found.len(), found[0].level), (1, Level::Warn));
        let found = evaluate(&graph, &[], &[], now);
        assert_eq!(
            found,
            [Finding::ok(CHECK, "1 task on the board, 0 completed")]
        );
    }
}
