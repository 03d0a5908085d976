//! What the start of a crew is quick with: who is here and what is on the board, while git is asked whether there can
//! be worktrees.

use tokio::task::JoinHandle;

use super::trees::Trees;
use super::{MergeRule, Parts};
use crate::agent::driver::blocking;
use crate::domain::graph::{Delta, TaskGraph};
use crate::protocol::event::{EventKind, Level};
use crate::store::{Board, StoreError, Which, Worktrees};

/// The question to git, under way.
pub(super) struct Asked {
    rule: MergeRule,
    door: Worktrees,
    answer: JoinHandle<Result<(), StoreError>>,
}

/// Asks git whether there can be worktrees; `None`: nobody wants any.
pub(super) fn ask_git(parts: &Parts) -> Option<Asked> {
    let rule = parts.worktrees?;
    let door = Worktrees::open(&parts.root);
    let check = door.clone();
    let answer = tokio::spawn(blocking(move || check.check()));
    Some(Asked { rule, door, answer })
}

/// The worktrees, or why there are none although somebody wants them.
pub(super) async fn heard_of_git(asked: Option<Asked>) -> (Option<Trees>, Option<String>) {
    let Some(Asked { rule, door, answer }) = asked else {
        return (None, None);
    };
    match answer.await {
        Ok(Ok(())) => (Some(Trees::new(door, rule)), None),
        Ok(Err(why)) => (None, Some(why.to_string())),
        Err(why) => (None, Some(why.to_string())),
    }
}

/// Tells who is here and what is on the board, before anything that takes longer. The board as it was told comes back.
pub(super) async fn first_look(parts: &Parts, board: &Board) -> TaskGraph {
    let publisher = &parts.publisher;
    publisher
        .publish(EventKind::CrewReady(parts.setup.clone()))
        .await;
    let board = board.clone();
    let looked = blocking(move || board.news(&Which::All, &TaskGraph::default())).await;
    let mut graph = TaskGraph::default();
    // Where it can not be read, the watcher says so when it has begun.
    if let Ok(news) = looked {
        graph.apply(&news.delta.changed, &news.delta.removed);
        for text in news.notices {
            publisher
                .publish(EventKind::notice(Level::Warn, text))
                .await;
        }
        for Delta { changed, removed } in news.delta.pieces() {
            publisher
                .publish(EventKind::BoardChanged { changed, removed })
                .await;
        }
    }
    graph
}
