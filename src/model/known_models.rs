//! A built-in table of facts about well-known models: context windows, prices and abilities, from the dated file
//! `assets/models.toml`. A fact is used only if neither the settings nor the model server state it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::ContextWindow;
use crate::domain::usage::Price;

const FILE: &str = include_str!("../../assets/models.toml");

/// The table of models, parsed from [`FILE`] at its first use. The unit tests check that the file is valid, so that the
/// table is never empty.
static TABLE: LazyLock<ModelTable> = LazyLock::new(|| ModelTable::parse(FILE).unwrap_or_default());

/// What the built-in table says about one model.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct KnownModel {
    /// The context window, in tokens.
    pub window: u64,
    /// Maximum number of tokens in one answer; `None` if the table states no limit below `window`.
    pub output: Option<u64>,
    /// Whether the model accepts images.
    pub images: bool,
    /// Whether the model decides by itself how much it thinks. Its server refuses a limit in tokens.
    #[serde(default)]
    pub adaptive: bool,
    /// The price on the vendor's own server; `None` if it is not known for certain.
    pub price: Option<Price>,
}

/// One model in the file `assets/models.toml`.
#[derive(Debug, Deserialize)]
struct ModelRow {
    id: String,
    #[serde(flatten)]
    model: KnownModel,
}

/// The content of the file `assets/models.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    date: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the file"))]
    sources: Vec<String>,
    models: Vec<ModelRow>,
    families: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct ModelTable {
    date: String,
    /// The models, by the result of [`key`] for their id.
    models: BTreeMap<String, KnownModel>,
    /// The context windows of model families, in tokens. Key: the prefix of the models' names.
    families: BTreeMap<String, u64>,
}

impl ModelTable {
    fn parse(text: &str) -> Result<ModelTable, toml::de::Error> {
        let file: ModelFile = toml::from_str(text)?;
        let rows = file.models.into_iter();
        Ok(ModelTable {
            date: file.date,
            models: rows.map(|row| (key(&row.id), row.model)).collect(),
            families: file.families,
        })
    }

    fn find(&self, name: &str) -> Option<&KnownModel> {
        let key = key(name);
        let exact = self.models.get(&key);
        exact.or_else(|| self.models.get(without_version(&key)?))
    }

    fn family_window(&self, name: &str) -> Option<u64> {
        let name = last_part(name).to_ascii_lowercase();
        let matches = self.families.iter().filter(|(f, _)| name.starts_with(*f));
        let (_, tokens) = matches.max_by_key(|(family, _)| family.len())?;
        Some(*tokens)
    }
}

/// Returns the entry of the built-in table for the model `name`; `None` if there is none. Ignores case, the part of
/// `name` up to the last `/`, and the difference between `.` and `-`. If the table does not contain the exact name,
/// also ignores a date or `-latest` at its end. Never returns a model that only has a similar name, because its price
/// may be another one.
pub fn find(name: &str) -> Option<&'static KnownModel> {
    TABLE.find(name)
}

/// Returns the context window, marked as assumed, of the model `name`, or of the family to which it belongs. For
/// example, `anthropic/claude-next` belongs to the family `claude-`. If several families match, the one with the
/// longest prefix is used. Returns `None` if the built-in table contains neither the model nor its family.
pub fn assumed_window(name: &str) -> Option<ContextWindow> {
    let own = TABLE.find(name).map(|model| model.window);
    let tokens = own.or_else(|| TABLE.family_window(name))?;
    Some(ContextWindow {
        tokens,
        is_assumed: true,
    })
}

/// Returns the maximum number of tokens in one answer of the model `name`; `None` if the built-in table contains no
/// such limit.
pub fn output_limit(name: &str) -> Option<u32> {
    let output = TABLE.find(name)?.output?;
    u32::try_from(output).ok()
}

/// Returns the date of the built-in table of models, such as `2026-10-10`.
pub fn date() -> &'static str {
    &TABLE.date
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

fn key(name: &str) -> String {
    last_part(name).to_ascii_lowercase().replace('.', "-")
}

/// Returns `key` without `-latest` or a date (`-20250929`, `-2025-08-07`, `@20250929`) at its end. Returns `None` if
/// the key has no such end.
fn without_version(key: &str) -> Option<&str> {
    if let Some(base) = key.strip_suffix("-latest") {
        return Some(base);
    }
    let digits = key.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    // The first `-` after the name belongs to the date, unless the date follows an `@`.
    let (base, date) = match digits.strip_suffix('@') {
        Some(base) => (base, &key[digits.len()..]),
        None => {
            let at = [8, 10].into_iter().find_map(|length| {
                let at = key.len().checked_sub(length + 1)?;
                let rest = key.get(at..)?;
                rest.strip_prefix('-').filter(|rest| is_date(rest))?;
                Some(at)
            })?;
            (&key[..at], &key[at + 1..])
        }
    };
    is_date(date).then_some(base)
}

/// Returns whether a text has the form `20250929` or `2025-08-07`, in this century.
fn is_date(text: &str) -> bool {
    let form = match text.len() {
        8 => "dddddddd",
        10 => "dddd-dd-dd",
        _ => return false,
    };
    let fits = |(c, f): (u8, u8)| {
        if f == b'd' {
            c.is_ascii_digit()
        } else {
            c == f
        }
    };
    text.starts_with("20") && text.bytes().zip(form.bytes()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::window::WINDOW_MIN;
    use pretty_assertions::assert_eq;

    /// Maximum size of the file, in bytes. It is parsed as a whole.
    const FILE_MAX: usize = 64 * 1024;

    #[test]
    fn file_is_dated_sorted_and_has_no_duplicates() {
        assert!(FILE.len() <= FILE_MAX, "{} bytes", FILE.len());
        let file: ModelFile = toml::from_str(FILE).unwrap();
        assert!(
            file.date.contains('-') && is_date(&file.date),
            "{}",
            file.date
        );
        assert!(file.sources.len() > 1);
        let ids: Vec<&str> = file.models.iter().map(|row| row.id.as_str()).collect();
        assert!(ids.len() >= 60, "{}", ids.len());
        for pair in ids.windows(2) {
            assert!(pair[0] < pair[1], "{} is before {}", pair[0], pair[1]);
        }
        // Two ids with the same key would be one model.
        let table = ModelTable::parse(FILE).unwrap();
        assert_eq!(table.models.len(), ids.len());
        for id in ids {
            assert!(!id.ends_with("-latest"), "{id}: leave out -latest");
            assert_eq!(id, id.to_lowercase());
            assert!(!id.contains('/'), "{id}");
        }
    }

    #[test]
    fn values_of_the_file_are_plausible() {
        let table = ModelTable::parse(FILE).unwrap();
        let windows = WINDOW_MIN..=10_000_000;
        assert!(table.families.values().all(|w| windows.contains(w)));
        assert!(table.families.keys().all(|f| *f == f.to_lowercase()));
        for (id, model) in &table.models {
            assert!(windows.contains(&model.window), "{id}");
            let output = model.output.unwrap_or(WINDOW_MIN);
            assert!((WINDOW_MIN..model.window).contains(&output), "{id}");
            let Some(price) = model.price else { continue };
            assert!(price.input > 0.0 && price.output <= 1000.0, "{id}");
            assert!(price.output >= price.input, "{id}");
            let read = price.cache_read.unwrap_or(price.input);
            assert!(read > 0.0 && read <= price.input, "{id}");
            let write = price.cache_write.unwrap_or(price.input);
            assert!(
                write >= price.input * 0.5 && write <= price.input * 2.0,
                "{id}"
            );
        }
    }

    #[test]
    fn abilities_that_requests_depend_on_are_known() {
        let is_adaptive = |name| find(name).is_some_and(|model| model.adaptive);
        assert!(is_adaptive("claude-opus-4-7") && is_adaptive("anthropic/claude-sonnet-5"));
        assert!(!is_adaptive("claude-opus-4-6") && !is_adaptive("claude-next"));
        assert_eq!(output_limit("claude-3-haiku-20240307"), Some(4_096));
        assert_eq!(output_limit("some-model"), None);
    }

    #[test]
    fn names_lead_to_their_row_and_to_no_other_one() {
        let input = |name| find(name)?.price.map(|price| price.input);
        for (name, price) in [
            ("claude-opus-4-5", Some(5.0)),
            ("claude-opus-4-5-20251101", Some(5.0)),
            ("claude-opus-4-5@20251101", Some(5.0)),
            ("anthropic/Claude-Opus-4.5", Some(5.0)),
            ("claude-opus-4-1", Some(15.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-3-7-sonnet-latest", Some(3.0)),
            ("gpt-5-2025-08-07", Some(1.25)),
            ("gpt-4o-2024-05-13", Some(5.0)),
            ("gpt-4o-2024-08-06", Some(2.5)),
            ("codestral-latest", Some(0.3)),
            ("gpt-5.9", None),
            ("gpt-5-2025-8-7", None),
            ("claude-opus-4-5-1m", None),
            ("claude-opus-4-5-99999999", None),
            ("deepseek-v4-pro:free", None),
            ("-20250929", None),
            ("@20250929", None),
            ("ü-20250929", None),
            ("", None),
        ] {
            assert_eq!(input(name), price, "{name}");
        }
    }

    #[test]
    fn longest_matching_family_gives_the_window_of_unknown_models() {
        let tokens = |name| assumed_window(name).map(|window| window.tokens);
        for (name, window) in [
            ("claude-opus-4-1", Some(200_000)),
            ("anthropic/claude-sonnet-4", Some(200_000)),
            ("claude-opus-4-8", Some(1_000_000)),
            ("claude-next", Some(200_000)),
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
    }
}
