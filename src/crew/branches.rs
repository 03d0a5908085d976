//! Where the branches of tasks stand, told to everybody; and the merges that the person asks for.

use std::sync::Arc;

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::worktree::{Branch, WorktreeName};
use crate::protocol::event::{BRANCHES_MAX, EventKind, Level};
use crate::store::{Look, checked_out};

/// The characters of a commit's number that name it in words.
const COMMIT_SHOWN: usize = 10;

/// What came of trying to merge a branch.
pub(super) struct Tried {
    /// A warning: it does not merge by itself.
    pub(super) level: Level,
    /// In words.
    pub(super) text: String,
    /// The commit that the branch which received it was at before; `None`: it did not move.
    pub(super) before: Option<String>,
}

/// What was merged of what the person asked for, to be told in one line.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// How many of how many.
    pub(super) all: usize,
    pub(super) done: usize,
    /// The commit before the first of them.
    pub(super) before: Option<String>,
}

impl Sum {
    /// Of so many.
    pub(super) fn of(all: usize) -> Sum {
        Sum {
            all,
            ..Sum::default()
        }
    }

    /// One more is merged; the branch that received it was at that commit before.
    pub(super) fn merged(&mut self, before: Option<String>) {
        self.done += 1;
        self.before = self.before.take().or(before);
    }

    /// How to take it back, as the end of a line; empty where nothing moved.
    pub(super) fn way_back(&self) -> String {
        let Some(before) = &self.before else {
            return String::new();
        };
        let commit: String = before.chars().take(COMMIT_SHOWN).collect();
        let what = if self.done > 1 { "them all" } else { "it" };
        format!(" git reset --keep {commit} takes {what} back.")
    }

    /// All went well.
    pub(super) fn whole(&self) -> String {
        format!(
            "{} of {} branches are merged.{}",
            self.done,
            self.all,
            self.way_back()
        )
    }

    /// It ended at that task.
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
    /// Looks at what is checked out and tells it where it is something else than before.
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

    /// Looks at the branches of the worktrees and tells of those that stand otherwise than before.
    pub(super) async fn read_branches(&self, how: Look) {
        let Some(trees) = &self.trees else { return };
        // One look after the other: what is told must come in the order in which it was seen.
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
            // What was seen is told before the next look.
            how = known.is_partial().then_some(Look::IfChanged);
        }
    }

    /// Tells everybody, and the lead, what came of it.
    pub(super) async fn tell_merge(&self, tried: &Tried) {
        if let Some(lead) = self.handle(&Name::lead()) {
            lead.desk.note(tried.text.clone());
        }
        self.notice(tried.level, tried.text.clone()).await;
    }

    /// Merges branches because the person wants it, one after the other, and says how to take that back. The first
    /// that does not merge ends it, and so does the end of the crew. One wish waits for the other.
    pub(super) async fn merge_asked(self: &Arc<Self>, tasks: Vec<TaskId>) -> Result<(), String> {
        let _turn = self.merge_turn.lock().await;
        let mut sum = Sum::of(tasks.len());
        for id in tasks {
            if self.stop.is_cancelled() {
                return Err(sum.stopped(id, "the crew ends"));
            }
            let mut tried = match self.try_merge(id).await {
                Ok(tried) => tried,
                Err(why) if sum.all == 1 => return Err(why),
                Err(why) => return Err(sum.stopped(id, &why)),
            };
            if tried.level == Level::Warn {
                self.tell_merge(&tried).await;
                if sum.all > 1 {
                    // What is in the way was told just before.
                    let text = sum.stopped(id, "it does not merge by itself");
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

/// The worktrees that the board names.
pub(super) fn named(graph: &TaskGraph) -> Vec<WorktreeName> {
    let names = graph.tasks().map(|t| WorktreeName::new(&t.worktree).ok());
    names.flatten().collect()
}

/// Branches in events of a bounded size.
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
    fn the_sum_says_what_was_merged_and_how_to_take_it_back() {
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
            "2 of 3 branches are merged; stopped at #7: conflict in a. git reset --keep 0123456789 takes them all back."
        );
        sum.merged(Some("fedcba9876543210".into()));
        assert_eq!(
            sum.whole(),
            "3 of 3 branches are merged. git reset --keep 0123456789 takes them all back."
        );
    }
}
