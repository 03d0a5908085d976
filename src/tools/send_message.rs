//! `send_message`: sends a message to one recipient.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking, messages,
    schema_of,
};
use crate::domain::mail::MailKind;
use crate::domain::text::one_line;

/// The start of an urgent message.
const URGENT: &str = "(Urgent. If your work was interrupted for this message, continue it as far as the message allows.)";

pub const TOOL: Tool = Tool {
    name: "send_message",
    text: include_str!("send_message.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |input| {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        one_line(&format!("to {}: {}", text("to"), text("content")))
    },
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Recipient: lead, user, or the name of a teammate.
    to: String,
    /// Text of the message.
    #[serde(alias = "message", alias = "text")]
    content: String,
    /// Interrupt an external agent with it.
    #[serde(default)]
    urgent: bool,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let to = messages::recipient(context, &input.to)?;
    if !input.urgent {
        messages::send(context, &to, MailKind::Message, &input.content)?;
        return Ok(ToolOutput::ok(format!("Sent message to {to}")));
    }
    let content = match input.content.trim() {
        "" => String::new(),
        content => format!("{URGENT}\n{content}"),
    };
    messages::send(context, &to, MailKind::Message, &content)?;
    // The message is in the inbox already, so the recipient reads it after the interrupt.
    let how = if context.host.interrupt_external(&to) {
        ", and interrupted its work"
    } else {
        ""
    };
    Ok(ToolOutput::ok(format!("Sent urgent message to {to}{how}")))
}
