//! The configuration of the model that agents call, and its context window.

use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::role::RoleEffort;
use crate::domain::usage::Price;
use crate::model::{ContextWindow, Model, providers};

/// A model and its options. If the user selects another model, the configuration is replaced while agents run.
#[derive(Clone)]
pub struct ModelConfig {
    pub model: Arc<dyn Model>,
    pub name: String,
    /// The context window in tokens, if the settings or a script set it; else `None`.
    pub window: Option<u64>,
    /// The price of tokens; `None` if it is unknown, so that the cost of calls is unknown too.
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
            .or_else(|| providers::assumed_window(&self.name))
    }
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
    struct Listing(Option<ContextWindow>);

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
                model: Arc::new(Listing(listed)),
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
