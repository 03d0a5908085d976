//! Every provider in one place: its settings on one side, a [`Model`] on the other.

use std::sync::Arc;

use super::anthropic::{Anthropic, AnthropicConfig};
use super::openai::{OpenAi, OpenAiConfig};
use super::script::{Script, ScriptError};
use super::{Model, ModelError};

/// A server and how to speak to it.
#[derive(Debug, Clone)]
pub enum ProviderConfig {
    /// Anthropic Messages.
    Anthropic(AnthropicConfig),
    /// `OpenAI` Chat Completions.
    OpenAi(OpenAiConfig),
}

/// A model behind the wire that the settings name. Nothing is asked of the server yet.
///
/// # Errors
/// When the settings can not be used: the address, a header.
pub fn connect(config: &ProviderConfig) -> Result<Arc<dyn Model>, ModelError> {
    Ok(match config {
        ProviderConfig::Anthropic(config) => Arc::new(Anthropic::new(config)?),
        ProviderConfig::OpenAi(config) => Arc::new(OpenAi::new(config)?),
    })
}

/// A scripted model, `speed` times as fast as it is written.
///
/// # Errors
/// Where and why the script does not fit its format.
pub fn script(text: &str, speed: f64) -> Result<Script, ScriptError> {
    Script::parse(text, speed)
}
