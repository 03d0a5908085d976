//! The model configurations of a crew: the shared one, and those of agents with a model of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::context::{CrewContext, lock};
use crate::agent::driver::{ModelConfig, SharedModelConfig};
use crate::domain::usage::Price;
use crate::protocol::event::{CrewEvent, EventKind, SessionInfo};

/// Holds the model configuration that all agents without a model of their own share, and changes its model.
pub struct ModelSwitch {
    context: Arc<CrewContext>,
    model_config: SharedModelConfig,
    prices: BTreeMap<String, Price>,
    setup: Mutex<SessionInfo>,
}

impl ModelSwitch {
    pub fn new(
        context: Arc<CrewContext>,
        model_config: ModelConfig,
        prices: BTreeMap<String, Price>,
        setup: SessionInfo,
    ) -> ModelSwitch {
        ModelSwitch {
            context,
            model_config: Arc::new(RwLock::new(model_config)),
            prices,
            setup: Mutex::new(setup),
        }
    }

    pub fn current(&self) -> ModelConfig {
        self.model_config
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns a separate configuration for the model named `model`, which later calls of [`ModelSwitch::switch_to`] do
    /// not change. Its context window counts as unknown, and its price is known only if the settings contain it. If
    /// `model` is empty, returns the shared configuration.
    pub fn model_config_for(&self, model: &str) -> SharedModelConfig {
        if model.is_empty() {
            return Arc::clone(&self.model_config);
        }
        let model_config = ModelConfig {
            name: model.to_string(),
            window: None,
            price: self.prices.get(model).copied(),
            ..self.current()
        };
        Arc::new(RwLock::new(model_config))
    }

    /// Changes the model in the shared configuration, from the next model call on, and publishes the changed session
    /// information. The new model's context window counts as unknown. Its price is known only if the settings contain
    /// it.
    pub async fn switch_to(&self, name: String) {
        {
            let mut model_config = self
                .model_config
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            if model_config.name != name {
                model_config.name.clone_from(&name);
                model_config.window = None;
                model_config.price = self.prices.get(&name).copied();
            }
        }
        let setup = {
            let mut setup = lock(&self.setup);
            setup.model = name;
            setup.window = self.current().window;
            setup.clone()
        };
        self.context
            .publish(EventKind::Crew(CrewEvent::Ready(setup)))
            .await;
    }

    /// Publishes the names of the models that the model server offers. Publishes nothing if the crew stops first.
    ///
    /// # Errors
    /// Fails if the model server does not answer with a list.
    pub async fn list(&self) -> Result<(), String> {
        let model = Arc::clone(&self.current().model);
        let listed = tokio::select! {
            () = self.context.stop.cancelled() => return Ok(()),
            listed = model.list() => listed,
        };
        let names = listed
            .map_err(|error| format!("The models cannot be listed: {error}. {}", error.hint))?;
        self.context
            .publish(EventKind::Crew(CrewEvent::ModelsListed { names }))
            .await;
        Ok(())
    }
}
