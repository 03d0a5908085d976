//! Converts events of the crew to updates of the editor's conversation, which is the conversation with the lead.
//! Teammates appear in the plan, in their requests, and in messages about their failures.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, Notice, NoticeSeverity, SessionUpdate, ToolCallUpdate,
    UsageUpdate,
};

use super::plan::EditorPlan;
use super::shown_calls::ShownCalls;
use super::tool_calls;
use crate::agent::MESSAGE_FROM;
use crate::domain::chat::Outcome;
use crate::domain::checkpoint::RewindScope;
use crate::domain::ids::{CallId, Name};
use crate::domain::text::clip;
use crate::protocol::event::{NoticeLevel, TurnEnd};
use crate::protocol::{AgentEvent, CrewEvent, EventKind};

/// Maximum length of a notice, and of a message to the lead that the editor shows, in characters. A longer text is cut.
const NOTICE_MAX: usize = 2000;

/// Converts the events of one session to updates for the editor.
#[derive(Debug)]
pub struct UpdateTranslator {
    root: PathBuf,
    /// Whether the editor shows notices. Otherwise warnings and errors are sent as messages.
    has_notices: bool,
    plan: EditorPlan,
    /// The part of the lead's current answer that was already sent to the editor. `thoughts` is the sent part of its
    /// thoughts.
    answer: String,
    thoughts: String,
    /// The number of the current message in the editor's conversation, which is a part of the message's id.
    message: u64,
    calls: ShownCalls,
    usage: Option<(u64, u64)>,
}

impl UpdateTranslator {
    /// Creates a translator for one session. `has_notices` says whether the editor shows notices.
    pub fn new(root: &Path, has_notices: bool, plan: EditorPlan) -> UpdateTranslator {
        UpdateTranslator {
            root: root.to_path_buf(),
            has_notices,
            plan,
            answer: String::new(),
            thoughts: String::new(),
            message: 1,
            calls: ShownCalls::default(),
            usage: None,
        }
    }

    /// Returns the updates that show `event`, in order. Prompts are not shown; see [`UpdateTranslator::prompt`].
    pub fn translate(&mut self, event: &EventKind) -> Vec<SessionUpdate> {
        if let Some(plan) = self.plan.update(event) {
            return vec![SessionUpdate::Plan(plan)];
        }
        match event {
            EventKind::Agent { agent, event } if agent.is_lead() => self.lead(event),
            EventKind::Agent {
                agent,
                event:
                    AgentEvent::TurnEnded {
                        end: TurnEnd::Failed { error, hint },
                    },
            } => {
                let text = format!("{agent}: {error}. {hint}");
                self.notice(NoticeLevel::Error, text.trim())
            }
            EventKind::Crew(CrewEvent::Notice { level, agent, text }) => {
                let text = match agent {
                    Some(agent) => format!("{agent}: {text}"),
                    None => text.clone(),
                };
                self.notice(*level, &text)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the update that shows a message of the user.
    pub fn prompt(&mut self, text: &str, attachments: &[String]) -> Vec<SessionUpdate> {
        let mut text = text.to_string();
        for label in attachments {
            text.push_str("\n\n");
            text.push_str(label);
        }
        let id = self.next_message();
        let update = SessionUpdate::UserMessageChunk(chunk(text, id));
        self.next_message();
        vec![update]
    }

    /// Returns the update that shows `text` as a message of its own.
    pub fn message(&mut self, text: String) -> SessionUpdate {
        let id = self.next_message();
        let update = SessionUpdate::AgentMessageChunk(chunk(text, id));
        self.next_message();
        update
    }

    /// Returns the id of the lead's running call of `tool` with this input; `None` if there is none.
    pub fn running_call(&self, tool: &str, input: &str) -> Option<&str> {
        self.calls.find(tool, input)
    }

    /// Returns the updates that end the calls that are still running. Used after a replay, for calls that ended with an
    /// earlier process.
    pub fn end_calls(&mut self) -> Vec<SessionUpdate> {
        let ended = "The call ended with the session.";
        let end = |id: String| tool_calls::finished(&id, Outcome::Error, ended, "", &self.root);
        let ids = self.calls.close_all().into_iter();
        ids.map(|id| SessionUpdate::ToolCallUpdate(end(id)))
            .collect()
    }

    /// Returns the updates that show a notice. If the editor does not show notices, a warning or an error is sent as a
    /// message, and a notice of the level `Info` is not sent.
    fn notice(&mut self, level: NoticeLevel, text: &str) -> Vec<SessionUpdate> {
        let text = clip(text, NOTICE_MAX);
        let (severity, word) = match level {
            NoticeLevel::Info => (NoticeSeverity::Info, ""),
            NoticeLevel::Warn => (NoticeSeverity::Warning, "Warning: "),
            NoticeLevel::Error => (NoticeSeverity::Error, "Error: "),
        };
        if self.has_notices {
            return vec![SessionUpdate::Notice(Notice::new(severity, text))];
        }
        match level {
            NoticeLevel::Info => Vec::new(),
            NoticeLevel::Warn | NoticeLevel::Error => {
                vec![self.message(format!("{word}{text}\n"))]
            }
        }
    }

    fn lead(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        match event {
            AgentEvent::TextDelta { text } => {
                self.answer.push_str(text);
                vec![self.answer_chunk(text)]
            }
            AgentEvent::ThinkingDelta { text } => {
                self.thoughts.push_str(text);
                vec![self.thought_chunk(text)]
            }
            AgentEvent::StreamReset => self.reset(),
            AgentEvent::AnswerFinished { text, thinking, .. } => self.finish(text, thinking),
            AgentEvent::ToolStarted {
                call,
                tool,
                on,
                input,
            } => {
                let command = input.get("command").and_then(|command| command.as_str());
                let text = command.map_or_else(|| input.to_string(), str::to_string);
                let is_known = self.calls.is_running(call);
                let id = self.calls.open(call, tool, text);
                let shown = tool_calls::started(&id, tool, on, input, &self.root);
                vec![if is_known {
                    // A hook has changed a call that was announced.
                    SessionUpdate::ToolCallUpdate(shown.into())
                } else {
                    SessionUpdate::ToolCall(shown)
                }]
            }
            AgentEvent::ToolFinished {
                call,
                outcome,
                output,
                diff,
                ..
            } => self.close(call, |id, root| {
                tool_calls::finished(id, *outcome, output, diff, root)
            }),
            AgentEvent::UserCommandStarted { call, command } => {
                let id = self.calls.open(call, "", String::new());
                let input = serde_json::json!({ "command": command });
                let shown = tool_calls::started(&id, "bash", command, &input, &self.root);
                vec![SessionUpdate::ToolCall(shown)]
            }
            AgentEvent::UserCommandEnded {
                call,
                outcome,
                output,
                ..
            } => self.close(call, |id, root| {
                tool_calls::finished(id, *outcome, output, "", root)
            }),
            AgentEvent::UsageChanged {
                context,
                window: Some(window),
                ..
            } if self.usage.replace((*context, *window)) != Some((*context, *window)) => {
                vec![SessionUpdate::UsageUpdate(UsageUpdate::new(
                    *context, *window,
                ))]
            }
            AgentEvent::ContextAdded { what, text } => match what.strip_prefix(MESSAGE_FROM) {
                // Also from the user, who can write in a viewer: the name alone proves nothing.
                Some(from) if !from.contains(' ') => {
                    let text = clip(text, NOTICE_MAX);
                    vec![self.message(format!("Message from {from}: {text}\n"))]
                }
                Some(_) | None => Vec::new(),
            },
            AgentEvent::Compacted { .. } => {
                vec![self.message("The conversation was summarised.\n".into())]
            }
            AgentEvent::Cleared { .. } => {
                vec![self.message("The lead's conversation was emptied.\n".into())]
            }
            AgentEvent::Rewound {
                checkpoint, scope, ..
            } => {
                let what = match scope {
                    RewindScope::Files => "files were",
                    RewindScope::Conversation => "conversation was",
                    RewindScope::Both => "files and conversation were",
                };
                let text = format!("The lead's {what} rewound to checkpoint {checkpoint}.\n");
                vec![self.message(text)]
            }
            AgentEvent::TurnEnded {
                end: TurnEnd::Stopped { why },
            } => {
                vec![self.message(format!("The lead stopped: {why}.\n"))]
            }
            _ => Vec::new(),
        }
    }

    /// Ends the lead's answer. Returns updates for the parts of the answer that were not sent yet. There are such parts
    /// if pieces of the answer were dropped, and if the answer comes from the journal, which contains no pieces.
    fn finish(&mut self, text: &str, thinking: &str) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        let thoughts = std::mem::take(&mut self.thoughts);
        let answer = std::mem::take(&mut self.answer);
        // Thoughts are not repeated if one of their pieces was dropped.
        if let Some(rest) = thinking.strip_prefix(thoughts.as_str())
            && !rest.is_empty()
            && (answer.is_empty() || thoughts.is_empty())
        {
            updates.push(self.thought_chunk(rest));
        }
        match text.strip_prefix(answer.as_str()) {
            Some("") => {}
            Some(rest) => updates.push(self.answer_chunk(rest)),
            None if answer.trim_end() == text.trim_end() || answer.starts_with(text) => {}
            None => {
                self.next_message();
                updates.push(self.answer_chunk(text));
            }
        }
        self.next_message();
        updates
    }

    /// Ends an answer that was cut off; the model then begins its answer again. If a part of the answer was already
    /// sent, returns an update that says so.
    fn reset(&mut self) -> Vec<SessionUpdate> {
        let was_shown = !self.answer.is_empty();
        self.answer.clear();
        self.thoughts.clear();
        if !was_shown {
            return Vec::new();
        }
        let update = self.answer_chunk("\n\n(The answer was cut off; the lead answers again.)\n\n");
        self.next_message();
        vec![update]
    }

    fn answer_chunk(&self, text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(chunk(text.into(), self.message_id()))
    }

    fn thought_chunk(&self, text: &str) -> SessionUpdate {
        let id = MessageId::new(format!("thoughts-{}", self.message));
        SessionUpdate::AgentThoughtChunk(chunk(text.into(), id))
    }

    fn message_id(&self) -> MessageId {
        MessageId::new(format!("message-{}", self.message))
    }

    fn next_message(&mut self) -> MessageId {
        self.message += 1;
        self.message_id()
    }

    fn close(
        &mut self,
        call: &CallId,
        show: impl FnOnce(&str, &Path) -> ToolCallUpdate,
    ) -> Vec<SessionUpdate> {
        let id = self.calls.close(call);
        let update = id.map(|id| SessionUpdate::ToolCallUpdate(show(&id, &self.root)));
        update.into_iter().collect()
    }
}

/// Returns `title`, preceded by the name of `agent` if the agent is not the lead.
pub fn of_agent(agent: &Name, title: &str) -> String {
    if agent.is_lead() {
        title.into()
    } else {
        format!("{agent}: {title}")
    }
}

fn chunk(text: String, id: MessageId) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text)).message_id(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    fn translator(has_notices: bool) -> UpdateTranslator {
        UpdateTranslator::new(Path::new("/p"), has_notices, EditorPlan::default())
    }

    fn delta(text: &str) -> AgentEvent {
        AgentEvent::TextDelta { text: text.into() }
    }

    fn finished(text: &str) -> AgentEvent {
        AgentEvent::AnswerFinished {
            text: text.into(),
            thinking: String::new(),
            thought_ms: 0,
        }
    }

    /// Returns the updates that the lead's events cause: kind, message id and text.
    fn shown(translator: &mut UpdateTranslator, events: Vec<AgentEvent>) -> Vec<[String; 3]> {
        let updates = events
            .into_iter()
            .flat_map(|e| translator.translate(&e.of(Name::lead())));
        let field = |value: &Value| value.as_str().unwrap_or_default().to_string();
        updates
            .map(|update| {
                let json = serde_json::to_value(update).unwrap();
                [
                    &json["sessionUpdate"],
                    &json["messageId"],
                    &json["content"]["text"],
                ]
                .map(field)
            })
            .collect()
    }

    #[test]
    fn rest_of_an_answer_is_sent_when_it_is_finished() {
        let text = |id: &str, text: &str| ["agent_message_chunk", id, text].map(str::to_string);
        let mut all = translator(false);
        // Everything arrived; the last piece was dropped; a piece in the middle was dropped; no pieces at all.
        let events = vec![delta("a"), delta("b"), finished("ab")];
        assert_eq!(
            shown(&mut all, events),
            [text("message-1", "a"), text("message-1", "b")]
        );
        let events = vec![delta("a"), finished("abc")];
        assert_eq!(
            shown(&mut all, events),
            [text("message-2", "a"), text("message-2", "bc")]
        );
        let events = vec![delta("a"), delta("c"), finished("abc")];
        assert_eq!(
            shown(&mut all, events).last().unwrap(),
            &text("message-4", "abc")
        );
        assert_eq!(
            shown(&mut all, vec![finished("x")]),
            [text("message-5", "x")]
        );
    }

    #[test]
    fn answer_that_begins_again_is_a_new_message() {
        let mut all = translator(false);
        let events = vec![
            delta("half"),
            AgentEvent::StreamReset,
            delta("whole"),
            finished("whole"),
        ];
        let ids: Vec<String> = shown(&mut all, events)
            .into_iter()
            .map(|[_, id, _]| id)
            .collect();
        assert_eq!(ids, ["message-1", "message-1", "message-2"]);
        assert_eq!(shown(&mut all, vec![AgentEvent::StreamReset]).len(), 0);
    }

    #[test]
    fn notices_are_messages_if_the_editor_has_no_notices() {
        let warning = EventKind::notice(NoticeLevel::Warn, "no space");
        let info = EventKind::notice(NoticeLevel::Info, "merged");
        let json = |updates: Vec<SessionUpdate>| serde_json::to_value(updates).unwrap();
        let mut with = translator(true);
        let expected =
            json!([{ "sessionUpdate": "notice", "severity": "warning", "title": "no space" }]);
        assert_eq!(json(with.translate(&warning)), expected);
        assert_eq!(with.translate(&info).len(), 1);
        let mut without = translator(false);
        let shown = json(without.translate(&warning));
        assert_eq!(shown[0]["content"]["text"], "Warning: no space\n");
        assert_eq!(without.translate(&info).len(), 0);
    }

    #[test]
    fn calls_with_the_same_id_are_different_calls() {
        let mut all = translator(false);
        let started = |command: &str| AgentEvent::ToolStarted {
            call: CallId("1".into()),
            tool: "bash".into(),
            on: command.into(),
            input: json!({ "command": command }),
        };
        for id in ["call-1", "call-2"] {
            for (command, kind) in [("first", "tool_call"), (id, "tool_call_update")] {
                let updates = all.translate(&started(command).of(Name::lead()));
                let shown = serde_json::to_value(&updates[0]).unwrap();
                assert_eq!(shown["toolCallId"], id);
                assert_eq!(shown["sessionUpdate"], kind);
            }
            assert_eq!(all.running_call("bash", id), Some(id));
            let done = AgentEvent::ToolFinished {
                call: CallId("1".into()),
                tool: "bash".into(),
                outcome: Outcome::Ok,
                output: "ok".into(),
                diff: String::new(),
                took_ms: 1,
            };
            let updates = all.translate(&done.of(Name::lead()));
            assert_eq!(serde_json::to_value(&updates[0]).unwrap()["toolCallId"], id);
            assert_eq!(all.running_call("bash", id), None);
        }
    }
}
