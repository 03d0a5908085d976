//! What a killed git leaves behind, as git itself and the folders show it; and how a crew is killed with all its programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::Signal;
use serde_json::Value;

use super::books::{self, all_files, try_git};
use crate::common::process_tree::{kill_tree, signal};

/// Everything in the repository of `project` that a git left which did not end by itself.
pub fn check(project: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let (ok, said) = try_git(project, &["fsck", "--no-dangling", "--no-progress"]);
    if !ok {
        wrong.push(format!("git fsck: {said}"));
    }
    let common = project.join(".git");
    let mut inside = Vec::new();
    all_files(&common, &mut inside);
    for path in inside {
        let name = books::name(&path);
        let is_half_done = [
            "MERGE_HEAD",
            "MERGE_MSG",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "packed-refs.new",
        ]
        .contains(&name.as_str());
        if is_half_done || path.extension().is_some_and(|e| e == "lock") {
            wrong.push(format!("{} is left behind", path.display()));
        }
    }
    worktrees(project, &common, &mut wrong);
    wrong
}

/// The registry, git's own list, the folders and the branches agree.
fn worktrees(project: &Path, common: &Path, wrong: &mut Vec<String>) {
    let dir = project.join(".worktrees");
    let index = std::fs::read_to_string(dir.join("index.json")).unwrap_or_default();
    let index: Value = serde_json::from_str(&index).unwrap_or_default();
    let entries = index["worktrees"].as_array().into_iter().flatten();
    let stands = |e: &&Value| e["status"] != "removed";
    let entered: BTreeSet<String> = entries
        .filter(stands)
        .map(|e| e["name"].as_str().unwrap_or_default().to_string())
        .collect();
    let folders = folders(&dir);
    let known = folders_of_git(common);
    for (what, set) in [("folder", &folders), ("git", &known)] {
        for name in set.difference(&entered) {
            wrong.push(format!(
                "{what} has {name}, which the registry does not have"
            ));
        }
        for name in entered.difference(set) {
            wrong.push(format!("the registry has {name}, {what} does not"));
        }
    }
    let (ok, list) = try_git(project, &["worktree", "list", "--porcelain"]);
    if !ok {
        wrong.push(format!("git worktree list: {list}"));
    }
    for line in list.lines() {
        if line.starts_with("locked") || line.starts_with("prunable") || line == "detached" {
            wrong.push(format!("git worktree list says {line:?}"));
        }
    }
    let heads = &["for-each-ref", "--format=%(refname:short)", "refs/heads/wt"];
    for branch in try_git(project, heads).1.lines() {
        let name = branch.strip_prefix("wt/").unwrap_or(branch);
        if !entered.contains(name) {
            wrong.push(format!("the branch {branch} has no worktree"));
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

/// The names of the worktrees of which git keeps something, whole or not.
fn folders_of_git(common: &Path) -> BTreeSet<String> {
    let home = |name: String| -> String {
        let link = common.join("worktrees").join(&name).join("gitdir");
        let link = std::fs::read_to_string(link).unwrap_or_default();
        let folder = PathBuf::from(link.trim());
        let folder = folder.parent().and_then(Path::file_name);
        folder.map_or(name, |f| f.to_string_lossy().into_owned())
    };
    folders(&common.join("worktrees"))
        .into_iter()
        .map(home)
        .collect()
}

/// Kills a crew with every process that it has started. `mark` is the variable with which `place` is named to all.
pub fn kill_crew(crew: Child, mark: &str, place: &Path) {
    kill_tree(crew);
    // What has left the tree, and what was being started.
    loop {
        let left = books::left_of(mark, place);
        if left.is_empty() {
            return;
        }
        for process in left {
            let id = process.split(' ').nth(1).and_then(|id| id.parse().ok());
            signal(id.unwrap(), Signal::KILL);
        }
    }
}
