//! Every setting, declared once: name, type, default, example, documentation, range, and what a project's file may do
//! with it. The parser, the layering, the hint on unknown names, the approval of project settings and
//! `docs/settings.md` follow from this declaration. To add a setting, add an entry here and use it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::Value;

use super::hub::{HUB_KEYS, HubOptions};
use super::layer::Layer;
use super::named_models;
use super::setting::{InProject, Optional, Section, Setting, strip_raw};
use super::values::{self, ProviderOptions, SandboxMode};
use crate::domain::budget::UsageBudgets;
use crate::domain::checkpoint::{CHECKPOINT_KEYS, CheckpointSettings};
use crate::domain::checks::{CheckSpec, check_specs};
use crate::domain::custom_theme::CustomTheme;
use crate::domain::external_agent::{ExternalAgentSettings, check_agents};
use crate::domain::named_model::{ModelUses, NamedModel};
use crate::domain::notification::{NotifyKind, NotifyMethod};
use crate::domain::request::Approver;
use crate::domain::sandbox::{NetworkRules, SocketGroup};
use crate::domain::screen::ImageSetting;
use crate::domain::team::AGENTS_MAX;
use crate::domain::usage::Price;
use crate::domain::worktree::{MergePolicy, WORKTREE_KEYS, WorktreeSettings};
use crate::model::providers::PROVIDERS;
use crate::model::window::WINDOW_MIN;

/// The highest value of `max_tokens` that a project may set without approval.
const PROJECT_TOKENS_MAX: i64 = 32_768;
/// The highest value of `tool_timeout_s`, in seconds, that a project may set without approval.
const PROJECT_TOOL_TIMEOUT_MAX: i64 = 3600;
/// The highest accepted number of tokens. More is a mistake, because no model has a window of this size.
const TOKENS_MAX: u32 = 100_000_000;
/// The highest accepted value of `calls_without_progress`.
const CALLS_MAX: u32 = 100_000;
/// The highest accepted time limit, in seconds: a week.
const SECONDS_MAX: u64 = 604_800;

/// Declares all settings, by section. A setting has one of two defaults. `default` is only a text for the
/// documentation. `value` is the default itself; a method of `Settings` with the setting's name returns it if the
/// setting is not set. `range` is the lowest and the highest accepted number.
macro_rules! settings {
    (@default [$text:literal] []) => { $text };
    (@default [] [$value:literal]) => { stringify!($value) };
    (@range) => { None };
    (@range $low:expr, $high:expr) => { Some(|| format!("{} to {}", $low, $high)) };
    (@option) => { None };
    (@option $alias:literal) => { Some($alias) };
    (@keys) => { &[] };
    (@keys $keys:expr) => { $keys };
    ($( $title:literal { $(
        $(#[doc = $doc:literal])+
        $(#[serde($($serde:tt)*)])?
        $name:ident: $type:ty {
            $(default: $default:literal,)?
            $(value: $value:literal,)?
            example: $example:literal,
            in_project: $in_project:expr
            $(, alias: $alias:literal)?
            $(, keys: $keys:expr)?
            $(, range: ($low:expr, $high:expr))?
            $(, check: $check:expr)?
            $(,)?
        }
    )+ } )+) => {
        /// The values of all settings. `None` or an empty collection means that the setting is not set.
        #[derive(Debug, Clone, PartialEq, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Settings {
            $($(
                $(#[doc = $doc])+
                $(#[serde(alias = $alias)])?
                $(#[serde($($serde)*)])?
                pub $name: $type,
            )+)+
        }

        impl Settings {
            /// Returns these settings, overridden by those that are set in `later`.
            #[must_use]
            pub fn overlaid(self, later: Settings) -> Settings {
                Settings { $($( $name: Layer::layer(self.$name, later.$name), )+)+ }
            }

            /// Checks what the types do not ensure, such as the range of a number.
            ///
            /// # Errors
            /// Returns a message that names the setting, its value and the accepted values.
            pub(super) fn check(&self) -> Result<(), String> {
                $($(
                    $( values::check_range(&self.$name, $low, $high).map_err(|why| format!("{}{why}", stringify!($name)))?; )?
                    $( ($check)(&self.$name).map_err(|why: String| format!("{}{why}", stringify!($name)))?; )?
                )+)+
                for provider in PROVIDERS {
                    provider.check_options(&self.provider_options(provider.name))?;
                }
                Ok(())
            }

            $($( $(
                /// Returns the value of the setting, or its default if it is not set.
                pub fn $name(&self) -> <$type as Optional>::Value {
                    self.$name.unwrap_or($value)
                }
            )? )+)+

            /// Returns the options of the model provider `name`, from the setting of that name, such as `anthropic`.
            /// Empty if the setting is not set.
            pub fn provider_options(&self, name: &str) -> ProviderOptions {
                let fields: &[(&str, &dyn Any)] = &[$($( (stringify!($name), &self.$name), )+)+];
                let field = fields.iter().find(|(field, _)| *field == name);
                field.and_then(|(_, value)| value.downcast_ref()).cloned().unwrap_or_default()
            }
        }

        /// All settings by section. Settings that need approval are shown in this order, so the most dangerous sections
        /// come first.
        pub const SECTIONS: &[Section] = &[
            $( Section {
                title: $title,
                settings: &[ $( Setting {
                    name: strip_raw(stringify!($name)),
                    alias: settings!(@option $($alias)?),
                    doc: &[$($doc),+],
                    default: settings!(@default [$($default)?] [$($value)?]),
                    range: settings!(@range $($low, $high)?),
                    example: $example,
                    in_project: $in_project,
                    keys: settings!(@keys $($keys)?),
                } ),+ ],
            } ),+
        ];
    };
}

settings! {
    "Model and server" {
        /// The address of the model server.
        base_url: Option<String> {
            default: "the vendor's address",
            example: "\"http://127.0.0.1:11434/v1\"",
            in_project: InProject::NeedsApproval { effect: "your API key and all that agents read go to this address" },
        }
        /// The wire format: {providers}; or a vendor with its own address and key variable: {vendors}.
        provider: Option<String> {
            default: "chosen by the API key that is set (`OPENAI_API_KEY`: `responses` for OpenAI's own address, else `openai`), else a server found on this machine",
            example: "\"openai\"",
            in_project: InProject::NeedsApproval { effect: "selects the provider that receives your key and prompts, or a script that replaces the model" },
        }
        /// The model, by the name that its server uses.
        model: Option<String> {
            default: "the first that the server lists",
            example: "\"qwen3:8b\"",
            in_project: InProject::Applies,
        }
        /// Size of the model's context window, in tokens.
        window: Option<u64> {
            default: "the size in the server's model list, else a size assumed from the model's name (marked with `~`, as in `ctx ~41%`), else 100,000",
            example: "32768",
            in_project: InProject::Applies,
            range: (WINDOW_MIN, u64::from(TOKENS_MAX)),
        }
        /// Models under names of your choice, each with its own server: `provider`, `base_url`, `model`, `key_var` (the
        /// environment variable with the API key), `window`, `effort`, `thinking_budget`, `max_tokens`, `prices`,
        /// `headers`, `options`, `fallback`. See [models](models.md).
        models: BTreeMap<String, NamedModel> {
            default: "none",
            example: "{ fast = { provider = \"responses\", model = \"gpt-5-mini\", effort = \"low\" } }",
            in_project: InProject::NeedsApproval { effect: "names servers that receive your keys and prompts" },
            check: named_models::check,
        }
        /// Which model agents use: `lead`, `teammate`, `subagent`, and `summary` for the summary of a long conversation.
        /// Each is the name of a model of the setting `models`, or a name that the server uses. `--model` overrides `lead`.
        r#use: ModelUses {
            default: "`lead`: the setting `model`; teammates: as the lead; subagents: as their parent; summaries: as the agent",
            example: "{ lead = \"opus\", teammate = \"fast\" }",
            in_project: InProject::Applies,
            keys: &["lead", "teammate", "subagent", "summary"],
        }
        /// How much of the context window a conversation may fill before it is summarised, in percent.
        compact_at: Option<u64> {
            value: 80,
            example: "70",
            in_project: InProject::Applies,
            range: (10, 95),
        }
        /// Seconds without data from the model server after which a model call fails.
        model_timeout_s: Option<u64> {
            value: 300,
            example: "600",
            in_project: InProject::Applies,
            range: (1, SECONDS_MAX),
        }
        /// Maximum number of concurrent model calls of the whole team to one model server.
        calls_max: Option<usize> {
            value: 4,
            example: "2",
            in_project: InProject::Applies,
            range: (1, 64),
        }
        /// Options of the Anthropic wire format: `key_header` (`x-api-key` or `bearer`), `version`.
        anthropic: ProviderOptions {
            default: "as documented by the vendor",
            example: "{ key_header = \"bearer\" }",
            in_project: InProject::Applies,
            keys: &["key_header", "version"],
        }
        /// Options of the wire format Chat Completions: `max_tokens_field` (`max_tokens` or `max_completion_tokens`).
        openai: ProviderOptions {
            default: "as documented by the vendor",
            example: "{ max_tokens_field = \"max_tokens\" }",
            in_project: InProject::Applies,
            keys: &["max_tokens_field"],
        }
        /// Options of Azure: `key_header` (`api-key`, or `bearer` for a token of Microsoft Entra ID).
        azure: ProviderOptions {
            default: "the header `api-key`",
            example: "{ key_header = \"bearer\" }",
            in_project: InProject::Applies,
            keys: &["key_header"],
        }
    }
    "External agents" {
        /// Coding agents of other vendors that you can use as teammates, by name: `command` (a program, or a list with
        /// its arguments), `args`, `env`, `preset`, `mode`, `plan_mode`. In a value of `env`, `${NAME}` is replaced by the environment
        /// variable. `crewdeck agents list` shows the presets, which need no entry.
        agents: BTreeMap<String, ExternalAgentSettings> {
            default: "the presets",
            example: "{ gemini = { mode = \"default\" }, mine = { command = [\"my-agent\", \"acp\"] } }",
            in_project: InProject::NeedsApproval { effect: "starts these programs outside of the sandbox, with your access rights" },
            check: check_agents,
        }
    }
    "Hub" {
        /// How crewdeck uses the [hub](hub.md) of `--hub`: `user`, `nkey_file` and `credentials` log in (passwords, tokens and
        /// seeds come from the environment), `ca`, `cert` and `key` are files for TLS, `secret_file` is a file with the [shared
        /// secret](hub.md#shared-secret) of the crew. `remote` is the git remote through which the hosts exchange
        /// [branches](hub.md#result-branches): its name, a URL or an absolute path; a worker requires it, and without it a lead
        /// pushes nothing. For a crew that is new on the hub:
        /// `replicas` (1, 3 or 5 servers that keep a copy), `storage` (`file` or `memory`), `mail_max_mb` (maximum size of its
        /// messages, in MiB).
        hub: HubOptions {
            default: "no login, no secret, no remote, 1 replica, `file`, 256",
            example: "{ user = \"crew\", ca = \"/etc/crewdeck/ca.pem\", replicas = 3 }",
            in_project: InProject::Refused { why: "choose how you log in to a hub and where branches are pushed" },
            keys: HUB_KEYS,
            check: HubOptions::check,
        }
    }
    "Sandbox of commands" {
        /// `on`: commands are sandboxed. `files`: commands are sandboxed, but the git history is not protected. `off`:
        /// commands may write wherever you may.
        sandbox: Option<SandboxMode> {
            default: "on",
            example: "\"files\"",
            in_project: InProject::NeedsApproval { effect: "decides whether agents' commands are sandboxed" },
            alias: "confine",
        }
        /// Commands that run without asking you, given by their first words, and patterns of
        /// [tools of MCP servers](tools.md#tools-of-servers).
        allow: Option<Vec<String>> {
            default: "none",
            example: "[\"docker compose\"]",
            in_project: InProject::NeedsApproval { effect: "these commands run without asking you" },
            check: values::check_allow,
        }
        /// Folders that commands may write besides the work directory, temporary files and build caches.
        write: Option<Vec<String>> {
            default: "none",
            example: "[\"~/.local/share/uv\"]",
            in_project: InProject::NeedsApproval { effect: "agents' commands may write to these folders" },
            check: values::check_folders,
        }
        /// Network access of commands: `on`, `off`, or `ask` (a command that begins with `CREWDECK_NETWORK=on` waits for your
        /// approval). One word for all agents, or a table with `lead`, `teammate` and `subagent`.
        #[serde(deserialize_with = "values::network")]
        network: Option<NetworkRules> {
            default: "on",
            example: "\"ask\"",
            in_project: InProject::NeedsApproval { effect: "decides whether commands reach the network" },
            keys: &["lead", "teammate", "subagent"],
        }
        /// Services of this machine that commands may reach: `ssh`, `gpg`, `containers`, `display`, `dbus`, `terminals`.
        /// `ssh` also shows them your keys and tokens for git servers.
        sockets: Option<Vec<SocketGroup>> {
            default: "none",
            example: "[\"ssh\"]",
            in_project: InProject::NeedsApproval { effect: "agents' commands may use these services with your access rights" },
        }
        /// Environment variables that commands see although they look like secrets (`crewdeck doctor` lists such
        /// variables).
        pass_env: Option<Vec<String>> {
            default: "none",
            example: "[\"PIP_INDEX_URL\"]",
            in_project: InProject::Refused { why: "choose which environment variables commands see" },
        }
        /// Maximum number of processes of one command; 0: no limit.
        processes_max: Option<u32> {
            default: "256 per CPU core (512 to 4096)",
            example: "512",
            in_project: InProject::NeedsApproval { effect: "changes how many processes a command may have" },
        }
        /// Maximum memory of one command, in MiB; 0: no limit.
        memory_max_mb: Option<u64> {
            default: "half of the machine's memory, at least 512 MiB",
            example: "8192",
            in_project: InProject::NeedsApproval { effect: "changes how much memory a command may use" },
        }
        /// Maximum run time of a command, in seconds.
        tool_timeout_s: Option<u64> {
            value: 120,
            example: "600",
            in_project: InProject::AppliesIf {
                is_harmless: |value| is_between(value, 0, PROJECT_TOOL_TIMEOUT_MAX),
                effect: "lets commands run for a long time",
            },
            range: (1, SECONDS_MAX),
        }
    }
    "Approvals" {
        /// Who approves tool calls that need permission: `ask` (you), `lead`, `auto` (always approve), `deny` (always
        /// deny).
        tool: Option<Approver> {
            default: "ask",
            example: "\"ask\"",
            in_project: InProject::NeedsApproval { effect: "decides who approves tool calls" },
        }
        /// Who approves plans: `ask` (you), `lead`, `auto` (always approve), `deny` (always deny).
        plan: Option<Approver> {
            default: "ask",
            example: "\"lead\"",
            in_project: InProject::NeedsApproval { effect: "decides who approves plans" },
        }
        /// Who approves shutdowns: `ask` (you), `lead`, `auto` (always approve), `deny` (always deny).
        shutdown: Option<Approver> {
            default: "ask",
            example: "\"auto\"",
            in_project: InProject::NeedsApproval { effect: "decides who approves shutdowns" },
        }
    }
    "Checks" {
        /// Commands that must succeed on the content of a task before the task is completed, as tables `[[checks]]`:
        /// `name`, `run`, `tags` and `paths` (which tasks; without both: all), `timeout_s` (600), `retry` (`true`: a failed
        /// run is repeated once). See [checks](checks.md).
        checks: Vec<CheckSpec> {
            default: "none",
            example: "[{ name = \"test\", run = \"cargo test\", paths = [\"src/**\"] }]",
            in_project: InProject::NeedsApproval { effect: "runs these commands in the sandbox when a task is completed" },
            check: check_specs,
        }
        /// Maximum number of checks that run at the same time.
        checks_max: Option<usize> {
            default: "half of the CPU cores, at least 1",
            example: "2",
            in_project: InProject::NeedsApproval { effect: "decides how many checks run at the same time" },
            range: (1, 16),
        }
    }
    "Team" {
        /// Who merges completed tasks: `asked` (you or the lead) or `auto` (each one when it is completed).
        merge: Option<MergePolicy> {
            default: "asked",
            example: "\"auto\"",
            in_project: InProject::NeedsApproval { effect: "decides who merges" },
        }
        /// Names of the tools that agents can use.
        tools: Option<Vec<String>> {
            default: "all",
            example: "[\"bash\", \"read_file\", \"write_file\", \"edit_file\"]",
            in_project: InProject::NeedsApproval { effect: "decides which tools agents have" },
        }
        /// Whether each claimed task gets a git worktree of its own.
        worktrees: Option<bool> {
            value: true,
            example: "false",
            in_project: InProject::AppliesIf {
                is_harmless: |value| value.as_bool() == Some(true),
                effect: "decides whether each task has its own worktree or all share this directory",
            },
        }
        /// Commands for the worktrees of tasks: `setup` runs in each new worktree before its owner begins, `teardown`
        /// before a worktree is removed. `setup_timeout` is the maximum run time of each, in seconds (600 if not set). They
        /// run like commands of agents. `clone`: ignored folders that are copied into each new worktree, where the file
        /// system can share blocks; with `clone_fallback = "copy"`, also where it cannot. `disk_limit`: the size of
        /// worktrees and checks above which caches of completed tasks are deleted and you are warned. See
        /// [worktrees](worktrees.md#setup).
        worktree: WorktreeSettings {
            default: "none",
            example: "{ setup = \"npm ci\", setup_timeout = 900, clone = [\"node_modules\"], disk_limit = \"20 GiB\" }",
            in_project: InProject::NeedsApproval { effect: "runs these commands in each worktree, and copies these folders into it" },
            keys: WORKTREE_KEYS,
            check: WorktreeSettings::check,
        }
        /// Checkpoints of the files that agents change: `enabled` (true if not set), `keep_days` (7 if not set) and
        /// `disk_limit` (2 GiB if not set), the space above which the oldest are removed. See
        /// [checkpoints](checkpoints.md).
        checkpoints: CheckpointSettings {
            default: "enabled, 7 days, 2 GiB",
            example: "{ enabled = true, keep_days = 3, disk_limit = \"500 MiB\" }",
            in_project: InProject::NeedsApproval { effect: "decides whether checkpoints are recorded, and how long they are kept" },
            keys: CHECKPOINT_KEYS,
            check: CheckpointSettings::check,
        }
        /// Maximum number of teammates at the same time.
        agents_max: Option<usize> {
            default: "8 per CPU core, but at most one per 512 MiB of memory and at least 4",
            example: "100",
            in_project: InProject::NeedsApproval { effect: "decides how many agents run at the same time" },
            range: (1, AGENTS_MAX),
        }
        /// Seconds after which an idle teammate leaves; 0: never.
        idle_timeout_s: Option<u64> {
            value: 60,
            example: "0",
            in_project: InProject::Applies,
            range: (0, SECONDS_MAX),
        }
    }
    "Limits and prices" {
        /// Budgets: `team_tokens`, `team_cost` (all agents), `agent_tokens`, `agent_cost` (one agent with its
        /// subagents), `day_tokens`, `day_cost`, `month_tokens`, `month_cost` (all crews of the user in a local day or
        /// month; only crews with such a budget count). You are warned at 80 %. An agent that reaches a budget pauses
        /// before its next model call and asks you. Costs are in US dollars and need the price of the model.
        budget: UsageBudgets {
            default: "no limits",
            example: "{ team_tokens = 5000000, agent_cost = 5.0, day_cost = 20.0 }",
            in_project: InProject::NeedsApproval { effect: "decides how much is spent before you are asked" },
            alias: "ceilings",
            keys: &[
                "team_tokens", "agent_tokens", "team_cost", "agent_cost",
                "day_tokens", "day_cost", "month_tokens", "month_cost",
            ],
            check: values::check_budgets,
        }
        /// Number of model calls in a row without a change of files, tasks or messages after which an agent pauses and
        /// you are asked whether it may go on; 0: never. A call that reads something new counts a quarter. Subagents
        /// and agents that cannot write files are not checked.
        calls_without_progress: Option<u32> {
            value: 30,
            example: "100",
            in_project: InProject::NeedsApproval { effect: "decides when an agent without progress asks you" },
            range: (0, CALLS_MAX),
        }
        /// Prices in US dollars per million tokens, by the name of the model: `input`, `output`, and optionally
        /// `cache_read`, `cache_write`. Without an entry, the price of a well-known model on a server on another machine is
        /// taken from a built-in table, and its costs have the mark `~`.
        prices: BTreeMap<String, Price> {
            default: "those of well-known models, as estimates",
            example: "{ some-model = { input = 3.0, output = 15.0 } }",
            in_project: InProject::NeedsApproval { effect: "sets the prices used for cost estimates" },
            check: values::check_prices,
        }
        /// Maximum number of tokens in one answer of the model.
        max_tokens: Option<u32> {
            value: 8192,
            example: "16384",
            in_project: InProject::AppliesIf {
                is_harmless: |value| is_between(value, 0, PROJECT_TOKENS_MAX),
                effect: "allows long answers, which cost more",
            },
            range: (1, TOKENS_MAX),
        }
    }
    "Screen" {
        /// How you are notified while another window has the focus: `bell`, `desktop` (OSC 9) or `off`.
        notify: Option<NotifyMethod> {
            default: "bell",
            example: "\"desktop\"",
            in_project: InProject::AppliesIf {
                is_harmless: |value| matches!(value.as_str(), Some("bell" | "desktop")),
                effect: "decides whether you are notified",
            },
        }
        /// What you are notified about: `needs` (requests that wait for you), `trouble` (failed or stuck agents),
        /// `done` (all work is done).
        notify_about: Option<Vec<NotifyKind>> {
            default: "all",
            example: "[\"needs\"]",
            in_project: InProject::NeedsApproval { effect: "decides what you are notified about" },
        }
        /// The colours of the dashboard, by the name of a theme: `terminal` (the sixteen colours of your terminal), `dark`,
        /// `light`, `mono` (no colours), a palette such as `nord`, or NAME of your own `[themes.NAME]`. There is no
        /// `auto`: leave the setting out for the default. `T` in the dashboard lists all themes and saves your choice
        /// here. The environment variable `NO_COLOR` turns all colours off.
        theme: Option<String> {
            default: "chosen at each start: `dark` or `light` like the background of the terminal, or `terminal` if the terminal does not report it",
            example: "\"nord\"",
            in_project: InProject::Applies,
        }
        /// Your own themes: a table `[themes.NAME]` for each, which `theme = "NAME"` then selects. A name has up to
        /// 24 characters and is not that of a built-in theme. Each has a `base` (a built-in theme) and colours by role,
        /// given as `"#rrggbb"`, a name such as `"light-blue"`, or a number from 0 to 255.
        #[serde(deserialize_with = "super::themes::read")]
        themes: Vec<Arc<CustomTheme>> {
            default: "none",
            example: "{ dusk = { base = \"dark\", title = \"#ffcc00\", selection = 24 } }",
            in_project: InProject::Applies,
        }
        /// How attached images are shown in the conversation: `auto` (as the terminal can), `blocks` (half blocks, with
        /// 24-bit colours) or `off` (only their names). Choose `blocks` for kitty before 0.28, which shows boxes.
        images: Option<ImageSetting> {
            default: "auto",
            example: "\"off\"",
            in_project: InProject::Applies,
        }
        /// Whether the dashboard handles mouse clicks and scrolling; `false` leaves the mouse to the terminal. The key
        /// `M` toggles it.
        mouse: Option<bool> {
            value: true,
            example: "false",
            in_project: InProject::Applies,
        }
        /// Your own key bindings, by action (`approve`) or by context and action (`"board.merge"`): one key, a list, or
        /// `[]` for none.
        #[serde(deserialize_with = "values::keys")]
        keys: BTreeMap<String, Vec<String>> {
            default: "see [keys](keys.md)",
            example: "{ approve = \"Y\", \"board.merge\" = [\"V\", \"f5\"] }",
            in_project: InProject::Refused { why: "change your key bindings" },
        }
    }
}

/// Returns all settings, in the order of their declaration.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// Returns the setting with that name or former name; `None` if there is none.
pub fn find(name: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.name == name || setting.alias == Some(name))
}

fn is_between(value: &Value, low: i64, high: i64) -> bool {
    value
        .as_integer()
        .is_some_and(|n| (low..=high).contains(&n))
}
