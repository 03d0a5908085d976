//! Azure OpenAI with the API version `v1`, which is Chat Completions under the address of the customer's resource:
//! <https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle>.

use std::sync::Arc;

use secrecy::ExposeSecret;

use super::openai::{Dialect, MAX_COMPLETION_TOKENS, OpenAi, bearer};
use super::provider::{ModelServerConfig, ProviderOption, ProviderSpec};
use super::{ErrorKind, Model, ModelError, vendors};
use crate::domain::text::{clip, one_line};

/// The provider `azure`. Its address is the address of the resource, or the address of the API, which ends with
/// `/openai/v1`.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "azure",
    key_var: "AZURE_OPENAI_API_KEY",
    url_var: "AZURE_OPENAI_ENDPOINT",
    vendor_url: "",
    vendor_hosts: &[
        ".openai.azure.com",
        ".services.ai.azure.com",
        ".cognitiveservices.azure.com",
    ],
    // A key goes into `api-key`, a token of Microsoft Entra ID is a bearer token.
    options: &[ProviderOption {
        name: "key_header",
        values: &["api-key", "bearer"],
    }],
    connect,
    ..vendors::COMMON
};

fn connect(config: &ModelServerConfig) -> Result<Arc<dyn Model>, ModelError> {
    check_url(&config.base_url)?;
    let key = match config.option("key_header") {
        Some("bearer") => bearer(config),
        _ => config
            .key
            .as_ref()
            .map(|key| ("api-key", key.expose_secret().to_string())),
    };
    let config = ModelServerConfig {
        base_url: api_url(&config.base_url),
        ..config.clone()
    };
    // Azure offers OpenAI's models, and the newer ones accept only this field.
    let dialect = Dialect {
        max_tokens: MAX_COMPLETION_TOKENS,
        ..Dialect::STANDARD
    };
    Ok(Arc::new(OpenAi::with(&config, key, dialect)?))
}

/// Checks that `url` is not an address of the former API. Such an address contains `/openai/deployments` and the name
/// of a deployment.
///
/// # Errors
/// Says which address to use instead.
fn check_url(url: &str) -> Result<(), ModelError> {
    let Some((resource, _)) = url.split_once("/openai/deployments") else {
        return Ok(());
    };
    let url = one_line(&clip(url, 200));
    let resource = one_line(&clip(resource, 200));
    Err(ModelError::new(
        ErrorKind::BadRequest,
        format!("'{url}' is the address of a deployment, which the API version v1 does not have"),
        format!("Use the address {resource}, and the name of the deployment as the model."),
    ))
}

/// Returns the address of the API, which ends with `/v1`. `url` is that address, or the address of the resource with or
/// without `/openai` at its end.
fn api_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    match url.strip_suffix("/openai") {
        _ if url.ends_with("/v1") => url.into(),
        Some(resource) => format!("{resource}/openai/v1"),
        None => format!("{url}/openai/v1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_and_api_addresses_give_the_api_address() {
        for url in [
            "https://r.openai.azure.com",
            "https://r.openai.azure.com/",
            "https://r.openai.azure.com/openai",
            "https://r.openai.azure.com/openai/v1/",
        ] {
            assert_eq!(
                api_url(url),
                "https://r.openai.azure.com/openai/v1",
                "{url}"
            );
        }
    }

    #[test]
    fn address_of_a_deployment_is_explained() {
        let config = ModelServerConfig {
            base_url:
                "https://r.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1"
                    .into(),
            ..ModelServerConfig::new(&SPEC)
        };
        let error = config.connect().err().unwrap();
        assert!(
            error.message.contains("is the address of a deployment"),
            "{error}"
        );
        let hint = "Use the address https://r.openai.azure.com, and the name of the deployment as the model.";
        assert_eq!(error.hint, hint);
    }

    #[test]
    fn missing_address_is_explained() {
        let error = ModelServerConfig::new(&SPEC).connect().err().unwrap();
        assert!(error.message.contains("name of your resource"), "{error}");
        let hint = "Set it: --base-url https://RESOURCE.openai.azure.com, or export AZURE_OPENAI_ENDPOINT=https://RESOURCE.openai.azure.com.";
        assert_eq!(error.hint, hint);
    }
}
