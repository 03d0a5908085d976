//! The context window of a model, from the server's list of models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::parse_tokens;

/// Minimum plausible context window, in tokens. Smaller values are ignored (llama.cpp lists 0 before a model is
/// loaded).
pub const WINDOW_MIN: u64 = 256;
/// Maximum number of models in a list whose context windows are stored. Further models are ignored.
const MODELS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    pub tokens: u64,
    /// Whether the size is an assumption, neither set by the user nor reported by the server.
    pub is_assumed: bool,
}

impl ContextWindow {
    /// Creates a context window that was set by the user or reported by the server.
    pub fn known(tokens: u64) -> ContextWindow {
        ContextWindow {
            tokens,
            is_assumed: false,
        }
    }
}

/// The fields in which servers report the context window with which a model runs. The first field with a plausible
/// value is used.
const SERVED_WINDOW_FIELDS: [&str; 7] = [
    // From LM Studio, for a loaded model.
    "loaded_context_length",
    // From OpenRouter, Together and Ollama.
    "context_length",
    // From vLLM and SGLang.
    "max_model_len",
    // From Groq.
    "context_window",
    // From Mistral and LM Studio.
    "max_context_length",
    // From Anthropic.
    "max_input_tokens",
    // From llama.cpp, in the object `meta`.
    "n_ctx",
];
/// The field in llama.cpp's object `meta` with the context window with which a model was trained. The server may run
/// the model with a smaller window.
const TRAINED_WINDOW_FIELD: &str = "n_ctx_train";

/// Reads the context window from one model's entry in a server's list of models. A window from [`TRAINED_WINDOW_FIELD`]
/// is marked as assumed. Returns `None` if the entry contains no window of at least [`WINDOW_MIN`] tokens.
fn read_window(entry: &Value) -> Option<ContextWindow> {
    let tokens = |name: &str| {
        let value = entry.get(name).or_else(|| entry.get("meta")?.get(name));
        parse_tokens(value).filter(|tokens| *tokens >= WINDOW_MIN)
    };
    match SERVED_WINDOW_FIELDS.iter().find_map(|name| tokens(name)) {
        Some(served) => Some(ContextWindow::known(served)),
        None => tokens(TRAINED_WINDOW_FIELD).map(|tokens| ContextWindow {
            tokens,
            is_assumed: true,
        }),
    }
}

/// The context windows from the server's last list of models. All clones share one table.
#[derive(Debug, Clone, Default)]
pub struct ListedWindows(Arc<Mutex<WindowTable>>);

#[derive(Debug, Default)]
struct WindowTable {
    by_name: BTreeMap<String, ContextWindow>,
    /// The context window of the only model in the list; `None` if the list does not report it or has another number of
    /// models. This window applies to any name, because a server with a single model may list it under another name
    /// than the configured one, such as the path of its file.
    only: Option<ContextWindow>,
}

impl ListedWindows {
    /// Replaces the table by the context windows in a new list of models. Each entry is a model's name and the server's
    /// description of the model.
    pub fn replace<'a>(&self, entries: impl Iterator<Item = (String, &'a Value)>) {
        let all: Vec<_> = entries.take(MODELS_MAX).collect();
        let only = match &all[..] {
            [(_, entry)] => read_window(entry),
            _ => None,
        };
        let entries = all.into_iter();
        let by_name = entries.filter_map(|(name, entry)| Some((name, read_window(entry)?)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = WindowTable {
            by_name: by_name.collect(),
            only,
        };
    }

    /// Returns the context window of the model `name` or, because Ollama adds the tag `latest` to names without a tag,
    /// of `NAME:latest`. If the list has neither but contains a single model, returns the window of that model.
    /// Otherwise returns `None`.
    pub fn get(&self, name: &str) -> Option<ContextWindow> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let by_name = |name: &str| table.by_name.get(name).copied();
        by_name(name)
            .or_else(|| by_name(&format!("{name}:latest")))
            .or(table.only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn window_is_read_from_each_servers_field() {
        let known = |tokens| Some(ContextWindow::known(tokens));
        let trained = ContextWindow {
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
            assert_eq!(read_window(&entry), window, "{entry}");
        }
    }

    #[test]
    fn new_list_replaces_the_old_one_for_all_clones() {
        let windows = ListedWindows::default();
        let clone = windows.clone();
        let entry = json!({"context_length": 4096});
        windows.replace([("small:latest".to_string(), &entry)].into_iter());
        for name in ["small", "small:latest", "an alias of the only one"] {
            assert_eq!(clone.get(name), Some(ContextWindow::known(4096)), "{name}");
        }
        let both = [
            ("small:latest".to_string(), &entry),
            ("large".to_string(), &entry),
        ];
        windows.replace(both.into_iter());
        assert_eq!(clone.get("large"), Some(ContextWindow::known(4096)));
        assert_eq!(clone.get("another"), None);
        windows.replace(std::iter::empty());
        assert_eq!(clone.get("small"), None);
    }
}
