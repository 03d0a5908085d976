//! The Chat Completions API of Mistral: <https://docs.mistral.ai/api>.

use super::openai;
use super::provider::{ProviderSpec, RefusalHints};

/// The provider `mistral`. It differs from `openai` in key and address only.
pub static SPEC: ProviderSpec = ProviderSpec {
    name: "mistral",
    api: "Chat Completions",
    key_var: "MISTRAL_API_KEY",
    url_var: "MISTRAL_BASE_URL",
    vendor_url: "https://api.mistral.ai/v1",
    options: &[],
    local_servers: &[],
    windows: &[("mistral-large-latest", 128_000)],
    refusal_hints: |_, _| RefusalHints::default(),
    decoder: openai::SPEC.decoder,
    connect: openai::SPEC.connect,
};
