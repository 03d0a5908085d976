//! Where a command may write and what is kept from it, computed from facts. Pure.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::folders::STATE;
use crate::process::history::{FOLDER, PrivateHistory};

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
pub(super) const SHARED_IN_GIT: &[&str] = &["lfs", "rr-cache"];
/// What of it is replaced by private folders. In a repository whose refs are no files it is shared.
pub(super) const HISTORY_IN_GIT: &[&str] = &["objects", "refs", "logs"];
/// The same for refs in tables.
pub(super) const TABLES_IN_GIT: &str = "reftable";
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
    "/dev/shm",
];
/// Where terminals are made. Only a view has its own: the others are those of crewdeck and the person, where a
/// command could draw on the screen and read or stuff keys.
const TERMINALS: &[&str] = &["/dev/ptmx", "/dev/pts"];

/// What the plan for one command depends on. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    /// The root of the crew: the state folders lie here.
    pub root: PathBuf,
    /// Where the command runs.
    pub workdir: PathBuf,
    /// The git folder of the work directory itself; `None`: it is in no repository.
    pub own_git: Option<PathBuf>,
    /// The git folder that all worktrees share. The same as `own_git` in the main work tree.
    pub common_git: Option<PathBuf>,
    /// Sockets, and folders of sockets, that the command does not reach.
    pub hidden: Vec<PathBuf>,
    /// Whether it may reach abstract sockets of others.
    pub abstract_sockets: bool,
    /// Variables that it does not see.
    pub unset: Vec<String>,
    /// The private part of the history that the command writes; `None`: it writes the repository itself.
    pub history: Option<PrivateHistory>,
    /// Whether it does so only because the repository has no private part.
    pub is_history_exposed: bool,
    /// The folder of hooks that the settings of git name, for a command that writes the repository itself.
    pub hooks: Option<PathBuf>,
    /// The worktrees of tasks below `.worktrees`.
    pub trees: Vec<PathBuf>,
    /// Folders for temporary files.
    pub temp: Vec<PathBuf>,
    /// Caches, and what the settings name.
    pub write: Vec<PathBuf>,
}

/// How a command is held.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxPlan {
    /// Where it may write, with all that is below.
    pub writable: Vec<PathBuf>,
    /// Where it may write too, but only when the view could be made.
    pub writable_in_view: Vec<PathBuf>,
    /// The private part of the history: what the command adds to it is transferred when it has ended. Where the view
    /// cannot be made, the git folder is read-only.
    pub history: Option<PrivateHistory>,
    /// How its view of the mounts is made, step by step. What is not there is left out.
    pub view: Vec<Mount>,
    /// Files that must not come to be: they would lead git to another repository. What the command made of
    /// them is removed at its end.
    pub unwanted: Vec<PathBuf>,
    /// Files that must not come to be either, but that the user may make too. What was made of them while the command ran is
    /// renamed at its end, with [`SET_ASIDE`](crate::process::history::SET_ASIDE) behind its name.
    #[serde(default)]
    pub set_aside: Vec<PathBuf>,
    /// Whether it may reach abstract sockets of others.
    pub abstract_sockets: bool,
    /// Variables that it does not see.
    pub unset: Vec<String>,
    /// What keeps the history of the repository.
    #[serde(default)]
    pub keeps_history: KeepsHistory,
    /// Whether git must run no hooks: commands can write them, and the repository is open to this one.
    #[serde(default)]
    pub is_without_hooks: bool,
}

/// What keeps the history of a repository from a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepsHistory {
    /// The command writes a private part of it, or there is none, or the user was asked.
    #[default]
    Private,
    /// The view could not be made: the git folder is read-only. Known when the command runs.
    ReadOnly,
    /// Nothing: it has no private part.
    Nothing,
}

/// One step of making a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mount {
    /// All mounts are read-only but what lies below these paths. Landlock alone lets the mode, the owner and the
    /// times of every file be changed.
    ReadOnlyBut(Vec<PathBuf>),
    /// Can not be written, renamed or removed.
    ReadOnly(PathBuf),
    /// Can be written, and not renamed or removed.
    Writable(PathBuf),
    /// A git folder whose shared parts can be written; the rest of it is read-only, and files that are made
    /// beside them (git locks `packed-refs` with one) are the command's own and gone after it. With a private history
    /// its objects, refs and reflogs are that.
    GitFolder(PathBuf, Option<PrivateHistory>),
    /// The objects, refs and reflogs of a git folder are the private ones; `packed-refs` is read-only.
    History(PrivateHistory),
    /// A socket, or a folder of sockets, that is not there.
    Hidden(PathBuf),
    /// Shared memory that is not that of others, and bounded. Of what lies there only these paths are seen, with what was
    /// mounted on them.
    SharedMemory(Vec<PathBuf>),
    /// Terminals that are not those of others.
    Terminals,
}

/// Computes how a command is held.
pub fn plan(facts: &PlanInputs) -> SandboxPlan {
    let PlanInputs { root, workdir, .. } = facts;
    let mut plan = SandboxPlan::default();
    plan.writable.push(workdir.clone());
    plan.writable.extend(facts.temp.iter().cloned());
    plan.writable.extend(facts.write.iter().cloned());
    plan.writable.extend(DEVICES.iter().map(PathBuf::from));
    let is_writable = |path: &Path, plan: &SandboxPlan| plan.writable.iter().any(|w| path.starts_with(w));
    if root.starts_with(workdir) {
        if is_writable(root, &plan) {
            plan.view.push(Mount::Writable(root.clone()));
        }
        let state = STATE.iter().map(|name| Mount::ReadOnly(root.join(name)));
        plan.view.extend(state);
        let trees = facts.trees.iter().cloned().map(Mount::Writable);
        plan.view.extend(trees);
    } else {
        // The root may lie among temporary files.
        plan.view.push(Mount::ReadOnly(root.clone()));
        plan.view.push(Mount::Writable(workdir.clone()));
    }
    if let (Some(own), Some(common)) = (&facts.own_git, &facts.common_git) {
        git(&mut plan, facts, own, common);
        plan.history.clone_from(&facts.history);
    }
    plan.view
        .extend(facts.hidden.iter().cloned().map(Mount::Hidden));
    plan.abstract_sockets = facts.abstract_sockets;
    plan.unset.clone_from(&facts.unset);
    if facts.is_history_exposed {
        plan.keeps_history = KeepsHistory::Nothing;
    }
    plan.is_without_hooks = facts.hooks.as_ref().is_some_and(|hooks| {
        let own = facts.common_git.iter().map(|git| git.join("hooks"));
        is_writable(hooks, &plan) && !own.into_iter().any(|own| hooks.starts_with(own))
    });
    let git = [&facts.own_git, &facts.common_git].into_iter().flatten();
    let known = [root, workdir].into_iter().chain(git);
    // Temporary files in shared memory itself are the command's own, as it is.
    let others = facts.temp.iter().chain(&facts.write);
    let others = others.filter(|path| *path != Path::new("/dev/shm"));
    let kept = known.chain(others).cloned().collect();
    plan.view.push(Mount::SharedMemory(kept));
    plan.view.push(Mount::Terminals);
    plan.writable_in_view
        .extend(TERMINALS.iter().map(PathBuf::from));
    plan.writable.dedup();
    // A device can be written on a read-only mount.
    let is_device = |p: &Path| p.starts_with("/dev") && p != Path::new("/dev/shm");
    let places = plan.writable.iter().filter(|p| !is_device(p));
    let others = Mount::ReadOnlyBut(places.cloned().collect());
    plan.view.insert(0, others);
    plan
}

fn git(plan: &mut SandboxPlan, facts: &PlanInputs, own: &Path, common: &Path) {
    let PlanInputs { workdir, .. } = facts;
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
        plan.view.extend(facts.history.clone().map(Mount::History));
        plan.unwanted.push(own.join("commondir"));
    } else {
        let shared = SHARED_IN_GIT.iter().map(|name| common.join(name));
        plan.writable.extend(shared);
        plan.writable.push(own.to_path_buf());
        match &facts.history {
            None => {
                let history = HISTORY_IN_GIT.iter().map(|name| common.join(name));
                plan.writable.extend(history);
                plan.writable.push(common.join(TABLES_IN_GIT));
            }
            Some(private) => {
                let own = HISTORY_IN_GIT.iter().map(|name| private.dir.join(name));
                plan.writable_in_view.extend(own);
            }
        }
        plan.writable_in_view.push(common.to_path_buf());
        let folder = Mount::GitFolder(common.to_path_buf(), facts.history.clone());
        plan.view.push(folder);
        plan.view.push(Mount::Writable(own.to_path_buf()));
        plan.view.extend(kept(own, LINKS_IN_GIT));
    }
    if facts.history.is_some() {
        // Git takes the commits named in it for the first ones: their parents would be pruned.
        plan.view.push(Mount::ReadOnly(common.join("shallow")));
        if own == common {
            // In a worktree's view of the git folder a new one is the command's own.
            plan.set_aside.push(common.join("shallow"));
        }
        // What the transfer goes by is not the command's to write.
        plan.view.push(Mount::ReadOnly(own.join(FOLDER)));
    }
    let link = workdir.join(".git");
    if link != own {
        plan.view.push(Mount::ReadOnly(link));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::history::Branch;
    use pretty_assertions::assert_eq;

    fn facts(workdir: &str, own: Option<&str>, temp: &str) -> PlanInputs {
        PlanInputs {
            root: "/r".into(),
            workdir: workdir.into(),
            own_git: own.map(PathBuf::from),
            common_git: own.map(|_| "/r/.git".into()),
            hidden: Vec::new(),
            abstract_sockets: false,
            unset: Vec::new(),
            history: None,
            is_history_exposed: false,
            hooks: None,
            trees: Vec::new(),
            temp: vec![temp.into()],
            write: vec!["/home/a/.cache".into()],
        }
    }

    /// The plan in words: writable places but devices, and the view.
    fn told(plan: &SandboxPlan) -> (Vec<String>, Vec<String>) {
        let text = |p: &PathBuf| p.display().to_string();
        let places = plan.writable.iter().filter(|p| !p.starts_with("/dev"));
        let view = plan.view.iter().map(|step| match step {
            Mount::ReadOnlyBut(_) => "o others".into(),
            Mount::ReadOnly(path) => format!("- {}", text(path)),
            Mount::Writable(path) => format!("+ {}", text(path)),
            Mount::GitFolder(path, None) => format!("g {}", text(path)),
            Mount::GitFolder(path, Some(_)) => format!("p {}", text(path)),
            Mount::History(private) => format!("h {}", text(&private.common)),
            Mount::Hidden(path) => format!("x {}", text(path)),
            Mount::SharedMemory(_) => "m memory".into(),
            Mount::Terminals => "t terminals".into(),
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
        let plan = plan(&PlanInputs {
            trees: vec!["/r/.worktrees/a".into()],
            ..facts("/r", Some("/r/.git"), "/tmp")
        });
        let (places, view) = told(&plan);
        assert_eq!(places, ["/r", "/tmp", "/home/a/.cache"]);
        assert_eq!(
            view,
            lines(
                "o others + /r - /r/.tasks - /r/.team - /r/.transcripts - /r/.crewdeck - /r/.worktrees + /r/.worktrees/a \
                 + /r/.git - /r/.git/hooks - /r/.git/info - /r/.git/config - /r/.git/config.worktree \
                 - /r/.git/modules - /r/.git/worktrees m memory t terminals"
            )
        );
        assert_eq!(plan.unwanted, [PathBuf::from("/r/.git/commondir")]);
        assert_eq!(
            plan.writable_in_view,
            ["/dev/ptmx", "/dev/pts"].map(PathBuf::from)
        );
        assert!(plan.writable.contains(&"/dev/null".into()));
    }

    #[test]
    fn in_a_worktree_only_it_and_what_git_shares_can_be_written() {
        let (tree, own) = ("/r/.worktrees/a", "/r/.git/worktrees/a");
        let plan = plan(&facts(tree, Some(own), "/tmp"));
        let (places, view) = told(&plan);
        let mut wanted = vec![tree.to_string(), "/tmp".into(), "/home/a/.cache".into()];
        wanted.extend(["lfs", "rr-cache"].map(|name| format!("/r/.git/{name}")));
        wanted.push(own.into());
        let history = ["objects", "refs", "logs", "reftable"];
        wanted.extend(history.map(|name| format!("/r/.git/{name}")));
        assert_eq!(places, wanted);
        assert_eq!(
            view,
            lines(
                "o others - /r + /r/.worktrees/a g /r/.git + /r/.git/worktrees/a - /r/.git/worktrees/a/commondir - /r/.git/worktrees/a/gitdir \
                 - /r/.git/worktrees/a/config.worktree - /r/.worktrees/a/.git m memory t terminals"
            )
        );
        assert_eq!(
            plan.writable_in_view,
            ["/r/.git", "/dev/ptmx", "/dev/pts"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_private_history_takes_the_place_of_the_shared_one() {
        let private = |own: &str| PrivateHistory {
            common: "/r/.git".into(),
            dir: Path::new(own).join(FOLDER),
            name: "a".into(),
            branch: Branch::of_worktree("a"),
        };
        let (tree, own) = ("/r/.worktrees/a", "/r/.git/worktrees/a");
        let in_tree = plan(&PlanInputs {
            history: Some(private(own)),
            ..facts(tree, Some(own), "/tmp")
        });
        let (places, view) = told(&in_tree);
        assert!(!places.iter().any(|p| p.ends_with("objects")), "{places:?}");
        assert!(
            in_tree
                .writable_in_view
                .contains(&Path::new(own).join("crewdeck/refs"))
        );
        let at = |step: &str| view.iter().position(|s| s == step);
        assert!(
            at("p /r/.git") < at("- /r/.git/worktrees/a/crewdeck"),
            "{view:?}"
        );
        let in_root = plan(&PlanInputs {
            history: Some(private("/r/.git")),
            ..facts("/r", Some("/r/.git"), "/tmp")
        });
        let (_, view) = told(&in_root);
        assert!(view.contains(&"h /r/.git".into()), "{view:?}");
        assert!(view.contains(&"- /r/.git/crewdeck".into()), "{view:?}");
    }

    #[test]
    fn a_root_among_temporary_files_is_kept_all_the_same() {
        let tree = "/r/.worktrees/a";
        let steps = |facts: &PlanInputs| told(&plan(facts)).1[1..3].to_vec();
        assert_eq!(
            steps(&facts(tree, Some("/r/.git/worktrees/a"), "/")),
            lines("- /r + /r/.worktrees/a")
        );
        assert_eq!(steps(&facts("/r", None, "/")), lines("+ /r - /r/.tasks"));
    }

    #[test]
    fn hidden_sockets_are_masked_last() {
        let hidden = PlanInputs {
            hidden: vec!["/run/docker.sock".into()],
            ..facts("/r", None, "/tmp")
        };
        let (_, view) = told(&plan(&hidden));
        let wanted = lines("x /run/docker.sock m memory t terminals");
        assert_eq!(view[view.len() - 3..], wanted);
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
