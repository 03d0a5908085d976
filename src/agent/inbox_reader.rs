//! Reads the inbox for the driver: takes messages before each model call and acknowledges them once they are on disk.

use std::sync::Arc;
use std::time::Duration;

use super::attachments;
use super::driver::{Driver, LogCompleteness, run_blocking};
use super::driver_state::{PendingDelivery, TakenEntry};
use super::hooks::AgentHooks;
use super::mail;
use super::prompt_checks::read_deliverable;
use crate::domain::attachment::Attachment;
use crate::domain::chat::{Block, Message};
use crate::domain::hook::HookEvent;
use crate::domain::ids::Name;
use crate::domain::mail::{MailKind, MailMessage};
use crate::protocol::event::{AgentEvent, DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::store::{Cursor, InboxReader, Mailbox, StoreError, UnreadMessages};

/// The start of [`AgentEvent::ContextAdded::what`] if the added text is a message; the name of the sender follows.
pub const MESSAGE_FROM: &str = "message from ";

/// Maximum time that an agent waits while another program reads the agent's inbox. `crewdeck mail read` takes much less
/// time. After this time, the messages stay in the inbox until the agent checks it again.
const READER_WAIT: Duration = Duration::from_secs(1);

impl Driver {
    /// Takes what waits for the agent: added texts such as the instructions of MCP servers, user commands, prompts,
    /// crew notes, job results and inbox messages. Returns it as blocks for the next conversation message, empty if
    /// nothing waits. User commands, prompts, job results and inbox messages are acknowledged once that conversation
    /// message is saved. Takes no inbox messages while earlier ones are not acknowledged.
    pub async fn gather_mail(&mut self) -> Vec<Block> {
        let prompts = self.prompts.as_ref().map(|queue| queue.take());
        let prompts = prompts.unwrap_or_default();
        let mut blocks = self.tool_runner.mailbox.take_texts();
        let commands = self.tool_runner.mailbox.user_commands();
        for command in commands.map(|queue| queue.take()).unwrap_or_default() {
            blocks.push(Block::text(command.text));
            self.state.prompts.push(TakenEntry::Command(command.id));
        }
        for prompt in &prompts {
            blocks.push(Block::text(&prompt.text));
            blocks.extend(self.expand_command(&prompt.text).await);
            blocks.extend(self.read_attachments(prompt.attachments.clone()).await);
            let hooked = prompt.context.iter();
            blocks.extend(hooked.map(|text| Block::text(format!("<hook>\n{text}\n</hook>"))));
        }
        let prompts = prompts.into_iter().map(TakenEntry::Prompt);
        self.state.prompts.extend(prompts);
        if let Some(notes) = self.tool_runner.mailbox.take_notes() {
            blocks.push(notes);
        }
        if let Some(results) = self.tool_runner.mailbox.take_results() {
            blocks.push(results.block);
            self.state.pending_jobs.extend(results.jobs);
            for (what, text) in results.lines {
                let agent = self.name.clone();
                self.publish(AgentEvent::ContextAdded { what, text }.of(agent))
                    .await;
            }
        }
        let Some(mailbox) = self.mailbox.clone() else {
            return blocks;
        };
        // Messages that were taken but not saved, because the turn was interrupted, must not be taken twice.
        if self.state.pending_inbox.is_none() && self.state.unacknowledged_inbox.is_none() {
            match self.read_unread(&mailbox).await {
                Ok(pending) => {
                    for notice in pending.notices() {
                        self.publish(EventKind::notice(NoticeLevel::Warn, notice))
                            .await;
                    }
                    if !pending.messages.is_empty() && self.announce(&pending).await {
                        blocks.extend(self.deliver(pending).await);
                    }
                }
                Err(error) => {
                    self.report_file_error("The inbox cannot be read", &error)
                        .await;
                }
            }
        }
        blocks
    }

    /// Returns the blocks of inbox messages that go into the next conversation message.
    async fn deliver(&mut self, pending: UnreadMessages) -> Vec<Block> {
        self.look_for_shutdown(&pending.messages).await;
        let mut blocks = vec![mail::block(&pending.messages)];
        for message in &pending.messages {
            if message.from == Name::user().to_string() {
                blocks.extend(self.expand_command(&message.content).await);
            }
            blocks.extend(self.read_attachments(message.attachments()).await);
            blocks.extend(self.texts_of_hooks(message));
        }
        self.state.unacknowledged_messages = pending.messages;
        self.state.pending_inbox = Some(PendingDelivery {
            upto: pending.upto,
            blocks: blocks.clone(),
        });
        blocks
    }

    /// If `text` is a slash command that a file or skill defines, returns the text of that command; else `None`.
    async fn expand_command(&self, text: &str) -> Option<Block> {
        if !text.starts_with('/') {
            return None;
        }
        let (skills, text) = (self.tool_runner.skills.clone(), text.to_string());
        let found = run_blocking(move || Ok(skills.expand(&text)))
            .await
            .ok()??;
        if found.expansion.has_commands {
            let text = format!(
                "The command /{} contains shell commands (!`…`). crewdeck does not run them: the model reads them as text.",
                found.name
            );
            self.publish(EventKind::notice(NoticeLevel::Warn, text))
                .await;
        }
        let text = self
            .tool_runner
            .redactor
            .text(&found.expansion.text)
            .into_owned();
        Some(Block::text(format!(
            "<command name=\"{}\">\n{text}\n</command>",
            found.name
        )))
    }

    /// Returns the attachments as blocks of a conversation message. Reads them on a thread for blocking work. Returns
    /// an empty list if that thread panics.
    async fn read_attachments(&self, attachments: Vec<Attachment>) -> Vec<Block> {
        if attachments.is_empty() {
            return Vec::new();
        }
        let store = self.transcript.attachments();
        let blocks = run_blocking(move || Ok(attachments::blocks(&store, &attachments)));
        blocks.await.unwrap_or_default()
    }

    /// Returns the texts that UserPromptSubmit hooks have added to a message of the user; empty if there are none.
    fn texts_of_hooks(&self, message: &MailMessage) -> Vec<Block> {
        let hooks = self.tool_runner.hooks.as_ref();
        let checks = hooks.and_then(|hooks| hooks.caller.prompt_checks());
        let texts = checks.map(|checks| checks.texts(&self.name, message));
        let event = HookEvent::UserPromptSubmit.name();
        let block = |text| Block::text(format!("<hook>\nHook {event}: {text}\n</hook>"));
        texts.unwrap_or_default().into_iter().map(block).collect()
    }

    /// Returns the unread messages of the inbox that may be delivered. Leaves out a message whose UserPromptSubmit
    /// hooks have not run yet, all messages after it, and messages that hooks have blocked. If it returns a message,
    /// the inbox stays locked until [`AgentMailbox::drop_reader`](super::mailbox::AgentMailbox::drop_reader).
    async fn read_unread(&self, mailbox: &Mailbox) -> Result<UnreadMessages, StoreError> {
        let (mailbox, name) = (mailbox.clone(), self.name.clone());
        let hooks: Option<Arc<AgentHooks>> = self.tool_runner.hooks.clone();
        let (reader, pending) = run_blocking(move || {
            let checks = hooks.as_ref().and_then(|h| h.caller.prompt_checks());
            // Most checks of the inbox find no message and need no lock.
            let is_ready = |m: &MailMessage| checks.is_none_or(|c| !c.is_open(&name, m));
            let seen = mailbox.peek_ready(&name, &is_ready)?;
            if !seen.needs_reader() {
                return Ok((None, seen));
            }
            let reader = mailbox.reader(&name, READER_WAIT)?;
            let pending = read_deliverable(&reader, &name, checks)?;
            Ok((Some(Arc::new(reader)), pending))
        })
        .await?;
        if let Some(reader) = reader.filter(|_| !pending.messages.is_empty()) {
            self.tool_runner.mailbox.keep_reader(reader);
        }
        Ok(pending)
    }

    /// Returns the agent's inbox reader if it is already open; otherwise opens one. If another program reads the inbox,
    /// waits at most `READER_WAIT`, then fails.
    async fn reader(&self, mailbox: Mailbox) -> Result<Arc<InboxReader>, StoreError> {
        if let Some(reader) = self.tool_runner.mailbox.reader() {
            return Ok(reader);
        }
        let name = self.name.clone();
        run_blocking(move || mailbox.reader(&name, READER_WAIT).map(Arc::new)).await
    }

    /// Records in the inbox that messages from it are about to be written to this agent's log. Returns false, and drops the
    /// reader, if it has lost its right: the messages then belong to another reader and must not be delivered.
    async fn announce(&self, pending: &UnreadMessages) -> bool {
        let Some(reader) = self.tool_runner.mailbox.reader() else {
            return true;
        };
        let (log, cursor) = (self.transcript.clone(), pending.upto);
        let (announced, is_valid) = run_blocking(move || {
            let announced = reader.announce(&log, &cursor);
            Ok((announced, reader.is_valid()))
        })
        .await
        .unwrap_or((Ok(()), true));
        if is_valid && !announced.as_ref().is_err_and(StoreError::is_lost_lease) {
            // If it fails otherwise, a restart of the agent still finds in its log which messages were delivered.
            return true;
        }
        if let Err(error) = announced {
            self.report_file_error("The inbox cannot be read", &error)
                .await;
        }
        self.tool_runner.mailbox.drop_reader();
        false
    }

    /// If the reader has lost its right to the messages that `message` contains, removes them from it and from the
    /// conversation. Their next reader delivers them.
    pub(super) fn withdraw_lost_messages(&mut self, message: &mut Message) {
        let reader = self.tool_runner.mailbox.reader();
        if reader.is_none_or(|reader| reader.is_valid()) {
            return;
        }
        let Some(lost) = self.state.pending_inbox.take() else {
            return;
        };
        self.tool_runner.mailbox.drop_reader();
        self.state.unacknowledged_messages.clear();
        self.state.approved_shutdown = None;
        self.state.turn.withdraw(&lost.blocks);
        message.blocks.retain(|block| !lost.blocks.contains(block));
    }

    /// Takes an approved shutdown request from the inbox and stores it in [`DriverState::approved_shutdown`]. The agent
    /// can leave without a model call, so the request does not go into the conversation. Leaves the inbox unchanged and
    /// returns false if there is no such request, if the inbox also contains messages other than shutdown requests, if
    /// the inbox cannot be read, or if messages that were taken before are not yet acknowledged.
    ///
    /// [`DriverState::approved_shutdown`]: super::driver::DriverState::approved_shutdown
    pub async fn take_shutdown(&mut self) -> bool {
        let Some(mailbox) = self.mailbox.clone() else {
            return false;
        };
        if self.state.pending_inbox.is_some() || self.state.unacknowledged_inbox.is_some() {
            return false;
        }
        let Ok(pending) = self.read_unread(&mailbox).await else {
            return false;
        };
        self.look_for_shutdown(&pending.messages).await;
        let only_that = pending
            .messages
            .iter()
            .all(|l| l.kind == MailKind::ShutdownRequest);
        if self.state.approved_shutdown.is_none() || !only_that {
            self.tool_runner.mailbox.drop_reader();
            return false;
        }
        self.state.unacknowledged_messages = pending.messages;
        self.state.unacknowledged_inbox = Some(pending.upto);
        // Acknowledges the request. If that fails, also makes the agent ignore new messages. Otherwise, the request
        // would stay in the inbox and wake the agent endlessly.
        self.repair_log().await;
        true
    }

    async fn look_for_shutdown(&mut self, messages: &[MailMessage]) {
        for message in messages
            .iter()
            .filter(|l| l.kind == MailKind::ShutdownRequest)
        {
            let Some(id) = message.request_id() else {
                continue;
            };
            let requests = self.requests.clone();
            let request = run_blocking(move || requests.get(&id)).await.ok().flatten();
            if mail::is_approved_shutdown(message, &self.name, request.as_ref()) {
                self.state.approved_shutdown = Some(message.clone());
            }
        }
    }

    async fn store_acknowledgement(
        &self,
        mailbox: &Mailbox,
        upto: Cursor,
    ) -> Result<(), StoreError> {
        let reader = self.reader(mailbox.clone()).await?;
        run_blocking(move || reader.acknowledge(&upto)).await
    }

    /// Acknowledges the inbox messages that the log on disk contains, and publishes them as delivered. Does nothing if
    /// the log is incomplete. If the inbox cannot be written, reports that to the user, and the next call tries again.
    pub(super) async fn acknowledge(&mut self) {
        if self.state.log_completeness == LogCompleteness::Incomplete {
            return;
        }
        let (Some(mailbox), Some(cursor)) =
            (self.mailbox.clone(), self.state.unacknowledged_inbox.take())
        else {
            return;
        };
        let mut done = self.store_acknowledgement(&mailbox, cursor).await;
        if done.as_ref().is_err_and(StoreError::is_lost_lease) {
            // A new reader continues after the messages that the log contains.
            self.tool_runner.mailbox.drop_reader();
            done = self.store_acknowledgement(&mailbox, cursor).await;
        }
        if let Err(error) = done {
            if error.is_lost_lease() {
                self.tool_runner.mailbox.drop_reader();
            }
            self.report_file_error("The inbox cannot be written", &error)
                .await;
            self.state.unacknowledged_inbox = Some(cursor);
            return;
        }
        self.tool_runner.mailbox.drop_reader();
        for message in self.state.unacknowledged_messages.drain(..) {
            let step = DeliveryState::Delivered;
            self.event_sender
                .publish(EventKind::Team(TeamEvent::MessageMoved {
                    message: message.clone(),
                    step,
                }))
                .await;
            self.event_sender.publish(entry(&self.name, &message)).await;
            self.state.unanswered.push(message);
        }
    }
}

/// Returns the event that shows a delivered message in the conversation of `agent`.
fn entry(agent: &Name, message: &MailMessage) -> EventKind {
    let (agent, text) = (agent.clone(), message.content.clone());
    let is_users = message.from == Name::user().as_str() && message.kind == MailKind::Message;
    // The user talks to the lead directly, so a message to the lead that names the user as sender is shown as a
    // message.
    if is_users && !agent.is_lead() {
        return attachments::prompt_event(text, &message.attachments()).of(agent);
    }
    let what = match message.kind {
        MailKind::Message => format!("{MESSAGE_FROM}{}", message.from),
        _ => format!("{MESSAGE_FROM}{} ({})", message.from, message.kind),
    };
    AgentEvent::ContextAdded { what, text }.of(agent)
}
