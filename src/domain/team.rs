//! The members of a team, and what each of them is doing.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::Name;
use super::stamp::Stamp;

/// Most teammates at a time that a setting may allow.
pub const AGENTS_MAX: usize = 500;
/// Teammates that any machine can hold.
const AGENTS_MIN: usize = 4;
/// Teammates for each core: most of the time they wait for a model.
const AGENTS_PER_CORE: usize = 8;
/// Memory for each teammate with the programs that it runs, in MiB.
const AGENT_MIB: u64 = 512;

/// Most teammates at a time where no setting says it: by the cores of the machine, and by its memory in MiB, where that
/// is known.
pub fn agents_for(cores: usize, memory: Option<u64>) -> usize {
    let by_cores = cores.saturating_mul(AGENTS_PER_CORE);
    let by_memory = memory.map_or(by_cores, |mib| {
        usize::try_from(mib / AGENT_MIB).unwrap_or(usize::MAX)
    });
    by_cores.min(by_memory).clamp(AGENTS_MIN, AGENTS_MAX)
}

/// Most members that the refusal of an unknown name lists.
const NAMED_MAX: usize = 32;

/// Where a member stands, in the reference's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// In a work phase.
    Working,
    /// Waits for mail or a task.
    #[default]
    Idle,
    /// Gone. The name may be spawned again.
    Shutdown,
}

impl fmt::Display for MemberStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemberStatus::Working => "working",
            MemberStatus::Idle => "idle",
            MemberStatus::Shutdown => "shutdown",
        })
    }
}

/// Whether a member must have its plan approved before it may write or run anything.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PlanRule {
    /// It may start at once.
    #[default]
    Free,
    /// It reads and plans until somebody approves.
    Required,
}

/// One member, as `.team/config.json` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name. Unique without regard to case.
    pub name: Name,
    /// What it is there for, in the lead's words.
    #[serde(default)]
    pub role: String,
    /// Where it stands.
    #[serde(default)]
    pub status: MemberStatus,
    /// What it is good at: it may claim tasks whose tags are all among these.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether its plan needs approval.
    #[serde(default)]
    pub plan: PlanRule,
    /// Its model, where it is another than the lead's; empty: the lead's.
    #[serde(default)]
    pub model: String,
    /// The session that it belongs to, which brings it back when it is gone on with; empty: it has left
    /// for good, or another program entered it.
    #[serde(default)]
    pub session: String,
    /// Its first instructions, until its first turn has ended: a restart before that says them again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first: String,
    /// When it was last known to be alive; zero: unknown. Not renewed while it rests or a request waits.
    #[serde(default)]
    pub seen_at: Stamp,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Member {
    /// A new member, idle.
    pub fn new(name: Name, role: &str) -> Member {
        Member {
            name,
            role: role.into(),
            status: MemberStatus::Idle,
            tags: Vec::new(),
            plan: PlanRule::Free,
            model: String::new(),
            session: String::new(),
            first: String::new(),
            seen_at: Stamp(0.0),
            extra: Map::new(),
        }
    }
}

/// The roster, as `.team/config.json` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Team {
    /// The team's name.
    #[serde(default = "default_name")]
    pub team_name: String,
    /// Everybody but the lead, also those who are gone.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn default_name() -> String {
    "default".into()
}

impl Default for Team {
    fn default() -> Team {
        Team {
            team_name: default_name(),
            members: Vec::new(),
            extra: Map::new(),
        }
    }
}

/// Why the roster refused a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// A member of that name is at work.
    #[error("'{0}' is currently {1}: write to it with send_message, or choose another name")]
    Busy(Name, MemberStatus),
    /// Too many members that are not gone.
    #[error(
        "the team is full ({0} teammates): shut one down first; the user can allow more with the setting agents_max"
    )]
    Full(usize),
    /// Nobody of that name; the members that there are.
    #[error("no teammate is called '{name}': the team has {members}")]
    Unknown {
        /// Who was looked for.
        name: String,
        /// Who is there.
        members: String,
    },
}

impl Team {
    /// The member of that name, without regard to case.
    pub fn find(&self, name: &Name) -> Option<&Member> {
        self.members.iter().find(|m| m.name.same(name))
    }

    /// Adds a member, or takes one back in who was gone; `most` may be present then.
    pub fn enter(&mut self, member: Member, most: usize) -> Result<(), TeamError> {
        let is_full = self.present().count() >= most;
        if let Some(there) = self.members.iter_mut().find(|m| m.name.same(&member.name)) {
            if there.status != MemberStatus::Shutdown {
                return Err(TeamError::Busy(there.name.clone(), there.status));
            }
            if is_full {
                return Err(TeamError::Full(most));
            }
            let extra = std::mem::take(&mut there.extra);
            *there = Member { extra, ..member };
            return Ok(());
        }
        if is_full {
            return Err(TeamError::Full(most));
        }
        self.members.push(member);
        Ok(())
    }

    /// Members that are not gone.
    pub fn present(&self) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(|m| m.status != MemberStatus::Shutdown)
    }

    /// Whether it differs from `other` in more than when its members were last seen.
    pub fn is_other_than(&self, other: &Team) -> bool {
        let timeless = |team: &Team| {
            let mut team = team.clone();
            team.members
                .iter_mut()
                .for_each(|m| m.seen_at = Stamp::default());
            team
        };
        timeless(self) != timeless(other)
    }

    /// The refusal for a name that is not on the roster.
    pub fn unknown(&self, name: &str) -> TeamError {
        let present = self.present().map(|m| m.name.to_string());
        let gone = self.members.iter();
        let gone = gone.filter(|m| m.status == MemberStatus::Shutdown);
        let gone = gone.map(|m| format!("{} ({})", m.name, m.status));
        let mut names: Vec<String> = present.chain(gone).take(NAMED_MAX + 1).collect();
        if names.len() > NAMED_MAX {
            names.truncate(NAMED_MAX);
            names.push("…".into());
        }
        TeamError::Unknown {
            name: super::text::one_line(&super::text::clip(name, 80)),
            members: if names.is_empty() {
                "nobody yet".into()
            } else {
                names.join(", ")
            },
        }
    }
}

/// What an agent is doing, first-hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Activity {
    /// Waits for a prompt, mail or a task.
    #[default]
    Idle,
    /// The model is answering.
    Thinking,
    /// Its conversation is being summarised.
    Compacting,
    /// A tool runs.
    Tool {
        /// Its name.
        tool: String,
        /// What it works on, in one line.
        on: String,
    },
    /// The model's server told it to wait; the countdown ends at `until`.
    Backoff {
        /// Why, in a few words.
        cause: String,
        /// When the next try is.
        until: Stamp,
        /// The number of the next try, counted from 1 for the first repeat. 0: its call waits for the back-off
        /// of another agent.
        attempt: u32,
        /// Most tries of the call, the first included; 0: not known.
        #[serde(default, skip_serializing_if = "is_zero")]
        attempts_max: u32,
    },
    /// Its call waits because as many others as may be are in flight.
    Queued {
        /// Its place in line; the first is 1.
        place: usize,
    },
    /// Something of it lies in Needs you.
    NeedsYou {
        /// The request.
        request: super::request::RequestKind,
    },
    /// It ended its turn and left its task open; only mail brings it on.
    Stuck {
        /// Why, in one line.
        why: String,
    },
    /// Its model failed for good; only mail or a prompt brings it on.
    Failed {
        /// Why, in one line.
        why: String,
    },
    /// It has shut down.
    Gone,
}

impl Activity {
    /// Whether something runs for it right now.
    pub fn is_running(&self) -> bool {
        match self {
            Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => true,
            Activity::Backoff { .. }
            | Activity::Queued { .. }
            | Activity::Idle
            | Activity::NeedsYou { .. }
            | Activity::Stuck { .. }
            | Activity::Failed { .. }
            | Activity::Gone => false,
        }
    }

    /// Whether it costs time or tokens right now.
    pub fn is_busy(&self) -> bool {
        match self {
            Activity::Thinking
            | Activity::Compacting
            | Activity::Tool { .. }
            | Activity::Backoff { .. }
            | Activity::Queued { .. } => true,
            Activity::Idle
            | Activity::NeedsYou { .. }
            | Activity::Stuck { .. }
            | Activity::Failed { .. }
            | Activity::Gone => false,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Member {
        Member::new(Name::member(name).unwrap(), "coder")
    }

    #[test]
    fn a_name_is_free_again_only_after_shutdown() {
        let mut team = Team::default();
        team.enter(member("alice"), 16).unwrap();
        assert!(matches!(
            team.enter(member("ALICE"), 16),
            Err(TeamError::Busy(..))
        ));
        team.members[0].status = MemberStatus::Shutdown;
        team.enter(member("Alice"), 16).unwrap();
        assert_eq!(team.members.len(), 1);
    }

    #[test]
    fn a_full_team_takes_no_one_in_not_even_one_who_was_gone() {
        let mut team = Team::default();
        team.enter(member("alice"), 1).unwrap();
        team.members[0].status = MemberStatus::Shutdown;
        team.enter(member("bob"), 1).unwrap();
        for name in ["alice", "carol"] {
            let refused = team.enter(member(name), 1);
            assert_eq!(refused, Err(TeamError::Full(1)), "{name}");
        }
    }

    #[test]
    fn cores_and_memory_say_how_many_teammates_fit() {
        for (cores, memory, most) in [
            (1, None, 8),
            (2, Some(24_000), 16),
            (16, Some(64_000), 125),
            (16, Some(4_000), 7),
            (1, Some(500), 4),
            (256, None, 500),
        ] {
            assert_eq!(agents_for(cores, memory), most, "{cores} {memory:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_members() {
        let mut team = Team::default();
        team.enter(member("alice"), 16).unwrap();
        let text = team.unknown("alcie").to_string();
        assert_eq!(text, "no teammate is called 'alcie': the team has alice");
        team.members[0].status = MemberStatus::Shutdown;
        team.enter(member("bob"), 16).unwrap();
        let text = team.unknown("alcie").to_string();
        assert_eq!(
            text,
            "no teammate is called 'alcie': the team has bob, alice (shutdown)"
        );
    }

    #[test]
    fn that_a_member_was_seen_again_is_no_other_team() {
        let mut team = Team::default();
        team.enter(member("alice"), 16).unwrap();
        let mut other = team.clone();
        other.members[0].seen_at = Stamp(5.0);
        assert!(!team.is_other_than(&other));
        other.members[0].status = MemberStatus::Idle;
        other.members[0].role = "reviewer".into();
        assert!(team.is_other_than(&other));
    }

    #[test]
    fn a_roster_of_the_reference_is_read() {
        let team: Team = serde_json::from_str(
            r#"{"team_name":"t","members":[{"name":"bob","role":"r","status":"working"}],"x":1}"#,
        )
        .unwrap();
        assert_eq!(team.members[0].status, MemberStatus::Working);
        assert_eq!(serde_json::to_value(&team).unwrap()["x"], 1);
    }
}
