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
    answer: JoinHandle<Result<Vec<String>, StoreError>>,
}

/// What git said about worktrees.
pub(super) struct Heard {
    pub(super) trees: Option<Trees>,
    /// What to tell the user: what was repaired, or why there are no worktrees.
    pub(super) notices: Vec<(Level, String)>,
}

/// Asks git whether there can be worktrees, and repairs what killed gits have left in the repository; `None`: no one
/// wants any.
pub(super) fn ask_git(parts: &Parts) -> Option<Asked> {
    let rule = parts.worktrees?;
    let door = Worktrees::open(&parts.root);
    let (check, now) = (door.clone(), (parts.clock)());
    let answer = tokio::spawn(blocking(move || {
        check.check()?;
        // What cannot be repaired is no reason to go without worktrees.
        let failed = |why: StoreError| vec![format!("not all could be repaired: {why}")];
        Ok(check.repair(now).unwrap_or_else(failed))
    }));
    Some(Asked { rule, door, answer })
}

/// The answer of git.
pub(super) async fn heard_of_git(asked: Option<Asked>) -> Heard {
    let Some(Asked { rule, door, answer }) = asked else {
        let (trees, notices) = (None, Vec::new());
        return Heard { trees, notices };
    };
    let why = match answer.await {
        Ok(Ok(repaired)) => {
            let line = |text| (Level::Info, format!("Repaired after a kill: {text}"));
            let notices = repaired.into_iter().map(line).collect();
            let trees = Some(Trees::new(door, rule));
            return Heard { trees, notices };
        }
        Ok(Err(why)) => why.to_string(),
        Err(why) => why.to_string(),
    };
    let text = format!("All agents work in the project directory, without worktrees: {why}");
    Heard {
        trees: None,
        notices: vec![(Level::Info, text)],
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
