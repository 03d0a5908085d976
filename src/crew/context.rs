//! The context that all components of a crew share: the project directory, the session, the event sender and the stop
//! signal.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hooks::CrewHooks;
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::store::TranscriptFile;

pub struct CrewContext {
    pub root: PathBuf,
    pub session: String,
    pub event_sender: EventSender,
    pub clock: fn() -> Timestamp,
    pub new_id: fn() -> String,
    /// The time at which the crew started, on the monotonic clock.
    pub started: tokio::time::Instant,
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
    /// The hooks of the crew; `None` if no hook is configured.
    pub hooks: Option<Arc<CrewHooks>>,
}

impl CrewContext {
    pub async fn publish(&self, kind: EventKind) {
        self.event_sender.publish(kind).await;
    }

    pub async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.publish(EventKind::notice(level, text)).await;
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub fn new_id(&self) -> String {
        (self.new_id)()
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Runs `work` in the background. [`super::Crew::stop`] waits for its end, up to a time limit.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(work);
    }

    /// Opens the transcript of `agent` in this session. Secrets are redacted from every record that is written to the
    /// transcript.
    pub fn transcript(&self, agent: &Name) -> TranscriptFile {
        TranscriptFile::open(&self.root, &self.session, agent)
            .with_redactor(self.event_sender.redactor())
    }
}

/// Locks a mutex, even if another thread has panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
