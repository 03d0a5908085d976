//! Worktrees for the team: each claimed task gets one, what is left in it is committed, and its branch is
//! merged when somebody says so.

use std::path::PathBuf;
use std::sync::Arc;

use super::Shared;
use super::branches::Tried;
use crate::agent::driver::blocking;
use crate::agent::prompt;
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::{self, Brought, Created, Leftovers, Merge, Worktree, WorktreeName};
use crate::protocol::event::{EventKind, Level};
use crate::store::{Look, NewWorktree, Seen, StoreError, Which, Worktrees};

/// Most files of a conflict that a new task names.
const FILES_MAX: usize = 20;

/// Who merges the branches of completed tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeRule {
    /// The person (by key) or the lead (by tool).
    #[default]
    Asked,
    /// The crew, as soon as a task is completed.
    Auto,
}

/// The worktrees of a crew.
pub struct Trees {
    pub(super) door: Worktrees,
    rule: MergeRule,
    /// What of their branches was told. Held by who looks at them.
    pub(super) seen: tokio::sync::Mutex<Seen>,
}

impl Trees {
    /// The worktrees that `door` opens.
    pub fn new(door: Worktrees, rule: MergeRule) -> Trees {
        Trees {
            door,
            rule,
            seen: tokio::sync::Mutex::default(),
        }
    }

    /// Whether the crew merges `tree` by itself when `task` is completed: by its rule, or because the task was made
    /// to solve a conflict in the worktree of another.
    fn merges(&self, tree: &Worktree, task: TaskId) -> bool {
        self.rule == MergeRule::Auto || tree.task_id.is_some_and(|own| own != task)
    }
}

/// Where a claimed task is worked on, and what its owner should know about the place.
pub struct Place {
    pub dir: PathBuf,
    pub words: String,
}

impl Shared {
    /// Where agents work that have no task of their own, and everybody where there are no worktrees.
    pub(super) fn common_dir(&self) -> PathBuf {
        self.root.clone()
    }

    /// The folder of a task's worktree, where it stands.
    pub(super) fn dir_of(&self, task: &Task) -> Option<PathBuf> {
        self.trees.as_ref()?;
        let name = WorktreeName::new(&task.worktree).ok()?;
        let dir = self.root.join(".worktrees").join(name.as_str());
        dir.is_dir().then_some(dir)
    }

    /// Makes or finds the worktree for a task that `owner` has claimed. `None`: there are no worktrees here.
    pub(super) async fn place_for(
        self: &Arc<Self>,
        task: &Task,
        owner: &Name,
    ) -> Result<Option<Place>, StoreError> {
        let Some(trees) = &self.trees else {
            return Ok(None);
        };
        if let Some(dir) = self.dir_of(task) {
            let words = self.found(task, &dir).await;
            return Ok(Some(Place { dir, words }));
        }
        let (door, now, id) = (trees.door.clone(), self.now(), task.id);
        let needs = self.branches_of(task).await?;
        let new = NewWorktree {
            task: task.id,
            subject: task.subject.clone(),
            owner: owner.to_string(),
            base: None,
            needs,
        };
        let created = blocking(move || door.create(&new, now)).await?;
        let (board, name) = (self.board.clone(), created.worktree.name.clone());
        blocking(move || board.bind(id, &name, now)).await?;
        self.read_board(Which::These([id].into())).await;
        let dir = self
            .root
            .join(".worktrees")
            .join(created.worktree.name.as_str());
        let words = made(&created, &dir.display().to_string());
        Ok(Some(Place { dir, words }))
    }

    /// A teammate has taken a task in the middle of its turn: from its next call on it works in the worktree of that.
    /// The lead stays in the root, where it merges.
    pub(super) async fn go_to_place(
        self: &Arc<Self>,
        agent: &Name,
        task: &Task,
    ) -> Result<String, String> {
        if agent.is_lead() {
            return Ok(String::new());
        }
        match self.place_for(task, agent).await {
            Ok(None) => Ok(String::new()),
            Ok(Some(place)) => {
                if let Some(handle) = self.handle(agent) {
                    handle.desk.put_place(place.dir);
                }
                Ok(place.words)
            }
            Err(error) => {
                let (board, name, id, now) =
                    (self.board.clone(), agent.clone(), task.id, self.now());
                let released = blocking(move || board.release(id, &name, now)).await;
                let rest = match released {
                    Ok(_) => "the task is back on the board".to_string(),
                    Err(why) => format!("nor can it be put back on the board: {why}"),
                };
                Err(format!(
                    "the worktree of task {id} cannot be made: {error}; {rest}"
                ))
            }
        }
    }

    /// The task of a member that comes back, bound to the worktree that was made for it and of which it does not say
    /// anything yet. What a git that was killed with the crew had locked there is free again.
    pub(super) async fn bound(&self, task: Task) -> Task {
        let Some(trees) = &self.trees else {
            return task;
        };
        if !task.worktree.is_empty() {
            let Ok(name) = WorktreeName::new(&task.worktree) else {
                return task;
            };
            let door = trees.door.clone();
            if let Err(error) = blocking(move || door.unlock(&name)).await {
                tracing::warn!(
                    "locks of git may be left in the worktree of {}: {error}",
                    task.id
                );
            }
            return task;
        }
        let (door, board, id, now) = (trees.door.clone(), self.board.clone(), task.id, self.now());
        let found = blocking(move || match door.find_for(id)? {
            Some(tree) => board.bind(id, &tree.name, now).map(Some),
            None => Ok(None),
        });
        // Where it can not be looked for another one is made.
        found.await.ok().flatten().unwrap_or(task)
    }

    /// The branches of what a task waited for.
    async fn branches_of(&self, task: &Task) -> Result<Vec<String>, StoreError> {
        let (board, id) = (self.board.clone(), task.id);
        let branches = move |graph: &TaskGraph| {
            let blockers = graph.blockers(id);
            let names = blockers.iter().filter_map(|id| {
                let name = WorktreeName::new(&graph.get(*id)?.worktree).ok()?;
                Some(name.branch())
            });
            names.collect()
        };
        blocking(move || board.ask(branches)).await
    }

    /// What somebody else has left in the worktree of a task.
    async fn found(&self, task: &Task, dir: &std::path::Path) -> String {
        let Some((trees, name)) = self
            .trees
            .as_ref()
            .zip(WorktreeName::new(&task.worktree).ok())
        else {
            return String::new();
        };
        let needs = self.branches_of(task).await.unwrap_or_default();
        let (door, tree, now) = (trees.door.clone(), name.clone(), self.now());
        // What it waited for may have been done since; over uncommitted files nothing is merged.
        let looked = blocking(move || {
            let state = door.state(&tree)?;
            Ok((state, door.bring(&tree, &needs, now).unwrap_or_default()))
        });
        let (dirty, ahead, brought) = match looked.await {
            Ok((state, brought)) => (state.dirty, state.ahead, brought),
            Err(_) => (0, 0, Brought::default()),
        };
        let place = dir.display().to_string();
        let mut words = prompt::worktree(&place, &name.branch(), &brought.merged);
        for conflict in &brought.conflicts {
            words.push_str(&prompt::not_brought(&conflict.branch, &conflict.files));
        }
        words + &prompt::left_behind(dirty, ahead)
    }

    /// Commits what `agent` has left uncommitted for its open task: whoever builds on it sees it.
    pub(super) async fn commit_leftovers(&self, agent: &Name) -> Result<(), String> {
        let graph = self.graph();
        let Some(task) = graph.open_task_of(agent).cloned() else {
            return Ok(());
        };
        let (Some(trees), Some(_)) = (&self.trees, self.dir_of(&task)) else {
            return Ok(());
        };
        let name = WorktreeName::new(&task.worktree).map_err(|e| e.to_string())?;
        let message = format!("task {}: {}", task.id, task.subject);
        let door = trees.door.clone();
        let done = blocking(move || door.commit_leftovers(&name, &message)).await;
        match done {
            Ok(Leftovers::None | Leftovers::Committed(_)) => Ok(()),
            Err(error) => Err(format!(
                "what is left in your worktree cannot be committed: {error}"
            )),
        }
    }

    /// A task with a worktree was completed.
    pub(super) async fn completed(self: &Arc<Self>, task: &Task) {
        let (Some(trees), Ok(name)) = (&self.trees, WorktreeName::new(&task.worktree)) else {
            return;
        };
        let (door, now, tree) = (trees.door.clone(), self.now(), name.clone());
        let noted = blocking(move || door.task_completed(&tree, now)).await;
        if let Err(error) = noted {
            tracing::warn!("the end of {} is not in the log: {error}", task.id);
        }
        // What was left is committed now, and the registry does not show it.
        self.read_branches(Look::Anew).await;
        let door = trees.door.clone();
        let found = blocking(move || door.find(name.as_str())).await;
        if found.is_ok_and(|tree| trees.merges(&tree, task.id)) {
            // What came of it was told.
            let _ = self.merge_and_tell(task.id).await;
        }
    }

    /// Merges what an earlier run would have merged, had it not been ended before.
    pub(super) async fn merge_what_waits(self: &Arc<Self>) {
        let Some(trees) = &self.trees else { return };
        let door = trees.door.clone();
        let listed = blocking(move || door.list()).await;
        let standing: Vec<Worktree> = listed.map(|l| l.worktrees).unwrap_or_default();
        for tree in standing.iter().filter(|t| t.merged_at.is_none()) {
            let graph = self.graph();
            let here: Vec<&Task> = graph
                .tasks()
                .filter(|t| t.worktree == tree.name.as_str())
                .collect();
            let is_done = here.iter().all(|t| t.status == TaskStatus::Completed);
            let waits = here.iter().rfind(|t| trees.merges(tree, t.id));
            if let Some(task) = waits.filter(|_| is_done) {
                // What came of it was told.
                let _ = self.merge_and_tell(task.id).await;
            }
        }
    }

    /// Merges the branch of a completed task into the base and tells everybody what came of it.
    pub(super) async fn merge_and_tell(self: &Arc<Self>, id: TaskId) -> Result<(), String> {
        let tried = self.try_merge(id).await?;
        self.tell_merge(&tried).await;
        Ok(())
    }

    /// The same for the lead, which gets the result of its tool call; all other agents hear only of a conflict.
    ///
    /// # Errors
    /// Why it is not merged, a conflict included: a call that merged nothing must not look like one that did.
    pub(super) async fn merge(self: &Arc<Self>, id: TaskId) -> Result<String, String> {
        let Tried { level, text, .. } = self.try_merge(id).await?;
        if level == Level::Warn {
            self.notice(level, text.clone()).await;
            return Err(text);
        }
        Ok(text)
    }

    pub(super) async fn try_merge(self: &Arc<Self>, id: TaskId) -> Result<Tried, String> {
        let trees = self
            .trees
            .as_ref()
            .ok_or("there are no worktrees here: all agents work in the project directory")?;
        let (task, name) = mergeable(&self.graph(), id)?;
        let (door, now, tree) = (trees.door.clone(), self.now(), name.clone());
        let merged = blocking(move || door.merge(&tree, now)).await;
        let branch = name.branch();
        match merged.map_err(|e| e.to_string())? {
            Merge::Merged { into, before, .. } => Ok(Tried {
                level: Level::Info,
                text: format!("{branch} is merged into {into}."),
                before: Some(before),
            }),
            Merge::AlreadyMerged { into } => Ok(Tried {
                level: Level::Info,
                text: format!("{into} has all of {branch} already."),
                before: None,
            }),
            Merge::Conflict { into, files } => Ok(Tried {
                level: Level::Warn,
                text: self.give_conflict_back(&task, &name, &into, &files).await?,
                before: None,
            }),
        }
    }

    /// A conflict becomes a task that is worked on in the same worktree.
    async fn give_conflict_back(
        self: &Arc<Self>,
        task: &Task,
        name: &WorktreeName,
        into: &str,
        files: &[String],
    ) -> Result<String, String> {
        let branch = name.branch();
        let shown = some(files);
        let new = NewTask {
            subject: format!("Merge {into} into {branch}: conflict in {shown}"),
            description: format!(
                "{branch} (task {}, {}) does not merge into {into} by itself. You work in its worktree. Run `git merge {into}` there, solve the conflicts in {shown} so that both sides keep what they meant, run the tests, commit, and complete this task: then it is merged again.",
                task.id, task.subject
            ),
            blocked_by: Vec::new(),
            tags: task.tags.clone(),
            // From its beginning: whoever takes it works in this worktree.
            worktree: name.to_string(),
        };
        let (board, now) = (self.board.clone(), self.now());
        let made = blocking(move || board.create(new, now))
            .await
            .map_err(|e| e.to_string())?;
        self.read_board(Which::These([made.id].into())).await;
        Ok(format!(
            "{branch} does not merge into {into}: conflict in {shown}. Task {} is on the board to solve it.",
            made.id
        ))
    }

    /// What the branch of a task changes, for the screen.
    pub(super) async fn show_diff(&self, id: TaskId) -> Result<(), String> {
        let trees = self
            .trees
            .as_ref()
            .ok_or("there are no worktrees here: all agents work in the project directory")?;
        let shown = diff_of(trees.door.clone(), &self.graph(), id).await?;
        self.publish(shown).await;
        Ok(())
    }

    /// The completed tasks whose branches are not merged, for the lead: what the board shows, looked at anew.
    pub(super) async fn unmerged(&self) -> Vec<String> {
        let Some(trees) = &self.trees else {
            return Vec::new();
        };
        self.read_branches(Look::Anew).await;
        let (graph, seen) = (self.graph(), trees.seen.lock().await);
        let tasks = worktree::to_merge(&graph, |tree| seen.is_unmerged(tree));
        let words = |task: &&Task| format!("wt/{} ({})", task.worktree, task.id);
        tasks.iter().map(words).collect()
    }
}

/// A task whose branch may be merged now, and its worktree.
pub(super) fn mergeable(
    graph: &TaskGraph,
    id: TaskId,
) -> Result<(Arc<Task>, WorktreeName), String> {
    let task = graph.known(id).map_err(|e| e.to_string())?.clone();
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree: nothing of it is to be merged"))?;
    let mut others = graph.tasks();
    match others.find(|t| t.worktree == task.worktree && t.status != TaskStatus::Completed) {
        Some(other) => Err(format!(
            "task {} is still at work in {name}: it is merged when that is completed",
            other.id
        )),
        None => Ok((task, name)),
    }
}

/// What the branch of a task changes.
pub(super) async fn diff_of(
    door: Worktrees,
    graph: &TaskGraph,
    id: TaskId,
) -> Result<EventKind, String> {
    let task = graph.known(id).map_err(|e| e.to_string())?;
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree: it has changed nothing of its own"))?;
    let diff = blocking(move || door.diff(&name))
        .await
        .map_err(|e| e.to_string())?;
    Ok(EventKind::DiffShown {
        task: id,
        stat: diff.stat,
        text: diff.text,
        untracked: diff.untracked,
    })
}

/// The first of the files of a conflict.
pub(super) fn some(files: &[String]) -> String {
    files[..files.len().min(FILES_MAX)].join(", ")
}

fn made(created: &Created, dir: &str) -> String {
    let Brought { merged, conflicts } = &created.brought;
    let mut words = prompt::worktree(dir, &created.worktree.name.branch(), merged);
    for conflict in conflicts {
        words.push_str(&prompt::not_brought(&conflict.branch, &conflict.files));
    }
    words
}
