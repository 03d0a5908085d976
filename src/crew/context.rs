//! The context that all components of a crew share: the project directory, the session, the event sender and the stop
//! signal.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hooks::CrewHooks;
use super::shared_parts::HostParts;
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::domain::team::Member;
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
    /// This process as a host of a crew on a hub; `None` if the crew is on this machine only.
    pub host: Option<HostParts>,
}

impl CrewContext {
    pub async fn publish(&self, kind: EventKind) {
        self.event_sender.publish(kind).await;
    }

    pub async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        self.publish(EventKind::notice(level, text)).await;
    }

    /// Warns of stored state that cannot be used, on this host only: the other hosts read the same state and warn of it
    /// themselves.
    pub async fn warn_here(&self, text: String) {
        let sender = self.event_sender.clone().without_relay();
        sender
            .publish(EventKind::notice(NoticeLevel::Warn, text))
            .await;
    }

    /// Returns whether this process runs teammates for a lead on another host.
    pub fn is_worker(&self) -> bool {
        self.host.as_ref().is_some_and(HostParts::is_worker)
    }

    /// Returns whether this process runs the lead of a crew on a hub.
    pub fn is_lead_on_hub(&self) -> bool {
        self.host.is_some() && !self.is_worker()
    }

    /// Returns whether this process may act for its crew. A host that has lost its session may not, because another one may
    /// act in its place.
    pub fn may_act(&self) -> bool {
        let host = self.host.as_ref();
        host.is_none_or(|host| host.session.is_valid())
    }

    /// Returns the content of [`Member::host`](crate::domain::team::Member::host) for the members that this process runs.
    pub fn member_host(&self) -> &str {
        self.host.as_ref().map_or("", HostParts::member_host)
    }

    /// Returns whether this process runs `member`, while it is present.
    pub fn runs(&self, member: &Member) -> bool {
        let host = self.host.as_ref();
        host.map_or(member.host.is_empty(), |host| host.runs(member))
    }

    /// Returns whether a task was claimed for another host; false for claims of the user.
    pub fn is_of_other_host(&self, task: &Task) -> bool {
        let own = self.host.as_ref().map(|host| &host.info.name);
        let claim = task.claim.as_ref();
        claim.is_some_and(|claim| own.is_none_or(|own| !own.same(&claim.host)))
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

/// Waits until the time `at`. If `at` is `None`, waits forever.
pub async fn until(at: Option<tokio::time::Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Locks a mutex, even if another thread has panicked while it held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
