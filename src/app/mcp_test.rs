//! `crewdeck mcp test` and `crewdeck mcp list --with-tools`: start servers as a crew does, list their tools, and end
//! them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::headless::eprint_line;
use super::{block_on, print, secrets};
use crate::commands::OutputFormat;
use crate::config::extensions::{Extensions, ListedState, unknown_server};
use crate::domain::mcp::{ServerConfig, ServerState, ServerStatus};
use crate::domain::redact::Redactor;
use crate::domain::text::{escape_control_chars, escape_json, one_line};
use crate::mcp::{McpTool, PoolOptions, ServerPool};
use crate::process::environment;
use crate::process::supervisor::Supervisor;

/// Exit code if at least one server does not work.
const FAILED: u8 = 1;
/// Maximum number of lines from the end of a server's log that are printed below its error.
const LOG_LINES: usize = 10;

/// The result of trying to start a server.
struct Tested {
    status: ServerStatus,
    took: Duration,
    tools: Vec<McpTool>,
    /// The end of the server's log, at most 64 KiB.
    log: String,
}

/// Starts one server and lists its tools. Returns the exit code: 0 if the server works, otherwise 1.
///
/// # Errors
/// Fails if there is no such server, or if its configuration is invalid or not approved.
pub fn test(root: &Path, name: &str, form: OutputFormat) -> Result<u8> {
    let found = Extensions::load(root);
    let Some(config) = found.servers.iter().find(|server| server.name == name) else {
        let listed = found.listing.iter().find(|server| server.name == name);
        if let Some(ListedState::Problem(why)) = listed.map(|server| &server.state) {
            bail!("server {name} cannot be used: {why}");
        }
        let known: Vec<&str> = found.servers.iter().map(|s| s.name.as_str()).collect();
        return Err(unknown_server(name, &known));
    };
    if let Err(not) = found.check_server(config) {
        bail!("{not}");
    }
    report(root, vec![config.clone()], found, form)
}

/// Starts all approved servers and lists their tools. Returns the exit code: 0 if all work, otherwise 1.
///
/// # Errors
/// Fails if the async runtime cannot be started or the output cannot be written.
pub fn list_tools(root: &Path, form: OutputFormat) -> Result<u8> {
    let found = Extensions::load(root);
    let approved = found
        .servers
        .iter()
        .filter(|server| found.check_server(server).is_ok());
    let approved: Vec<ServerConfig> = approved.cloned().collect();
    if approved.is_empty() {
        return Ok(0);
    }
    report(root, approved, found, form)
}

fn report(
    root: &Path,
    servers: Vec<ServerConfig>,
    found: Extensions,
    form: OutputFormat,
) -> Result<u8> {
    let redactor = secrets::redactor().with(secrets::of_servers(&servers));
    let tested = block_on(async { Ok(start(root, servers, found).await) })?;
    let works = |one: &Tested| one.status.state == ServerState::Ready;
    let code = if tested.iter().all(works) { 0 } else { FAILED };
    if form == OutputFormat::Json {
        let all: Vec<Value> = tested.iter().map(|one| to_json(one, &redactor)).collect();
        let text = serde_json::to_string_pretty(&all)?;
        print(&format!("{}\n", escape_json(&text)))?;
        return Ok(code);
    }
    let clean = |text: &str| one_line(&escape_control_chars(&redactor.text(text)));
    for one in &tested {
        let name = &one.status.name;
        if !works(one) {
            let why = clean(&reason(&one.status));
            eprint_line(&format!(
                "crewdeck: the MCP server {name} does not work: {why}"
            ));
            let lines: Vec<&str> = one.log.lines().collect();
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                eprint_line(&format!("  {}", clean(line)));
            }
            continue;
        }
        let count = one.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        let mut text = format!(
            "{name}: ready after {} ms, {count} {tools}\n",
            one.took.as_millis()
        );
        for tool in &one.tools {
            let reads = if tool.is_read_only {
                "  reads only"
            } else {
                ""
            };
            let about = tool.description.lines().next().unwrap_or_default();
            text.push_str(&format!("  {}{reads}  {}\n", tool.name, clean(about)));
        }
        print(&text)?;
    }
    Ok(code)
}

async fn start(root: &Path, servers: Vec<ServerConfig>, found: Extensions) -> Vec<Tested> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let found = Arc::new(found);
    let options = PoolOptions {
        supervisor: Supervisor::program().map(Path::to_path_buf),
        approved_config: Arc::new(move |config| {
            found.check_server(config).ok().map(|()| config.clone())
        }),
        logins: environment::login_folder(),
        ..PoolOptions::new(root.to_path_buf())
    };
    let pool = ServerPool::new(servers, options, |_| {});
    let began = Instant::now();
    let starts = names.iter().map(|name| {
        let pool = pool.clone();
        async move {
            pool.ensure_started(&[name]).await;
            began.elapsed()
        }
    });
    let times = futures::future::join_all(starts).await;
    let catalog = pool.tools();
    let all = pool.status();
    let mut out = Vec::new();
    for (name, took) in names.iter().zip(times) {
        let Some(status) = all.iter().find(|status| status.name == *name) else {
            continue;
        };
        let tools = catalog.tools.iter().filter(|tool| tool.server == *name);
        out.push(Tested {
            status: status.clone(),
            took,
            tools: tools.cloned().collect(),
            log: pool.log_tail(name).unwrap_or_default(),
        });
    }
    pool.shutdown().await;
    out
}

/// Returns why a server is not ready.
fn reason(status: &ServerStatus) -> String {
    match &status.state {
        ServerState::Failed { why } | ServerState::Restarting { why, .. } => why.clone(),
        ServerState::NeedsLogin => {
            "it needs a login: open /mcp in the dashboard, and log in there".into()
        }
        ServerState::WaitsForApproval => "it is not approved: run `crewdeck mcp approve`".into(),
        ServerState::Starting | ServerState::Idle | ServerState::Ready | ServerState::Disabled => {
            "it was not ready in time".into()
        }
    }
}

fn to_json(one: &Tested, redactor: &Redactor) -> Value {
    let tools: Vec<Value> = one
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": redactor.text(&tool.description),
                "read_only": tool.is_read_only,
            })
        })
        .collect();
    let mut out = json!({
        "name": one.status.name,
        "works": one.status.state == ServerState::Ready,
        "took_ms": u64::try_from(one.took.as_millis()).unwrap_or(u64::MAX),
        "tools": tools,
    });
    if one.status.state != ServerState::Ready {
        out["problem"] = redactor.text(&reason(&one.status)).into();
    }
    out
}
