//! Model setup: selects provider, key and model name, for every front end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use secrecy::SecretString;

use super::assemble::Blueprint;
use super::{demo, local_server};
use crate::config::{self, EnvVar, ProviderChoice, ProviderEnv, Settings};
use crate::domain::redact::Redactor;
use crate::model::anthropic::{AnthropicConfig, KeyHeader};
use crate::model::openai::{MaxTokensField, OpenAiConfig};
use crate::model::provider::{self, ProviderConfig};
use crate::model::{ErrorKind, Model, ModelError, origin};
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::store::os_errors;

/// Environment variables for the keys.
pub(super) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
pub(super) const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// Environment variables for the base URLs.
const ANTHROPIC_URL: &str = "ANTHROPIC_BASE_URL";
const OPENAI_URL: &str = "OPENAI_BASE_URL";

/// No model is available: the reason and the steps to fix it, for the first page, `run` and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}. {}", reason.trim_end_matches('.'), self.all_steps().join(" "))]
pub struct ModelUnavailable {
    pub problem: ModelProblem,
    /// The reason, in a sentence.
    pub reason: String,
    /// The steps to fix it, without the demo.
    pub steps: Vec<String>,
}

/// Why no model is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelProblem {
    /// No setting, option or key selects one.
    NotConfigured,
    /// The key for the server is missing.
    NoKey,
    /// The server rejects the key.
    KeyRejected,
    /// The server does not answer.
    Unreachable,
    /// The server answers with an error.
    ServerError,
    /// The server does not have the named model.
    UnknownModel,
    /// The server has no model.
    NoModels,
    /// Any other problem.
    Other,
}

const DEMO: &str = "Or try the demo, which needs no key and no network: crewdeck --demo.";

impl ModelUnavailable {
    /// Returns the steps to fix it, with the demo for users who may have no key.
    pub fn all_steps(&self) -> Vec<&str> {
        let demo = matches!(
            self.problem,
            ModelProblem::NotConfigured | ModelProblem::NoKey
        )
        .then_some(DEMO);
        self.steps.iter().map(String::as_str).chain(demo).collect()
    }

    /// Creates the error for a server that refused to list its models.
    pub fn refused(error: &ModelError) -> ModelUnavailable {
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
            steps: vec![format!("Check the name. The server has {}.", some(offered))],
        }
    }
}

/// Joins the first five model names.
pub fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// A connection to a model provider.
pub struct ModelConnection {
    pub model: Arc<dyn Model>,
    /// `anthropic`, `openai`, `script` or `demo`.
    pub provider: &'static str,
    pub scripted: bool,
    /// The model's name, if a script defines it.
    pub name: Option<String>,
    /// The context window in tokens, if a script defines it.
    pub window: Option<u64>,
}

/// Connects to the provider that the blueprint selects.
pub async fn connect_model(blueprint: &Blueprint) -> Result<ModelConnection> {
    let settings = &blueprint.settings;
    let script = |text: &str, shown: &str, provider| -> Result<ModelConnection> {
        let script =
            provider::script(text, blueprint.speed).map_err(|e| anyhow!("{shown}: {e}"))?;
        Ok(ModelConnection {
            name: Some(script.name().to_string()),
            window: script.window(),
            model: Arc::new(script),
            provider,
            scripted: true,
        })
    };
    match &blueprint.choice {
        Some(ProviderChoice::Demo) => script(demo::SCRIPT, "the demo's script", "demo"),
        Some(ProviderChoice::Script(file)) => script(&script_text(file)?, file, "script"),
        Some(ProviderChoice::Anthropic) => connected(&anthropic(settings)?, "anthropic"),
        Some(ProviderChoice::OpenAi) => connected(&openai(settings, None)?, "openai"),
        None => {
            let found = tokio::task::spawn_blocking(local_server::find).await?;
            match found {
                Some((_, url)) => connected(&openai(settings, Some(url))?, "openai"),
                None => Err(no_model().into()),
            }
        }
    }
}

/// Reads a model script.
pub fn script_text(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| {
        anyhow!(
            "the script {file} cannot be read: {}",
            os_errors::explain(&e)
        )
    })
}

/// Returns which keys and base URLs the environment has.
pub fn keys() -> ProviderEnv {
    let there = |name: &str| match variable(name) {
        Some(_) => EnvVar::Set,
        None => EnvVar::Missing,
    };
    ProviderEnv {
        anthropic_key: there(ANTHROPIC_KEY),
        openai_key: there(OPENAI_KEY),
        anthropic_url: there(ANTHROPIC_URL),
        openai_url: there(OPENAI_URL),
    }
}

/// Returns the base URL from the environment for the provider that `settings` select. It overrides settings files and is
/// overridden by options.
pub fn address(settings: &Settings) -> Option<String> {
    match config::choose_provider(None, settings, keys()) {
        Ok(Some(ProviderChoice::Anthropic)) => variable(ANTHROPIC_URL),
        Ok(Some(ProviderChoice::OpenAi)) => variable(OPENAI_URL),
        // An unknown provider is reported when the connection is made.
        Ok(Some(ProviderChoice::Demo | ProviderChoice::Script(_)) | None) | Err(_) => None,
    }
}

fn connected(config: &ProviderConfig, provider: &'static str) -> Result<ModelConnection> {
    let model = provider::connect(config).map_err(|e| ModelUnavailable::refused(&e))?;
    Ok(ModelConnection {
        model,
        provider,
        scripted: false,
        name: None,
        window: None,
    })
}

/// Returns the error for a setup that selects no model.
pub fn no_model() -> ModelUnavailable {
    ModelUnavailable {
        problem: ModelProblem::NotConfigured,
        reason: "No model is configured: there is no API key and no local server.".into(),
        steps: vec![
            "Set a key and restart crewdeck: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY=…)."
                .into(),
            "Or start Ollama, llama.cpp or LM Studio on this machine: it is detected automatically."
                .into(),
            "Or use any compatible server: crewdeck --provider openai --base-url URL --model NAME."
                .into(),
        ],
    }
}

/// Returns the base URL of the configured server; `None` if there is none or the model is scripted.
pub fn base_url(blueprint: &Blueprint) -> Option<String> {
    let settings = &blueprint.settings;
    let config = match &blueprint.choice {
        Some(ProviderChoice::Anthropic) => anthropic(settings),
        Some(ProviderChoice::OpenAi) => openai(settings, None),
        Some(ProviderChoice::Demo | ProviderChoice::Script(_)) | None => return None,
    };
    Some(match config.ok()? {
        ProviderConfig::Anthropic(config) => config.base_url,
        ProviderConfig::OpenAi(config) => config.base_url,
    })
}

/// Returns the variable of a key that is sent to a server other than its vendor's, and that server's address; `None` if
/// there is no key or it goes to its vendor.
pub fn key_address(blueprint: &Blueprint) -> Option<(&'static str, String)> {
    let url = base_url(blueprint)?;
    let (key, vendor) = match &blueprint.choice {
        Some(ProviderChoice::Anthropic) => (ANTHROPIC_KEY, AnthropicConfig::default().base_url),
        Some(ProviderChoice::OpenAi) => (OPENAI_KEY, OpenAiConfig::default().base_url),
        Some(ProviderChoice::Demo | ProviderChoice::Script(_)) | None => return None,
    };
    let is_sent = variable(key).is_some() && origin(&url) != origin(&vendor);
    let shown = Redactor::default().text(&url).into_owned();
    is_sent.then_some((key, shown))
}

/// Returns an environment variable unless it is unset or blank.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|text| !text.trim().is_empty())
}

/// Returns the configuration of the Anthropic provider.
pub fn anthropic(settings: &Settings) -> Result<ProviderConfig> {
    let mut config = AnthropicConfig::default();
    if let Some(url) = &settings.base_url {
        config.base_url.clone_from(url);
    }
    config.key = key(ANTHROPIC_KEY, &config.base_url)?;
    config.read_timeout = settings.model_timeout().unwrap_or(config.read_timeout);
    if let Some(header) = &settings.anthropic.key_header {
        config.key_header = match header.as_str() {
            "x-api-key" => KeyHeader::XApiKey,
            "bearer" => KeyHeader::Bearer,
            other => bail!("anthropic.key_header is '{other}': use x-api-key or bearer"),
        };
    }
    if let Some(version) = &settings.anthropic.version {
        config.version.clone_from(version);
    }
    Ok(ProviderConfig::Anthropic(config))
}

/// Returns the configuration of the Chat Completions provider. `local` is the URL of a detected local server.
pub fn openai(settings: &Settings, local: Option<String>) -> Result<ProviderConfig> {
    let mut config = OpenAiConfig::default();
    if let Some(url) = settings.base_url.clone().or(local) {
        config.base_url = url;
    }
    config.key = key(OPENAI_KEY, &config.base_url)?;
    config.read_timeout = settings.model_timeout().unwrap_or(config.read_timeout);
    if let Some(field) = &settings.openai.max_tokens_field {
        config.max_tokens_field = match field.as_str() {
            "max_tokens" => MaxTokensField::MaxTokens,
            "max_completion_tokens" => MaxTokensField::MaxCompletionTokens,
            other => bail!(
                "openai.max_tokens_field is '{other}': use max_tokens or max_completion_tokens"
            ),
        };
    }
    Ok(ProviderConfig::OpenAi(config))
}

/// Returns the key for a server; `None` for a local server without a key.
fn key(name: &str, base_url: &str) -> Result<Option<SecretString>> {
    match variable(name) {
        Some(key) => Ok(Some(key.trim().to_string().into())),
        None if crate::model::is_local(base_url) => Ok(None),
        None => Err(ModelUnavailable {
            problem: ModelProblem::NoKey,
            reason: Redactor::default()
                .text(&format!("There is no API key for {base_url}."))
                .into_owned(),
            steps: vec![format!("Set it (export {name}=…) and restart crewdeck.")],
        }
        .into()),
    }
}

/// Returns the configured model name, else the first one that the server lists. No default name is built in, because model
/// names become outdated.
pub async fn name_of_model(
    settings: &Settings,
    wire: &ModelConnection,
    publisher: &EventSender,
) -> Result<String> {
    if let Some(name) = settings.model.clone().or_else(|| wire.name.clone()) {
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
        publisher
            .publish(EventKind::notice(NoticeLevel::Info, text))
            .await;
    }
    Ok(first)
}

/// Checks that the server accepts the key and has the configured model.
pub struct Probe {
    model: Arc<dyn Model>,
    name: String,
}

impl Probe {
    /// Timeout. A slower server is not reported here; the first prompt shows whether it works.
    const WITHIN: Duration = Duration::from_secs(10);

    /// Creates a probe; `None` if the model is scripted, or if its name came from the server's own list.
    pub fn of(settings: &Settings, wire: &ModelConnection) -> Option<Probe> {
        let name = settings.model.clone()?;
        (!wire.scripted).then(|| Probe {
            model: Arc::clone(&wire.model),
            name,
        })
    }

    /// Requests the model list. A server without a list, or that hides it from this key, counts as working.
    ///
    /// # Errors
    /// The reason why the model is unlikely to answer.
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
                | ErrorKind::Redirected => Err(ModelUnavailable::refused(&error)),
                ErrorKind::UnknownModel
                | ErrorKind::RateLimited
                | ErrorKind::Server
                | ErrorKind::ContextTooLong
                | ErrorKind::BadRequest
                | ErrorKind::Truncated
                | ErrorKind::InvalidResponse
                | ErrorKind::Timeout
                | ErrorKind::Script => Ok(()),
            },
        }
    }
}

/// Whether a server lists the model. Ollama lists a name without a tag as `NAME:latest`.
pub fn is_listed(name: &str, names: &[String]) -> bool {
    let latest = format!("{name}:latest");
    names.iter().any(|n| n == name || *n == latest)
}

fn no_list(error: &ModelError) -> anyhow::Error {
    if !error.kind.means_no_list() {
        return ModelUnavailable::refused(error).into();
    }
    let missing = ModelUnavailable {
        problem: ModelProblem::UnknownModel,
        reason: "The server does not list its models.".into(),
        steps: vec!["Choose one: --model NAME, or model = \"NAME\" in the settings.".into()],
    };
    missing.into()
}
