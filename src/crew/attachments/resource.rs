//! Reads the resources of MCP servers that a message mentions as `@SERVER:URI`.

use tokio_util::sync::CancellationToken;

use super::content::Content;
use super::{image, text};
use crate::domain::server_offers::{has_scheme, split_resource};
use crate::domain::text::{clip, one_line};
use crate::mcp::{CallError, ResourceContent, ServerPool};

/// Maximum number of reasons in the error about a resource that has unusable parts.
const REASONS_MAX: usize = 3;

/// The pool of MCP servers from which resources are read; `Err` with the reason, as text for the user, if this process
/// has no pool.
pub type ResourceServers<'a> = Result<&'a ServerPool, &'static str>;

/// The meaning of a mention that does not name a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// A resource of an MCP server that is configured.
    Resource { server: &'a str, uri: &'a str },
    /// A resource of an MCP server that is not configured, with the name of the server. If this process has no pool of
    /// servers, every server counts as not configured.
    UnknownServer(&'a str),
    /// The mention does not name a resource.
    Other,
}

/// Returns the meaning of the mentioned `path`. The caller must have checked that no file or directory has this path.
pub fn classify_path<'a>(path: &'a str, servers: ResourceServers<'_>) -> Named<'a> {
    match split_resource(path) {
        Some((server, uri)) if servers.is_ok_and(|pool| pool.is_configured(server)) => {
            Named::Resource { server, uri }
        }
        Some((server, uri)) if has_scheme(uri) => Named::UnknownServer(server),
        _ => Named::Other,
    }
}

/// Reads a resource of the MCP server `server`. Starts the server if necessary.
///
/// # Errors
/// Returns the reason, in one line, if the resource cannot be read.
pub async fn read(pool: &ServerPool, server: &str, uri: &str) -> Result<ResourceContent, String> {
    let cancel = CancellationToken::new();
    let _ends_with_this = cancel.clone().drop_guard();
    let found = pool.read_resource(server, uri, &cancel).await;
    found.map_err(|error| explain(&error))
}

/// Returns why a call to an MCP server failed, as one line for the user without a full stop.
pub fn explain(error: &CallError) -> String {
    let text = one_line(&error.to_string());
    text.trim_end_matches('.').to_string()
}

/// Returns the contents of a resource to attach: first the text, then the images. If one part cannot be attached, no
/// part is.
///
/// # Errors
/// Returns the reason, in one line, if a part cannot be attached or the resource is empty.
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
