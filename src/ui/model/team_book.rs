//! The team of the crew: the roster, and the hosts that run its members. Pure.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::graph::TaskGraph;
use crate::domain::host::{HOSTS_MAX, HostKind, HostPresence, HostState};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::team::{MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::ui::model::board::memo::Memo;
use crate::ui::text::aging::ShownAge;

/// The age of the last report of a present host is shown from this age on.
pub const REPORT_OLD_AFTER: Duration = Duration::from_secs(60);

/// A host with more members than this begins collapsed in the list of the team.
pub const OPEN_MEMBERS_MAX: usize = 12;

/// The name of the group of members without a host, if no host runs the lead.
const WITHOUT_HOST: &str = "lead";

/// A host as it was last reported, and what only this process knows about it.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownHost {
    pub state: HostState,
    /// When the last report of the host arrived here. The host's own time is not compared with the clock of this machine. For
    /// a lost host, when it last renewed its lease.
    pub heard_at: Timestamp,
    /// The open tasks that a lost host held when it was lost, in the order of their numbers; empty for other hosts.
    pub held: Vec<TaskId>,
}

impl KnownHost {
    pub fn name(&self) -> &str {
        self.state.info.name.as_str()
    }

    pub fn is_lost(&self) -> bool {
        self.state.presence == HostPresence::Lost
    }

    /// Returns the age of the last report, and from which age on the screen shows it. The age of a lost host is always
    /// shown, that of a host that has left never.
    pub fn report_age(&self) -> Option<ShownAge> {
        let from = match self.state.presence {
            HostPresence::Present => REPORT_OLD_AFTER,
            HostPresence::Lost => Duration::ZERO,
            HostPresence::Left => return None,
        };
        let since = self.heard_at;
        Some(ShownAge { since, from })
    }
}

/// The members that one host runs.
#[derive(Debug, Clone, PartialEq)]
pub struct HostGroup {
    pub name: String,
    /// The host; `None` if no event has reported a host with this name.
    pub host: Option<KnownHost>,
    /// Whether the host runs the lead.
    pub is_lead: bool,
    /// The indices of the members in [`Team::members`].
    pub members: Vec<usize>,
    /// Number of members that have not shut down.
    pub present: usize,
}

impl HostGroup {
    fn new(name: &str, host: Option<KnownHost>) -> HostGroup {
        HostGroup {
            name: name.into(),
            host,
            is_lead: false,
            members: Vec::new(),
            present: 0,
        }
    }

    pub fn is_lost(&self) -> bool {
        self.host.as_ref().is_some_and(KnownHost::is_lost)
    }

    /// Returns whether the host has left and nothing of it is open: none of its members of `team` is present, and none owns
    /// an open task of `board`.
    pub fn is_over(&self, team: &Team, board: &TaskGraph) -> bool {
        let presence = self.host.as_ref().map(|host| host.state.presence);
        let has_open_task = |at: &usize| {
            let member = team.members.get(*at);
            member.is_some_and(|member| board.open_task_of(&member.name).is_some())
        };
        presence == Some(HostPresence::Left)
            && self.present == 0
            && !self.members.iter().any(has_open_task)
    }

    /// Returns whether the host is called `name`, regardless of case.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns whether the list shows the members of the host until the user expands or collapses it. Does not depend on
    /// what the members do, so that the rows of the list do not move while the crew works.
    pub fn opens_by_default(&self) -> bool {
        // The subagents of the lead are listed too, even if its host runs no teammate.
        self.present <= OPEN_MEMBERS_MAX && (self.is_lead || self.present > 0)
    }

    /// Returns whether the host runs the agent `name` of `team`. A subagent runs on the host of its parent.
    pub fn runs(&self, team: &Team, name: &Name) -> bool {
        let mut root = name.clone();
        while let Some(parent) = root.parent() {
            root = parent;
        }
        if root.is_lead() {
            return self.is_lead;
        }
        let mut members = self.members.iter().filter_map(|at| team.members.get(*at));
        members.any(|member| member.name.same(&root))
    }
}

/// The groups of a team: the host of the lead first, then the others in the order of the hosts. Empty for a crew on one
/// machine.
pub type HostGroups = Arc<[Arc<HostGroup>]>;

/// The roster of the team, as which it can be used, and the hosts of a crew on a hub.
#[derive(Debug, Default)]
pub struct TeamBook {
    roster: Arc<Team>,
    /// Sorted by name; empty for a crew on one machine.
    hosts: Vec<KnownHost>,
    /// Incremented with each change. It is the key of the groups, so that outdated groups are not used.
    version: u64,
    groups: Memo<u64, HostGroups>,
}

impl Deref for TeamBook {
    type Target = Team;

    fn deref(&self) -> &Team {
        &self.roster
    }
}

impl TeamBook {
    pub fn set_roster(&mut self, roster: Arc<Team>) {
        self.roster = roster;
        self.version += 1;
    }

    /// Replaces the hosts with those of a report that arrived at the time `at`. Notes which tasks of `board` a host that
    /// is now lost has held. At most [`HOSTS_MAX`] hosts are kept.
    pub fn set_hosts(&mut self, hosts: &[HostState], board: &TaskGraph, at: Timestamp) {
        let before = std::mem::take(&mut self.hosts);
        let known = |host: &HostState| {
            let was = before.iter().find(|was| {
                was.state.session == host.session && was.state.info.name.same(&host.info.name)
            });
            let is_lost = host.presence == HostPresence::Lost;
            let heard_at = match was {
                Some(was) if is_lost => last_heard_of_lost(was, host, at),
                Some(was) if was.state.seen_at == host.seen_at => was.heard_at,
                // The host was lost before this process knew it, so that only its own time is known.
                None if is_lost && (0.0..=at.0).contains(&host.seen_at.0) => host.seen_at,
                Some(_) | None => at,
            };
            let held = match was {
                Some(was) if is_lost && was.is_lost() => was.held.clone(),
                Some(_) | None if is_lost => held_tasks(board, host),
                Some(_) | None => Vec::new(),
            };
            KnownHost {
                state: host.clone(),
                heard_at,
                held,
            }
        };
        self.hosts = hosts.iter().take(HOSTS_MAX).map(known).collect();
        self.version += 1;
    }

    /// Returns a number that is different after each change of the roster or the hosts.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns all hosts, sorted by name, including those that have left.
    pub fn hosts(&self) -> &[KnownHost] {
        &self.hosts
    }

    /// Returns the number of hosts that have not left, and how many of these are lost.
    pub fn host_counts(&self) -> (usize, usize) {
        let here = |host: &&KnownHost| host.state.presence != HostPresence::Left;
        let lost = self.hosts.iter().filter(|host| host.is_lost()).count();
        (self.hosts.iter().filter(here).count(), lost)
    }

    /// Returns which of `hosts` are lost and were not lost before. Hosts that this process did not know are left out.
    pub fn newly_lost<'a>(&self, hosts: &'a [HostState]) -> Vec<&'a HostState> {
        let was_not_lost = |host: &&HostState| {
            let was = self.known(host.info.name.as_str());
            was.is_some_and(|was| !was.is_lost())
        };
        let lost = hosts.iter().filter(|h| h.presence == HostPresence::Lost);
        lost.filter(was_not_lost).collect()
    }

    /// Returns the host called `name`, regardless of case.
    pub fn known(&self, name: &str) -> Option<&KnownHost> {
        let mut hosts = self.hosts.iter();
        hosts.find(|host| host.name().eq_ignore_ascii_case(name))
    }

    /// Returns the ages of the hosts' last reports that the screen may show.
    pub fn report_ages(&self) -> impl Iterator<Item = ShownAge> {
        self.hosts.iter().filter_map(KnownHost::report_age)
    }

    /// Returns the members by host. They are grouped again only after a change of the roster or the hosts. Empty for a
    /// crew on one machine.
    pub fn groups(&self) -> HostGroups {
        self.groups.get(self.version, || self.make_groups())
    }

    fn make_groups(&self) -> HostGroups {
        if self.hosts.is_empty() {
            return Vec::new().into();
        }
        let mut groups: Vec<HostGroup> = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for host in &self.hosts {
            by_name.insert(host.name().to_ascii_lowercase(), groups.len());
            groups.push(HostGroup::new(host.name(), Some(host.clone())));
        }
        let runs_lead = |host: &KnownHost| {
            host.state.info.kind == HostKind::Lead && host.state.presence != HostPresence::Left
        };
        let mut lead = self.hosts.iter().position(runs_lead);
        for (at, member) in self.roster.members.iter().enumerate() {
            let key = member.host.to_ascii_lowercase();
            let known = if key.is_empty() {
                lead
            } else {
                by_name.get(&key).copied()
            };
            let place = known.unwrap_or_else(|| {
                let name = if key.is_empty() {
                    lead = Some(groups.len());
                    WITHOUT_HOST
                } else {
                    member.host.as_str()
                };
                groups.push(HostGroup::new(name, None));
                by_name.insert(key, groups.len() - 1);
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(place) {
                group.members.push(at);
                group.present += usize::from(member.status != MemberStatus::Shutdown);
            }
        }
        if let Some(group) = lead.and_then(|at| groups.get_mut(at)) {
            group.is_lead = true;
        }
        groups.sort_by_key(|group| !group.is_lead);
        groups.into_iter().map(Arc::new).collect()
    }
}

/// Returns when `host`, which a report of the time `at` says is lost, was last heard of. `was` is the host as it was known
/// before. The last renewals of its lease may be known only since this report, although they are older: reports about
/// renewals are sparse. How much later the last one was follows from the server's clock alone.
fn last_heard_of_lost(was: &KnownHost, host: &HostState, at: Timestamp) -> Timestamp {
    if was.is_lost() {
        return was.heard_at;
    }
    let later = (host.seen_at.0 - was.state.seen_at.0).max(0.0);
    Timestamp((was.heard_at.0 + later).min(at.0))
}

/// Returns the open tasks of `board` that are claimed for this session of `host`, in the order of their numbers.
pub fn held_tasks(board: &TaskGraph, host: &HostState) -> Vec<TaskId> {
    let is_held = |task: &&Task| {
        let claim = task.claim.as_ref();
        task.status != TaskStatus::Completed
            && claim.is_some_and(|c| c.session == host.session && c.host.same(&host.info.name))
    };
    board.tasks().filter(is_held).map(|task| task.id).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::team::Member;
    use crate::ui::fixture::{board_on_hosts, host, hosts, hosts_with_one_lost, name};

    const BEGUN: f64 = 1000.0;

    fn member(who: &str, on: &str) -> Member {
        let mut member = Member::new(name(who), "decoder");
        member.host = on.into();
        member
    }

    /// Returns the names of the groups with those of their members.
    fn groups(book: &TeamBook) -> Vec<(String, Vec<String>)> {
        let member = |at: &usize| book.members[*at].name.to_string();
        let names = |group: &Arc<HostGroup>| {
            let members = group.members.iter().map(member).collect();
            (group.name.clone(), members)
        };
        book.groups().iter().map(names).collect()
    }

    fn book(members: Vec<Member>, hosts: &[HostState]) -> TeamBook {
        let mut book = TeamBook::default();
        let roster = Team {
            members,
            ..Team::default()
        };
        book.set_roster(Arc::new(roster));
        book.set_hosts(hosts, &TaskGraph::default(), Timestamp(BEGUN));
        book
    }

    #[test]
    fn each_member_is_in_the_group_of_its_host() {
        let members = vec![
            member("alice", ""),
            member("bob", "GPU-Box"),
            member("carol", "other"),
        ];
        let group = |name: &str, members: &[&str]| {
            let members: Vec<String> = members.iter().map(ToString::to_string).collect();
            (name.to_string(), members)
        };
        assert_eq!(
            groups(&book(members.clone(), &hosts())),
            [
                group("laptop", &["alice"]),
                group("gpu-box", &["bob"]),
                group("mini", &[]),
                group("other", &["carol"]),
            ]
        );
        // No event has reported the host of the lead.
        assert_eq!(
            groups(&book(members, &[host("gpu-box", HostKind::Worker)])),
            [
                group("lead", &["alice"]),
                group("gpu-box", &["bob"]),
                group("other", &["carol"]),
            ]
        );
    }

    #[test]
    fn crew_on_one_machine_has_no_groups() {
        assert!(groups(&book(vec![member("alice", "")], &[])).is_empty());
    }

    #[test]
    fn host_that_has_left_is_listed_with_and_without_members() {
        let mut after = hosts();
        for host in &mut after {
            host.presence = HostPresence::Left;
        }
        let book = book(vec![member("bob", "gpu-box")], &after);
        let group = |name: &str, members: &[&str]| {
            let members = members.iter().map(ToString::to_string);
            (name.to_string(), members.collect::<Vec<String>>())
        };
        assert_eq!(
            groups(&book),
            [
                group("gpu-box", &["bob"]),
                group("laptop", &[]),
                group("mini", &[]),
            ]
        );
        assert_eq!(book.host_counts(), (0, 0));
    }

    #[test]
    fn host_is_over_when_it_has_left_and_no_member_has_an_open_task() {
        let mut left = hosts();
        left[0].presence = HostPresence::Left;
        let is_over = |status: MemberStatus, hosts: &[HostState], board: &TaskGraph| {
            let mut bob = member("bob", "gpu-box");
            bob.status = status;
            let book = book(vec![bob], hosts);
            let groups = book.groups();
            let group = groups.iter().find(|g| g.is_called("gpu-box")).unwrap();
            group.is_over(&book, board)
        };
        let (gone, nothing) = (MemberStatus::Shutdown, TaskGraph::default());
        assert!(is_over(gone, &left, &nothing));
        assert!(!is_over(gone, &hosts(), &nothing));
        assert!(!is_over(MemberStatus::Idle, &left, &nothing));
        assert!(!is_over(gone, &left, &board_on_hosts()), "bob has task 2");
    }

    #[test]
    fn age_of_a_report_counts_from_its_arrival() {
        let mut book = book(vec![], &hosts());
        let board = TaskGraph::default();
        let heard = |book: &TeamBook| book.known("GPU-box").map(|host| host.heard_at);
        assert_eq!(heard(&book), Some(Timestamp(BEGUN)));
        // The report of another host changes nothing.
        book.set_hosts(&hosts(), &board, Timestamp(BEGUN + 5.0));
        assert_eq!(heard(&book), Some(Timestamp(BEGUN)));
        let mut after = hosts();
        after[0].seen_at.0 += 1.0;
        book.set_hosts(&after, &board, Timestamp(BEGUN + 9.0));
        assert_eq!(heard(&book), Some(Timestamp(BEGUN + 9.0)));
    }

    #[test]
    fn age_of_a_lost_host_counts_from_its_last_renewal() {
        let mut book = book(vec![], &hosts());
        let board = TaskGraph::default();
        let heard = |book: &TeamBook| book.known("mini").map(|host| host.heard_at);
        let mut lost = hosts_with_one_lost();
        // The last renewal, which no report has contained, was three seconds after the one before.
        lost[2].seen_at.0 += 3.0;
        book.set_hosts(&lost, &board, Timestamp(BEGUN + 18.0));
        assert_eq!(heard(&book), Some(Timestamp(BEGUN + 3.0)));
        // Hosts that are read at once have an earlier time, because the lease is gone.
        book.set_hosts(&hosts_with_one_lost(), &board, Timestamp(BEGUN + 30.0));
        book.set_hosts(&lost, &board, Timestamp(BEGUN + 40.0));
        assert_eq!(heard(&book), Some(Timestamp(BEGUN + 3.0)));
    }

    #[test]
    fn lost_host_remembers_the_tasks_that_it_held() {
        let mut book = book(vec![], &hosts());
        let held = |book: &TeamBook| book.known("mini").unwrap().held.clone();
        let lost = hosts_with_one_lost();
        assert_eq!(book.newly_lost(&lost), [&lost[2]]);
        book.set_hosts(&lost, &board_on_hosts(), Timestamp(BEGUN));
        assert_eq!(held(&book), [TaskId(5)]);
        assert_eq!(book.host_counts(), (3, 1));
        assert_eq!(book.newly_lost(&lost), Vec::<&HostState>::new());
        // The claims are gone.
        book.set_hosts(&lost, &TaskGraph::default(), Timestamp(BEGUN));
        assert_eq!(held(&book), [TaskId(5)]);
        // The host has started again.
        book.set_hosts(&hosts(), &board_on_hosts(), Timestamp(BEGUN));
        assert_eq!(held(&book), Vec::<TaskId>::new());
    }
}
