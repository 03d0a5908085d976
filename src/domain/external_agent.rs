//! External agents: coding agents of other vendors, which crewdeck starts as programs and uses as teammates over the
//! Agent Client Protocol (ACP).

mod presets;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::text::{clip, closest_match, one_line};
pub use presets::{AgentPreset, PRESETS, RefusalEffect};

/// Maximum length of the name of an external agent, in bytes.
pub const AGENT_NAME_MAX: usize = 32;

/// An entry of the setting `agents`: what the user has configured for one external agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExternalAgentSettings {
    /// The name of the preset that supplies the values which this entry does not set. `None` for the preset that has
    /// the name of this entry, if there is one.
    pub preset: Option<String>,
    pub command: Option<AgentCommand>,
    /// Arguments of the program, after the arguments in `command`. They replace the arguments of the preset.
    pub args: Option<Vec<String>>,
    /// Environment variables of the program, in addition to those of the preset. In a value, `${NAME}` is replaced by
    /// crewdeck's own variable of that name.
    pub env: BTreeMap<String, String>,
    /// The mode in which the agent asks the user before it acts, by the agent's own name for this mode; `None` for the
    /// mode that the preset names.
    pub mode: Option<String>,
    /// The mode in which the agent only reads and plans, by the agent's own name for this mode; `None` for the mode
    /// that the preset names.
    pub plan_mode: Option<String>,
}

/// The command that starts an external agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "command is a program such as \"goose\", or a list such as [\"goose\", \"acp\"]"
)]
pub enum AgentCommand {
    /// The program. It is not split at spaces.
    Program(String),
    /// The program and its arguments. If there are arguments, they replace the arguments of the preset.
    List(Vec<String>),
}

/// An external agent that crewdeck can start: the user's settings, completed by the values of the preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalAgent {
    pub name: String,
    pub preset: Option<&'static AgentPreset>,
    /// The program, followed by its arguments. Never empty.
    pub argv: Vec<String>,
    /// Environment variables to set for the program.
    pub env: BTreeMap<String, String>,
    /// The agent's name for the mode in which it asks before it acts; `None` if neither the settings nor a preset name
    /// the mode.
    pub ask_mode: Option<String>,
    /// The agent's name for the mode in which it only reads and plans; `None` if neither the settings nor a preset name
    /// the mode.
    pub plan_mode: Option<String>,
}

impl ExternalAgent {
    /// Returns the agent `name` with its `settings`, completed by its preset. `expand` replaces the references to
    /// variables, such as `${NAME}`, in the value of an environment variable.
    ///
    /// # Errors
    /// Fails if [`ExternalAgentSettings::check`] or `expand` fails. The error text continues the name of the agent in
    /// the settings, for example with ` has no command: …`. The caller puts the name in front.
    pub fn resolve(
        name: &str,
        settings: &ExternalAgentSettings,
        expand: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<ExternalAgent, String> {
        settings.check(name)?;
        let preset = settings.preset_for(name)?;
        let (mut argv, is_program) = match &settings.command {
            Some(AgentCommand::Program(program)) => (vec![program.clone()], true),
            Some(AgentCommand::List(list)) => (list.clone(), list.len() == 1),
            None => {
                let program = preset.map(|preset| preset.program.to_string());
                (program.into_iter().collect(), true)
            }
        };
        match (&settings.args, preset) {
            (Some(args), _) => argv.extend(args.iter().cloned()),
            (None, Some(preset)) if is_program => {
                argv.extend(preset.args.iter().map(ToString::to_string));
            }
            (None, _) => {}
        }
        let mut env = BTreeMap::new();
        for (variable, value) in preset.map_or(&[][..], |preset| preset.env) {
            env.insert(variable.to_string(), value.to_string());
        }
        for (variable, value) in &settings.env {
            let value = expand(value).map_err(|why| format!(".env.{variable} {why}"))?;
            env.insert(variable.clone(), value);
        }
        let preset_mode = || preset.map(|preset| preset.ask_mode.to_string());
        let preset_plan_mode = || preset.map(|preset| preset.plan_mode.to_string());
        Ok(ExternalAgent {
            name: name.to_string(),
            preset,
            argv,
            env,
            ask_mode: settings.mode.clone().or_else(preset_mode),
            plan_mode: settings.plan_mode.clone().or_else(preset_plan_mode),
        })
    }

    /// Returns the mode in which the agent runs when it works in the user's checkout, where it must ask before each
    /// change of a file. `None` if no mode is known.
    ///
    /// This is the mode that the preset names for the checkout. In these cases, it is `ask_mode` instead: there is no
    /// preset, the preset names no mode for the checkout, or `ask_mode` is not the preset's.
    pub fn checkout_mode(&self) -> Option<&str> {
        let is_unchanged = |p: &&AgentPreset| self.ask_mode.as_deref() == Some(p.ask_mode);
        let preset = self.preset.filter(is_unchanged);
        let stricter = preset.and_then(|preset| preset.checkout_mode);
        stricter.or(self.ask_mode.as_deref())
    }

    /// Returns the mode in which the agent runs when it may change no file. `None` if no mode is known.
    ///
    /// With a preset and its unchanged `ask_mode`, this is the [`ExternalAgent::checkout_mode`], in which the agent
    /// asks before each change. Otherwise it is the `plan_mode`.
    pub fn reading_mode(&self) -> Option<&str> {
        let is_unchanged = |p: &&AgentPreset| self.ask_mode.as_deref() == Some(p.ask_mode);
        match self.preset.filter(is_unchanged) {
            Some(_) => self.checkout_mode(),
            None => self.plan_mode.as_deref(),
        }
    }

    /// Returns whether several sessions may share one process of the agent. Without a preset, each session has its own
    /// process.
    pub fn shares_process(&self) -> bool {
        self.preset.is_some_and(|preset| preset.shares_process)
    }

    /// Returns what the agent does after the user has refused a permission.
    pub fn refusal(&self) -> RefusalEffect {
        self.preset
            .map_or(RefusalEffect::Unknown, |preset| preset.refusal)
    }
}

/// What the command `crewdeck agents` shows about an external agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExternalAgentInfo {
    /// Distinguishes external agents from roles in lists that have both.
    #[serde(rename = "type")]
    pub kind: ExternalKind,
    pub name: String,
    /// The name of the product; empty if there is no preset.
    pub title: String,
    /// The program, followed by its arguments.
    pub command: Vec<String>,
    #[serde(rename = "installed")]
    pub is_installed: bool,
    /// The path of the program; `None` if it is not installed.
    pub path: Option<String>,
    /// How the user installs the program; empty if there is no preset.
    pub install: String,
    pub ask_mode: Option<String>,
    pub plan_mode: Option<String>,
    /// Whether a session can be loaded after its process was killed; `None` if there is no preset.
    pub loads_after_kill: Option<bool>,
    pub notes: Vec<String>,
    /// Why the agent cannot be used although it may be installed; empty if there is no such reason.
    pub problem: String,
}

/// The value of the field `type` of [`ExternalAgentInfo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalKind {
    External,
}

impl ExternalAgentInfo {
    /// Returns what is shown about `agent`. `path` is the path of its program, or `None` if it is not installed.
    pub fn of(agent: &ExternalAgent, path: Option<String>) -> ExternalAgentInfo {
        let preset = agent.preset;
        let notes = preset.map_or(&[][..], |preset| preset.notes);
        ExternalAgentInfo {
            kind: ExternalKind::External,
            name: agent.name.clone(),
            title: preset.map_or(String::new(), |preset| preset.title.to_string()),
            command: agent.argv.clone(),
            is_installed: path.is_some(),
            path,
            install: preset.map_or(String::new(), |preset| preset.install.to_string()),
            ask_mode: agent.ask_mode.clone(),
            plan_mode: agent.plan_mode.clone(),
            loads_after_kill: preset.map(|preset| preset.loads_after_kill),
            notes: notes.iter().map(ToString::to_string).collect(),
            problem: String::new(),
        }
    }

    /// Returns what is shown about the agent `name`, whose settings cannot be used for the reason `problem`.
    pub fn unusable(name: String, problem: String) -> ExternalAgentInfo {
        ExternalAgentInfo {
            kind: ExternalKind::External,
            name,
            title: String::new(),
            command: Vec::new(),
            is_installed: false,
            path: None,
            install: String::new(),
            ask_mode: None,
            plan_mode: None,
            loads_after_kill: None,
            notes: Vec::new(),
            problem,
        }
    }
}

impl ExternalAgentSettings {
    fn preset_for(&self, name: &str) -> Result<Option<&'static AgentPreset>, String> {
        let Some(wanted) = &self.preset else {
            return Ok(AgentPreset::find(name));
        };
        if let Some(preset) = AgentPreset::find(wanted) {
            return Ok(Some(preset));
        }
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let hint = closest_match(wanted, &names)
            .map(|name| format!(" Did you mean '{name}'?"))
            .unwrap_or_default();
        Err(format!(
            ".preset is '{wanted}': the presets are {}.{hint}",
            names.join(", ")
        ))
    }

    /// Checks this entry of the setting `agents`. `name` is the name of the entry.
    ///
    /// # Errors
    /// Fails if `name`, the name of a variable in `env` or the preset is not valid. Also fails if the command is empty,
    /// or if there is neither a command nor a preset. The error text, for example ` has no command: …`, continues
    /// `name`. The caller puts `name` in front.
    pub fn check(&self, name: &str) -> Result<(), String> {
        if !is_agent_name(name) {
            return Err(format!(
                " has no valid name: use at most {AGENT_NAME_MAX} lowercase letters, digits, hyphens and underscores"
            ));
        }
        for variable in self.env.keys() {
            if variable.is_empty() || variable.contains(['=', '\0']) {
                let variable = one_line(&clip(variable, 80));
                return Err(format!(
                    ".env has '{variable}', which is not a valid variable name"
                ));
            }
        }
        let preset = self.preset_for(name)?;
        let program = match &self.command {
            Some(AgentCommand::Program(program)) => Some(program),
            Some(AgentCommand::List(list)) => list.first(),
            None if preset.is_some() => return Ok(()),
            None => None,
        };
        if program.is_none_or(|program| program.trim().is_empty()) {
            return Err(
                " has no command: give the program that starts the agent, or a preset".into(),
            );
        }
        Ok(())
    }
}

/// Returns whether `name` can be the name of an external agent: 1 to [`AGENT_NAME_MAX`] of the characters `a` to `z`,
/// `0` to `9`, `-` and `_`.
pub fn is_agent_name(name: &str) -> bool {
    let is_valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=AGENT_NAME_MAX).contains(&name.len()) && name.bytes().all(is_valid)
}

/// Checks all entries of the setting `agents`.
///
/// # Errors
/// Fails if [`ExternalAgentSettings::check`] fails for an entry. The error text continues the name of the setting, for
/// example with `.mine has no command: …`. The caller puts the name of the setting in front.
pub fn check_agents(entries: &BTreeMap<String, ExternalAgentSettings>) -> Result<(), String> {
    for (name, entry) in entries {
        entry.check(name).map_err(|why| format!(".{name}{why}"))?;
    }
    Ok(())
}

/// Returns the settings of all external agents by name: the entries of the user, and an empty entry for each preset for
/// which the user has no entry.
pub fn with_presets(
    entries: &BTreeMap<String, ExternalAgentSettings>,
) -> BTreeMap<String, ExternalAgentSettings> {
    let presets = PRESETS.iter().map(|preset| preset.name.to_string());
    let mut all: BTreeMap<_, _> = presets
        .map(|name| (name, ExternalAgentSettings::default()))
        .collect();
    all.extend(
        entries
            .iter()
            .map(|(name, entry)| (name.clone(), entry.clone())),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn resolve(name: &str, settings: &ExternalAgentSettings) -> Result<ExternalAgent, String> {
        ExternalAgent::resolve(name, settings, &|text| Ok(text.replace("${KEY}", "value")))
    }

    fn command(list: &[&str]) -> AgentCommand {
        AgentCommand::List(list.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn preset_completes_an_entry_with_its_name() {
        let agent = resolve("gemini", &ExternalAgentSettings::default()).unwrap();
        assert_eq!(agent.argv, ["gemini", "--acp"]);
        assert_eq!(agent.ask_mode.as_deref(), Some("default"));
        let settings = ExternalAgentSettings {
            preset: Some("gemini".into()),
            command: Some(AgentCommand::Program("/opt/my agents/gemini".into())),
            mode: Some("autoEdit".into()),
            env: BTreeMap::from([("A".into(), "x ${KEY}".into())]),
            ..ExternalAgentSettings::default()
        };
        let agent = resolve("mine", &settings).unwrap();
        assert_eq!(agent.argv, ["/opt/my agents/gemini", "--acp"]);
        assert_eq!(agent.ask_mode.as_deref(), Some("autoEdit"));
        assert_eq!(agent.env["A"], "x value");
    }

    #[test]
    fn agent_without_a_task_asks_before_it_writes_in_the_checkout() {
        let agent = resolve("codex", &ExternalAgentSettings::default()).unwrap();
        assert_eq!(agent.checkout_mode(), Some("read-only"));
        let agent = resolve("claude", &ExternalAgentSettings::default()).unwrap();
        assert_eq!(agent.checkout_mode(), agent.ask_mode.as_deref());
        let settings = ExternalAgentSettings {
            mode: Some("agent-full-access".into()),
            ..ExternalAgentSettings::default()
        };
        let agent = resolve("codex", &settings).unwrap();
        assert_eq!(agent.checkout_mode(), Some("agent-full-access"));
    }

    #[test]
    fn command_with_arguments_replaces_those_of_the_preset() {
        let settings = ExternalAgentSettings {
            command: Some(command(&["npx", "qwen"])),
            ..ExternalAgentSettings::default()
        };
        assert_eq!(resolve("qwen", &settings).unwrap().argv, ["npx", "qwen"]);
        let settings = ExternalAgentSettings {
            args: Some(vec!["--acp".into(), "-d".into()]),
            ..settings
        };
        assert_eq!(
            resolve("qwen", &settings).unwrap().argv,
            ["npx", "qwen", "--acp", "-d"]
        );
    }

    #[test]
    fn entries_without_a_program_are_rejected() {
        let empty = ExternalAgentSettings::default();
        for (name, settings, expected) in [
            ("mine", empty.clone(), "has no command"),
            (
                "mine",
                ExternalAgentSettings {
                    command: Some(command(&[])),
                    ..empty.clone()
                },
                "has no command",
            ),
            (
                "mine",
                ExternalAgentSettings {
                    preset: Some("cluade".into()),
                    ..empty.clone()
                },
                "Did you mean 'claude'?",
            ),
            ("Bad Name", empty, "has no valid name"),
        ] {
            let error = resolve(name, &settings).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn every_preset_is_listed_once_and_can_be_overridden() {
        let mine = ExternalAgentSettings {
            mode: Some("x".into()),
            ..ExternalAgentSettings::default()
        };
        let all = with_presets(&BTreeMap::from([("claude".to_string(), mine.clone())]));
        assert_eq!(all.len(), PRESETS.len());
        assert!(all.keys().all(|name| is_agent_name(name)));
        assert_eq!(all["claude"], mine);
        assert!(check_agents(&all).is_ok());
    }
}
