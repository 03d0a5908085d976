//! Keeps agents from acting as the owners of tasks that were claimed for another session of a host, or after their own
//! host has lost its session.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::StoreError;
use super::super::host_store::HostSession;
use super::backend::{BoardTransaction, FirstWrite};
use super::rules;
use crate::domain::graph::TaskGraph;
use crate::domain::host::HostClaim;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::timestamp::Timestamp;

/// The session of the host whose agents use a board. Without a session, tasks are claimed for no host.
#[derive(Debug, Clone, Default)]
pub(super) struct ClaimFence {
    session: Option<Arc<dyn HostSession>>,
}

impl ClaimFence {
    pub fn new(session: Arc<dyn HostSession>) -> ClaimFence {
        ClaimFence {
            session: Some(session),
        }
    }

    /// Returns what tasks contain that are claimed for this session.
    pub fn claim(&self) -> Option<HostClaim> {
        self.session.as_ref().map(|session| session.claim())
    }

    /// Fails if the host has lost its session, unless `who` is the user. `id` is the task that is about to change, if it is
    /// known already.
    pub fn check_session(&self, id: Option<TaskId>, who: Option<&Name>) -> Result<(), StoreError> {
        let is_valid = self.session.as_ref().is_none_or(|s| s.is_valid());
        if is_valid || who.is_some_and(Name::is_user) {
            return Ok(());
        }
        Err(match id {
            Some(id) => {
                let why = "the connection to the hub was lost for too long, so other hosts may claim the task";
                StoreError::ClaimLost(id, why.into())
            }
            None => StoreError::HostLost("claim tasks"),
        })
    }

    /// Fails if `who` may not act as the owner of a task, because it was claimed for another session or this host has lost
    /// its session. The user may, and so may all agents if the task was claimed for no host. `None` stands for the agent
    /// that owns the task, whatever its name is.
    pub fn check_owner(
        &self,
        graph: &TaskGraph,
        id: TaskId,
        who: Option<&Name>,
    ) -> Result<(), StoreError> {
        self.check_session(Some(id), who)?;
        if who.is_some_and(Name::is_user) {
            return Ok(());
        }
        let Some((task, held)) = graph.get(id).and_then(|t| Some((t, t.claim.as_ref()?))) else {
            return Ok(());
        };
        // The graph rejects these acts of agents itself, with another reason.
        let is_completed = task.status == TaskStatus::Completed && who.is_some();
        let own = self.claim();
        if is_completed || task.owner.is_empty() || own.as_ref() == Some(held) {
            return Ok(());
        }
        let is_same_host = own.is_some_and(|own| own.host.same(&held.host));
        let why = if is_same_host {
            format!("another run of crewdeck on {held} has claimed it")
        } else {
            format!(
                "the host {held} has claimed it; the user can take it away with crewdeck task release {} --force",
                id.0
            )
        };
        Err(StoreError::ClaimLost(id, why))
    }

    /// Records in a task that `claimer` has just claimed for which session it was claimed. A claim of the user counts for
    /// no host.
    pub fn record_claim(
        &self,
        graph: &mut TaskGraph,
        id: TaskId,
        claimer: &Name,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self.claim() {
            Some(claim) if !claimer.is_user() => {
                graph.set_claim(id, &claim, now)?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

/// Releases a task if it is still claimed for `claim`. Returns `None` if it is not.
pub(super) fn release_lost(
    board: &mut dyn BoardTransaction,
    id: TaskId,
    claim: &HostClaim,
    now: Timestamp,
) -> Result<Option<Task>, StoreError> {
    board.refresh(&BTreeSet::from([id]))?;
    let owner = board
        .graph()
        .get(id)
        .filter(|task| is_open(task) && task.claim.as_ref() == Some(claim))
        .and_then(|task| Name::party(&task.owner).ok());
    match owner {
        Some(owner) => rules::change(board, id, |graph| graph.release(id, &owner, now)).map(Some),
        None => Ok(None),
    }
}

/// Returns whether a task is open and was claimed for the session `old` of the host in `own`.
pub(super) fn is_adoptable(task: &Task, own: &HostClaim, old: &str) -> bool {
    let claim = task.claim.as_ref();
    is_open(task) && claim.is_some_and(|c| c.session == old && c.host.same(&own.host))
}

/// Makes `own` the claim of a task that [`is_adoptable`]. Returns `None` if it no longer is.
pub(super) fn adopt(
    board: &mut dyn BoardTransaction,
    id: TaskId,
    own: &HostClaim,
    old: &str,
    now: Timestamp,
) -> Result<Option<Task>, StoreError> {
    board.refresh(&BTreeSet::from([id]))?;
    let task = board.graph().get(id);
    let can_adopt = task.is_some_and(|task| is_adoptable(task, own, old));
    if !can_adopt {
        return Ok(None);
    }
    let changed = board.graph_mut().set_claim(id, own, now)?;
    board.save(&changed, FirstWrite::Update)?;
    rules::task(board, id).map(Some)
}

fn is_open(task: &Task) -> bool {
    task.status != TaskStatus::Completed && !task.owner.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::{Claimer, NewTask};
    use crate::store::FakeHostSession;
    use pretty_assertions::assert_eq;

    const NOW: Timestamp = Timestamp(1.0);
    const ID: TaskId = TaskId(1);

    fn bob() -> Claimer {
        Claimer {
            name: Name::member("bob").unwrap(),
            ..Claimer::user()
        }
    }

    /// Returns a graph with a task of bob that is claimed for a session.
    fn claimed_for(session: &ClaimFence) -> TaskGraph {
        let mut graph = TaskGraph::default();
        let new = NewTask {
            subject: "a".into(),
            ..NewTask::default()
        };
        graph.create(ID, new, NOW).unwrap();
        graph.claim(ID, &bob(), NOW).unwrap();
        session
            .record_claim(&mut graph, ID, &bob().name, NOW)
            .unwrap();
        graph
    }

    #[test]
    fn only_the_claiming_session_and_the_user_act_as_owner() {
        let fence = |host, session| ClaimFence::new(FakeHostSession::new(host, session));
        let graph = claimed_for(&fence("gpu", "s1"));
        let bob = bob().name;
        let error = |fence: ClaimFence, who: Option<&Name>| {
            let checked = fence.check_owner(&graph, ID, who);
            checked.err().map(|why| why.to_string())
        };
        let other_host = "task #1 is not claimed for this host: the host gpu has claimed it; the user can take it away with crewdeck task release 1 --force";
        let other_run =
            "task #1 is not claimed for this host: another run of crewdeck on gpu has claimed it";
        for (fence, expected) in [
            (fence("gpu", "s1"), None),
            (fence("GPU", "s2"), Some(other_run)),
            (fence("cpu", "s1"), Some(other_host)),
            (ClaimFence::default(), Some(other_host)),
        ] {
            for who in [Some(&bob), None] {
                assert_eq!(error(fence.clone(), who).as_deref(), expected);
            }
            assert_eq!(error(fence, Some(&Name::user())), None);
        }
    }

    #[test]
    fn ended_session_stops_agents_but_not_the_user() {
        let session = FakeHostSession::new("gpu", "s1");
        let fence = ClaimFence::new(Arc::clone(&session) as Arc<dyn HostSession>);
        let graph = claimed_for(&fence);
        session.end();
        let bob = bob().name;
        for who in [Some(&bob), None] {
            let error = fence.check_owner(&graph, ID, who).unwrap_err();
            assert!(error.is_lost_lease(), "{error}");
            let error = fence.check_session(None, who).unwrap_err();
            assert!(matches!(error, StoreError::HostLost(_)), "{error}");
        }
        fence.check_owner(&graph, ID, Some(&Name::user())).unwrap();
    }

    #[test]
    fn task_without_a_claim_is_not_fenced() {
        let graph = claimed_for(&ClaimFence::default());
        assert_eq!(graph.get(ID).unwrap().claim, None);
        let fence = ClaimFence::new(FakeHostSession::new("gpu", "s1"));
        for fence in [fence, ClaimFence::default()] {
            fence.check_owner(&graph, ID, Some(&bob().name)).unwrap();
        }
    }
}
