//! The first steps of a crew's start: checks whether worktrees can be used, and collects facts for the system prompts.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::parts::{CrewParts, WorktreeParts};
use crate::agent::driver::run_blocking;
use crate::domain::environment::Environment;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::store::{Checkpoints, StoreError, Worktrees, local_time_zone};

/// Maximum time that the start of a crew waits for the facts about machine and project that the lead's system prompt
/// contains.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// A check, running in the background, of whether worktrees can be used in the project directory.
pub struct GitCheck {
    parts: WorktreeParts,
    store: Worktrees,
    answer: JoinHandle<Result<Vec<String>, StoreError>>,
}

/// Whether worktrees can be used, and what the check has repaired in the repository.
pub struct GitCheckResult {
    /// The worktree store, and how worktrees are used. `None` if worktrees cannot be used or are switched off; all agents
    /// then work in the project directory.
    pub worktrees: Option<(Worktrees, WorktreeParts)>,
    /// Notices for the user: what was repaired, or why worktrees cannot be used.
    pub notices: Vec<(NoticeLevel, String)>,
}

/// Starts a background check of whether worktrees can be used. The check also repairs what killed git processes have
/// left in the repository, such as lock files. Returns `None` if worktrees are switched off.
pub fn start_git_check(parts: &CrewParts) -> Option<GitCheck> {
    let used = parts.worktrees.clone()?;
    let store = Worktrees::open(&parts.shared.root);
    let (check, now) = (store.clone(), (parts.clock)());
    let checkpoints = Checkpoints::open(&parts.shared.root);
    let answer = tokio::spawn(run_blocking(move || {
        check.check()?;
        // If the repair fails, worktrees can still be used.
        let failed = |why: StoreError| vec![format!("the repair was not completed: {why}")];
        let mut notices = check.repair(now).unwrap_or_else(failed);
        match checkpoints.finish_interrupted() {
            Ok(finished) => notices.extend(finished.map(|finished| finished.to_string())),
            Err(why) => notices.push(why.to_string()),
        }
        Ok(notices)
    }));
    Some(GitCheck {
        parts: used,
        store,
        answer,
    })
}

/// Starts to collect the facts about the machine and the project, and the current date, for the system prompts.
/// [`environment`] waits for them.
pub fn start_environment(parts: &CrewParts) -> JoinHandle<Environment> {
    let (root, now) = (parts.shared.root.clone(), (parts.clock)());
    tokio::task::spawn_blocking(move || crate::store::environment(&root, day(now)))
}

/// Waits for the facts about the machine and the project, which the lead's system prompt needs. Returns no facts if
/// they take longer than `LOOK_TIME`.
pub async fn environment(seen: JoinHandle<Environment>) -> Environment {
    let seen = tokio::time::timeout(LOOK_TIME, seen).await;
    seen.ok().and_then(Result::ok).unwrap_or_default()
}

/// Returns the date of a point in time in the local time zone, such as `2026-11-22`. Blocks while it reads the zone.
fn day(time: Timestamp) -> String {
    #[allow(clippy::cast_possible_truncation)] // seconds since 1970 fit into i64
    let second = jiff::Timestamp::from_second(time.0 as i64).unwrap_or_default();
    second.to_zoned(local_time_zone()).date().to_string()
}

/// Waits for the result of the git check. `asked` is `None` if worktrees are switched off; the result then has no
/// worktrees and no notices.
pub async fn finish_git_check(asked: Option<GitCheck>) -> GitCheckResult {
    let Some(GitCheck {
        parts,
        store,
        answer,
    }) = asked
    else {
        return GitCheckResult {
            worktrees: None,
            notices: Vec::new(),
        };
    };
    let why = match answer.await {
        Ok(Ok(repaired)) => {
            let line = |text| (NoticeLevel::Info, format!("Repair after a crash: {text}"));
            let notices = repaired.into_iter().map(line).collect();
            let worktrees = Some((store, parts));
            return GitCheckResult { worktrees, notices };
        }
        Ok(Err(why)) => why.to_string(),
        Err(why) => why.to_string(),
    };
    let text = format!("All agents work in the project directory, without worktrees: {why}");
    GitCheckResult {
        worktrees: None,
        notices: vec![(NoticeLevel::Info, text)],
    }
}
