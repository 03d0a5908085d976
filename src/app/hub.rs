//! Crews on a hub: the shared state for subcommands with `--hub`, and this process as a host of such a crew.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use super::{check_tools, now};
use crate::cli::{FileVerb, GlobalOptions, Verb};
use crate::commands::{CompletionRequest, TaskGate};
use crate::config::{self, Settings};
use crate::crew::{HostParts, SharedParts};
use crate::domain::checks::CheckRecord;
use crate::domain::host::{HostInfo, HostKind, HostName, HostPresence};
use crate::domain::ids::TaskId;
use crate::domain::worktree::{Merge, Worktree};
use crate::store::{
    Board, BranchExchange, DirectoryHost, HostSession, Hub, HubAddress, HubSettings, StoreError,
    Stores, core_count, load_average, machine_name,
};

/// Time for which a start waits until the lease of an earlier process with the same name ends. Longer than the life of a
/// lease.
const JOIN_WITHIN: Duration = Duration::from_secs(20);
/// Pause between two attempts to join, or to take over the tasks of an earlier process.
const JOIN_PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of hosts on one machine that get names without the user.
pub const NAMES_MAX: u8 = 9;
/// Number of characters of the name of a machine that are kept before a number.
const NAME_START_MAX: usize = 28;
/// Maximum time for which a start tries to take over the tasks of an earlier process.
const ADOPT_WITHIN: Duration = Duration::from_secs(10);

/// Warns the user of a lead whose settings name no git remote.
pub const NO_REMOTE: &str = "The setting hub.remote is missing, so nothing is pushed, and the results of other hosts cannot come here. Set it to a git remote that all hosts reach.";

/// How this process takes part in a crew on a hub.
#[derive(Debug, Clone)]
pub struct HubPlan {
    pub settings: HubSettings,
    pub kind: HostKind,
    /// The name of this host; `None` for the name that the directory has used before, or that of the machine.
    pub name: Option<HostName>,
    pub slots: u16,
    pub tags: Vec<String>,
    /// The git remote over which the hosts exchange branches; `None` if the settings name none.
    pub remote: Option<String>,
}

impl HubPlan {
    /// Returns the plan of the host of the lead; `None` without the option `--hub`.
    ///
    /// # Errors
    /// When the address, the settings or the login are invalid.
    pub fn of_lead(global: &GlobalOptions, settings: &Settings) -> Result<Option<HubPlan>> {
        let Some(url) = &global.hub else {
            return Ok(None);
        };
        let remote = settings.hub.remote().map(String::from);
        let settings = settings
            .hub
            .settings(url, |name| std::env::var(name).ok())?;
        Ok(Some(HubPlan {
            remote,
            settings,
            kind: HostKind::Lead,
            name: None,
            slots: 0,
            tags: Vec::new(),
        }))
    }

    /// Returns the shared state, without joining. Does not connect yet.
    pub fn stores(&self, root: &Path) -> Stores {
        Hub::new(self.settings.clone()).stores(root)
    }

    /// Returns the name of this host for the project in `root`: the one that the user has chosen or that the directory has used
    /// before, else that of the machine. If another host of the crew has that name, for example on the same machine, adds a
    /// number. A host that is absent keeps its name, as long as there are others.
    ///
    /// # Errors
    /// When the hosts cannot be read.
    pub fn host_name(&self, root: &Path, stores: &Stores) -> Result<HostName> {
        let earlier = || self.earlier_host(root).map(|host| host.name);
        if let Some(own) = self.name.clone().or_else(earlier) {
            return Ok(own);
        }
        let machine = HostName::similar_to(&machine_name());
        let hosts = stores.hosts.as_ref().map(|hosts| hosts.hosts());
        let hosts = hosts.transpose()?.unwrap_or_default();
        let presence_of = |name: &HostName| {
            let mut hosts = hosts.iter();
            let found = hosts.find(|host| host.info.name.same(name));
            found.map(|host| host.presence)
        };
        let start: String = machine.as_str().chars().take(NAME_START_MAX).collect();
        let numbered = (2..=NAMES_MAX).map(|n| HostName::parse(&format!("{start}-{n}")));
        let names = [Ok(machine.clone())].into_iter().chain(numbered).flatten();
        let names: Vec<HostName> = names.collect();
        let is_absent = |name: &&HostName| presence_of(name) != Some(HostPresence::Present);
        let free = names.iter().find(|name| presence_of(name).is_none());
        let free = free.or_else(|| names.iter().find(is_absent));
        Ok(free.cloned().unwrap_or(machine))
    }

    /// Returns whether the directory `root` itself, and not one that it was copied from, has last joined the crew as the host
    /// `name`.
    pub fn was_host(&self, root: &Path, name: &HostName) -> bool {
        let earlier = self.earlier_host(root);
        earlier.is_some_and(|host| host.name.same(name))
    }

    /// Returns what this directory was in the same crew before.
    fn earlier_host(&self, root: &Path) -> Option<DirectoryHost> {
        let is_same = |host: &DirectoryHost| {
            let address = HubAddress::parse(&host.hub);
            address.is_ok_and(|address| address.is_same_crew(&self.settings.address))
        };
        DirectoryHost::read(root).filter(is_same)
    }

    /// Returns the exchange of branches with the other hosts; `None` without the setting, which is an error for a worker.
    /// Only a worker checks that it can push.
    fn exchange(&self, root: &Path, host: &HostName) -> Result<Option<BranchExchange>> {
        let is_worker = self.kind == HostKind::Worker;
        let Some(remote) = self.remote.clone() else {
            if is_worker {
                bail!(
                    "the worker cannot send the results of its tasks: set hub.remote in your settings to a git remote that all hosts reach, such as origin"
                );
            }
            return Ok(None);
        };
        let crew = self.settings.address.crew();
        let exchange = BranchExchange::new(root, remote, crew).with_host(host.clone());
        if is_worker {
            exchange.check().map_err(|why| {
                anyhow!("the worker cannot send the results of its tasks: {why}. Set hub.remote to a git remote that all hosts reach")
            })?;
        }
        Ok(Some(exchange))
    }

    /// Joins the crew as a host, and takes over the tasks that are still claimed for the process that this directory has run
    /// before. If another host has joined at the same time under the name that was chosen for this one, chooses another name.
    /// The caller holds the crew lock of `root`, so that earlier process has ended. Blocks.
    ///
    /// # Errors
    /// When the hub cannot be used, or another process is present under the same name or as the lead.
    pub fn join(&self, root: &Path) -> Result<SharedParts> {
        let stores = self.stores(root);
        let mut name = self.host_name(root, &stores)?;
        for _ in 1..NAMES_MAX {
            let error = match self.join_as(&name, root, stores.clone()) {
                Err(error) if is_host_in_use(&error) => error,
                joined => return joined,
            };
            let next = self.host_name(root, &stores)?;
            if next.same(&name) {
                return Err(error);
            }
            name = next;
        }
        self.join_as(&name, root, stores)
    }

    fn join_as(&self, name: &HostName, root: &Path, stores: Stores) -> Result<SharedParts> {
        let Some(store) = stores.hosts.clone() else {
            bail!("the hub has no hosts");
        };
        let info = HostInfo {
            name: name.clone(),
            kind: self.kind,
            slots: self.slots,
            tags: self.tags.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            cores: core_count(),
            load: load_average(),
            is_draining: false,
            started_at: now(),
        };
        // Before the join, so that a host that cannot send results is not seen by others.
        let exchange = self.exchange(root, &info.name)?;
        let earlier = self.earlier_host(root);
        let earlier = earlier.filter(|host| host.name.same(&info.name));
        let old = earlier.map_or_else(Vec::new, |host| host.sessions);
        // The last one holds the lease, if any.
        let replaced = old.last().map(String::as_str);
        let until = Instant::now() + JOIN_WITHIN;
        let session: Arc<dyn HostSession> = loop {
            match store.join(&info, replaced) {
                // A process that was killed holds its name until its lease ends.
                Err(StoreError::HostInUse(_)) if Instant::now() < until && replaced.is_some() => {
                    std::thread::sleep(JOIN_PAUSE);
                }
                joined => break Arc::from(joined?),
            }
        };
        let own = Arc::clone(&session);
        let enter = move || -> Result<SharedParts> {
            // All sessions are in the file until this one has their tasks: if this process is killed before, the next one
            // takes the tasks over.
            let mut recorded = DirectoryHost {
                hub: self.settings.address.to_string(),
                name: info.name.clone(),
                sessions: old.clone(),
            };
            recorded.sessions.push(own.claim().session);
            recorded.write(root)?;
            let stores = stores.with_host(Arc::clone(&own));
            adopt(&stores.board, &*own, &old)?;
            recorded.sessions.drain(..old.len());
            if let Err(error) = recorded.write(root) {
                tracing::warn!("the earlier sessions of this host are still listed: {error}");
            }
            let parts = HostParts {
                exchange,
                info,
                session: own,
                store,
            };
            Ok(SharedParts {
                root: root.to_path_buf(),
                stores,
                host: Some(parts),
            })
        };
        // The process may end soon after an error.
        enter().inspect_err(|_| session.leave())
    }
}

/// Returns whether a join has failed because another process is present under the same name.
pub fn is_host_in_use(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::HostInUse(_)))
}

/// Makes `session` the holder of all tasks of the sessions `old`. Repeats a failed attempt, because other hosts may offer the
/// tasks again as soon as `session` ends.
fn adopt(board: &Board, session: &dyn HostSession, old: &[String]) -> Result<(), StoreError> {
    let until = Instant::now() + ADOPT_WITHIN;
    for old in old {
        while let Err(error) = board.adopt(old, now()) {
            if !session.is_valid() || Instant::now() >= until {
                return Err(error);
            }
            std::thread::sleep(JOIN_PAUSE);
        }
    }
    Ok(())
}

/// Returns the shared state on the hub of the option `--hub`; `None` without the option. Does not connect yet.
///
/// # Errors
/// When the address, the settings or the login are invalid.
pub fn stores(global: &GlobalOptions, root: &Path) -> Result<Option<Stores>> {
    let Some(url) = &global.hub else {
        return Ok(None);
    };
    let settings = config::load(root, check_tools)?.settings;
    let hub = settings
        .hub
        .settings(url, |name| std::env::var(name).ok())?;
    Ok(Some(Hub::new(hub).stores(root)))
}

/// Fails if `--hub` is given for a mode that does not use it.
///
/// # Errors
/// Names the subcommands that use it.
pub fn check_verb(global: &GlobalOptions, verb: Option<&Verb>) -> Result<()> {
    let is_supported = matches!(
        verb,
        None | Some(
            Verb::Run { .. }
                | Verb::Worker(_)
                | Verb::Files(FileVerb::Task(_) | FileVerb::Mail(_) | FileVerb::Team(_))
        )
    );
    if global.hub.is_some() && !is_supported {
        bail!(
            "--hub works with the dashboard and with crewdeck run, worker, task, mail and team: leave it out"
        );
    }
    if global.hub.is_some() && global.demo {
        bail!("the demo works on this machine only: leave out --hub");
    }
    Ok(())
}

/// Decides about the completion of tasks on a hub. Their checks cannot run here, because the worktrees of a hub's tasks are
/// not here.
pub struct HubGate<'a> {
    pub root: &'a Path,
}

const NO_ACCEPTANCE: &str =
    "--accept does not work with --hub: describe in the task what its owner must run";

impl TaskGate for HubGate<'_> {
    /// Fails if the project has checks: a task must not be completed without them.
    fn check(&self, request: &CompletionRequest<'_>) -> Result<Vec<CheckRecord>> {
        let Settings { checks, .. } = config::load(self.root, check_tools)?.settings;
        let id = request.task.id;
        if request.override_reason.is_some() {
            bail!("--override does not work with --hub");
        }
        if !checks.is_empty() || !request.task.acceptance.is_empty() {
            bail!(
                "task {id} was not completed, because its checks do not run with --hub: a task of a project with checks cannot be completed on a hub yet"
            );
        }
        Ok(Vec::new())
    }

    fn check_may_set_acceptance(&self) -> Result<()> {
        bail!(NO_ACCEPTANCE)
    }

    fn approve_acceptance(&self, _task: TaskId, _command: &str) -> Result<Option<String>> {
        bail!(NO_ACCEPTANCE)
    }

    fn merge(&self, _tree: &Worktree) -> Result<Option<Merge>> {
        bail!("worktrees cannot be merged with --hub")
    }
}
