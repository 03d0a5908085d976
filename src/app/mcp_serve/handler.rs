//! Answers the MCP requests of the external agent.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, Tool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::crew_connection::{CrewConnection, Greeting};
use crate::protocol::agent_socket::SocketTool;

/// The tools of the crew, as an MCP server.
pub struct CrewTools {
    crew: Arc<CrewConnection>,
    agent: String,
    tools: Vec<Tool>,
}

impl CrewTools {
    pub fn new(crew: Arc<CrewConnection>, greeting: Greeting) -> CrewTools {
        CrewTools {
            crew,
            agent: greeting.agent,
            tools: greeting.tools.into_iter().map(define).collect(),
        }
    }
}

/// Converts the definition of a tool. A schema that is not an object becomes an empty one.
fn define(tool: SocketTool) -> Tool {
    let schema = match tool.schema {
        Value::Object(schema) => schema,
        _ => serde_json::Map::default(),
    };
    let annotations = ToolAnnotations::new()
        .read_only(tool.reads_only)
        .destructive(false)
        .open_world(false);
    Tool::new(tool.name, tool.description, schema).with_annotations(annotations)
}

impl ServerHandler for CrewTools {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let version = env!("CARGO_PKG_VERSION");
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new("crewdeck", version))
            .with_instructions(format!(
                "The tools of the crewdeck team in which you are the teammate {}: its board of tasks, its messages, and \
                 requests to its user.",
                self.agent
            ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let result = tokio::select! {
            // The client gets no answer to a call that it has cancelled.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
            result = self.crew.call(request.name.into_owned(), input) => result,
        };
        let images = result.images.into_iter();
        let images = images.map(|image| ContentBlock::image(image.data, image.media_type));
        let content = [ContentBlock::text(result.text)].into_iter().chain(images);
        let content: Vec<ContentBlock> = content.collect();
        Ok(CallToolResponse::from(if result.is_error {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        }))
    }
}
