//! Turns the messages of a conversation back into the events with which a screen shows them.

use std::collections::HashMap;

use super::published_calls::started_event;
use crate::domain::chat::{Block, Message, Outcome, Role, ToolCall};
use crate::domain::ids::Name;
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::protocol::event::{AgentEvent, EventKind};

/// Maximum number of messages that are shown. Earlier ones are only counted.
const MESSAGES_MAX: usize = 200;
/// Maximum size of one text in the events, in bytes.
const TEXT_MAX: usize = 8 * 1024;
/// Maximum length of the summary of a text that is not a prompt, in characters.
const SUMMARY_MAX: usize = 80;

/// Returns the events that show `messages`, the oldest first. Images and the time that calls took are not shown.
pub fn shown_events(messages: &[Message]) -> Vec<AgentEvent> {
    let hidden = messages.len().saturating_sub(MESSAGES_MAX);
    let mut events = Vec::new();
    if hidden > 0 {
        let what = format!("{hidden} earlier messages of the conversation are not shown");
        let text = String::new();
        events.push(AgentEvent::ContextAdded { what, text });
    }
    let mut tools = HashMap::new();
    for message in messages.iter().skip(hidden) {
        for block in &message.blocks {
            let event = match block {
                Block::Text { text } => Some(shown_text(message.role, text)),
                Block::ToolCall(call) => {
                    tools.insert(call.id.clone(), call.name.clone());
                    started(call)
                }
                Block::ToolResult {
                    call,
                    content,
                    outcome,
                } => tools.remove(call).map(|tool| AgentEvent::ToolFinished {
                    call: call.clone(),
                    tool,
                    outcome: *outcome,
                    output: head_and_tail(content, TEXT_MAX),
                    diff: String::new(),
                    took_ms: 0,
                }),
                Block::Image(_) | Block::Thinking { .. } | Block::ProviderItem(_) => None,
            };
            events.extend(event);
        }
    }
    // Calls whose results are not part of the conversation.
    let open = tools
        .into_iter()
        .map(|(call, tool)| AgentEvent::ToolFinished {
            call,
            tool,
            outcome: Outcome::Error,
            output: String::new(),
            diff: String::new(),
            took_ms: 0,
        });
    events.extend(open);
    events
}

fn shown_text(role: Role, text: &str) -> AgentEvent {
    let shown = head_and_tail(text, TEXT_MAX);
    match role {
        Role::Assistant => AgentEvent::AnswerFinished {
            text: shown,
            thinking: String::new(),
            thought_ms: 0,
        },
        // Texts of the crew are in tags.
        Role::User if text.trim_start().starts_with('<') => AgentEvent::ContextAdded {
            what: clip(&one_line(without_tags(text)), SUMMARY_MAX),
            text: shown,
        },
        Role::User => AgentEvent::prompt(shown),
    }
}

fn started(call: &ToolCall) -> Option<AgentEvent> {
    match started_event(&Name::lead(), call) {
        EventKind::Agent { event, .. } => Some(event),
        _ => None,
    }
}

/// Returns the content of the first tag of a text of the crew, such as `Task #1: Write it` for
/// `<auto-claimed>Task #1: Write it</auto-claimed>`. Returns a text without tags unchanged.
pub fn without_tags(text: &str) -> &str {
    let text = text.trim();
    let Some((_, inner)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
        return text;
    };
    let end = inner.find("</").unwrap_or(inner.len());
    match inner.get(..end).map(str::trim) {
        Some(inner) if !inner.is_empty() => inner,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::CallId;
    use pretty_assertions::assert_eq;

    #[test]
    fn texts_of_the_crew_lose_their_tags() {
        for (text, expected) in [
            ("plain", "plain"),
            (
                "<auto-claimed>Task #1: Write it\n</auto-claimed>\n<worktree>x</worktree>",
                "Task #1: Write it",
            ),
            ("<crew>All done.", "All done."),
            ("<b></b>", "<b></b>"),
            ("1 < 2", "1 < 2"),
        ] {
            assert_eq!(without_tags(text), expected);
        }
    }

    #[test]
    fn conversation_becomes_the_events_that_show_it() {
        let id = CallId("c1".into());
        let call = ToolCall {
            id: id.clone(),
            name: "read_file".into(),
            input: serde_json::json!({"path": "a.txt"}),
            broken: None,
        };
        let messages = [
            Message::user(vec![Block::text("<crew>Hi.</crew>"), Block::text("go")]),
            Message::assistant(vec![Block::text("reading"), Block::ToolCall(call)]),
            Message::user(vec![Block::ToolResult {
                call: id.clone(),
                content: "text".into(),
                outcome: Outcome::Ok,
            }]),
        ];
        let events = shown_events(&messages);
        let tags: Vec<String> = events
            .iter()
            .map(|event| {
                serde_json::to_value(event).unwrap()["type"]
                    .as_str()
                    .unwrap()
                    .into()
            })
            .collect();
        assert_eq!(
            tags,
            [
                "injected",
                "prompted",
                "said",
                "tool_started",
                "tool_finished"
            ]
        );
        assert!(matches!(&events[0], AgentEvent::ContextAdded { what, .. } if what == "Hi."));
        // A call without a result does not look like one that runs.
        let events = shown_events(&messages[..2]);
        assert!(matches!(
            events.last(),
            Some(AgentEvent::ToolFinished { .. })
        ));
        let many = vec![Message::user(vec![Block::text("x")]); MESSAGES_MAX + 5];
        assert_eq!(shown_events(&many).len(), MESSAGES_MAX + 1);
    }
}
