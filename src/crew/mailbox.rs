//! Checks whether an agent has unread messages that it can receive now, and waits while another program reads its inbox.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Shared, lock};
use crate::agent::desk::Intake;
use crate::agent::driver::blocking;
use crate::domain::ids::Name;
use crate::protocol::event::Level;
use crate::store::StoreError;

/// How long a check waits for the reader lock, so that two checks of the crew at the same time do not count as another
/// reader.
const LOOK_WAIT: Duration = Duration::from_millis(50);
/// The interval between checks for another reader.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long another reader keeps the crew from being idle. After that a warning is shown, and `run` may end.
const PATIENCE: Duration = Duration::from_secs(3);

/// The agents whose messages cannot be delivered now.
#[derive(Default)]
pub struct Mailbox {
    /// Agents whose inbox another program is reading.
    awaited: Mutex<BTreeSet<Name>>,
    /// Agents whose inbox has a file error. Each is reported once until it can be read again.
    refused: Mutex<BTreeSet<Name>>,
}

impl Shared {
    /// Whether `name` has messages that it can receive now.
    pub(super) async fn has_mail(self: &Arc<Self>, name: &Name) -> bool {
        let handle = self.handle(name);
        if (handle.as_ref()).is_some_and(|h| h.desk.intake() == Intake::Shut) {
            return false;
        }
        let (post, whose) = (self.post.clone(), name.clone());
        let waiting = blocking(move || {
            let seen = post.look(&whose)?;
            // Invalid lines and truncated files need no agent, so they are cleaned up here instead of waking one.
            if seen.letters.is_empty() && seen.is_due() {
                post.reader(&whose, LOOK_WAIT)?.pending()
            } else {
                Ok(seen)
            }
        });
        let Ok(waiting) = waiting.await else {
            return false;
        };
        if waiting.letters.is_empty() {
            for notice in waiting.notices() {
                self.notice(Level::Warn, notice).await;
            }
            return false;
        }
        // An agent that has received messages and not recorded them yet holds the reader lock itself.
        let has_some = handle.is_some_and(|h| h.desk.reader().is_some());
        has_some || self.can_take(name).await
    }

    /// Whether the inbox of `name` can be read now. If not, waking the agent would only repeat the attempt endlessly.
    async fn can_take(self: &Arc<Self>, name: &Name) -> bool {
        let (post, whose) = (self.post.clone(), name.clone());
        let reader = blocking(move || post.reader(&whose, LOOK_WAIT)).await;
        match reader {
            Ok(_) => {
                lock(&self.mailbox.refused).remove(name);
                true
            }
            Err(StoreError::BeingRead { .. }) => {
                self.wait_for_reader(name);
                false
            }
            Err(error) => {
                if lock(&self.mailbox.refused).insert(name.clone()) {
                    let text = format!("The messages for {name} cannot be delivered: {error}");
                    self.notice(Level::Error, text).await;
                }
                false
            }
        }
    }

    /// Wakes all agents once another program no longer reads the inbox of `name`, since it may have left messages.
    fn wait_for_reader(self: &Arc<Self>, name: &Name) {
        if !lock(&self.mailbox.awaited).insert(name.clone()) {
            return;
        }
        let (shared, name, chore) = (Arc::clone(self), name.clone(), self.chore());
        self.tracker.spawn(async move {
            let stop = shared.stop.clone();
            let awaited = tokio::time::timeout(PATIENCE, shared.reader_ends(&name));
            let has_ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = awaited => ended.is_ok(),
            };
            if !has_ended {
                let text = format!(
                    "The messages for {name} are being read by another program, which does not end (crewdeck mail read?): they are delivered when it ends."
                );
                shared.notice(Level::Warn, text).await;
                drop(chore);
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = shared.reader_ends(&name) => {}
                }
            }
            lock(&shared.mailbox.awaited).remove(&name);
            shared.changed();
        });
    }

    async fn reader_ends(&self, name: &Name) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let (post, name) = (self.post.clone(), name.clone());
            if let Ok(false) = blocking(move || Ok(post.is_being_read(&name))).await {
                return;
            }
        }
    }
}
