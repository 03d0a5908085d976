//! Model setup: selects provider, key and model name. Used by every front end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use secrecy::SecretString;

use super::blueprint::Blueprint;
use super::demo;
use super::named_models::{Endpoint, ModelConnections};
use crate::config::Settings;
use crate::domain::redact::Redactor;
use crate::domain::text::first_names;
use crate::model::provider::{ModelServerConfig, ProviderSpec};
use crate::model::providers::{self, COMPATIBLE, ProviderChoice};
use crate::model::script::Script;
use crate::model::{ErrorKind, Model, ModelError};
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::store::os_errors;

/// The error for a model that cannot be used. The setup page, `run` and `doctor` show its reason and its steps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}. {}", reason.trim_end_matches('.'), self.all_steps().join(" "))]
pub struct ModelUnavailable {
    pub problem: ModelProblem,
    /// What is wrong, in one sentence.
    pub reason: String,
    /// What the user can do to make a model available, one sentence per step. Does not include the step of trying the
    /// demo.
    pub steps: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelProblem {
    /// No setting, option or key selects a model.
    NotConfigured,
    NoKey,
    KeyRejected,
    Unreachable,
    ServerError,
    UnknownModel,
    /// No model name is configured, and the server lists no model.
    NoModels,
    Other,
}

const DEMO: &str = "Or try the demo, which needs no key and no network: crewdeck --demo.";

impl ModelUnavailable {
    /// Returns what the user can do, one sentence per step. If a key may be missing, the last step is to try the demo.
    pub fn all_steps(&self) -> Vec<&str> {
        let demo = matches!(
            self.problem,
            ModelProblem::NotConfigured | ModelProblem::NoKey
        )
        .then_some(DEMO);
        self.steps.iter().map(String::as_str).chain(demo).collect()
    }

    /// Creates the error for a failed connection to a server, or for a failed request for its model list.
    pub fn from_refusal(error: &ModelError) -> ModelUnavailable {
        let problem = match error.kind {
            ErrorKind::NoKey => ModelProblem::NoKey,
            ErrorKind::Auth => ModelProblem::KeyRejected,
            ErrorKind::Unreachable => ModelProblem::Unreachable,
            ErrorKind::RateLimited
            | ErrorKind::Server
            | ErrorKind::Truncated
            | ErrorKind::Timeout
            | ErrorKind::InvalidResponse => ModelProblem::ServerError,
            ErrorKind::UnknownModel => ModelProblem::UnknownModel,
            ErrorKind::ContextTooLong
            | ErrorKind::BadRequest
            | ErrorKind::Redirected
            | ErrorKind::Script => ModelProblem::Other,
        };
        let hint = Some(error.hint.clone()).filter(|hint| !hint.is_empty());
        ModelUnavailable {
            problem,
            reason: error.message.clone(),
            steps: hint.into_iter().collect(),
        }
    }

    /// Creates the error for a model name that the server does not list.
    pub fn not_listed(name: &str, offered: &[String]) -> ModelUnavailable {
        ModelUnavailable {
            problem: ModelProblem::UnknownModel,
            reason: format!(
                "the model '{name}' is not among the {} models of the server",
                offered.len()
            ),
            steps: vec![format!(
                "Check the name. The server has {}.",
                first_names(offered)
            )],
        }
    }
}

/// A connection to the server of a provider, or to a scripted model.
pub struct ModelConnection {
    pub model: Arc<dyn Model>,
    pub endpoint: Endpoint,
    /// The provider's name; `script` or `demo` for a scripted model.
    pub provider: &'static str,
    pub scripted: bool,
    /// The model's name if a script defines it; otherwise `None`.
    pub name: Option<String>,
    /// The context window in tokens if a script defines it; otherwise `None`.
    pub window: Option<u64>,
}

/// Connects to `endpoint`. Sends no request yet. `speed` is the speed factor of a script.
///
/// # Errors
/// Fails if a script is invalid or cannot be read. Fails with [`ModelUnavailable`] if the address, the key or a header is
/// invalid.
pub fn connect_endpoint(endpoint: Endpoint, speed: f64) -> Result<ModelConnection> {
    let (text, shown, provider) = match &endpoint {
        Endpoint::Server(config) => {
            let model = config
                .connect()
                .map_err(|e| ModelUnavailable::from_refusal(&e))?;
            return Ok(ModelConnection {
                model,
                provider: config.spec.name,
                endpoint,
                scripted: false,
                name: None,
                window: None,
            });
        }
        Endpoint::Script(None) => (demo::SCRIPT.to_string(), "the demo's script", "demo"),
        Endpoint::Script(Some(file)) => (script_text(file)?, file.as_str(), "script"),
    };
    let script = Script::parse(&text, speed).map_err(|e| anyhow!("{shown}: {e}"))?;
    Ok(ModelConnection {
        name: Some(script.name().to_string()),
        window: script.window(),
        model: Arc::new(script),
        provider,
        endpoint,
        scripted: true,
    })
}

/// Returns the text of the model script in `file`. The error names the file.
pub fn script_text(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| {
        anyhow!(
            "the script {file} cannot be read: {}",
            os_errors::explain(&e)
        )
    })
}

/// Returns the provider that `settings` name. If they name none, returns the provider whose key or address is in the
/// environment. If there is none either, but `settings` contain an address, returns the OpenAI-compatible provider.
/// Returns `None` if nothing selects a provider.
///
/// # Errors
/// Fails if the provider name is unknown.
pub fn choice(settings: &Settings) -> Result<Option<ProviderChoice>> {
    let (name, base_url) = (settings.provider.as_deref(), settings.base_url.as_deref());
    providers::choose(name, base_url, variable).map_err(anyhow::Error::msg)
}

/// Returns the base URL from the environment variable of the provider that `settings` select. `None` if the variable is
/// unset, or if no provider with a server is selected. This URL overrides the one in settings files and is overridden
/// by command-line options.
pub fn address(settings: &Settings) -> Option<String> {
    // Ignore an unknown provider here: it is reported when the connection is made.
    variable(selected_provider(choice(settings).ok()?.as_ref())?.url_var)
}

/// Returns the selected provider; `None` if there is none or the model is scripted.
fn selected_provider(choice: Option<&ProviderChoice>) -> Option<&'static ProviderSpec> {
    match choice {
        Some(ProviderChoice::Server(spec)) => Some(spec),
        Some(ProviderChoice::Demo | ProviderChoice::Script(_)) | None => None,
    }
}

/// Returns the error for a configuration that selects no model.
pub fn no_model() -> ModelUnavailable {
    no_model_with(variable)
}

/// Returns the error for a configuration that selects no model. `environment` returns the value of an environment
/// variable. If the key of a vendor is set, a step in the error names this vendor, because the key alone does not
/// select it.
fn no_model_with(environment: impl Fn(&str) -> Option<String>) -> ModelUnavailable {
    let mut keys = providers::selecting_keys().into_iter();
    let first = keys.next().unwrap_or_default();
    let others: Vec<String> = keys.map(|key| format!("or {key}=…")).collect();
    let others = others.join(", ");
    let vendor = providers::vendors().find(|spec| environment(spec.key_var).is_some());
    let vendor = vendor.map(|spec| {
        let ProviderSpec { name, key_var, .. } = spec;
        format!("Or use the vendor of the key in {key_var}: crewdeck --provider {name}.")
    });
    let mut all = ModelUnavailable {
        problem: ModelProblem::NotConfigured,
        reason: "No model is configured: there is no API key and no local server.".into(),
        steps: vec![
            format!("Set a key and restart crewdeck: export {first}=… ({others})."),
            "Or start Ollama, llama.cpp or LM Studio locally.".into(),
            format!(
                "Or use any compatible server: crewdeck --provider {} --base-url URL --model NAME.",
                COMPATIBLE.name
            ),
        ],
    };
    all.steps.extend(vendor);
    all
}

/// Returns the base URL of the server of the lead's model. `None` if the model is scripted, if its server must first be
/// found on this machine, or if the server cannot be used, for example because its key is missing.
pub fn base_url(blueprint: &Blueprint) -> Option<String> {
    let config = ModelConnections::lead_server(&blueprint.settings, blueprint.choice.as_ref());
    Some(config?.base_url)
}

/// Checks whether the key of the lead's model would be sent to a server that does not belong to the provider's vendor.
/// If so, returns the name of the key's environment variable and the address of the server. Otherwise returns `None`,
/// also if [`base_url`] returns `None`.
pub fn key_address(blueprint: &Blueprint) -> Option<(String, String)> {
    let config = ModelConnections::lead_server(&blueprint.settings, blueprint.choice.as_ref());
    foreign_key_address(&config?)
}

/// Checks whether a key from the environment would be sent to a server that does not belong to the provider's vendor.
/// If so, returns the name of the key's environment variable and the address of the server, else `None`.
pub fn foreign_key_address(config: &ModelServerConfig) -> Option<(String, String)> {
    let url = &config.base_url;
    let is_sent = config.key.is_some() && !config.spec.is_vendor_address(url);
    let shown = Redactor::default().text(url).into_owned();
    is_sent.then(|| (config.key_var.clone(), shown))
}

/// Returns the value of an environment variable; `None` if it is unset or blank.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|text| !text.trim().is_empty())
}

/// Returns the configuration for calls of the provider's server. `local` is the URL of a detected local server, used if
/// `settings` have no URL.
///
/// # Errors
/// Fails if an address or a key is required and missing.
pub fn server(
    spec: &'static ProviderSpec,
    settings: &Settings,
    local: Option<&str>,
) -> Result<ModelServerConfig> {
    let mut config = server_without_key(spec, settings, settings.base_url.as_deref().or(local));
    check_address(&config)?;
    config.key = key(spec.key_var, &config.base_url)?;
    Ok(config)
}

/// Returns the configuration for calls of the provider's server, without the key and without the checks of [`server`].
/// The address is `base_url`, or the vendor's address if `base_url` is `None`.
pub fn server_without_key(
    spec: &'static ProviderSpec,
    settings: &Settings,
    base_url: Option<&str>,
) -> ModelServerConfig {
    let new = ModelServerConfig::new(spec);
    ModelServerConfig {
        base_url: base_url.map_or(new.base_url, str::to_string),
        read_timeout: settings.model_timeout(),
        options: settings.provider_options(spec.name),
        ..new
    }
}

/// Checks that the base URL is set. It has no default for some vendors.
///
/// # Errors
/// Fails with a [`ModelUnavailable`] that says how to set the base URL.
pub fn check_address(config: &ModelServerConfig) -> Result<()> {
    let checked = config.check_address();
    Ok(checked.map_err(|error| ModelUnavailable::from_refusal(&error))?)
}

/// Returns the key in the environment variable `name`. If the variable is unset or blank, returns `None` for a server on
/// this machine and an error for any other server.
pub fn key(name: &str, base_url: &str) -> Result<Option<SecretString>> {
    match variable(name) {
        Some(key) => Ok(Some(key.trim().to_string().into())),
        None if crate::model::is_local(base_url) => Ok(None),
        None => Err(ModelUnavailable {
            problem: ModelProblem::NoKey,
            reason: Redactor::default()
                .text(&format!("There is no API key for {base_url}."))
                .into_owned(),
            steps: vec![format!(
                "Set the key (export {name}=…) and restart crewdeck."
            )],
        }
        .into()),
    }
}

/// Returns the configured model name `wanted`, or else the name in the model script, or else the first name that the
/// server lists. If the server lists several, publishes a notice with the choice. There is no built-in default name,
/// because model names become outdated.
///
/// # Errors
/// Fails with [`ModelUnavailable`] if no name is configured and the server lists no model, has no list or refuses the
/// request for it.
pub async fn name_of_model(
    wanted: Option<&String>,
    wire: &ModelConnection,
    event_sender: &EventSender,
) -> Result<String> {
    if let Some(name) = wanted.cloned().or_else(|| wire.name.clone()) {
        return Ok(name);
    }
    let offered = wire.model.list().await.map_err(|error| no_list(&error))?;
    let Some(first) = offered.first().cloned() else {
        return Err(ModelUnavailable {
            problem: ModelProblem::NoModels,
            reason: "The server offers no model.".into(),
            steps: vec!["Load a model on the server, or choose one with --model.".into()],
        }
        .into());
    };
    if offered.len() > 1 {
        let text = format!(
            "No model is configured: using '{first}', the first of {} that the server offers. Change it with /model.",
            offered.len()
        );
        event_sender
            .publish(EventKind::notice(NoticeLevel::Info, text))
            .await;
    }
    Ok(first)
}

/// A check that the server accepts the key and offers the configured model.
pub struct Probe {
    model: Arc<dyn Model>,
    name: String,
}

impl Probe {
    /// Maximum time to wait for the model list. A server that needs longer is not reported as a problem, because the
    /// first prompt shows whether it works.
    const WITHIN: Duration = Duration::from_secs(10);

    /// Creates a probe for the configured model `wanted`. Returns `None` if no check is needed: the model is scripted, or
    /// none is configured, so that the name comes from the server's list.
    pub fn of(wanted: Option<&String>, wire: &ModelConnection) -> Option<Probe> {
        let name = wanted?.clone();
        (!wire.scripted).then(|| Probe {
            model: Arc::clone(&wire.model),
            name,
        })
    }

    /// Requests the server's model list and looks for the model in it. The model also counts as available if the list
    /// is empty, if the server does not answer within `WITHIN`, or if the request fails for a reason that is not listed
    /// under Errors.
    ///
    /// # Errors
    /// Returns why the model is unlikely to answer: the list does not contain it, the key is missing or rejected, or the
    /// server redirects or cannot be reached.
    pub async fn ask(self) -> Result<(), ModelUnavailable> {
        let Ok(listed) = tokio::time::timeout(Self::WITHIN, self.model.list()).await else {
            return Ok(());
        };
        match listed {
            Ok(names) if names.is_empty() || is_listed(&self.name, &names) => Ok(()),
            Ok(names) => Err(ModelUnavailable::not_listed(&self.name, &names)),
            Err(error) => match error.kind {
                ErrorKind::NoKey
                | ErrorKind::Auth
                | ErrorKind::Unreachable
                | ErrorKind::Redirected => Err(ModelUnavailable::from_refusal(&error)),
                _ => Ok(()),
            },
        }
    }
}

/// Returns whether `names`, a server's model list, contains the model `name`. Ollama lists a model without a tag as
/// `NAME:latest`.
pub fn is_listed(name: &str, names: &[String]) -> bool {
    let latest = format!("{name}:latest");
    names.iter().any(|n| n == name || *n == latest)
}

fn no_list(error: &ModelError) -> anyhow::Error {
    if !error.kind.means_no_list() {
        return ModelUnavailable::from_refusal(error).into();
    }
    let missing = ModelUnavailable {
        problem: ModelProblem::UnknownModel,
        reason: "The server does not list its models.".into(),
        steps: vec!["Choose a model: --model NAME, or model = \"NAME\" in the settings.".into()],
    };
    missing.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::domain::secret_env::{self, WithheldReason};
    use crate::model::PROVIDERS;

    #[test]
    fn every_provider_option_is_a_setting() {
        let settings: Vec<_> = config::SECTIONS.iter().flat_map(|s| s.settings).collect();
        for spec in PROVIDERS {
            let declared: Vec<&str> = spec.options.iter().map(|option| option.name).collect();
            let table = settings.iter().find(|setting| setting.name == spec.name);
            let keys = table.map_or(&[][..], |setting| setting.keys);
            assert_eq!(keys, declared, "src/config/settings.rs: {}", spec.name);
            for option in spec.options {
                let (name, value) = (option.name, option.values.first().unwrap_or(&"x"));
                let text = format!("[{}]\n{name} = '{value}'", spec.name);
                let settings = Settings::parse(&text, std::path::Path::new("config.toml")).unwrap();
                assert_eq!(settings.provider_options(spec.name)[name], *value);
            }
        }
    }

    #[test]
    fn documented_defaults_are_those_of_the_code() {
        let documented = Settings::default().model_timeout();
        assert_eq!(documented, crate::model::provider::READ_TIMEOUT);
        let mut settings = config::SECTIONS.iter().flat_map(|s| s.settings);
        let window = settings.find(|setting| setting.name == "window").unwrap();
        assert!(window.default.ends_with("else 100,000"));
        assert_eq!(crate::agent::compact::WINDOW_ASSUMED, 100_000);
    }

    #[test]
    fn key_of_every_provider_is_a_secret() {
        for spec in PROVIDERS {
            let reason = secret_env::reason(spec.key_var, "value");
            assert_eq!(reason, Some(WithheldReason::Name), "{}", spec.key_var);
        }
    }

    #[test]
    fn advice_without_a_model_names_every_key_that_selects_one() {
        let advice = no_model_with(|_| None).to_string();
        assert!(advice.contains("export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY=…)."));
        for key in providers::selecting_keys() {
            assert!(advice.contains(key), "{advice}");
        }
        let step = "Or use the vendor of the key in GROQ_API_KEY: crewdeck --provider groq.";
        assert!(!advice.contains("groq"), "{advice}");
        let with_key = no_model_with(|name| (name == "GROQ_API_KEY").then(|| "gsk".into()));
        assert_eq!(with_key.steps.last().unwrap(), step);
    }

    #[test]
    fn foreign_addresses_of_keys_are_named() {
        for (name, url, is_external) in [
            ("responses", "https://api.openai.com/v1", false),
            ("responses", "https://gateway.example.com/v1", true),
            ("groq", "https://api.groq.com/openai/v1", false),
            ("groq", "https://api.openai.com/v1", true),
            ("azure", "https://r.openai.azure.com", false),
            ("azure", "https://r.example.com", true),
        ] {
            let spec = PROVIDERS.iter().find(|spec| spec.name == name).unwrap();
            let config = ModelServerConfig {
                base_url: url.into(),
                key: Some("key".to_string().into()),
                key_var: "MY_API_KEY".into(),
                ..ModelServerConfig::new(spec)
            };
            let found = foreign_key_address(&config);
            assert_eq!(found.is_some(), is_external, "{name} {url}");
            assert!(found.is_none_or(|(key, _)| key == "MY_API_KEY"));
        }
    }
}
