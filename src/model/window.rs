//! How many tokens a model can hold: as its server lists it, else as its family is known for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::tokens_of;

/// Fewest tokens that a window can have; smaller figures are mistakes of a server (llama.cpp lists 0 before a model is
/// loaded).
const WINDOW_LEAST: u64 = 256;
/// Most models that are remembered, as many as a list may have.
const MODELS_MAX: usize = 500;

/// A model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// In tokens.
    pub tokens: u64,
    /// Whether that is assumed, and was neither set nor told by the server.
    pub is_assumed: bool,
}

impl Window {
    /// A window that was set or told by the server.
    pub fn known(tokens: u64) -> Window {
        Window {
            tokens,
            is_assumed: false,
        }
    }
}

/// The fields in which servers tell the window that they run a model with.
const SERVED: [&str; 7] = [
    // LM Studio, of a model that is loaded.
    "loaded_context_length",
    // OpenRouter, Together, Ollama's own list.
    "context_length",
    // vLLM, SGLang.
    "max_model_len",
    // Groq.
    "context_window",
    // Mistral, LM Studio.
    "max_context_length",
    // Anthropic.
    "max_input_tokens",
    // llama.cpp, in `meta`.
    "n_ctx",
];
/// The field in which llama.cpp tells, in `meta`, the window that a model was trained with; it may run with less.
const TRAINED: &str = "n_ctx_train";

/// The window in an entry of a server's list of models.
fn listed(entry: &Value) -> Option<Window> {
    let tokens = |name: &str| {
        let value = entry.get(name).or_else(|| entry.get("meta")?.get(name));
        tokens_of(value).filter(|tokens| *tokens >= WINDOW_LEAST)
    };
    match SERVED.iter().find_map(|name| tokens(name)) {
        Some(served) => Some(Window::known(served)),
        None => tokens(TRAINED).map(|tokens| Window {
            tokens,
            is_assumed: true,
        }),
    }
}

/// The windows that a server has told, by model. Shared by all clones: whatever asks for the list, all learn from it.
#[derive(Debug, Clone, Default)]
pub struct ListedWindows(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    by_name: BTreeMap<String, Window>,
    /// That of the only model in the list, which the server may list under another name: the path of its file.
    only: Option<Window>,
}

impl ListedWindows {
    /// Takes in a list: names and their entries.
    pub fn learn<'a>(&self, entries: impl Iterator<Item = (String, &'a Value)>) {
        let all: Vec<_> = entries.take(MODELS_MAX).collect();
        let only = match &all[..] {
            [(_, entry)] => listed(entry),
            _ => None,
        };
        let told = all.into_iter();
        let by_name = told.filter_map(|(name, entry)| Some((name, listed(entry)?)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Told {
            by_name: by_name.collect(),
            only,
        };
    }

    /// The window of the model of that name. Ollama adds `:latest` to a name without a tag.
    pub fn get(&self, name: &str) -> Option<Window> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let by_name = |name: &str| told.by_name.get(name).copied();
        by_name(name)
            .or_else(|| by_name(&format!("{name}:latest")))
            .or(told.only)
    }
}

/// Windows of well-known families, by how the last part of the name begins: the longest that fits counts. Figures of the
/// vendors' model pages as of 2026-11-22 (docs.anthropic.com/en/docs/about-claude/models, platform.openai.com/docs/models,
/// ai.google.dev/gemini-api/docs/models, api-docs.deepseek.com, docs.mistral.ai, docs.x.ai, and the model cards of open
/// models on huggingface.co). Where variants of a family differ the smallest common one stands here: conversations are
/// shortened too early rather than too late.
const FAMILIES: &[(&str, u64)] = &[
    ("claude-", 200_000),
    ("codestral", 32_768),
    ("deepseek-", 128_000),
    ("devstral", 128_000),
    ("gemini-", 1_048_576),
    ("gemma-3", 128_000),
    ("gemma3", 128_000),
    ("glm-4", 128_000),
    ("glm-4.6", 200_000),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    ("grok-code-fast", 256_000),
    ("kimi-k2", 131_072),
    ("llama-3", 8_192),
    ("llama-3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama-3.3", 131_072),
    ("llama3", 8_192),
    ("llama3.1", 131_072),
    ("llama3.2", 131_072),
    ("llama3.3", 131_072),
    ("minimax-m2", 204_800),
    ("mistral-large", 128_000),
    ("mistral-medium", 128_000),
    ("mistral-small", 32_768),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("qwen2.5", 32_768),
    ("qwen3", 32_768),
    ("qwen3-coder", 262_144),
];

/// The window that a model is assumed to have, by its name: `anthropic/claude-sonnet-4` is of the family `claude-`.
/// `None`: the name says nothing.
pub fn assumed(name: &str) -> Option<Window> {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit('/').next().unwrap_or_default();
    let fitting = FAMILIES
        .iter()
        .filter(|(family, _)| last.starts_with(family));
    let (_, tokens) = fitting.max_by_key(|(family, _)| family.len())?;
    Some(Window {
        tokens: *tokens,
        is_assumed: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn each_servers_own_field_tells_the_window() {
        let known = |tokens| Some(Window::known(tokens));
        let trained = Window {
            tokens: 32_768,
            is_assumed: true,
        };
        for (entry, window) in [
            (json!({"id": "m", "context_length": 65_536}), known(65_536)),
            (json!({"id": "m", "max_model_len": 40_960}), known(40_960)),
            (
                json!({"id": "m", "context_window": 131_072}),
                known(131_072),
            ),
            (
                json!({"id": "m", "max_context_length": 32_768}),
                known(32_768),
            ),
            (
                json!({"id": "m", "max_input_tokens": 200_000}),
                known(200_000),
            ),
            (
                json!({"id": "m", "max_context_length": 131_072, "loaded_context_length": 8_192}),
                known(8_192),
            ),
            (
                json!({"id": "m", "meta": {"n_ctx": 16_384, "n_ctx_train": 32_768}}),
                known(16_384),
            ),
            (
                json!({"id": "m", "meta": {"n_ctx": 0, "n_ctx_train": 32_768}}),
                Some(trained),
            ),
            (json!({"id": "m", "meta": null}), None),
            (json!({"id": "m", "context_length": -1}), None),
            (json!({"id": "m", "context_length": "many"}), None),
        ] {
            assert_eq!(listed(&entry), window, "{entry}");
        }
    }

    #[test]
    fn a_new_list_replaces_the_old_one_for_all_clones() {
        let windows = ListedWindows::default();
        let clone = windows.clone();
        let entry = json!({"context_length": 4096});
        windows.learn([("small:latest".to_string(), &entry)].into_iter());
        for name in ["small", "small:latest", "an alias of the only one"] {
            assert_eq!(clone.get(name), Some(Window::known(4096)), "{name}");
        }
        let both = [
            ("small:latest".to_string(), &entry),
            ("large".to_string(), &entry),
        ];
        windows.learn(both.into_iter());
        assert_eq!(clone.get("large"), Some(Window::known(4096)));
        assert_eq!(clone.get("another"), None);
        windows.learn(std::iter::empty());
        assert_eq!(clone.get("small"), None);
    }

    #[test]
    fn the_longest_family_that_fits_counts() {
        let tokens = |name| assumed(name).map(|window| window.tokens);
        for (name, window) in [
            ("claude-opus-4-1", Some(200_000)),
            ("anthropic/claude-sonnet-4", Some(200_000)),
            ("gpt-4", Some(8_192)),
            ("gpt-4-0613", Some(8_192)),
            ("gpt-4o-mini", Some(128_000)),
            ("gpt-4.1-nano", Some(1_047_576)),
            ("models/gemini-2.5-pro", Some(1_048_576)),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", Some(262_144)),
            ("llama3.2:3b", Some(131_072)),
            ("my-own-model", None),
            ("", None),
        ] {
            assert_eq!(tokens(name), window, "{name}");
        }
        assert!(FAMILIES.iter().all(|(_, tokens)| *tokens >= WINDOW_LEAST));
    }
}
