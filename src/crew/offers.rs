//! Lists the resources and prompts of the MCP servers for the user. Does nothing until the user asks for them the first
//! time. From then on, changed lists are published too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::context::{CrewContext, lock};
use crate::domain::mcp::ServerState;
use crate::domain::server_offers::{
    OfferedArgument, OfferedPrompt, OfferedResource, PROMPTS_MAX, RESOURCES_MAX, ServerOffers,
};
use crate::domain::text::{clip, escape_control_chars, one_line};
use crate::mcp::{CallError, McpPrompt, McpResource, ServerPool};
use crate::protocol::event::{CrewEvent, EventKind};

/// Minimum time between two listings of a server, even if the server reports changes of its lists more often.
const LISTING_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time of one listing of a server, including the start of the server.
const LISTING_MAX: Duration = Duration::from_secs(60);
/// Maximum length of a URI that is offered, in bytes; a mention cannot be much longer.
const URI_MAX: usize = 900;
/// Maximum length of the description of a resource or prompt, in characters.
const ABOUT_MAX: usize = 200;

/// Lists the resources and prompts of the servers in one background task, which starts when the user first asks for
/// them.
#[derive(Default)]
pub struct OfferLists {
    /// The servers to list next; `None` before the user has asked for resources or prompts.
    wanted: Mutex<Option<BTreeSet<String>>>,
    wake: Notify,
}

impl OfferLists {
    /// Lists, in the background, the resources and prompts of all servers that are ready, and of the server `start`, which
    /// is started if necessary and must be configured. Publishes one event for each server whose list differs from the one
    /// published last; an unchanged list is not published again.
    pub fn ask(
        self: &Arc<Self>,
        context: &Arc<CrewContext>,
        pool: &ServerPool,
        start: Option<&str>,
    ) {
        let ready = pool.status().into_iter();
        let ready = ready.filter(|server| server.state == ServerState::Ready);
        let names = ready.map(|server| server.name);
        let names = names.chain(start.map(str::to_string));
        let is_first = {
            let mut wanted = lock(&self.wanted);
            let is_first = wanted.is_none();
            wanted.get_or_insert_default().extend(names);
            is_first
        };
        self.wake.notify_one();
        if is_first {
            let own = Arc::clone(self);
            let (context, pool) = (Arc::clone(context), pool.clone());
            context.clone().spawn(async move {
                tokio::select! {
                    () = context.stop.cancelled() => {}
                    () = own.run(&context, &pool) => {}
                }
            });
        }
    }

    /// Lists the prompts and resources of `server` again. Called when they or the state of the server have changed.
    /// Does nothing if the server is not ready, or before the user has asked for prompts or resources.
    pub fn refresh_server(&self, pool: &ServerPool, server: &str) {
        let mut wanted = lock(&self.wanted);
        let Some(wanted) = wanted.as_mut() else {
            return;
        };
        let is_ready = |s: &crate::domain::mcp::ServerStatus| {
            s.name == server && s.state == ServerState::Ready
        };
        if pool.status().iter().any(is_ready) {
            wanted.insert(server.into());
            self.wake.notify_one();
        }
    }

    /// Lists the resources and prompts of the servers in `wanted`, whenever it contains any, and publishes changed
    /// lists. Servers are listed concurrently, so that a server that does not answer does not delay the others.
    async fn run(&self, context: &CrewContext, pool: &ServerPool) {
        let mut published: BTreeMap<String, ServerOffers> = BTreeMap::new();
        // The servers that are being listed, and when each was listed last.
        let mut running = BTreeSet::new();
        let mut listed_at: BTreeMap<String, Instant> = BTreeMap::new();
        let mut listings = FuturesUnordered::new();
        loop {
            let offers: Option<ServerOffers> = tokio::select! {
                () = self.wake.notified() => None,
                Some(offers) = listings.next() => Some(offers),
            };
            if let Some(offers) = offers {
                running.remove(&offers.server);
                listed_at.insert(offers.server.clone(), Instant::now());
                if published.get(&offers.server) != Some(&offers) {
                    published.insert(offers.server.clone(), offers.clone());
                    let event = CrewEvent::OffersListed(offers);
                    context.publish(EventKind::Crew(event)).await;
                }
            }
            // A server that is being listed now stays in `wanted`, and is listed again afterwards.
            let mut names = BTreeSet::new();
            if let Some(wanted) = lock(&self.wanted).as_mut() {
                names = wanted.difference(&running).cloned().collect();
                wanted.retain(|name| running.contains(name));
            }
            for name in names {
                let at = listed_at.get(&name).map(|last| *last + LISTING_INTERVAL);
                running.insert(name.clone());
                listings.push(async move {
                    if let Some(at) = at {
                        tokio::time::sleep_until(at).await;
                    }
                    list(pool, name).await
                });
            }
        }
    }
}

/// Lists the resources and prompts of a server. After [`LISTING_MAX`], gives up and returns empty lists with a text
/// about the problem.
async fn list(pool: &ServerPool, server: String) -> ServerOffers {
    let listed = tokio::time::timeout(LISTING_MAX, offers(pool, server.clone())).await;
    listed.unwrap_or_else(|_| ServerOffers {
        server,
        problem: format!(
            "resources and prompts cannot be listed: no answer within {} s",
            LISTING_MAX.as_secs()
        ),
        ..ServerOffers::default()
    })
}

/// Lists the resources and prompts of a server. Starts the server if it is not running. If a list cannot be read, it
/// stays empty, and the result contains a text about the error; after several errors, about the last one.
async fn offers(pool: &ServerPool, server: String) -> ServerOffers {
    let (resources, templates, prompts) = tokio::join!(
        pool.resources(&server),
        pool.resource_templates(&server),
        pool.prompts(&server),
    );
    let mut problem = String::new();
    let mut checked = |what: &str, error: CallError| {
        problem = clip(&one_line(&format!("{what} cannot be listed: {error}")), 300);
    };
    let mut listed = Vec::new();
    for found in [templates, resources] {
        match found {
            // Puts the resources before the resource templates.
            Ok(found) => listed.splice(0..0, found).for_each(drop),
            Err(error) => checked("resources", error),
        }
    }
    let prompts = prompts.unwrap_or_else(|error| {
        checked("prompts", error);
        Vec::new()
    });
    let resources = listed.into_iter().filter_map(resource);
    ServerOffers {
        resources: resources.take(RESOURCES_MAX).collect(),
        prompts: offered_prompts(prompts),
        problem,
        server,
    }
}

/// Converts a resource for the list that the user sees. Returns `None` if its URI cannot be written in a message: it is
/// empty, longer than [`URI_MAX`], or contains `"`, control characters or invisible characters.
fn resource(found: McpResource) -> Option<OfferedResource> {
    let is_written = |c: char| !c.is_control() && c != '"';
    if found.uri.len() > URI_MAX || !found.uri.chars().all(is_written) || found.uri.is_empty() {
        return None;
    }
    // Bidirectional and invisible characters count as control characters for the screen.
    if escape_control_chars(&found.uri) != found.uri {
        return None;
    }
    let mut about = format_line(&found.name);
    if !found.description.is_empty() && found.description != found.name {
        about = format!("{about}: {}", format_line(&found.description));
    }
    Some(OfferedResource {
        uri: found.uri,
        about: clip(&about, ABOUT_MAX),
    })
}

/// Converts the first [`PROMPTS_MAX`] prompts of a server for the list that the user sees.
pub fn offered_prompts(found: Vec<McpPrompt>) -> Vec<OfferedPrompt> {
    let prompts = found.into_iter().take(PROMPTS_MAX);
    let prompts = prompts.map(|prompt| OfferedPrompt {
        description: format_line(&prompt.description),
        arguments: prompt
            .arguments
            .into_iter()
            .map(|argument| OfferedArgument {
                name: argument.name,
                is_required: argument.is_required,
            })
            .collect(),
        name: prompt.name,
    });
    prompts.collect()
}

fn format_line(text: &str) -> String {
    clip(&one_line(&escape_control_chars(text)), ABOUT_MAX)
}
