//! Delivers messages to agents. Checks whether an agent has unread messages that it can receive now, and waits while
//! another program reads an inbox.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::agent::prompt_checks::{PromptCheck, PromptChecks, read_deliverable};
use crate::domain::attachment::Attachment;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::request::{Request, RequestStatus};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::store::{InboxReader, Mailbox, Roster, StoreError};

/// Maximum time that a check of an inbox waits for the reader lock of that inbox. Two checks by this crew can overlap.
/// Without a wait, the second check would find the lock taken and conclude that another program reads the inbox.
const LOOK_WAIT: Duration = Duration::from_millis(50);
/// Interval at which the crew checks whether another program still reads an inbox.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Maximum time for which the crew counts as busy because another program reads an inbox. After that time the user is
/// warned, and `crewdeck run` may end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Sends messages to agents, and determines which agents have messages that they can receive.
pub struct MessageDelivery {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    registry: Arc<AgentRegistry>,
    mailbox: Mailbox,
    /// The agents whose inbox another program is reading.
    awaited: Mutex<BTreeSet<Name>>,
    /// The agents whose inbox could not be read at the last attempt. The error was reported, and is not reported again
    /// before a read has succeeded.
    refused: Mutex<BTreeSet<Name>>,
}

impl MessageDelivery {
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        registry: Arc<AgentRegistry>,
        mailbox: Mailbox,
    ) -> MessageDelivery {
        MessageDelivery {
            context,
            signals,
            registry,
            mailbox,
            awaited: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Sends a message of the user to a member of the team. Wakes the member if it is idle. `hook_texts` are the texts
    /// for the model that the message's `UserPromptSubmit` hooks have returned.
    ///
    /// # Errors
    /// Fails if no member with that name is present, or the message cannot be written.
    pub async fn send_from_user(
        &self,
        to: &Name,
        (text, hook_texts): (&str, Vec<String>),
        attachments: &[Attachment],
        team: &Roster,
    ) -> Result<(), StoreError> {
        let message = from_user(to, text, self.context.new_id(), self.context.now())
            .with_attachments(attachments);
        if let Some(checks) = self.prompt_checks() {
            checks.record(to, &message, PromptCheck::Passed(hook_texts));
        }
        let (roster, mailbox) = (team.clone(), self.mailbox.clone());
        run_blocking(move || send_to_member(&roster, &mailbox, &message)).await?;
        self.signals.files_changed();
        Ok(())
    }

    /// Sends `text`, which crewdeck has written, to the running agent `to` as a message from the user. Wakes the agent
    /// if it is idle.
    ///
    /// # Errors
    /// Fails if the message cannot be written.
    pub async fn send_generated(&self, to: &Name, text: &str) -> Result<(), StoreError> {
        let message = from_user(to, text, self.context.new_id(), self.context.now()).generated();
        let mailbox = self.mailbox.clone();
        run_blocking(move || mailbox.send(&message)).await?;
        self.signals.files_changed();
        Ok(())
    }

    /// Sends a message about a request, at most once for each recipient and `kind`. The message contains the id of the
    /// request and, if the request is decided, the decision; a withdrawn request counts as not approved. Errors are
    /// published as notices.
    pub async fn send_about(
        &self,
        request: &Request,
        from: &Name,
        to: &Name,
        kind: MailKind,
        text: &str,
    ) {
        let approve = match request.status {
            RequestStatus::Pending => None,
            status => Some(status == RequestStatus::Approved),
        };
        let message = self.about(request, from, to, kind, text, approve);
        self.send_once(message, &format!("A message to {to}")).await;
    }

    /// Sends the answer of the teammate `from` to a shutdown request. Errors are published as notices.
    pub async fn send_shutdown_answer(
        &self,
        request: &Request,
        from: &Name,
        text: &str,
        approve: bool,
    ) {
        let kind = MailKind::ShutdownResponse;
        let message = self.about(request, from, &request.from, kind, text, Some(approve));
        let what = format!("The answer of {from} to the shutdown request");
        self.send_once(message, &what).await;
    }

    /// Sends a message, unless the inbox already has a message of the same kind about the same request. An error is
    /// published as a notice that begins with `what`.
    async fn send_once(&self, message: MailMessage, what: &str) {
        let mailbox = self.mailbox.clone();
        if let Err(error) = run_blocking(move || mailbox.send_once(&message)).await {
            let text = format!("{what} could not be sent: {error}");
            self.context.notice(NoticeLevel::Error, text).await;
        }
    }

    /// Creates a message about a request without sending it. `approve` is the decision on the request; with `None`, the
    /// message contains no decision.
    pub fn about(
        &self,
        request: &Request,
        from: &Name,
        to: &Name,
        kind: MailKind,
        text: &str,
        approve: Option<bool>,
    ) -> MailMessage {
        let id = MessageId(self.context.new_id());
        let mut message = MailMessage::new(id, kind, from, to, text, self.context.now());
        let about = request.id.to_string();
        message.extra.insert("request_id".into(), about.into());
        if let Some(approve) = approve {
            message.extra.insert("approve".into(), approve.into());
        }
        message
    }

    fn prompt_checks(&self) -> Option<&PromptChecks> {
        self.context.hooks.as_ref()?.caller.prompt_checks()
    }

    /// Returns the first message in the inbox of `name` that waits for its `UserPromptSubmit` hooks; `None` if there is
    /// none or the inbox cannot be read.
    pub async fn next_unchecked(&self, name: &Name) -> Option<MailMessage> {
        let checks = self.prompt_checks()?;
        let (mailbox, whose) = (self.mailbox.clone(), name.clone());
        let seen = run_blocking(move || mailbox.peek(&whose)).await.ok()?;
        let mut messages = seen.messages.into_iter();
        messages.find(|message| checks.is_open(name, message))
    }

    /// Returns whether the agent `name` has unread messages that it can receive now. Returns false in these cases too:
    ///
    /// - The agent could not acknowledge its last messages, and so ignores messages.
    /// - The inbox cannot be read.
    /// - Another program reads the inbox. Idle agents are woken when that program has finished.
    /// - The inbox contains nothing but damaged lines and messages that hooks have blocked. All of it is marked as
    ///   read.
    pub async fn has_mail(self: &Arc<Self>, name: &Name) -> bool {
        let handle = self.registry.find(name);
        if (handle.as_ref()).is_some_and(|h| h.mailbox.ignores_messages()) {
            return false;
        }
        let (mailbox, whose) = (self.mailbox.clone(), name.clone());
        let hooks = self.context.hooks.clone();
        let waiting = run_blocking(move || {
            let checks = hooks.as_ref().and_then(|h| h.caller.prompt_checks());
            let is_ready = |m: &MailMessage| checks.is_none_or(|c| !c.is_open(&whose, m));
            let is_blocked = |m: &MailMessage| checks.is_some_and(|c| c.is_blocked(&whose, m));
            let seen = mailbox.peek_ready(&whose, &is_ready)?;
            // Invalid lines, a truncated file and blocked messages need cleaning up, which is done here without waking
            // an agent.
            if seen.needs_reader() && seen.messages.iter().all(is_blocked) {
                let reader = mailbox.reader(&whose, LOOK_WAIT)?;
                let read = read_deliverable(&reader, &whose, checks);
                reader.close();
                read
            } else {
                Ok(seen)
            }
        });
        let Ok(waiting) = waiting.await else {
            return false;
        };
        if waiting.messages.is_empty() {
            for notice in waiting.notices() {
                self.context.notice(NoticeLevel::Warn, notice).await;
            }
            return false;
        }
        // An agent that has received messages, but has not recorded them yet, itself holds the lock of its inbox.
        let has_some = handle.is_some_and(|h| h.mailbox.reader().is_some());
        has_some || self.can_take(name).await
    }

    /// Returns whether the agent `name` can read its inbox now. If false, the agent must not be woken, since it would
    /// try to read again and again. Reports an error of the inbox as a notice.
    async fn can_take(self: &Arc<Self>, name: &Name) -> bool {
        let (mailbox, whose) = (self.mailbox.clone(), name.clone());
        // The agent that is woken must not wait for this reader.
        let look = move || mailbox.reader(&whose, LOOK_WAIT).map(InboxReader::close);
        match run_blocking(look).await {
            Ok(()) => {
                lock(&self.refused).remove(name);
                true
            }
            Err(StoreError::BeingRead { .. }) => {
                self.wait_for_reader(name);
                false
            }
            Err(error) => {
                if lock(&self.refused).insert(name.clone()) {
                    let text = format!("The messages for {name} cannot be delivered: {error}");
                    self.context.notice(NoticeLevel::Error, text).await;
                }
                false
            }
        }
    }

    /// Waits in the background until no other program reads the inbox of `name`. Then wakes the idle agents, because
    /// the inbox may still contain messages. The crew counts as busy during the wait, but at most for [`PATIENCE`];
    /// then the user is warned.
    fn wait_for_reader(self: &Arc<Self>, name: &Name) {
        if !lock(&self.awaited).insert(name.clone()) {
            return;
        }
        let (own, name, busy) = (Arc::clone(self), name.clone(), self.signals.busy());
        self.context.spawn(async move {
            let stop = own.context.stop.clone();
            let awaited = tokio::time::timeout(PATIENCE, own.reader_ends(&name));
            let has_ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = awaited => ended.is_ok(),
            };
            if !has_ended {
                let text = format!(
                    "Another program, such as crewdeck mail read, is still reading the inbox of {name}. The messages are delivered when that program ends."
                );
                own.context.notice(NoticeLevel::Warn, text).await;
                drop(busy);
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = own.reader_ends(&name) => {}
                }
            }
            lock(&own.awaited).remove(&name);
            own.signals.files_changed();
        });
    }

    async fn reader_ends(&self, name: &Name) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let (mailbox, name) = (self.mailbox.clone(), name.clone());
            if let Ok(false) = run_blocking(move || Ok(mailbox.is_being_read(&name))).await {
                return;
            }
        }
    }
}

pub fn from_user(to: &Name, text: &str, id: String, now: Timestamp) -> MailMessage {
    let kind = MailKind::Message;
    MailMessage::new(MessageId(id), kind, &Name::user(), to, text, now)
}

/// Sends a message to a member of the team.
///
/// # Errors
/// Fails if no member with that name is present, since no agent would read the message.
pub fn send_to_member(
    roster: &Roster,
    mailbox: &Mailbox,
    message: &MailMessage,
) -> Result<(), StoreError> {
    let team = roster.read()?;
    if !team
        .present()
        .any(|m| m.name.as_str().eq_ignore_ascii_case(&message.to))
    {
        return Err(team.unknown(&message.to).into());
    }
    mailbox.send(message)
}
