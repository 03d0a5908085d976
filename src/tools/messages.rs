//! Resolves recipients and sends messages, for all message tools.

use super::{ToolContext, ToolOutput, error_output};
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{MailKind, MailMessage};

/// Resolves a recipient: the lead, the user, or a teammate that has not shut down. A leading `@` is ignored. Fails with
/// text for the model if the recipient does not exist or is the calling agent.
pub fn recipient(context: &ToolContext, to: &str) -> Result<Name, ToolOutput> {
    let team = context.stores.roster.read().map_err(error_output)?;
    let unknown = || error_output(format!("{} (and lead, user)", team.unknown(to)));
    let name = Name::party(to.trim().trim_start_matches('@')).map_err(|_| unknown())?;
    if name.same(&context.agent) {
        return Err(error_output("you cannot send a message to yourself"));
    }
    for known in [Name::lead(), Name::user()] {
        if name.same(&known) {
            return Ok(known);
        }
    }
    let member = team
        .present()
        .find(|m| m.name.same(&name))
        .map(|m| m.name.clone());
    member.ok_or_else(unknown)
}

/// Sends a message from the calling agent. The sender is not taken from the tool's input, so a model cannot forge it.
/// Fails with text for the model if `content` is blank.
pub fn send(
    context: &ToolContext,
    to: &Name,
    kind: MailKind,
    content: &str,
) -> Result<(), ToolOutput> {
    if content.trim().is_empty() {
        return Err(error_output("the message is empty, so it was not sent"));
    }
    let id = MessageId(uuid::Uuid::now_v7().simple().to_string());
    let message = MailMessage::new(id, kind, &context.agent, to, content, (context.clock)());
    context.stores.mailbox.send(&message).map_err(error_output)
}
