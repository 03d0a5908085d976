//! Connects to the servers of the named models (the setting `models`). Models with the same provider, server, key, options
//! and headers share one connection. All connections to one server with the same key share one call queue and one back-off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Result, anyhow};

use super::jitter;
use super::local_server::{self, FoundServer};
use super::model_setup::{self, ModelConnection, Probe, name_of_model, variable};
use crate::agent::driver::{ModelConfig, ModelOptions};
use crate::config::extensions::{Variable, expand};
use crate::config::{self, Settings};
use crate::crew;
use crate::domain::named_model::NamedModel;
use crate::model::effort;
use crate::model::provider::ModelServerConfig;
use crate::model::providers::ProviderChoice;
use crate::model::rate_limiter::RateLimiter;
use crate::protocol::EventSender;

/// The named models of the settings, and the connections that agents use so far.
pub struct ModelConnections {
    settings: Settings,
    /// The provider of the crew. It also serves the named models that set neither a provider nor an address.
    choice: Option<ProviderChoice>,
    speed: f64,
    /// Looks for a model server on this machine.
    find_local: fn() -> Option<FoundServer>,
    /// The model server on this machine that the crew uses if there is no `choice`. Set when the server is found, so
    /// that all agents use the same one.
    local: OnceLock<FoundServer>,
    connections: Mutex<Vec<Connected>>,
}

/// A connection to a model server or to a script, with its call queue.
struct Connected {
    connection: Arc<ModelConnection>,
    limiter: Arc<RateLimiter>,
}

/// What answers the calls of a model: a server or a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    Server(ModelServerConfig),
    /// The model script in this file; `None` is the script of the demo.
    Script(Option<String>),
}

/// The connection and the configuration of the model of the lead.
pub struct LeadConnection {
    pub connection: Arc<ModelConnection>,
    pub config: ModelConfig,
    /// A check that the server offers the model. `None` if no check is needed.
    pub probe: Option<Probe>,
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
            find_local: local_server::find,
            local: OnceLock::new(),
            connections: Mutex::default(),
        }
    }

    /// Returns the model that the lead uses: the setting `use.lead`, else the setting `model`; `None` if neither is set.
    pub fn wanted_by_lead(settings: &Settings) -> Option<&String> {
        settings.r#use.lead.as_ref().or(settings.model.as_ref())
    }

    /// Returns the server of the lead's model; `None` if the model is scripted, if its server must first be found on this
    /// machine, or if the server cannot be used. Contacts no server.
    pub fn lead_server(
        settings: &Settings,
        choice: Option<&ProviderChoice>,
    ) -> Option<ModelServerConfig> {
        let models = ModelConnections {
            find_local: || None,
            ..ModelConnections::new(settings, choice, 1.0)
        };
        let named = ModelConnections::wanted_by_lead(settings).and_then(|name| models.get(name));
        let entry = named.cloned().unwrap_or_default();
        match models.endpoint(&entry).ok()? {
            Endpoint::Server(config) => Some(config),
            Endpoint::Script(_) => None,
        }
    }

    pub fn get(&self, name: &str) -> Option<&NamedModel> {
        self.settings.models.get(name)
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Connected>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the server or script of the crew's provider. If the crew has no provider, looks for a model server
    /// on this machine. The connection serves all models that are not named models.
    ///
    /// # Errors
    /// Fails if a model script is invalid or cannot be read, if a key is missing, if the address or the key is invalid,
    /// or if there is no provider and no server is found.
    pub async fn connect_own(&self) -> Result<Arc<ModelConnection>> {
        if self.choice.is_none()
            && let Some(found) = tokio::task::spawn_blocking(self.find_local).await?
        {
            self.local.get_or_init(|| found);
        }
        self.connection(&NamedModel::default())
    }

    /// Connects to the lead's model. If no model is configured and the server lists several, publishes a notice with the
    /// choice.
    ///
    /// # Errors
    /// Fails as [`ModelConnections::connect`], [`ModelConnections::connect_own`] and [`name_of_model`] do.
    pub async fn connect_lead(&self, event_sender: &EventSender) -> Result<LeadConnection> {
        let settings = &self.settings;
        let wanted = ModelConnections::wanted_by_lead(settings);
        if let Some((name, entry)) = wanted.and_then(|name| Some((name, self.get(name)?))) {
            let (connection, config) = self.connect(name, entry)?;
            let probe = Probe::of(Some(&config.name), &connection);
            return Ok(LeadConnection {
                connection,
                config,
                probe,
            });
        }
        let connection = self.connect_own().await?;
        let name = name_of_model(wanted, &connection, event_sender).await?;
        let config = ModelConfig {
            window: settings.window.or(connection.window),
            price: settings.prices.get(&name).copied(),
            max_tokens: settings.max_tokens(),
            name,
            model: Arc::clone(&connection.model),
            options: ModelOptions::default(),
        };
        let probe = Probe::of(wanted, &connection);
        Ok(LeadConnection {
            connection,
            config,
            probe,
        })
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
        let endpoint = self.endpoint(entry)?;
        // Keep the lock, so that two agents that need the same server at once get the same queue.
        let mut all = self.connections();
        if let Some(found) = all.iter().find(|c| c.connection.endpoint == endpoint) {
            return Ok(Arc::clone(&found.connection));
        }
        let connection = model_setup::connect_endpoint(endpoint, self.speed)?;
        let shares = |c: &&Connected| match (&c.connection.endpoint, &connection.endpoint) {
            (Endpoint::Server(one), Endpoint::Server(other)) => one.shares_limits_with(other),
            (Endpoint::Server(_) | Endpoint::Script(_), _) => false,
        };
        let model = Arc::clone(&connection.model);
        let limiter = Arc::new(match all.iter().find(shares) {
            Some(found) => found.limiter.share_with(model),
            None => RateLimiter::new(model, self.settings.calls_max(), jitter),
        });
        let connection = Arc::new(ModelConnection {
            model: Arc::clone(&limiter) as _,
            ..connection
        });
        all.push(Connected {
            connection: Arc::clone(&connection),
            limiter,
        });
        Ok(connection)
    }

    /// Returns the server or script that answers the calls of the named model `entry`. Looks for a model server on this
    /// machine if neither the entry nor the crew has a provider.
    ///
    /// # Errors
    /// Fails if an address, a key or a variable in a header is missing, if the provider is unknown, or if no model
    /// server is found.
    pub fn endpoint(&self, entry: &NamedModel) -> Result<Endpoint> {
        let script = entry
            .provider
            .as_deref()
            .and_then(|p| p.strip_prefix("script:"));
        if let Some(file) = script {
            return Ok(Endpoint::Script(Some(file.to_string())));
        }
        let own = config::named_model_provider(entry).map_err(anyhow::Error::msg)?;
        let mut server = match (own, &self.choice) {
            (Some(spec), _) => {
                let address = entry.base_url.clone().or_else(|| variable(spec.url_var));
                model_setup::server_without_key(spec, &self.settings, address.as_deref())
            }
            (None, Some(ProviderChoice::Server(spec))) => {
                let address = self.settings.base_url.as_deref();
                model_setup::server_without_key(spec, &self.settings, address)
            }
            (None, Some(ProviderChoice::Script(file))) => {
                return Ok(Endpoint::Script(Some(file.clone())));
            }
            (None, Some(ProviderChoice::Demo)) => return Ok(Endpoint::Script(None)),
            (None, None) => {
                let (spec, found) = self.local_server().ok_or_else(model_setup::no_model)?;
                let address = self.settings.base_url.as_deref();
                let address = address.or(Some(found.base_url));
                model_setup::server_without_key(spec, &self.settings, address)
            }
        };
        model_setup::check_address(&server)?;
        if let Some(name) = &entry.key_var {
            server.key_var.clone_from(name);
        }
        // Without `key_var`, the provider's key goes only to the server that the user knows from the environment or the
        // settings of the crew, or to the vendor.
        let is_known = entry.base_url.is_none() || server.spec.is_vendor_address(&server.base_url);
        if entry.key_var.is_some() || is_known {
            server.key = model_setup::key(&server.key_var, &server.base_url)?;
        }
        if !entry.options.is_empty() {
            server.options = entry.options.clone();
        }
        server.headers = headers(&entry.headers)?;
        Ok(Endpoint::Server(server))
    }

    /// Returns the model server on this machine; `None` if none accepts connections. A port of this machine accepts or
    /// refuses a connection at once, so this does not wait.
    fn local_server(&self) -> Option<FoundServer> {
        if let Some(found) = self.local.get() {
            return Some(*found);
        }
        let found = (self.find_local)()?;
        Some(*self.local.get_or_init(|| found))
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

/// Replaces the references to environment variables in the values of headers.
///
/// # Errors
/// Fails if a variable is not set, or if a value is too long after the replacement. The error names the header.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::crew::NamedModels;
    use crate::model::provider::LocalServer;
    use crate::model::providers::COMPATIBLE;

    /// Stands for a model server on this machine.
    static SERVER: LocalServer = LocalServer {
        name: "Local",
        base_url: "http://127.0.0.1:9/v1",
    };

    fn connections(settings: &str, find_local: fn() -> Option<FoundServer>) -> ModelConnections {
        let settings = Settings::parse(settings, Path::new("config.toml")).unwrap();
        ModelConnections {
            find_local,
            ..ModelConnections::new(&settings, None, 1.0)
        }
    }

    fn base_url(models: &ModelConnections, name: &str) -> String {
        let entry = models.get(name).unwrap();
        match &models.connection(entry).unwrap().endpoint {
            Endpoint::Server(config) => config.base_url.clone(),
            Endpoint::Script(script) => panic!("{script:?}"),
        }
    }

    #[test]
    fn models_without_a_provider_use_the_server_of_this_machine() {
        let settings = "[models.big]\nmodel = 'qwen3:32b'\n[models.small]\nmodel = 'qwen3:4b'\n";
        let models = connections(settings, || Some((COMPATIBLE, &SERVER)));
        let entry = models.get("big").unwrap();
        let (connection, config) = models.connect("big", entry).unwrap();
        assert_eq!((connection.scripted, &*config.name), (false, "qwen3:32b"));
        assert_eq!(base_url(&models, "small"), SERVER.base_url);
        assert_eq!(models.connections().len(), 1, "both share one connection");
        let models = connections(settings, || None);
        let error = models.find("big").unwrap().err().unwrap();
        assert!(error.starts_with("No model is configured: "), "{error}");
    }

    #[test]
    fn model_of_this_machine_does_not_use_the_first_connection() {
        let settings = "[models.other]\nbase_url = 'http://127.0.0.1:1/v1'\n[models.local]\nmodel = 'qwen3:8b'\n";
        let models = connections(settings, || Some((COMPATIBLE, &SERVER)));
        assert_eq!(base_url(&models, "other"), "http://127.0.0.1:1/v1");
        assert_eq!(base_url(&models, "local"), SERVER.base_url);
    }

    #[test]
    fn server_of_the_lead_is_that_of_its_named_model() {
        let settings = "base_url = 'https://crew.example.com/v1'\n[models.other]\nbase_url = 'http://127.0.0.1:1/v1'\nprovider = 'anthropic'\n[models.script]\nprovider = 'script:a.yaml'\n[models.local]\nmodel = 'qwen3:8b'\n[use]\nlead = ";
        for (lead, expected) in [
            ("other", Some("http://127.0.0.1:1/v1")),
            ("script", None),
            ("local", None),
        ] {
            let settings = format!("{settings}'{lead}'");
            let settings = Settings::parse(&settings, Path::new("config.toml")).unwrap();
            let found = ModelConnections::lead_server(&settings, None);
            let found = found.map(|config| config.base_url);
            assert_eq!(found.as_deref(), expected, "{lead}");
        }
    }

    #[test]
    fn connections_to_one_server_with_one_key_share_its_limits() {
        let settings = "[models.a]\nbase_url = 'http://127.0.0.1:1/v1'\nheaders = { X-Team = 'a' }\n[models.b]\nbase_url = 'http://127.0.0.1:1/v2'\nprovider = 'responses'\n[models.c]\nbase_url = 'http://127.0.0.1:2/v1'\n";
        let models = connections(settings, || None);
        let server = |name: &str| match models.endpoint(models.get(name).unwrap()).unwrap() {
            Endpoint::Server(config) => config,
            Endpoint::Script(script) => panic!("{script:?}"),
        };
        assert!(server("a") != server("b"));
        assert!(server("a").shares_limits_with(&server("b")));
        assert!(!server("a").shares_limits_with(&server("c")));
        let keyed = ModelServerConfig {
            key: Some("key".to_string().into()),
            ..server("a")
        };
        assert!(!keyed.shares_limits_with(&server("a")));
    }

    #[test]
    fn agents_that_connect_at_once_get_one_connection() {
        let models = connections("[models.a]\nbase_url = 'http://127.0.0.1:1/v1'\n", || None);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| models.find("a").unwrap().unwrap());
            }
        });
        assert_eq!(models.connections().len(), 1);
    }

    #[tokio::test]
    async fn unnamed_models_share_the_connection_of_the_crew() {
        let models = connections("[models.local]\n", || Some((COMPATIBLE, &SERVER)));
        let own = models.connect_own().await.unwrap();
        let (connection, _) = models.connect("local", &NamedModel::default()).unwrap();
        assert!(Arc::ptr_eq(&own, &connection));
    }
}
