//! Computes the sandbox plan of a command: where it can write and what is hidden from it. Does no I/O.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::folders::STATE;
use crate::process::history::{FOLDER, PrivateHistory};

/// Entries of a git folder that decide which programs git starts, or that belong to other worktrees. Read-only for
/// commands.
const PROTECTED_IN_GIT: &[&str] = &[
    "hooks",
    "info",
    "config",
    "config.worktree",
    "modules",
    "worktrees",
];
/// Entries of the common git folder that git also writes when it runs in a worktree.
pub(super) const SHARED_IN_GIT: &[&str] = &["lfs", "rr-cache"];
/// Entries of a git folder that contain the history. A command with a private history sees its private folders in their
/// place. Other commands write to these entries of the repository.
pub(super) const HISTORY_IN_GIT: &[&str] = &["objects", "refs", "logs"];
/// The folder of refs in the reftable format.
pub(super) const TABLES_IN_GIT: &str = "reftable";
/// Entries of a worktree's git folder that contain settings, or the paths by which git finds the repository and the
/// worktree. Read-only for commands.
const LINKS_IN_GIT: &[&str] = &["commondir", "gitdir", "config.worktree"];
/// Devices that are safe to write.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/shm",
];
/// Devices that create terminals. They are writable only in a mount view, which has a separate set of terminals. On the
/// system's terminals, a command could draw on the user's screen, and read and insert keys.
const TERMINALS: &[&str] = &["/dev/ptmx", "/dev/pts"];

/// The inputs of a sandbox plan. All paths are absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInputs {
    /// The project root, which contains the folders in [`STATE`].
    pub root: PathBuf,
    pub workdir: PathBuf,
    /// The git folder of the work directory; `None` if the work directory is not in a repository.
    pub own_git: Option<PathBuf>,
    /// The git folder that all worktrees share. Equal to `own_git` in the main worktree.
    pub common_git: Option<PathBuf>,
    /// Sockets, folders of sockets, and files and folders with credentials that the command must not see.
    pub hidden: Vec<PathBuf>,
    /// Whether the command can connect to abstract sockets of programs outside the sandbox.
    pub abstract_sockets: bool,
    /// Names of the environment variables to remove, because they name a hidden socket or service.
    pub unset: Vec<String>,
    /// The private history that the command writes to; `None` if it writes to the repository itself.
    pub history: Option<PrivateHistory>,
    /// Whether the command writes to the repository itself although the user did not approve that. The cause is a
    /// setting or the format of the repository.
    pub is_history_exposed: bool,
    /// The folder that git's setting `core.hooksPath` names. `None` if the setting is missing, or if the command is not
    /// a git command that the user has approved.
    pub hooks: Option<PathBuf>,
    /// The worktrees in `.worktrees` that the command can write; empty unless the command runs in the root.
    pub trees: Vec<PathBuf>,
    /// The cache folder of the worktree in which the command runs; `None` if it has none.
    pub cache: Option<PathBuf>,
    /// The folders with the user's settings and decisions, and the files that the user has approved. They stay
    /// read-only even below a writable path.
    pub protected: Vec<PathBuf>,
    pub temp: Vec<PathBuf>,
    /// Other writable folders: caches, and the folders in the setting `write`.
    pub write: Vec<PathBuf>,
}

/// What a command can write, and what is hidden from it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SandboxPlan {
    /// Folders and files that the command can write, with everything below them.
    pub writable: Vec<PathBuf>,
    /// Paths that are writable only if the mount view was created; see [the module](super).
    pub writable_in_view: Vec<PathBuf>,
    /// The private history that the command writes to; `None` if it has none. The changes in it are copied to the
    /// repository when the command has ended. If the mount view cannot be created, the git folder is read-only instead.
    pub history: Option<PrivateHistory>,
    /// The steps that create the mount view, in order. A step that changes the access to a missing path, or hides it,
    /// is skipped.
    pub view: Vec<Mount>,
    /// Files that the command must not create, because they would redirect git to another repository. If such a file
    /// appeared while the command ran, the supervisor deletes it.
    pub unwanted: Vec<PathBuf>,
    /// Files that the command must not create, but the user may. If such a file appeared while the command ran, the
    /// supervisor renames it by appending [`SET_ASIDE`](crate::process::history::SET_ASIDE).
    #[serde(default)]
    pub set_aside: Vec<PathBuf>,
    /// Whether the command can connect to abstract sockets of programs outside the sandbox.
    pub abstract_sockets: bool,
    /// Names of the environment variables to remove, because they name a hidden socket or service.
    pub unset: Vec<String>,
    #[serde(default)]
    pub keeps_history: HistoryProtection,
    /// Whether git hooks are disabled, because the command writes to the repository itself and the hooks are in a
    /// folder that commands can write.
    #[serde(default)]
    pub is_without_hooks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryProtection {
    /// The history is protected, because the command writes to a private copy. Also used without a repository, and for
    /// a command that the user approved.
    #[default]
    Private,
    /// The git folder is read-only, because the mount view could not be created. [`plan()`] never returns this value.
    /// It is set at the start of the command, when the supervisor reports that there is no mount view.
    ReadOnly,
    /// The history is not protected, because private copies are disabled or not possible.
    Nothing,
}

/// A step that creates a part of the mount view, the private mount namespace in which the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mount {
    /// Makes all mounts read-only except below these paths. Needed because Landlock does not restrict changes of mode,
    /// owner and times.
    ReadOnlyBut(Vec<PathBuf>),
    /// Makes a path read-only. The path cannot be renamed or removed.
    ReadOnly(PathBuf),
    /// Makes a path writable. The path cannot be renamed or removed.
    Writable(PathBuf),
    /// Replaces a git folder by a view in which the entries that worktrees share are writable and the rest is
    /// read-only. Objects, refs and reflogs come from the private history, if one is given. New files in the folder
    /// itself, such as git's lock of `packed-refs`, are visible only to the command and vanish when the command ends.
    GitFolder(PathBuf, Option<PrivateHistory>),
    /// Mounts the private folders for objects, refs and reflogs over the same folders in a git folder, and makes
    /// `packed-refs` read-only.
    History(PrivateHistory),
    /// Hides a file, a socket or a folder: the path is empty for the command.
    Hidden(PathBuf),
    /// Replaces the shared memory folder by a private one of limited size. The private folder contains only these paths
    /// of the original folder.
    SharedMemory(Vec<PathBuf>),
    /// Replaces the terminal devices by a private set of terminal devices.
    Terminals,
}

/// Computes what a command can write and what is hidden from it. Does not access the file system.
pub fn plan(facts: &PlanInputs) -> SandboxPlan {
    let PlanInputs { root, workdir, .. } = facts;
    let mut plan = SandboxPlan::default();
    plan.writable.push(workdir.clone());
    plan.writable.extend(facts.cache.clone());
    plan.writable.extend(facts.temp.iter().cloned());
    plan.writable.extend(facts.write.iter().cloned());
    plan.writable.extend(DEVICES.iter().map(PathBuf::from));
    let is_writable =
        |path: &Path, plan: &SandboxPlan| plan.writable.iter().any(|w| path.starts_with(w));
    if root.starts_with(workdir) {
        if is_writable(root, &plan) {
            plan.view.push(Mount::Writable(root.clone()));
        }
        let state = STATE.iter().map(|name| Mount::ReadOnly(root.join(name)));
        plan.view.extend(state);
        let trees = facts.trees.iter().cloned().map(Mount::Writable);
        plan.view.extend(trees);
    } else {
        // The root may be below a folder for temporary files, which is writable.
        plan.view.push(Mount::ReadOnly(root.clone()));
        plan.view.push(Mount::Writable(workdir.clone()));
        plan.view.extend(facts.cache.clone().map(Mount::Writable));
    }
    let protected = facts.protected.iter().filter(|p| is_writable(p, &plan));
    let mut pinned = Vec::new();
    let protected: Vec<Mount> = protected
        .flat_map(|path| {
            // A folder that contains a mount can be renamed, unless the folder is a mount itself. So such a folder is
            // mounted before what is in it.
            let is_inside = root.starts_with(workdir) && path.starts_with(workdir);
            let above = path.ancestors().skip(1);
            let above = above.take_while(|above| is_inside && *above != workdir);
            let mut steps = vec![Mount::ReadOnly(path.clone())];
            steps.extend(above.map(|above| Mount::Writable(above.to_path_buf())));
            steps.retain(|step| !pinned.contains(step));
            pinned.extend(steps.clone());
            steps.into_iter().rev()
        })
        .collect();
    plan.view.extend(protected);
    if let (Some(own), Some(common)) = (&facts.own_git, &facts.common_git) {
        git(&mut plan, facts, own, common);
        plan.history.clone_from(&facts.history);
    }
    plan.view
        .extend(facts.hidden.iter().cloned().map(Mount::Hidden));
    plan.abstract_sockets = facts.abstract_sockets;
    plan.unset.clone_from(&facts.unset);
    if facts.is_history_exposed {
        plan.keeps_history = HistoryProtection::Nothing;
    }
    plan.is_without_hooks = facts.hooks.as_ref().is_some_and(|hooks| {
        let own = facts.common_git.iter().map(|git| git.join("hooks"));
        is_writable(hooks, &plan) && !own.into_iter().any(|own| hooks.starts_with(own))
    });
    let git = [&facts.own_git, &facts.common_git].into_iter().flatten();
    let known = [root, workdir].into_iter().chain(git);
    // Not `/dev/shm` itself, so that the command gets a private one for its temporary files.
    let others = facts.temp.iter().chain(&facts.write);
    let others = others.filter(|path| *path != Path::new("/dev/shm"));
    let kept = known.chain(others).cloned().collect();
    plan.view.push(Mount::SharedMemory(kept));
    plan.view.push(Mount::Terminals);
    plan.writable_in_view
        .extend(TERMINALS.iter().map(PathBuf::from));
    plan.writable.dedup();
    // Devices are writable even on a read-only mount.
    let is_device = |p: &Path| p.starts_with("/dev") && p != Path::new("/dev/shm");
    let paths = plan.writable.iter().filter(|p| !is_device(p));
    let others = Mount::ReadOnlyBut(paths.cloned().collect());
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
        plan.view.extend(kept(own, PROTECTED_IN_GIT));
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
        // Git treats the commits listed in `shallow` as having no parents, and would prune their history.
        plan.view.push(Mount::ReadOnly(common.join("shallow")));
        if own == common {
            // Not needed in a worktree, where a new file in the git folder is visible only to the command.
            plan.set_aside.push(common.join("shallow"));
        }
        // The transfer after the command relies on the files in this folder.
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
    use crate::process::history::WritableBranch;
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
            cache: None,
            protected: Vec::new(),
            temp: vec![temp.into()],
            write: vec!["/home/a/.cache".into()],
        }
    }

    /// Formats a plan as its writable paths without devices, and its view steps.
    fn describe(plan: &SandboxPlan) -> (Vec<String>, Vec<String>) {
        let text = |p: &PathBuf| p.display().to_string();
        let paths = plan.writable.iter().filter(|p| !p.starts_with("/dev"));
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
        (paths.map(text).collect(), view.collect())
    }

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| pair.join(" "))
            .collect()
    }

    #[test]
    fn root_plan_protects_state_folders_and_git_config() {
        let plan = plan(&PlanInputs {
            trees: vec!["/r/.worktrees/a".into()],
            ..facts("/r", Some("/r/.git"), "/tmp")
        });
        let (paths, view) = describe(&plan);
        assert_eq!(paths, ["/r", "/tmp", "/home/a/.cache"]);
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
    fn worktree_plan_allows_worktree_and_shared_git_folders() {
        let (tree, own) = ("/r/.worktrees/a", "/r/.git/worktrees/a");
        let plan = plan(&facts(tree, Some(own), "/tmp"));
        let (paths, view) = describe(&plan);
        let mut wanted = vec![tree.to_string(), "/tmp".into(), "/home/a/.cache".into()];
        wanted.extend(["lfs", "rr-cache"].map(|name| format!("/r/.git/{name}")));
        wanted.push(own.into());
        let history = ["objects", "refs", "logs", "reftable"];
        wanted.extend(history.map(|name| format!("/r/.git/{name}")));
        assert_eq!(paths, wanted);
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
    fn cache_of_the_worktree_is_writable_in_the_read_only_root() {
        let (tree, cache) = ("/r/.worktrees/a", "/r/.worktrees/.cache-a");
        let plan = plan(&PlanInputs {
            cache: Some(cache.into()),
            ..facts(tree, None, "/tmp")
        });
        let (paths, view) = describe(&plan);
        assert_eq!(paths, [tree, cache, "/tmp", "/home/a/.cache"]);
        let at = |step: &str| view.iter().position(|s| s == step);
        assert!(at("- /r") < at(&format!("+ {cache}")), "{view:?}");
    }

    #[test]
    fn user_folders_stay_read_only_below_writable_paths() {
        let protected = ["/r/.config/crewdeck", "/home/a/.config/crewdeck"];
        let plan = plan(&PlanInputs {
            protected: protected.map(PathBuf::from).to_vec(),
            ..facts("/r", None, "/tmp")
        });
        let (_, view) = describe(&plan);
        let pinned = ["+ /r/.config".to_string(), "- /r/.config/crewdeck".into()];
        assert!(view.windows(2).any(|steps| steps == pinned), "{view:?}");
        assert!(!view.iter().any(|step| step.contains("/home")), "{view:?}");
    }

    #[test]
    fn private_history_replaces_the_shared_one() {
        let private = |own: &str| PrivateHistory {
            common: "/r/.git".into(),
            dir: Path::new(own).join(FOLDER),
            name: "a".into(),
            branch: WritableBranch::of_worktree("a"),
        };
        let (tree, own) = ("/r/.worktrees/a", "/r/.git/worktrees/a");
        let in_tree = plan(&PlanInputs {
            history: Some(private(own)),
            ..facts(tree, Some(own), "/tmp")
        });
        let (paths, view) = describe(&in_tree);
        assert!(!paths.iter().any(|p| p.ends_with("objects")), "{paths:?}");
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
        let (_, view) = describe(&in_root);
        assert!(view.contains(&"h /r/.git".into()), "{view:?}");
        assert!(view.contains(&"- /r/.git/crewdeck".into()), "{view:?}");
    }

    #[test]
    fn root_below_a_temp_folder_is_protected() {
        let tree = "/r/.worktrees/a";
        let steps = |facts: &PlanInputs| describe(&plan(facts)).1[1..3].to_vec();
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
        let (_, view) = describe(&plan(&hidden));
        let wanted = lines("x /run/docker.sock m memory t terminals");
        assert_eq!(view[view.len() - 3..], wanted);
    }

    #[test]
    fn without_git_and_with_a_git_folder_elsewhere() {
        let (_, view) = describe(&plan(&facts("/r", None, "/tmp")));
        assert!(view.iter().all(|step| !step.contains(".git")), "{view:?}");
        let mut apart = facts("/r", Some("/g"), "/tmp");
        apart.common_git = Some("/g".into());
        let (paths, view) = describe(&plan(&apart));
        assert!(paths.contains(&"/g".into()), "{paths:?}");
        for step in ["- /g/hooks", "- /g/config", "- /r/.git"] {
            assert!(view.contains(&step.into()), "{step}: {view:?}");
        }
    }
}
