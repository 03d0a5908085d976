//! Creates a [`Model`] from the settings of a provider.

use std::sync::Arc;

use super::anthropic::{Anthropic, AnthropicConfig};
use super::openai::{OpenAi, OpenAiConfig};
use super::script::{Script, ScriptError};
use super::{Model, ModelError};

/// The settings of a provider.
#[derive(Debug, Clone)]
pub enum ProviderConfig {
    /// The Anthropic Messages API.
    Anthropic(AnthropicConfig),
    /// The `OpenAI` Chat Completions API.
    OpenAi(OpenAiConfig),
}

/// Creates the model of a provider. Sends no request yet.
///
/// # Errors
/// Fails if the address or a header value is invalid.
pub fn connect(config: &ProviderConfig) -> Result<Arc<dyn Model>, ModelError> {
    Ok(match config {
        ProviderConfig::Anthropic(config) => Arc::new(Anthropic::new(config)?),
        ProviderConfig::OpenAi(config) => Arc::new(OpenAi::new(config)?),
    })
}

/// Creates a scripted model that runs `speed` times as fast as the script says.
///
/// # Errors
/// Fails if the script is invalid; the error says where and why.
pub fn script(text: &str, speed: f64) -> Result<Script, ScriptError> {
    Script::parse(text, speed)
}
