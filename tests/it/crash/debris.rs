//! Finds what killed git processes leave behind, and kills a crew together with all its programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::Signal;
use serde_json::Value;

use super::state_check::{self, all_files, try_git};
use crate::common::process_tree::{kill_tree, signal};

/// How the names of the cache folders of worktrees begin.
const CACHE_PREFIX: &str = ".cache-";

/// Returns what killed git processes have left behind in the repository of `project`.
pub fn check(project: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    let (ok, output) = try_git(project, &["fsck", "--no-dangling", "--no-progress"]);
    if !ok {
        problems.push(format!("git fsck: {output}"));
    }
    let common = project.join(".git");
    let mut inside = Vec::new();
    all_files(&common, &mut inside);
    for path in inside {
        let name = state_check::name(&path);
        let is_half_done = [
            "MERGE_HEAD",
            "MERGE_MSG",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "packed-refs.new",
        ]
        .contains(&name.as_str());
        if is_half_done || path.extension().is_some_and(|e| e == "lock") {
            problems.push(format!("{} is left behind", path.display()));
        }
    }
    worktrees(project, &common, &mut problems);
    problems
}

/// Checks that the worktree registry, git's list of worktrees, the folders and the branches agree.
fn worktrees(project: &Path, common: &Path, problems: &mut Vec<String>) {
    let dir = project.join(".worktrees");
    let index = std::fs::read_to_string(dir.join("index.json")).unwrap_or_default();
    let index: Value = serde_json::from_str(&index).unwrap_or_default();
    let entries = index["worktrees"].as_array().into_iter().flatten();
    let is_present = |e: &&Value| e["status"] != "removed";
    let registered: BTreeSet<String> = entries
        .filter(is_present)
        .map(|e| e["name"].as_str().unwrap_or_default().to_string())
        .collect();
    let (caches, folders): (BTreeSet<String>, BTreeSet<String>) = folders(&dir)
        .into_iter()
        .partition(|name| name.starts_with(CACHE_PREFIX));
    let cached = caches
        .iter()
        .filter_map(|name| name.strip_prefix(CACHE_PREFIX));
    for name in cached.filter(|name| !registered.contains(*name)) {
        problems.push(format!("the cache of {name} is left behind"));
    }
    let known = git_worktree_names(common);
    for (what, set) in [("folder", &folders), ("git", &known)] {
        for name in set.difference(&registered) {
            problems.push(format!("{what} has {name}, which is not in the registry"));
        }
        for name in registered.difference(set) {
            problems.push(format!("the registry has {name}, which {what} lacks"));
        }
    }
    let (ok, list) = try_git(project, &["worktree", "list", "--porcelain"]);
    if !ok {
        problems.push(format!("git worktree list: {list}"));
    }
    for line in list.lines() {
        if line.starts_with("locked") || line.starts_with("prunable") || line == "detached" {
            problems.push(format!("git worktree list says {line:?}"));
        }
    }
    let heads = &["for-each-ref", "--format=%(refname:short)", "refs/heads/wt"];
    for branch in try_git(project, heads).1.lines() {
        let name = branch.strip_prefix("wt/").unwrap_or(branch);
        if !registered.contains(name) {
            problems.push(format!("the branch {branch} has no worktree"));
        }
    }
}

fn folders(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns the names of the worktrees in git's administrative folder, including incomplete ones.
fn git_worktree_names(common: &Path) -> BTreeSet<String> {
    let worktree_name = |name: String| -> String {
        let link = common.join("worktrees").join(&name).join("gitdir");
        let link = std::fs::read_to_string(link).unwrap_or_default();
        let folder = PathBuf::from(link.trim());
        let folder = folder.parent().and_then(Path::file_name);
        folder.map_or(name, |f| f.to_string_lossy().into_owned())
    };
    folders(&common.join("worktrees"))
        .into_iter()
        .map(worktree_name)
        .collect()
}

/// Kills a crew and every process that it has started. These are found by `variable=home` in their environment.
pub fn kill_crew_and_programs(crew: Child, variable: &str, home: &Path) {
    kill_tree(crew);
    // Processes that left the tree or were just being started.
    loop {
        let remaining = state_check::remaining_now(variable, home);
        if remaining.is_empty() {
            return;
        }
        for process in remaining {
            let id = process.split(' ').nth(1).and_then(|id| id.parse().ok());
            signal(id.unwrap(), Signal::KILL);
        }
    }
}
