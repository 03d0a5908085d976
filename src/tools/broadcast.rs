//! `broadcast`: sends a message to the lead and to every teammate that has not shut down, except the sender.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, format_field, messages, schema_of,
};
use crate::domain::ids::Name;
use crate::domain::mail::MailKind;

pub const TOOL: Tool = Tool {
    name: "broadcast",
    text: include_str!("broadcast.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "content"),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Text of the message.
    #[serde(alias = "message", alias = "text")]
    content: String,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let team = context.stores.roster.read().map_err(error_output)?;
    let mut to: Vec<Name> = team.present().map(|m| m.name.clone()).collect();
    to.push(Name::lead());
    to.retain(|name| !name.same(&context.agent));
    for name in &to {
        messages::send(context, name, MailKind::Broadcast, &input.content)?;
    }
    Ok(ToolOutput::ok(receipt(&to)))
}

/// Returns the tool result. It says how many of the recipients `to` are teammates, and whether the lead is one of them.
fn receipt(to: &[Name]) -> String {
    let teammates = to.iter().filter(|name| !name.is_lead()).count();
    let lead = if teammates < to.len() {
        " and the lead"
    } else {
        ""
    };
    let plural = if teammates == 1 { "" } else { "s" };
    format!("Broadcast to {teammates} teammate{plural}{lead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lead_is_not_counted_as_a_teammate() {
        let bob = || Name::member("bob").unwrap();
        assert_eq!(receipt(&[bob()]), "Broadcast to 1 teammate");
        let to = [bob(), Name::lead()];
        assert_eq!(receipt(&to), "Broadcast to 1 teammate and the lead");
        assert_eq!(receipt(&[bob(), bob()]), "Broadcast to 2 teammates");
    }
}
