//! What a hook receives: one JSON object for each event, with the field names of Claude Code.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::event::{HookEvent, SessionEndReason};
use super::tools::{ExternalCall, external_call};
use crate::domain::subagent::SubagentKind;

/// The subagent or teammate in whose work an event happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAgent {
    /// The id of a subagent; `None` for a teammate.
    pub id: Option<String>,
    /// The type of the agent: the name of its role. Without a role, the type that Claude Code uses: `general-purpose`
    /// or `Explore`.
    pub kind: String,
}

/// The part of a hook's input that all events have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookContext {
    pub session_id: String,
    /// The path of the transcript of the agent in whose work the event happens. For a subagent, this is its own
    /// transcript and not that of its parent. The file need not exist.
    pub transcript_path: String,
    /// The work directory of the agent. Hooks run in it, and relative paths of tool calls refer to it.
    pub dir: PathBuf,
    /// The agent's permission mode in the terms of Claude Code, such as `default` or `plan`. `None` if the input of
    /// hooks should contain no mode.
    pub permission_mode: Option<String>,
    /// The subagent or teammate in whose work the event happens; `None` if that is the lead or the user.
    pub agent: Option<HookAgent>,
    /// The name of the agent if it is a teammate, else `None`.
    pub teammate: Option<String>,
    /// The name of the team if the agent is a teammate, else `None`.
    pub team: Option<String>,
}

/// A call of one of crewdeck's tools.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    /// The name of the tool in crewdeck, such as `read_file`.
    pub name: String,
    pub input: Value,
    pub id: String,
}

/// An event at which hooks run, with the data that only this kind of event has.
#[derive(Debug, Clone, PartialEq)]
pub enum HookInput {
    SessionStart {
        /// Why the session starts: `startup`, `resume`, `clear` or `compact`.
        source: &'static str,
        model: Option<String>,
    },
    SessionEnd {
        reason: SessionEndReason,
    },
    UserPromptSubmit {
        prompt: String,
    },
    PreToolUse(HookCall),
    PermissionRequest(HookCall),
    PostToolUse {
        call: HookCall,
        response: Value,
        duration_ms: u64,
    },
    Stop {
        /// Whether a hook has already blocked the end of this turn, so that the agent still works.
        is_active: bool,
        /// The text of the agent's last answer.
        last_message: String,
    },
    SubagentStop {
        /// Whether a hook has already blocked the end of the subagent, so that it still works.
        is_active: bool,
        /// The text of the subagent's last answer.
        last_message: String,
        /// The same path as [`HookContext::transcript_path`], for the field `agent_transcript_path` of Claude Code.
        transcript_path: String,
    },
    Notification {
        /// The type of the notification in the terms of Claude Code, such as `permission_prompt` or `idle_prompt`.
        kind: &'static str,
        title: String,
        message: String,
    },
    PreCompact {
        /// Whether the user requested the compaction; otherwise crewdeck began it because the conversation is long.
        is_manual: bool,
        /// What the user wants the summary to focus on; empty if nothing.
        instructions: String,
    },
    TaskCreated {
        id: String,
        subject: String,
        description: String,
    },
    TaskCompleted {
        id: String,
        subject: String,
        description: String,
    },
    TeammateIdle,
    WorktreeCreate {
        name: String,
    },
    WorktreeRemove {
        path: String,
    },
}

impl HookInput {
    pub fn event(&self) -> HookEvent {
        match self {
            HookInput::SessionStart { .. } => HookEvent::SessionStart,
            HookInput::SessionEnd { .. } => HookEvent::SessionEnd,
            HookInput::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            HookInput::PreToolUse(_) => HookEvent::PreToolUse,
            HookInput::PermissionRequest(_) => HookEvent::PermissionRequest,
            HookInput::PostToolUse { .. } => HookEvent::PostToolUse,
            HookInput::Stop { .. } => HookEvent::Stop,
            HookInput::SubagentStop { .. } => HookEvent::SubagentStop,
            HookInput::Notification { .. } => HookEvent::Notification,
            HookInput::PreCompact { .. } => HookEvent::PreCompact,
            HookInput::TaskCreated { .. } => HookEvent::TaskCreated,
            HookInput::TaskCompleted { .. } => HookEvent::TaskCompleted,
            HookInput::TeammateIdle => HookEvent::TeammateIdle,
            HookInput::WorktreeCreate { .. } => HookEvent::WorktreeCreate,
            HookInput::WorktreeRemove { .. } => HookEvent::WorktreeRemove,
        }
    }

    pub fn call(&self) -> Option<&HookCall> {
        match self {
            HookInput::PreToolUse(call)
            | HookInput::PermissionRequest(call)
            | HookInput::PostToolUse { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Returns the tool call with the names and fields of Claude Code, as hooks receive it; `None` if the event is not
    /// about a tool call.
    pub fn external_call(&self, context: &HookContext) -> Option<ExternalCall> {
        let call = self.call()?;
        Some(external_call(&call.name, &call.input, &context.dir))
    }

    /// Returns the texts that a hook's matcher is compared with. Depending on the event, these are the names of the
    /// tool as in [`ExternalCall::names`], the type of the notification, the role or kind of the subagent, the source
    /// of the session start, the reason of the session end, or the trigger of the compaction. Empty if the event has no
    /// such text.
    pub fn subjects(&self, context: &HookContext) -> Vec<String> {
        match self {
            HookInput::SessionStart { source, .. } => vec![(*source).into()],
            HookInput::SessionEnd { reason } => vec![reason.name().into()],
            HookInput::Notification { kind, .. } => vec![(*kind).into()],
            HookInput::PreCompact { is_manual, .. } => vec![trigger(*is_manual).into()],
            // Both the name of Claude Code and that of crewdeck match, as for tools.
            HookInput::SubagentStop { .. } => {
                let kind = context.agent.as_ref().map(|agent| agent.kind.clone());
                let own = kind.as_deref().and_then(SubagentKind::from_claude_name);
                kind.into_iter()
                    .chain(own.map(|own| own.to_string()))
                    .collect()
            }
            _ => self
                .external_call(context)
                .map(|call| call.names)
                .unwrap_or_default(),
        }
    }

    /// Returns the JSON object that the hook receives as its input.
    pub fn json(&self, context: &HookContext) -> Value {
        let mut out = self.common_fields(context);
        let mut put = |name: &str, value: Value| {
            out.insert(name.to_string(), value);
        };
        match self {
            HookInput::SessionStart { source, model } => {
                put("source", json!(source));
                if let Some(model) = model {
                    put("model", json!(model));
                }
            }
            HookInput::SessionEnd { reason } => put("reason", json!(reason.name())),
            HookInput::UserPromptSubmit { prompt } => put("prompt", json!(prompt)),
            HookInput::PreToolUse(_) | HookInput::TeammateIdle => {}
            HookInput::PermissionRequest(_) => put("permission_suggestions", json!([])),
            HookInput::PostToolUse {
                response,
                duration_ms,
                ..
            } => {
                put("tool_response", response.clone());
                put("duration_ms", json!(duration_ms));
            }
            HookInput::Stop {
                is_active,
                last_message,
            } => {
                put("stop_hook_active", json!(is_active));
                put("last_assistant_message", json!(last_message));
            }
            HookInput::SubagentStop {
                is_active,
                last_message,
                transcript_path,
            } => {
                put("stop_hook_active", json!(is_active));
                put("last_assistant_message", json!(last_message));
                put("agent_transcript_path", json!(transcript_path));
            }
            HookInput::Notification {
                kind,
                title,
                message,
            } => {
                put("message", json!(message));
                put("title", json!(title));
                put("notification_type", json!(kind));
            }
            HookInput::PreCompact {
                is_manual,
                instructions,
            } => {
                put("trigger", json!(trigger(*is_manual)));
                put("custom_instructions", json!(instructions));
            }
            HookInput::TaskCreated {
                id,
                subject,
                description,
            }
            | HookInput::TaskCompleted {
                id,
                subject,
                description,
            } => {
                put("task_id", json!(id));
                put("task_subject", json!(subject));
                put("task_description", json!(description));
            }
            HookInput::WorktreeCreate { name } => put("name", json!(name)),
            HookInput::WorktreeRemove { path } => put("worktree_path", json!(path)),
        }
        out.into()
    }

    /// Returns the fields that are the same for every event, and, if the event is about a tool call, the fields of the
    /// call.
    fn common_fields(&self, context: &HookContext) -> Map<String, Value> {
        let event = self.event();
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| {
            out.insert(name.to_string(), value);
        };
        put("session_id", json!(context.session_id));
        put("transcript_path", json!(context.transcript_path));
        put("cwd", json!(context.dir.to_string_lossy()));
        // Claude Code does not send `permission_mode` for the events of tasks.
        let is_task = matches!(event, HookEvent::TaskCreated | HookEvent::TaskCompleted);
        if let Some(mode) = context.permission_mode.as_ref().filter(|_| !is_task) {
            put("permission_mode", json!(mode));
        }
        put("hook_event_name", json!(event.name()));
        if let Some(agent) = &context.agent {
            if let Some(id) = &agent.id {
                put("agent_id", json!(id));
            }
            put("agent_type", json!(agent.kind));
        }
        if let Some(name) = &context.teammate {
            put("teammate_name", json!(name));
        }
        if let Some(team) = &context.team {
            put("team_name", json!(team));
        }
        if let (Some(call), Some(external)) = (self.call(), self.external_call(context)) {
            put("tool_name", json!(external.names.first()));
            put("tool_input", external.input);
            put("tool_use_id", json!(call.id));
        }
        // Both lists are empty, because Claude Code does not document the form of an entry and crewdeck schedules
        // nothing.
        if matches!(event, HookEvent::Stop | HookEvent::SubagentStop) {
            put("background_tasks", json!([]));
            put("session_crons", json!([]));
        }
        out
    }

    /// Returns a hash that identifies the action that hooks can block. Two blocks with the same hash count as repeated
    /// blocks of one action. The hash covers the event and the agent; the lead and the user count as one agent. It also
    /// covers the tool call without its id, the subject of the task, the prompt or the name of the worktree, if the
    /// event is about one. At the end of the agent's work and before a compaction, it covers nothing more.
    pub fn block_key(&self, context: &HookContext) -> u64 {
        let mut hash = DefaultHasher::new();
        self.event().hash(&mut hash);
        context.teammate.hash(&mut hash);
        context
            .agent
            .as_ref()
            .map(|agent| &agent.id)
            .hash(&mut hash);
        match self {
            HookInput::UserPromptSubmit { prompt } => prompt.hash(&mut hash),
            // If the same task is created again after a block, it has another id, so only its subject is hashed.
            HookInput::TaskCreated { subject, .. } => subject.hash(&mut hash),
            HookInput::TaskCompleted { id, subject, .. } => (id, subject).hash(&mut hash),
            HookInput::WorktreeCreate { name } => name.hash(&mut hash),
            _ => {
                let call = self.call();
                call.map(|call| (&call.name, call.input.to_string()))
                    .hash(&mut hash);
            }
        }
        hash.finish()
    }
}

fn trigger(is_manual: bool) -> &'static str {
    if is_manual { "manual" } else { "auto" }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn context() -> HookContext {
        HookContext {
            session_id: "s1".into(),
            transcript_path: "/t.jsonl".into(),
            dir: "/w".into(),
            permission_mode: Some("default".into()),
            agent: None,
            teammate: None,
            team: None,
        }
    }

    fn call() -> HookCall {
        HookCall {
            name: "bash".into(),
            input: json!({"command": "ls"}),
            id: "toolu_1".into(),
        }
    }

    #[test]
    fn every_event_has_the_fields_of_its_contract() {
        let task = |completed| {
            let (id, subject, description) = ("7".to_string(), "a".to_string(), "b".to_string());
            if completed {
                HookInput::TaskCompleted {
                    id,
                    subject,
                    description,
                }
            } else {
                HookInput::TaskCreated {
                    id,
                    subject,
                    description,
                }
            }
        };
        let tool = r#""tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1""#;
        let task_fields = r#""task_id":"7","task_subject":"a","task_description":"b""#;
        for (input, fields, subjects) in [
            (HookInput::SessionStart { source: "startup", model: None }, r#""source":"startup""#.to_string(), vec!["startup"]),
            (HookInput::SessionStart { source: "compact", model: Some("m".into()) }, r#""source":"compact","model":"m""#.into(), vec!["compact"]),
            (HookInput::SessionEnd { reason: SessionEndReason::Other }, r#""reason":"other""#.into(), vec!["other"]),
            (HookInput::UserPromptSubmit { prompt: "hi".into() }, r#""prompt":"hi""#.into(), vec![]),
            (HookInput::PreToolUse(call()), tool.into(), vec!["Bash", "bash"]),
            (HookInput::PermissionRequest(call()), format!(r#"{tool},"permission_suggestions":[]"#), vec!["Bash", "bash"]),
            (
                HookInput::PostToolUse { call: call(), response: json!({"stdout": "x"}), duration_ms: 5 },
                format!(r#"{tool},"tool_response":{{"stdout":"x"}},"duration_ms":5"#),
                vec!["Bash", "bash"],
            ),
            (
                HookInput::Stop { is_active: true, last_message: "done".into() },
                r#""background_tasks":[],"session_crons":[],"stop_hook_active":true,"last_assistant_message":"done""#.into(),
                vec![],
            ),
            (
                HookInput::SubagentStop { is_active: false, last_message: "done".into(), transcript_path: "/a".into() },
                r#""background_tasks":[],"session_crons":[],"stop_hook_active":false,"last_assistant_message":"done","agent_transcript_path":"/a""#.into(),
                vec![],
            ),
            (
                HookInput::Notification { kind: "idle_prompt", title: "t".into(), message: "m".into() },
                r#""message":"m","title":"t","notification_type":"idle_prompt""#.into(),
                vec!["idle_prompt"],
            ),
            (
                HookInput::PreCompact { is_manual: true, instructions: String::new() },
                r#""trigger":"manual","custom_instructions":"""#.into(),
                vec!["manual"],
            ),
            (task(false), task_fields.into(), vec![]),
            (task(true), task_fields.into(), vec![]),
            (HookInput::TeammateIdle, String::new(), vec![]),
            (HookInput::WorktreeCreate { name: "task-1".into() }, r#""name":"task-1""#.into(), vec![]),
            (HookInput::WorktreeRemove { path: "/x".into() }, r#""worktree_path":"/x""#.into(), vec![]),
        ] {
            let event = input.event().name();
            let mode = if event.starts_with("Task") { "" } else { r#""permission_mode":"default","# };
            let gap = if fields.is_empty() { "" } else { "," };
            let expected = format!(
                r#"{{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"/w",{mode}"hook_event_name":"{event}"{gap}{fields}}}"#
            );
            assert_eq!(input.json(&context()).to_string(), expected);
            assert_eq!(input.subjects(&context()), subjects, "{event}");
        }
    }

    #[test]
    fn agents_and_teammates_are_named() {
        let context = HookContext {
            agent: Some(HookAgent {
                id: Some("a1".into()),
                kind: "Explore".into(),
            }),
            teammate: Some("bob".into()),
            team: Some("crew".into()),
            ..context()
        };
        let json = HookInput::TeammateIdle.json(&context);
        let fields = ["agent_id", "agent_type", "teammate_name", "team_name"]
            .map(|name| json[name].as_str().unwrap().to_string());
        assert_eq!(fields, ["a1", "Explore", "bob", "crew"]);
        let stop = HookInput::SubagentStop {
            is_active: false,
            last_message: String::new(),
            transcript_path: String::new(),
        };
        assert_eq!(stop.subjects(&context), ["Explore", "explore"]);
        let of_role = HookContext {
            agent: Some(HookAgent {
                id: None,
                kind: "reviewer".into(),
            }),
            ..context
        };
        assert_eq!(stop.subjects(&of_role), ["reviewer"]);
        let json = stop.json(&of_role);
        assert_eq!(
            (json.get("agent_id"), &json["agent_type"]),
            (None, &json!("reviewer"))
        );
    }

    #[test]
    fn block_key_ignores_ids_and_knows_the_agent() {
        let key = |input: &HookInput, teammate: Option<&str>| {
            input.block_key(&HookContext {
                teammate: teammate.map(String::from),
                ..context()
            })
        };
        let again = HookInput::PreToolUse(HookCall {
            id: "toolu_2".into(),
            ..call()
        });
        let other = HookInput::PreToolUse(HookCall {
            input: json!({"command": "pwd"}),
            ..call()
        });
        let first = HookInput::PreToolUse(call());
        assert_eq!(key(&first, None), key(&again, None));
        assert_ne!(key(&first, None), key(&other, None));
        assert_ne!(key(&first, None), key(&first, Some("bob")));
        assert_ne!(
            key(&first, None),
            key(&HookInput::PermissionRequest(call()), None)
        );
    }
}
