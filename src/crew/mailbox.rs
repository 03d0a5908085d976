//! Whether letters wait for an agent that it can take now; and the wait for another program that takes them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Shared, lock};
use crate::agent::desk::Intake;
use crate::agent::driver::blocking;
use crate::domain::ids::Name;
use crate::protocol::event::Level;
use crate::store::StoreError;

/// How long a look waits for its turn: two looks of the crew at the same time are no other reader, and wait for no such.
const LOOK_WAIT: Duration = Duration::from_millis(50);
/// How often another reader is looked after.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long the crew does not count as at rest because of one: then it is told, and `run` may end.
const PATIENCE: Duration = Duration::from_secs(3);

/// What keeps letters from their agents.
#[derive(Default)]
pub struct Mailbox {
    /// Whose letters another program takes, while that is waited for.
    awaited: Mutex<BTreeSet<Name>>,
    /// Whose letters can not be taken because of the files. Each is told once, until they can be.
    refused: Mutex<BTreeSet<Name>>,
}

impl Shared {
    /// Whether letters wait for `name` that it can take.
    pub(super) async fn has_mail(self: &Arc<Self>, name: &Name) -> bool {
        let handle = self.handle(name);
        if (handle.as_ref()).is_some_and(|h| h.desk.intake() == Intake::Shut) {
            return false;
        }
        let (post, whose) = (self.post.clone(), name.clone());
        let waiting = blocking(move || {
            let seen = post.look(&whose)?;
            // No agent is woken where no letter waits: a line that is none, and a cut, would be left as they are.
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
        // Those that it has taken itself and not written down yet are its own.
        let has_some = handle.is_some_and(|h| h.desk.reader().is_some());
        has_some || self.can_take(name).await
    }

    /// Whether the letters of `name` could be taken now. Where they can not, an agent that was woken for them would be
    /// woken again and again.
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
                    let text = format!("The messages of {name} cannot be taken: {error}");
                    self.notice(Level::Error, text).await;
                }
                false
            }
        }
    }

    /// Wakes everybody when another program no longer takes the letters of `name`: it may have left some.
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
                    "The messages of {name} are being read by another program, which does not end (crewdeck mail read?): they wait until it has ended."
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
