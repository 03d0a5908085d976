//! The input that waits for the lead: the user's prompts, texts from the crew, and news about the team.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::context::CrewContext;
use super::registry::AgentRegistry;
use crate::agent::driver::{Control, run_blocking};
use crate::domain::chat::Block;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{MailKind, MailMessage};
use crate::protocol::event::NoticeLevel;
use crate::store::{Mailbox, PromptQueue, QueuedPrompt, StoreError};

/// What waits for the lead: prompts of the user, texts from the crew, and news (changes that the lead should know of,
/// such as completed tasks). A prompt or a text starts a turn of the lead; news starts one only when the crew becomes
/// idle.
pub struct LeadInbox {
    registry: Arc<AgentRegistry>,
    prompts: Arc<PromptQueue>,
    /// Number of texts and commands that were still queued at the end of the lead's last turn, plus the texts from the
    /// crew that were queued since then. Texts that the current turn has read are included.
    queued: AtomicUsize,
    /// Number of calls of [`LeadInbox::add_news`] since [`LeadInbox::take_news`] was last called.
    news: AtomicUsize,
    /// Sends reports to a lead on another host; `None` if the lead is in this process.
    remote: Option<RemoteLead>,
}

/// Sends reports to the lead of the crew, which runs on another host.
pub struct RemoteLead {
    pub context: Arc<CrewContext>,
    pub mailbox: Mailbox,
}

impl RemoteLead {
    /// Sends a report in the background as a message from this host. An error is published as a notice.
    fn send(&self, line: &str) {
        let context = Arc::clone(&self.context);
        let Some(host) = &context.host else {
            return;
        };
        let Ok(from) = Name::party(host.info.name.as_str()) else {
            return;
        };
        let (id, now) = (MessageId(context.new_id()), context.now());
        let message = MailMessage::new(id, MailKind::Message, &from, &Name::lead(), line, now);
        let mailbox = self.mailbox.clone();
        let notices = Arc::clone(&self.context);
        context.spawn(async move {
            if let Err(error) = run_blocking(move || mailbox.send(&message)).await {
                let text = format!("A report to the lead could not be sent: {error}");
                notices.notice(NoticeLevel::Warn, text).await;
            }
        });
    }
}

impl LeadInbox {
    pub fn new(registry: Arc<AgentRegistry>, prompts: Arc<PromptQueue>) -> LeadInbox {
        LeadInbox {
            remote: None,
            registry,
            prompts,
            queued: AtomicUsize::new(0),
            news: AtomicUsize::new(0),
        }
    }

    /// Returns this inbox for a process without a lead: reports are sent to the lead of another host, everything else is
    /// dropped.
    #[must_use]
    pub fn with_remote(self, remote: Option<RemoteLead>) -> LeadInbox {
        LeadInbox { remote, ..self }
    }

    /// Adds a line of text to the lead's next model call. Does not wake the lead. Does nothing if the lead is not
    /// running.
    pub fn note(&self, line: String) {
        if let Some(lead) = self.registry.find(&Name::lead()) {
            lead.mailbox.note(line);
        }
    }

    /// Adds a line of text to the lead's next model call. If the crew becomes idle before that call, the lead is woken
    /// to read it. Does nothing if the lead is not running.
    pub fn report(&self, line: String) {
        if let Some(lead) = self.registry.find(&Name::lead()) {
            lead.mailbox.note(line);
            self.add_news();
        } else if let Some(remote) = &self.remote {
            remote.send(&line);
        }
    }

    /// Records that there is news for the lead. When the crew becomes idle, the lead is woken to read the news.
    pub fn add_news(&self) {
        self.news.fetch_add(1, Ordering::SeqCst);
    }

    pub fn has_news(&self) -> bool {
        self.news.load(Ordering::SeqCst) > 0
    }

    /// Returns whether there is news for the lead, and marks all news as read.
    pub fn take_news(&self) -> bool {
        self.news.swap(0, Ordering::SeqCst) > 0
    }

    /// Queues a text from the crew for the lead. The text starts a turn, or joins the current one. Returns false if the
    /// lead is not running or its queue is full.
    pub fn wake(&self, text: String) -> bool {
        let Some(lead) = self.registry.find(&Name::lead()) else {
            return false;
        };
        self.queued.fetch_add(1, Ordering::SeqCst);
        let input = Control::Say(vec![Block::text(text)]);
        let sent = lead.control.try_send(input).is_ok();
        if !sent {
            self.queued.fetch_sub(1, Ordering::SeqCst);
        }
        sent
    }

    /// Sets the number of texts and commands that are still queued for the lead. Called after each turn of the lead,
    /// and when an idle lead drops an interrupt.
    pub fn set_queued(&self, left: usize) {
        self.queued.store(left, Ordering::SeqCst);
    }

    /// Returns whether a prompt or a text from the crew waits for the lead.
    pub fn has_input(&self) -> bool {
        self.queued.load(Ordering::SeqCst) > 0 || self.has_prompts()
    }

    pub fn has_prompts(&self) -> bool {
        self.prompts.is_waiting()
    }

    pub fn prompts_waiting(&self) -> usize {
        self.prompts.waiting_count()
    }

    /// Queues a prompt of the user.
    ///
    /// # Errors
    /// Fails if the prompt cannot be saved to disk. The prompt is then queued in memory only.
    pub async fn add_prompt(&self, prompt: QueuedPrompt) -> Result<(), StoreError> {
        let queue = Arc::clone(&self.prompts);
        run_blocking(move || queue.push(prompt)).await
    }

    /// Withdraws the newest queued prompt of the user with this text. Returns false if no such prompt is queued, for
    /// example because the lead has read it.
    ///
    /// # Errors
    /// Fails if the prompt cannot be removed from the disk. It is then withdrawn in memory only, and a resumed session
    /// loads it again.
    pub async fn recall_prompt(&self, text: String) -> Result<bool, StoreError> {
        let queue = Arc::clone(&self.prompts);
        run_blocking(move || queue.recall(&text)).await
    }
}
