//! Decides which of its own tools an external agent may use. The limits of its role and of the settings name crewdeck's
//! tools, so they apply to the agent's tools that do the same.

use super::calls::has_command;
use crate::domain::agent_update::{AgentToolCall, AgentToolKind};
use crate::domain::external_agent::ExternalAgent;
use crate::domain::role::ToolUse;
use crate::tools::policy::PlanGate;
use crate::tools::table;

/// The limits on the tools of one external agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnTools {
    /// Whether the agent may change files.
    pub can_write: bool,
    /// Whether the agent may run commands.
    pub can_run: bool,
}

impl OwnTools {
    /// Returns the limits of an agent. `permits` returns whether the agent may use the crewdeck tool with this name and
    /// purpose.
    pub fn new(permits: impl Fn(&str, ToolUse) -> bool) -> OwnTools {
        let may = |name| table::find(name).is_some_and(|tool| permits(tool.name, tool.used_for));
        OwnTools {
            can_write: may("write_file") || may("edit_file"),
            can_run: may("bash"),
        }
    }

    /// Returns why a call is refused; `None` if the limits permit it.
    pub fn refusal(self, call: &AgentToolCall) -> Option<String> {
        let changes = matches!(
            call.kind,
            AgentToolKind::Edit | AgentToolKind::Delete | AgentToolKind::Move
        );
        let runs = call.kind == AgentToolKind::Execute || has_command(call);
        // In another mode, the agent might no longer ask.
        let escapes = call.kind == AgentToolKind::SwitchMode;
        let what = match self {
            OwnTools { can_run: false, .. } if runs => "run commands",
            OwnTools {
                can_write: false, ..
            } if changes || !call.diffs.is_empty() => "change files",
            OwnTools {
                can_write: false, ..
            } if escapes => "change your mode",
            _ => return None,
        };
        Some(format!(
            "you may not {what}: your role or the setting tools forbids it"
        ))
    }

    /// Returns the mode that `agent` should have; `None` if it is not known. While a plan must be approved, this is the
    /// mode for planning, if there is one. For an agent that may not write, it is the mode for reading. Otherwise it is
    /// the mode in which the agent asks before it acts; if the agent works in the user's checkout without a task
    /// (`is_in_checkout`), it asks before each change.
    pub fn mode(self, agent: &ExternalAgent, gate: PlanGate, is_in_checkout: bool) -> Option<&str> {
        let asks = || {
            if is_in_checkout {
                agent.checkout_mode()
            } else {
                agent.ask_mode.as_deref()
            }
        };
        match gate {
            PlanGate::Closed => agent.plan_mode.as_deref().or_else(asks),
            PlanGate::Open if !self.can_write => agent.reading_mode(),
            PlanGate::Open => asks(),
        }
    }

    /// Returns a text for the user that says which mode of `agent` is missing; `None` if the mode is known or not
    /// needed. While a plan must be approved, the agent needs a mode in which it only plans. Otherwise, if it may not
    /// write, it needs a mode in which it changes no files.
    pub fn problem(self, agent: &ExternalAgent, gate: PlanGate) -> Option<String> {
        let name = &agent.name;
        let what = match gate {
            PlanGate::Closed if agent.plan_mode.is_none() => "only plans",
            PlanGate::Open if !self.can_write && agent.reading_mode().is_none() => {
                "changes no files, as its role or the setting tools requires"
            }
            PlanGate::Closed | PlanGate::Open => return None,
        };
        Some(format!(
            "crewdeck knows no mode in which the agent '{name}' {what}. Set plan_mode in [agents.{name}]."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::external_agent::ExternalAgentSettings;
    use crate::domain::role::ToolSelection;

    fn agent(name: &str, settings: &ExternalAgentSettings) -> ExternalAgent {
        ExternalAgent::resolve(name, settings, &|text| Ok(text.to_string())).unwrap()
    }

    fn own_program() -> ExternalAgentSettings {
        ExternalAgentSettings {
            command: Some(crate::domain::external_agent::AgentCommand::Program(
                "x".into(),
            )),
            mode: Some("ask".into()),
            ..ExternalAgentSettings::default()
        }
    }

    #[test]
    fn limits_of_a_reading_role_apply_to_the_tools_of_the_agent() {
        let reading = ToolSelection::reading();
        let own = OwnTools::new(|name, used_for| reading.permits(name, used_for));
        assert!(!own.can_write && !own.can_run);
        let all = OwnTools::new(|_, _| true);
        assert!(all.can_write && all.can_run);
    }

    #[test]
    fn agent_that_only_reads_gets_a_mode_in_which_it_asks_before_it_writes() {
        let reading = OwnTools {
            can_write: false,
            can_run: false,
        };
        let all = OwnTools {
            can_write: true,
            can_run: true,
        };
        let codex = agent("codex", &ExternalAgentSettings::default());
        let open = PlanGate::Open;
        assert_eq!(reading.mode(&codex, open, false), Some("read-only"));
        assert_eq!(all.mode(&codex, open, false), Some("workspace-write"));
        assert_eq!(all.mode(&codex, open, true), Some("read-only"));
        let changed = ExternalAgentSettings {
            mode: Some("agent-full-access".into()),
            ..ExternalAgentSettings::default()
        };
        let changed = agent("codex", &changed);
        assert_eq!(reading.mode(&changed, open, false), Some("read-only"));
        assert_eq!(reading.problem(&changed, PlanGate::Open), None);
    }

    #[test]
    fn limits_need_a_mode_that_keeps_them() {
        let all = OwnTools::new(|_, _| true);
        let reading = OwnTools {
            can_write: false,
            ..all
        };
        let mine = agent("mine", &own_program());
        assert_eq!(all.problem(&mine, PlanGate::Open), None);
        for (own, gate) in [(all, PlanGate::Closed), (reading, PlanGate::Open)] {
            let problem = own.problem(&mine, gate).unwrap();
            assert!(
                problem.ends_with("Set plan_mode in [agents.mine]."),
                "{problem}"
            );
        }
        let with_mode = ExternalAgentSettings {
            plan_mode: Some("plan".into()),
            ..own_program()
        };
        let mine = agent("mine", &with_mode);
        for (own, gate) in [(all, PlanGate::Closed), (reading, PlanGate::Open)] {
            assert_eq!(own.problem(&mine, gate), None);
            assert_eq!(own.mode(&mine, gate, false), Some("plan"));
        }
    }
}
