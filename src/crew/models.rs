//! The model configurations of a crew: the shared one, those of named models, and those of single agents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::context::{CrewContext, lock};
use super::parts::{ModelParts, NamedModels};
use super::registry::AgentRegistry;
use crate::agent::driver::{AgentModel, FindModel, ModelConfig, ModelOptions, SharedModelConfig};
use crate::domain::ids::Name;
use crate::domain::named_model::ModelUses;
use crate::domain::role::is_model_alias;
use crate::domain::usage::Price;
use crate::model::Model;
use crate::protocol::event::{CrewEvent, EventKind, SessionInfo};

/// Finds the models of a crew by name.
struct Models {
    named: Arc<dyn NamedModels>,
    /// The configuration of all agents without a model of their own.
    shared: SharedModelConfig,
    /// The known token prices, by model name.
    prices: BTreeMap<String, Price>,
}

impl Models {
    fn current(&self) -> ModelConfig {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        shared.clone()
    }
}

impl FindModel for Models {
    /// Returns the configuration of the named model `name`. If there is none, returns that of the model with this name
    /// on the server of the shared model. Its context window counts as unknown, and its price is known only if the
    /// settings contain it.
    fn find(&self, name: &str) -> Result<ModelConfig, String> {
        if let Some(found) = self.named.find(name) {
            return found.map_err(|why| format!("the model '{name}' cannot be used: {why}"));
        }
        Ok(ModelConfig {
            name: name.to_string(),
            window: None,
            price: self.prices.get(name).copied(),
            options: ModelOptions::default(),
            ..self.current()
        })
    }
}

/// Gives agents their models, and changes them.
pub struct ModelSwitch {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    models: Arc<Models>,
    uses: ModelUses,
    setup: Mutex<SessionInfo>,
}

impl ModelSwitch {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        parts: ModelParts,
        setup: SessionInfo,
    ) -> ModelSwitch {
        ModelSwitch {
            context,
            registry,
            models: Arc::new(Models {
                named: parts.named,
                shared: Arc::new(RwLock::new(parts.model_config)),
                prices: parts.prices,
            }),
            uses: parts.uses,
            setup: Mutex::new(setup),
        }
    }

    /// Returns a copy of the shared configuration.
    pub fn current(&self) -> ModelConfig {
        self.models.current()
    }

    /// Returns the model of the lead, which is always the shared one.
    pub fn of_lead(&self) -> Arc<AgentModel> {
        self.agent_model(None)
    }

    /// Returns the model of a teammate: `chosen`, else the one that the setting `use` gives to teammates, else the
    /// shared one. `chosen` is empty if neither the role nor the member names a model.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used.
    pub fn of_teammate(&self, chosen: &str) -> Result<Arc<AgentModel>, String> {
        let name = self.chosen(chosen).or(self.uses.teammate.as_deref());
        let own = name.map(|name| self.models.find(name)).transpose()?;
        Ok(self.agent_model(own))
    }

    /// Returns the model of a subagent: `chosen`, else the one that the setting `use` gives to subagents, else that of
    /// its parent. `chosen` is empty if the role names no model.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used.
    pub fn of_subagent(
        &self,
        chosen: &str,
        parent: &Arc<AgentModel>,
    ) -> Result<Arc<AgentModel>, String> {
        match self.chosen(chosen).or(self.uses.subagent.as_deref()) {
            Some(name) => Ok(self.agent_model(Some(self.models.find(name)?))),
            None => Ok(Arc::clone(parent)),
        }
    }

    /// Returns the model of a teammate that is an external agent. `name` is shown as the model's name.
    pub fn of_external(&self, agent: Arc<dyn Model>, name: String) -> Arc<AgentModel> {
        let own = ModelConfig {
            model: agent,
            name,
            window: None,
            price: None,
            options: ModelOptions::default(),
            ..self.current()
        };
        self.agent_model(Some(own))
    }

    /// Returns `name`; `None` if it is empty, or an alias of Claude Code that is not the name of a named model.
    fn chosen<'a>(&self, name: &'a str) -> Option<&'a str> {
        let is_named = || self.models.named.names().iter().any(|named| named == name);
        let is_known = || !is_model_alias(name) || is_named();
        Some(name).filter(|name| !name.is_empty() && is_known())
    }

    fn agent_model(&self, own: Option<ModelConfig>) -> Arc<AgentModel> {
        let (shared, models) = (Arc::clone(&self.models.shared), Arc::clone(&self.models));
        let summary = self.uses.summary.clone();
        Arc::new(AgentModel::new(shared, own, summary, models))
    }

    /// Changes the model of the teammate `agent`, or the shared model if there is no `agent`, from the next model call
    /// on. Publishes the change.
    ///
    /// # Errors
    /// Fails if the agent does not run, or if the model's server cannot be used.
    pub async fn switch_to(&self, name: String, agent: Option<&Name>) -> Result<(), String> {
        match agent {
            Some(agent) => self.switch_one(&name, agent).await,
            None => self.switch_shared(name).await,
        }
    }

    async fn switch_one(&self, name: &str, agent: &Name) -> Result<(), String> {
        let handle = self.registry.find_teammate(agent)?;
        if handle.model.current().model.keeps_conversation() {
            return Err(format!(
                "{agent} is an external agent: its model is chosen when it is started."
            ));
        }
        let found = self.models.find(name)?;
        let event = found.changed_event(found.options.effort);
        handle.model.set_own(found);
        self.context.publish(event.of(agent.clone())).await;
        Ok(())
    }

    async fn switch_shared(&self, name: String) -> Result<(), String> {
        let mut found = self.models.find(&name)?;
        let before = self.current();
        if before.name == found.name && Arc::ptr_eq(&before.model, &found.model) {
            // The window of the settings still applies to this model.
            found.window = found.window.or(before.window);
        }
        let window = found.known_window().filter(|window| !window.is_assumed);
        let (model, window) = (found.name.clone(), window.map(|window| window.tokens));
        {
            let mut shared = self
                .models
                .shared
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *shared = found;
        }
        // The lead has a model of its own after a fallback.
        if let Some(lead) = self.registry.find(&Name::lead()) {
            lead.model.share();
        }
        let setup = {
            let mut setup = lock(&self.setup);
            setup.model = model;
            setup.window = window;
            setup.clone()
        };
        self.context
            .publish(EventKind::Crew(CrewEvent::Ready(setup)))
            .await;
        Ok(())
    }

    /// Publishes the names of the named models, and then of the models that the server of the shared model offers.
    /// Publishes nothing if the crew stops first.
    ///
    /// # Errors
    /// Fails if the server does not answer with a list and there is no named model.
    pub async fn list(&self) -> Result<(), String> {
        let model = self.current().model;
        let listed = tokio::select! {
            () = self.context.stop.cancelled() => return Ok(()),
            listed = model.list() => listed,
        };
        let mut names = self.models.named.names();
        match listed {
            Ok(listed) => names.extend(listed),
            Err(error) if names.is_empty() => {
                return Err(format!(
                    "The models cannot be listed: {error}. {}",
                    error.hint
                ));
            }
            Err(_) => {}
        }
        self.context
            .publish(EventKind::Crew(CrewEvent::ModelsListed { names }))
            .await;
        Ok(())
    }
}
