//! Functions that search the table of all built-in tools.

use std::time::Duration;

pub use super::TABLE;
use super::nearest::nearest;
use super::{Caller, Tool};
use crate::domain::call_pattern::CallPattern;
use crate::domain::mcp::TOOL_PREFIX;
use crate::domain::text::{clip, one_line};

pub const SUBMIT_PLAN: &str = super::plan_approval::TOOL.name;

/// Returns the names of all tools, in the order of [`TABLE`].
pub fn names() -> Vec<&'static str> {
    TABLE.iter().map(|tool| tool.name).collect()
}

pub fn find(name: &str) -> Option<&'static Tool> {
    TABLE.iter().copied().find(|t| t.name == name)
}

/// Returns whether a successful call of the tool `name`, which must have [`Access::Crew`](super::Access::Crew), changes
/// the board, a request or the team, or sends a message. The other tools with this access change only the agent's own
/// notes and background jobs.
pub fn changes_crew(name: &str) -> bool {
    let own = [
        super::todo::TOOL.name,
        super::compact::TOOL.name,
        super::stop_background::TOOL.name,
    ];
    !own.contains(&name)
}

/// Returns the tools that `caller` may use, in the order of [`TABLE`].
pub fn for_caller(caller: Caller) -> impl Iterator<Item = &'static Tool> {
    TABLE.iter().copied().filter(move |t| t.is_for(caller))
}

/// Returns the description of `tool` for the agent `caller`. `given` are the tools that the agent has, and `timeout` is
/// the maximum run time of its commands.
pub fn text(tool: &Tool, caller: Caller, given: &[&Tool], timeout: Duration) -> String {
    if tool.name == super::read_inbox::TOOL.name && caller == Caller::ExternalTeammate {
        return super::read_inbox::external_text();
    }
    if tool.name == super::bash::TOOL.name {
        let background = super::background_run::TOOL.name;
        return super::bash::text(timeout, given.iter().any(|t| t.name == background));
    }
    tool.text.trim().into()
}

/// Checks the tool names that the user listed with `--tools` or in the setting `tools`, and returns them trimmed. Only
/// the form of the names of MCP tools is checked, because the tools of a server are not known before it runs.
///
/// # Errors
/// Fails if the list is empty, or if a name is unknown (see [`unknown`]). Also fails for the name of an MCP tool that
/// is not a valid pattern or that contains arguments.
pub fn narrow(names: &[String]) -> Result<Vec<String>, String> {
    let known = self::names();
    let names: Vec<String> = names
        .iter()
        .map(|n| n.trim().to_string())
        .filter(|n| !n.is_empty())
        .collect();
    // It is not known before a server runs which tools it has, so only the form of their names is checked.
    let (servers, own): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|n| n.starts_with(TOOL_PREFIX));
    for name in servers {
        let shown = one_line(&clip(name, 80));
        let pattern = CallPattern::parse(name).map_err(|why| format!("{shown}: {why}"))?;
        if pattern.has_arguments() {
            return Err(format!(
                "{shown}: arguments are not allowed in a list of tools: write only the tool name (the setting allow takes arguments)"
            ));
        }
    }
    match own.into_iter().find(|n| !known.contains(&n.as_str())) {
        Some(bad) => Err(unknown(bad, &known)),
        None if names.is_empty() => Err(format!(
            "the list of tools is empty: name at least one of {}",
            known.join(", ")
        )),
        None => Ok(names),
    }
}

/// Returns the error for the unknown tool `name`. The error names the tool in `there` that is closest to `name`. If
/// none is close, it names all tools in `there`.
pub fn unknown(name: &str, there: &[&str]) -> String {
    let shown = one_line(&clip(name, 80));
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
    use crate::domain::role::{RoleNotice, ToolSelection};
    use crate::store::Roles;
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
    fn external_teammate_gets_tools_for_coordination_but_cannot_claim() {
        let given: Vec<&Tool> = for_caller(Caller::ExternalTeammate).collect();
        let given: Vec<&str> = given.iter().map(|tool| tool.name).collect();
        let expected = [
            "task_create",
            "task_update",
            "task_list",
            "task_get",
            "list_teammates",
            "send_message",
            "broadcast",
            "read_inbox",
            "ask_user",
            "plan_approval",
            "shutdown_response",
        ];
        assert_eq!(given, expected);
    }

    #[test]
    fn descriptions_for_an_external_teammate_name_only_its_tools() {
        let given: Vec<&Tool> = for_caller(Caller::ExternalTeammate).collect();
        let has = |name: &str| given.iter().any(|tool| tool.name == name);
        for tool in &given {
            let text = text(tool, Caller::ExternalTeammate, &given, Duration::ZERO);
            let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
            for word in words.filter(|word| word.contains('_') && find(word).is_some()) {
                assert!(has(word), "{} names {word}", tool.name);
            }
            let is_inbox = tool.name == "read_inbox";
            assert_eq!(is_inbox, text.contains("when your turn ends"), "{text}");
        }
    }

    #[test]
    fn built_in_roles_name_only_tools_of_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = Roles::open(dir.path(), None, names()).read();
        assert!(!catalog.roles.is_empty() && catalog.broken.is_empty());
        let notices = catalog.roles.iter().flat_map(|role| &role.notices);
        assert_eq!(notices.collect::<Vec<_>>(), Vec::<&RoleNotice>::new());
    }

    #[test]
    fn role_with_tools_keeps_tools_for_coordination() {
        let reading = ToolSelection::reading();
        let kept = TABLE.iter().filter(|t| reading.permits(t.name, t.used_for));
        let kept: Vec<&str> = kept.map(|tool| tool.name).collect();
        for tool in ["read_file", "todo", "claim_task", "send_message"] {
            assert!(kept.contains(&tool), "{tool}");
        }
        for tool in ["bash", "write_file", "background_run", "task", "load_skill"] {
            assert!(!kept.contains(&tool), "{tool}");
        }
    }

    #[test]
    fn unknown_name_is_rejected_with_closest_match() {
        let error = narrow(&["bash".into(), "read_fiel".into()]).unwrap_err();
        assert_eq!(error, "Unknown tool: read_fiel. Did you mean read_file?");
        assert_eq!(narrow(&[" bash ".into()]).unwrap(), ["bash"]);
        assert_eq!(narrow(&["mcp__s__a*".into()]).unwrap(), ["mcp__s__a*"]);
        for (name, expected) in [
            ("mcp__s__a b", "mcp__s__a b: write mcp__SERVER"),
            (
                "mcp__s__a(b:c)",
                "mcp__s__a(b:c): arguments are not allowed",
            ),
        ] {
            let error = narrow(&[name.into()]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
