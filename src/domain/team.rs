//! The members of a team and their activities.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::Name;
use super::timestamp::Timestamp;

/// Upper bound of the setting `agents_max`, the maximum number of teammates.
pub const AGENTS_MAX: usize = 500;
/// Lower bound of the default for `agents_max`.
const AGENTS_MIN: usize = 4;
/// Default for `agents_max` per CPU core. Several teammates can share a core, because they mostly wait for a model.
const AGENTS_PER_CORE: usize = 8;
/// Memory in MiB that the default for `agents_max` assumes for each teammate, including the programs that it runs.
const AGENT_MIB: u64 = 512;

/// Returns the default for `agents_max` on a machine with `cores` CPU cores and `memory` MiB of memory (`None` if
/// unknown): 8 teammates per core, but at most one per 512 MiB of known memory; in any case from 4 to [`AGENTS_MAX`].
pub fn default_agents_max(cores: usize, memory: Option<u64>) -> usize {
    let by_cores = cores.saturating_mul(AGENTS_PER_CORE);
    let by_memory = memory.map_or(by_cores, |mib| {
        usize::try_from(mib / AGENT_MIB).unwrap_or(usize::MAX)
    });
    by_cores.min(by_memory).clamp(AGENTS_MIN, AGENTS_MAX)
}

/// The role of a teammate that was started without a role.
pub const DEFAULT_ROLE: &str = "teammate";
/// Maximum number of names that the message of [`TeamError::Unknown`] lists.
const NAMED_MAX: usize = 32;

/// The status of a member. The names are those of learn-claude-code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    Working,
    /// Waits for messages or a task.
    #[default]
    Idle,
    /// The member has shut down. A new teammate may use its name.
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

/// Whether a member needs an approved plan before it may write files or run commands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PlanRule {
    /// The member may write files and run commands without a plan.
    #[default]
    Free,
    /// The member only reads and plans until its plan is approved.
    Required,
}

/// Identifies a session of an external agent, so that the session can be loaded again after a restart of crewdeck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalSession {
    pub id: String,
    /// The working directory of the session.
    pub dir: String,
}

/// A member as stored in `.team/config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The name, unique regardless of case.
    pub name: Name,
    /// The name of the member's role, or a free description of what the member does.
    #[serde(default)]
    pub role: String,
    /// Whether [`role`](Self::role) is the name of a role and not a free description. Set when the member starts. If
    /// that role no longer exists when the member is resumed, the member may only read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub role_defined: bool,
    #[serde(default)]
    pub status: MemberStatus,
    /// Whether the member takes up no task before it gets input or a message: its model has failed, it was interrupted, or it
    /// is stuck with its task. Only the members of a crew on a hub record it, for the other hosts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_paused: bool,
    /// Tags that let the member claim tasks that require them.
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub plan: PlanRule,
    /// The name of the member's model; empty for the lead's model.
    #[serde(default)]
    pub model: String,
    /// Whether [`model`](Self::model) was an entry of the setting `models` when the model was chosen. If the entry no
    /// longer exists when the member is resumed, the member uses the lead's model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_named: bool,
    /// The name of the external agent, if the member is one; empty for crewdeck's own agents.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The last session of the external agent; `None` before its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<ExternalSession>,
    /// The id of the crew's session to which the member belongs. When that session is resumed, the member is restored.
    /// Empty if the member has left for good, or if another program added it.
    #[serde(default)]
    pub session: String,
    /// The instructions for the member's first turn. Stored until that turn has ended, so that a restarted member can
    /// get them again; empty afterwards.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first: String,
    /// The host that runs the member; empty for the host of the lead, and for a crew on one machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// When the member was last known to be alive; zero if unknown. Updated when the status changes, and at intervals
    /// while the member works, but not while the member is idle or waits for a decision.
    #[serde(default)]
    pub seen_at: Timestamp,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The key under which [`Member::extra`] contains the member's colour. Claude Code uses the same key. A colour that
/// crewdeck does not know stays in the file.
pub const COLOR: &str = "color";

impl Member {
    pub fn new(name: Name, role: &str) -> Member {
        Member {
            name,
            role: role.into(),
            role_defined: false,
            status: MemberStatus::Idle,
            is_paused: false,
            tags: Vec::new(),
            plan: PlanRule::Free,
            model: String::new(),
            model_named: false,
            agent: String::new(),
            agent_session: None,
            session: String::new(),
            first: String::new(),
            host: String::new(),
            seen_at: Timestamp(0.0),
            extra: Map::new(),
        }
    }
}

/// Maximum number of entries in [`Team::lead_models`].
const LEAD_MODELS_MAX: usize = 50;

/// A model that the user has chosen for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    pub name: String,
    /// Whether `name` was an entry of the setting `models` when the user chose it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
}

/// The team as stored in `.team/config.json`: the teammates, and the models chosen for the lead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Team {
    #[serde(default = "default_name")]
    pub team_name: String,
    /// The teammates, including those that have shut down. The lead is not in the list.
    #[serde(default)]
    pub members: Vec<Member>,
    /// The models that the user has chosen for the lead, by the id of the session. Later sessions have greater ids, so
    /// the oldest session is first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lead_models: BTreeMap<String, ModelChoice>,
    /// Fields written by other programs, which crewdeck preserves.
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
            lead_models: BTreeMap::new(),
            extra: Map::new(),
        }
    }
}

/// Why a change of the roster is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// A member with this name exists and has not shut down. The second value is the status of that member.
    #[error("'{0}' is currently {1}: write to it with send_message, or choose another name")]
    Busy(Name, MemberStatus),
    /// The team is full. The value is the maximum number of teammates.
    #[error(
        "the team is full ({0} teammates): shut one down first; the user can allow more with the setting agents_max"
    )]
    Full(usize),
    #[error("no teammate is called '{name}': the team has {members}")]
    Unknown {
        name: String,
        /// The names of the members, separated by commas, or `no members yet`.
        members: String,
    },
}

impl Team {
    /// Returns the member `name`, even if it has shut down; `None` if there is none. The case of the name does not
    /// matter.
    pub fn find(&self, name: &Name) -> Option<&Member> {
        self.members.iter().find(|m| m.name.same(name))
    }

    /// Records the model that the user has chosen for the lead in a session; `None` removes the record. Drops the
    /// records of the oldest sessions if there are more than `LEAD_MODELS_MAX`.
    pub fn set_lead_model(&mut self, session: &str, choice: Option<ModelChoice>) {
        match choice {
            Some(choice) => self.lead_models.insert(session.into(), choice),
            None => self.lead_models.remove(session),
        };
        while self.lead_models.len() > LEAD_MODELS_MAX {
            self.lead_models.pop_first();
        }
    }

    /// Adds a member. If a member of the same name has shut down, the new member replaces it and takes over the fields
    /// that other programs wrote, except the colour.
    ///
    /// # Errors
    /// Fails if a member of that name has not shut down, or if the member's host already runs `most` members.
    pub fn add_member(&mut self, member: Member, most: usize) -> Result<(), TeamError> {
        let on_host = self
            .present()
            .filter(|m| m.host.eq_ignore_ascii_case(&member.host));
        let is_full = on_host.count() >= most;
        if let Some(existing) = self.members.iter_mut().find(|m| m.name.same(&member.name)) {
            if existing.status != MemberStatus::Shutdown {
                return Err(TeamError::Busy(existing.name.clone(), existing.status));
            }
            if is_full {
                return Err(TeamError::Full(most));
            }
            let mut extra = std::mem::take(&mut existing.extra);
            extra.remove(COLOR);
            extra.extend(member.extra.clone());
            *existing = Member { extra, ..member };
            return Ok(());
        }
        if is_full {
            return Err(TeamError::Full(most));
        }
        self.members.push(member);
        Ok(())
    }

    /// Returns the members that have not shut down.
    pub fn present(&self) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(|m| m.status != MemberStatus::Shutdown)
    }

    /// Returns whether this team differs from `other`. A difference in [`Member::seen_at`] does not count.
    pub fn differs_from(&self, other: &Team) -> bool {
        let timeless = |team: &Team| {
            let mut team = team.clone();
            team.members
                .iter_mut()
                .for_each(|m| m.seen_at = Timestamp::default());
            team
        };
        timeless(self) != timeless(other)
    }

    /// Returns the error for `name`, which is not the name of a member. The error lists the names of at most
    /// `NAMED_MAX` members; members that have shut down come last.
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
                "no members yet".into()
            } else {
                names.join(", ")
            },
        }
    }
}

/// What an agent is doing, as the agent reports it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Activity {
    /// Waits for a prompt, a message or a task.
    #[default]
    Idle,
    /// The model is generating an answer.
    Thinking,
    /// The conversation is being summarised.
    Compacting,
    /// A tool or a hook is running, or the agent's next message is being prepared. For a hook, `tool` is `hook EVENT`.
    Tool {
        tool: String,
        /// What the tool works on, such as a path or a command, on one line.
        on: String,
    },
    /// Waits before the next model call, because a call of this or another agent has failed.
    Backoff {
        cause: String,
        /// The time of the next attempt.
        until: Timestamp,
        /// 1 before the first retry, 2 before the second, and so on. 0 if the agent waits for a back-off that a call of
        /// another agent caused.
        attempt: u32,
        /// Maximum number of attempts for one model call: the first one and all retries. 0 if unknown.
        #[serde(default, skip_serializing_if = "is_zero")]
        attempts_max: u32,
    },
    /// Waits in the call queue because the maximum number of concurrent model calls is reached.
    Queued {
        /// Position in the queue, starting at 1.
        place: usize,
    },
    /// Waits for a decision of the user.
    NeedsYou {
        request: super::request::RequestKind,
    },
    /// The agent has ended its turn without completing its task. It continues only when it gets a message.
    Stuck {
        /// Why the turn ended, in one line.
        why: String,
    },
    /// The agent's model calls have failed and are not retried, or the worktree of its task cannot be created. The
    /// agent continues only when it gets a message or a prompt.
    Failed {
        /// What failed and why, in one line.
        why: String,
    },
    /// The teammate has shut down, or the subagent has ended.
    Gone,
}

impl Activity {
    /// Returns whether the agent is [`Activity::Thinking`], [`Activity::Compacting`] or in [`Activity::Tool`].
    pub fn is_running(&self) -> bool {
        matches!(
            self,
            Activity::Thinking | Activity::Compacting | Activity::Tool { .. }
        )
    }

    /// Returns whether the agent is running, waiting for a retry or queued.
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

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
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
    fn name_can_be_reused_only_after_shutdown() {
        let mut team = Team::default();
        team.add_member(member("alice"), 16).unwrap();
        assert!(matches!(
            team.add_member(member("ALICE"), 16),
            Err(TeamError::Busy(..))
        ));
        team.members[0].status = MemberStatus::Shutdown;
        team.add_member(member("Alice"), 16).unwrap();
        assert_eq!(team.members.len(), 1);
    }

    #[test]
    fn full_team_rejects_new_and_returning_members() {
        let mut team = Team::default();
        team.add_member(member("alice"), 1).unwrap();
        team.members[0].status = MemberStatus::Shutdown;
        team.add_member(member("bob"), 1).unwrap();
        for name in ["alice", "carol"] {
            let refused = team.add_member(member(name), 1);
            assert_eq!(refused, Err(TeamError::Full(1)), "{name}");
        }
    }

    #[test]
    fn default_team_size_follows_cores_and_memory() {
        for (cores, memory, most) in [
            (1, None, 8),
            (2, Some(24_000), 16),
            (16, Some(64_000), 125),
            (16, Some(4_000), 7),
            (1, Some(500), 4),
            (256, None, 500),
        ] {
            assert_eq!(
                default_agents_max(cores, memory),
                most,
                "{cores} {memory:?}"
            );
        }
    }

    #[test]
    fn unknown_name_error_lists_the_members() {
        let mut team = Team::default();
        team.add_member(member("alice"), 16).unwrap();
        let text = team.unknown("alcie").to_string();
        assert_eq!(text, "no teammate is called 'alcie': the team has alice");
        team.members[0].status = MemberStatus::Shutdown;
        team.add_member(member("bob"), 16).unwrap();
        let text = team.unknown("alcie").to_string();
        assert_eq!(
            text,
            "no teammate is called 'alcie': the team has bob, alice (shutdown)"
        );
    }

    #[test]
    fn last_seen_time_does_not_count_as_a_difference() {
        let mut team = Team::default();
        team.add_member(member("alice"), 16).unwrap();
        let mut other = team.clone();
        other.members[0].seen_at = Timestamp(5.0);
        assert!(!team.differs_from(&other));
        other.members[0].status = MemberStatus::Idle;
        other.members[0].role = "reviewer".into();
        assert!(team.differs_from(&other));
    }

    #[test]
    fn lead_models_are_stored_by_session_and_bounded() {
        let choice = |name: &str| ModelChoice {
            name: name.into(),
            named: true,
        };
        let mut team = Team::default();
        for n in 0..80 {
            team.set_lead_model(&format!("s{n:02}"), Some(choice("fast")));
        }
        assert_eq!(team.lead_models.len(), LEAD_MODELS_MAX);
        team.set_lead_model("s79", None);
        team.set_lead_model("s78", Some(choice("slow")));
        let text = serde_json::to_string(&team).unwrap();
        let read: Team = serde_json::from_str(&text).unwrap();
        assert_eq!(read, team);
        assert_eq!(read.lead_models.get("s78"), Some(&choice("slow")));
        assert_eq!(read.lead_models.get("s79"), None);
    }

    #[test]
    fn learn_claude_code_roster_is_read() {
        let team: Team = serde_json::from_str(
            r#"{"team_name":"t","members":[{"name":"bob","role":"r","status":"working"}],"x":1}"#,
        )
        .unwrap();
        assert_eq!(team.members[0].status, MemberStatus::Working);
        assert_eq!(serde_json::to_value(&team).unwrap()["x"], 1);
    }
}
