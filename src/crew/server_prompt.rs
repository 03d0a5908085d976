//! Messages of the user that call a prompt of an MCP server: `/SERVER:PROMPT ARGUMENTS`.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::attachments;
use super::offers::offered_prompts;
use crate::domain::attachment::Attachment;
use crate::domain::chat::Role;
use crate::domain::redact::Redactor;
use crate::domain::server_offers::{command, find_prompt, split_prompt};
use crate::domain::text::one_line;
use crate::mcp::{CallError, McpImage, McpPromptMessage, ServerPool};

/// Gets the prompt that `text` calls, as an attachment that the agent follows. Empty if the text calls none. Starts the
/// server if necessary.
///
/// # Errors
/// Returns one line that says why the prompt cannot be used: an unknown name, missing arguments, or a server that gives
/// no answer.
pub async fn read(
    pool: &ServerPool,
    root: &Path,
    text: &str,
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    let Some((server, typed, arguments)) = split_prompt(text) else {
        return Ok(Vec::new());
    };
    let Some(server) = pool.named(server) else {
        return Ok(Vec::new());
    };
    let refuse = |why: &str| {
        let why = why.trim_end_matches('.');
        format!("Cannot use /{server}:{typed}: {why}. The message was not sent.")
    };
    let cannot_answer = |error: CallError| refuse(&attachments::explain_call(pool, server, &error));
    let listed = pool.prompts(server).await.map_err(cannot_answer)?;
    let prompts = offered_prompts(listed);
    let prompt = find_prompt(server, typed, &prompts).map_err(|why| refuse(&why))?;
    let values = prompt.fill(arguments).map_err(|why| {
        let usage = format!("/{} {}", command(server, &prompt.name), prompt.hint());
        refuse(&format!("{why} ({})", one_line(usage.trim())))
    })?;
    let cancel = CancellationToken::new();
    let _ends_with_this = cancel.clone().drop_guard();
    let got = pool.get_prompt(server, &prompt.name, values, &cancel).await;
    let messages = got.map_err(cannot_answer)?;
    let size = match messages.len() {
        0 => return Err(refuse("the server sent no messages for it")),
        1 => "1 message".into(),
        n => format!("{n} messages"),
    };
    let (text, images) = joined(messages);
    let name = format!("/{}", command(server, &prompt.name));
    attachments::of_prompt(root, name, size, text, images, redactor).await
}

/// Returns the texts and the images of all messages. The texts name who speaks if not all are the user's.
fn joined(messages: Vec<McpPromptMessage>) -> (String, Vec<McpImage>) {
    let is_dialogue = messages.iter().any(|m| m.role == Role::Assistant);
    let mut images = Vec::new();
    let mut texts = Vec::new();
    for message in messages {
        let speaker = match message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
        };
        images.extend(message.content.images);
        texts.push(if is_dialogue {
            format!("{speaker}: {}", message.content.text)
        } else {
            message.content.text
        });
    }
    (texts.join("\n\n"), images)
}
