//! The additions to the environment of the commands in a worktree: its task, its ports, its cache folder, and the files
//! that git ignores because they were copied into the worktree.

use std::collections::BTreeMap;

use super::{OpenRegistry, Worktrees, cache};
use crate::domain::worktree::{WorktreeName, free_ports};
use crate::process::AddedEnvironment;
use crate::store::StoreError;

/// The variable with the id of the worktree's task.
const TASK_VARIABLE: &str = "CREWDECK_TASK";
/// The variable with the first port that is reserved for the worktree.
pub const PORT_VARIABLE: &str = "CREWDECK_PORT";
/// The variable with the path of the worktree's cache folder.
pub const CACHE_VARIABLE: &str = "CREWDECK_CACHE";

impl Worktrees {
    /// Returns the first of the [ports](crate::domain::worktree::PORTS_PER_WORKTREE) that are reserved for a worktree,
    /// and the additions to the environment of commands in it. Reserves ports if the worktree has none, because another
    /// program or an older version has created it. Returns no port if none are free. Creates the worktree's cache folder;
    /// without `CREWDECK_CACHE` if that fails.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be read or written.
    pub fn command_environment(
        &self,
        name: &WorktreeName,
    ) -> Result<(Option<u16>, AddedEnvironment), StoreError> {
        let (tree, git_excludes, folder) = {
            let work = self.read()?;
            let tree = work.index.find(name)?.clone();
            let folder = cache::create(&work.dir, &tree.name);
            (tree, work.excludes_of(name), folder)
        };
        let port = match tree.port {
            Some(port) => Some(port),
            None => self.reserve_ports(name)?,
        };
        let task = tree.task_id.map(|id| (TASK_VARIABLE, id.0.to_string()));
        let first = port.map(|port| (PORT_VARIABLE, port.to_string()));
        let folder = folder.inspect_err(|error| {
            tracing::warn!("worktree {name} has no cache folder: {error}");
        });
        // The environment of commands is text.
        let folder = folder
            .ok()
            .and_then(|path| path.into_os_string().into_string().ok());
        let folder = folder.map(|path| (CACHE_VARIABLE, path));
        let variables: BTreeMap<String, String> = task
            .into_iter()
            .chain(first)
            .chain(folder)
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        let added = AddedEnvironment {
            variables,
            git_excludes,
        };
        Ok((port, added))
    }

    fn reserve_ports(&self, name: &WorktreeName) -> Result<Option<u16>, StoreError> {
        let mut work = self.begin_change()?;
        let free = work.free_ports();
        let tree = work
            .index
            .change(name, |tree| tree.port = tree.port.or(free))?;
        work.save()?;
        Ok(tree.port)
    }
}

impl OpenRegistry {
    /// Returns the first of the ports that can be reserved for another worktree; `None` if none are free.
    pub(super) fn free_ports(&self) -> Option<u16> {
        free_ports(&self.repo.root, &self.index.reserved_ports())
    }
}
