//! Requests the lists of a server's tools, resources and prompts, page by page, with limits on their size.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerResult,
    Tool,
};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::call::{self, Link, LinkError};
use super::tools::{DESCRIPTION_MAX, TOOLS_MAX, cut_end};
use super::types::{McpPrompt, McpPromptArgument, McpResource};
use crate::domain::text::{clip, one_line};

/// Maximum number of pages of one list. Further pages are not requested.
const PAGES_MAX: usize = 100;
/// Maximum number of resources, resource templates or prompts of one server. Further ones are left out.
const ENTRIES_MAX: usize = 1000;
/// Maximum length, in bytes, of a URI or a name. An entry with a longer one is left out, because a shortened URI or
/// name would refer to something else.
const NAME_MAX: usize = 2048;
/// Maximum number of arguments of a prompt. Further ones are left out.
const ARGUMENTS_MAX: usize = 32;
/// Maximum time without a progress report for one page of a list. Then the request for the list fails.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Requests the pages of a list and returns their entries. Stops at the last page, after [`PAGES_MAX`] pages, or when
/// there are more than `max` entries. `request` creates the request for a page. `entries` returns the entries in a
/// response and the cursor of the next page.
///
/// # Errors
/// Fails if a request fails, or if `entries` returns `None` because the response is not the requested list.
async fn pages<T>(
    link: &Link,
    max: usize,
    request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
    entries: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
) -> Result<Vec<T>, LinkError> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let params = cursor
            .take()
            .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let never = CancellationToken::new();
        let result = call::send(link, request(params), PAGE_TIMEOUT, &never, |_| {}).await?;
        let (page, next) = entries(result).ok_or(LinkError::Unexpected)?;
        all.extend(page);
        cursor = next;
        if cursor.is_none() || all.len() > max {
            break;
        }
    }
    Ok(all)
}

/// Reads a list that the SDK could not parse because some of its entries are invalid. Returns the valid entries and the
/// cursor of the next page; `None` if `result` is not a list. `key` is the field that contains the entries.
fn valid_entries<T: DeserializeOwned>(
    result: ServerResult,
    key: &str,
) -> Option<(Vec<T>, Option<String>)> {
    match result {
        ServerResult::EmptyResult(_) => Some((Vec::new(), None)),
        ServerResult::CustomResult(mut result) => {
            let entries = result.0.get_mut(key)?.as_array_mut()?;
            let entries = std::mem::take(entries).into_iter();
            let valid = entries.filter_map(|entry| serde_json::from_value(entry).ok());
            let cursor = result.0.get("nextCursor").and_then(|c| c.as_str());
            Some((valid.collect(), cursor.map(Into::into)))
        }
        _ => None,
    }
}

/// Lists the tools of a server. If there are more than [`TOOLS_MAX`], stops after the page that exceeds the limit and
/// returns all tools up to there, so that the caller can report the excess. Leaves out invalid entries.
///
/// # Errors
/// Fails if a request fails or times out, or if the response is not a list.
pub async fn tools(link: &Link) -> Result<Vec<Tool>, LinkError> {
    let request = |params| {
        ClientRequest::ListToolsRequest(ListToolsRequest {
            params,
            ..ListToolsRequest::default()
        })
    };
    pages(link, TOOLS_MAX, request, |result| match result {
        ServerResult::ListToolsResult(list) => Some((list.tools, list.next_cursor)),
        other => valid_entries(other, "tools"),
    })
    .await
}

pub async fn resources(link: &Link) -> Result<Vec<McpResource>, LinkError> {
    let request = |params| {
        ClientRequest::ListResourcesRequest(ListResourcesRequest {
            params,
            ..ListResourcesRequest::default()
        })
    };
    let listed = pages(link, ENTRIES_MAX, request, |result| match result {
        ServerResult::ListResourcesResult(list) => Some((list.resources, list.next_cursor)),
        other => valid_entries(other, "resources"),
    });
    let listed = listed.await?.into_iter();
    let fits = |resource: &Resource| resource.uri.len() <= NAME_MAX;
    Ok(listed
        .filter(fits)
        .take(ENTRIES_MAX)
        .map(resource)
        .collect())
}

/// Lists the resource templates of a server, at most 1000. The URI of each is a template. Leaves out invalid entries.
///
/// # Errors
/// Fails if a request fails or times out, or if the response is not a list.
pub async fn resource_templates(link: &Link) -> Result<Vec<McpResource>, LinkError> {
    let request = |params| {
        ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
            params,
            ..ListResourceTemplatesRequest::default()
        })
    };
    let listed = pages(link, ENTRIES_MAX, request, |result| match result {
        ServerResult::ListResourceTemplatesResult(list) => {
            Some((list.resource_templates, list.next_cursor))
        }
        other => valid_entries(other, "resourceTemplates"),
    });
    let listed = listed.await?.into_iter();
    let fits = |template: &ResourceTemplate| template.uri_template.len() <= NAME_MAX;
    let template = |listed: ResourceTemplate| McpResource {
        name: short(&listed.title.unwrap_or(listed.name)),
        description: long(listed.description),
        media_type: short(&listed.mime_type.unwrap_or_default()),
        size: None,
        uri: listed.uri_template,
    };
    let listed = listed.filter(fits).take(ENTRIES_MAX);
    Ok(listed.map(template).collect())
}

pub async fn prompts(link: &Link) -> Result<Vec<McpPrompt>, LinkError> {
    let request = |params| {
        ClientRequest::ListPromptsRequest(ListPromptsRequest {
            params,
            ..ListPromptsRequest::default()
        })
    };
    let listed = pages(link, ENTRIES_MAX, request, |result| match result {
        ServerResult::ListPromptsResult(list) => Some((list.prompts, list.next_cursor)),
        other => valid_entries(other, "prompts"),
    });
    let listed = listed.await?.into_iter();
    let fits = |prompt: &Prompt| prompt.name.len() <= NAME_MAX;
    Ok(listed.filter(fits).take(ENTRIES_MAX).map(prompt).collect())
}

fn resource(listed: Resource) -> McpResource {
    McpResource {
        name: short(&listed.title.unwrap_or(listed.name)),
        description: long(listed.description),
        media_type: short(&listed.mime_type.unwrap_or_default()),
        size: listed.size,
        uri: listed.uri,
    }
}

fn prompt(listed: Prompt) -> McpPrompt {
    let arguments = listed.arguments.unwrap_or_default().into_iter();
    McpPrompt {
        description: long(listed.description),
        arguments: arguments
            .filter(|argument| argument.name.len() <= NAME_MAX)
            .take(ARGUMENTS_MAX)
            .map(|argument| McpPromptArgument {
                description: long(argument.description),
                is_required: argument.required.unwrap_or(false),
                name: argument.name,
            })
            .collect(),
        name: listed.name,
    }
}

fn short(text: &str) -> String {
    clip(&one_line(text), 200)
}

fn long(text: Option<String>) -> String {
    cut_end(&text.unwrap_or_default(), DESCRIPTION_MAX)
}
