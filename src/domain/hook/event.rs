//! The events at which hooks run.

use std::time::Duration;

/// Default maximum run time of a hook, except for hooks of `UserPromptSubmit`.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Default maximum run time of a hook of `UserPromptSubmit`. It is short, because the user waits for it after each
/// prompt.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// An event at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookEvent {
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    Stop,
    SubagentStop,
    Notification,
    PreCompact,
    TaskCreated,
    TaskCompleted,
    TeammateIdle,
    WorktreeCreate,
    WorktreeRemove,
}

/// What happens when a hook blocks. A hook blocks if it exits with code 2, answers `"decision": "block"`, or denies a
/// tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockEffect {
    /// The action does not happen. The reason goes to the model if an agent's tool call caused the action, otherwise to
    /// the user, for example for a prompt or a compaction.
    Refuses,
    /// The agent continues to work, with the reason as its next input.
    Continues,
    /// Nothing is prevented. The reason goes to the model.
    TellsModel,
    /// Nothing is prevented. The reason is shown to the user.
    TellsUser,
}

impl BlockEffect {
    /// Returns whether a block prevents anything: either the action that the event announces, or the end of the agent's
    /// work.
    pub fn prevents(self) -> bool {
        matches!(self, BlockEffect::Refuses | BlockEffect::Continues)
    }
}

/// Why a session ends. Claude Code has two more reasons, `logout` and `bypass_permissions_disabled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEndReason {
    /// The user empties the conversation.
    Clear,
    /// The user resumes another session in the same window.
    Resume,
    /// The user quits.
    Quit,
    /// A signal ends crewdeck, `crewdeck run` ends, or the dashboard restarts for another reason than `Clear` and
    /// `Resume`.
    Other,
}

impl SessionEndReason {
    /// Returns the name of the reason in the input of hooks, such as `prompt_input_exit`. A hook's matcher is compared
    /// with this name.
    pub fn name(self) -> &'static str {
        match self {
            SessionEndReason::Clear => "clear",
            SessionEndReason::Resume => "resume",
            SessionEndReason::Quit => "prompt_input_exit",
            SessionEndReason::Other => "other",
        }
    }
}

/// Events of Claude Code that crewdeck does not have.
const OTHERS: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "PermissionDenied",
    "PostCompact",
    "PostToolBatch",
    "PostToolUseFailure",
    "Setup",
    "StopFailure",
    "SubagentStart",
    "UserPromptExpansion",
];

impl HookEvent {
    pub const ALL: &[HookEvent] = &[
        HookEvent::SessionStart,
        HookEvent::SessionEnd,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PermissionRequest,
        HookEvent::PostToolUse,
        HookEvent::Stop,
        HookEvent::SubagentStop,
        HookEvent::Notification,
        HookEvent::PreCompact,
        HookEvent::TaskCreated,
        HookEvent::TaskCompleted,
        HookEvent::TeammateIdle,
        HookEvent::WorktreeCreate,
        HookEvent::WorktreeRemove,
    ];

    /// Returns the name of the event in configuration files and in the input of hooks.
    pub fn name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PermissionRequest => "PermissionRequest",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::Stop => "Stop",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::Notification => "Notification",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::TaskCreated => "TaskCreated",
            HookEvent::TaskCompleted => "TaskCompleted",
            HookEvent::TeammateIdle => "TeammateIdle",
            HookEvent::WorktreeCreate => "WorktreeCreate",
            HookEvent::WorktreeRemove => "WorktreeRemove",
        }
    }

    pub fn parse(name: &str) -> Option<HookEvent> {
        HookEvent::ALL
            .iter()
            .copied()
            .find(|event| event.name() == name)
    }

    /// Returns whether `name` is the name of an event that Claude Code has and crewdeck does not have.
    pub fn is_elsewhere(name: &str) -> bool {
        OTHERS.contains(&name)
    }

    /// Returns whether the event is about one tool call.
    pub fn is_about_tool(self) -> bool {
        matches!(
            self,
            HookEvent::PreToolUse | HookEvent::PermissionRequest | HookEvent::PostToolUse
        )
    }

    /// Returns whether hooks of this event can have a matcher. For other events, a matcher has no effect. A hook
    /// without a matcher runs each time that its event happens.
    pub fn has_matcher(self) -> bool {
        self.is_about_tool()
            || matches!(
                self,
                HookEvent::SessionStart
                    | HookEvent::SessionEnd
                    | HookEvent::SubagentStop
                    | HookEvent::Notification
                    | HookEvent::PreCompact
            )
    }

    /// Returns whether the model receives a hook's standard output that does not begin with `{`. For `WorktreeCreate`,
    /// this output contains the path of the directory instead. For all other events, it is ignored.
    pub fn is_output_context(self) -> bool {
        matches!(self, HookEvent::SessionStart | HookEvent::UserPromptSubmit)
    }

    pub fn block_effect(self) -> BlockEffect {
        match self {
            HookEvent::UserPromptSubmit
            | HookEvent::PreToolUse
            | HookEvent::PermissionRequest
            | HookEvent::PreCompact
            | HookEvent::TaskCreated
            | HookEvent::TaskCompleted
            | HookEvent::WorktreeCreate => BlockEffect::Refuses,
            HookEvent::Stop | HookEvent::SubagentStop | HookEvent::TeammateIdle => {
                BlockEffect::Continues
            }
            HookEvent::PostToolUse => BlockEffect::TellsModel,
            HookEvent::SessionStart
            | HookEvent::SessionEnd
            | HookEvent::Notification
            | HookEvent::WorktreeRemove => BlockEffect::TellsUser,
        }
    }

    /// Returns the maximum run time of a hook that does not set one.
    pub fn default_timeout(self) -> Duration {
        match self {
            HookEvent::UserPromptSubmit => PROMPT_TIMEOUT,
            _ => TIMEOUT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::parse(event.name()), Some(*event));
            assert!(!HookEvent::is_elsewhere(event.name()));
        }
        assert_eq!(HookEvent::parse("pretooluse"), None);
        assert!(HookEvent::is_elsewhere("PostCompact"));
    }
}
