//! Builds the first message after a compaction: the summary, and state that is kept word for word.

use std::collections::HashSet;

use crate::domain::attachment::ATTACHED;
use crate::domain::chat::{Block, Message, Role};
use crate::domain::ids::CallId;
use crate::domain::task::Task;
use crate::domain::text::head_and_tail;
use crate::domain::todo::TodoList;

const SKILL_TOOL: &str = "load_skill";
/// The start tag of the block that contains the user's own messages after a compaction. Transcripts on disk contain
/// this tag, so it must not change.
const SAID: &str = "<person-said>";
/// The start of the text that the tool `load_skill` returns.
const SKILL: &str = "<skill name=";

/// The beginnings of the text blocks that the crew adds to a conversation. Text blocks that begin otherwise count as
/// the user's own messages.
const CREW: &[&str] = &[
    "[Conversation compressed.",
    ATTACHED,
    "<auto-claimed>",
    "<background-results>",
    "<crew>",
    "<decisions>",
    "<hook>",
    "<identity>",
    "<inbox>",
    "<open-task>",
    "<reminder>",
    "<server name=",
    "<todos>",
    "<user-command ",
    SKILL,
];

/// The state that a compaction puts into the new conversation, in addition to the summary.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeptState {
    /// The agent's name, role and team as text; empty for the lead.
    pub identity: String,
    pub todo: TodoList,
    pub task: Option<Task>,
    /// The newest decisions on requests from or to the agent, oldest first, one line each.
    pub decisions: Vec<String>,
    /// The path of the file with the whole conversation before the compaction, relative to the root.
    pub transcript: String,
    /// A fingerprint of files, commits, board, messages and requests at the compaction. `None` if it is unknown, and
    /// for a subagent that only reads. The next compaction compares it with the new one. If they are equal, and the
    /// agent has received no message and read nothing new in between, the agent is stuck and its turn ends.
    pub work: Option<u64>,
}

/// Returns the message that replaces the conversation `messages`. The summary, the user's messages and the skills each
/// get at most a third of `room` bytes. The identity, the decisions, the open task and the todo list need further
/// bytes. The summary and the task's description are not cut below 1000 bytes, even if a third of `room` is less.
pub fn rebuild(messages: &[Message], summary: &str, keep: &KeptState, room: usize) -> Message {
    let part = room / 3;
    let summary = match summary.trim() {
        "" => "No summary generated.",
        text => text,
    };
    let mut blocks = vec![Block::text(format!(
        "[Conversation compressed. Transcript: {}]\n\n{}",
        keep.transcript,
        head_and_tail(summary, part.max(1000))
    ))];
    if !keep.identity.is_empty() {
        blocks.push(Block::text(format!(
            "<identity>{}</identity>",
            keep.identity
        )));
    }
    blocks.extend(user_messages(messages, part));
    blocks.extend(skills(messages, part));
    if !keep.decisions.is_empty() {
        let lines = keep.decisions.join("\n");
        blocks.push(Block::text(format!("<decisions>\n{lines}\n</decisions>")));
    }
    if let Some(task) = &keep.task {
        blocks.push(Block::text(format!(
            "<open-task>Task #{}: {}\n{}</open-task>",
            task.id.0,
            task.subject,
            head_and_tail(&task.description, part.max(1000))
        )));
    }
    if keep.todo.has_open() {
        let lines = keep.todo.render();
        blocks.push(Block::text(format!("<todos>\n{lines}\n</todos>")));
    }
    Message::user(blocks)
}

/// Returns the user's own messages as one block, oldest first; `None` if there are none. If they need more than `room`
/// bytes, a note replaces the oldest. If the newest alone is longer, its middle is cut out.
fn user_messages(messages: &[Message], room: usize) -> Option<Block> {
    let mut all: Vec<&str> = Vec::new();
    for message in messages.iter().filter(|m| m.role == Role::User) {
        for block in &message.blocks {
            let Block::Text { text } = block else {
                continue;
            };
            if let Some(before) = text.strip_prefix(SAID) {
                all.push(before.trim_end_matches("</person-said>").trim());
            } else if !CREW.iter().any(|c| text.starts_with(c)) && !text.trim().is_empty() {
                all.push(text);
            }
        }
    }
    let mut left = room;
    let mut kept: Vec<String> = Vec::new();
    for text in all.into_iter().rev() {
        // The newest message matters most: if it is too long, a part of it is kept.
        let text = if kept.is_empty() {
            head_and_tail(text, room)
        } else {
            text.to_string()
        };
        if text.len() > left && !kept.is_empty() {
            kept.push("[Earlier messages were omitted here.]".into());
            break;
        }
        left = left.saturating_sub(text.len());
        kept.push(text);
    }
    kept.reverse();
    let text = kept.join("\n---\n");
    (!text.is_empty()).then(|| Block::text(format!("{SAID}\n{text}\n</person-said>")))
}

/// Returns the loaded skills, each once, oldest first. Newer skills have precedence: beginning with the newest, each
/// text is kept if it fits into what is left of `room` bytes. A note replaces the text of a skill that does not fit.
fn skills(messages: &[Message], room: usize) -> Vec<Block> {
    let calls: HashSet<&CallId> = messages
        .iter()
        .flat_map(Message::calls)
        .filter(|c| c.name == SKILL_TOOL)
        .map(|c| &c.id)
        .collect();
    let texts = messages
        .iter()
        .flat_map(|m| &m.blocks)
        .filter_map(|b| match b {
            Block::Text { text } if text.starts_with(SKILL) => Some(text.as_str()),
            Block::ToolResult { call, content, .. }
                if calls.contains(call) && content.starts_with(SKILL) =>
            {
                Some(content.as_str())
            }
            _ => None,
        });
    let all: Vec<&str> = texts.collect();
    let mut left = room;
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for text in all.into_iter().rev() {
        let name = text.lines().next().unwrap_or_default();
        if !seen.insert(name) {
            continue;
        }
        if text.len() > left {
            let gone = "Too long to keep: load it again with load_skill.";
            kept.push(Block::text(format!("{name}\n{gone}\n</skill>")));
            continue;
        }
        left -= text.len();
        kept.push(Block::text(text));
    }
    kept.reverse();
    kept
}
