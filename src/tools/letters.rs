//! What the letter tools share: who may be written to, and the letter itself.

use super::{ToolContext, ToolOutput};
use crate::domain::ids::{LetterId, Name};
use crate::domain::mail::{Letter, LetterKind};
use crate::store::{Post, Roster};

/// The party that a model names: the lead, the person, or a member that is not gone.
pub fn recipient(context: &ToolContext, to: &str) -> Result<Name, ToolOutput> {
    let team = Roster::open(&context.root)
        .read()
        .map_err(|e| ToolOutput::error(format!("Error: {e}")))?;
    let unknown = || ToolOutput::error(format!("Error: {} (and lead, user)", team.unknown(to)));
    let name = Name::party(to.trim().trim_start_matches('@')).map_err(|_| unknown())?;
    if name.same(&context.agent) {
        return Err(ToolOutput::error(
            "Error: a message to yourself is not needed",
        ));
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

/// Writes a letter in the caller's own name: a model can not choose another.
pub fn send(
    context: &ToolContext,
    to: &Name,
    kind: LetterKind,
    content: &str,
) -> Result<(), ToolOutput> {
    if content.trim().is_empty() {
        return Err(ToolOutput::error("Error: an empty message was not sent"));
    }
    let id = LetterId(uuid::Uuid::now_v7().simple().to_string());
    let letter = Letter::new(id, kind, &context.agent, to, content, (context.clock)());
    Post::open(&context.root)
        .send(&letter)
        .map_err(|e| ToolOutput::error(format!("Error: {e}")))
}
