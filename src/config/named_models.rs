//! Checks the named models in the setting `models`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow};

use super::values;
use crate::domain::named_model::NamedModel;
use crate::domain::secret_env::{self, WithheldReason};
use crate::domain::text::{clip, closest_match, one_line};
use crate::model::provider::ProviderSpec;
use crate::model::providers::{PROVIDERS, names, of_address};
use crate::model::window::WINDOW_MIN;

/// Maximum number of named models.
const MODELS_MAX: usize = 100;
/// Maximum length of the name of a named model, in characters.
const NAME_MAX: usize = 64;
/// The start of the value of `provider` if a script takes the place of a model server.
const SCRIPT: &str = "script:";

/// Checks the named models of one file: their names, providers, options, key variables, limits and prices.
///
/// # Errors
/// Returns a message that the caller appends to the name of the setting.
pub fn check(models: &BTreeMap<String, NamedModel>) -> Result<(), String> {
    if models.len() > MODELS_MAX {
        return Err(format!(
            " has {} entries: at most {MODELS_MAX} are possible",
            models.len()
        ));
    }
    for (name, model) in models {
        let shown = one_line(&clip(name, NAME_MAX));
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_valid) {
            return Err(format!(
                " has an entry '{shown}': use the characters a to z, A to Z, 0 to 9, '-', '_' and '.', at most {NAME_MAX}"
            ));
        }
        check_fields(model).map_err(|why| format!(".{shown}.{why}"))?;
    }
    Ok(())
}

/// Checks the fallbacks of all named models in the settings files that were read so far. A fallback can name a model of
/// an earlier file. `path` is the settings file that was read last.
///
/// # Errors
/// Returns an error that names `path` and the problem.
pub fn check_chains(models: &BTreeMap<String, NamedModel>, path: &Path) -> Result<()> {
    for name in models.keys() {
        check_fallbacks(models, name)
            .map_err(|why| anyhow!("{}: models.{name}.{why}", path.display()))?;
    }
    Ok(())
}

/// Returns the provider that a named model's entry selects, by the provider's name or by an address. Returns `Ok(None)`
/// in two cases: the entry selects a script, or the entry has neither a provider nor an address, so that the model uses
/// the provider of the crew.
///
/// # Errors
/// Fails if the provider is unknown.
pub fn provider(model: &NamedModel) -> Result<Option<&'static ProviderSpec>, String> {
    match model.provider.as_deref() {
        Some(name) if name.len() > SCRIPT.len() && name.starts_with(SCRIPT) => Ok(None),
        Some(name) => match PROVIDERS.iter().find(|spec| spec.name == name) {
            Some(spec) => Ok(Some(spec)),
            None => Err(format!(
                "provider is '{}': use {} or script:FILE",
                one_line(&clip(name, 80)),
                names(PROVIDERS.iter().copied())
            )),
        },
        None => Ok(model.base_url.as_deref().map(of_address)),
    }
}

fn check_fields(model: &NamedModel) -> Result<(), String> {
    let spec = provider(model)?;
    for (field, text) in [
        ("base_url", &model.base_url),
        ("model", &model.model),
        ("key_var", &model.key_var),
    ] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(format!("{field} is empty: remove it or give a value"));
        }
    }
    if let Some(variable) = &model.key_var
        && secret_env::reason(variable, "value") != Some(WithheldReason::Name)
    {
        // Variables are withheld from agents' commands by what their names say.
        return Err(format!(
            "key_var is '{}': choose a variable whose name says that it is a key, such as MY_API_KEY, so that commands of agents do not get it",
            one_line(&clip(variable, 80))
        ));
    }
    let tokens = 100_000_000;
    values::check_range(&model.window, WINDOW_MIN, tokens).map_err(|why| format!("window{why}"))?;
    values::check_range(&model.max_tokens, 1, 100_000_000)
        .map_err(|why| format!("max_tokens{why}"))?;
    values::check_range(&model.thinking_budget, 1024, 1_000_000)
        .map_err(|why| format!("thinking_budget{why}"))?;
    if let Some(prices) = model.prices {
        let one = BTreeMap::from([("prices".to_string(), prices)]);
        values::check_prices(&one).map_err(|why| why.trim_start_matches('.').to_string())?;
    }
    match spec {
        Some(spec) => check_options(spec, model),
        None if model.options.is_empty() => Ok(()),
        None => Err("options need a provider: add provider = \"…\"".into()),
    }
}

fn check_options(spec: &ProviderSpec, model: &NamedModel) -> Result<(), String> {
    let known: Vec<&str> = spec.options.iter().map(|option| option.name).collect();
    if let Some(key) = model.options.keys().find(|k| !known.contains(&k.as_str())) {
        let key = one_line(&clip(key, 80));
        return Err(match closest_match(&key, &known) {
            Some(nearest) => format!("options.{key} is unknown: did you mean '{nearest}'?"),
            None => format!(
                "options.{key} is unknown: {} has {}",
                spec.name,
                known.join(", ")
            ),
        });
    }
    spec.check_options(&model.options)
        .map_err(|why| format!("options: {why}"))
}

/// Checks that the chain of fallbacks that begins at `name` names existing models and ends.
fn check_fallbacks(models: &BTreeMap<String, NamedModel>, name: &str) -> Result<(), String> {
    let mut seen = vec![name];
    let mut current = &models[name];
    while let Some(next) = &current.fallback {
        let Some(found) = models.get(next) else {
            let known: Vec<&str> = models.keys().map(String::as_str).collect();
            let next = one_line(&clip(next, NAME_MAX));
            return Err(format!(
                "fallback is '{next}', which is no entry of models: use one of {}",
                known.join(", ")
            ));
        };
        if seen.contains(&next.as_str()) {
            return Err(format!(
                "fallback leads back to '{next}': end the chain with a model without fallback"
            ));
        }
        seen.push(next);
        current = found;
    }
    Ok(())
}
