//! Looks at the machine and the project for the system prompt: bounded in size, and without files that git ignores.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::WalkBuilder;

use super::git::{Git, GitError};
use crate::domain::environment::{Environment, FileTree, GitState};
use crate::domain::folders::is_reserved;
use crate::domain::text::{clip, escape_control_chars, one_line};

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

/// Asks git for what it knows without a look at the files: `git status` runs the clean filters that the repository's settings name, and
/// nothing of the repository may run before the user has approved it. For the same reason no signature is checked and no
/// missing object is fetched.
fn git_state(root: &Path) -> Result<GitState, GitError> {
    let git = Git::at(root).without_fetching();
    let lines = |args: &[&str]| -> Result<Vec<String>, GitError> {
        let answer = git.run_keeping(args, ANSWER_MAX)?;
        if answer.code != 0 {
            return Err(answer.failed(args));
        }
        let shown = |line: &str| clip(&one_line(&escape_control_chars(line)), WIDTH_MAX);
        Ok(answer.out.lines().map(shown).collect())
    };
    lines(&["rev-parse", "--git-dir"])?;
    // Fails where no branch is checked out.
    let branch = lines(&["symbolic-ref", "--quiet", "--short", "HEAD"]).unwrap_or_default();
    // Fails where there is no commit yet.
    let commits = [
        "log",
        "--no-show-signature",
        "--format=%h %s",
        "--max-count",
        COMMITS_MAX,
    ];
    Ok(GitState {
        branch: branch.into_iter().next(),
        commits: lines(&commits).unwrap_or_default(),
    })
}

fn tree(root: &Path) -> FileTree {
    let walk = WalkBuilder::new(root)
        .max_depth(Some(2))
        .follow_links(false)
        .require_git(false)
        .filter_entry(|entry| !is_reserved(&entry.file_name().to_string_lossy()))
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut left_out = 0;
    for (nth, entry) in walk.flatten().filter(|entry| entry.depth() > 0).enumerate() {
        if nth >= ENTRIES_MAX {
            left_out += 1;
            break;
        }
        let mut name = one_line(&escape_control_chars(&entry.file_name().to_string_lossy()));
        if entry.file_type().is_some_and(|t| t.is_dir()) {
            name.push('/');
        }
        let name = clip(&name, WIDTH_MAX);
        if entry.depth() == 1 {
            folders.entry(name).or_default();
        } else {
            let parent = entry.path().parent().and_then(Path::file_name);
            let parent = parent.map(|p| one_line(&escape_control_chars(&p.to_string_lossy())));
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
    fn git_state_runs_no_program_that_the_repository_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let git = |args: &[&str]| {
            let done = std::process::Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b"])
                .args(args)
                .current_dir(root)
                .output()
                .unwrap();
            assert!(done.status.success(), "{args:?}: {done:?}");
        };
        git(&["init", "--quiet", "--initial-branch=trunk"]);
        std::fs::write(root.join("a.txt"), "one").unwrap();
        git(&["add", "a.txt"]);
        git(&["commit", "--quiet", "-m", "Start"]);
        let trap = format!("touch {}", root.join(".git/ran").display());
        std::fs::write(root.join(".gitattributes"), "*.txt filter=trap\n").unwrap();
        std::fs::write(root.join("a.txt"), "two").unwrap();
        for key in [
            "filter.trap.clean",
            "core.fsmonitor",
            "gpg.program",
            "core.sshCommand",
        ] {
            git(&["config", key, &trap]);
        }
        git(&["config", "log.showSignature", "true"]);
        let state = git_state(root).unwrap();
        assert!(!root.join(".git/ran").exists(), "{state:?}");
        assert_eq!(state.branch.as_deref(), Some("trunk"));
        assert!(state.commits[0].ends_with(" Start"), "{state:?}");
    }

    #[test]
    fn git_state_of_an_empty_repository_names_its_branch() {
        let dir = tempfile::tempdir().unwrap();
        let init = ["init", "--quiet", "--initial-branch=trunk"];
        Git::at(dir.path()).ok(&init).unwrap();
        let state = git_state(dir.path()).unwrap();
        assert_eq!(state.branch.as_deref(), Some("trunk"));
        assert!(state.commits.is_empty(), "{state:?}");
    }
}
