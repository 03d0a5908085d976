//! What has changed between two reports about the hosts of a crew.

use std::collections::BTreeMap;

use crate::domain::host::{HostPresence, HostState};
use crate::domain::ids::{Name, TaskId};
use crate::domain::team::{Member, Team};

/// What differs between two reports about hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostsChange {
    None,
    /// Only the load of a host, or when it was last seen.
    Load,
    /// A host, its session, its presence, or whether it drains.
    Session,
}

pub fn change_between(before: &[HostState], after: &[HostState]) -> HostsChange {
    if before == after {
        return HostsChange::None;
    }
    let is_same = |(a, b): (&HostState, &HostState)| {
        a.session == b.session
            && a.presence == b.presence
            && a.info.name == b.info.name
            && a.info.is_draining == b.info.is_draining
    };
    if before.len() == after.len() && before.iter().zip(after).all(is_same) {
        HostsChange::Load
    } else {
        HostsChange::Session
    }
}

/// Returns the names of the hosts whose session in `sessions` is lost now, and marks these sessions. Each is returned once.
pub fn take_lost(sessions: &mut BTreeMap<String, bool>, hosts: &[HostState]) -> Vec<String> {
    let lost = hosts.iter().filter(|h| h.presence == HostPresence::Lost);
    let lost = lost.filter(|host| {
        let is_known = sessions.get_mut(&host.session);
        is_known.is_some_and(|is_known| !std::mem::replace(is_known, true))
    });
    lost.map(|host| host.info.name.to_string()).collect()
}

pub fn presence_of(host: &str, hosts: &[HostState]) -> Option<HostPresence> {
    let mut hosts = hosts.iter();
    let found = hosts.find(|h| h.info.name.as_str().eq_ignore_ascii_case(host));
    found.map(|host| host.presence)
}

/// Returns the members that another host than `own` should run, but does not, because it is not present.
pub fn members_without_host(team: &Team, own: &str, hosts: &[HostState]) -> Vec<Name> {
    let is_lost = |member: &&Member| {
        let host = member.host.as_str();
        !host.is_empty()
            && !host.eq_ignore_ascii_case(own)
            && presence_of(host, hosts) != Some(HostPresence::Present)
    };
    let lost = team.present().filter(is_lost);
    lost.map(|member| member.name.clone()).collect()
}

/// Returns the notice about a host that works no longer, or no longer on `tasks`.
pub fn offered_text(host: &str, presence: Option<HostPresence>, tasks: &[TaskId]) -> String {
    let what = match presence {
        Some(HostPresence::Lost) => "is lost",
        Some(HostPresence::Left) => "has left",
        Some(HostPresence::Present) => "has restarted",
        None => "is gone",
    };
    let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    let offered = match ids.as_slice() {
        [] => return format!("Host {host} {what}. It had no task."),
        [id] => format!("task {id} is"),
        ids => format!("tasks {} are", ids.join(", ")),
    };
    format!("Host {host} {what}: {offered} offered again. Its worktrees keep what was done.")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::host::{HostInfo, HostKind, HostName};
    use crate::domain::timestamp::Timestamp;

    fn host(name: &str, session: &str, presence: HostPresence) -> HostState {
        HostState {
            info: HostInfo {
                slots: 1,
                ..HostInfo::new(HostName::parse(name).unwrap(), HostKind::Worker)
            },
            session: session.into(),
            presence,
            seen_at: Timestamp(1.0),
        }
    }

    #[test]
    fn change_of_the_load_alone_is_no_change_of_the_session() {
        let before = [host("gpu", "s1", HostPresence::Present)];
        let changed = |change: fn(&mut HostState)| {
            let mut after = before.clone();
            change(&mut after[0]);
            change_between(&before, &after)
        };
        assert_eq!(changed(|_| {}), HostsChange::None);
        assert_eq!(changed(|h| h.info.load = 2.0), HostsChange::Load);
        assert_eq!(changed(|h| h.seen_at = Timestamp(2.0)), HostsChange::Load);
        let changes: [fn(&mut HostState); 3] = [
            |h| h.session = "s2".into(),
            |h| h.presence = HostPresence::Left,
            |h| h.info.is_draining = true,
        ];
        for change in changes {
            assert_eq!(changed(change), HostsChange::Session);
        }
        assert_eq!(change_between(&before, &[]), HostsChange::Session);
    }

    #[test]
    fn loss_of_a_host_that_was_present_is_reported_once() {
        let mut sessions = BTreeMap::from([("s1".to_string(), false)]);
        let present = [host("a", "s1", HostPresence::Present)];
        assert_eq!(take_lost(&mut sessions, &present), Vec::<String>::new());
        let lost = [
            host("a", "s1", HostPresence::Lost),
            host("b", "s2", HostPresence::Lost),
        ];
        assert_eq!(take_lost(&mut sessions, &lost), ["a"]);
        assert_eq!(take_lost(&mut sessions, &lost), Vec::<String>::new());
    }

    #[test]
    fn notice_says_how_the_host_ended() {
        let text = |presence, tasks: &[TaskId]| offered_text("gpu", presence, tasks);
        let (one, two) = ([TaskId(1)], [TaskId(1), TaskId(2)]);
        let end = "offered again. Its worktrees keep what was done.";
        for (presence, tasks, expected) in [
            (
                HostPresence::Lost,
                &[][..],
                "Host gpu is lost. It had no task.".to_string(),
            ),
            (
                HostPresence::Lost,
                &one[..],
                format!("Host gpu is lost: task #1 is {end}"),
            ),
            (
                HostPresence::Left,
                &two[..],
                format!("Host gpu has left: tasks #1, #2 are {end}"),
            ),
            (
                HostPresence::Present,
                &one[..],
                format!("Host gpu has restarted: task #1 is {end}"),
            ),
        ] {
            assert_eq!(text(Some(presence), tasks), expected);
        }
    }

    #[test]
    fn members_of_absent_hosts_are_without_a_host() {
        let member = |name: &str, host: &str| Member {
            host: host.into(),
            ..Member::new(Name::member(name).unwrap(), "coder")
        };
        let team = Team {
            members: vec![
                member("ann", ""),
                member("bob", "GPU"),
                member("cid", "lost"),
                member("dan", "unknown"),
                member("eve", "own"),
            ],
            ..Team::default()
        };
        let hosts = [
            host("gpu", "s1", HostPresence::Present),
            host("lost", "s2", HostPresence::Lost),
        ];
        let names = |own| {
            let names = members_without_host(&team, own, &hosts).into_iter();
            names.map(|name| name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("own"), ["cid", "dan"]);
        assert_eq!(names(""), ["cid", "dan", "eve"]);
    }
}
