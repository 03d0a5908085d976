//! The model check of `crewdeck doctor`: determines which model a crew would use here, and whether its server answers.
//! The key is sent only to that server. If the server is not the vendor's, its address is printed before the key is
//! sent.

use std::time::Duration;

use anyhow::Result;

use crate::app::headless;
use crate::app::local_server;
use crate::app::model_setup::{self, ModelUnavailable};
use crate::app::named_models::{Endpoint, ModelConnections};
use crate::cli::GlobalOptions;
use crate::config::Settings;
use crate::doctor::{ModelFacts, ModelListing, ModelServer};
use crate::domain::named_model::NamedModel;
use crate::model::provider::ModelServerConfig;
use crate::model::providers::ProviderChoice;
use crate::model::script::Script;
use crate::model::{ModelError, is_local};

/// The timeout of the request for the server's model list.
const WITHIN: Duration = Duration::from_secs(5);

/// Determines which model a crew would use, and requests the model list from its server. If no provider is configured,
/// tries to connect to the default ports of local model servers. Contacts no other server.
pub async fn facts(global: &GlobalOptions, settings: Result<Settings>) -> ModelFacts {
    let Ok(settings) = settings else {
        return ModelFacts::Missing {
            reason: "unknown while the settings are invalid".into(),
            remedy: "fix the settings first".into(),
        };
    };
    match offer(global, &settings).await {
        Ok(facts) => facts,
        Err(error) => missing_model(&error),
    }
}

/// Returns the named models, each with its model and server, or with the reason why it cannot be used.
pub fn named_models(settings: &Settings) -> Vec<(String, Result<String, String>)> {
    let choice = model_setup::choice(settings).ok().flatten();
    let models = ModelConnections::new(settings, choice.as_ref(), 1.0);
    let state = |(name, entry): (&String, &NamedModel)| {
        let model = entry.model.as_ref().unwrap_or(name);
        let state = models.endpoint(entry).map(|endpoint| match endpoint {
            Endpoint::Server(config) => {
                let key = match model_setup::foreign_key_address(&config) {
                    Some((key, _)) => format!(", with the key in {key}"),
                    None if config.key.is_none() && !is_local(&config.base_url) => {
                        ", no key is sent (key_var is not set)".into()
                    }
                    None => String::new(),
                };
                let (provider, url) = (config.spec.name, &config.base_url);
                format!("{model} of {provider} at {url}{key}")
            }
            Endpoint::Script(Some(file)) => format!("scripted: {file}"),
            Endpoint::Script(None) => "scripted: the demo's".into(),
        });
        (name.clone(), state.map_err(|e| e.to_string()))
    };
    settings.models.iter().map(state).collect()
}

fn missing_model(error: &anyhow::Error) -> ModelFacts {
    match error.downcast_ref::<ModelUnavailable>() {
        Some(no) => ModelFacts::Missing {
            reason: no.reason.clone(),
            remedy: no.all_steps().join("\n"),
        },
        None => ModelFacts::Missing {
            reason: format!("{error:#}"),
            remedy: "fix this setting, or try the demo, which needs no model: crewdeck --demo"
                .into(),
        },
    }
}

async fn offer(global: &GlobalOptions, settings: &Settings) -> Result<ModelFacts> {
    if let Some(facts) = named(settings)?.filter(|_| !global.demo) {
        return lead_model(facts).await;
    }
    let demo = global.demo.then_some(ProviderChoice::Demo);
    let choice = match demo {
        Some(demo) => Some(demo),
        None => model_setup::choice(settings)?,
    };
    let named = |variable: &str| match (&global.provider, &settings.provider) {
        (Some(_), _) => "--provider".to_string(),
        (None, Some(_)) => "provider in the settings".into(),
        (None, None) => format!("{variable} is set"),
    };
    let (config, why) = match choice {
        Some(ProviderChoice::Demo) => {
            let what = "the demo's".into();
            return Ok(ModelFacts::Scripted { what });
        }
        Some(ProviderChoice::Script(file)) => {
            Script::parse(&model_setup::script_text(&file)?, 1.0)
                .map_err(|e| anyhow::anyhow!("{file}: {e}"))?;
            return Ok(ModelFacts::Scripted { what: file });
        }
        Some(ProviderChoice::Server(spec)) => (
            model_setup::server(spec, settings, None)?,
            named(spec.key_var),
        ),
        None => match tokio::task::spawn_blocking(local_server::find).await? {
            Some((spec, found)) => {
                let config = model_setup::server(spec, settings, Some(found.base_url))?;
                (
                    config,
                    format!("the default port of {} accepts connections", found.name),
                )
            }
            None => return Err(model_setup::no_model().into()),
        },
    };
    let wanted = ModelConnections::wanted_by_lead(settings).cloned();
    Ok(server(&config, why, wanted).await)
}

async fn server(config: &ModelServerConfig, why: String, wanted: Option<String>) -> ModelFacts {
    if let Some((key, address)) = model_setup::foreign_key_address(config) {
        headless::eprint_key_address(&key, &address);
    }
    ModelFacts::Server(ModelServer {
        provider: config.spec.name,
        why,
        url: config.base_url.clone(),
        key: (config.key_var.clone(), config.key.is_some()),
        wanted,
        listing: ask(config).await,
    })
}

/// The named model that the lead uses.
struct LeadModel {
    name: String,
    entry: NamedModel,
    endpoint: Endpoint,
}

/// Returns the named model that the lead uses; `None` if it uses no named model.
///
/// # Errors
/// Fails if the provider of the settings is unknown, or as [`ModelConnections::endpoint`] does.
fn named(settings: &Settings) -> Result<Option<LeadModel>> {
    let models = ModelConnections::new(settings, model_setup::choice(settings)?.as_ref(), 1.0);
    let Some(name) = ModelConnections::wanted_by_lead(settings) else {
        return Ok(None);
    };
    let Some(entry) = models.get(name).cloned() else {
        return Ok(None);
    };
    Ok(Some(LeadModel {
        name: name.clone(),
        endpoint: models.endpoint(&entry)?,
        entry,
    }))
}

async fn lead_model(lead: LeadModel) -> Result<ModelFacts> {
    match lead.endpoint {
        Endpoint::Script(Some(file)) => Ok(ModelFacts::Scripted { what: file }),
        Endpoint::Script(None) => Ok(ModelFacts::Scripted {
            what: "the demo's".into(),
        }),
        Endpoint::Server(config) => {
            let why = format!("the model {}", lead.name);
            let model = lead.entry.model.clone().unwrap_or(lead.name);
            Ok(server(&config, why, Some(model)).await)
        }
    }
}

async fn ask(config: &ModelServerConfig) -> ModelListing {
    let model = match config.connect() {
        Ok(model) => model,
        Err(error) => return failed_listing(&error),
    };
    match tokio::time::timeout(WITHIN, model.list()).await {
        Ok(Ok(models)) => ModelListing::Models(models),
        Ok(Err(error)) if error.kind.means_no_list() => ModelListing::NoList,
        Ok(Err(error)) => failed_listing(&error),
        Err(_) => ModelListing::Failed {
            why: format!("no answer within {} s", WITHIN.as_secs()),
            remedy: "check that the server runs and that this machine can reach it".into(),
        },
    }
}

fn failed_listing(error: &ModelError) -> ModelListing {
    ModelListing::Failed {
        why: error.message.clone(),
        remedy: match error.hint.as_str() {
            "" => "check the address (base_url) and the API key".into(),
            hint => hint.into(),
        },
    }
}
