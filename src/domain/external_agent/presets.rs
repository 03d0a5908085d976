//! The presets: the external agents that crewdeck can start without configuration, with the command of each one and the
//! differences in their behaviour.
//!
//! The values were found by running the agents. If an agent was not tested in a crew, its `notes` say so.

use serde_json::{Value, json};

/// What an agent does after the user has refused a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalEffect {
    /// The agent's model receives the refusal and continues.
    ModelContinues,
    /// The turn ends, and the agent's model does not learn why. The next prompt must mention the refusal.
    TurnEnds,
    Unknown,
}

/// What crewdeck knows about an external agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPreset {
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    pub program: &'static str,
    pub args: &'static [&'static str],
    /// Environment variables that are always set for the program.
    pub env: &'static [(&'static str, &'static str)],
    /// Environment variables that are set if crewdeck runs as root.
    pub root_env: &'static [(&'static str, &'static str)],
    /// The vendor's own environment variables for the login and the server's address. The program gets them, although
    /// other variables that look like secrets are withheld from it.
    pub login_variables: &'static [&'static str],
    /// How the user installs the program.
    pub install: &'static str,
    /// The mode in which the agent asks the user before it acts.
    pub ask_mode: &'static str,
    /// The mode for an agent without a task, which works in the user's checkout and must ask before each change there.
    /// `None` if the agent asks before each change in `ask_mode`.
    pub checkout_mode: Option<&'static str>,
    /// The mode in which the agent only reads and plans.
    pub plan_mode: &'static str,
    /// Whether several sessions may share one process of the agent.
    pub shares_process: bool,
    pub refusal: RefusalEffect,
    /// Whether a session can be loaded after its process was killed.
    pub loads_after_kill: bool,
    /// What the user should know: limits and differences, one sentence each.
    pub notes: &'static [&'static str],
}

impl AgentPreset {
    /// Returns the value of the field `_meta` in the requests that create or load a session; `None` if the agent needs
    /// none.
    pub fn session_meta(&self) -> Option<Value> {
        // Without this, hooks and permissions in `.claude/settings.json` of a project apply without the user's approval.
        let own_only = || json!({ "claudeCode": { "options": { "settingSources": ["user"] } } });
        (self.name == "claude").then(own_only)
    }

    /// Returns the preset with this name; `None` if there is none.
    pub fn find(name: &str) -> Option<&'static AgentPreset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// All presets, in the order in which they are listed.
pub const PRESETS: &[AgentPreset] = &[
    AgentPreset {
        name: "claude",
        title: "Claude Code",
        program: "claude-agent-acp",
        args: &[],
        env: &[
            ("CLAUDE_AGENT_ACP_PROTOCOL", "v1"),
            // Without this, the tools of MCP servers are hidden until the model searches for them.
            ("ENABLE_TOOL_SEARCH", "false"),
        ],
        // As root, the agent refuses every session unless this variable says that it runs in a sandbox.
        root_env: &[("IS_SANDBOX", "1")],
        login_variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_CUSTOM_HEADERS",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        install: "npm install --global @agentclientprotocol/claude-agent-acp",
        ask_mode: "default",
        checkout_mode: None,
        plan_mode: "plan",
        shares_process: true,
        refusal: RefusalEffect::ModelContinues,
        loads_after_kill: true,
        notes: &["Needs Node 22 or newer."],
    },
    AgentPreset {
        name: "codex",
        title: "Codex",
        program: "codex-acp",
        args: &[],
        env: &[("NO_BROWSER", "1")],
        root_env: &[],
        login_variables: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY"],
        install: "npm install --global @agentclientprotocol/codex-acp",
        // In its default mode, `agent`, a model decides instead of the user.
        ask_mode: "workspace-write",
        // In `workspace-write`, it writes below its directory without asking.
        checkout_mode: Some("read-only"),
        plan_mode: "read-only",
        shares_process: true,
        refusal: RefusalEffect::TurnEnds,
        loads_after_kill: true,
        notes: &[
            "Runs commands in its own sandbox and asks only for what the sandbox does not allow. Its sandbox allows \
             writing to /tmp.",
            "Finds the tools of MCP servers only by a search.",
            "Makes an additional model request for a title.",
        ],
    },
    AgentPreset {
        name: "gemini",
        title: "Gemini CLI",
        program: "gemini",
        args: &["--acp"],
        env: &[],
        root_env: &[],
        login_variables: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_CLOUD_LOCATION",
        ],
        install: "npm install --global @google/gemini-cli",
        ask_mode: "default",
        checkout_mode: None,
        plan_mode: "plan",
        shares_process: true,
        refusal: RefusalEffect::ModelContinues,
        loads_after_kill: false,
        notes: &[
            "Cannot load a session after its process was killed: crewdeck starts a new session.",
            "Reports no token usage during a turn.",
        ],
    },
    AgentPreset {
        name: "goose",
        title: "goose",
        program: "goose",
        args: &["acp"],
        env: &[("GOOSE_MODE", "approve")],
        root_env: &[],
        login_variables: &["GOOSE_PROVIDER__API_KEY"],
        install: "see the documentation of goose",
        ask_mode: "approve",
        checkout_mode: None,
        plan_mode: "chat",
        shares_process: false,
        refusal: RefusalEffect::ModelContinues,
        loads_after_kill: true,
        notes: &["Tested alone, not in a crew."],
    },
    AgentPreset {
        name: "opencode",
        title: "opencode",
        program: "opencode",
        args: &["acp"],
        env: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            // Settings and plugins of a project would apply without the user's approval.
            ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
            // In its mode `build`, the agent asks only if its configuration says so.
            (
                "OPENCODE_PERMISSION",
                r#"{"edit":"ask","bash":"ask","webfetch":"ask"}"#,
            ),
        ],
        root_env: &[],
        login_variables: &["OPENCODE_API_KEY"],
        install: "npm install --global opencode-ai",
        ask_mode: "build",
        checkout_mode: None,
        plan_mode: "plan",
        shares_process: true,
        refusal: RefusalEffect::TurnEnds,
        loads_after_kill: true,
        notes: &["Needs up to 10 s to start."],
    },
    AgentPreset {
        name: "qwen",
        title: "Qwen Code",
        program: "qwen",
        // In its default mode, `auto`, a model decides instead of the user.
        args: &["--acp", "--approval-mode", "default"],
        env: &[],
        root_env: &[],
        login_variables: &[
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_MODEL",
            "DASHSCOPE_API_KEY",
        ],
        install: "npm install --global @qwen-code/qwen-code",
        ask_mode: "default",
        checkout_mode: None,
        plan_mode: "plan",
        shares_process: true,
        refusal: RefusalEffect::TurnEnds,
        loads_after_kill: true,
        notes: &[
            "Needs Node 22 or newer.",
            "Finds the tools of MCP servers only by a search.",
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_distinct_names_and_no_network_address() {
        for (at, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS[..at].iter().all(|other| other.name != preset.name));
            assert!(!preset.program.is_empty() && !preset.install.contains("//"));
            assert_ne!(preset.ask_mode, preset.plan_mode);
        }
    }

    #[test]
    fn presets_choose_modes_that_ask_the_user() {
        let mode = |name| AgentPreset::find(name).unwrap().ask_mode;
        assert_eq!(mode("codex"), "workspace-write");
        assert_eq!(mode("qwen"), "default");
        let opencode = AgentPreset::find("opencode").unwrap();
        let permission = opencode
            .env
            .iter()
            .find(|(name, _)| *name == "OPENCODE_PERMISSION");
        let value: serde_json::Value = serde_json::from_str(permission.unwrap().1).unwrap();
        assert_eq!(value["edit"], "ask");
        assert_eq!(value["bash"], "ask");
    }

    #[test]
    fn presets_switch_the_settings_of_the_project_off_where_they_can() {
        let meta = |name| AgentPreset::find(name).unwrap().session_meta();
        let claude = meta("claude").unwrap();
        assert_eq!(
            claude["claudeCode"]["options"]["settingSources"],
            json!(["user"])
        );
        assert_eq!(meta("codex"), None);
        let opencode = AgentPreset::find("opencode").unwrap();
        assert!(
            opencode
                .env
                .contains(&("OPENCODE_DISABLE_PROJECT_CONFIG", "1"))
        );
    }

    #[test]
    fn refusals_that_end_the_turn_are_known() {
        let silent: Vec<&str> = PRESETS
            .iter()
            .filter(|preset| preset.refusal == RefusalEffect::TurnEnds)
            .map(|preset| preset.name)
            .collect();
        assert_eq!(silent, ["codex", "opencode", "qwen"]);
    }
}
