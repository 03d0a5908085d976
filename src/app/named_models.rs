//! Connects to the servers of the named models (the setting `models`). Models with the same server, key, options and
//! headers share one connection, with one call queue and one back-off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, anyhow};

use super::jitter;
use super::model_setup::{self, ModelConnection, variable};
use crate::agent::driver::{ModelConfig, ModelOptions};
use crate::config::extensions::{Variable, expand};
use crate::config::{self, Settings};
use crate::crew;
use crate::domain::named_model::NamedModel;
use crate::model::effort;
use crate::model::origin;
use crate::model::provider::ModelServerConfig;
use crate::model::providers::ProviderChoice;
use crate::model::rate_limiter::RateLimiter;

/// The named models of the settings, and the connections that agents use so far.
pub struct ModelConnections {
    settings: Settings,
    /// The provider of the crew, which serves named models without a provider and an address.
    choice: Option<ProviderChoice>,
    speed: f64,
    connections: Mutex<Vec<Arc<ModelConnection>>>,
}

/// What answers the calls of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    Server(ModelServerConfig),
    /// The script in this file, or the demo's script if there is none.
    Script(Option<String>),
}

impl ModelConnections {
    pub fn new(
        settings: &Settings,
        choice: Option<&ProviderChoice>,
        speed: f64,
    ) -> ModelConnections {
        ModelConnections {
            settings: settings.clone(),
            choice: choice.cloned(),
            speed,
            connections: Mutex::default(),
        }
    }

    /// Returns the model that the lead uses: the setting `use.lead`, else the setting `model`; `None` if neither is set.
    pub fn wanted_by_lead(settings: &Settings) -> Option<&String> {
        settings.r#use.lead.as_ref().or(settings.model.as_ref())
    }

    pub fn get(&self, name: &str) -> Option<&NamedModel> {
        self.settings.models.get(name)
    }

    /// Puts a call queue before the model of `connection`, and keeps the connection for the named models of its server.
    pub fn add(&self, connection: ModelConnection) -> Arc<ModelConnection> {
        let limited = RateLimiter::new(connection.model, self.settings.calls_max(), jitter);
        let connection = Arc::new(ModelConnection {
            model: Arc::new(limited),
            ..connection
        });
        self.connections().push(Arc::clone(&connection));
        connection
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Arc<ModelConnection>>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection and the configuration of the named model `name`, whose entry is `entry`. Connects if no
    /// other model uses the same server.
    ///
    /// # Errors
    /// Fails if the key is missing, or if the address, a header or the script is invalid.
    pub fn connect(
        &self,
        name: &str,
        entry: &NamedModel,
    ) -> Result<(Arc<ModelConnection>, ModelConfig)> {
        let connection = self.connection(entry)?;
        let settings = &self.settings;
        let own = entry.model.clone().or_else(|| connection.name.clone());
        let model = own.unwrap_or_else(|| name.to_string());
        let (effort, thinking_budget) = match &connection.endpoint {
            Endpoint::Server(server) if !server.spec.has_thinking_budget => {
                let by_budget = entry.thinking_budget.map(effort::for_budget);
                (entry.effort.or(by_budget), None)
            }
            Endpoint::Server(_) | Endpoint::Script(_) => (entry.effort, entry.thinking_budget),
        };
        let config = ModelConfig {
            model: Arc::clone(&connection.model),
            window: entry.window.or(connection.window),
            price: entry
                .prices
                .or_else(|| settings.prices.get(&model).copied()),
            max_tokens: entry.max_tokens.unwrap_or_else(|| settings.max_tokens()),
            options: ModelOptions {
                effort,
                thinking_budget,
                fallback: entry.fallback.clone(),
            },
            name: model,
        };
        Ok((connection, config))
    }

    fn connection(&self, entry: &NamedModel) -> Result<Arc<ModelConnection>> {
        let Some(endpoint) = self.endpoint(entry)? else {
            // The server of the crew was found on this machine, so it is the first connection.
            let first = self.connections().first().map(Arc::clone);
            return first.ok_or_else(|| model_setup::no_model().into());
        };
        let same = |c: &&Arc<ModelConnection>| c.endpoint == endpoint;
        if let Some(found) = self.connections().iter().find(same) {
            return Ok(Arc::clone(found));
        }
        Ok(self.add(model_setup::connect_endpoint(endpoint, self.speed)?))
    }

    /// Returns what answers the calls of `entry`; `None` if that is the model server that was found on this machine.
    ///
    /// # Errors
    /// Fails if a key or a variable in a header is missing.
    pub fn endpoint(&self, entry: &NamedModel) -> Result<Option<Endpoint>> {
        let script = entry
            .provider
            .as_deref()
            .and_then(|p| p.strip_prefix("script:"));
        if let Some(file) = script {
            return Ok(Some(Endpoint::Script(Some(file.to_string()))));
        }
        let own = config::named_model_provider(entry).map_err(anyhow::Error::msg)?;
        let mut server = match (own, &self.choice) {
            (Some(spec), _) => {
                let mut server = ModelServerConfig::new(spec);
                let address = entry.base_url.clone().or_else(|| variable(spec.url_var));
                if let Some(address) = &address {
                    server.base_url.clone_from(address);
                }
                // Without `key_var`, the provider's key goes only to the server that the user knows from the
                // environment or to the vendor.
                let is_known =
                    entry.base_url.is_none() || origin(&server.base_url) == origin(spec.vendor_url);
                if entry.key_var.is_none() && is_known {
                    server.key = model_setup::key(spec.key_var, &server.base_url)?;
                }
                server.options = self.settings.provider_options(spec.name);
                server
            }
            (None, Some(ProviderChoice::Server(spec))) => {
                model_setup::server(spec, &self.settings, None)?
            }
            (None, Some(ProviderChoice::Script(file))) => {
                return Ok(Some(Endpoint::Script(Some(file.clone()))));
            }
            (None, Some(ProviderChoice::Demo)) => return Ok(Some(Endpoint::Script(None))),
            (None, None) => return Ok(None),
        };
        if let Some(name) = &entry.key_var {
            server.key = model_setup::key(name, &server.base_url)?;
        }
        if !entry.options.is_empty() {
            server.options = entry.options.clone();
        }
        server.read_timeout = self.settings.model_timeout();
        server.headers = headers(&entry.headers)?;
        Ok(Some(Endpoint::Server(server)))
    }
}

impl crew::NamedModels for ModelConnections {
    fn names(&self) -> Vec<String> {
        self.settings.models.keys().cloned().collect()
    }

    fn find(&self, name: &str) -> Option<Result<ModelConfig, String>> {
        let entry = self.get(name)?;
        let connected = self.connect(name, entry);
        Some(
            connected
                .map(|(_, config)| config)
                .map_err(|e| e.to_string()),
        )
    }
}

/// Replaces the variables in the values of headers.
///
/// # Errors
/// Names the first header with a variable that is not set.
fn headers(written: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let lookup = |name: &str| variable(name).map_or(Variable::Unset, Variable::Value);
    let value = |(name, value): (&String, &String)| {
        let expanded = expand(value, &lookup).map_err(|why| anyhow!("the header {name}: {why}"))?;
        match expanded.unset.first() {
            Some(unset) => Err(anyhow!(
                "the header {name} needs the variable {unset}: set it (export {unset}=…) and restart crewdeck"
            )),
            None => Ok((name.clone(), expanded.text)),
        }
    };
    written.iter().map(value).collect()
}
