//! The tools of all MCP servers, with a number that increases with each change (the generation).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::types::{McpTool, ToolCatalog};

/// The tools of all MCP servers. Can be read while the tools of a server are replaced.
#[derive(Default)]
pub struct Catalog(Mutex<CatalogState>);

#[derive(Default)]
struct CatalogState {
    by_server: BTreeMap<String, Vec<McpTool>>,
    /// All tools, sorted by name; rebuilt with each change. `None` before the first change.
    current: Option<ToolCatalog>,
    generation: u64,
}

impl Catalog {
    fn lock(&self) -> std::sync::MutexGuard<'_, CatalogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the tools of a server and returns the new generation. Returns `None` if the server's tools are the same
    /// as before.
    pub fn replace(&self, server: &str, tools: Vec<McpTool>) -> Option<u64> {
        let mut state = self.lock();
        let known = state.by_server.get(server);
        if known.map_or(&[][..], Vec::as_slice) == tools {
            return None;
        }
        state.by_server.insert(server.into(), tools);
        state.generation += 1;
        let mut all: Vec<McpTool> = state.by_server.values().flatten().cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        state.current = Some(ToolCatalog {
            generation: state.generation,
            tools: all.into(),
        });
        Some(state.generation)
    }

    /// Returns all tools, sorted by name. The generation is 0 before the first change.
    pub fn current(&self) -> ToolCatalog {
        self.lock().current.clone().unwrap_or(ToolCatalog {
            generation: 0,
            tools: [].into(),
        })
    }

    pub fn count(&self, server: &str) -> usize {
        self.lock().by_server.get(server).map_or(0, Vec::len)
    }

    /// Returns the server that offers the tool `name`, and the name that the server itself uses for the tool. Returns
    /// `None` if no server offers it.
    pub fn find(&self, name: &str) -> Option<(String, String)> {
        let state = self.lock();
        let tools = &state.current.as_ref()?.tools;
        let at = tools.binary_search_by(|tool| tool.name.as_str().cmp(name));
        let tool = tools.get(at.ok()?)?;
        Some((tool.server.clone(), tool.tool.clone()))
    }
}
