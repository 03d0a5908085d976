//! The model's wire: which one, with which key, and under which name. The same for every front end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use secrecy::SecretString;

use super::assemble::Blueprint;
use super::{demo, local};
use crate::config::{self, Choice, Found, Settings, Source};
use crate::domain::redact::Redactor;
use crate::model::anthropic::{AnthropicConfig, KeyHeader};
use crate::model::openai::{MaxTokensField, OpenAiConfig};
use crate::model::provider::{self, ProviderConfig};
use crate::model::{Fault, Model, ModelError, origin};
use crate::protocol::Publisher;
use crate::protocol::event::{EventKind, Level};
use crate::store::words;

/// The variables that hold the keys.
pub(super) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
pub(super) const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// The variables that hold the servers' addresses.
const ANTHROPIC_URL: &str = "ANTHROPIC_BASE_URL";
const OPENAI_URL: &str = "OPENAI_BASE_URL";

/// No model can be had: what is missing and what to do, for the first page, `run` and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}. {}", reason.trim_end_matches('.'), self.all_steps().join(" "))]
pub struct NoModel {
    /// What kind of thing is missing.
    pub lack: Lack,
    /// What is missing, in a sentence.
    pub reason: String,
    /// What can be done, one step a line, the demo aside.
    pub steps: Vec<String>,
}

/// What is missing to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Nothing points to one.
    Model,
    /// The key for the server.
    Key,
    /// A key that the server takes.
    RightKey,
    /// Anybody who answers at the server's address.
    Nobody,
    /// A server that answers as one.
    Server,
    /// The model of that name.
    ThatModel,
    /// The server has none.
    AnyModel,
    /// Something else is wrong.
    Other,
}

/// What always works.
const DEMO: &str = "Or watch the demo, which needs neither key nor network: crewdeck --demo.";

impl NoModel {
    /// What can be done; for a newcomer, who may have no key at all, with the demo.
    pub fn all_steps(&self) -> Vec<&str> {
        let demo = matches!(self.lack, Lack::Model | Lack::Key).then_some(DEMO);
        self.steps.iter().map(String::as_str).chain(demo).collect()
    }

    /// What a server's refusal to list its models leaves.
    pub fn refused(error: &ModelError) -> NoModel {
        let lack = match error.fault {
            Fault::NoKey => Lack::Key,
            Fault::Auth => Lack::RightKey,
            Fault::Unreachable => Lack::Nobody,
            Fault::RateLimited | Fault::Server | Fault::Cut | Fault::Timeout | Fault::Garbled => {
                Lack::Server
            }
            Fault::UnknownModel => Lack::ThatModel,
            Fault::ContextTooLong | Fault::BadRequest | Fault::Redirected | Fault::Script => {
                Lack::Other
            }
        };
        let hint = Some(error.hint.clone()).filter(|hint| !hint.is_empty());
        NoModel {
            lack,
            reason: error.message.clone(),
            steps: hint.into_iter().collect(),
        }
    }

    /// The server does not list the model that was named.
    pub fn not_listed(name: &str, offered: &[String]) -> NoModel {
        NoModel {
            lack: Lack::ThatModel,
            reason: format!(
                "the model '{name}' is not among the {} that the server lists",
                offered.len()
            ),
            steps: vec![format!("Check the name: it has {}.", some(offered))],
        }
    }
}

/// The first few names of a server's models.
pub fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// A model's wire, with what is known about it.
pub struct Wire {
    /// It.
    pub model: Arc<dyn Model>,
    /// `anthropic`, `openai`, `script`, `demo`.
    pub provider: &'static str,
    /// Whether it is scripted.
    pub scripted: bool,
    /// The model's name, where the wire itself knows it.
    pub name: Option<String>,
    /// The tokens that the model holds, where the wire itself knows it.
    pub window: Option<u64>,
}

/// The wire of the model that the blueprint chose.
pub async fn wire(blueprint: &Blueprint) -> Result<Wire> {
    let settings = &blueprint.settings;
    let script = |text: &str, shown: &str, provider| -> Result<Wire> {
        let script =
            provider::script(text, blueprint.speed).map_err(|e| anyhow!("{shown}: {e}"))?;
        Ok(Wire {
            name: Some(script.name().to_string()),
            window: script.window(),
            model: Arc::new(script),
            provider,
            scripted: true,
        })
    };
    match &blueprint.choice {
        Some(Choice::Demo) => script(demo::SCRIPT, "the demo's script", "demo"),
        Some(Choice::Script(file)) => script(&script_text(file)?, file, "script"),
        Some(Choice::Anthropic) => connected(&anthropic(settings)?, "anthropic"),
        Some(Choice::OpenAi) => connected(&openai(settings, None)?, "openai"),
        None => {
            let found = tokio::task::spawn_blocking(local::find).await?;
            match found {
                Some((_, url)) => connected(&openai(settings, Some(url))?, "openai"),
                None => Err(no_model().into()),
            }
        }
    }
}

/// The text of a script.
pub fn script_text(file: &str) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|e| anyhow!("the script {file} can not be read: {}", words::why(&e)))
}

/// Which keys the surroundings have.
pub fn keys() -> Found {
    let there = |name: &str| match variable(name) {
        Some(_) => Source::There,
        None => Source::Missing,
    };
    Found {
        anthropic_key: there(ANTHROPIC_KEY),
        openai_key: there(OPENAI_KEY),
        anthropic_url: there(ANTHROPIC_URL),
        openai_url: there(OPENAI_URL),
    }
}

/// The address that the surroundings name for the wire that `settings` lead to. It goes over the files, and the
/// options go over it.
pub fn address(settings: &Settings) -> Option<String> {
    match config::choose(None, settings, keys()) {
        Ok(Some(Choice::Anthropic)) => variable(ANTHROPIC_URL),
        Ok(Some(Choice::OpenAi)) => variable(OPENAI_URL),
        // A name that there is not is told where the wire is made.
        Ok(Some(Choice::Demo | Choice::Script(_)) | None) | Err(_) => None,
    }
}

fn connected(config: &ProviderConfig, provider: &'static str) -> Result<Wire> {
    let model = provider::connect(config).map_err(|e| NoModel::refused(&e))?;
    Ok(Wire {
        model,
        provider,
        scripted: false,
        name: None,
        window: None,
    })
}

/// What is missing where nothing points to a model.
pub fn no_model() -> NoModel {
    NoModel {
        lack: Lack::Model,
        reason: "No model is set up yet: there is no key and no local server.".into(),
        steps: vec![
            "Set a key and start crewdeck again: export ANTHROPIC_API_KEY=… (or OPENAI_API_KEY=…)."
                .into(),
            "Or start Ollama, llama.cpp or LM Studio on this machine: it is found by itself."
                .into(),
            "Or name any compatible server: crewdeck --provider openai --base-url URL --model NAME."
                .into(),
        ],
    }
}

/// The address of the server that is set up; `None` where none is named or the model is scripted.
pub fn base_url(blueprint: &Blueprint) -> Option<String> {
    let settings = &blueprint.settings;
    let config = match &blueprint.choice {
        Some(Choice::Anthropic) => anthropic(settings),
        Some(Choice::OpenAi) => openai(settings, None),
        Some(Choice::Demo | Choice::Script(_)) | None => return None,
    };
    Some(match config.ok()? {
        ProviderConfig::Anthropic(config) => config.base_url,
        ProviderConfig::OpenAi(config) => config.base_url,
    })
}

/// The variable of a key that is sent to another server than its vendor's, and that server's address; `None`: it goes
/// to its vendor, or there is none.
pub fn key_address(blueprint: &Blueprint) -> Option<(&'static str, String)> {
    let url = base_url(blueprint)?;
    let (key, vendor) = match &blueprint.choice {
        Some(Choice::Anthropic) => (ANTHROPIC_KEY, AnthropicConfig::default().base_url),
        Some(Choice::OpenAi) => (OPENAI_KEY, OpenAiConfig::default().base_url),
        Some(Choice::Demo | Choice::Script(_)) | None => return None,
    };
    let is_sent = variable(key).is_some() && origin(&url) != origin(&vendor);
    let shown = Redactor::default().text(&url).into_owned();
    is_sent.then_some((key, shown))
}

/// A variable of the environment that says something.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|text| !text.trim().is_empty())
}

/// The Anthropic wire as it is set up.
pub fn anthropic(settings: &Settings) -> Result<ProviderConfig> {
    let mut config = AnthropicConfig::default();
    if let Some(url) = &settings.base_url {
        config.base_url.clone_from(url);
    }
    config.key = key(ANTHROPIC_KEY, &config.base_url)?;
    config.silence = settings.model_timeout().unwrap_or(config.silence);
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

/// The Chat Completions wire as it is set up; `local` is a server that was found on this machine.
pub fn openai(settings: &Settings, local: Option<String>) -> Result<ProviderConfig> {
    let mut config = OpenAiConfig::default();
    if let Some(url) = settings.base_url.clone().or(local) {
        config.base_url = url;
    }
    config.key = key(OPENAI_KEY, &config.base_url)?;
    config.silence = settings.model_timeout().unwrap_or(config.silence);
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

/// The key for a server. One on this machine needs none.
fn key(name: &str, base_url: &str) -> Result<Option<SecretString>> {
    match variable(name) {
        Some(key) => Ok(Some(key.trim().to_string().into())),
        None if crate::model::is_local(base_url) => Ok(None),
        None => Err(NoModel {
            lack: Lack::Key,
            reason: Redactor::default()
                .text(&format!("There is no key for {base_url}."))
                .into_owned(),
            steps: vec![format!(
                "Set it (export {name}=…) and start crewdeck again."
            )],
        }
        .into()),
    }
}

/// The model's name: as set, else as the server offers. Model names age, so none is built in.
pub async fn name_of_model(
    settings: &Settings,
    wire: &Wire,
    publisher: &Publisher,
) -> Result<String> {
    if let Some(name) = settings.model.clone().or_else(|| wire.name.clone()) {
        return Ok(name);
    }
    let offered = wire.model.list().await.map_err(|error| no_list(&error))?;
    let Some(first) = offered.first().cloned() else {
        return Err(NoModel {
            lack: Lack::AnyModel,
            reason: "The server offers no model.".into(),
            steps: vec!["Load one there, or name one with --model.".into()],
        }
        .into());
    };
    if offered.len() > 1 {
        let text = format!(
            "No model was named, so this is '{first}', the first of {} that the server offers: /model takes another.",
            offered.len()
        );
        publisher
            .publish(EventKind::notice(Level::Info, text))
            .await;
    }
    Ok(first)
}

/// A question to the server of a model that was named: whether it lets the person in, and has the model.
pub struct Probe {
    model: Arc<dyn Model>,
    name: String,
}

impl Probe {
    /// How long the server may take; one that is slower is asked at the first prompt.
    const WITHIN: Duration = Duration::from_secs(10);

    /// The question, where there is one: a server that was asked for its models needs no second one.
    pub fn of(settings: &Settings, wire: &Wire) -> Option<Probe> {
        let name = settings.model.clone()?;
        (!wire.scripted).then(|| Probe {
            model: Arc::clone(&wire.model),
            name,
        })
    }

    /// Asks. A server that keeps no list, or will not show it to this key, may answer all the same.
    ///
    /// # Errors
    /// What is likely to keep the model from answering.
    pub async fn ask(self) -> Result<(), NoModel> {
        let Ok(listed) = tokio::time::timeout(Self::WITHIN, self.model.list()).await else {
            return Ok(());
        };
        match listed {
            Ok(names) if names.is_empty() || is_listed(&self.name, &names) => Ok(()),
            Ok(names) => Err(NoModel::not_listed(&self.name, &names)),
            Err(error) => match error.fault {
                Fault::NoKey | Fault::Auth | Fault::Unreachable | Fault::Redirected => {
                    Err(NoModel::refused(&error))
                }
                Fault::UnknownModel
                | Fault::RateLimited
                | Fault::Server
                | Fault::ContextTooLong
                | Fault::BadRequest
                | Fault::Cut
                | Fault::Garbled
                | Fault::Timeout
                | Fault::Script => Ok(()),
            },
        }
    }
}

/// Whether a server lists a model of that name. Ollama adds `:latest` to a name without a tag.
pub fn is_listed(name: &str, names: &[String]) -> bool {
    let latest = format!("{name}:latest");
    names.iter().any(|n| n == name || *n == latest)
}

fn no_list(error: &ModelError) -> anyhow::Error {
    if !error.fault.means_no_list() {
        return NoModel::refused(error).into();
    }
    let missing = NoModel {
        lack: Lack::ThatModel,
        reason: "The server does not list its models.".into(),
        steps: vec!["Name one: --model NAME, or model = \"NAME\" in the settings.".into()],
    };
    missing.into()
}
