//! The viewer: follows a crew that another process runs, acts on its files, and waits to take over.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tokio::sync::oneshot;

use super::follow::{Follower, Heard};
use super::lock::{self, Freed, Holder};
use super::{new_id, now};
use crate::crew::{Runner, Viewer, ViewerParts};
use crate::protocol::{Command, Event, EventKind, Publisher};
use crate::store::Beginning;
use crate::ui::Seat;

/// The view of a crew that another process runs or ran.
pub struct Viewing {
    root: PathBuf,
    viewer: Viewer,
    follower: Follower,
    holder: Holder,
    /// The session that this process tried to take over and could not start.
    given_up: Option<String>,
    /// Delivers the lock when it is free; `None` if no thread waits for it.
    waiting: Option<oneshot::Receiver<Result<Freed>>>,
    /// The acquired lock, while the rest of the journal is read.
    freed: Option<Freed>,
    /// The sequence number of the last event.
    seq: u64,
    expected: Run,
}

/// Which run of the crew the next setup event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Same,
    /// A new run, since the lock's holder changed.
    Another,
}

/// An update of the followed crew.
pub enum News {
    /// The lock's holder became known or changed.
    Holder,
    /// The session from its start. Replaces everything shown so far.
    Anew(Vec<Event>, Beginning),
    /// New events.
    More(Vec<Event>),
    /// The crew's process has ended, and this process has the lock.
    Free(Freed),
    /// Waiting for the lock failed.
    NoLock(anyhow::Error),
}

impl Viewing {
    /// Follows the crew of `holder` and waits for its lock.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn start(root: &Path, holder: Holder, publisher: Publisher) -> Result<Viewing> {
        let runner = Runner::Process(holder.process);
        let mut viewing = Viewing::open(root, holder, runner, publisher)?;
        viewing.wait()?;
        Ok(viewing)
    }

    /// Shows a session that no process runs, because this process could not resume it.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn left(root: &Path, session: String, publisher: Publisher) -> Result<Viewing> {
        let mut viewing = Viewing::open(root, lock::holder(root), Runner::Nobody, publisher)?;
        viewing.given_up = Some(session);
        Ok(viewing)
    }

    fn open(root: &Path, holder: Holder, runner: Runner, publisher: Publisher) -> Result<Viewing> {
        Ok(Viewing {
            viewer: Viewer::start(ViewerParts {
                root: root.to_path_buf(),
                runner,
                publisher,
                clock: now,
                new_id,
            }),
            follower: Follower::start(root)?,
            root: root.to_path_buf(),
            holder,
            given_up: None,
            waiting: None,
            freed: None,
            seq: 0,
            expected: Run::Another,
        })
    }

    fn wait(&mut self) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        let root = self.root.clone();
        std::thread::Builder::new()
            .name("lock".into())
            // If the receiver is gone, the lock is dropped and released at once.
            .spawn(move || drop(sender.send(lock::wait(&root))))?;
        self.waiting = Some(receiver);
        Ok(())
    }

    /// Waits for the next update. Cancel safe.
    pub async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                biased;
                heard = self.follower.next() => match heard {
                    Some(Heard::Holder(holder)) => {
                        self.holder = holder;
                        self.expected = Run::Another;
                        return News::Holder;
                    }
                    Some(Heard::Anew(events, beginning)) => {
                        // The session that could not be resumed is shown already.
                        if self.given_up.is_none() || self.given_up != self.holder.session {
                            return News::Anew(events, beginning);
                        }
                        self.seq = events.last().map_or(0, |e| e.seq);
                    }
                    Some(Heard::More(events)) => return News::More(events),
                    None => match self.freed.take() {
                        Some(freed) => return News::Free(freed),
                        None => std::future::pending().await,
                    },
                },
                freed = wait_for_lock(&mut self.waiting) => match freed {
                    Ok(freed) => {
                        // The rest of the journal is delivered before the lock.
                        self.freed = Some(freed);
                        self.follower.finish();
                    }
                    Err(error) => return News::NoLock(error),
                }
            }
        }
    }

    /// Returns this process's role in the session.
    pub fn seat(&self) -> Seat {
        match self.given_up {
            Some(_) => Seat::Left,
            None => Seat::Viewer(self.holder.process),
        }
    }

    /// Updates the runner and the wait for the lock. A session that this process could not resume counts as running again
    /// once another process has really started it. A mere attempt does not count; otherwise two processes that both
    /// cannot start it would take turns forever.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn note(&mut self, news: &News) -> Result<()> {
        let is_ready = |e: &Event| matches!(e.kind, EventKind::CrewReady(_));
        let runs = match news {
            News::Anew(events, _) | News::More(events) => events.iter().any(is_ready),
            News::Holder | News::Free(_) | News::NoLock(_) => false,
        };
        if runs && self.given_up.take().is_some() {
            self.wait()?;
        }
        self.viewer.set_runner(match self.given_up {
            Some(_) => Runner::Nobody,
            None => Runner::Process(self.holder.process),
        });
        Ok(())
    }

    /// Returns the known holder of the crew lock.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Publishes the current state files, for a journal of which only the end was read.
    pub fn tell_of_files(&self) {
        self.viewer.tell_of_files();
    }

    /// Queues a command without waiting.
    ///
    /// # Errors
    /// Returns the command if the queue is full.
    pub fn submit(&self, command: Command) -> Result<(), Command> {
        self.viewer.submit(command)
    }

    /// Whether a new run of the crew begins with this event: the sequence number restarts, or a new process publishes its
    /// setup.
    pub fn begins(&mut self, event: &Event) -> bool {
        let before = std::mem::replace(&mut self.seq, event.seq);
        let is_first =
            self.expected == Run::Another && matches!(event.kind, EventKind::CrewReady(_));
        if is_first {
            self.expected = Run::Same;
        }
        is_first || event.seq < before
    }
}

/// Waits for the lock; forever if no thread waits for it.
async fn wait_for_lock(waiting: &mut Option<oneshot::Receiver<Result<Freed>>>) -> Result<Freed> {
    let Some(receiver) = waiting else {
        return std::future::pending().await;
    };
    let freed = receiver.await;
    *waiting = None;
    freed?
}
