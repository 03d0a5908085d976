//! The fuzz targets for extensions. They check the files of roles, MCP servers and hooks, which a hostile repository
//! can contain, and the answers of hooks.

use super::{CheckResult, check_size, check_visible, check_visible_lines, ensure};
use crate::config::extensions::{Variable, parse_hooks, parse_servers};
use crate::domain::hook::{
    CONTEXT_MAX, HookCall, HookContext, HookEvent, HookHandler, HookInput, HookResult, HookSource,
    HookSpec, Matcher, decide, distinct, merge,
};
use crate::domain::mcp::{ServerSource, is_server_name};
use crate::domain::role::{RoleFile, RoleServer, RoleSource, ToolUse};
use crate::tools::table;

/// Checks the parser of `.mcp.json`: texts for the screen contain no control or invisible characters, names are valid
/// and unique, and at least one problem is reported for each unusable server.
pub fn servers(bytes: &[u8]) -> CheckResult {
    let lookup = |name: &str| match name.len() % 3 {
        0 => Variable::Unset,
        1 => Variable::Withheld,
        _ => Variable::Value("value".into()),
    };
    let found = parse_servers(bytes, ServerSource::Project, &lookup);
    ensure(found.problems.len() >= found.unusable.len(), || {
        "an unusable server has no problem".into()
    })?;
    for problem in &found.problems {
        check_visible("a problem", problem)?;
        check_size("a problem", problem.len(), 0, 1)?;
    }
    for (at, server) in found.servers.iter().enumerate() {
        let name = &server.config.name;
        ensure(is_server_name(name), || {
            format!("the name {name:?} is invalid")
        })?;
        let mut earlier = found.servers[..at].iter();
        ensure(earlier.all(|s| s.config.name != *name), || {
            format!("two servers are named {name}")
        })?;
        check_visible("the target", &server.target)?;
        check_visible("the details", &server.details)?;
        check_size("the details", server.details.len(), bytes.len(), 8)?;
    }
    Ok(())
}

/// Checks the parser of role files: a role has a valid name, and its texts contain no control or invisible characters.
/// The MCP servers of a role can be parsed like those in `.mcp.json`.
pub fn role(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let role = match RoleFile::parse(&text, "stem", &table::names()) {
        Ok(file) => file.into_role(RoleSource::Claude, "stem.md".into()),
        Err(why) => return check_visible("the problem", &why.to_string()),
    };
    check_visible("the name", &role.name)?;
    ensure(!role.name.trim().is_empty(), || "the name is empty".into())?;
    check_visible("the description", &role.description)?;
    check_visible("the model", &role.model)?;
    // Tabs are allowed in the prompt.
    check_visible_lines("the prompt", &role.prompt.replace('\t', " "))?;
    check_size("the prompt", role.prompt.len(), bytes.len(), 4)?;
    let lists = [
        Some(&role.skills),
        Some(&role.tools.denied),
        role.tools.allowed.as_ref(),
    ];
    for entry in lists.into_iter().flatten().flatten() {
        check_visible("an entry", entry)?;
    }
    for notice in &role.notices {
        check_visible("a notice", &notice.text)?;
        ensure(notice.line > 0, || "a notice has no line".into())?;
    }
    ensure(role.rounds_max.is_none_or(|most| most > 0), || {
        "the role has no model calls".into()
    })?;
    let limits = role.limits();
    for server in role.servers.iter().flatten() {
        let name = server.name();
        ensure(is_server_name(name), || {
            format!("the server {name:?} has an invalid name")
        })?;
        let others = format!("mcp__{name}x__tool");
        let is_named = |name: &str| role.servers.iter().flatten().any(|s| s.name() == name);
        ensure(
            is_named(&format!("{name}x"))
                || !limits.iter().all(|l| l.permits(&others, ToolUse::Work)),
            || format!("{others} is permitted, but only {name} is named"),
        )?;
        if let RoleServer::Inline { config, .. } = server {
            let file = serde_json::json!({"mcpServers": {name: config}});
            servers(file.to_string().as_bytes())?;
        }
    }
    Ok(())
}

/// Checks the parser of hook files. Also checks that hooks can be selected for a call, and that the length of a command
/// is limited in proportion to the input.
pub fn hooks(bytes: &[u8]) -> CheckResult {
    let found = parse_hooks(bytes, "hooks.json", true);
    for problem in &found.problems {
        check_visible("a problem", problem)?;
        check_size("a problem", problem.len(), 0, 2)?;
    }
    let call = HookInput::PreToolUse(HookCall {
        name: "bash".into(),
        input: serde_json::json!({"command": String::from_utf8_lossy(bytes)}),
        id: String::new(),
    });
    let context = HookContext::default();
    let selected = distinct(&found.hooks, &call, &context);
    ensure(selected.len() <= found.hooks.len(), || {
        "more hooks run than exist".into()
    })?;
    for hook in &found.hooks {
        ensure(!hook.timeout().is_zero(), || "a hook has no time".into())?;
        check_size("the command", hook.runs().len(), bytes.len(), 6)?;
    }
    for (hook, declaration) in found.hooks.iter().zip(&found.declarations) {
        let alone = parse_hooks(declaration.as_bytes(), "hooks.json", true).hooks;
        let mut expected = hook.clone();
        expected.source.index = 0;
        ensure(alone == [expected], || {
            "a hook that is declared alone differs".into()
        })?;
    }
    Ok(())
}

/// Checks the parser for the answer of a hook: a problem contains no control or invisible characters, and the length of
/// problems and of the texts of a decision is limited. The first byte of the input selects the event, the second one
/// the exit code. The rest is both the output and the error output of the hook.
pub fn answer(bytes: &[u8]) -> CheckResult {
    let [event, code, rest @ ..] = bytes else {
        return Ok(());
    };
    let event = HookEvent::ALL[usize::from(*event) % HookEvent::ALL.len()];
    let hook = HookSpec {
        source: HookSource {
            file: "hooks.json".into(),
            is_project: true,
            index: 0,
        },
        event,
        matcher: Matcher::All,
        condition: None,
        handler: HookHandler::Command {
            command: "x".into(),
            args: None,
        },
        timeout: None,
        is_async: false,
        blocks_on_failure: false,
    };
    let text = String::from_utf8_lossy(rest).into_owned();
    let decision = decide(
        &hook,
        HookResult::Exited {
            code: i32::from(code % 4),
            stdout: text.clone(),
            stderr: text,
        },
    );
    if let Some(problem) = &decision.problem {
        check_visible("the problem", problem)?;
        check_size("the problem", problem.len(), 0, 1)?;
    }
    let outcome = merge(vec![decision.clone(), decision]);
    let permission = outcome.permission.iter().map(|(_, reason)| reason);
    let texts = outcome
        .context
        .iter()
        .chain(&outcome.blocks)
        .chain(&outcome.messages)
        .chain(permission);
    for text in texts {
        ensure(text.chars().count() <= CONTEXT_MAX + 64, || {
            format!("a text has {} characters", text.chars().count())
        })?;
    }
    Ok(())
}
