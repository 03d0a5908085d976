//! Carries out an external agent's calls of the crew's tools and of the tools of the crew's MCP servers, in the same
//! way as the calls of other agents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::external::crew_tools::{self, CrewToolNames};
use super::tool_runner::ToolRunner;
use crate::domain::chat::ToolCall;
use crate::domain::ids::Name;
use crate::domain::mcp::McpTool;
use crate::protocol::agent_socket::SocketTool;
use crate::tools::{Access, Caller, ToolOutput, table};

/// The tools that the agent socket offers to one agent.
pub trait ToolCalls: Send + Sync {
    /// Returns the definitions of the tools.
    fn tools(&self) -> Vec<SocketTool>;

    /// Returns a receiver that is marked as changed when the tools may have changed; `None` if they never change.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Carries out a call of one of the tools. Dropping the future stops the call and withdraws its open requests.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolOutput>;
}

/// The tools of the crew and of its MCP servers for an external agent.
pub struct ExternalTools {
    agent: Name,
    runner: Mutex<Arc<ToolRunner>>,
}

impl ExternalTools {
    /// Creates the tools of `agent`. `runner` must contain only tools that [`Caller::ExternalTeammate`] may use, and
    /// its `is_external` must be true.
    pub fn new(agent: Name, runner: ToolRunner) -> ExternalTools {
        ExternalTools {
            agent,
            runner: Mutex::new(Arc::new(runner)),
        }
    }

    /// Sets the directory in which the agent works. It applies to the calls that start later.
    pub fn set_workdir(&self, workdir: PathBuf) {
        let mut runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut runner).workdir = workdir;
    }

    fn runner(&self) -> Arc<ToolRunner> {
        let runner = self.runner.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&runner)
    }
}

impl ToolCalls for ExternalTools {
    fn tools(&self) -> Vec<SocketTool> {
        let runner = self.runner();
        let define = |tool: &&'static crate::tools::Tool| SocketTool {
            name: tool.name.into(),
            description: table::text(
                tool,
                Caller::ExternalTeammate,
                &runner.tools,
                runner.timeout,
            ),
            schema: (tool.schema)(),
            reads_only: tool.access == Access::Read,
            is_destructive: None,
        };
        let of_servers = runner.servers.as_ref();
        let of_servers = of_servers.map_or_else(Vec::new, |servers| servers.offered());
        let own = runner.tools.iter().map(define);
        own.chain(of_servers.into_iter().map(of_server)).collect()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        let runner = self.runner();
        Some(runner.servers.as_ref()?.host.tool_changes())
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolOutput> {
        let runner = self.runner();
        Box::pin(async move {
            let names = CrewToolNames::new(&runner.tools, runner.servers.as_deref());
            let name = names.resolve(&call.name);
            let call = ToolCall { name, ..call };
            // The agent itself reports its calls, so no events are published for them. An output that is ready before
            // the hooks after the call need not be kept: it reaches the agent only if the call is not cancelled.
            let (output, _) = runner.carry_out(&self.agent, &call, &|_, _| {}).await;
            output
        })
    }
}

fn of_server(tool: McpTool) -> SocketTool {
    SocketTool {
        name: crew_tools::offered(&tool.name),
        description: tool.description,
        schema: tool.input_schema,
        reads_only: tool.is_read_only,
        is_destructive: Some(tool.is_destructive),
    }
}
