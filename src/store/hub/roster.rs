//! The roster on a hub: one key per member, and one for the rest. A client has a copy, which is completed before each use.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::super::StoreError;
use super::super::roster_store::{RosterStore, TeamEdit};
use super::catch_up::{self, CopiedKeys, Rereads};
use super::connection::Hub;
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Stored, Write};
use super::problems::ReportedProblems;
use super::reads;
use super::retry::{self, CHANGED_WITHIN};
use super::streams::StreamKind;
use super::team_records::{RosterWrite, TEAM_KEY, TeamMirror};
use super::turn_failure::TurnFailure;
use crate::domain::team::Team;

/// The keys of the members. The maximum is the number of all names ever used.
const MEMBERS: CopiedKeys = CopiedKeys {
    kind: StreamKind::State,
    keys: "member.*",
    most: 100_000,
    hides_others: |_| false,
};

#[derive(Debug)]
pub(super) struct HubRoster {
    hub: Hub,
    mirror: Mutex<TeamMirror>,
    reported: ReportedProblems,
    failure: TurnFailure,
}

/// Returns the content of a record. One without a valid signature counts as empty, so that the next change replaces it.
fn content(stored: &Stored) -> &[u8] {
    if stored.is_unsigned {
        b"{}"
    } else {
        &stored.payload
    }
}

impl HubRoster {
    pub(super) fn new(hub: Hub) -> HubRoster {
        HubRoster {
            hub,
            mirror: Mutex::default(),
            reported: ReportedProblems::default(),
            failure: TurnFailure::default(),
        }
    }

    fn mirror(&self) -> MutexGuard<'_, TeamMirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the copy with every change that was stored before this call. If `is_join`, also notices a stream that was
    /// created again without an interruption of the connection.
    fn current(&self, is_join: bool) -> Result<MutexGuard<'_, TeamMirror>, StoreError> {
        let asked_at = Instant::now();
        let mut mirror = self.mirror();
        let (from, epoch) = (mirror.sequence, mirror.epoch);
        let (head, missed) = self.failure.attempt(asked_at, || {
            self.hub.run(move |connection| async move {
                if is_join {
                    reads::last_sequence(&connection, StreamKind::State).await?;
                }
                // The members are read last, because a member that leaves the key `team` has its own key before.
                let head = keys::read(&connection, StreamKind::State, TEAM_KEY).await?;
                let rereads = Rereads::default();
                let missed = catch_up::missed(&connection, MEMBERS, from, epoch, rereads).await?;
                Ok((head, missed))
            })
        })?;
        let is_complete = missed.is_complete;
        if is_complete {
            *mirror = TeamMirror::default();
        }
        mirror.epoch = missed.epoch;
        for stored in missed.records {
            mirror.apply(&stored.key, stored.sequence, content(&stored));
            mirror.sequence = mirror.sequence.max(stored.sequence);
        }
        let head = head.as_ref().map(|head| (head.sequence, content(head)));
        // A server that was cut off from its cluster answers with what it had before.
        let is_earlier = head.map_or(0, |(revision, _)| revision) < mirror.position().0;
        if is_earlier && !is_complete {
            return Ok(mirror);
        }
        if let Err(why) = mirror.set_head(head) {
            let why = format!("the team on the hub cannot be read: {why}: update crewdeck");
            return Err(StoreError::Io(std::io::Error::other(why)));
        }
        Ok(mirror)
    }

    /// Stores the messages in their order. Returns whether a conflict has stopped it; the messages before are stored.
    fn store(&self, mirror: &mut TeamMirror, writes: &[RosterWrite]) -> Result<bool, StoreError> {
        // The copy contains the members up to this sequence number.
        let mut last = mirror.sequence;
        let has_join = writes.iter().any(|write| write.is_join);
        for write in writes {
            let expected = if write.is_join {
                Expected::Keys(MEMBERS.keys, last)
            } else {
                Expected::Key(write.revision)
            };
            let (key, payload) = (write.key.clone(), write.payload.clone());
            let message = Write::new(StreamKind::State, key, payload, expected, "the team");
            let stored = self.hub.run(move |connection| async move {
                keys::write(&connection, message, ANSWER_WITHIN).await
            })?;
            let Some(sequence) = stored else {
                return Ok(true);
            };
            mirror.apply_own(write, sequence)?;
            // Otherwise others have stored a member in between, so that a member cannot join now.
            let is_member = has_join && write.key != TEAM_KEY;
            if write.is_join || (is_member && self.is_next(last, sequence)?) {
                last = sequence;
            }
        }
        Ok(false)
    }

    /// Returns whether the record of a member with the sequence number `sequence` is the next one after `last`.
    fn is_next(&self, last: u64, sequence: u64) -> Result<bool, StoreError> {
        let next = self.hub.run(move |connection| async move {
            keys::next(&connection, StreamKind::State, MEMBERS.keys, last + 1).await
        })?;
        Ok(next.is_some_and(|next| next.sequence == sequence))
    }
}

impl RosterStore for HubRoster {
    /// Returns what the last use has found, and the messages without a valid signature that reads of the hub have found.
    fn take_notices(&self) -> Vec<String> {
        let mut notices = {
            let mirror = self.mirror();
            let state = (mirror.epoch, mirror.sequence);
            self.reported.unreported(state, || mirror.problems())
        };
        notices.extend(self.hub.take_unsigned_reports());
        notices
    }

    fn read(&self) -> Result<Team, StoreError> {
        Ok(self.current(false)?.team())
    }

    fn change(&self, edit: &mut TeamEdit<'_>) -> Result<Team, StoreError> {
        let began = Instant::now();
        let (mut conflict, mut is_join) = (None, false);
        let mut attempt = 0;
        while began.elapsed() <= CHANGED_WITHIN {
            let mut mirror = self.current(is_join)?;
            // There was a conflict, but nothing is new: the stream has gone back, and everything is read again.
            if conflict.take() == Some(mirror.position()) {
                mirror.epoch = 0;
                drop(mirror);
                mirror = self.current(is_join)?;
            }
            let before = mirror.team();
            let mut after = before.clone();
            if let Err(why) = edit(&mut after) {
                if is_join {
                    return Err(why);
                }
                // The copy may come from a stream that was deleted. The next attempt finds that out.
                is_join = true;
                continue;
            }
            let is_split = mirror.is_old_format() && before != after;
            let writes = if is_split {
                mirror.split()?
            } else {
                mirror.changes(&before, &after)?
            };
            if !is_join && writes.iter().any(|write| write.is_join) {
                is_join = true;
                continue;
            }
            let position = mirror.position();
            if self.store(&mut mirror, &writes)? {
                conflict = Some(position);
                drop(mirror);
                retry::pause(attempt);
                attempt += 1;
            } else if !is_split {
                return Ok(after);
            }
        }
        Err(HubError::Contention { what: "team" }.into())
    }
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::test_server::TestServer;
    use super::super::values;
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::team::Member;

    fn member(name: &str) -> Member {
        Member::new(Name::member(name).unwrap(), "worker")
    }

    fn rename(roster: &HubRoster, to: &str) -> Team {
        let renamed = roster.change(&mut |team| {
            team.team_name = to.into();
            Ok(())
        });
        renamed.unwrap()
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn roster_of_an_earlier_version_is_read_and_split() {
        let server = TestServer::start();
        let hub = server.hub();
        let old = Team {
            members: vec![member("zoe"), member("Bob")],
            ..Team::default()
        };
        values::write(&hub, TEAM_KEY, &old, 0, "the team").unwrap();
        let (roster, other) = (HubRoster::new(hub.clone()), HubRoster::new(server.hub()));
        assert_eq!(roster.read().unwrap(), old);
        let renamed = rename(&roster, "web");
        assert_eq!(renamed.members, old.members);
        assert_eq!(other.read().unwrap(), renamed);
        let head = values::read::<Team>(&hub, TEAM_KEY).unwrap().value.unwrap();
        assert_eq!((head.team_name.as_str(), head.members.len()), ("web", 0));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn unreadable_member_is_reported_once() {
        let server = TestServer::start();
        let hub = server.hub();
        values::write(&hub, "member.bob", &7, 0, "the team").unwrap();
        let roster = HubRoster::new(hub);
        assert_eq!(roster.read().unwrap(), Team::default());
        let notices = roster.take_notices();
        assert!(notices[0].contains("teammate bob"), "{notices:?}");
        rename(&roster, "web");
        assert_eq!(roster.take_notices(), Vec::<String>::new());
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn changes_of_others_are_read_in_one_step() {
        let server = TestServer::start();
        let (roster, other) = (HubRoster::new(server.hub()), HubRoster::new(server.hub()));
        let add = |roster: &HubRoster, name: &str| {
            let added = roster.change(&mut |team| Ok(team.add_member(member(name), 1000)?));
            added.unwrap()
        };
        add(&roster, "first");
        for n in 0..80 {
            add(&other, &format!("agent-{n}"));
        }
        let team = add(&roster, "last");
        assert_eq!(team.members.len(), 82);
        assert_eq!(team, other.read().unwrap());
        let names = [&team.members[0], &team.members[1], &team.members[81]];
        let names = names.map(|member| member.name.as_str());
        assert_eq!(names, ["first", "agent-0", "last"]);
    }
}
