//! The worktrees of the team's tasks: creates a worktree for each claimed task, and commits the uncommitted files in
//! it.

mod exchange;
mod preparation;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::board_view::BoardView;
use super::branch_exchange::CrewExchange;
use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use super::worktree_disk::WorktreeDiskLimit;
use super::worktree_setup::WorktreeSetup;
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::domain::graph::TaskGraph;
use crate::domain::hook::HookEvent;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::worktree::{BranchMerges, Created, WorktreeError, WorktreeName};
use crate::process::AddedEnvironment;
use crate::protocol::event::NoticeLevel;
use crate::store::{CACHE_VARIABLE, NewWorktree, StoreError, TaskSet, WorktreeCommands, Worktrees};
use crate::tools::host::Host;
use exchange::WorktreeStart;
pub use exchange::is_exchange_failure;

/// The directory of a claimed task's worktree, and the text that describes the worktree to the model of the task's
/// owner.
pub struct TaskWorkspace {
    pub dir: PathBuf,
    pub text: String,
}

/// Creates, finds and recovers the worktrees of tasks.
pub struct TaskWorktrees {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    /// The worktree store; `None` if worktrees are not in use.
    store: Option<Worktrees>,
    /// Prepares new worktrees; `None` if worktrees are not in use.
    setup: Option<Arc<WorktreeSetup>>,
    /// Limits the disk usage; `None` if worktrees are not in use or the settings name no limit.
    disk_limit: Option<WorktreeDiskLimit>,
    /// The first reserved port of each worktree, if it has one, and the additions to the environment of commands in it.
    /// Filled when they are needed for the first time.
    environments: Mutex<BTreeMap<WorktreeName, (Option<u16>, AddedEnvironment)>>,
    /// The warnings about `.worktreeinclude` that the user has seen. Each is shown once.
    shown_warnings: Mutex<BTreeSet<String>>,
    /// Exchanges branches with other hosts; `None` if the crew is on this machine only, or has no git remote.
    exchange: Option<Arc<CrewExchange>>,
    /// What was found before the claims of tasks, and when, since the start of the crew.
    fetched: Mutex<BTreeMap<TaskId, (Duration, WorktreeStart)>>,
}

impl TaskWorktrees {
    /// Creates the worktrees of a crew. `used` is the worktree store and the commands for worktrees; `None` if worktrees are
    /// not in use.
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        board: Arc<BoardView>,
        used: Option<(Worktrees, WorktreeCommands)>,
        exchange: Option<Arc<CrewExchange>>,
    ) -> TaskWorktrees {
        let (store, commands) = used.unzip();
        let used = store.clone().zip(commands);
        let disk_limit = used.clone().and_then(|(store, commands)| {
            let limit = commands.settings.disk_limit?;
            let (context, board) = (context.clone(), board.clone());
            Some(WorktreeDiskLimit::new(context, board, store, limit))
        });
        let setup = used.map(|(store, commands)| {
            Arc::new(WorktreeSetup::new(context.clone(), store, commands))
        });
        TaskWorktrees {
            context,
            registry,
            board,
            store,
            setup,
            disk_limit,
            environments: Mutex::default(),
            shown_warnings: Mutex::default(),
            exchange,
            fetched: Mutex::default(),
        }
    }

    /// Returns the worktree store; `None` if worktrees are not in use.
    pub fn store(&self) -> Option<&Worktrees> {
        self.store.as_ref()
    }

    pub fn are_used(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the absolute path of a task's worktree; `None` if the folder does not exist or worktrees are not in use.
    pub fn dir_of(&self, task: &Task) -> Option<PathBuf> {
        let store = self.store.as_ref()?;
        let name = WorktreeName::new(&task.worktree).ok()?;
        let dir = store.path_of(&name);
        // On a hub, this directory may be a copy of the one of another host, whose worktrees belong to the repository there.
        let is_own = self.context.host.is_none() || store.owns_folder(&name);
        (dir.is_dir() && is_own).then_some(dir)
    }

    /// Returns the open task of `owner` as it is on the board now, which may not be published yet; `None` if there is none, or
    /// the board cannot be read.
    pub async fn open_task_of(&self, owner: &Name) -> Option<Task> {
        let (board, owner) = (self.board.store().clone(), owner.clone());
        let own =
            run_blocking(move || board.query(|graph| graph.open_task_of(&owner).cloned())).await;
        own.ok().flatten()
    }

    /// Returns whether `owner` has an open task without a worktree here: on a hub, a claim can be stored although its sender
    /// got no answer. Commits outside of a worktree would not be published. False if the crew is on this machine only.
    pub async fn lacks_worktree(&self, owner: &Name) -> bool {
        if self.context.host.is_none() || !self.are_used() {
            return false;
        }
        let own = self.open_task_of(owner).await;
        own.is_some_and(|task| self.dir_of(&task).is_none())
    }

    /// Finds or creates the worktree of a task that `owner` has claimed, as [`TaskWorktrees::find_or_create`] does, and
    /// prepares it for work.
    ///
    /// # Errors
    /// As [`TaskWorktrees::find_or_create`].
    pub async fn workspace_for(
        &self,
        task: &Task,
        owner: &Name,
        host: Option<&dyn Host>,
    ) -> Result<Option<TaskWorkspace>, StoreError> {
        let found = self.find_or_create(task, owner, host).await?;
        let Some(mut workspace) = found else {
            return Ok(None);
        };
        let prepared = Box::pin(self.prepare(&workspace.dir, owner));
        workspace.text.push_str(&prepared.await);
        Ok(Some(workspace))
    }

    /// Finds or creates the worktree of a task that `owner` has claimed, and merges the branches of the task's blockers
    /// into it. Records a new worktree in the task. Returns `None` if worktrees are not in use. With a `host`, the user is
    /// asked about a hook that prevents the creation too often.
    ///
    /// # Errors
    /// Fails if a hook prevents the creation, or if git or the state files fail.
    pub async fn find_or_create(
        &self,
        task: &Task,
        owner: &Name,
        host: Option<&dyn Host>,
    ) -> Result<Option<TaskWorkspace>, StoreError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        self.await_spare(task.id, owner).await;
        let start = self.start_of(task).await?;
        if let Some(dir) = self.dir_of(task)
            && !self.is_left_behind(task).await
        {
            self.forget_setup(&dir).await;
            let text = self.describe(task, owner, &dir, start.needs).await;
            return Ok(Some(TaskWorkspace { dir, text }));
        }
        self.enforce_disk_limit().await;
        let (trees, now, id) = (store.clone(), self.context.now(), task.id);
        let WorktreeStart { commit, needs } = start;
        let made = self.made_by_hook(task, owner, host, needs.clone()).await?;
        let new = NewWorktree {
            task: task.id,
            subject: task.subject.clone(),
            owner: owner.to_string(),
            base: None,
            start: commit,
            needs,
            made,
            has_setup: self.prepares(),
        };
        let created = run_blocking(move || trees.create(&new, now)).await?;
        let (board, name) = (self.board.store().clone(), created.worktree.name.clone());
        // The result of the setup of a spare worktree is kept for its owner, unless the setup must run again because the
        // worktree was moved.
        if !created.was_spare || created.worktree.setup_pending {
            self.forget_earlier(&name);
        }
        self.report_included(&created).await;
        run_blocking(move || board.bind(id, &name, now)).await?;
        self.board.read(TaskSet::These([id].into())).await;
        let dir = store.path_of(&created.worktree.name);
        let text = new_workspace_text(&created, &dir.display().to_string());
        let text = text + &self.environment_text(&dir).await;
        Ok(Some(TaskWorkspace { dir, text }))
    }

    /// Brings the disk usage below the limit of the settings, as far as possible. Returns whether it is still above it.
    async fn enforce_disk_limit(&self) -> bool {
        let Some(limit) = &self.disk_limit else {
            return false;
        };
        for name in limit.enforce().await {
            // The variable with the cache folder is set again, which creates the folder.
            lock(&self.environments).remove(&name);
        }
        limit.is_exceeded().await
    }

    /// Returns the name of the worktree in `dir`; `None` if `dir` is not the folder of a worktree.
    fn name_of(&self, dir: &Path) -> Option<WorktreeName> {
        self.store.as_ref()?.name_at(dir)
    }

    /// Returns a text for the model of an owner about the ports and the cache folder of the worktree in `dir`.
    async fn environment_text(&self, dir: &Path) -> String {
        let (port, added) = self.environment_of(dir).await;
        let mut text = port.map_or_else(String::new, prompt::worktree_ports);
        if let Some(path) = added.variables.get(CACHE_VARIABLE) {
            text.push_str(&prompt::worktree_cache(path));
        }
        text
    }

    /// Shows the user how many files were copied into a new worktree. Warns about files that were not copied and about
    /// wrong patterns, unless the same warning was shown before.
    async fn report_included(&self, created: &Created) {
        if let Some(summary) = created.included.summary() {
            let text = format!("Worktree {}: {summary}.", created.worktree.name);
            self.context.notice(NoticeLevel::Info, text).await;
        }
        for warning in created.included.warnings() {
            let is_new = lock(&self.shown_warnings).insert(warning.clone());
            if is_new {
                self.context.notice(NoticeLevel::Warn, warning).await;
            }
        }
    }

    /// Returns the additions to the environment of a command in `dir`. Empty if `dir` is not a worktree.
    pub async fn added_environment(&self, dir: &Path) -> AddedEnvironment {
        self.environment_of(dir).await.1
    }

    /// Returns the first reserved port of the worktree in `dir`, and the additions to the environment of commands in it.
    async fn environment_of(&self, dir: &Path) -> (Option<u16>, AddedEnvironment) {
        let none = || (None, AddedEnvironment::default());
        let Some(store) = &self.store else {
            return none();
        };
        let Some(name) = self.name_of(dir) else {
            return none();
        };
        if let Some(known) = lock(&self.environments).get(&name) {
            return known.clone();
        }
        let (store, wanted) = (store.clone(), name.clone());
        match run_blocking(move || store.command_environment(&wanted)).await {
            Ok(found) => {
                // Without a cache folder, the next caller tries to create it again.
                if found.1.variables.contains_key(CACHE_VARIABLE) {
                    lock(&self.environments).insert(name, found.clone());
                }
                found
            }
            Err(error) => {
                tracing::warn!(
                    "commands in worktree {name} run without CREWDECK_TASK, CREWDECK_PORT and CREWDECK_CACHE: {error}"
                );
                none()
            }
        }
    }

    /// Lets a hook create the directory for the worktree of a task. Returns the directory. Returns `None` if no hook
    /// creates one; git must then create it.
    async fn made_by_hook(
        &self,
        task: &Task,
        owner: &Name,
        host: Option<&dyn Host>,
        needs: Vec<String>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let (Some(hooks), Some(store)) = (&self.context.hooks, &self.store) else {
            return Ok(None);
        };
        if !hooks.has_hooks(HookEvent::WorktreeCreate) {
            return Ok(None);
        }
        let (store, id) = (store.clone(), task.id);
        let name = run_blocking(move || store.next_name(id, &needs)).await?;
        let made = hooks.create_worktree(owner, name.as_str(), host).await;
        made.map_err(|why| WorktreeError::Hook(why).into())
    }

    /// Makes the worktree of `task` the work directory of the teammate `agent`, from its next tool call on. Called when
    /// the teammate has claimed the task during its turn. Creates the worktree if necessary. Returns the text that
    /// describes the worktree to the teammate's model.
    ///
    /// Does nothing and returns an empty text if worktrees are not in use, or for the lead, which works in the project
    /// directory.
    ///
    /// # Errors
    /// Returns the reason if the worktree cannot be created. The task is then put back on the board.
    pub async fn move_to_workspace(
        &self,
        agent: &Name,
        task: &Task,
        host: &dyn Host,
    ) -> Result<String, String> {
        if agent.is_lead() {
            return Ok(String::new());
        }
        match self.workspace_for(task, agent, Some(host)).await {
            Ok(None) => Ok(String::new()),
            Ok(Some(workspace)) => {
                if let Some(handle) = self.registry.find(agent) {
                    handle.mailbox.set_workdir(workspace.dir);
                }
                Ok(workspace.text)
            }
            Err(error) => {
                let (board, name, id, now) = (
                    self.board.store().clone(),
                    agent.clone(),
                    task.id,
                    self.context.now(),
                );
                let released = run_blocking(move || board.release(id, &name, now)).await;
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

    /// Recovers the worktree of a task whose owner continues after a restart. If crewdeck ended before it recorded the
    /// worktree in the task, records it now. Otherwise removes lock files that a killed git has left in the worktree.
    /// Returns the task with its worktree.
    pub async fn recover(&self, task: Task) -> Task {
        let Some(store) = &self.store else {
            return task;
        };
        if !task.worktree.is_empty() {
            let Ok(name) = WorktreeName::new(&task.worktree) else {
                return task;
            };
            self.forget_setup(&store.path_of(&name)).await;
            let store = store.clone();
            if let Err(error) = run_blocking(move || store.unlock(&name)).await {
                tracing::warn!(
                    "git lock files may be left in the worktree of task {}: {error}",
                    task.id
                );
            }
            return task;
        }
        let (store, board, id, now) = (
            store.clone(),
            self.board.store().clone(),
            task.id,
            self.context.now(),
        );
        let found = run_blocking(move || match store.find_for(id)? {
            Some(tree) => board.bind(id, &tree.name, now).map(Some),
            None => Ok(None),
        });
        // If no worktree is found or the search fails, a worktree is created later.
        found.await.ok().flatten().unwrap_or(task)
    }

    /// Returns the branches here of the task's blockers. Blockers without a worktree have no branch. Returns none if branches are
    /// exchanged with other hosts: those here may be outdated, and the claim finds the right ones.
    pub async fn branches_of(&self, task: &Task) -> Result<Vec<String>, StoreError> {
        if self.exchange.is_some() {
            return Ok(Vec::new());
        }
        let (board, id) = (self.board.store().clone(), task.id);
        let branches = move |graph: &TaskGraph| {
            let blockers = graph.blockers(id);
            let names = blockers.iter().filter_map(|id| {
                let name = WorktreeName::new(&graph.get(*id)?.worktree).ok()?;
                Some(name.branch())
            });
            names.collect()
        };
        run_blocking(move || board.query(branches)).await
    }

    /// Merges the branches `needs` of the task's blockers into its worktree, which already exists, and records `owner` as its
    /// owner. Returns a text for the model of `owner`, the task's new owner, about the worktree: its directory and
    /// branch, merged branches, conflicts and unfinished work.
    async fn describe(&self, task: &Task, owner: &Name, dir: &Path, needs: Vec<String>) -> String {
        let Some((store, name)) = self
            .store
            .as_ref()
            .zip(WorktreeName::new(&task.worktree).ok())
        else {
            return String::new();
        };
        let (store, tree, now) = (store.clone(), name.clone(), self.context.now());
        // More blockers may have been completed since the worktree was created. `merge_branches` fails if the worktree
        // has uncommitted files.
        let (branches, owner) = (needs.clone(), owner.to_string());
        let looked = run_blocking(move || {
            // The owner is only shown to the user.
            if let Err(error) = store.set_owner(&tree, &owner) {
                tracing::warn!("the owner of worktree {tree} cannot be recorded: {error}");
            }
            let state = store.state(&tree)?;
            Ok((state, store.merge_branches(&tree, &needs, now)))
        });
        let (dirty, ahead, merges) = match looked.await {
            Ok((state, merges)) => (state.dirty, state.ahead, merges),
            Err(error) => (0, 0, Err(error)),
        };
        let (brought, error) = match merges {
            Ok(brought) => (brought, None),
            Err(error) => (BranchMerges::default(), Some(error)),
        };
        let shown = dir.display().to_string();
        let mut text = prompt::worktree(&shown, &name.branch(), &brought.merged);
        text.push_str(&self.environment_text(dir).await);
        if let Some(error) = error.filter(|_| !branches.is_empty()) {
            text.push_str(&prompt::missing_branches(&branches, &error.to_string()));
        }
        for conflict in &brought.conflicts {
            text.push_str(&prompt::unmerged_branch(&conflict.branch, &conflict.files));
        }
        text + &prompt::previous_work(dirty, ahead)
    }

    /// Commits the uncommitted files in the worktree of `agent`'s open task, so that dependent tasks can build on them.
    /// Does nothing if the agent has no open task with a worktree. Reads the task from disk, because the published
    /// board may still show an earlier task of the agent.
    ///
    /// # Errors
    /// Returns the reason if the board cannot be read or the files cannot be committed.
    pub async fn commit_leftovers(&self, agent: &Name) -> Result<(), String> {
        let (board, owner) = (self.board.store().clone(), agent.clone());
        let own =
            run_blocking(move || board.query(|graph| graph.open_task_of(&owner).cloned())).await;
        let Some(task) = own.map_err(|e| e.to_string())? else {
            return Ok(());
        };
        let (Some(store), Some(_)) = (&self.store, self.dir_of(&task)) else {
            return Ok(());
        };
        let name = WorktreeName::new(&task.worktree).map_err(|e| e.to_string())?;
        let message = format!("task {}: {}", task.id, task.subject);
        let (store, tree) = (store.clone(), name.clone());
        let done = run_blocking(move || store.commit_leftovers(&tree, &message)).await;
        done.map(drop).map_err(|error| {
            format!("the uncommitted files in your worktree cannot be committed: {error}")
        })?;
        self.publish(&task, &name).await
    }
}

fn new_workspace_text(created: &Created, dir: &str) -> String {
    let BranchMerges { merged, conflicts } = &created.branch_merges;
    let mut text = prompt::worktree(dir, &created.worktree.name.branch(), merged);
    let included = &created.included;
    text.push_str(&prompt::included_files(&included.names, included.count));
    for conflict in conflicts {
        text.push_str(&prompt::unmerged_branch(&conflict.branch, &conflict.files));
    }
    text
}
