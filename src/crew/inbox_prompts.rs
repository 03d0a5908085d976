//! Runs the `UserPromptSubmit` hooks for messages of the user that another process, such as a viewer or `crewdeck mail
//! send`, has written into the inbox of an agent. A message is not delivered until its hooks have ended.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use super::hook_session::check_prompt;
use super::message_delivery::MessageDelivery;
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::agent::prompt_checks::PromptCheck;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::text::{clip, escape_control_chars, one_line};
use crate::protocol::event::{DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::store::Mailbox;
use crate::tools::host::Host;

/// Maximum length, in characters, of the quotation of a blocked message.
const QUOTE_MAX: usize = 80;
/// The sender of the message that tells the user why a message is not delivered.
const SENDER: &str = "crewdeck";

/// Runs the hooks for the messages in the inboxes of all agents.
pub struct InboxPrompts {
    pub(super) context: Arc<CrewContext>,
    pub(super) signals: Arc<CrewSignals>,
    pub(super) registry: Arc<AgentRegistry>,
    pub(super) delivery: Arc<MessageDelivery>,
    pub(super) mailbox: Mailbox,
    pub(super) host: Arc<dyn Host>,
    /// The agents whose inbox is being checked. The messages of one inbox are checked one after another.
    pub(super) running: Mutex<BTreeSet<Name>>,
}

impl InboxPrompts {
    /// Looks for new messages of the user in the inboxes of all running agents, and runs their hooks. Looks after every
    /// change of the state files or of an agent, until the crew stops. Returns immediately if no hook is configured.
    pub async fn run(self: Arc<Self>) {
        let Some(hooks) = &self.context.hooks else {
            return;
        };
        // Also signals the start of an agent, whose inbox may already contain messages.
        let mut changes = self.signals.subscribe_activity();
        // The first check is made at once, because messages may have arrived before the subscription.
        changes.mark_changed();
        loop {
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
                // A message may have been held back for hooks that do not exist any more, so its agent looks again.
                () = hooks.caller.next_decision() => self.signals.files_changed(),
            }
            if hooks.caller.prompt_checks().is_none() {
                continue;
            }
            for (name, _) in self.registry.all() {
                if lock(&self.running).insert(name.clone()) {
                    let own = Arc::clone(&self);
                    self.context
                        .spawn(async move { own.check_inbox(&name).await });
                }
            }
        }
    }

    /// Runs the `UserPromptSubmit` hooks of all messages in the inbox of `name` whose hooks have not run yet.
    async fn check_inbox(&self, name: &Name) {
        loop {
            while let Some(message) = self.delivery.next_unchecked(name).await {
                if !self.check(name, &message).await {
                    return;
                }
            }
            lock(&self.running).remove(name);
            // A message may have arrived after the last look and before the removal.
            let has_more = self.delivery.next_unchecked(name).await.is_some();
            if !has_more || !lock(&self.running).insert(name.clone()) {
                return;
            }
        }
    }

    /// Runs the `UserPromptSubmit` hooks of one message and records whether they block it. Returns false if the crew
    /// stops: the hooks then run again in the next session.
    async fn check(&self, name: &Name, message: &MailMessage) -> bool {
        let agent = self.registry.find(name);
        let recipient = (name, agent.as_ref());
        let checked = check_prompt(&self.context, recipient, &*self.host, &message.content).await;
        if self.context.stop.is_cancelled() {
            return false;
        }
        let (check, why) = match checked {
            Ok(texts) => (PromptCheck::Passed(texts), None),
            Err(why) => (PromptCheck::Blocked, Some(why)),
        };
        let hooks = self.context.hooks.as_ref();
        if let Some(checks) = hooks.and_then(|hooks| hooks.caller.prompt_checks()) {
            checks.record(name, message, check);
        }
        if let Some(why) = why {
            self.report(name, message, &why).await;
        }
        // The agent may receive the message now, or those after it.
        self.signals.files_changed();
        true
    }

    /// Tells the user that a message is not delivered: on the screens of the crew and its viewers, and with a message
    /// in the user's inbox. A user who has sent the message with a program that has ended finds the reason in the
    /// inbox.
    async fn report(&self, name: &Name, message: &MailMessage, why: &str) {
        let step = DeliveryState::Blocked;
        let moved = TeamEvent::MessageMoved {
            message: message.clone(),
            step,
        };
        self.context.publish(EventKind::Team(moved)).await;
        let why = one_line(&escape_control_chars(why));
        let text = format!("Your message to {name} was not delivered: {why}");
        self.context.notice(NoticeLevel::Warn, text).await;
        let quote = clip(
            &one_line(&escape_control_chars(&message.content)),
            QUOTE_MAX,
        );
        let text = format!("Your message to {name} (\"{quote}\") was not delivered: {why}");
        let text = self
            .context
            .event_sender
            .redactor()
            .text(&text)
            .into_owned();
        let id = MessageId(self.context.new_id());
        let (user, now) = (Name::user(), self.context.now());
        let mut answer = MailMessage::new(id, MailKind::Message, name, &user, &text, now);
        answer.from = SENDER.into();
        let mailbox = self.mailbox.clone();
        if let Err(error) = run_blocking(move || mailbox.send(&answer)).await {
            let text = format!(
                "The notice that your message to {name} was not delivered could not be saved in your inbox: {error}"
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }
}
