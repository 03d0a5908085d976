//! How the roster is stored on a hub, and the team that follows from the records. Does no I/O.
//!
//! The key `team` has everything but the members. Each member is a key `member.NAME`, so changes of different members do
//! not compete. A member that was removed leaves a record without a member. Earlier versions stored the members in the key
//! `team`: such a member counts as long as its own key has never been written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::StoreError;
use crate::domain::ids::Name;
use crate::domain::team::{Member, MemberStatus, Team};

/// The key of everything but the members.
pub(super) const TEAM_KEY: &str = "team";
/// What to do about a member whose record cannot be read. A newer crewdeck may have written it, so it is not replaced.
const OTHER_NAME: &str = ": update crewdeck, or use another name";
/// Begins the key of a member.
const MEMBER: &str = "member.";

/// The content of the key of a member.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct MemberRecord {
    /// The members are in the order of these numbers, which is the order in which they joined.
    #[serde(default)]
    order: u64,
    /// `None` if the member was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member: Option<Member>,
}

#[derive(Debug)]
struct CopiedMember {
    revision: u64,
    /// The record, or why it cannot be read.
    record: Result<MemberRecord, String>,
}

/// One message that stores a part of a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RosterWrite {
    pub key: String,
    pub payload: Vec<u8>,
    /// The revision of the key that the message replaces; 0 if the key has none.
    pub revision: u64,
    /// Whether a member joins. Whether it may depends on all members, so none may be stored in between.
    pub is_join: bool,
}

/// The copy that a client has of the roster.
#[derive(Debug, Default)]
pub(super) struct TeamMirror {
    /// The content of the key `team`. Has members only if an earlier version has written it.
    head: Team,
    head_revision: u64,
    /// By the last part of the key.
    members: BTreeMap<String, CopiedMember>,
    /// The sequence number up to which all changes of members are in this copy.
    pub sequence: u64,
    /// The epoch of the connection in which the members were read; 0 if they must be read again.
    pub epoch: u64,
}

/// Returns the last part of a member's key. A dot would separate parts, and no name contains `=`.
fn member_key(name: &Name) -> String {
    name.as_str().to_ascii_lowercase().replace('.', "=")
}

impl TeamMirror {
    /// Sets the content of the key `team`; `None` if the key is missing.
    ///
    /// # Errors
    /// When the content is invalid.
    pub fn set_head(&mut self, stored: Option<(u64, &[u8])>) -> Result<(), serde_json::Error> {
        (self.head_revision, self.head) = match stored {
            Some((revision, payload)) => (revision, serde_json::from_slice(payload)?),
            None => (0, Team::default()),
        };
        Ok(())
    }

    /// Adds the record of a member; `key` is the last part of its key.
    pub fn apply(&mut self, key: &str, revision: u64, payload: &[u8]) {
        // An own write is in this copy before it is read.
        if self.members.get(key).is_some_and(|m| m.revision > revision) {
            return;
        }
        let record = serde_json::from_slice(payload).map_err(|why| {
            let name = key.replace('=', ".");
            format!(
                "teammate {name} is ignored and missing in the team, because its record on the hub cannot be read ({why}){OTHER_NAME}"
            )
        });
        self.members
            .insert(key.into(), CopiedMember { revision, record });
    }

    /// Adds a message that this client has stored.
    ///
    /// # Errors
    /// When the content is invalid.
    pub fn apply_own(&mut self, write: &RosterWrite, revision: u64) -> Result<(), StoreError> {
        match write.key.strip_prefix(MEMBER) {
            Some(key) => self.apply(key, revision, &write.payload),
            None => self.set_head(Some((revision, &write.payload[..])))?,
        }
        Ok(())
    }

    /// Returns what changes with every change of the roster by others.
    pub fn position(&self) -> (u64, u64) {
        (self.head_revision, self.sequence)
    }

    /// Returns why members cannot be used, one line each.
    pub fn problems(&self) -> Vec<String> {
        let problems = self.members.values();
        problems
            .filter_map(|member| member.record.as_ref().err().cloned())
            .collect()
    }

    /// Returns the team, with the members in the order in which they joined.
    pub fn team(&self) -> Team {
        let mut members = Vec::new();
        for (key, copied) in &self.members {
            if let Ok(record) = &copied.record
                && let Some(member) = &record.member
            {
                members.push((record.order, key.clone(), member.clone()));
            }
        }
        for (order, key, member) in self.unsplit() {
            members.push((order, key, member.clone()));
        }
        members.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Team {
            team_name: self.head.team_name.clone(),
            members: members.into_iter().map(|(.., member)| member).collect(),
            lead_models: self.head.lead_models.clone(),
            extra: self.head.extra.clone(),
        }
    }

    /// Returns whether the key `team` was written by an earlier version, and has members.
    pub fn is_old_format(&self) -> bool {
        !self.head.members.is_empty()
    }

    /// Returns the members that only the key `team` has, with their order and key.
    fn unsplit(&self) -> Vec<(u64, String, &Member)> {
        let mut seen = BTreeSet::new();
        let mut unsplit = Vec::new();
        for (order, member) in (1..).zip(&self.head.members) {
            let key = member_key(&member.name);
            if !self.members.contains_key(&key) && seen.insert(key.clone()) {
                unsplit.push((order, key, member));
            }
        }
        unsplit
    }

    /// Returns the messages that give each member a key of its own, in the order in which they must be stored. The key
    /// `team` loses its members last, so no member is missing in between.
    ///
    /// # Errors
    /// When a value cannot be serialized.
    pub fn split(&self) -> Result<Vec<RosterWrite>, StoreError> {
        let mut writes = Vec::new();
        for (order, key, member) in self.unsplit() {
            let member = Some(member.clone());
            writes.push(RosterWrite {
                key: format!("{MEMBER}{key}"),
                payload: serde_json::to_vec(&MemberRecord { order, member })?,
                revision: 0,
                is_join: false,
            });
        }
        writes.push(self.head_write(&self.head)?);
        Ok(writes)
    }

    fn head_write(&self, team: &Team) -> Result<RosterWrite, StoreError> {
        let head = Team {
            team_name: team.team_name.clone(),
            members: Vec::new(),
            lead_models: team.lead_models.clone(),
            extra: team.extra.clone(),
        };
        Ok(RosterWrite {
            key: TEAM_KEY.into(),
            payload: serde_json::to_vec(&head)?,
            revision: self.head_revision,
            is_join: false,
        })
    }

    /// Returns the messages that change the team `before`, the one of this copy, to `after`, in the order in which they
    /// must be stored. Members that join come last: an edit that is applied again must not find a member that it has added.
    ///
    /// # Errors
    /// When a changed member has a record that cannot be read, or a value cannot be serialized.
    pub fn changes(&self, before: &Team, after: &Team) -> Result<Vec<RosterWrite>, StoreError> {
        let old = by_key(before);
        let new = by_key(after);
        let mut writes = Vec::new();
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            writes.push(self.member_write(key, None, 0, false)?);
        }
        let orders = self.members.values().filter_map(|m| m.record.as_ref().ok());
        let mut last = orders.map(|record| record.order).max().unwrap_or(0);
        let mut joins = Vec::new();
        // In the order of the team, so that several new members get their numbers in this order.
        for member in &after.members {
            let key = member_key(&member.name);
            let is_first = new
                .get(&key)
                .is_some_and(|first| std::ptr::eq(*first, member));
            let known = old.get(&key);
            if !is_first || known.is_some_and(|known| *known == member) {
                continue;
            }
            let is_present = member.status != MemberStatus::Shutdown;
            let is_join =
                known.is_none_or(|known| known.status == MemberStatus::Shutdown && is_present);
            last += u64::from(known.is_none());
            let write = self.member_write(&key, Some(member), last, is_join)?;
            if is_join {
                joins.push(write);
            } else {
                writes.push(write);
            }
        }
        let is_head_changed = before.team_name != after.team_name
            || before.lead_models != after.lead_models
            || before.extra != after.extra;
        if is_head_changed {
            writes.push(self.head_write(after)?);
        }
        writes.append(&mut joins);
        Ok(writes)
    }

    /// Returns the message that stores a member; `None` removes it. A member that was not in the team gets the number
    /// `order`.
    fn member_write(
        &self,
        key: &str,
        member: Option<&Member>,
        order: u64,
        is_join: bool,
    ) -> Result<RosterWrite, StoreError> {
        let copied = self.members.get(key);
        let stored = copied.and_then(|copied| copied.record.as_ref().ok());
        if let Some(Err(why)) = copied.map(|copied| &copied.record) {
            return Err(StoreError::Io(std::io::Error::other(why.clone())));
        }
        let order = match stored {
            Some(record) if record.member.is_some() => record.order,
            Some(_) | None => order,
        };
        let member = member.cloned();
        Ok(RosterWrite {
            key: format!("{MEMBER}{key}"),
            payload: serde_json::to_vec(&MemberRecord { order, member })?,
            revision: copied.map_or(0, |copied| copied.revision),
            is_join,
        })
    }
}

/// Returns the members by key. Of two members with one key, the first counts.
fn by_key(team: &Team) -> BTreeMap<String, &Member> {
    let mut all = BTreeMap::new();
    for member in &team.members {
        all.entry(member_key(&member.name)).or_insert(member);
    }
    all
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::team::ModelChoice;

    fn member(name: &str) -> Member {
        Member::new(Name::member(name).unwrap(), "worker")
    }

    fn names(team: &Team) -> Vec<&str> {
        team.members.iter().map(|m| m.name.as_str()).collect()
    }

    /// The stream of a roster, of which the last message of each key is kept.
    #[derive(Default)]
    struct Log {
        last: u64,
        messages: BTreeMap<String, (u64, Vec<u8>)>,
    }

    impl Log {
        /// Stores a message if its key has the expected revision.
        fn store(&mut self, write: &RosterWrite) -> Option<u64> {
            let stored = self.messages.get(&write.key);
            if stored.map_or(0, |(revision, _)| *revision) != write.revision {
                return None;
            }
            self.last += 1;
            let message = (self.last, write.payload.clone());
            self.messages.insert(write.key.clone(), message);
            Some(self.last)
        }

        /// Returns the copy of a client that has read everything.
        fn read(&self) -> TeamMirror {
            let mut mirror = TeamMirror::default();
            for (key, (revision, payload)) in &self.messages {
                match key.strip_prefix(MEMBER) {
                    Some(key) => mirror.apply(key, *revision, payload),
                    None => mirror.set_head(Some((*revision, &payload[..]))).unwrap(),
                }
                mirror.sequence = mirror.sequence.max(*revision);
            }
            mirror
        }

        fn change(&mut self, mirror: &mut TeamMirror, edit: impl Fn(&mut Team)) -> Vec<String> {
            if mirror.is_old_format() {
                for write in mirror.split().unwrap() {
                    let revision = self.store(&write).unwrap();
                    mirror.apply_own(&write, revision).unwrap();
                }
            }
            let before = mirror.team();
            let mut after = before.clone();
            edit(&mut after);
            let writes = mirror.changes(&before, &after).unwrap();
            for write in &writes {
                let revision = self.store(write).unwrap();
                mirror.apply_own(write, revision).unwrap();
            }
            assert_eq!(mirror.team(), after);
            writes.into_iter().map(|write| write.key).collect()
        }
    }

    #[test]
    fn only_what_an_edit_changes_is_written() {
        let (mut log, mut mirror) = (Log::default(), TeamMirror::default());
        let add = |team: &mut Team, name: &str| team.add_member(member(name), 16).unwrap();
        let keys = log.change(&mut mirror, |team| add(team, "zoe"));
        assert_eq!(keys, ["member.zoe"]);
        log.change(&mut mirror, |team| add(team, "Bob"));
        let keys = log.change(&mut mirror, |team| team.members[1].role = "tester".into());
        assert_eq!(keys, ["member.bob"]);
        assert_eq!(log.change(&mut mirror, |_| {}), Vec::<String>::new());
        let choice = ModelChoice {
            name: "fast".into(),
            named: true,
        };
        let choose = |team: &mut Team| {
            team.set_lead_model("s1", Some(choice.clone()));
            team.members[0].role = "tester".into();
        };
        assert_eq!(log.change(&mut mirror, choose), ["member.zoe", "team"]);
        assert_eq!(names(&log.read().team()), ["zoe", "Bob"]);
        assert_eq!(log.read().team(), mirror.team());
    }

    #[test]
    fn members_that_join_are_written_last() {
        let (mut log, mut mirror) = (Log::default(), TeamMirror::default());
        log.change(&mut mirror, |team| team.members.push(member("bob")));
        log.change(&mut mirror, |team| team.members.push(member("carol")));
        log.change(&mut mirror, |team| {
            team.members[0].status = MemberStatus::Shutdown;
        });
        let before = mirror.team();
        let mut after = before.clone();
        after.team_name = "web".into();
        after.add_member(member("BOB"), 16).unwrap();
        after.add_member(member("dora"), 16).unwrap();
        after.members[1].role = "tester".into();
        let writes = mirror.changes(&before, &after).unwrap();
        let keys = writes.iter().map(|w| (w.key.as_str(), w.is_join));
        let keys: Vec<(&str, bool)> = keys.collect();
        let expected = [
            ("member.carol", false),
            ("team", false),
            ("member.bob", true),
            ("member.dora", true),
        ];
        assert_eq!(keys, expected);
        // The one that came back stays in its place.
        log.change(&mut mirror, |team| *team = after.clone());
        assert_eq!(names(&log.read().team()), ["BOB", "carol", "dora"]);
    }

    #[test]
    fn removed_member_comes_back_at_the_end() {
        let (mut log, mut mirror) = (Log::default(), TeamMirror::default());
        for name in ["bob", "carol"] {
            log.change(&mut mirror, |team| team.members.push(member(name)));
        }
        log.change(&mut mirror, |team| drop(team.members.remove(0)));
        assert_eq!(names(&log.read().team()), ["carol"]);
        log.change(&mut mirror, |team| team.members.push(member("bob")));
        assert_eq!(names(&log.read().team()), ["carol", "bob"]);
    }

    #[test]
    fn members_of_an_earlier_version_are_read_and_split() {
        let team = Team {
            team_name: "web".into(),
            members: vec![member("zoe"), member("Bob"), member("alice")],
            ..Team::default()
        };
        let mut log = Log::default();
        let old = RosterWrite {
            key: TEAM_KEY.into(),
            payload: serde_json::to_vec(&team).unwrap(),
            revision: 0,
            is_join: false,
        };
        log.store(&old).unwrap();
        let mut mirror = log.read();
        assert_eq!(mirror.team(), team);
        // The writer is killed after each message of the split.
        let writes = mirror.split().unwrap();
        for write in &writes {
            log.store(write).unwrap();
            assert_eq!(log.read().team(), team, "{}", write.key);
        }
        assert!(!log.read().is_old_format());
        // A client that has not seen the split conflicts with its first message.
        assert_eq!(log.store(&mirror.split().unwrap()[0]), None);
        mirror = log.read();
        log.change(&mut mirror, |team| team.members.push(member("dora")));
        assert_eq!(names(&log.read().team()), ["zoe", "Bob", "alice", "dora"]);
    }

    #[test]
    fn unreadable_member_is_reported_and_not_replaced() {
        let mut mirror = TeamMirror::default();
        mirror.apply("bob", 3, b"{\"member\": 7}");
        assert!(mirror.problems()[0].starts_with("teammate bob"));
        let before = mirror.team();
        assert_eq!(before, Team::default());
        let mut after = before.clone();
        after.members.push(member("Bob"));
        let error = mirror.changes(&before, &after).unwrap_err().to_string();
        assert!(error.contains("use another name"), "{error}");
    }

    #[test]
    fn own_write_is_not_replaced_by_an_older_record() {
        let (mut log, mut mirror) = (Log::default(), TeamMirror::default());
        log.change(&mut mirror, |team| team.members.push(member("bob")));
        let (revision, older) = log.messages["member.bob"].clone();
        log.change(&mut mirror, |team| team.members[0].role = "tester".into());
        mirror.apply("bob", revision, &older);
        assert_eq!(mirror.team().members[0].role, "tester");
    }

    proptest! {
        #[test]
        fn records_give_the_team_that_the_edits_have_left(
            steps in prop::collection::vec((0_usize..6, 0_u8..4), 0..40),
        ) {
            let (mut log, mut mirror) = (Log::default(), TeamMirror::default());
            let mut team = Team::default();
            for (which, what) in steps {
                let name = ["a", "b", "c", "d", "e", "f"][which];
                let edit = |team: &mut Team| {
                    let at = team.members.iter().position(|m| m.name.as_str() == name);
                    match (at, what) {
                        (None, 0 | 1) => team.members.push(member(name)),
                        (Some(at), 0) => drop(team.members.remove(at)),
                        (Some(at), 1) => team.members[at].status = MemberStatus::Shutdown,
                        (Some(at), 2) => team.members[at].status = MemberStatus::Working,
                        (_, 3) => team.team_name = name.into(),
                        _ => {}
                    }
                };
                edit(&mut team);
                log.change(&mut mirror, edit);
                prop_assert_eq!(&mirror.team(), &team);
                prop_assert_eq!(&log.read().team(), &team);
            }
        }
    }
}
