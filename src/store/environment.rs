//! Looks at the machine and the project for the system prompt: bounded in size, and without files that git ignores.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::WalkBuilder;

use super::git::{Git, GitError};
use crate::domain::environment::{Environment, FileTree, GitState};
use crate::domain::folders::is_kept;
use crate::domain::text::{clip, harmless, one_line};

/// Most changed files that are named.
const CHANGES_MAX: usize = 10;
/// Most commits that are named.
const COMMITS_MAX: &str = "3";
/// Most bytes of an answer of git.
const ANSWER_MAX: usize = 256 * 1024;
/// Most files and folders that are looked at.
const ENTRIES_MAX: usize = 2000;
/// Most lines of the overview, and most of one folder.
const LINES_MAX: usize = 50;
const FOLDER_LINES_MAX: usize = 8;
/// Most bytes of the overview: every first request carries it.
const TREE_BYTES_MAX: usize = 1000;
/// Most characters of a line.
const WIDTH_MAX: usize = 60;

/// Looks at the directory `root` on the day `date`. Blocks: git and the directory are read.
pub fn environment(root: &Path, date: String) -> Environment {
    Environment {
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date,
        git: git_state(root).ok(),
        tree: tree(root),
    }
}

fn git_state(root: &Path) -> Result<GitState, GitError> {
    let git = Git::at(root);
    let status = git.run_keeping(
        &["--no-optional-locks", "status", "--short", "--branch"],
        ANSWER_MAX,
    )?;
    if status.code != 0 {
        return Err(status.failed(&["status"]));
    }
    let (mut state, shown) = (GitState::default(), |line: &str| {
        clip(&one_line(&harmless(line)), WIDTH_MAX)
    });
    for line in status.out.lines() {
        match line.strip_prefix("## ") {
            Some(head) => state.branch = branch(head).map(shown),
            None if state.changes.len() < CHANGES_MAX => state.changes.push(shown(line)),
            None => state.changes_left_out += 1,
        }
    }
    let log = git.run_keeping(
        &["log", "--format=%h %s", "--max-count", COMMITS_MAX],
        ANSWER_MAX,
    )?;
    if log.code == 0 {
        state.commits = log.out.lines().map(shown).collect();
    }
    Ok(state)
}

/// Returns the branch that the head line of `git status --short --branch` names.
fn branch(head: &str) -> Option<&str> {
    let head = head.strip_prefix("No commits yet on ").unwrap_or(head);
    if head.starts_with("HEAD (no branch)") {
        return None;
    }
    head.split("...").next()
}

fn tree(root: &Path) -> FileTree {
    let walk = WalkBuilder::new(root)
        .max_depth(Some(2))
        .follow_links(false)
        .require_git(false)
        .filter_entry(|entry| !is_kept(&entry.file_name().to_string_lossy()))
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut left_out = 0;
    for (nth, entry) in walk.flatten().filter(|entry| entry.depth() > 0).enumerate() {
        if nth >= ENTRIES_MAX {
            left_out += 1;
            break;
        }
        let mut name = one_line(&harmless(&entry.file_name().to_string_lossy()));
        if entry.file_type().is_some_and(|t| t.is_dir()) {
            name.push('/');
        }
        let name = clip(&name, WIDTH_MAX);
        if entry.depth() == 1 {
            folders.entry(name).or_default();
        } else {
            let parent = entry.path().parent().and_then(Path::file_name);
            let parent = parent.map(|p| one_line(&harmless(&p.to_string_lossy())));
            let parent = clip(&format!("{}/", parent.unwrap_or_default()), WIDTH_MAX);
            folders.entry(parent).or_default().push(name);
        }
    }
    let mut lines = Vec::new();
    for (name, inside) in folders {
        if lines.len() >= LINES_MAX {
            left_out += 1 + inside.len();
            continue;
        }
        lines.push(name);
        let room = FOLDER_LINES_MAX.min(LINES_MAX - lines.len().min(LINES_MAX));
        left_out += inside.len().saturating_sub(room);
        lines.extend(
            inside
                .into_iter()
                .take(room)
                .map(|name| format!("  {name}")),
        );
    }
    let mut bytes = 0;
    let fitting = lines.iter().take_while(|line: &&String| {
        bytes += line.len() + 1;
        bytes <= TREE_BYTES_MAX
    });
    let fitting = fitting.count();
    left_out += lines.len() - fitting;
    lines.truncate(fitting);
    FileTree { lines, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn overview_shows_two_levels_without_ignored_files() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            "src/ui/deep.rs",
            "src/main.rs",
            "README.md",
            "target/x",
            ".tasks/task_1.json",
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        let found = tree(dir.path());
        assert_eq!(found.lines, ["README.md", "src/", "  main.rs", "  ui/"]);
        assert_eq!(found.left_out, 0);
    }

    #[test]
    fn overview_is_bounded_and_counts_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        for folder in 0..30 {
            let folder = dir.path().join(format!("folder-{folder:02}"));
            std::fs::create_dir_all(&folder).unwrap();
            for file in 0..20 {
                std::fs::write(folder.join(format!("{file:02}")), "").unwrap();
            }
        }
        let found = tree(dir.path());
        assert!(found.lines.len() <= LINES_MAX, "{}", found.lines.len());
        assert!(found.lines.join("\n").len() <= TREE_BYTES_MAX);
        assert_eq!(found.lines.len() + found.left_out, 30 * 21);
    }

    #[test]
    fn branch_is_read_from_each_form_of_the_head_line() {
        assert_eq!(branch("main...origin/main [ahead 1]"), Some("main"));
        assert_eq!(branch("No commits yet on trunk"), Some("trunk"));
        assert_eq!(branch("HEAD (no branch)"), None);
    }
}
