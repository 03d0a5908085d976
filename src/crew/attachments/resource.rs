//! Reads resources of MCP servers that a message mentions as `@SERVER:URI`.

use tokio_util::sync::CancellationToken;

use super::{Content, image, text};
use crate::domain::mcp::{ServerState, ServerStatus};
use crate::domain::server_offers::{has_scheme, split_resource};
use crate::domain::text::{clip, one_line};
use crate::mcp::{CallError, ResourceContent, ServerPool};

/// Maximum number of reasons that a refusal names.
const REASONS_MAX: usize = 3;

/// Where resources are read: the pool of the crew, or why there is none here.
pub type ResourceServers<'a> = Result<&'a ServerPool, &'static str>;

/// What a mention that is no file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// A resource of a server that is configured.
    Resource { server: &'a str, uri: &'a str },
    /// A resource of a server that is not.
    UnknownServer(&'a str),
    /// Neither.
    Other,
}

/// Returns what the path of a mention names if no file does.
pub fn named<'a>(path: &'a str, servers: ResourceServers<'_>) -> Named<'a> {
    match split_resource(path) {
        Some((server, uri)) if servers.is_ok_and(|pool| pool.is_configured(server)) => {
            Named::Resource { server, uri }
        }
        Some((server, uri)) if has_scheme(uri) => Named::UnknownServer(server),
        _ => Named::Other,
    }
}

/// Reads a resource. Starts its server if necessary.
///
/// # Errors
/// Returns the reason, in one line, if the server does not give the resource.
pub async fn read(pool: &ServerPool, server: &str, uri: &str) -> Result<ResourceContent, String> {
    let cancel = CancellationToken::new();
    let _ends_with_this = cancel.clone().drop_guard();
    let found = pool.read_resource(server, uri, &cancel).await;
    found.map_err(|error| explain(pool, server, &error))
}

/// Returns for the user why a server gives no answer, in one line without a full stop.
pub fn explain(pool: &ServerPool, server: &str, error: &CallError) -> String {
    let waits = |status: &ServerStatus| {
        status.name == server && status.state == ServerState::WaitsForApproval
    };
    let mut text = one_line(&error.to_string());
    if pool.status().iter().any(waits) {
        text.push_str(&format!(
            ": run crewdeck mcp approve {server}, then restart crewdeck"
        ));
    }
    text.trim_end_matches('.').to_string()
}

/// Returns the contents to attach: the text, then the images. Everything is refused if a part cannot be attached.
///
/// # Errors
/// Returns the reason, in one line.
pub fn contents(found: ResourceContent) -> Result<Vec<Content>, String> {
    if !found.refused.is_empty() {
        let more = found.refused.len().saturating_sub(REASONS_MAX);
        let mut shown = found.refused;
        shown.truncate(REASONS_MAX);
        let more = match more {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = clip(&one_line(&shown.join("; ")), 300);
        return Err(format!("the server sent {what}{more}"));
    }
    let mut all = Vec::new();
    if let Some(text) = found.text {
        all.push(text::of(text.as_bytes(), text.len() as u64));
    }
    for image in found.images {
        all.push(image::prepare(&image.bytes)?);
    }
    if all.is_empty() {
        return Err("the server sent no content for it".into());
    }
    Ok(all)
}
