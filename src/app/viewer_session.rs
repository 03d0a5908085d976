//! The viewer: shows a crew that another process runs, reads and writes its state files, and takes over the crew when
//! that process ends.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::sync::oneshot;

use super::journal_tail::{Follower, JournalUpdate};
use super::lock::{self, FreedLock, Holder};
use super::{checks, new_id, now, worktree_commands};
use crate::crew::{Runner, Viewer, ViewerParts};
use crate::protocol::{CrewEvent, Event, EventKind, EventSender, SentCommand};
use crate::store::{JournalStart, Stores};
use crate::ui::SessionRole;

/// Follows a crew that another process runs, or the session of a crew whose process has ended, so that this process can
/// show it.
pub struct ViewerSession {
    root: PathBuf,
    viewer: Viewer,
    follower: Follower,
    holder: Holder,
    /// The session that this process has tried and failed to resume; `None` if there is none.
    failed_session: Option<String>,
    /// Receives the crew lock when it becomes free; `None` if no thread waits for the lock.
    waiting: Option<oneshot::Receiver<Result<FreedLock>>>,
    /// The crew lock, acquired after the crew's process has ended. Kept here until the rest of the journal is read; `None`
    /// before and after.
    freed: Option<FreedLock>,
    /// The sequence number of the last received event.
    seq: u64,
    /// Whether the next `CrewEvent::Ready` is the first event of a new run of the crew. True at first, and after each
    /// change of the process in the lock file.
    expects_new_run: bool,
}

/// What a viewer is notified of: a change of the process that runs the crew, new events, or that the crew lock became
/// free.
pub enum ViewerUpdate {
    /// The process that holds the crew lock became known or changed.
    Holder,
    /// The events of the session. They replace all events shown so far. The [`JournalStart`] says whether older events
    /// are missing.
    Restarted(Vec<Event>, JournalStart),
    Appended(Vec<Event>),
    /// The crew's process has ended, and this process has acquired the crew lock.
    LockFree(FreedLock),
    LockFailed(anyhow::Error),
}

impl ViewerSession {
    /// Starts to follow the crew that the process `holder` runs, and to wait for the crew lock. `has_checks` says whether
    /// the settings have checks.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn start(
        place: (&Path, Stores),
        holder: Holder,
        event_sender: EventSender,
        has_checks: bool,
    ) -> Result<ViewerSession> {
        let runner = Runner::Process(holder.process);
        let mut viewing = ViewerSession::open(place, holder, runner, event_sender, has_checks)?;
        viewing.wait()?;
        Ok(viewing)
    }

    /// Starts to follow a session that no process runs, because this process could not resume it.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn start_abandoned(
        place: (&Path, Stores),
        session: String,
        event_sender: EventSender,
        has_checks: bool,
    ) -> Result<ViewerSession> {
        let holder = lock::holder(place.0);
        let mut viewing =
            ViewerSession::open(place, holder, Runner::None, event_sender, has_checks)?;
        viewing.failed_session = Some(session);
        Ok(viewing)
    }

    fn open(
        (root, stores): (&Path, Stores),
        holder: Holder,
        runner: Runner,
        event_sender: EventSender,
        has_checks: bool,
    ) -> Result<ViewerSession> {
        Ok(ViewerSession {
            viewer: Viewer::start(ViewerParts {
                root: root.to_path_buf(),
                stores,
                runner,
                has_checks,
                event_sender,
                merge_checks: checks::for_merge,
                worktree_commands: worktree_commands::load_or_none,
                clock: now,
                new_id,
            }),
            follower: Follower::start(root)?,
            root: root.to_path_buf(),
            holder,
            failed_session: None,
            waiting: None,
            freed: None,
            seq: 0,
            expects_new_run: true,
        })
    }

    fn wait(&mut self) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        let root = self.root.clone();
        std::thread::Builder::new()
            .name("lock".into())
            // If the receiver was dropped, the lock is released at once.
            .spawn(move || drop(sender.send(lock::wait(&root))))?;
        self.waiting = Some(receiver);
        Ok(())
    }

    /// Waits for the next update. No update is lost if the future is dropped.
    pub async fn next(&mut self) -> ViewerUpdate {
        loop {
            tokio::select! {
                biased;
                heard = self.follower.next() => match heard {
                    Some(JournalUpdate::Holder(holder)) => {
                        self.holder = holder;
                        self.expects_new_run = true;
                        return ViewerUpdate::Holder;
                    }
                    Some(JournalUpdate::Restarted(events, beginning)) => {
                        // Skip the session that this process could not resume: its events are already shown.
                        if self.failed_session.is_none() || self.failed_session != self.holder.session {
                            return ViewerUpdate::Restarted(events, beginning);
                        }
                        self.seq = events.last().map_or(0, |e| e.seq);
                    }
                    Some(JournalUpdate::Appended(events)) => return ViewerUpdate::Appended(events),
                    None => match self.freed.take() {
                        Some(freed) => return ViewerUpdate::LockFree(freed),
                        None => std::future::pending().await,
                    },
                },
                freed = wait_for_lock(&mut self.waiting) => match freed {
                    Ok(freed) => {
                        // First deliver the rest of the journal, then the lock.
                        self.freed = Some(freed);
                        self.follower.finish();
                    }
                    Err(error) => return ViewerUpdate::LockFailed(error),
                }
            }
        }
    }

    /// Returns [`SessionRole::NoCrew`] if this process has tried and failed to resume the session, otherwise
    /// [`SessionRole::Viewer`].
    pub fn role(&self) -> SessionRole {
        match self.failed_session {
            Some(_) => SessionRole::NoCrew,
            None => SessionRole::Viewer(self.holder.process),
        }
    }

    /// Records from `news` which process runs the crew. If another process has resumed a session that this process
    /// could not resume, starts to wait for the crew lock again.
    ///
    /// The lock file alone does not show that another process has resumed the session, because the process may fail to
    /// start the crew. The process counts only after it has really started the crew. Otherwise two processes that both
    /// cannot start the crew would take turns forever.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn note(&mut self, news: &ViewerUpdate) -> Result<()> {
        let is_ready = |e: &Event| matches!(e.kind, EventKind::Crew(CrewEvent::Ready(_)));
        let runs = match news {
            ViewerUpdate::Restarted(events, _) | ViewerUpdate::Appended(events) => {
                events.iter().any(is_ready)
            }
            ViewerUpdate::Holder | ViewerUpdate::LockFree(_) | ViewerUpdate::LockFailed(_) => false,
        };
        if runs && self.failed_session.take().is_some() {
            self.wait()?;
        }
        self.viewer.set_runner(match self.failed_session {
            Some(_) => Runner::None,
            None => Runner::Process(self.holder.process),
        });
        Ok(())
    }

    /// Returns the process that holds the crew lock, as last read from the lock file.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Reads the state files and publishes their content. Call this if only the newest part of the journal was read.
    pub fn publish_files(&self) {
        self.viewer.publish_files();
    }

    /// Queues a command without waiting.
    ///
    /// # Errors
    /// Returns the command if the queue is full.
    pub fn submit(&self, command: SentCommand) -> Result<(), SentCommand> {
        self.viewer.submit(command)
    }

    /// Records the event's sequence number, and returns whether this event is the first one of a new run of the crew. A
    /// new run has started if the sequence number is lower than the last one, or if the event is the first
    /// `CrewEvent::Ready` from a new process.
    pub fn begins(&mut self, event: &Event) -> bool {
        let before = std::mem::replace(&mut self.seq, event.seq);
        let is_first =
            self.expects_new_run && matches!(event.kind, EventKind::Crew(CrewEvent::Ready(_)));
        if is_first {
            self.expects_new_run = false;
        }
        is_first || event.seq < before
    }
}

/// Waits until the thread that waits for the crew lock has acquired it. Waits forever if there is no such thread. Fails
/// if the lock file cannot be opened or locked.
async fn wait_for_lock(
    waiting: &mut Option<oneshot::Receiver<Result<FreedLock>>>,
) -> Result<FreedLock> {
    let Some(receiver) = waiting else {
        return std::future::pending().await;
    };
    let freed = receiver.await;
    *waiting = None;
    freed?
}
