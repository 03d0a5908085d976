//! Where a command may write and what is kept from it, computed from facts. Pure.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The state folders below a root: crewdeck writes them, commands do not.
const STATE: &[&str] = &[".tasks", ".team", ".transcripts", ".crewdeck", ".worktrees"];
/// What decides in a git folder which programs git starts, and what belongs to other worktrees.
const KEPT_IN_GIT: &[&str] = &[
    "hooks",
    "info",
    "config",
    "config.worktree",
    "modules",
    "worktrees",
];
/// What git writes in the folder that all worktrees share when it works in one of them.
pub(super) const SHARED_IN_GIT: &[&str] =
    &["objects", "refs", "logs", "reftable", "lfs", "rr-cache"];
/// What says in a worktree's own git folder where the repository is.
const LINKS_IN_GIT: &[&str] = &["commondir", "gitdir", "config.worktree"];
/// Devices that programs write without harm.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What the plan for one command depends on. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The root of the crew: the state folders lie here.
    pub root: PathBuf,
    /// Where the command runs.
    pub workdir: PathBuf,
    /// The git folder of the work directory itself; `None`: it is in no repository.
    pub own_git: Option<PathBuf>,
    /// The git folder that all worktrees share. The same as `own_git` in the main work tree.
    pub common_git: Option<PathBuf>,
    /// The worktrees of tasks below `.worktrees`.
    pub trees: Vec<PathBuf>,
    /// Folders for temporary files.
    pub temp: Vec<PathBuf>,
    /// Caches, and what the settings name.
    pub write: Vec<PathBuf>,
}

/// How a command is held.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Where it may write, with all that is below.
    pub writable: Vec<PathBuf>,
    /// Where it may write too, but only when the view could be made.
    pub writable_in_view: Vec<PathBuf>,
    /// How its view of the mounts is made, step by step. What is not there is left out.
    pub view: Vec<Mount>,
    /// Files that must not come to be: they would lead git to another repository. What the command made of
    /// them is removed at its end.
    pub unwanted: Vec<PathBuf>,
}

/// One step of making a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mount {
    /// Can not be written, renamed or removed.
    ReadOnly(PathBuf),
    /// Can be written, and not renamed or removed.
    Writable(PathBuf),
    /// A git folder whose shared parts can be written; the rest of it is read-only, and files that are made
    /// beside them (git locks `packed-refs` with one) are the command's own and gone after it.
    GitFolder(PathBuf),
}

/// Computes how a command is held.
pub fn plan(facts: &Facts) -> Plan {
    let Facts { root, workdir, .. } = facts;
    let mut plan = Plan::default();
    plan.writable.push(workdir.clone());
    plan.writable.extend(facts.temp.iter().cloned());
    plan.writable.extend(facts.write.iter().cloned());
    plan.writable.extend(DEVICES.iter().map(PathBuf::from));
    let is_writable = |path: &Path, plan: &Plan| plan.writable.iter().any(|w| path.starts_with(w));
    if root.starts_with(workdir) {
        if is_writable(root, &plan) {
            plan.view.push(Mount::Writable(root.clone()));
        }
        let state = STATE.iter().map(|name| Mount::ReadOnly(root.join(name)));
        plan.view.extend(state);
        let trees = facts.trees.iter().cloned().map(Mount::Writable);
        plan.view.extend(trees);
    } else if is_writable(root, &plan) {
        // The root lies in a folder for temporary files: all of it is kept but the work directory.
        plan.view.push(Mount::ReadOnly(root.clone()));
        plan.view.push(Mount::Writable(workdir.clone()));
    }
    if let (Some(own), Some(common)) = (&facts.own_git, &facts.common_git) {
        git(&mut plan, workdir, own, common);
    }
    plan.writable.dedup();
    plan
}

fn git(plan: &mut Plan, workdir: &Path, own: &Path, common: &Path) {
    let kept = |folder: &Path, names: &[&str]| -> Vec<Mount> {
        let path = |name: &&str| Mount::ReadOnly(folder.join(name));
        names.iter().map(path).collect()
    };
    if own == common {
        if !own.starts_with(workdir) {
            plan.writable.push(own.to_path_buf());
        }
        plan.view.push(Mount::Writable(own.to_path_buf()));
        plan.view.extend(kept(own, KEPT_IN_GIT));
        plan.unwanted.push(own.join("commondir"));
    } else {
        let shared = SHARED_IN_GIT.iter().map(|name| common.join(name));
        plan.writable.extend(shared);
        plan.writable.push(own.to_path_buf());
        plan.writable_in_view.push(common.to_path_buf());
        plan.view.push(Mount::GitFolder(common.to_path_buf()));
        plan.view.push(Mount::Writable(own.to_path_buf()));
        plan.view.extend(kept(own, LINKS_IN_GIT));
    }
    let link = workdir.join(".git");
    if link != own {
        plan.view.push(Mount::ReadOnly(link));
    }
}
