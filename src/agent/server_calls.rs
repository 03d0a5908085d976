//! Starts the MCP servers of an agent at the start of its turn, keeps their tool definitions up to date, and runs the
//! calls of their tools.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::compact::WINDOW_ASSUMED;
use super::driver::{Control, Driver, until_interrupt};
use super::hooks::HookPermission;
use super::tool_runner::ToolRunner;
use super::turn::TurnInput;
use crate::domain::chat::ToolCall;
use crate::domain::ids::Name;
use crate::domain::memory::{GivenSource, GivenText};
use crate::domain::team::Activity;
use crate::domain::text::first_names;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::tools::policy::servers;
use crate::tools::{ToolOutput, table, tool_search};

/// Maximum time that the start of a turn waits for MCP servers. If a server becomes ready later, the first model call
/// after that includes its tools. If the model calls such a tool before that, the call waits until the server is ready.
const START_WAIT: Duration = Duration::from_secs(5);

impl Driver {
    /// Starts the MCP servers whose tools the agent may use, and waits at most [`START_WAIT`] until they are ready.
    /// Then publishes a notice that names the servers that are still starting. An interrupt ends the wait.
    pub(super) async fn start_servers(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        let Some(servers) = self.tool_runner.servers.clone() else {
            return;
        };
        let names = servers.to_start();
        if !names.is_empty() {
            self.activity(Activity::Tool {
                tool: "mcp".into(),
                on: format!("starting {}", first_names(&names)),
            })
            .await;
            let start = tokio::time::timeout(START_WAIT, servers.host.start(&names));
            match until_interrupt(control, inputs, start).await {
                Some(Ok(())) => {}
                Some(Err(_)) => {
                    self.report_late_servers(&servers.starting_servers(&names))
                        .await;
                }
                None => inputs.push_back(TurnInput::Interrupt {
                    partial: String::new(),
                }),
            }
        }
    }

    /// Updates the agent's tool definitions before a model call: servers may have become ready or changed their tools,
    /// and the agent may have found deferred tools. Adds the instructions of new servers to the next conversation
    /// message.
    pub(super) async fn update_server_tools(&mut self) {
        let Some(servers) = self.tool_runner.servers.clone() else {
            return;
        };
        let known = self.model_config().known_window();
        if servers.update(known.map_or(WINDOW_ASSUMED, |window| window.tokens)) {
            self.specs = servers.specs();
            self.state.turn.set_server_tools(servers.parallel());
        }
        for (server, text) in servers.take_instructions() {
            let mailbox = &self.tool_runner.mailbox;
            mailbox.record_given(GivenText::whole(GivenSource::Server, server, &text));
            mailbox.add_text(text);
        }
        if let Some(left_out) = servers.take_left_out() {
            self.tool_runner.mailbox.add_text(left_out.for_agent);
            let text = format!("{} {}", self.name, left_out.for_user);
            self.publish(EventKind::notice(NoticeLevel::Warn, text))
                .await;
        }
    }

    /// Makes the next model call add the instructions of the MCP servers again, because the conversation was cleared or
    /// shortened. Also forgets the recorded texts that are not in the system prompt.
    pub(super) fn forget_instructions(&self) {
        self.tool_runner.mailbox.forget_given();
        if let Some(servers) = &self.tool_runner.servers {
            servers.forget_instructions();
        }
    }

    /// Reports to the user that the turn continues without the tools of the servers `names`. Does nothing if `names` is
    /// empty.
    async fn report_late_servers(&self, names: &[String]) {
        if names.is_empty() {
            return;
        }
        let (is, its, they_are) = match names {
            [_] => (" is", "its", "it is"),
            _ => ("s are", "their", "they are"),
        };
        let text = format!(
            "MCP server{is} not ready after {} s: {}. {} continues without {its} tools until {they_are} ready.",
            START_WAIT.as_secs(),
            first_names(names),
            self.name,
        );
        self.publish(EventKind::notice(NoticeLevel::Info, text))
            .await;
    }
}

impl ToolRunner {
    /// Returns the [`McpTool::fingerprint`](crate::domain::mcp::McpTool::fingerprint) of the MCP server's tool `name`;
    /// 0 if there is no such tool or the agent may not use it.
    pub(super) fn definition_of(&self, name: &str) -> u64 {
        let tool = self.servers.as_ref().and_then(|servers| servers.find(name));
        tool.map_or(0, |tool| tool.fingerprint())
    }

    /// Runs a call of `tool_search` or of an MCP server's tool, after approval if necessary. If the server is still
    /// starting, waits for it first. Returns the output and the run time. The waits for approval and for the server do
    /// not count as run time.
    pub(super) async fn call_server(
        &self,
        agent: &Name,
        call: &ToolCall,
        hooked: &HookPermission,
    ) -> (ToolOutput, Duration) {
        let at_once = |text: String| (ToolOutput::error(text), Duration::ZERO);
        let servers = self.servers.as_ref();
        if call.name == tool_search::NAME
            && let Some(output) = servers.and_then(|servers| servers.search(&call.input))
        {
            return (self.finish(output, ""), Duration::ZERO);
        }
        let mut found = servers.and_then(|servers| Some((servers, servers.find(&call.name)?)));
        if let (None, Some(servers)) = (&found, servers) {
            servers.await_server_of(&call.name).await;
            found = servers.find(&call.name).map(|tool| (servers, tool));
        }
        let Some((servers, tool)) = found else {
            if let Some(why) = servers.and_then(|servers| servers.unavailable(&call.name)) {
                return at_once(format!("Error: {}.", why.trim_end_matches('.')));
            }
            let own = self.tools.iter().map(|tool| tool.name.to_string());
            let names: Vec<String> = own
                .chain(servers.map_or_else(Vec::new, |servers| servers.names()))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return at_once(table::unknown(&call.name, &names));
        };
        let judge = |call: &ToolCall| {
            self.with_policy_context(|standing| servers::decide(&tool, &call.input, standing))
        };
        let permit = match self.permit(agent, call, judge, hooked).await {
            Ok(permit) => permit,
            Err(why) => return at_once(why),
        };
        // The approval applies to the tool as it was defined when approval was requested.
        if servers.find(&call.name).as_ref() != Some(&tool) {
            return at_once(format!(
                "Error: not called: the MCP server {} changed or removed the tool while the call waited for approval. \
                 Check its definition before you call it again.",
                tool.server
            ));
        }
        let call = &*self.permitted_call(agent, call, permit.input).await;
        let began = Instant::now();
        let output = match servers.host.call(agent, call).await {
            Ok(result) => ToolOutput {
                images: result.images,
                ..if result.is_error {
                    ToolOutput::error(result.text)
                } else {
                    ToolOutput::ok(result.text)
                }
            },
            Err(why) => ToolOutput::error(format!("Error: {why}")),
        };
        let took = began.elapsed();
        (self.finish(output, &permit.note), took)
    }
}
