//! `crewdeck mcp`: lists, adds, removes, approves and tests MCP servers.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::headless::eprint_line;
use super::mcp_test;
use super::sessions::quote;
use super::trust::{confirm, refuse_agents};
use super::{NOTHING, print, root};
use crate::cli::{GlobalOptions, McpVerb};
use crate::commands::OutputFormat;
use crate::config::extensions::{
    ApprovalRequest, Extensions, ItemKind, ListedServer, ListedState, NewServer, ServerScope,
    add_server, remove_server, unknown_server,
};
use crate::config::{ProjectPolicy, SettingsDecision};
use crate::domain::mcp::{ServerSource, ServerTransport};
use crate::domain::text::{escape_control_chars, escape_json, one_line};
use crate::mcp;
use crate::process::environment;

/// Runs a `crewdeck mcp` command and returns the exit code.
///
/// # Errors
/// Returns a one-line error that says what failed and what to do.
pub fn main(global: &GlobalOptions, verb: McpVerb, form: OutputFormat) -> Result<u8> {
    let root = root(global)?;
    match verb {
        McpVerb::List { with_tools: false } => list(&root, form),
        McpVerb::List { with_tools: true } => {
            if form != OutputFormat::Json {
                list(&root, form)?;
            }
            mcp_test::list_tools(&root, form)
        }
        McpVerb::Test { name } => mcp_test::test(&root, &name, form),
        McpVerb::Add {
            name,
            command,
            url,
            headers,
            env,
            project,
        } => {
            refuse_agents("configure")?;
            let new = NewServer {
                name,
                command,
                url,
                headers,
                env,
            };
            add(&root, scope(project), &new)
        }
        McpVerb::Remove { name, project } => {
            refuse_agents("configure")?;
            let scope = project.then_some(ServerScope::Project);
            let url = url_of(&root, &name);
            let path = remove_server(&root, scope, &name)?;
            eprint_line(&format!("crewdeck: removed {name} from {}", path.display()));
            if let Some(url) = url {
                forget_login(&root, &name, &url);
            }
            Ok(0)
        }
        McpVerb::Logout { name } => log_out(&root, &name),
        McpVerb::Approve { names, all: _, yes } => approve(&root, &names, yes),
    }
}

/// Returns the address of the server `name`; `None` if there is no such server or it is a program.
fn url_of(root: &Path, name: &str) -> Option<String> {
    let servers = Extensions::load(root).servers;
    let server = servers.into_iter().find(|server| server.name == name)?;
    match server.transport {
        ServerTransport::Http { url, .. } => Some(url),
        ServerTransport::Program { .. } => None,
    }
}

/// Deletes the login to a server that was removed, unless another server has the same address.
fn forget_login(root: &Path, name: &str, url: &str) {
    let servers = Extensions::load(root).servers;
    let is_same = |transport: &ServerTransport| matches!(transport, ServerTransport::Http { url: other, .. } if other == url);
    if servers.iter().any(|server| is_same(&server.transport)) {
        return;
    }
    let deleted = environment::login_folder().map(|folder| mcp::log_out(&folder, url));
    match deleted {
        Some(Ok(true)) => eprint_line(&format!("crewdeck: deleted the login to {name}")),
        Some(Err(why)) => eprint_line(&format!(
            "crewdeck: the login to {name} is still stored: {why}"
        )),
        Some(Ok(false)) | None => {}
    }
}

fn scope(is_project: bool) -> ServerScope {
    if is_project {
        ServerScope::Project
    } else {
        ServerScope::User
    }
}

fn list(root: &Path, form: OutputFormat) -> Result<u8> {
    let found = Extensions::load(root);
    if form == OutputFormat::Json {
        let all: Vec<Value> = found.listing.iter().map(to_json).collect();
        return print(&format!(
            "{}\n",
            escape_json(&serde_json::to_string_pretty(&all)?)
        ));
    }
    for problem in &found.problems {
        eprint_line(&format!("crewdeck: {problem}"));
    }
    if found.listing.is_empty() {
        return print("No MCP servers. Add one with crewdeck mcp add.\n");
    }
    let source_text = |server: &ListedServer| match &server.role {
        Some(role) => format!("{}, role {role}", source(server.source)),
        None => source(server.source).into(),
    };
    let rows: Vec<[String; 4]> = found
        .listing
        .iter()
        .map(|server| {
            let (state, why) = state(&server.state);
            let target = if server.target.is_empty() {
                why
            } else {
                &server.target
            };
            [&server.name, &source_text(server), state, target]
                .map(|cell| one_line(&escape_control_chars(cell)))
        })
        .collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [0, 1, 2].map(wide);
    let mut text = String::new();
    for [name, source, state, target] in &rows {
        let [a, b, c] = widths;
        text.push_str(&format!("{name:a$}  {source:b$}  {state:c$}  {target}\n"));
    }
    print(&text)
}

fn source(source: ServerSource) -> &'static str {
    match source {
        ServerSource::Project => "project",
        ServerSource::User => "user",
    }
}

/// Returns the name of a state, and a text about the problem, which is empty if there is no problem.
fn state(state: &ListedState) -> (&'static str, &str) {
    match state {
        ListedState::Approved => ("approved", ""),
        ListedState::NeedsApproval => ("needs approval", ""),
        ListedState::Ignored => ("ignored", ""),
        ListedState::Problem(why) => ("problem", why),
    }
}

fn to_json(server: &ListedServer) -> Value {
    let (name, why) = state(&server.state);
    let mut out = json!({
        "name": server.name,
        "source": source(server.source),
        "target": server.target,
        "state": name.replace(' ', "_"),
    });
    if let Some(role) = &server.role {
        out["role"] = role.as_str().into();
    }
    if !why.is_empty() {
        out["problem"] = why.into();
    }
    out
}

fn add(root: &Path, scope: ServerScope, new: &NewServer) -> Result<u8> {
    let path = add_server(root, scope, new)?;
    eprint_line(&format!(
        "crewdeck: added {} to {}",
        new.name,
        path.display()
    ));
    if scope == ServerScope::Project {
        eprint_line(&format!(
            "crewdeck: this server starts only after you have approved it: run crewdeck mcp approve {}, and restart crewdeck if it is running, because it knows only the servers that were declared at its start",
            new.name
        ));
    }
    Ok(0)
}

/// Deletes the tokens of the login to the server `name`. A running crewdeck reads the tokens before each request to the
/// server, so the user must log in again before its next request. Returns the exit code: [`NOTHING`] if there was no
/// login, else 0.
fn log_out(root: &Path, name: &str) -> Result<u8> {
    refuse_agents("log out of")?;
    let found = Extensions::load(root);
    let shown = one_line(&escape_control_chars(name));
    let Some(server) = found.servers.iter().find(|server| server.name == name) else {
        let listed = found.listing.iter().find(|server| server.name == name);
        if let Some(ListedState::Problem(why)) = listed.map(|server| &server.state) {
            bail!("server {shown} cannot be used: {why}");
        }
        let known: Vec<&str> = found.servers.iter().map(|s| s.name.as_str()).collect();
        return Err(unknown_server(name, &known));
    };
    let ServerTransport::Http { url, .. } = &server.transport else {
        bail!("server {shown} is a program, and only servers over HTTP have a login");
    };
    let deleted = match environment::login_folder() {
        Some(folder) => mcp::log_out(&folder, url).map_err(|why| anyhow!(why))?,
        None => false,
    };
    if !deleted {
        eprint_line(&format!("crewdeck: you are not logged in to {shown}"));
        return Ok(NOTHING);
    }
    eprint_line(&format!(
        "crewdeck: logged out of {shown}: its login tokens are deleted"
    ));
    Ok(0)
}

fn approve(root: &Path, names: &[String], is_confirmed: bool) -> Result<u8> {
    refuse_agents("approve")?;
    let found = Extensions::load(root);
    let request = ApprovalRequest::all(root, &ProjectPolicy::Harmless, &found);
    let mut servers = request.map(|request| request.items).unwrap_or_default();
    servers.retain(|item| item.kind == ItemKind::Server);
    for name in names {
        if servers.iter().any(|item| item.name == *name) {
            continue;
        }
        let listed = found.listing.iter().find(|server| server.name == *name);
        match listed.map(|server| (server.source, &server.state)) {
            Some((_, ListedState::Problem(why))) => {
                bail!("server {name} cannot be approved: {why}")
            }
            Some(_) => bail!("server {name} is your own and needs no approval"),
            None => {
                let known: Vec<&str> = servers.iter().map(|item| item.name.as_str()).collect();
                return Err(unknown_server(name, &known));
            }
        }
    }
    servers.retain(|item| {
        let is_named = names.is_empty() || names.contains(&item.name);
        // A server that the user has chosen to ignore is approved only if the command names it.
        let is_open = item.is_waiting()
            || (!names.is_empty() && item.decision == Some(SettingsDecision::Ignored));
        is_named && is_open
    });
    if servers.is_empty() {
        eprint_line("crewdeck: no MCP server of this project needs your approval");
        return Ok(NOTHING);
    }
    let mut out = std::io::stdout().lock();
    for item in &servers {
        writeln!(
            out,
            "{}\n  {}\n      {}",
            item.title(),
            item.runs,
            item.effect
        )?;
    }
    let request = ApprovalRequest {
        root: root.to_owned(),
        settings: None,
        items: servers,
    };
    let question = format!("Approve exactly {}? [y/N] ", request.summary());
    // Names the servers, so that it approves none that is added in the meantime.
    let shown: Vec<String> = request.items.iter().map(|item| quote(&item.name)).collect();
    let instead = format!("crewdeck mcp approve --yes {}", shown.join(" "));
    if !is_confirmed && !confirm(&mut out, &question, &instead)? {
        return Ok(0);
    }
    if let Some(notice) = request.decide(Some(SettingsDecision::Approved))? {
        eprint_line(&format!("crewdeck: {notice}"));
    }
    writeln!(
        out,
        "Approved. If crewdeck is running in this project, a server that waited for the approval starts when an agent next needs it, or with r in /mcp. If an approved file changes, crewdeck asks again."
    )?;
    Ok(0)
}
