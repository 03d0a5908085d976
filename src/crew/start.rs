//! The first steps of a crew: publishes the setup and the board, while git concurrently checks whether worktrees can be
//! used.

use tokio::task::JoinHandle;

use super::trees::Trees;
use super::{MergeRule, Parts};
use crate::agent::driver::blocking;
use crate::domain::graph::{Delta, TaskGraph};
use crate::protocol::event::{EventKind, Level};
use crate::store::{Board, StoreError, Which, Worktrees};

/// The running check of the repository.
pub(super) struct Asked {
    rule: MergeRule,
    door: Worktrees,
    answer: JoinHandle<Result<Vec<String>, StoreError>>,
}

/// The result of the check.
pub(super) struct Heard {
    pub(super) trees: Option<Trees>,
    /// Notices for the user: what was repaired, or why there are no worktrees.
    pub(super) notices: Vec<(Level, String)>,
}

/// Starts the check whether worktrees can be used, and repairs what killed git processes left in the repository. `None` if
/// worktrees are switched off.
pub(super) fn ask_git(parts: &Parts) -> Option<Asked> {
    let rule = parts.worktrees?;
    let door = Worktrees::open(&parts.root);
    let (check, now) = (door.clone(), (parts.clock)());
    let answer = tokio::spawn(blocking(move || {
        check.check()?;
        // A failed repair does not prevent the use of worktrees.
        let failed = |why: StoreError| vec![format!("the repair was not completed: {why}")];
        Ok(check.repair(now).unwrap_or_else(failed))
    }));
    Some(Asked { rule, door, answer })
}

/// Waits for the result of the check.
pub(super) async fn heard_of_git(asked: Option<Asked>) -> Heard {
    let Some(Asked { rule, door, answer }) = asked else {
        let (trees, notices) = (None, Vec::new());
        return Heard { trees, notices };
    };
    let why = match answer.await {
        Ok(Ok(repaired)) => {
            let line = |text| (Level::Info, format!("Repair after a crash: {text}"));
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

/// Publishes the setup and the board before anything slower runs. Returns the published board.
pub(super) async fn first_look(parts: &Parts, board: &Board) -> TaskGraph {
    let publisher = &parts.publisher;
    publisher
        .publish(EventKind::CrewReady(parts.setup.clone()))
        .await;
    let board = board.clone();
    let looked = blocking(move || board.news(&Which::All, &TaskGraph::default())).await;
    let mut graph = TaskGraph::default();
    // If it cannot be read, the watcher reports that later.
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
