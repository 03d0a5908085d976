//! A session of the editor: a crew that runs in this process, and the conversation with its lead as the editor shows it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use agent_client_protocol::RawJsonRpcId;
use agent_client_protocol::v1::schema::{
    CLIENT_METHOD_NAMES, CancelRequestNotification, ContentBlock, Error,
    RequestId as EditorRequestId, SessionId, SessionNotification, SessionUpdate, StopReason,
};
use anyhow::Result;
use serde_json::Value;

use super::commands;
use super::connection::{EditorGone, EditorOutput};
use super::open_prompt::{CancelCommands, OpenPrompt, PromptEnd, PromptPhase, PromptStep};
use super::prompts::{self, SentFiles};
use super::requests::{EditorAnswer, EditorQuestion, EditorRequests, Withdrawal};
use super::updates::UpdateTranslator;
use crate::app::headless::eprint_line;
use crate::app::journal::JournalWriter;
use crate::app::lock::CrewLock;
use crate::crew::Crew;
use crate::domain::ids::Name;
use crate::domain::redact::Redactor;
use crate::protocol::event::TeamEvent;
use crate::protocol::{
    AgentEvent, Command, CommandId, CommandIds, CrewEvent, Event, EventKind, EventReceiver,
};

/// The method name of the notification that cancels a request to the editor.
const CANCEL_REQUEST: &str = "$/cancel_request";

/// Maximum time that [`EditorSession::stop`] waits until the answer to the last prompt is queued for the editor.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// A running crew and its conversation in the editor.
pub struct EditorSession {
    pub id: SessionId,
    pub(super) root: PathBuf,
    pub(super) crew: Crew,
    pub(super) events: EventReceiver,
    /// Events that were received while the session started, and are not handled yet.
    pub(super) backlog: VecDeque<Event>,
    pub(super) journal: JournalWriter,
    pub(super) lock: CrewLock,
    pub(super) ids: CommandIds,
    pub(super) redactor: Redactor,
    pub(super) translator: UpdateTranslator,
    pub(super) requests: EditorRequests,
    pub(super) prompt: Option<OpenPrompt>,
    pub(super) files: SentFiles,
    pub(super) is_lead_active: bool,
    /// Whether the crew is idle. True from [`CrewEvent::AllIdle`] until a prompt is sent or an agent begins a turn.
    pub(super) is_idle: bool,
}

impl EditorSession {
    /// Returns whether an agent of the crew works or a prompt from the editor has not ended.
    pub fn is_busy(&self) -> bool {
        self.prompt.is_some() || !self.is_idle
    }

    /// Waits for the next event of the crew. Returns `None` if the crew has ended. No event is lost if the future is
    /// dropped.
    pub async fn next(&mut self) -> Option<Event> {
        match self.backlog.pop_front() {
            Some(event) => Some(event),
            None => self.events.next().await,
        }
    }

    /// Records an event in the journal and shows it in the editor. Also asks the user about new requests, and answers
    /// the prompt if the event ends it.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn handle(
        &mut self,
        event: &Event,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        if let Some(text) = self.journal.note(event) {
            eprint_line(&format!("warning: {text}"));
        }
        let kind = &event.kind;
        self.note_activity(kind);
        let is_own = self.is_own_prompt(kind);
        self.show(kind, is_own, output).await?;
        if let EventKind::Team(TeamEvent::RequestChanged { request }) = kind {
            if let Some(withdrawal) = self.requests.update(request) {
                self.withdraw(withdrawal, output).await?;
            }
            self.ask(output).await?;
        }
        if let EventKind::Crew(CrewEvent::CommandRejected {
            command: Some(command),
            why,
        }) = kind
            && self.requests.rejected(*command)
        {
            self.message(format!("Warning: {why}\n"), output).await?;
            self.ask(output).await?;
        }
        let is_active = self.is_lead_active;
        let step = self
            .prompt
            .as_mut()
            .map(|prompt| prompt.step(kind, is_active));
        match step {
            None | Some(PromptStep::Nothing) => {}
            Some(PromptStep::Read) => self.files.clear(),
            Some(PromptStep::Interrupt) => {
                let agent = Name::lead();
                let sent = self.submit(Command::Interrupt { agent });
                if let (Some(sent), Some(prompt)) = (sent, &mut self.prompt)
                    && let Some(cancel) = &mut prompt.cancel
                {
                    cancel.interrupt = sent;
                }
            }
            Some(PromptStep::Ended(end)) => self.end_prompt(end, output).await?,
        }
        Ok(())
    }

    /// Shows the recorded conversation of the session. `events` are its events, oldest first.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn replay(
        &mut self,
        events: &[Event],
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        // Notices of the past are of no use, and tasks may have changed since: the crew reports the present board.
        let is_shown = |event: &&Event| match &event.kind {
            EventKind::Agent { event, .. } => !matches!(event, AgentEvent::UsageChanged { .. }),
            EventKind::Board(_) | EventKind::Team(_) | EventKind::Crew(_) => false,
        };
        for event in events.iter().filter(is_shown) {
            self.show(&event.kind, false, output).await?;
        }
        for update in self.translator.end_calls() {
            self.notify(update, output).await?;
        }
        Ok(())
    }

    /// Sends a prompt of the editor to the crew. The request `id` is answered when the prompt ends. It is answered
    /// immediately with an error if another prompt has not ended, if the content cannot be used, or if the crew does
    /// not accept the prompt.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn prompt(
        &mut self,
        id: RawJsonRpcId,
        blocks: Vec<ContentBlock>,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        if self.prompt.is_some() {
            let why = "a prompt is running in this session: wait for its end, or cancel it";
            let error = Error::invalid_request().data(Value::from(why));
            return output.respond(id, Err(error)).await;
        }
        let converted = prompts::convert(blocks, &self.root, &mut self.files);
        let prompt = match converted {
            Ok(prompt) => prompt,
            Err(why) => {
                let error = Error::invalid_params().data(Value::from(why));
                return output.respond(id, Err(error)).await;
            }
        };
        let (command, phase) =
            if let Some((request, command)) = self.requests.answer_with_message(&prompt.text) {
                (command, PromptPhase::Answer(request))
            } else if let Some(parsed) = commands::parse(&prompt.text) {
                parsed
            } else {
                let phase = PromptPhase::Unread(prompt.text.clone());
                let command = Command::Prompt {
                    to: Name::lead(),
                    text: prompt.text,
                    attachments: prompt.attachments,
                };
                (command, phase)
            };
        let phase = match phase {
            PromptPhase::Unread(text) => {
                PromptPhase::Unread(self.redactor.text(&text).into_owned())
            }
            phase => phase,
        };
        let Some(sent) = self.submit(command) else {
            let why = "the crew did not accept the prompt: try again";
            let error = Error::internal_error().data(Value::from(why));
            return output.respond(id, Err(error)).await;
        };
        self.is_idle = false;
        self.prompt = Some(OpenPrompt::new(id, sent, phase));
        self.requests.ask_again();
        self.ask(output).await
    }

    /// Cancels the prompt that has not ended. Does nothing if there is no such prompt, or if it is already being
    /// cancelled. With `Some`, cancels only the prompt whose request has the id `request`.
    pub fn cancel(&mut self, request: Option<&RawJsonRpcId>) {
        let Some(prompt) = &self.prompt else {
            return;
        };
        if prompt.cancel.is_some() || request.is_some_and(|id| prompt.id != *id) {
            return;
        }
        let unread = match &prompt.phase {
            PromptPhase::Unread(text) => Some(text.clone()),
            _ => None,
        };
        let recall = unread.and_then(|text| self.submit(Command::RecallPrompt { text }));
        let agent = Name::lead();
        let interrupt = self.submit(Command::Interrupt { agent });
        // A blank prompt is always rejected, and only after the commands before it.
        let fence = self.submit(Command::prompt(Name::lead(), ""));
        if let (Some(interrupt), Some(fence), Some(prompt)) = (interrupt, fence, &mut self.prompt) {
            prompt.cancel = Some(CancelCommands {
                recall,
                interrupt,
                fence,
            });
        }
    }

    /// Handles the editor's answer to the request `id`. `answer` is `None` if the editor has answered with an error.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn answer(
        &mut self,
        id: &RawJsonRpcId,
        answer: Option<Value>,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        match self.requests.answer(id, answer) {
            None | Some(EditorAnswer::Later) => Ok(()),
            Some(EditorAnswer::Decision(request, command)) => {
                if let Some(sent) = self.submit(command) {
                    self.requests.decided(&request, sent);
                }
                Ok(())
            }
            // The user can write the answer only after the prompt that is running.
            Some(EditorAnswer::NextMessage(_)) => {
                self.end_prompt(Ok(StopReason::EndTurn), output).await
            }
        }
    }

    /// Sends the editor `text` as a message that is not an answer of the lead.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn message(
        &mut self,
        text: String,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        let update = self.translator.message(text);
        self.notify(update, output).await
    }

    /// Sends the editor an update of the session.
    ///
    /// # Errors
    /// Fails if the editor is gone.
    pub async fn notify(
        &self,
        update: SessionUpdate,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        let notification = SessionNotification::new(self.id.clone(), update);
        output
            .notify(CLIENT_METHOD_NAMES.session_update, &notification)
            .await
    }

    /// Ends the crew, and answers the prompt that is running.
    ///
    /// # Errors
    /// Fails if the crew cannot save its state.
    pub async fn stop(mut self, output: &mut EditorOutput) -> Result<()> {
        // If the editor is gone or does not read, the prompt needs no answer.
        let answered = self.end_prompt(Ok(StopReason::Cancelled), output);
        let _ = tokio::time::timeout(ANSWERED_WITHIN, answered).await;
        let stopped = self.crew.stop().await;
        for problem in stopped.iter().flatten() {
            eprint_line(&format!("warning: {problem}"));
        }
        // The journal must be complete before another process can take the lock.
        drop(self.journal);
        drop(self.lock);
        stopped?;
        Ok(())
    }

    fn note_activity(&mut self, event: &EventKind) {
        match event {
            EventKind::Agent { agent, event } => match event {
                AgentEvent::TurnStarted => {
                    self.is_idle = false;
                    self.is_lead_active |= agent.is_lead();
                }
                AgentEvent::TurnEnded { .. } if agent.is_lead() => self.is_lead_active = false,
                _ => {}
            },
            EventKind::Crew(CrewEvent::AllIdle) => self.is_idle = true,
            EventKind::Board(_) | EventKind::Team(_) | EventKind::Crew(_) => {}
        }
    }

    /// Returns whether the event reports that the lead has read the prompt that the editor sent. The editor already
    /// shows this prompt.
    fn is_own_prompt(&self, event: &EventKind) -> bool {
        let phase = self.prompt.as_ref().map(|prompt| &prompt.phase);
        match (event, phase) {
            (
                EventKind::Agent {
                    agent,
                    event: AgentEvent::Prompted { text, .. },
                },
                Some(PromptPhase::Unread(own)),
            ) => agent.is_lead() && text == own,
            _ => false,
        }
    }

    async fn show(
        &mut self,
        event: &EventKind,
        is_own: bool,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        let updates = match event {
            EventKind::Agent {
                agent,
                event:
                    AgentEvent::Prompted {
                        text, attachments, ..
                    },
            } if agent.is_lead() => {
                if is_own {
                    return Ok(());
                }
                self.translator.prompt(text, attachments)
            }
            // The only answer to `/compact` if there is nothing to compact.
            EventKind::Crew(CrewEvent::Notice {
                agent: Some(agent),
                text,
                ..
            }) if agent.is_lead() && self.is_compacting() => {
                vec![self.translator.message(format!("{text}\n"))]
            }
            event => self.translator.translate(event),
        };
        for update in updates {
            self.notify(update, output).await?;
        }
        Ok(())
    }

    fn is_compacting(&self) -> bool {
        let phase = self.prompt.as_ref().map(|prompt| &prompt.phase);
        phase == Some(&PromptPhase::Compact)
    }

    /// Asks the user about each waiting request that the editor does not show yet.
    async fn ask(&mut self, output: &mut EditorOutput) -> Result<(), EditorGone> {
        while let Some((request, question)) = self.requests.next_question(&self.translator) {
            let id = match &question {
                EditorQuestion::Permission(shown) => {
                    let method = CLIENT_METHOD_NAMES.session_request_permission;
                    output.request(method, shown).await?
                }
                EditorQuestion::Form(form) => {
                    let method = CLIENT_METHOD_NAMES.elicitation_create;
                    output.request(method, form).await?
                }
            };
            self.requests.asked(&request, id, &question);
        }
        Ok(())
    }

    async fn withdraw(
        &mut self,
        withdrawal: Withdrawal,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        if let Some(id) = withdrawal.cancel {
            let cancel = CancelRequestNotification::new(EditorRequestId::from(id));
            output.notify(CANCEL_REQUEST, &cancel).await?;
        }
        match withdrawal.update {
            Some(update) => self.notify(update, output).await,
            None => Ok(()),
        }
    }

    async fn end_prompt(
        &mut self,
        end: PromptEnd,
        output: &mut EditorOutput,
    ) -> Result<(), EditorGone> {
        let Some(prompt) = self.prompt.take() else {
            return Ok(());
        };
        self.files.clear();
        let result = end.map(|reason| serde_json::json!({ "stopReason": reason }));
        output.respond(prompt.id, result).await
    }

    /// Sends a command to the crew, and returns its id; `None` if the crew's queue is full.
    fn submit(&mut self, command: Command) -> Option<CommandId> {
        let sent = self.ids.assign(command);
        let id = sent.id;
        if self.crew.submit(sent).is_err() {
            eprint_line("the crew did not accept a command of the editor");
            return None;
        }
        Some(id)
    }
}
