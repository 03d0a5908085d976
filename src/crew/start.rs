//! What the start of a crew is quick with: who is here and what is on the board, while git is asked whether there can
//! be worktrees.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::trees::Trees;
use super::{MergeRule, Parts};
use crate::agent::driver::blocking;
use crate::domain::environment::Environment;
use crate::domain::graph::{Delta, TaskGraph};
use crate::domain::stamp::Stamp;
use crate::protocol::event::{EventKind, Level};
use crate::store::{self, Board, StoreError, Which, Worktrees};

/// How long the description of the project may take.
const LOOK_TIME: Duration = Duration::from_secs(1);

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

/// Looks at the machine and the project for the system prompts, beside everything else.
pub(super) fn look_around(parts: &Parts) -> JoinHandle<Environment> {
    let (root, date) = (parts.root.clone(), day((parts.clock)()));
    tokio::task::spawn_blocking(move || store::environment(&root, date))
}

/// Returns what was seen. A directory that takes longer is described no further, so that the lead does not wait for it.
pub(super) async fn environment(seen: JoinHandle<Environment>) -> Environment {
    let seen = tokio::time::timeout(LOOK_TIME, seen).await;
    seen.ok().and_then(Result::ok).unwrap_or_default()
}

/// Returns the day of a point in time in the local time zone, such as `2026-11-22`.
fn day(time: Stamp) -> String {
    #[allow(clippy::cast_possible_truncation)] // seconds of this age of the world
    let second = jiff::Timestamp::from_second(time.0 as i64).unwrap_or_default();
    second
        .to_zoned(jiff::tz::TimeZone::system())
        .date()
        .to_string()
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
