//! Vendors whose servers offer Chat Completions: each is one row with its key variable and its address.
//!
//! Many users have the keys of these vendors in their environment for other programs, so a vendor is used only if an
//! option or a setting names it.

use std::sync::Arc;

use super::openai::{self, Deviation, Dialect, OpenAi};
use super::provider::{AutoSelect, ModelServerConfig, ProviderSpec, RefusalHints};
use super::{Model, ModelError};

/// The fields that the providers in this module share. Client and decoder are those of the provider `openai`. The
/// options and local servers of `openai` are left out. The providers are used only if an option or a setting names
/// them.
pub(super) const COMMON: ProviderSpec = ProviderSpec {
    auto_select: AutoSelect::Never,
    options: &[],
    local_servers: &[],
    has_thinking_budget: false,
    refusal_hints: |_, _| RefusalHints::default(),
    ..openai::SPEC
};

pub static OPENROUTER: ProviderSpec = ProviderSpec {
    name: "openrouter",
    key_var: "OPENROUTER_API_KEY",
    url_var: "OPENROUTER_BASE_URL",
    vendor_url: "https://openrouter.ai/api/v1",
    ..COMMON
};

pub static GROQ: ProviderSpec = ProviderSpec {
    name: "groq",
    key_var: "GROQ_API_KEY",
    url_var: "GROQ_BASE_URL",
    vendor_url: "https://api.groq.com/openai/v1",
    ..COMMON
};

pub static DEEPSEEK: ProviderSpec = ProviderSpec {
    name: "deepseek",
    connect: |config| connect(config, Deviation::DeepSeek),
    key_var: "DEEPSEEK_API_KEY",
    url_var: "DEEPSEEK_BASE_URL",
    vendor_url: "https://api.deepseek.com/v1",
    ..COMMON
};

pub static MISTRAL: ProviderSpec = ProviderSpec {
    name: "mistral",
    connect: |config| connect(config, Deviation::Mistral),
    key_var: "MISTRAL_API_KEY",
    url_var: "MISTRAL_BASE_URL",
    vendor_url: "https://api.mistral.ai/v1",
    ..COMMON
};

/// Google's server for Gemini, at its address for Chat Completions.
pub static GEMINI: ProviderSpec = ProviderSpec {
    name: "gemini",
    connect: |config| connect(config, Deviation::Gemini),
    key_var: "GEMINI_API_KEY",
    url_var: "GEMINI_BASE_URL",
    vendor_url: "https://generativelanguage.googleapis.com/v1beta/openai",
    ..COMMON
};

/// A vLLM server, by default on this machine, where it needs no key.
pub static VLLM: ProviderSpec = ProviderSpec {
    name: "vllm",
    key_var: "VLLM_API_KEY",
    url_var: "VLLM_BASE_URL",
    vendor_url: "http://127.0.0.1:8000/v1",
    ..COMMON
};

fn connect(config: &ModelServerConfig, deviation: Deviation) -> Result<Arc<dyn Model>, ModelError> {
    let key = openai::bearer(config);
    Ok(Arc::new(OpenAi::with(config, key, Dialect::of(deviation))?))
}
