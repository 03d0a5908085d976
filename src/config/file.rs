//! The settings file (TOML): keys, parsing, validation and error messages.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Deserializer};

use super::themes;

use crate::domain::attention::{Calling, Matter};
use crate::domain::ceiling::{Ceiling, Ceilings};
use crate::domain::own_theme::OwnTheme;
use crate::domain::request::Decider;
use crate::domain::sandbox::{Network, NetworkRules, SocketGroup};
use crate::domain::team::AGENTS_MAX;
use crate::domain::text::nearest;
use crate::domain::usage::Price;

/// All settings. `None` and empty mean "not set".
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The model provider: `anthropic`, `openai` (or a compatible server), `demo` or `script:FILE`.
    pub provider: Option<String>,
    /// The name of the model.
    pub model: Option<String>,
    /// The name of the dashboard's theme.
    pub theme: Option<String>,
    /// The custom themes.
    #[serde(default, deserialize_with = "themes::read")]
    pub themes: Vec<Arc<OwnTheme>>,
    /// The address of the model server.
    pub base_url: Option<String>,
    /// The tools that agents get; default: all.
    pub tools: Option<Vec<String>>,
    /// Maximum number of tokens in one model response.
    pub max_tokens: Option<u32>,
    /// The model's context window in tokens.
    pub window: Option<u64>,
    /// The share of the context window, in percent (10 to 95), at which a conversation is summarized.
    pub compact_at: Option<u64>,
    /// Maximum number of concurrent model calls of the whole team (1 to 64).
    pub calls_max: Option<usize>,
    /// Maximum number of teammates at a time (1 to 500); default: derived from cores and memory.
    pub agents_max: Option<usize>,
    /// Whether each claimed task gets its own git worktree; default: true.
    pub worktrees: Option<bool>,
    /// Who merges completed tasks: `asked` (the user or the lead) or `auto`.
    pub merge: Option<Merging>,
    /// Seconds after which an idle teammate leaves the team; 0: never.
    pub idle_timeout_s: Option<u64>,
    /// Maximum run time of an agent's command, in seconds.
    pub tool_timeout_s: Option<u64>,
    /// Maximum time without data from the model server during a call, in seconds.
    pub model_timeout_s: Option<u64>,
    /// Who approves plans.
    pub plan: Option<Decider>,
    /// Who approves shutdowns.
    pub shutdown: Option<Decider>,
    /// Who approves tool calls that need permission.
    pub tool: Option<Decider>,
    /// Commands that agents may run without permission, as prefixes: the first words of the command.
    pub allow: Option<Vec<String>>,
    /// How the user is notified while the terminal has no focus: `bell`, `desktop` (OSC 9) or `off`; default: `bell`.
    pub notify: Option<Calling>,
    /// What the user is notified about: `needs`, `trouble`, `done`; default: all.
    pub notify_about: Option<Vec<Matter>>,
    /// Whether the dashboard starts with mouse support; default: true.
    pub mouse: Option<bool>,
    /// Folders outside the work directory that agents' commands may write, besides caches and temporary files.
    pub write: Option<Vec<String>>,
    /// Whether agents' commands run in the sandbox.
    pub confine: Option<Confining>,
    /// Environment variables that agents' commands see although they look like secrets; only in the user's file.
    pub pass_env: Option<Vec<String>>,
    /// Whether agents' commands may use the network, for all roles or per role.
    #[serde(default, deserialize_with = "deserialize_network")]
    pub network: Option<NetworkRules>,
    /// Local services whose sockets agents' commands may connect to.
    pub sockets: Option<Vec<SocketGroup>>,
    /// Maximum number of processes of one command; 0: unlimited.
    pub processes_max: Option<u32>,
    /// Maximum memory of one command in MiB; 0: unlimited.
    pub memory_max_mb: Option<u64>,
    /// Key bindings by action name; only in the user's file.
    #[serde(default, deserialize_with = "deserialize_keys")]
    pub keys: BTreeMap<String, Vec<String>>,
    /// Budgets: token and cost limits at which agents pause and the user is asked.
    #[serde(default)]
    pub ceilings: Ceilings,
    /// Settings of the Anthropic API.
    #[serde(default)]
    pub anthropic: AnthropicSettings,
    /// Settings of the `OpenAI` API.
    #[serde(default)]
    pub openai: OpenAiSettings,
    /// Prices in US dollars per million tokens, by model name.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
}

/// Reads either one value for all roles or a table with a value per role.
fn deserialize_network<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<NetworkRules>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "network is \"on\", \"off\" or \"ask\", or a table with lead, teammate and subagent"
    )]
    enum NetworkSetting {
        All(Network),
        PerRole(NetworkRules),
    }
    Ok(Some(match NetworkSetting::deserialize(from)? {
        NetworkSetting::All(network) => NetworkRules::all(network),
        NetworkSetting::PerRole(rules) => rules,
    }))
}

/// Reads the keys of each action: one key or a list of keys. An entry `action` in the table `[keys.context]` is the
/// action `context.action`.
fn deserialize_keys<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "keys must be a string such as \"ctrl+m\", or a list of strings"
    )]
    enum Keys {
        One(String),
        List(Vec<String>),
        Table(BTreeMap<String, Keys>),
    }
    fn flatten(name: String, keys: Keys, out: &mut BTreeMap<String, Vec<String>>) {
        match keys {
            Keys::One(key) => drop(out.insert(name, vec![key])),
            Keys::List(keys) => drop(out.insert(name, keys)),
            Keys::Table(table) => {
                for (action, keys) in table {
                    flatten(format!("{name}.{action}"), keys, out);
                }
            }
        }
    }
    let mut out = BTreeMap::new();
    for (name, keys) in BTreeMap::<String, Keys>::deserialize(from)? {
        flatten(name, keys, &mut out);
    }
    Ok(out)
}

/// Who merges completed tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merging {
    /// The user or the lead, one task at a time.
    #[default]
    Asked,
    /// crewdeck, as soon as a task is completed.
    Auto,
}

/// Whether agents' commands run in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confining {
    /// Sandboxed, as far as the system supports it.
    #[default]
    On,
    /// Sandboxed, but commands may change the repository's git history.
    Files,
    /// Not sandboxed.
    Off,
}

/// Settings of the Anthropic API.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnthropicSettings {
    /// How the API key is sent: `x-api-key` or `bearer`.
    pub key_header: Option<String>,
    /// The `anthropic-version` header.
    pub version: Option<String>,
}

/// Settings of the `OpenAI` API.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAiSettings {
    /// The name of the token limit in requests: `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: Option<String>,
}

/// The known keys of each table, to reject unknown keys with a suggestion.
const KEYS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "provider",
            "model",
            "base_url",
            "theme",
            "themes",
            "tools",
            "max_tokens",
            "window",
            "compact_at",
            "worktrees",
            "merge",
            "calls_max",
            "agents_max",
            "idle_timeout_s",
            "tool_timeout_s",
            "model_timeout_s",
            "plan",
            "shutdown",
            "tool",
            "allow",
            "notify",
            "notify_about",
            "mouse",
            "write",
            "confine",
            "pass_env",
            "network",
            "sockets",
            "processes_max",
            "memory_max_mb",
            "keys",
            "ceilings",
            "anthropic",
            "openai",
            "prices",
        ],
    ),
    (
        "ceilings",
        &["team_tokens", "agent_tokens", "team_cost", "agent_cost"],
    ),
    ("network", &["lead", "teammate", "subagent"]),
    ("anthropic", &["key_header", "version"]),
    ("openai", &["max_tokens_field"]),
];

impl Settings {
    /// Parses and validates the text of a settings file. `path` is only used in errors.
    ///
    /// # Errors
    /// Returns an error that names the file, the setting and the problem. For an unknown setting it names the closest
    /// match.
    pub fn parse(text: &str, path: &Path) -> Result<Settings> {
        let shown = path.display();
        let table: toml::Table =
            toml::from_str(text).map_err(|e| anyhow!("{shown} is not valid TOML: {e}"))?;
        for (name, keys) in KEYS {
            let inside = match *name {
                "" => Some(&table),
                name => table.get(name).and_then(toml::Value::as_table),
            };
            for key in inside.into_iter().flat_map(|t| t.keys()) {
                if !keys.contains(&key.as_str()) {
                    bail!("{shown}: {}", unknown_setting(name, key, keys));
                }
            }
        }
        let settings: Settings =
            toml::from_str(text).map_err(|e| anyhow!("{shown}: {}", e.to_string().trim_end()))?;
        if let Some(share) = settings.compact_at.filter(|s| !(10..=95).contains(s)) {
            bail!("{shown}: compact_at is {share}: give a percentage from 10 to 95");
        }
        if let Some(calls) = settings.calls_max.filter(|c| !(1..=64).contains(c)) {
            bail!("{shown}: calls_max is {calls}: give a number from 1 to 64");
        }
        if let Some(agents) = settings
            .agents_max
            .filter(|a| !(1..=AGENTS_MAX).contains(a))
        {
            bail!("{shown}: agents_max is {agents}: give a number from 1 to {AGENTS_MAX}");
        }
        for folder in settings.write.iter().flatten() {
            if !(folder.starts_with('/') || folder.starts_with("~/")) || folder == "/" {
                bail!(
                    "{shown}: write names '{folder}': give absolute paths, such as \"/srv/data\" or \"~/.cache\""
                );
            }
        }
        for ceiling in Ceiling::ALL {
            let set = settings.ceilings.of(ceiling);
            if let Some(value) = set.filter(|c| !(c.is_finite() && *c > 0.0)) {
                let name = ceiling.setting();
                bail!("{shown}: {name} is {value}: give a number above 0, or leave it out");
            }
        }
        Ok(settings)
    }

    /// Merges two sets of settings; values of `later` take precedence.
    #[must_use]
    pub fn overlaid(self, later: Settings) -> Settings {
        let mut prices = self.prices;
        prices.extend(later.prices);
        let mut keys = self.keys;
        keys.extend(later.keys);
        Settings {
            provider: later.provider.or(self.provider),
            model: later.model.or(self.model),
            base_url: later.base_url.or(self.base_url),
            theme: later.theme.or(self.theme),
            themes: themes::merge(self.themes, later.themes),
            tools: later.tools.or(self.tools),
            max_tokens: later.max_tokens.or(self.max_tokens),
            window: later.window.or(self.window),
            compact_at: later.compact_at.or(self.compact_at),
            worktrees: later.worktrees.or(self.worktrees),
            merge: later.merge.or(self.merge),
            calls_max: later.calls_max.or(self.calls_max),
            agents_max: later.agents_max.or(self.agents_max),
            idle_timeout_s: later.idle_timeout_s.or(self.idle_timeout_s),
            tool_timeout_s: later.tool_timeout_s.or(self.tool_timeout_s),
            model_timeout_s: later.model_timeout_s.or(self.model_timeout_s),
            plan: later.plan.or(self.plan),
            shutdown: later.shutdown.or(self.shutdown),
            tool: later.tool.or(self.tool),
            allow: later.allow.or(self.allow),
            notify: later.notify.or(self.notify),
            notify_about: later.notify_about.or(self.notify_about),
            mouse: later.mouse.or(self.mouse),
            write: later.write.or(self.write),
            confine: later.confine.or(self.confine),
            pass_env: later.pass_env.or(self.pass_env),
            network: later.network.or(self.network),
            sockets: later.sockets.or(self.sockets),
            processes_max: later.processes_max.or(self.processes_max),
            memory_max_mb: later.memory_max_mb.or(self.memory_max_mb),
            keys,
            ceilings: self.ceilings.overlaid(later.ceilings),
            anthropic: AnthropicSettings {
                key_header: later.anthropic.key_header.or(self.anthropic.key_header),
                version: later.anthropic.version.or(self.anthropic.version),
            },
            openai: OpenAiSettings {
                max_tokens_field: later
                    .openai
                    .max_tokens_field
                    .or(self.openai.max_tokens_field),
            },
            prices,
        }
    }
}

fn unknown_setting(table: &str, key: &str, keys: &[&str]) -> String {
    let full = if table.is_empty() {
        key.to_string()
    } else {
        format!("{table}.{key}")
    };
    match nearest(key, keys) {
        Some(known) => format!("unknown setting '{full}': did you mean '{known}'?"),
        None => format!("unknown setting '{full}': use one of {}", keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(text, Path::new("config.toml"))
    }

    #[test]
    fn errors_name_the_file_the_problem_and_the_closest_setting() {
        for (text, hint) in [
            (
                "modle = 'x'",
                "unknown setting 'modle': did you mean 'model'?",
            ),
            (
                "[anthropic]\nversoin = 'x'",
                "unknown setting 'anthropic.versoin': did you mean 'version'?",
            ),
            ("compact_at = 100", "compact_at is 100: give a percentage"),
            (
                "write = ['target']",
                "write names 'target': give absolute paths",
            ),
            ("write = ['/']", "write names '/': give absolute paths"),
            ("write = '~/.cargo'", "expected a sequence"),
            ("confine = 'no'", "expected one of `on`, `files`, `off`"),
            ("confin = 'off'", "did you mean 'confine'?"),
            ("network = 'no'", "network is \"on\", \"off\" or \"ask\""),
            ("[network]\nmate = 'off'", "unknown setting 'network.mate'"),
            ("sockets = ['sssh']", "unknown variant `sssh`"),
            ("calls_max = 0", "calls_max is 0: give a number from 1"),
            (
                "agents_max = 501",
                "agents_max is 501: give a number from 1 to 500",
            ),
            (
                "[ceilings]\nteam_token = 5",
                "unknown setting 'ceilings.team_token': did you mean 'team_tokens'?",
            ),
            (
                "[ceilings]\nagent_cost = -0.5",
                "ceilings.agent_cost is -0.5: give a number above 0",
            ),
            (
                "[ceilings]\nteam_tokens = 0",
                "ceilings.team_tokens is 0: give",
            ),
            ("zzz = 1", "unknown setting 'zzz': use one of provider"),
            ("plan = 'maybe'", "expected one of"),
            (
                "[themes.mine]\ntitel = 'red'",
                "unknown setting 'themes.mine.titel': did you mean 'title'?",
            ),
            (
                "[themes.mine]\nok = 256",
                "themes.mine.ok: there is no colour '256': give a name",
            ),
            (
                "[themes.mine]\nok = true",
                "a color must be a string such as \"#ffcc00\", or a number",
            ),
            ("model = ", "not valid TOML"),
            ("[prices.m]\ninput = 1.0\noutput = 2.0\ncahce = 1", "cahce"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with("config.toml") && error.contains(hint),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn network_can_be_set_for_all_roles_or_per_role() {
        let network = |text| parse(text).unwrap().network.unwrap();
        assert_eq!(network("network = 'off'"), NetworkRules::all(Network::Off));
        let each = network("[network]\nteammate = 'ask'");
        assert_eq!((each.lead, each.teammate), (Network::On, Network::Ask));
    }

    #[test]
    fn project_overrides_user_and_prices_are_merged() {
        let user = parse("model='a'\nwindow=5\n[prices.a]\ninput=1.0\noutput=2.0").unwrap();
        let project = parse("model='b'\nplan='auto'\n[prices.b]\ninput=3.0\noutput=4.0").unwrap();
        let both = user.overlaid(project);
        assert_eq!((both.model.as_deref(), both.window), (Some("b"), Some(5)));
        assert_eq!((both.plan, both.prices.len()), (Some(Decider::Auto), 2));
    }
}
