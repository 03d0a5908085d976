//! Types of settings that are more than a word or a number, with the functions that read and check them. The error of a
//! function that checks a setting continues the setting's name, such as ` is 0: give a number from 1 to 64`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::domain::budget::{UsageBudget, UsageBudgets};
use crate::domain::call_pattern::CallPattern;
use crate::domain::mcp::TOOL_PREFIX;
use crate::domain::path::without_dots;
use crate::domain::sandbox::{Network, NetworkRules};
use crate::domain::text::{clip, one_line};
use crate::domain::usage::Price;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Commands run in the sandbox, with all of its protection that this system supports.
    #[default]
    On,
    /// Like `On`, but without protection of the git history.
    Files,
    Off,
}

/// Options of one model provider: each option's name and its value. The provider checks the values.
pub type ProviderOptions = BTreeMap<String, String>;

/// Deserializes the setting `network`: one word for all agents, or a table with a word for `lead`, `teammate` and
/// `subagent`.
pub fn network<'de, D: Deserializer<'de>>(from: D) -> Result<Option<NetworkRules>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "network is \"on\", \"off\" or \"ask\", or a table with lead, teammate and subagent"
    )]
    enum NetworkValue {
        All(Network),
        Each(NetworkRules),
    }
    Ok(Some(match NetworkValue::deserialize(from)? {
        NetworkValue::All(network) => NetworkRules::all(network),
        NetworkValue::Each(rules) => rules,
    }))
}

/// Deserializes the setting `keys`: one key or a list of keys per action. An action in a context can be written as a
/// dotted name (`"board.merge"`) or as an entry of the context's table (`[keys.board]`).
pub fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "keys must be a string such as \"ctrl+m\", or a list of such strings"
    )]
    enum Keys {
        One(String),
        Some(Vec<String>),
        In(BTreeMap<String, Keys>),
    }
    fn flatten(name: String, keys: Keys, out: &mut BTreeMap<String, Vec<String>>) {
        match keys {
            Keys::One(key) => drop(out.insert(name, vec![key])),
            Keys::Some(keys) => drop(out.insert(name, keys)),
            Keys::In(table) => {
                for (action, keys) in table {
                    flatten(format!("{name}.{action}"), keys, out);
                }
            }
        }
    }
    let mut out = BTreeMap::new();
    for (name, keys) in BTreeMap::<String, Keys>::deserialize(from)? {
        flatten(name, keys, &mut out);
    }
    Ok(out)
}

/// Checks the entries of the setting `allow`: each entry that names tools of MCP servers must be a valid
/// [`CallPattern`]. Entries with the first words of commands are not checked.
#[allow(clippy::ref_option)] // the type of the setting
pub fn check_allow(entries: &Option<Vec<String>>) -> Result<(), String> {
    for entry in entries.iter().flatten() {
        if entry.trim_start().starts_with(TOOL_PREFIX) {
            CallPattern::parse(entry).map_err(|why| format!(" names '{entry}': {why}"))?;
        }
    }
    Ok(())
}

/// Checks that each folder is an absolute path or begins with `~/`, and that it is not the root of the file system.
/// Detects other spellings of the root, such as `//` and `/tmp/..`. Does not resolve symbolic links and `~/`.
#[allow(clippy::ref_option)] // the type of the setting
pub fn check_folders(folders: &Option<Vec<String>>) -> Result<(), String> {
    for folder in folders.iter().flatten() {
        let is_root = without_dots(Path::new(folder)) == Path::new("/");
        if is_root || !(folder.starts_with('/') || folder.starts_with("~/")) {
            return Err(format!(
                " names '{folder}': give absolute paths, such as \"/srv/data\" or \"~/.cache\""
            ));
        }
    }
    Ok(())
}

/// Checks that a number is from `low` to `high`, inclusive, or not set.
#[allow(clippy::ref_option)] // the type of the setting
pub fn check_range<T: Copy + PartialOrd + Display>(
    value: &Option<T>,
    low: T,
    high: T,
) -> Result<(), String> {
    match value {
        Some(n) if *n < low || *n > high => {
            Err(format!(" is {n}: give a number from {low} to {high}"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks that each price is a finite number of 0 or more. A negative price would lower the costs that count towards a
/// budget.
pub fn check_prices(prices: &BTreeMap<String, Price>) -> Result<(), String> {
    for (model, price) in prices {
        let parts = [
            ("input", Some(price.input)),
            ("output", Some(price.output)),
            ("cache_read", price.cache_read),
            ("cache_write", price.cache_write),
        ];
        for (part, dollars) in parts {
            if let Some(dollars) = dollars.filter(|d| !(d.is_finite() && *d >= 0.0)) {
                let model = one_line(&clip(model, 80));
                return Err(format!(
                    ".{model}.{part} is {dollars}: give the US dollars per million tokens, 0 or more"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that each budget that is set is a finite number above 0.
pub fn check_budgets(budgets: &UsageBudgets) -> Result<(), String> {
    for budget in UsageBudget::ALL {
        if let Some(limit) = budgets
            .limit(budget)
            .filter(|c| !(c.is_finite() && *c > 0.0))
        {
            let name = budget.setting().trim_start_matches("budget");
            return Err(format!(
                "{name} is {limit}: give a number above 0, or leave it out"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_root_is_rejected() {
        let check = |folder: &str| check_folders(&Some(vec![folder.to_string()]));
        for folder in ["/", "//", "/.", "/tmp/..", "/../", "srv", ""] {
            assert!(check(folder).is_err(), "{folder}");
        }
        for folder in ["/srv/data", "~/.cache", "/tmp/../srv"] {
            assert_eq!(check(folder), Ok(()), "{folder}");
        }
    }
}
