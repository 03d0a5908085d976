//! A dashboard where another process runs the crew: follows it, acts on its files, and waits to take it over.

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

/// A crew that another process runs, or ran.
pub struct Viewing {
    root: PathBuf,
    viewer: Viewer,
    follower: Follower,
    holder: Holder,
    /// The session that this process had the lock for and could not go on with.
    given_up: Option<String>,
    /// Comes when the lock is free; `None`: nobody waits for it.
    waiting: Option<oneshot::Receiver<Result<Freed>>>,
    /// The lock, while the rest of the journal is read.
    freed: Option<Freed>,
    /// The number of the last event.
    seq: u64,
    expected: Run,
}

/// Which run of the crew is to be heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Same,
    /// Another process has the lock.
    Another,
}

/// What is new of the crew that is looked at.
pub enum News {
    /// Another process or session runs it, or the first one is known now.
    Holder,
    /// The session from its start: nothing that was shown before counts.
    Anew(Vec<Event>, Beginning),
    /// What happened since.
    More(Vec<Event>),
    /// It is gone, and its lock is ours.
    Free(Freed),
    /// The lock can not be waited for.
    NoLock(anyhow::Error),
}

impl Viewing {
    /// Looks at the crew that `holder` runs and waits for its end.
    ///
    /// # Errors
    /// When a thread can not be started.
    pub fn start(root: &Path, holder: Holder, publisher: Publisher) -> Result<Viewing> {
        let runner = Runner::Process(holder.process);
        let mut viewing = Viewing::open(root, holder, runner, publisher)?;
        viewing.wait()?;
        Ok(viewing)
    }

    /// Looks at what a crew has left that nobody runs any more.
    ///
    /// # Errors
    /// When a thread can not be started.
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
        let (tell, told) = oneshot::channel();
        let root = self.root.clone();
        std::thread::Builder::new()
            .name("lock".into())
            // Nobody there to take it: it is free again at once.
            .spawn(move || drop(tell.send(lock::wait(&root))))?;
        self.waiting = Some(told);
        Ok(())
    }

    /// What is new. May be dropped and called again at any point.
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
                        // What was given up is in view already.
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
                freed = told(&mut self.waiting) => match freed {
                    Ok(freed) => {
                        // What its crew wrote last comes first.
                        self.freed = Some(freed);
                        self.follower.finish();
                    }
                    Err(error) => return News::NoLock(error),
                }
            }
        }
    }

    /// The seat at this crew.
    pub fn seat(&self) -> Seat {
        match self.given_up {
            Some(_) => Seat::Left,
            None => Seat::Viewer(self.holder.process),
        }
    }

    /// Takes note of what was heard. Where the crew was given up, it runs again when somebody else has started it:
    /// a process that only tried must not be taken for one, or two that can not would try for ever.
    ///
    /// # Errors
    /// When a thread can not be started.
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

    /// Who runs the crew, as far as it is known.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Tells of the state files as they stand: of a long journal not all was read.
    pub fn tell_of_files(&self) {
        self.viewer.tell_of_files();
    }

    /// Hands a command down without waiting.
    ///
    /// # Errors
    /// Gives the command back when too many wait already; nothing was done.
    pub fn submit(&self, command: Command) -> Result<(), Command> {
        self.viewer.submit(command)
    }

    /// Whether another run of the crew begins with this event: each numbers its own, and a process that was not
    /// there before tells first what it works with.
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

/// The lock, when it is free; never where nobody waits for it.
async fn told(waiting: &mut Option<oneshot::Receiver<Result<Freed>>>) -> Result<Freed> {
    let Some(receiver) = waiting else {
        return std::future::pending().await;
    };
    let freed = receiver.await;
    *waiting = None;
    freed?
}
