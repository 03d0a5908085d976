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
    } else {
        // Landlock lets mode and times of a file be changed, and the root may lie among temporary files.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn facts(workdir: &str, own: Option<&str>, temp: &str) -> Facts {
        Facts {
            root: "/r".into(),
            workdir: workdir.into(),
            own_git: own.map(PathBuf::from),
            common_git: own.map(|_| "/r/.git".into()),
            trees: Vec::new(),
            temp: vec![temp.into()],
            write: vec!["/home/a/.cache".into()],
        }
    }

    /// The plan in words: writable places but devices, and the view.
    fn told(plan: &Plan) -> (Vec<String>, Vec<String>) {
        let text = |p: &PathBuf| p.display().to_string();
        let places = plan.writable.iter().filter(|p| !p.starts_with("/dev"));
        let view = plan.view.iter().map(|step| match step {
            Mount::ReadOnly(path) => format!("- {}", text(path)),
            Mount::Writable(path) => format!("+ {}", text(path)),
            Mount::GitFolder(path) => format!("g {}", text(path)),
        });
        (places.map(text).collect(), view.collect())
    }

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| pair.join(" "))
            .collect()
    }

    #[test]
    fn in_the_root_the_state_and_what_git_runs_are_kept() {
        let plan = plan(&Facts {
            trees: vec!["/r/.worktrees/a".into()],
            ..facts("/r", Some("/r/.git"), "/tmp")
        });
        let (places, view) = told(&plan);
        assert_eq!(places, ["/r", "/tmp", "/home/a/.cache"]);
        assert_eq!(
            view,
            lines(
                "+ /r - /r/.tasks - /r/.team - /r/.transcripts - /r/.crewdeck - /r/.worktrees + /r/.worktrees/a \
                 + /r/.git - /r/.git/hooks - /r/.git/info - /r/.git/config - /r/.git/config.worktree \
                 - /r/.git/modules - /r/.git/worktrees"
            )
        );
        assert_eq!(plan.unwanted, [PathBuf::from("/r/.git/commondir")]);
        assert_eq!(plan.writable_in_view, Vec::<PathBuf>::new());
        assert!(plan.writable.contains(&"/dev/null".into()));
    }

    #[test]
    fn in_a_worktree_only_it_and_what_git_shares_can_be_written() {
        let (tree, own) = ("/r/.worktrees/a", "/r/.git/worktrees/a");
        let plan = plan(&facts(tree, Some(own), "/tmp"));
        let (places, view) = told(&plan);
        let shared = ["objects", "refs", "logs", "reftable", "lfs", "rr-cache"];
        let mut wanted = vec![tree.to_string(), "/tmp".into(), "/home/a/.cache".into()];
        wanted.extend(shared.map(|name| format!("/r/.git/{name}")));
        wanted.push(own.into());
        assert_eq!(places, wanted);
        assert_eq!(
            view,
            lines(
                "- /r + /r/.worktrees/a g /r/.git + /r/.git/worktrees/a - /r/.git/worktrees/a/commondir - /r/.git/worktrees/a/gitdir \
                 - /r/.git/worktrees/a/config.worktree - /r/.worktrees/a/.git"
            )
        );
        assert_eq!(plan.writable_in_view, [PathBuf::from("/r/.git")]);
    }

    #[test]
    fn a_root_among_temporary_files_is_kept_all_the_same() {
        let tree = "/r/.worktrees/a";
        let steps = |facts: &Facts| told(&plan(facts)).1[..2].to_vec();
        assert_eq!(
            steps(&facts(tree, Some("/r/.git/worktrees/a"), "/")),
            lines("- /r + /r/.worktrees/a")
        );
        assert_eq!(steps(&facts("/r", None, "/")), lines("+ /r - /r/.tasks"));
    }

    #[test]
    fn without_git_and_with_a_git_folder_elsewhere() {
        let (_, view) = told(&plan(&facts("/r", None, "/tmp")));
        assert!(view.iter().all(|step| !step.contains(".git")), "{view:?}");
        let mut apart = facts("/r", Some("/g"), "/tmp");
        apart.common_git = Some("/g".into());
        let (places, view) = told(&plan(&apart));
        assert!(places.contains(&"/g".into()), "{places:?}");
        for step in ["- /g/hooks", "- /g/config", "- /r/.git"] {
            assert!(view.contains(&step.into()), "{step}: {view:?}");
        }
    }
}
