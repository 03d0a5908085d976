//! The watcher: reads state files again when they change, publishes the changes and wakes idle agents.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::graph::{Delta, TaskGraph};
use crate::domain::ids::{LetterId, Name};
use crate::domain::task::TaskStatus;
use crate::domain::team::Team;
use crate::protocol::event::{EventKind, LetterStep, Level};
use crate::store::watch::{self, Dirty, Watching};
use crate::store::{Look, Which};

/// Most changes that may be queued; the watch merges further ones.
const DIRTY_MAX: usize = 16;
/// How long to wait before unreadable state files are read again.
const AGAIN: Duration = Duration::from_secs(5);
/// Most messages that the Inbox pane shows.
pub(super) const LETTERS_MAX: usize = 500;

/// Watches the state folders until the crew stops. Calls `begin`, which starts the agents, once the files were read and
/// the unfinished work of an earlier run was started.
pub async fn watch(shared: Arc<Shared>, begin: impl FnOnce() + Send) {
    let (tell, mut told) = mpsc::channel(DIRTY_MAX);
    let watching = watch::start(&shared.root, &shared.skills, move |dirty| {
        let _ = tell.blocking_send(dirty);
    });
    let _watch = match watching {
        Ok(watching) => {
            if let Watching::Polling { why } = watching.how() {
                let text = format!("Polling for file changes once a second: {why}");
                shared.notice(Level::Warn, text).await;
            }
            watching
        }
        Err(error) => {
            shared
                .notice(
                    Level::Error,
                    format!("The state folders cannot be watched: {error}"),
                )
                .await;
            begin();
            return;
        }
    };
    let mut letters = Letters::default();
    shared.read_board(Which::All).await;
    shared.read_team().await;
    shared.read_requests().await;
    shared.place_person(shared.graph().tasks());
    shared.read_head().await;
    shared.read_branches(Look::Anew).await;
    letters.read(&shared).await;
    // Read again, because they may have changed before the watch started.
    shared.read_skills().await;
    shared.hand_over_again().await;
    let (chore, crew) = (shared.chore(), Arc::clone(&shared));
    shared.tracker.spawn(async move {
        crew.merge_what_waits().await;
        drop(chore);
    });
    begin();
    let mut again = Instant::now() + AGAIN;
    loop {
        if !shared.troubles.are_there() {
            again = Instant::now() + AGAIN;
        }
        let dirty = tokio::select! {
            () = shared.stop.cancelled() => return,
            dirty = told.recv() => match dirty {
                Some(dirty) => vec![dirty],
                None => return,
            },
            // Unreadable files are read again on a timer, since the cause may end without a file change. Changes of other
            // files do not postpone it.
            () = tokio::time::sleep_until(again), if shared.troubles.are_there() => {
                again = Instant::now() + AGAIN;
                Dirty::all().into()
            }
        };
        for dirty in dirty {
            match dirty {
                Dirty::Board(which) => drop(shared.read_board(which).await),
                Dirty::Roster => shared.read_team().await,
                Dirty::Requests => shared.read_requests().await,
                Dirty::Mail => letters.read(&shared).await,
                Dirty::Branches => {
                    shared.read_head().await;
                    shared.read_branches(Look::IfChanged).await;
                }
                Dirty::Skills => shared.read_skills().await,
            }
        }
    }
}

impl Shared {
    /// Reads tasks again and publishes what has changed. Returns the published board; `None` if it cannot be read.
    pub(super) async fn read_board(self: &Arc<Self>, which: Which) -> Option<Arc<TaskGraph>> {
        // One at a time, so that changes are published in the order in which they were read.
        let _turn = self.board_turn.lock().await;
        let (board, known) = (self.board.clone(), self.graph());
        let news = blocking(move || board.news(&which, &known)).await;
        let news = self.looked("The board", news).await?;
        for notice in news.notices {
            self.notice(Level::Warn, notice).await;
        }
        if news.delta.is_empty() {
            return Some(self.graph());
        }
        self.note_progress(&news.delta);
        self.follow_person(&self.graph(), &news.delta.changed);
        {
            let mut graph = self.graph.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut graph).apply(&news.delta.changed, &news.delta.removed);
        }
        for Delta { changed, removed } in news.delta.pieces() {
            self.publish(EventKind::BoardChanged { changed, removed })
                .await;
        }
        self.changed();
        Some(self.graph())
    }

    /// Notes for the lead's next call which tasks other agents have completed; this costs no model call.
    fn note_progress(self: &Arc<Self>, delta: &Delta) {
        let known = self.graph();
        for task in delta
            .changed
            .iter()
            .filter(|t| t.status == TaskStatus::Completed && t.owner != "lead")
        {
            let is_news = known
                .get(task.id)
                .is_some_and(|before| before.status != TaskStatus::Completed);
            if !is_news {
                continue;
            }
            if !task.worktree.is_empty() {
                let (shared, task, chore) = (Arc::clone(self), Arc::clone(task), self.chore());
                self.tracker.spawn(async move {
                    shared.completed(&task).await;
                    drop(chore);
                });
            }
            if let Some(lead) = self.handle(&Name::lead()) {
                let by = match task.owner.as_str() {
                    "user" => "the user",
                    owner => owner,
                };
                lead.desk.note(format!(
                    "{by} completed task {} ({})",
                    task.id, task.subject
                ));
                self.news.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Reads the roster and publishes it if it has changed.
    pub(super) async fn read_team(&self) {
        let roster = self.roster.clone();
        let team = blocking(move || roster.read()).await;
        for notice in self.roster.take_notices() {
            self.notice(Level::Warn, notice).await;
        }
        if let Some(team) = self.looked("The roster", team).await {
            self.tell_team(team).await;
        }
    }

    async fn tell_team(&self, team: Team) {
        let changed = {
            let mut known = super::lock(&self.team);
            let changed = known.is_other_than(&team);
            if changed {
                known.clone_from(&team);
            }
            changed
        };
        if changed {
            self.publish(EventKind::TeamChanged {
                team: Arc::new(team),
            })
            .await;
        }
    }
}

/// The messages that were published, with their last step.
#[derive(Default)]
struct Letters {
    known: HashMap<LetterId, LetterStep>,
}

impl Letters {
    /// Publishes messages that are new or were received since the last call.
    async fn read(&mut self, shared: &Shared) {
        let post = shared.post.clone();
        let recent = blocking(move || post.recent(LETTERS_MAX)).await;
        let Some(recent) = shared.looked("The messages", recent).await else {
            return;
        };
        shared.warn("The messages", recent.notices).await;
        let mut known = HashMap::new();
        for (letter, step) in recent.letters {
            let before = self.known.get(&letter.id).copied();
            known.insert(letter.id.clone(), step);
            if before != Some(step) {
                shared
                    .publish(EventKind::LetterMoved { letter, step })
                    .await;
            }
        }
        self.known = known;
        shared.changed();
    }
}
