//! Functions that search the table of all built-in tools.

use std::time::Duration;

pub use super::TABLE;
use super::nearest::nearest;
use super::{Caller, Tool};
use crate::domain::mcp::TOOL_PREFIX;

pub const SUBMIT_PLAN: &str = super::plan_approval::TOOL.name;

pub fn find(name: &str) -> Option<&'static Tool> {
    TABLE.iter().copied().find(|t| t.name == name)
}

/// Returns the tools that `caller` may use, in the order of [`TABLE`].
pub fn for_caller(caller: Caller) -> impl Iterator<Item = &'static Tool> {
    TABLE.iter().copied().filter(move |t| t.is_for(caller))
}

/// Returns the description of `tool` for an agent. `given` are the tools that the agent has, and `timeout` is the
/// maximum run time of its commands.
pub fn text(tool: &Tool, given: &[&Tool], timeout: Duration) -> String {
    if tool.name == super::bash::TOOL.name {
        let background = super::background_run::TOOL.name;
        return super::bash::text(timeout, given.iter().any(|t| t.name == background));
    }
    tool.text.trim().into()
}

/// Checks the tool names that the user listed with `--tools` or in the setting `tools`, and returns them.
///
/// # Errors
/// Fails if the list is empty or contains an unknown name. For an unknown name, the error is that of [`unknown`].
pub fn narrow(names: &[String]) -> Result<Vec<String>, String> {
    let known: Vec<&str> = TABLE.iter().map(|t| t.name).collect();
    let names: Vec<String> = names
        .iter()
        .map(|n| n.trim().to_string())
        .filter(|n| !n.is_empty())
        .collect();
    match names.iter().find(|n| {
        // Names of servers' tools are accepted, because it is not known before a server runs which tools it has.
        !known.contains(&n.as_str()) && !n.starts_with(TOOL_PREFIX)
    }) {
        Some(bad) => Err(unknown(bad, &known)),
        None if names.is_empty() => Err(format!("Name at least one of {}", known.join(", "))),
        None => Ok(names),
    }
}

/// Returns the error for the unknown tool `name`. The error names the closest tool in `there`; if none is close, all of
/// them.
pub fn unknown(name: &str, there: &[&str]) -> String {
    let shown = crate::domain::text::one_line(&crate::domain::text::clip(name, 80));
    match nearest(name, there) {
        Some(known) => format!("Unknown tool: {shown}. Did you mean {known}?"),
        None => format!(
            "Unknown tool: {shown}. Available tools: {}",
            there.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tool_names_are_unique_and_schemas_are_objects() {
        let names: BTreeSet<&str> = TABLE.iter().map(|t| t.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for tool in TABLE {
            let schema = (tool.schema)();
            assert_eq!(schema["type"], "object", "{}: {schema}", tool.name);
            assert!(
                schema.get("$schema").is_none() && schema.get("title").is_none(),
                "{}",
                tool.name
            );
            assert!(!tool.text.trim().is_empty(), "{}", tool.name);
        }
    }

    #[test]
    fn roles_know_every_tool() {
        let names: Vec<&str> = TABLE.iter().map(|t| t.name).collect();
        assert!(names.into_iter().eq(crate::domain::role::own_tool_names()));
    }

    #[test]
    fn unknown_name_is_rejected_with_closest_match() {
        let error = narrow(&["bash".into(), "read_fiel".into()]).unwrap_err();
        assert_eq!(error, "Unknown tool: read_fiel. Did you mean read_file?");
        assert_eq!(narrow(&[" bash ".into()]).unwrap(), ["bash"]);
    }
}
