//! Language models behind one trait, [`Model`]: a request goes in, a stream of deltas comes out.
//!
//! The last delta is the complete reply. A provider is a folder with its wire format and its declaration. To add a
//! provider, add its folder, its `mod` line and its line in [`PROVIDERS`].

mod anthropic;
mod azure;
mod call;
mod call_ids;
pub mod effort;
mod fields;
pub mod http;
pub mod images;
pub mod known_models;
mod openai;
pub mod provider;
pub mod providers;
pub mod rate_limiter;
mod redirect;
mod refusal;
mod responses;
pub mod retry;
pub mod script;
pub mod sse;
mod surrogates;
mod tool_schema;
mod vendors;
pub mod window;

pub use crate::http::{is_local, origin};
pub use call::{
    CallWait, Delta, ErrorKind, ImageInput, Model, ModelError, ModelRequest, Reply, StopReason,
    ToolSpec,
};
pub(crate) use fields::{clip_label, parse_input, parse_tokens};
pub use window::ContextWindow;

/// All providers, in order of precedence. If the environment contains the API keys of several providers, crewdeck uses
/// the first provider in this list whose [`provider::AutoSelect`] permits it.
pub static PROVIDERS: &[&provider::ProviderSpec] = &[
    &anthropic::SPEC,
    &responses::SPEC,
    &openai::SPEC,
    &vendors::OPENROUTER,
    &vendors::GROQ,
    &vendors::DEEPSEEK,
    &vendors::MISTRAL,
    &vendors::GEMINI,
    &azure::SPEC,
    &vendors::VLLM,
];

#[cfg(test)]
mod tests;
