//! Messages of the user that call a prompt of an MCP server: `/SERVER:PROMPT ARGUMENTS`.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::attachments;
use super::offers::offered_prompts;
use crate::agent::driver::run_blocking;
use crate::domain::attachment::Attachment;
use crate::domain::chat::Role;
use crate::domain::redact::Redactor;
use crate::domain::server_offers::{command, find_prompt, split_prompt};
use crate::domain::text::{closest_match, one_line};
use crate::mcp::{CallError, McpImage, McpPromptMessage, ServerPool};
use crate::store::Skills;

/// Returns whether a message may call a prompt of an MCP server. A message that calls a command file does not, since
/// command files take precedence.
pub async fn calls_prompt(skills: &Skills, text: &str) -> bool {
    if split_prompt(text).is_none() {
        return false;
    }
    let (skills, text) = (skills.clone(), text.to_string());
    let from_file = run_blocking(move || Ok(skills.expand(&text).is_some())).await;
    !from_file.unwrap_or(false)
}

/// Gets the prompt of an MCP server that `text` calls, and returns it as attachments. The agent treats the text of
/// these attachments as a command. Returns an empty list if `text` calls no prompt. Starts the server if necessary.
///
/// # Errors
/// Returns one line for the user that says why the prompt cannot be used. For example, its name is unknown, an argument
/// is missing, or the server does not answer.
pub async fn read(
    pool: &ServerPool,
    root: &Path,
    text: &str,
    redactor: &Redactor,
) -> Result<Vec<Attachment>, String> {
    let Some((server, typed, arguments)) = split_prompt(text) else {
        return Ok(Vec::new());
    };
    let Some(server) = pool.resolve_name(server) else {
        return unknown(pool, server, typed, arguments);
    };
    let refuse = |why: &str| {
        let why = why.trim_end_matches('.');
        format!("Cannot use /{server}:{typed}: {why}. The message was not sent.")
    };
    let cannot_answer = |error: CallError| refuse(&attachments::explain_call(&error));
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
        0 => return Err(refuse("the server returned no messages for this prompt")),
        1 => "1 message".into(),
        n => format!("{n} messages"),
    };
    let (text, images) = join_messages(messages);
    let name = format!("/{}", command(server, &prompt.name));
    attachments::of_prompt(root, name, size, text, images, redactor).await
}

/// Handles the message `/server:typed arguments` if no server is named `server`. Returns an error for the user if the
/// name is similar to that of a server, or if `arguments` is empty. Otherwise the message does not call a prompt, and
/// the result is an empty list.
fn unknown(
    pool: &ServerPool,
    server: &str,
    typed: &str,
    arguments: &str,
) -> Result<Vec<Attachment>, String> {
    let all = pool.status();
    let names: Vec<&str> = all.iter().map(|status| status.name.as_str()).collect();
    let help = match closest_match(server, &names) {
        Some(near) => format!("Did you mean /{near}:{typed}?"),
        None if arguments.is_empty() => format!("The servers are {}.", names.join(", ")),
        None => return Ok(Vec::new()),
    };
    Err(format!(
        "Cannot use /{server}:{typed}: no MCP server is named {server}. {help} The message was not sent."
    ))
}

/// Returns the texts of all messages of a prompt, joined with blank lines, and the images of all messages. If at least
/// one message is from the assistant, each text begins with `User: ` or `Assistant: `.
fn join_messages(messages: Vec<McpPromptMessage>) -> (String, Vec<McpImage>) {
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
