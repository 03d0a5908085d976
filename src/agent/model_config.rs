//! The configuration of the model that agents call, and its context window.

use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::role::RoleEffort;
use crate::domain::usage::Price;
use crate::model::{ContextWindow, Model, known_models};
use crate::protocol::AgentEvent;

/// A model and its options. If the user selects another model, the configuration is replaced while agents run.
#[derive(Clone)]
pub struct ModelConfig {
    pub model: Arc<dyn Model>,
    pub name: String,
    /// The context window in tokens, if the settings or a script set it; else `None`.
    pub window: Option<u64>,
    /// The price of tokens, if the settings contain it; else `None`.
    pub price: Option<Price>,
    /// Maximum number of tokens in one answer.
    pub max_tokens: u32,
    /// What the settings of a named model add.
    pub options: ModelOptions,
}

/// Options that only a named model has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelOptions {
    /// The reasoning effort of agents whose role sets none.
    pub effort: Option<RoleEffort>,
    /// How many tokens the model may use to think.
    pub thinking_budget: Option<u32>,
    /// The model to change to if this one fails for good.
    pub fallback: Option<String>,
}

impl ModelConfig {
    /// Returns the context window: [`ModelConfig::window`] if it is set, else the window from the server's model list,
    /// else an assumption from the model's name. `None` if all three are missing.
    pub fn known_window(&self) -> Option<ContextWindow> {
        let set = self.window.map(ContextWindow::known);
        set.or_else(|| self.model.listed_window(&self.name))
            .or_else(|| known_models::assumed_window(&self.name))
    }

    /// Returns the event that reports this model, with its context window, as the one that an agent uses from now on.
    pub fn changed_event(&self, effort: Option<RoleEffort>) -> AgentEvent {
        let window = self.known_window();
        AgentEvent::ModelChanged {
            model: self.name.clone(),
            effort,
            window: window.map(|window| window.tokens),
            assumed: window.is_some_and(|window| window.is_assumed),
        }
    }

    /// Returns the price: [`ModelConfig::price`] if it is set, else the one of the built-in table. A local server and a
    /// scripted model have only the price that is set, because their calls cost nothing. `None` if the price is
    /// unknown, so that the cost of calls is unknown too.
    pub fn known_price(&self) -> Option<ModelPrice> {
        let set = self.price.map(|price| ModelPrice {
            price,
            is_assumed: false,
        });
        set.or_else(|| {
            let remote = self.model.is_remote().then_some(&self.name);
            let price = remote.and_then(|name| known_models::find(name)?.price)?;
            Some(ModelPrice {
                price,
                is_assumed: true,
            })
        })
    }
}

/// The price of a model, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    pub price: Price,
    /// Whether the price is the one of the built-in table, which may be out of date, and not of the settings. Costs
    /// from it are estimates.
    pub is_assumed: bool,
}

/// A model configuration that several agents share, so that a change applies to all of them.
pub type SharedModelConfig = Arc<RwLock<ModelConfig>>;

/// Finds the configuration of a model by its name: that of a named model, or a model of the crew's server.
pub trait FindModel: Send + Sync {
    /// # Errors
    /// Fails with the reason if the model's server cannot be used, for example because a key is missing.
    fn find(&self, name: &str) -> Result<ModelConfig, String>;
}

/// The model of one agent: the shared one, or its own.
pub struct AgentModel {
    shared: SharedModelConfig,
    own: RwLock<Option<ModelConfig>>,
    /// The model for summaries of the conversation; `None` for the agent's model.
    summary: RwLock<Option<String>>,
    models: Arc<dyn FindModel>,
}

impl AgentModel {
    /// Creates the model of an agent that uses `own`, or the `shared` configuration if `own` is `None`.
    pub fn new(
        shared: SharedModelConfig,
        own: Option<ModelConfig>,
        summary: Option<String>,
        models: Arc<dyn FindModel>,
    ) -> AgentModel {
        AgentModel {
            shared,
            own: RwLock::new(own),
            summary: RwLock::new(summary),
            models,
        }
    }

    /// Returns a copy of the configuration in use, so that no lock is held during a model call.
    pub fn current(&self) -> ModelConfig {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        match &*own {
            Some(own) => own.clone(),
            None => self
                .shared
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }

    /// Makes the agent use `config`, from its next model call on, also after the shared configuration changes.
    pub fn set_own(&self, config: ModelConfig) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// Makes the agent use the shared configuration.
    pub fn share(&self) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the configuration of the model that only summarises the agent's conversation; `None` if no such model is
    /// set, or if it cannot be used.
    pub fn summary_model(&self) -> Option<ModelConfig> {
        let name = self.summary.read().unwrap_or_else(PoisonError::into_inner);
        self.models.find(name.as_deref()?).ok()
    }

    /// Makes the agent's model write the summaries.
    pub fn drop_summary_model(&self) {
        *self.summary.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the model that replaces the current one if that fails for good; `None` if there is none, or if it cannot
    /// be used either.
    pub fn fallback(&self) -> Option<ModelConfig> {
        let name = self.current().options.fallback?;
        self.models.find(&name).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Delta, ModelError, ModelRequest};
    use futures::future::BoxFuture;
    use futures::stream::BoxStream;
    use futures::{FutureExt, StreamExt, stream};
    use pretty_assertions::assert_eq;

    /// A model server that reports this context window for every model.
    struct Listing(Option<ContextWindow>, bool);

    impl Model for Listing {
        fn call(&self, _: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
            stream::empty().boxed()
        }

        fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
            async { Ok(Vec::new()) }.boxed()
        }

        fn listed_window(&self, _: &str) -> Option<ContextWindow> {
            self.0
        }

        fn is_remote(&self) -> bool {
            self.1
        }
    }

    #[test]
    fn price_of_the_table_is_for_remote_servers_without_a_set_price() {
        let set = Price {
            input: 7.0,
            output: 8.0,
            cache_read: None,
            cache_write: None,
        };
        for (price, is_remote, name, expected) in [
            (Some(set), true, "claude-opus-4-5", Some((7.0, false))),
            (Some(set), false, "claude-opus-4-5", Some((7.0, false))),
            (None, true, "claude-opus-4-5", Some((5.0, true))),
            (None, false, "claude-opus-4-5", None),
            (None, true, "my-own", None),
        ] {
            let model_config = ModelConfig {
                options: ModelOptions::default(),
                model: Arc::new(Listing(None, is_remote)),
                name: name.into(),
                window: None,
                price,
                max_tokens: 1000,
            };
            let known = model_config.known_price();
            let known = known.map(|known| (known.price.input, known.is_assumed));
            assert_eq!(known, expected, "{price:?} {is_remote} {name}");
        }
    }

    #[test]
    fn setting_wins_over_the_list_and_the_list_over_the_name() {
        let from_list = Some(ContextWindow::known(64_000));
        let by_name = ContextWindow {
            tokens: 200_000,
            is_assumed: true,
        };
        for (set, listed, name, expected) in [
            (
                Some(8_000),
                from_list,
                "claude-opus-4",
                Some(ContextWindow::known(8_000)),
            ),
            (None, from_list, "claude-opus-4", from_list),
            (None, None, "claude-opus-4", Some(by_name)),
            (None, None, "my-own", None),
        ] {
            let model_config = ModelConfig {
                model: Arc::new(Listing(listed, false)),
                name: name.into(),
                window: set,
                price: None,
                max_tokens: 1000,
                options: ModelOptions::default(),
            };
            assert_eq!(
                model_config.known_window(),
                expected,
                "{set:?} {listed:?} {name}"
            );
        }
    }
}
