//! The board: tasks that somebody has who is gone, and files that can not be read.

use crate::doctor::words::{ago, count};
use crate::doctor::{Crew, Finding, Mend, Place};
use crate::domain::aftermath::{self, Claim, Holder};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::text::clip;
use crate::store::{self, Board, Roster};

const CHECK: &str = "tasks";
/// Most characters of a subject.
const SUBJECT_MAX: usize = 60;

/// Looks at the board.
pub fn look(place: &Place) -> Vec<Finding> {
    if !store::is_used(&place.root) {
        return Vec::new();
    }
    let read = Board::open(&place.root).read();
    let read = read.and_then(|board| Ok((board, Roster::open(&place.root).read()?)));
    let (board, team) = match read {
        Ok(read) => read,
        Err(error) => return vec![super::unreadable(CHECK, &error)],
    };
    let claims = match place.crew {
        Crew::Runs(_) => Vec::new(),
        Crew::None => aftermath::claims(&board.graph, &team),
    };
    judge(&board.graph, &claims, &board.notices, place.now)
}

fn judge(graph: &TaskGraph, claims: &[Claim], troubles: &[String], now: Stamp) -> Vec<Finding> {
    let mut found: Vec<Finding> = claims.iter().map(|claim| left(graph, claim, now)).collect();
    for trouble in troubles {
        let remedy = "mend that file by hand, or crewdeck task list sets a damaged one aside";
        found.push(Finding::warn(CHECK, trouble.clone(), remedy));
    }
    if found.is_empty() {
        let (all, done) = (graph.len(), graph.done());
        let text = format!("{} on the board, {done} completed", count(all, "task"));
        found.push(Finding::ok(CHECK, text));
    }
    found
}

fn left(graph: &TaskGraph, claim: &Claim, now: Stamp) -> Finding {
    let Claim {
        task: id,
        owner,
        subject,
        ..
    } = claim;
    let subject = clip(subject, SUBJECT_MAX);
    let task = graph.get(*id);
    let since = task
        .and_then(|task| ago(now, task.updated_at))
        .map_or(String::new(), |ago| format!(", last changed {ago}"));
    let owner_name = Name::party(owner);
    let release = format!("crewdeck task release {} --as {owner}", id.0);
    match (claim.holder, owner_name) {
        (Holder::Gone, Ok(owner)) => Finding::warn(
            CHECK,
            format!("task {id} ({subject}) is {owner}'s, who is gone{since}"),
            "crewdeck --resume goes on with it; crewdeck doctor --mend offers it to others",
        )
        .mended_by(Mend::Release { task: *id, owner }),
        (Holder::Stranger, Ok(_)) => Finding::warn(
            CHECK,
            format!("task {id} ({subject}) is {owner}'s, whom no crew knows{since}"),
            format!("if nobody works on it: {release}"),
        ),
        (Holder::Gone | Holder::Stranger, Err(_)) => Finding::warn(
            CHECK,
            format!("task {id} ({subject}) is {owner:?}'s, which is no name of an agent{since}"),
            format!(
                "if nobody works on it: empty the owner in .tasks/task_{}.json",
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
    fn tasks_of_the_gone_can_be_mended_and_those_of_strangers_not() {
        let task: Task =
            serde_json::from_value(json!({"id": 1, "subject": "Write it", "updated_at": 40.0}))
                .unwrap();
        let graph = TaskGraph::new([task]);
        let claim = |owner: &str, holder| Claim {
            task: TaskId(1),
            subject: "Write it".into(),
            owner: owner.into(),
            holder,
        };
        let now = Stamp(100.0);
        let found = judge(&graph, &[claim("bob", Holder::Gone)], &[], now);
        assert_eq!(
            found[0].text,
            "task #1 (Write it) is bob's, who is gone, last changed 60 s ago"
        );
        let owner = Name::member("bob").unwrap();
        assert_eq!(
            found[0].mend,
            Some(Mend::Release {
                task: TaskId(1),
                owner
            })
        );
        let found = judge(
            &graph,
            &[
                claim("eve", Holder::Stranger),
                claim("a b", Holder::Stranger),
            ],
            &[],
            now,
        );
        assert!(
            found
                .iter()
                .all(|f| f.mend.is_none() && f.level == Level::Warn)
        );
        assert_eq!(
            found[0].remedy.as_deref(),
            Some("if nobody works on it: crewdeck task release 1 --as eve")
        );
        let found = judge(&graph, &[], &["task_2.json is damaged".into()], now);
        assert_eq!((found.len(), found[0].level), (1, Level::Warn));
        let found = judge(&graph, &[], &[], now);
        assert_eq!(
            found,
            [Finding::ok(CHECK, "1 task on the board, 0 completed")]
        );
    }
}
