//! The protocol of the agent socket, through which an external agent calls tools of its crew. Each side sends JSON
//! objects, one per line. The client first sends [`ToCrew::Hello`], and the crew answers with [`FromCrew::Welcome`] or
//! [`FromCrew::Error`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol. Both sides must have the same one.
pub const VERSION: u32 = 2;
/// The environment variable of `crewdeck mcp-serve` that contains the path of the socket.
pub const SOCKET_VARIABLE: &str = "CREWDECK_SOCKET";
/// The environment variable of `crewdeck mcp-serve` that contains the token of the agent.
pub const TOKEN_VARIABLE: &str = "CREWDECK_TOKEN";
/// Maximum number of unfinished calls of one connection.
pub const CALLS_MAX: usize = 16;
/// Maximum length, in bytes, of a line to the crew.
pub const CALL_LINE_MAX: usize = 1024 * 1024;
/// Maximum length, in bytes, of a line from the crew.
pub const RESULT_LINE_MAX: usize = 16 * 1024 * 1024;

/// A line that the client sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToCrew {
    Hello {
        version: u32,
        token: String,
    },
    /// Calls a tool. No other unfinished call of the connection may have the same `id`.
    Call {
        id: u64,
        tool: String,
        #[serde(default)]
        input: Value,
    },
    /// Cancels a call, which then gets no result. Ignored if the call has ended.
    Cancel {
        id: u64,
    },
}

/// A line that the crew sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromCrew {
    /// The token is valid and belongs to the agent `agent`, which can call `tools`.
    Welcome {
        agent: String,
        tools: Vec<SocketTool>,
        /// Whether the tools can change later. If so, [`FromCrew::Tools`] reports each change.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tools_change: bool,
    },
    /// The tools have changed. Contains all tools that the agent can now call.
    Tools { tools: Vec<SocketTool> },
    Result {
        id: u64,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<SocketImage>,
        is_error: bool,
    },
    /// Why the crew closes the connection after this line.
    Error { error: String },
}

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SocketTool {
    pub name: String,
    /// The description that the model reads.
    pub description: String,
    /// The JSON schema of the input.
    pub schema: Value,
    pub reads_only: bool,
    /// Whether the tool may change or delete data, as its MCP server says. `None` for the crew's own tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_destructive: Option<bool>,
}

/// An image in the result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SocketImage {
    /// The MIME type, such as `image/png`.
    pub media_type: String,
    /// The content in base64.
    pub data: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_have_the_documented_form() {
        let call = r#"{"type":"call","id":7,"tool":"task_list"}"#;
        let expected = ToCrew::Call {
            id: 7,
            tool: "task_list".into(),
            input: Value::Null,
        };
        assert_eq!(serde_json::from_str::<ToCrew>(call).unwrap(), expected);
        let result = FromCrew::Result {
            id: 7,
            text: "No tasks.".into(),
            images: Vec::new(),
            is_error: false,
        };
        let expected = json!({"type": "result", "id": 7, "text": "No tasks.", "is_error": false});
        assert_eq!(serde_json::to_value(result).unwrap(), expected);
    }

    #[test]
    fn hello_of_a_later_version_can_be_read() {
        let hello = r#"{"type":"hello","version":9,"token":"t","more":[1]}"#;
        let expected = ToCrew::Hello {
            version: 9,
            token: "t".into(),
        };
        assert_eq!(serde_json::from_str::<ToCrew>(hello).unwrap(), expected);
    }
}
