//! The teammates of a worker, and the session in which they continue.

use std::path::Path;

use anyhow::{Result, anyhow};
use ring::digest::{SHA256, digest};

use crate::app::hub::HubPlan;
use crate::app::resume;
use crate::domain::host::HostName;
use crate::domain::ids::{NAME_MAX, Name};
use crate::domain::team::{DEFAULT_ROLE, Member, MemberStatus};
use crate::domain::team_preset::{LeadMode, TeamPreset};
use crate::store::{Journal, TranscriptFile};

/// Maximum length of the number of a teammate with its dash, such as `-256`.
const NUMBER_MAX: usize = 4;
/// Number of bytes of the hash in a shortened name.
const HASH_LENGTH: usize = 4;

/// What a run of the worker begins with.
pub struct PreparedWorker {
    /// The name of this host.
    pub host: HostName,
    /// The session that an earlier process of this host has left here; `None` to begin a new one.
    pub session: Option<String>,
    /// The teammates. Those that the session restores are not started twice.
    pub preset: TeamPreset,
}

/// Finds what an earlier process of this host has left, and lists the teammates.
///
/// # Errors
/// When the roster cannot be read.
pub fn prepare(plan: &HubPlan, root: &Path) -> Result<PreparedWorker> {
    let stores = plan.stores(root);
    let host = plan.host_name(root, &stores)?;
    let team = stores.roster.read()?;
    let own = team.members.iter().filter(|member| {
        member.host.eq_ignore_ascii_case(host.as_str()) && has_records(root, member)
    });
    // Later sessions have greater ids.
    let session = own.map(|member| member.session.clone()).max();
    // A copy of the directory has the records too. The original may continue the session.
    let session = session.filter(|_| plan.was_host(root, &host));
    let members = (1..=plan.slots).map(|number| {
        let name = member_name(&host, number)?;
        let member = Member {
            tags: plan.tags.clone(),
            status: MemberStatus::Idle,
            ..Member::new(name, DEFAULT_ROLE)
        };
        Ok((member, String::new()))
    });
    let members = members.collect::<Result<_>>()?;
    Ok(PreparedWorker {
        host,
        session,
        preset: TeamPreset {
            lead: LeadMode::Work,
            members,
        },
    })
}

/// Returns whether the session of `member` can be resumed here: its conversation or its journal is in this directory.
fn has_records(root: &Path, member: &Member) -> bool {
    // The roster is written by other hosts too, so the id must be checked before it becomes a part of a path.
    let session = &member.session;
    resume::is_id(session)
        && (TranscriptFile::open(root, session, &member.name)
            .path()
            .exists()
            || Journal::head(root, session).is_ok())
}

/// Returns the name of a teammate, such as `gpu-box-2`. The names of different hosts differ: if a name has no room for the
/// number, its end is replaced by a hash of the whole name.
fn member_name(host: &HostName, number: u16) -> Result<Name> {
    let room = NAME_MAX - NUMBER_MAX;
    let mut name = host.to_string();
    if name.len() > room {
        let hash = digest(&SHA256, name.to_ascii_lowercase().as_bytes());
        name = name.chars().take(room - 1 - 2 * HASH_LENGTH).collect();
        name.push('-');
        for byte in hash.as_ref().iter().take(HASH_LENGTH) {
            name.push_str(&format!("{byte:02x}"));
        }
    }
    Name::member(&format!("{name}-{number}")).map_err(|why| anyhow!("{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::{assert_eq, assert_ne};

    #[test]
    fn teammates_are_named_after_their_host() {
        let name = |host: &str, number| {
            let host = HostName::parse(host).unwrap();
            member_name(&host, number).unwrap().to_string()
        };
        assert_eq!(name("gpu-box", 2), "gpu-box-2");
        let longest = "a".repeat(28);
        assert_eq!(name(&longest, 256), format!("{longest}-256"));
        // Long names that differ at the end only.
        let (first, second) = (format!("{longest}-1"), format!("{longest}-2"));
        assert_ne!(name(&first, 1), name(&second, 1));
        assert_eq!(name(&first, 256).len(), NAME_MAX);
        assert!(name(&first, 1).starts_with(&"a".repeat(19)));
        assert_eq!(
            name(&first.to_uppercase(), 1).to_lowercase(),
            name(&first, 1)
        );
    }

    #[test]
    fn only_a_session_with_local_records_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let session = "0197c0de0197c0de0197c0de0197c0de";
        let member = |session: &str| Member {
            session: session.into(),
            ..Member::new(Name::member("gpu-1").unwrap(), DEFAULT_ROLE)
        };
        assert!(!has_records(dir.path(), &member(session)));
        Journal::open(dir.path(), session)
            .unwrap()
            .append("{}")
            .unwrap();
        assert!(has_records(dir.path(), &member(session)));
        for other in ["", "../0197c0de", "0197c0de0197c0de0197c0de0197c0df"] {
            assert!(!has_records(dir.path(), &member(other)), "{other}");
        }
    }
}
