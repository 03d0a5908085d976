//! Whether the teammates of other hosts have work.

use std::collections::BTreeSet;

use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::host::{HostClaim, HostPresence, HostState};
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::domain::team::{Member, MemberStatus};

/// What is known about the teammates of other hosts.
pub struct RemoteWork {
    /// The session of this host, whose own agents are not considered.
    pub own: HostClaim,
    pub hosts: Vec<HostState>,
    /// The teammates of other hosts that are present.
    pub members: Vec<Member>,
    /// The agents that have filed the pending requests.
    pub asking: Vec<Name>,
}

impl RemoteWork {
    /// Returns whether a teammate works. One that waits for a decision does not.
    pub fn is_in_progress(&self) -> bool {
        let is_working = |m: &&Member| m.status == MemberStatus::Working;
        let mut working = self.members.iter().filter(is_working);
        working.any(|member| !self.waits(member))
    }

    /// Returns the names of the teammates that read a message as soon as they have one.
    pub fn readers(&self) -> impl Iterator<Item = &Name> {
        let is_idle = |m: &&Member| m.status == MemberStatus::Idle;
        self.members.iter().filter(is_idle).map(|m| &m.name)
    }

    /// Returns whether the board has work for the teammates: a task that one of them has claimed or may claim, or a claim of
    /// an ended session, which is about to be released.
    pub fn is_on_board(&self, graph: &TaskGraph) -> bool {
        let is_claimed = graph.tasks().any(|task| self.is_worked_on(task));
        let claimers = self.claimers();
        is_claimed || claimers.iter().any(|c| graph.auto_claimable(c).is_some())
    }

    fn is_worked_on(&self, task: &Task) -> bool {
        let Some(claim) = &task.claim else {
            return false;
        };
        if *claim == self.own || !task.is_open_for(&task.owner) {
            return false;
        }
        let is_present = self.hosts.iter().any(|host| {
            host.session == claim.session
                && host.info.name.same(&claim.host)
                && host.presence == HostPresence::Present
        });
        let mut members = self.members.iter();
        let owner = members.find(|m| m.name.as_str().eq_ignore_ascii_case(&task.owner));
        !is_present || owner.is_none_or(|owner| !owner.is_paused && !self.waits(owner))
    }

    fn claimers(&self) -> Vec<Claimer> {
        let draining = self.hosts.iter().filter(|host| host.info.is_draining);
        let draining: BTreeSet<String> = draining
            .map(|host| host.info.name.as_str().to_ascii_lowercase())
            .collect();
        let may_claim = |m: &&Member| {
            m.status == MemberStatus::Idle
                && !m.is_paused
                && !draining.contains(&m.host.to_ascii_lowercase())
        };
        let members = self.members.iter().filter(may_claim);
        let claimers = members.map(|member| Claimer {
            name: member.name.clone(),
            tags: member.tags.clone(),
        });
        claimers.collect()
    }

    fn waits(&self, member: &Member) -> bool {
        self.asking.iter().any(|name| name.same(&member.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::NewTask;
    use crate::domain::host::{HostInfo, HostKind, HostName};
    use crate::domain::ids::TaskId;
    use crate::domain::timestamp::Timestamp;

    const NOW: Timestamp = Timestamp(1.0);

    fn claim(host: &str, session: &str) -> HostClaim {
        HostClaim {
            host: HostName::parse(host).unwrap(),
            session: session.into(),
        }
    }

    fn bob() -> Name {
        Name::member("bob").unwrap()
    }

    /// Returns the knowledge about bob, who is idle on the host gpu.
    fn work() -> RemoteWork {
        let info = HostInfo {
            slots: 1,
            ..HostInfo::new(HostName::parse("gpu").unwrap(), HostKind::Worker)
        };
        RemoteWork {
            own: claim("home", "s0"),
            hosts: vec![HostState {
                info,
                session: "s1".into(),
                presence: HostPresence::Present,
                seen_at: NOW,
            }],
            members: vec![Member {
                host: "gpu".into(),
                ..Member::new(bob(), "coder")
            }],
            asking: Vec::new(),
        }
    }

    fn board(claimed_for: Option<HostClaim>) -> TaskGraph {
        let mut graph = TaskGraph::default();
        let (id, new) = (
            TaskId(1),
            NewTask {
                subject: "a".into(),
                ..NewTask::default()
            },
        );
        graph.create(id, new, NOW).unwrap();
        if let Some(claimed_for) = claimed_for {
            let claimer = Claimer {
                name: bob(),
                tags: Vec::new(),
            };
            graph.claim(id, &claimer, NOW).unwrap();
            graph.set_claim(id, &claimed_for, NOW).unwrap();
        }
        graph
    }

    #[test]
    fn working_teammate_is_work_unless_it_waits_for_a_decision() {
        let mut work = work();
        assert!(!work.is_in_progress());
        work.members[0].status = MemberStatus::Working;
        assert!(work.is_in_progress());
        work.asking = vec![bob()];
        assert!(!work.is_in_progress() && !work.is_on_board(&board(Some(claim("gpu", "s1")))));
        assert_eq!(work.readers().count(), 0);
    }

    #[test]
    fn claimed_task_is_work_until_its_owner_pauses() {
        let mut work = work();
        let claimed = board(Some(claim("gpu", "s1")));
        assert!(work.is_on_board(&claimed));
        work.members[0].is_paused = true;
        assert!(!work.is_on_board(&claimed));
        // The roster does not show the owner yet.
        work.members.clear();
        assert!(work.is_on_board(&claimed));
        // The agents of this host are known without the board.
        assert!(!work.is_on_board(&board(Some(claim("home", "s0")))));
    }

    #[test]
    fn claim_of_an_ended_session_is_work_until_it_is_released() {
        let mut work = work();
        work.members.clear();
        for ended in [claim("gpu", "s0"), claim("gone", "s1")] {
            assert!(work.is_on_board(&board(Some(ended))));
        }
        work.hosts[0].presence = HostPresence::Lost;
        assert!(work.is_on_board(&board(Some(claim("gpu", "s1")))));
        assert!(!work.is_on_board(&board(None)));
    }

    #[test]
    fn only_idle_teammates_of_hosts_that_do_not_drain_claim_tasks() {
        let ready = board(None);
        assert!(work().is_on_board(&ready));
        let changes: [fn(&mut RemoteWork); 3] = [
            |work| work.members[0].is_paused = true,
            |work| work.members[0].status = MemberStatus::Working,
            |work| work.hosts[0].info.is_draining = true,
        ];
        for change in changes {
            let mut work = work();
            change(&mut work);
            assert!(!work.is_on_board(&ready));
        }
    }
}
