//! The user's own actions on the board, the same as those of `crewdeck task`, for the crew and for viewers; and what the
//! crew does in response.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Shared, Standing, lock};
use crate::agent::driver::{Control, blocking};
use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::{LetterId, Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::WorktreeName;
use crate::protocol::TaskWish;
use crate::protocol::event::{EventKind, Level, PersonAct};
use crate::store::{Board, Post, Roster, StoreError, Which, Worktrees, take_from};

/// The stores that the user's actions change.
pub(super) struct Hands {
    pub root: PathBuf,
    pub board: Board,
    pub roster: Roster,
    pub post: Post,
    /// `None` if all agents work in the root.
    pub trees: Option<Worktrees>,
    pub now: Stamp,
    pub new_id: fn() -> String,
}

/// Whether a claimed task gets a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trees {
    /// The crew creates one.
    Made,
    /// All agents work in the root.
    None,
}

/// A completed action of the user.
pub(super) struct Acted {
    pub task: Task,
    pub act: PersonAct,
}

impl Acted {
    /// Returns the message that tells the user where to work on a claimed task. `None` for other actions, and for a
    /// worktree that must still be created; it is announced later.
    pub fn place(&self, root: &Path, trees: Trees) -> Option<String> {
        let (PersonAct::Claimed, id) = (&self.act, self.task.id) else {
            return None;
        };
        let tree = WorktreeName::new(&self.task.worktree).ok();
        let dir = tree.map(|tree| Path::new(".worktrees").join(tree.as_str()));
        match (dir.filter(|dir| root.join(dir).is_dir()), trees) {
            (Some(dir), _) => Some(format!(
                "{id} is yours: its worktree is {}, with the earlier work on it.",
                dir.display()
            )),
            (None, Trees::None) => Some(format!(
                "{id} is yours: work on it in the project directory."
            )),
            (None, Trees::Made) => None,
        }
    }

    /// Returns the event for the action.
    pub fn told(&self) -> EventKind {
        EventKind::PersonActed {
            task: self.task.id,
            act: self.act.clone(),
        }
    }
}

impl Hands {
    /// Commits the uncommitted files of a task that the user completes, since dependent tasks build on its branch. Does
    /// nothing for other actions.
    pub fn prepare(&self, wish: &TaskWish) -> Result<(), StoreError> {
        let (TaskWish::Complete { task }, Some(trees)) = (wish, &self.trees) else {
            return Ok(());
        };
        let id = *task;
        self.board
            .ask(move |graph| graph.may_complete(id, &Name::user()))??;
        let task = self.board.get(id)?;
        let Ok(name) = WorktreeName::new(&task.worktree) else {
            return Ok(());
        };
        if self.root.join(".worktrees").join(name.as_str()).is_dir() {
            let message = format!("task {id}: {}", task.subject);
            trees.commit_leftovers(&name, &message)?;
        }
        Ok(())
    }

    /// Executes an action.
    pub fn act(&self, wish: TaskWish) -> Result<Acted, StoreError> {
        let (board, now) = (&self.board, self.now);
        let (task, act) = match wish {
            TaskWish::Claim { task } => {
                let claimed = board.claim(Some(task), &Claimer::person(), now)?;
                (
                    claimed.map_or_else(|| board.get(task).map(Arc::unwrap_or_clone), Ok)?,
                    PersonAct::Claimed,
                )
            }
            TaskWish::Release { task, from } => {
                let doors = (board, &self.roster, &self.post);
                let letter = LetterId((self.new_id)());
                let task = take_from(doors, task, &from, letter, now)?;
                (task, PersonAct::Released { from })
            }
            TaskWish::Complete { task } => (
                board.complete(task, &Name::user(), now)?,
                PersonAct::Completed,
            ),
            TaskWish::Add { new } => (board.create(new, now)?, PersonAct::Added),
            TaskWish::Edit { task, edit } => (board.edit(task, &edit, now)?, PersonAct::Edited),
        };
        Ok(Acted { task, act })
    }
}

/// The result of creating a worktree for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placing {
    /// It exists, or is no longer needed.
    Over,
    /// It could not be created.
    Failed,
}

impl Shared {
    /// Executes an action of the user on the board and publishes it.
    pub(super) async fn act_for_person(self: &Arc<Self>, wish: TaskWish) -> Result<(), String> {
        let hands = Hands {
            root: self.root.clone(),
            board: self.board.clone(),
            roster: self.roster.clone(),
            post: self.post.clone(),
            trees: self.trees.as_ref().map(|trees| trees.door.clone()),
            now: self.now(),
            new_id: self.new_id,
        };
        let (hands, wish) = blocking(move || hands.prepare(&wish).map(|()| (hands, wish)))
            .await
            .map_err(|e| e.to_string())?;
        let acted = {
            // The board stays locked, so that the user's action is published before the change that it makes.
            let _turn = self.board_turn.lock().await;
            let acted = blocking(move || hands.act(wish)).await;
            let acted = acted.map_err(|e| e.to_string())?;
            self.publish(acted.told()).await;
            acted
        };
        let trees = self.trees.as_ref().map_or(Trees::None, |_| Trees::Made);
        if let Some(text) = acted.place(&self.root, trees) {
            self.notice(Level::Info, text).await;
        }
        let id = acted.task.id;
        let graph = self.graph();
        let mut around = graph.dependants(id);
        around.extend(graph.blockers(id));
        around.insert(id);
        self.read_board(Which::These(around)).await;
        self.changed();
        Ok(())
    }

    /// Responds to the user's changes of the board, whichever process made them: interrupts a teammate whose task was
    /// taken, adds a note to the lead's next call, and creates worktrees for the user's tasks.
    pub(super) fn follow_person(self: &Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]) {
        for task in changed {
            let before = known.get(task.id);
            let taken = task.taken_from.iter();
            let is_news = |name: &&String| before.is_some_and(|b| !b.was_taken_from(name));
            for name in taken.filter(is_news).filter_map(|n| Name::party(n).ok()) {
                self.stop_taken(&name, task.id);
                self.note_lead(format!("the user took task {} from {name}", task.id));
            }
            let was = before.is_some_and(|b| b.is_open_for(Name::user().as_str()));
            if task.is_open_for(Name::user().as_str()) && !was {
                self.note_lead(format!("the user works on task {}", task.id));
            }
        }
        self.place_person(changed.iter().map(|t| &**t));
    }

    fn note_lead(&self, line: String) {
        if let Some(lead) = self.handle(&Name::lead()) {
            lead.desk.note(line);
        }
    }

    /// Interrupts a teammate whose task was taken. The lead is not interrupted, since it talks with the user.
    fn stop_taken(&self, name: &Name, task: TaskId) {
        let Some(handle) = self.handle(name).filter(|_| !name.is_lead()) else {
            return;
        };
        if *lock(&handle.standing) == Standing::Working {
            handle.desk.lift(task);
            // A full queue already contains an interrupt.
            let _ = handle.control.try_send(Control::Interrupt);
        }
    }

    /// Creates the missing worktrees of the tasks that the user works on.
    pub(super) fn place_person<'a>(self: &Arc<Self>, tasks: impl Iterator<Item = &'a Task>) {
        if self.trees.is_none() {
            return;
        }
        for task in tasks.filter(|task| self.lacks_place(task)) {
            if !lock(&self.placed).insert(task.id) {
                continue;
            }
            let (shared, id, chore) = (Arc::clone(self), task.id, self.chore());
            self.tracker.spawn(async move {
                // After a failure the task stays in `placed`, so that the error is reported once and not at each read of
                // the board. Otherwise the entry is removed, so that a later claim can create the worktree again.
                if shared.place_and_tell(id).await == Placing::Over {
                    lock(&shared.placed).remove(&id);
                }
                drop(chore);
            });
        }
    }

    /// Whether the user works on this task and it has no worktree.
    fn lacks_place(&self, task: &Task) -> bool {
        task.status == TaskStatus::InProgress
            && task.is_open_for(Name::user().as_str())
            && self.dir_of(task).is_none()
    }

    /// Returns the current task if the user still works on it.
    async fn works_on(&self, id: TaskId) -> Option<Arc<Task>> {
        let board = self.board.clone();
        let task = blocking(move || board.get(id)).await.ok()?;
        let is_theirs =
            task.status == TaskStatus::InProgress && task.is_open_for(Name::user().as_str());
        is_theirs.then_some(task)
    }

    async fn place_and_tell(self: &Arc<Self>, id: TaskId) -> Placing {
        // The published board may be outdated: the worktree may exist by now, or the task may have been released.
        let Some(task) = self.works_on(id).await.filter(|t| self.dir_of(t).is_none()) else {
            return Placing::Over;
        };
        // A killed crew may have created the worktree without recording it in the task.
        let task = if task.worktree.is_empty() {
            self.bound(Task::clone(&task)).await
        } else {
            Task::clone(&task)
        };
        let placed = self.place_for(&task, &Name::user()).await;
        self.read_board(Which::These([id].into())).await;
        if self.works_on(id).await.is_none() {
            // The task was released or completed in the meantime.
            return Placing::Over;
        }
        match placed {
            Ok(None) => Placing::Over,
            Ok(Some(place)) => {
                let dir = place.dir.strip_prefix(&self.root).unwrap_or(&place.dir);
                let text = format!("{id} is yours: its worktree is {}.", dir.display());
                self.notice(Level::Info, text).await;
                Placing::Over
            }
            Err(error) => {
                let text = format!(
                    "The worktree of your task {id} cannot be created: {error}. Work in the project directory, or release the task."
                );
                self.notice(Level::Warn, text).await;
                Placing::Failed
            }
        }
    }
}
