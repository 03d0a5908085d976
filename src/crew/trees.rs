//! Worktrees of the team: creates one for each claimed task, commits what is left uncommitted in it, and merges its
//! branch on request or automatically.

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

/// Most files of a conflict that are listed in the task to resolve it.
const FILES_MAX: usize = 20;

/// When the branches of completed tasks are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeRule {
    /// When the user or the lead asks for it.
    #[default]
    Asked,
    /// As soon as the task is completed.
    Auto,
}

/// The worktrees of a crew.
pub struct Trees {
    pub(super) door: Worktrees,
    rule: MergeRule,
    /// The branch status that was last published. Locked during a scan.
    pub(super) seen: tokio::sync::Mutex<Seen>,
}

impl Trees {
    pub fn new(door: Worktrees, rule: MergeRule) -> Trees {
        Trees {
            door,
            rule,
            seen: tokio::sync::Mutex::default(),
        }
    }

    /// Whether `tree` is merged automatically when `task` is completed: because of the merge rule, or because the task was
    /// created to resolve a conflict in another task's worktree.
    fn merges(&self, tree: &Worktree, task: TaskId) -> bool {
        self.rule == MergeRule::Auto || tree.task_id.is_some_and(|own| own != task)
    }
}

/// The folder in which a claimed task is worked on, and the text about it for the owner's conversation.
pub struct Place {
    pub dir: PathBuf,
    pub words: String,
}

impl Shared {
    /// Returns the directory of agents without a task, and of all agents if there are no worktrees.
    pub(super) fn common_dir(&self) -> PathBuf {
        self.root.clone()
    }

    /// Returns the folder of a task's worktree, if it exists.
    pub(super) fn dir_of(&self, task: &Task) -> Option<PathBuf> {
        self.trees.as_ref()?;
        let name = WorktreeName::new(&task.worktree).ok()?;
        let dir = self.root.join(".worktrees").join(name.as_str());
        dir.is_dir().then_some(dir)
    }

    /// Finds or creates the worktree of a task that `owner` has claimed. `None` if worktrees are not in use.
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

    /// Moves a teammate that claimed a task in the middle of its turn to the task's worktree, from its next tool call on.
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
                    Err(why) => format!("the task could not be put back on the board: {why}"),
                };
                Err(format!(
                    "the worktree of task {id} cannot be created: {error}; {rest}"
                ))
            }
        }
    }

    /// Recovers the worktree of a resuming member's task: records it in the task if crewdeck was ended before that, and
    /// removes lock files that a killed git left in it.
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
                    "git lock files may be left in the worktree of task {}: {error}",
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
        // If the search fails, a new worktree is created.
        found.await.ok().flatten().unwrap_or(task)
    }

    /// Returns the branches of a task's blockers.
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

    /// Describes an existing worktree to the task's new owner: its branch, newly merged blockers and unfinished work in it.
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
        // Blockers may have been completed since. Nothing is merged over uncommitted files.
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

    /// Commits the uncommitted files of `agent`'s open task, so that tasks that depend on it see them.
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
                "the uncommitted files in your worktree cannot be committed: {error}"
            )),
        }
    }

    /// Logs that a task with a worktree was completed, and merges its branch if that is automatic.
    pub(super) async fn completed(self: &Arc<Self>, task: &Task) {
        let (Some(trees), Ok(name)) = (&self.trees, WorktreeName::new(&task.worktree)) else {
            return;
        };
        let (door, now, tree) = (trees.door.clone(), self.now(), name.clone());
        let noted = blocking(move || door.task_completed(&tree, now)).await;
        if let Err(error) = noted {
            tracing::warn!(
                "the completion of task {} could not be logged: {error}",
                task.id
            );
        }
        // Leftovers were committed, which the registry does not show.
        self.read_branches(Look::Anew).await;
        let door = trees.door.clone();
        let found = blocking(move || door.find(name.as_str())).await;
        if found.is_ok_and(|tree| trees.merges(&tree, task.id)) {
            // The result was published.
            let _ = self.merge_and_tell(task.id).await;
        }
    }

    /// Merges the branches that an earlier run would have merged if it had not ended before.
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
                // The result was published.
                let _ = self.merge_and_tell(task.id).await;
            }
        }
    }

    /// Merges the branch of a completed task into the base and publishes the result.
    pub(super) async fn merge_and_tell(self: &Arc<Self>, id: TaskId) -> Result<(), String> {
        let tried = self.try_merge(id).await?;
        self.tell_merge(&tried).await;
        Ok(())
    }

    /// Merges the branch of a completed task for the lead, which gets the result of its tool call. Only a conflict is
    /// published.
    ///
    /// # Errors
    /// Why it is not merged, including a conflict: a tool call that merged nothing must not look successful.
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
            .ok_or("worktrees are not in use here: all agents work in the project directory")?;
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
                text: format!("{branch} is already merged into {into}."),
                before: None,
            }),
            Merge::Conflict { into, files } => Ok(Tried {
                level: Level::Warn,
                text: self.give_conflict_back(&task, &name, &into, &files).await?,
                before: None,
            }),
        }
    }

    /// Creates a task to resolve a conflict, to be worked on in the same worktree. Returns the message about it.
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
                "{branch} (task {}, {}) conflicts with {into}. You work in the worktree of that task. Run `git merge {into}` there, resolve the conflicts in {shown} so that the intent of both sides is kept, run the tests, commit, and complete this task. crewdeck then merges {branch} again.",
                task.id, task.subject
            ),
            blocked_by: Vec::new(),
            tags: task.tags.clone(),
            // Set at creation, so that the owner works in this worktree.
            worktree: name.to_string(),
        };
        let (board, now) = (self.board.clone(), self.now());
        let made = blocking(move || board.create(new, now))
            .await
            .map_err(|e| e.to_string())?;
        self.read_board(Which::These([made.id].into())).await;
        Ok(format!(
            "{branch} does not merge into {into}: conflict in {shown}. Task {} was added to resolve it.",
            made.id
        ))
    }

    /// Publishes the diff of a task's branch for the screen.
    pub(super) async fn show_diff(&self, id: TaskId) -> Result<(), String> {
        let trees = self
            .trees
            .as_ref()
            .ok_or("worktrees are not in use here: all agents work in the project directory")?;
        let shown = diff_of(trees.door.clone(), &self.graph(), id).await?;
        self.publish(shown).await;
        Ok(())
    }

    /// Returns the unmerged branches of completed tasks, for the lead. Scans the branches first.
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

/// Returns a task and its worktree if its branch can be merged now.
pub(super) fn mergeable(
    graph: &TaskGraph,
    id: TaskId,
) -> Result<(Arc<Task>, WorktreeName), String> {
    let task = graph.known(id).map_err(|e| e.to_string())?.clone();
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree, so there is nothing to merge"))?;
    let mut others = graph.tasks();
    match others.find(|t| t.worktree == task.worktree && t.status != TaskStatus::Completed) {
        Some(other) => Err(format!(
            "task {} in worktree {name} is not completed yet: complete it before merging",
            other.id
        )),
        None => Ok((task, name)),
    }
}

/// Returns the diff of a task's branch.
pub(super) async fn diff_of(
    door: Worktrees,
    graph: &TaskGraph,
    id: TaskId,
) -> Result<EventKind, String> {
    let task = graph.known(id).map_err(|e| e.to_string())?;
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree, so there is no diff to show"))?;
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

/// Lists the first files of a conflict.
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
