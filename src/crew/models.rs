//! The model configurations of a crew: the configuration that agents share, the configurations of the named models, and
//! those of agents with a model of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::context::{CrewContext, lock};
use super::parts::{ModelParts, NamedModels};
use super::registry::AgentRegistry;
use crate::agent::driver::{AgentModel, FindModel, ModelConfig, ModelOptions, SharedModelConfig};
use crate::domain::ids::Name;
use crate::domain::named_model::ModelUses;
use crate::domain::role::is_model_alias;
use crate::domain::team::ModelChoice;
use crate::domain::text::{clip, closest_match, one_line};
use crate::domain::usage::Price;
use crate::model::Model;
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel, SessionInfo};

/// Maximum length of the name of a model in a notice, in characters.
const NAME_MAX: usize = 80;

/// Finds the models of a crew by name.
struct Models {
    named: Arc<dyn NamedModels>,
    /// The crew's server: the server of the model with which the crew started. It stays the same when the shared model
    /// changes. It is called for all models that are not named models.
    server: Arc<dyn Model>,
    /// Maximum number of tokens in one answer of a model that is not a named model.
    max_tokens: u32,
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
    /// Returns the configuration of the named model `name`. If no named model has this name, returns a configuration
    /// that calls the model `name` on the crew's server. The model's context window then counts as unknown, and its
    /// price is known only if the settings contain it.
    fn find(&self, name: &str) -> Result<ModelConfig, String> {
        if let Some(found) = self.named.find(name) {
            return found.map_err(|why| format!("the model '{name}' cannot be used: {why}"));
        }
        Ok(ModelConfig {
            model: Arc::clone(&self.server),
            name: name.to_string(),
            window: None,
            price: self.prices.get(name).copied(),
            max_tokens: self.max_tokens,
            options: ModelOptions::default(),
        })
    }
}

/// Determines the models of agents, and changes them when the user selects another model.
pub struct ModelSwitch {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    models: Arc<Models>,
    uses: ModelUses,
    /// Whether the user has chosen the lead's model for this start.
    is_chosen: bool,
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
                server: Arc::clone(&parts.model_config.model),
                max_tokens: parts.max_tokens,
                shared: Arc::new(RwLock::new(parts.model_config)),
                prices: parts.prices,
            }),
            uses: parts.uses,
            is_chosen: parts.is_chosen,
            setup: Mutex::new(setup),
        }
    }

    /// Returns a copy of the shared configuration.
    pub fn current(&self) -> ModelConfig {
        self.models.current()
    }

    /// Returns the model of the lead, which is the shared one until a fallback replaces it.
    pub fn of_lead(&self) -> Arc<AgentModel> {
        self.agent_model(None)
    }

    /// Returns the model of a teammate: the first of the following that names a model.
    ///
    /// - `chosen`, from the member or its role. Empty if neither names a model. An alias of Claude Code that is not the
    ///   name of a named model counts as empty.
    /// - The setting `use` for teammates.
    /// - The shared model.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used.
    pub fn of_teammate(&self, chosen: &str) -> Result<Arc<AgentModel>, String> {
        let name = self
            .chosen(chosen)
            .or(self.used(self.uses.teammate.as_ref()));
        let own = name.map(|name| self.models.find(name)).transpose()?;
        Ok(self.agent_model(own))
    }

    /// Returns the model of a subagent: the first of the following that names a model.
    ///
    /// - `chosen`, from the role. Empty if the role names no model. An alias of Claude Code that is not the name of a
    ///   named model counts as empty.
    /// - The setting `use` for subagents.
    /// - The model of its parent.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used.
    pub fn of_subagent(
        &self,
        chosen: &str,
        parent: &Arc<AgentModel>,
    ) -> Result<Arc<AgentModel>, String> {
        match self
            .chosen(chosen)
            .or(self.used(self.uses.subagent.as_ref()))
        {
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
        let is_known = || !is_model_alias(name) || self.is_named(name);
        Some(name).filter(|name| !name.is_empty() && is_known())
    }

    /// Like [`ModelSwitch::chosen`], for a value of the setting `use`.
    fn used<'a>(&self, name: Option<&'a String>) -> Option<&'a str> {
        self.chosen(name?)
    }

    fn is_named(&self, name: &str) -> bool {
        self.models.named.names().iter().any(|named| named == name)
    }

    /// Returns the choice of the model `name` in the form that is stored on disk, which also records whether `name` is
    /// a named model now.
    pub fn choice(&self, name: String) -> ModelChoice {
        ModelChoice {
            named: self.is_named(&name),
            name,
        }
    }

    /// Checks that a stored choice of the model `name` still means the same model. `named` is [`ModelChoice::named`].
    ///
    /// # Errors
    /// Fails if `name` was a named model when it was chosen and no longer is one.
    pub fn check_choice(&self, name: &str, named: bool) -> Result<(), String> {
        if named && !self.is_named(name) {
            return Err(format!(
                "the named model '{name}' is not in the settings any more"
            ));
        }
        Ok(())
    }

    /// Gives the lead of a resumed session the model `choice`, which the user chose in an earlier run. If that model
    /// cannot be used, warns the user and keeps the current model. Returns false, and changes nothing, if the user has
    /// chosen a model for this start; the stored choice then no longer applies.
    pub async fn restore_lead(&self, choice: &ModelChoice) -> bool {
        if self.is_chosen {
            return false;
        }
        let restored = match self.check_choice(&choice.name, choice.named) {
            Ok(()) => self.switch_shared(choice.name.clone()).await,
            Err(why) => Err(why),
        };
        if let Err(why) = restored {
            let current = self.current().name;
            let text = format!("The lead uses {current} instead of its earlier model: {why}");
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        true
    }

    /// Warns the user about names in the setting `use` that are not named models but probably should be: aliases of
    /// Claude Code, and names that resemble the name of a named model.
    pub async fn warn_about_uses(&self) {
        for (key, name) in [
            ("teammate", &self.uses.teammate),
            ("subagent", &self.uses.subagent),
            ("summary", &self.uses.summary),
        ] {
            let Some(name) = name.as_deref().filter(|name| !self.is_named(name)) else {
                continue;
            };
            let named = self.models.named.names();
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            let shown = one_line(&clip(name, NAME_MAX));
            let why = match closest_match(name, &named) {
                _ if is_model_alias(name) => {
                    "has no effect: it means one of your named models, and there is none of this name. Add it to the setting models".to_string()
                }
                Some(nearest) => format!(
                    "is no named model, so it is called as a model of the crew's server. If '{nearest}' is meant, correct it"
                ),
                None => continue,
            };
            let text = format!("The model '{shown}' in the setting use.{key} {why}.");
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    fn agent_model(&self, own: Option<ModelConfig>) -> Arc<AgentModel> {
        let (shared, models) = (Arc::clone(&self.models.shared), Arc::clone(&self.models));
        let summary = self.used(self.uses.summary.as_ref()).map(str::to_string);
        Arc::new(AgentModel::new(shared, own, summary, models))
    }

    /// Changes the model of the teammate `agent`, or the shared model if there is no `agent`, from the next model call
    /// on. Publishes the change.
    ///
    /// # Errors
    /// Fails if the agent does not run or is an external agent, or if the model's server cannot be used.
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
        // The effort of the agent's role comes first.
        let effort = handle.effort.or(found.options.effort);
        let event = found.changed_event(effort);
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

    /// Publishes the names of the named models, if there are any. Then asks the crew's server for its models, and
    /// publishes a second list with the names of the named models and of the server's models. If the crew stops before
    /// the server answers, the second list is not published.
    ///
    /// # Errors
    /// Fails if the server does not answer with a list.
    pub async fn list(&self) -> Result<(), String> {
        let model = Arc::clone(&self.models.server);
        let mut names = self.models.named.names();
        if !names.is_empty() {
            self.publish_names(names.clone()).await;
        }
        let listed = tokio::select! {
            () = self.context.stop.cancelled() => return Ok(()),
            listed = model.list() => listed,
        };
        match listed {
            Ok(listed) => names.extend(listed),
            Err(error) => {
                return Err(format!(
                    "The models of the server cannot be listed: {error}. {}",
                    error.hint
                ));
            }
        }
        self.publish_names(names).await;
        Ok(())
    }

    async fn publish_names(&self, names: Vec<String>) {
        let event = CrewEvent::ModelsListed { names };
        self.context.publish(EventKind::Crew(event)).await;
    }
}
