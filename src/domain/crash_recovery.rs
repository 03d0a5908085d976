//! Finds what a crew left unfinished when it ended: tasks that still have an owner, members still listed as present,
//! and pending requests. The functions cannot determine whether a crew runs. Their callers must ensure that no crew
//! runs, except their own crew while it starts or ends.

use super::graph::TaskGraph;
use super::ids::{Name, TaskId};
use super::request::Request;
use super::task::TaskStatus;
use super::team::{Member, MemberStatus, Team};

/// The reason recorded when a request is withdrawn because its crew has ended.
pub const CREW_ENDED: &str = "the crew that asked has ended";

/// Whether the lead of an ended crew continues in a later run of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadState {
    /// The lead continues. Either its session was resumed, or its crew is ending and members wait for the next run of
    /// the session.
    Back,
    /// The lead does not continue.
    Gone,
}

/// Returns the members of ended crews that the roster still lists as present. Leaves out the members named in `back`
/// (regardless of case), which continue in a resumed session. Also leaves out members without a session id: another
/// program has added them and may still run them.
pub fn absent_members<'a>(team: &'a Team, back: &[Name]) -> Vec<&'a Member> {
    let stays = |name: &Name| back.iter().any(|n| n.same(name));
    team.present()
        .filter(|m| !m.session.is_empty() && !stays(&m.name))
        .collect()
}

/// Returns the pending requests that an ended crew has left behind. With [`LeadState::Gone`], these are all pending
/// requests, and `back` has no effect. With [`LeadState::Back`], requests from the user, the lead and the members named
/// in `back` are left out, because these continue in a resumed session.
pub fn orphaned_requests<'a>(
    requests: &'a [Request],
    back: &[Name],
    lead: LeadState,
) -> Vec<&'a Request> {
    let asker_is_back = |request: &Request| match lead {
        LeadState::Gone => false,
        LeadState::Back => {
            back.iter().any(|n| n.same(&request.from))
                || request.from.is_lead()
                || request.from.is_user()
        }
    };
    requests
        .iter()
        .filter(|r| r.is_pending() && !asker_is_back(r))
        .collect()
}

/// Whether the owner of a task may still be working on it although no crew runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    /// The owner is the lead, a member that has shut down, or a member of an ended crew, so no work is done on the
    /// task.
    Gone,
    /// The owner is not in the roster, or another program has added it, so it may still be working.
    External,
}

/// A task that is not completed and still has an owner, although no crew runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedTask {
    pub task: TaskId,
    pub subject: String,
    pub owner: String,
    pub owner_state: OwnerState,
}

/// Returns the tasks that are not completed and have an owner, in the order of their numbers. Leaves out tasks of the
/// user. Includes pending tasks: no agent can claim them while they have an owner.
pub fn orphaned_claims(graph: &TaskGraph, team: &Team) -> Vec<OwnedTask> {
    let open = graph
        .tasks()
        .filter(|t| t.status != TaskStatus::Completed && !t.owner.is_empty());
    open.filter_map(|task| {
        let name = Name::party(&task.owner).ok();
        if name.as_ref().is_some_and(|n| n.same(&Name::user())) {
            return None;
        }
        let member = name.as_ref().and_then(|name| team.find(name));
        let is_ours = |m: &Member| m.status == MemberStatus::Shutdown || !m.session.is_empty();
        let is_lead = name.as_ref().is_some_and(|n| n.same(&Name::lead()));
        let holder = if is_lead || member.is_some_and(is_ours) {
            OwnerState::Gone
        } else {
            OwnerState::External
        };
        Some(OwnedTask {
            task: task.id,
            subject: task.subject.clone(),
            owner: task.owner.clone(),
            owner_state: holder,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::request::RequestKind;
    use crate::domain::task::Task;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn member(name: &str, status: MemberStatus, session: &str) -> Member {
        Member {
            status,
            session: session.into(),
            ..Member::new(Name::member(name).unwrap(), "tester")
        }
    }

    fn team() -> Team {
        Team {
            members: vec![
                member("alice", MemberStatus::Working, "s1"),
                member("bob", MemberStatus::Idle, "s2"),
                member("carol", MemberStatus::Shutdown, "s1"),
                member("zoe", MemberStatus::Working, ""),
            ],
            ..Team::default()
        }
    }

    #[test]
    fn only_members_with_a_session_count_as_gone() {
        let team = team();
        let names = |back: &[Name]| -> Vec<String> {
            let gone = absent_members(&team, back);
            gone.iter().map(|m| m.name.to_string()).collect()
        };
        assert_eq!(names(&[]), ["alice", "bob"]);
        assert_eq!(names(&[Name::member("ALICE").unwrap()]), ["bob"]);
    }

    #[test]
    fn requests_of_restored_agents_are_not_orphaned() {
        let request = |id: &str, from: &str| {
            let from = Name::party(from).unwrap();
            let id = RequestId(id.into());
            Request::new(
                id,
                RequestKind::Plan,
                from.clone(),
                from,
                "x".into(),
                Timestamp(1.0),
            )
        };
        let mut decided = request("5", "bob");
        decided.withdraw("why", Timestamp(2.0)).unwrap();
        let all = [
            request("1", "alice"),
            request("2", "bob"),
            request("3", "lead"),
            request("4", "user"),
            decided,
        ];
        let ids = |back: &[Name], lead| -> Vec<String> {
            let left = orphaned_requests(&all, back, lead);
            left.iter().map(|r| r.id.0.clone()).collect()
        };
        let alice = [Name::member("Alice").unwrap()];
        assert_eq!(ids(&[], LeadState::Gone), ["1", "2", "3", "4"]);
        assert_eq!(ids(&alice, LeadState::Back), ["2"]);
    }

    #[test]
    fn claims_tell_ended_owners_from_unknown_ones() {
        let task = |id: u64, status: &str, owner: &str| -> Task {
            let task = json!({"id": id, "subject": "s", "status": status, "owner": owner});
            serde_json::from_value(task).unwrap()
        };
        let graph = TaskGraph::new([
            task(1, "in_progress", "alice"),
            task(2, "in_progress", "lead"),
            task(3, "in_progress", "carol"),
            task(4, "in_progress", "zoe"),
            task(5, "in_progress", "a script"),
            task(6, "in_progress", "user"),
            task(7, "completed", "alice"),
            task(8, "in_progress", ""),
            task(9, "pending", "bob"),
        ]);
        let found: Vec<(u64, OwnerState)> = orphaned_claims(&graph, &team())
            .iter()
            .map(|c| (c.task.0, c.owner_state))
            .collect();
        let (gone, stranger) = (OwnerState::Gone, OwnerState::External);
        assert_eq!(
            found,
            [
                (1, gone),
                (2, gone),
                (3, gone),
                (4, stranger),
                (5, stranger),
                (9, gone)
            ]
        );
    }
}
