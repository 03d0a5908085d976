//! Named models: entries of the setting `[models.NAME]`, and which of them the lead, teammates, subagents and summaries
//! use (setting `[use]`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::role::RoleEffort;
use super::usage::Price;

/// A model under a name of the user's choice, with its server and its options.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedModel {
    /// The name of the provider, or `script:FILE`. `None` means the provider that `base_url` selects, which is Chat
    /// Completions for most servers; without `base_url`, the provider of the crew.
    pub provider: Option<String>,
    /// The address of the server; `None` for the address of the provider.
    pub base_url: Option<String>,
    /// The name that the server uses for the model; `None` if it is the name of the entry.
    pub model: Option<String>,
    /// The environment variable with the API key. `None` means the provider's variable, or no key if `base_url` is not
    /// an address of the provider's vendor.
    pub key_var: Option<String>,
    /// Size of the context window in tokens; `None` if the entry does not set it.
    pub window: Option<u64>,
    /// The reasoning effort of agents whose role sets no effort.
    pub effort: Option<RoleEffort>,
    /// Maximum number of tokens that the model may use to think in one answer. If the provider has no such limit, this
    /// number selects the effort instead, unless `effort` is set.
    pub thinking_budget: Option<u32>,
    /// Maximum number of tokens in one answer; `None` for the crew's setting.
    pub max_tokens: Option<u32>,
    #[serde(alias = "price")]
    pub prices: Option<Price>,
    /// Additional headers of each request. `${NAME}` and `${NAME:-default}` stand for environment variables.
    pub headers: BTreeMap<String, String>,
    /// Options of the provider, as in the setting with the provider's name, such as `[anthropic]`. If there are any,
    /// they replace that setting.
    pub options: BTreeMap<String, String>,
    /// The named model to which an agent switches if a call of this model fails permanently. With `None`, the turn
    /// fails instead.
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

/// Which model each kind of agent uses: the name of a named model, or of a model of the crew's server. `None` has these
/// meanings:
///
/// - for the lead, the setting `model`
/// - for teammates, the lead's model
/// - for subagents, their parent's model
/// - for summaries, the model of the agent whose conversation is summarised
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelUses {
    pub lead: Option<String>,
    pub teammate: Option<String>,
    pub subagent: Option<String>,
    pub summary: Option<String>,
}

impl ModelUses {
    /// Merges two sets of models. Each model that `later` names is used; where `later` has `None`, the model of `self`
    /// is used.
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
