//! The end of a host whose teammates first finish their tasks.

use std::sync::atomic::Ordering;

use super::super::registry::AgentState;
use super::{TeammateLoop, Teammates};
use crate::agent::driver::run_blocking;
use crate::agent::idle::IdleAction;
use crate::domain::ids::{Name, TaskId};
use crate::store::TaskSet;

impl Teammates {
    /// Makes the teammates claim no more tasks. Those that work finish their tasks.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
        self.signals.files_changed();
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::SeqCst)
    }

    /// Returns what the teammates of this process have not finished, as text for the user; `None` if nothing is left.
    /// Paused teammates do not count. A board that cannot be read counts as work.
    pub async fn unfinished_work(&self) -> Option<String> {
        let mut agents = self.registry.all();
        agents.retain(|(_, handle)| handle.state() != AgentState::Paused);
        let names: Vec<Name> = agents.iter().map(|(name, _)| name.clone()).collect();
        let board = self.board.store().clone();
        let tasks = run_blocking(move || {
            board.query(|graph| {
                let tasks = names.iter().map(|n| graph.open_task_of(n).map(|t| t.id));
                tasks.collect::<Vec<Option<TaskId>>>()
            })
        });
        let Ok(tasks) = tasks.await else {
            return Some("the board, which cannot be read".into());
        };
        let mut left = Vec::new();
        for ((name, handle), task) in agents.iter().zip(tasks) {
            let mut text = match task {
                Some(id) => format!("{name} (task {id})"),
                None if handle.is_working() => name.to_string(),
                None => continue,
            };
            if self.broker.only_waits(name) {
                text.push_str(", who needs a decision");
            }
            left.push(text);
        }
        if left.is_empty() {
            // The host ends now, and the last changes of its tasks are published before.
            self.board.read(TaskSet::All).await;
            return None;
        }
        Some(left.join("; "))
    }
}

impl TeammateLoop {
    /// Releases the task of a teammate that would not finish it before its host ends: it is stuck or paused.
    pub(super) async fn give_up_in_drain(&mut self, action: IdleAction) {
        let is_over = match action {
            IdleAction::Stuck(_) => true,
            IdleAction::StayIdle(_) => self.is_paused,
            IdleAction::Read
            | IdleAction::Resume(_)
            | IdleAction::Claim(_)
            | IdleAction::Leave(_) => false,
        };
        if !is_over || !self.crew.is_draining() {
            return;
        }
        self.is_paused = true;
        let graph = self.crew.board.graph();
        if graph.open_task_of(&self.member.name).is_some() {
            self.release_task().await;
        }
    }
}
