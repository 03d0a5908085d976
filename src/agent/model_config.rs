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
    /// The context window in tokens, if the settings or the script of a scripted model set it; else `None`.
    pub window: Option<u64>,
    /// The price of tokens, if the settings contain it; else `None`.
    pub price: Option<Price>,
    /// Maximum number of tokens in one answer.
    pub max_tokens: u32,
    /// The options that the model's entry in the setting `models` sets; the default for a model without an entry.
    pub options: ModelOptions,
}

/// Options of a model that only its entry in the setting `models` can set. `None` means that the entry does not set the
/// option.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelOptions {
    /// The reasoning effort of agents whose role sets none.
    pub effort: Option<RoleEffort>,
    /// Maximum number of tokens that the model may use to think, in addition to [`ModelConfig::max_tokens`]. Only on
    /// the Anthropic wire format.
    pub thinking_budget: Option<u32>,
    /// The name of the model that replaces this one after a failure that is not retried.
    pub fallback: Option<String>,
}

impl ModelConfig {
    /// Returns whether both configurations have the same name and options, and the same model server.
    fn is_same(&self, other: &ModelConfig) -> bool {
        Arc::ptr_eq(&self.model, &other.model)
            && self.name == other.name
            && self.options == other.options
    }

    /// Returns the context window: [`ModelConfig::window`] if it is set, else the window from the server's model list,
    /// else an assumption from the model's name. `None` if all three are missing.
    pub fn known_window(&self) -> Option<ContextWindow> {
        let set = self.window.map(ContextWindow::known);
        set.or_else(|| self.model.listed_window(&self.name))
            .or_else(|| known_models::assumed_window(&self.name))
    }

    /// Returns the event that reports that an agent uses this model from now on. It contains the context window and
    /// `effort`, the agent's reasoning effort.
    pub fn changed_event(&self, effort: Option<RoleEffort>) -> AgentEvent {
        let window = self.known_window();
        AgentEvent::ModelChanged {
            model: self.name.clone(),
            effort,
            window: window.map(|window| window.tokens),
            assumed: window.is_some_and(|window| window.is_assumed),
        }
    }

    /// Returns the price: [`ModelConfig::price`] if it is set, else the price in the built-in table of models. A model
    /// on a local server and a scripted model are not looked up in the table, because their calls cost nothing. `None`
    /// if the price is unknown, so that the cost of calls is unknown too.
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

/// The known price of a model, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    pub price: Price,
    /// Whether the price is from the built-in table of models, which may be out of date, and not from the settings.
    /// Costs that are computed from it are estimates.
    pub is_assumed: bool,
}

/// A model configuration that several agents share, so that a change applies to all of them.
pub type SharedModelConfig = Arc<RwLock<ModelConfig>>;

/// Finds the configuration of a model by its name. The name is an entry of the setting `models`, or else a model on the
/// crew's server.
pub trait FindModel: Send + Sync {
    /// Returns the configuration of the model `name`.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used, for example because a key is missing.
    fn find(&self, name: &str) -> Result<ModelConfig, String>;
}

/// The model of one agent: the configuration that the agents of the crew share, or a configuration of its own.
pub struct AgentModel {
    shared: SharedModelConfig,
    own: RwLock<Option<ModelConfig>>,
    /// The name of the model that writes summaries of the conversation; `None` if the agent's model writes them.
    summary: RwLock<Option<String>>,
    models: Arc<dyn FindModel>,
}

impl AgentModel {
    /// Creates the model of an agent that uses `own`, or the `shared` configuration if `own` is `None`. `summary` is
    /// the name of the model that writes summaries of the conversation; `None` if the agent's model writes them.
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

    /// Makes the agent use `config` from its next model call on. Later changes of the shared configuration then have no
    /// effect on the agent.
    pub fn set_own(&self, config: ModelConfig) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some(config);
    }

    /// Makes the agent use the shared configuration.
    pub fn share(&self) {
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the name of the model that only summarises the agent's conversation, with its configuration, or why it
    /// cannot be used; `None` if no such model is set.
    pub fn summary_model(&self) -> Option<(String, Result<ModelConfig, String>)> {
        let name = self.summary.read().unwrap_or_else(PoisonError::into_inner);
        let name = name.clone()?;
        let found = self.models.find(&name);
        Some((name, found))
    }

    /// Removes the model for summaries, so that the agent's model writes them from now on.
    pub fn drop_summary_model(&self) {
        *self.summary.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the model that can replace `failed`, a model whose call has failed. If the agent has another model by
    /// now, returns that one. Otherwise returns the fallback of `failed`, or why the fallback cannot be used; `None` if
    /// `failed` has no fallback.
    pub fn replacement(&self, failed: &ModelConfig) -> Option<Result<ModelConfig, String>> {
        let current = self.current();
        if !current.is_same(failed) {
            return Some(Ok(current));
        }
        let name = failed.options.fallback.as_ref()?;
        Some(self.models.find(name))
    }

    /// Changes the agent's model to the fallback of `failed`, and returns the fallback. Returns `None` and changes
    /// nothing if `failed` has no fallback, if the fallback cannot be used, or if the agent has another model by now,
    /// for example because the user has selected one.
    pub fn use_fallback_of(&self, failed: &ModelConfig) -> Option<ModelConfig> {
        let next = self.models.find(failed.options.fallback.as_ref()?).ok()?;
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        let is_same = match &*own {
            Some(own) => own.is_same(failed),
            None => {
                let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
                shared.is_same(failed)
            }
        };
        if !is_same {
            return None;
        }
        *own = Some(next.clone());
        Some(next)
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

    fn config(model: &Arc<dyn Model>, name: &str, fallback: Option<&str>) -> ModelConfig {
        ModelConfig {
            model: Arc::clone(model),
            name: name.into(),
            window: None,
            price: None,
            max_tokens: 1000,
            options: ModelOptions {
                fallback: fallback.map(str::to_string),
                ..ModelOptions::default()
            },
        }
    }

    /// Has the models `b`, with the fallback `c`, and `c`, and no other one.
    struct TwoModels(Arc<dyn Model>);

    impl FindModel for TwoModels {
        fn find(&self, name: &str) -> Result<ModelConfig, String> {
            match name {
                "b" => Ok(config(&self.0, "b", Some("c"))),
                "c" => Ok(config(&self.0, "c", None)),
                _ => Err("there is no key".into()),
            }
        }
    }

    #[test]
    fn fallback_is_that_of_the_failed_model_and_is_used_once() {
        let server: Arc<dyn Model> = Arc::new(Listing(None, false));
        let a = config(&server, "a", Some("b"));
        let shared = Arc::new(RwLock::new(a.clone()));
        let models = Arc::new(TwoModels(Arc::clone(&server)));
        let model = AgentModel::new(shared, None, None, models);
        let name = |found: Option<ModelConfig>| found.map(|config| config.name);
        assert_eq!(name(model.use_fallback_of(&a)).as_deref(), Some("b"));
        // Another agent with this model, whose call of the first model fails later, tries the new one.
        assert_eq!(name(model.use_fallback_of(&a)), None);
        let replacement = model.replacement(&a).unwrap().unwrap();
        assert_eq!(replacement.name, "b");
        assert_eq!(model.current().name, "b");
        let b = model.current();
        assert_eq!(name(model.use_fallback_of(&b)).as_deref(), Some("c"));
        assert!(model.replacement(&model.current()).is_none());
        let keyless = config(&server, "x", Some("keyless"));
        model.set_own(keyless.clone());
        let error = model.replacement(&keyless).unwrap().err();
        assert_eq!(error.as_deref(), Some("there is no key"));
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
