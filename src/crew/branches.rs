//! Publishes the merge status of the tasks' branches, and runs the merges that the user asks for.

use std::sync::Arc;

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::worktree::{Branch, WorktreeName};
use crate::protocol::event::{BRANCHES_MAX, EventKind, Level};
use crate::store::{Look, checked_out};

/// The number of characters of a commit hash that are shown.
const COMMIT_SHOWN: usize = 10;

/// The result of a merge.
pub(super) struct Tried {
    /// `Warn` for a conflict.
    pub(super) level: Level,
    /// The message for the user.
    pub(super) text: String,
    /// The target branch's commit before the merge; `None` if the branch did not move.
    pub(super) before: Option<String>,
}

/// The progress of the merges that the user asked for.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// The number of branches to merge.
    pub(super) all: usize,
    /// The number of merged branches.
    pub(super) done: usize,
    /// The target branch's commit before the first merge.
    pub(super) before: Option<String>,
}

impl Sum {
    /// Starts the merge of `all` branches.
    pub(super) fn of(all: usize) -> Sum {
        Sum {
            all,
            ..Sum::default()
        }
    }

    /// Counts a merged branch. `before` is the target branch's commit before the merge.
    pub(super) fn merged(&mut self, before: Option<String>) {
        self.done += 1;
        self.before = self.before.take().or(before);
    }

    /// Returns how to undo the merges, to be appended to a message. Empty if no branch moved.
    pub(super) fn way_back(&self) -> String {
        let Some(before) = &self.before else {
            return String::new();
        };
        let commit: String = before.chars().take(COMMIT_SHOWN).collect();
        let what = if self.done > 1 { "Undo all" } else { "Undo" };
        format!(" {what}: git reset --keep {commit}")
    }

    /// Returns the message after all branches were merged.
    pub(super) fn whole(&self) -> String {
        format!(
            "{} of {} branches are merged.{}",
            self.done,
            self.all,
            self.way_back()
        )
    }

    /// Returns the message after the merges stopped at the task `at`.
    pub(super) fn stopped(&self, at: TaskId, why: &str) -> String {
        format!(
            "{} of {} branches are merged; stopped at {at}: {}.{}",
            self.done,
            self.all,
            why.trim_end_matches('.'),
            self.way_back()
        )
    }
}

impl Shared {
    /// Reads what is checked out in the root and publishes it if it has changed.
    pub(super) async fn read_head(&self) {
        let root = self.root.clone();
        let mut told = self.head.lock().await;
        let Ok(Some(now)) = blocking(move || Ok(checked_out(&root))).await else {
            return;
        };
        if told.as_ref() != Some(&now) {
            *told = Some(now.clone());
            self.publish(EventKind::HeadChanged { head: now }).await;
        }
    }

    /// Scans the branches of the worktrees and publishes those whose status has changed.
    pub(super) async fn read_branches(&self, how: Look) {
        let Some(trees) = &self.trees else { return };
        // One scan at a time, so that changes are published in order.
        let mut known = trees.seen.lock().await;
        let mut how = Some(how);
        while let Some(look) = how {
            let graph = self.graph();
            let (door, mut seen) = (trees.door.clone(), std::mem::take(&mut *known));
            let looked = blocking(move || {
                let named = if seen.is_empty() {
                    named(&graph)
                } else {
                    Vec::new()
                };
                let changed = door.branches(&mut seen, look, &named)?;
                Ok((seen, changed))
            });
            let Some((seen, changed)) = self.looked("The worktrees", looked.await).await else {
                return;
            };
            *known = seen;
            for event in told(&changed) {
                self.publish(event).await;
            }
            // The results are published before the scan continues.
            how = known.is_partial().then_some(Look::IfChanged);
        }
    }

    /// Publishes the result of a merge and notes it for the lead.
    pub(super) async fn tell_merge(&self, tried: &Tried) {
        if let Some(lead) = self.handle(&Name::lead()) {
            lead.desk.note(tried.text.clone());
        }
        self.notice(tried.level, tried.text.clone()).await;
    }

    /// Merges branches for the user, one after another, and reports how to undo that. Stops at the first branch that
    /// cannot be merged, and when the crew stops. Waits for an earlier merge command to finish.
    pub(super) async fn merge_asked(self: &Arc<Self>, tasks: Vec<TaskId>) -> Result<(), String> {
        let _turn = self.merge_turn.lock().await;
        let mut sum = Sum::of(tasks.len());
        for id in tasks {
            if self.stop.is_cancelled() {
                return Err(sum.stopped(id, "the crew is stopping"));
            }
            let mut tried = match self.try_merge(id).await {
                Ok(tried) => tried,
                Err(why) if sum.all == 1 => return Err(why),
                Err(why) => return Err(sum.stopped(id, &why)),
            };
            if tried.level == Level::Warn {
                self.tell_merge(&tried).await;
                if sum.all > 1 {
                    // The files in conflict were published just before.
                    let text = sum.stopped(id, "conflict");
                    self.notice(Level::Warn, text).await;
                }
                return Ok(());
            }
            sum.merged(tried.before.take());
            if sum.all == 1 {
                tried.text.push_str(&sum.way_back());
            }
            self.tell_merge(&tried).await;
        }
        if sum.all > 1 {
            self.notice(Level::Info, sum.whole()).await;
        }
        Ok(())
    }
}

/// Returns the worktrees that tasks on the board refer to.
pub(super) fn named(graph: &TaskGraph) -> Vec<WorktreeName> {
    let names = graph.tasks().map(|t| WorktreeName::new(&t.worktree).ok());
    names.flatten().collect()
}

/// Splits branches into events of a bounded size.
pub(super) fn told(branches: &[Branch]) -> impl Iterator<Item = EventKind> {
    let event = |piece: &[Branch]| EventKind::BranchesChanged {
        branches: piece.to_vec(),
    };
    branches.chunks(BRANCHES_MAX).map(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn merge_summary_counts_branches_and_names_the_undo_command() {
        let mut sum = Sum::of(3);
        assert_eq!(
            sum.stopped(TaskId(1), "conflict in a."),
            "0 of 3 branches are merged; stopped at #1: conflict in a."
        );
        sum.merged(None);
        assert_eq!(sum.way_back(), "");
        sum.merged(Some("0123456789abcdef".into()));
        assert_eq!(
            sum.stopped(TaskId(7), "conflict in a"),
            "2 of 3 branches are merged; stopped at #7: conflict in a. Undo all: git reset --keep 0123456789"
        );
        sum.merged(Some("fedcba9876543210".into()));
        assert_eq!(
            sum.whole(),
            "3 of 3 branches are merged. Undo all: git reset --keep 0123456789"
        );
    }
}
