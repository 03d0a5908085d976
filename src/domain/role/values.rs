//! Reads values of a role's front matter in all forms in which users write them.

use serde_json::Value;

use super::{LIST_MAX, RoleServer};
use crate::domain::mcp::is_server_name;

/// Returns a string, number or boolean as text; `None` for `null`, lists and maps.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the entries of `value` if it is a list. If it is a string, number or boolean, returns the parts into which
/// `split` divides it. Returns `None` for `null`, maps, and lists that contain a list, a map or `null`.
pub(super) fn list(value: &Value, split: impl Fn(&str) -> Vec<String>) -> Option<Vec<String>> {
    match value {
        Value::Array(entries) => entries.iter().map(scalar).collect(),
        Value::Object(_) | Value::Null => None,
        text => scalar(text).map(|text| split(&text)),
    }
}

/// Splits a text with names of tools at commas and whitespace outside of parentheses. Entries of the result can be
/// empty.
pub(super) fn split_tools(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let mut entries = vec![String::new()];
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            entries.push(String::new());
        } else if let Some(last) = entries.last_mut() {
            last.push(c);
        }
    }
    entries
}

/// Returns the servers in `value`, the value of the field `mcpServers`, and a notice about each problem. If `value` is
/// neither a list, a map nor a string, returns no servers. Leaves out servers with an invalid name, and those after the
/// first [`LIST_MAX`]. An inline server whose configuration is not a map gets a notice, but is not left out.
pub(super) fn servers(value: Value) -> (Vec<RoleServer>, Vec<String>) {
    let named = |name: &str| RoleServer::Named(name.trim().to_string());
    let entries: Vec<Value> = match value {
        Value::Array(entries) => entries,
        Value::Object(servers) => vec![Value::Object(servers)],
        Value::String(names) => names.split(',').map(Value::from).collect(),
        _ => {
            // An author who writes the field wants to limit the servers, so an invalid list allows none.
            let why = "mcpServers must be a list of names: the role gets no server";
            return (Vec::new(), vec![why.into()]);
        }
    };
    let mut servers = Vec::new();
    for entry in entries {
        match entry {
            Value::String(name) => servers.push(named(&name)),
            Value::Object(map) => {
                servers.extend(map.into_iter().map(|(name, config)| match config {
                    Value::Null => named(&name),
                    config => RoleServer::Inline {
                        name: name.trim().to_string(),
                        config,
                    },
                }));
            }
            other => servers.push(named(&scalar(&other).unwrap_or_default())),
        }
    }
    let mut notices = Vec::new();
    if servers.len() > LIST_MAX {
        servers.truncate(LIST_MAX);
        notices.push(format!("only the first {LIST_MAX} servers are used"));
    }
    servers.retain(|server| {
        let is_valid = is_server_name(server.name());
        if !is_valid {
            notices.push(format!("{:?} is not a valid server name", server.name()));
        }
        is_valid
    });
    for server in &servers {
        match server {
            RoleServer::Inline { name, config } if !config.is_object() => {
                notices.push(format!(
                    "the server {name} must be a map with command or url"
                ));
            }
            RoleServer::Inline { .. } | RoleServer::Named(_) => {}
        }
    }
    (servers, notices)
}
