//! Named models: entries of the setting `[models.NAME]`, and which of them each kind of agent uses (`[use]`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::role::RoleEffort;
use super::usage::Price;

/// A model under a name of the user's choice, with its server and its options.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedModel {
    /// The provider. `None` means the one that `base_url` selects, which is Chat Completions for most servers; without
    /// `base_url`, the provider of the crew.
    pub provider: Option<String>,
    /// The address of the server; `None` for the address of the provider.
    pub base_url: Option<String>,
    /// The name that the server uses; `None` if it is the name of the entry.
    pub model: Option<String>,
    /// The environment variable with the API key. `None` means the provider's variable, or no key if there is a
    /// `base_url`.
    pub key_var: Option<String>,
    /// The context window in tokens.
    pub window: Option<u64>,
    /// The reasoning effort of agents whose role sets none.
    pub effort: Option<RoleEffort>,
    /// How many tokens of an answer the model may use to think. Only on the Anthropic wire.
    pub thinking_budget: Option<u32>,
    /// Maximum number of tokens in one answer; `None` for the crew's setting.
    pub max_tokens: Option<u32>,
    #[serde(alias = "price")]
    pub prices: Option<Price>,
    /// Additional headers of each request. `${NAME}` and `${NAME:-default}` stand for environment variables.
    pub headers: BTreeMap<String, String>,
    /// Options of the provider, as in the table with the provider's name.
    pub options: BTreeMap<String, String>,
    /// The named model that an agent changes to if this one fails for good; `None` if the turn fails instead.
    pub fallback: Option<String>,
}

/// The fields of [`NamedModel`], for the error about an unknown one.
pub const FIELDS: &[&str] = &[
    "provider",
    "base_url",
    "model",
    "key_var",
    "window",
    "effort",
    "thinking_budget",
    "max_tokens",
    "prices",
    "price",
    "headers",
    "options",
    "fallback",
];

/// Which model each kind of agent uses: the name of a named model, or a model of the crew's server. `None` for the
/// teammates, subagents and summaries means the model of the lead, of the parent, and of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelUses {
    pub lead: Option<String>,
    pub teammate: Option<String>,
    pub subagent: Option<String>,
    pub summary: Option<String>,
}

impl ModelUses {
    /// Returns these uses, overridden by those that are set in `later`.
    #[must_use]
    pub fn merged_with(self, later: ModelUses) -> ModelUses {
        ModelUses {
            lead: later.lead.or(self.lead),
            teammate: later.teammate.or(self.teammate),
            subagent: later.subagent.or(self.subagent),
            summary: later.summary.or(self.summary),
        }
    }
}
