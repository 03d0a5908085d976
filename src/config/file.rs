//! The settings file (TOML): its keys, and clear words for what does not fit.

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

/// All settings; `None` and empty: not set.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `anthropic` or `openai` (any server that speaks its Chat Completions).
    pub provider: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// The name of the theme of the dashboard.
    pub theme: Option<String>,
    /// The themes that the person wrote.
    #[serde(default, deserialize_with = "themes::read")]
    pub themes: Vec<Arc<OwnTheme>>,
    /// The server's address.
    pub base_url: Option<String>,
    /// The tools that agents get; all where it is not set.
    pub tools: Option<Vec<String>>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u32>,
    /// The tokens that the model can hold; the footer shows how much of it is in use.
    pub window: Option<u64>,
    /// The share of the window, in percent (10 to 95), at which a conversation is summarised.
    pub compact_at: Option<u64>,
    /// Most calls of the model in flight for the whole team (1 to 64).
    pub calls_max: Option<usize>,
    /// Most teammates at a time (1 to 500); by cores and memory where it is not set.
    pub agents_max: Option<usize>,
    /// Whether each claimed task gets a git worktree of its own; true where it is not set.
    pub worktrees: Option<bool>,
    /// Who merges completed tasks: `asked` (you or the lead) or `auto`.
    pub merge: Option<Merging>,
    /// Seconds after which a resting teammate leaves; 0: never.
    pub idle_timeout_s: Option<u64>,
    /// Seconds that a program of an agent may run.
    pub tool_timeout_s: Option<u64>,
    /// Seconds that the model's server may say nothing while it is asked.
    pub model_timeout_s: Option<u64>,
    /// Who decides plans.
    pub plan: Option<Decider>,
    /// Who decides shutdowns.
    pub shutdown: Option<Decider>,
    /// Who decides the tool calls that the policy asks about.
    pub tool: Option<Decider>,
    /// Commands that agents may run without being asked about, by their first words.
    pub allow: Option<Vec<String>>,
    /// How the person is called who looks elsewhere: `bell`, `desktop` (OSC 9) or `off`; bell if missing.
    pub notify: Option<Calling>,
    /// What the person is called for: `needs`, `trouble`, `done`; all where it is not set.
    pub notify_about: Option<Vec<Matter>>,
    /// Whether the mouse clicks and scrolls in the dashboard from the start; true where it is not set.
    pub mouse: Option<bool>,
    /// Folders outside the work directory that commands of agents may write, besides caches and temporary files.
    pub write: Option<Vec<String>>,
    /// Whether commands of agents are confined to where they may write.
    pub confine: Option<Confining>,
    /// Environment variables that commands of agents see although they look like secrets; only in the user's own file.
    pub pass_env: Option<Vec<String>>,
    /// Whether commands reach the network, for all roles or each.
    #[serde(default, deserialize_with = "network")]
    pub network: Option<NetworkRules>,
    /// Services on this machine that commands may reach on their sockets.
    pub sockets: Option<Vec<SocketGroup>>,
    /// Most processes of one command; 0: any number.
    pub processes_max: Option<u32>,
    /// Most memory of one command in MiB; 0: any amount.
    pub memory_max_mb: Option<u64>,
    /// What keys do, by the action's name; only in the person's own file.
    #[serde(default, deserialize_with = "keys")]
    pub keys: BTreeMap<String, Vec<String>>,
    /// How much the agents may use before the person is asked.
    #[serde(default)]
    pub ceilings: Ceilings,
    /// Settings of the Anthropic wire.
    #[serde(default)]
    pub anthropic: Anthropic,
    /// Settings of the `OpenAI` wire.
    #[serde(default)]
    pub openai: OpenAi,
    /// US dollars for a million tokens, by the model's name.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
}

/// Reads one switch for all roles, or a table of them.
fn network<'de, D: Deserializer<'de>>(from: D) -> Result<Option<NetworkRules>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "network is \"on\", \"off\" or \"ask\", or a table with lead, teammate and subagent"
    )]
    enum Word {
        All(Network),
        Each(NetworkRules),
    }
    Ok(Some(match Word::deserialize(from)? {
        Word::All(network) => NetworkRules::all(network),
        Word::Each(rules) => rules,
    }))
}

/// Reads the keys of each action: one, or a list; a table below a context is the same with a dot.
fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "keys are a text as \"ctrl+m\", or a list of such texts"
    )]
    enum Keys {
        One(String),
        Some(Vec<String>),
        In(BTreeMap<String, Keys>),
    }
    fn flat(name: String, keys: Keys, out: &mut BTreeMap<String, Vec<String>>) {
        match keys {
            Keys::One(key) => drop(out.insert(name, vec![key])),
            Keys::Some(keys) => drop(out.insert(name, keys)),
            Keys::In(table) => {
                for (action, keys) in table {
                    flat(format!("{name}.{action}"), keys, out);
                }
            }
        }
    }
    let mut out = BTreeMap::new();
    for (name, keys) in BTreeMap::<String, Keys>::deserialize(from)? {
        flat(name, keys, &mut out);
    }
    Ok(out)
}

/// Who merges completed tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merging {
    /// The person or the lead, one by one.
    #[default]
    Asked,
    /// The crew, as soon as a task is completed.
    Auto,
}

/// Whether commands of agents are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confining {
    /// They are, as far as the system can.
    #[default]
    On,
    /// They are, but the history of the repository is not protected from them.
    Files,
    /// They are not.
    Off,
}

/// Settings of the Anthropic wire.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anthropic {
    /// `x-api-key` or `bearer`.
    pub key_header: Option<String>,
    /// The `anthropic-version` header.
    pub version: Option<String>,
}

/// Settings of the `OpenAI` wire.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenAi {
    /// `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: Option<String>,
}

/// The keys of each table, for the hint on an unknown one.
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
    /// Reads the text of a settings file.
    ///
    /// # Errors
    /// Says where and what is wrong; for an unknown setting it names the nearest known one.
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
                    bail!("{shown}: {}", unknown(name, key, keys));
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
                    "{shown}: write names '{folder}': give folders with their whole path, like \"/srv/data\" or \"~/.cache\""
                );
            }
        }
        for ceiling in Ceiling::ALL {
            let set = settings.ceilings.of(ceiling);
            if let Some(least) = set.filter(|c| !(c.is_finite() && *c > 0.0)) {
                let name = ceiling.setting();
                bail!("{shown}: {name} is {least}: give a number above 0, or leave it out");
            }
        }
        Ok(settings)
    }

    /// These settings with `later` over them.
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
            themes: themes::overlaid(self.themes, later.themes),
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
            anthropic: Anthropic {
                key_header: later.anthropic.key_header.or(self.anthropic.key_header),
                version: later.anthropic.version.or(self.anthropic.version),
            },
            openai: OpenAi {
                max_tokens_field: later
                    .openai
                    .max_tokens_field
                    .or(self.openai.max_tokens_field),
            },
            prices,
        }
    }
}

fn unknown(table: &str, key: &str, keys: &[&str]) -> String {
    let full = if table.is_empty() {
        key.to_string()
    } else {
        format!("{table}.{key}")
    };
    match nearest(key, keys) {
        Some(known) => format!("unknown setting '{full}': did you mean '{known}'?"),
        None => format!("unknown setting '{full}': known are {}", keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(text, Path::new("config.toml"))
    }

    #[test]
    fn an_unknown_setting_names_the_nearest_known_one() {
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
            ("write = ['target']", "write names 'target': give folders"),
            ("write = ['/']", "write names '/': give folders"),
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
            ("zzz = 1", "unknown setting 'zzz': known are provider"),
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
                "a colour is a text as \"#ffcc00\", or a number",
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
    fn the_network_is_set_for_all_roles_or_each() {
        let network = |text| parse(text).unwrap().network.unwrap();
        assert_eq!(network("network = 'off'"), NetworkRules::all(Network::Off));
        let each = network("[network]\nteammate = 'ask'");
        assert_eq!((each.lead, each.teammate), (Network::On, Network::Ask));
    }

    #[test]
    fn the_project_wins_over_the_user_and_prices_add_up() {
        let user = parse("model='a'\nwindow=5\n[prices.a]\ninput=1.0\noutput=2.0").unwrap();
        let project = parse("model='b'\nplan='auto'\n[prices.b]\ninput=3.0\noutput=4.0").unwrap();
        let both = user.overlaid(project);
        assert_eq!((both.model.as_deref(), both.window), (Some("b"), Some(5)));
        assert_eq!((both.plan, both.prices.len()), (Some(Decider::Auto), 2));
    }
}
