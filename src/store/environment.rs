//! Describes the machine and the project for the system prompt. The description is bounded in size and names no files
//! that git ignores.

use std::collections::BTreeMap;
use std::path::Path;

use super::git::{Git, GitError};
use super::walk::project_files;
use crate::domain::environment::{Environment, FileTree, GitState};
use crate::domain::text::{clip, escape_control_chars, one_line};

/// Number of newest commits to list, as an argument for git.
const COMMITS_MAX: &str = "3";
/// Maximum size of git's output, in bytes.
const ANSWER_MAX: usize = 256 * 1024;
/// Maximum number of files and folders to visit for the overview of the project's files.
const ENTRIES_MAX: usize = 2000;
/// Limits on the number of names per folder in the overview of the project's files. The limits are tried in this order
/// until the overview fits into [`TREE_BYTES_MAX`].
const FOLDER_NAMES_MAX: [usize; 4] = [8, 4, 2, 0];
/// Maximum number of files of the root directory in the overview of the project's files.
const ROOT_NAMES_MAX: usize = 12;
/// Maximum size of the overview of the project's files, in bytes. The overview is part of every system prompt.
const TREE_BYTES_MAX: usize = 800;
/// Maximum length of a file name or of a line from git, in characters.
const WIDTH_MAX: usize = 60;

/// Returns the description of this machine and of the project in `root`. `date` is today's date. Blocks the thread
/// while it runs git and reads the directory.
pub fn environment(root: &Path, date: String) -> Environment {
    Environment {
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        date,
        git: git_state(root).ok(),
        tree: tree(root),
    }
}

/// Returns the checked-out branch and the newest commits, newest first, each as its short hash and its subject. Fails
/// if `root` is not in a git repository. Does not run `git status`: that command starts clean filters from the
/// repository's settings, and nothing from the repository may run before the user has approved it. For the same reason,
/// no signature is checked and no missing object is fetched.
fn git_state(root: &Path) -> Result<GitState, GitError> {
    let git = Git::at(root).without_fetching();
    let lines = |args: &[&str]| -> Result<Vec<String>, GitError> {
        let answer = git.run_keeping(args, ANSWER_MAX)?;
        if answer.code != 0 {
            return Err(answer.to_error(args));
        }
        let shown = |line: &str| clip(&one_line(&escape_control_chars(line)), WIDTH_MAX);
        Ok(answer.out.lines().map(shown).collect())
    };
    lines(&["rev-parse", "--git-dir"])?;
    // This command fails if no branch is checked out.
    let branch = lines(&["symbolic-ref", "--quiet", "--short", "HEAD"]).unwrap_or_default();
    // This command fails if there is no commit yet.
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
    let walk = project_files(root).hidden(true).max_depth(Some(2)).build();
    // The key of the files directly in the root directory is "", which sorts first.
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut total = 0;
    for entry in walk.flatten().filter(|entry| entry.depth() > 0) {
        total += 1;
        if total > ENTRIES_MAX {
            break;
        }
        let mut name = one_line(&escape_control_chars(&entry.file_name().to_string_lossy()));
        let is_folder = entry.file_type().is_some_and(|t| t.is_dir());
        if is_folder {
            name.push('/');
        }
        let name = clip(&name, WIDTH_MAX);
        match (entry.depth(), is_folder) {
            (1, true) => drop(folders.entry(name).or_default()),
            (1, false) => folders.entry(String::new()).or_default().push(name),
            _ => {
                let parent = entry.path().parent().and_then(Path::file_name);
                let parent = parent.map(|p| one_line(&escape_control_chars(&p.to_string_lossy())));
                let parent = clip(&format!("{}/", parent.unwrap_or_default()), WIDTH_MAX);
                folders.entry(parent).or_default().push(name);
            }
        }
    }
    let mut lines = Vec::new();
    for most in FOLDER_NAMES_MAX {
        lines = tree_lines(&folders, most);
        if lines.iter().map(|(line, _)| line.len() + 1).sum::<usize>() <= TREE_BYTES_MAX {
            break;
        }
    }
    let mut tree = FileTree {
        lines: Vec::new(),
        left_out: total,
    };
    let mut bytes = 0;
    for (line, count) in lines {
        if bytes + line.len() < TREE_BYTES_MAX {
            bytes += line.len() + 1;
            tree.lines.push(line);
            tree.left_out -= count;
        }
    }
    tree
}

/// Returns one line for the root directory and one for each of its folders. `folders` maps each folder to the names in
/// it; the key of the root directory is empty. Each line is paired with the number of files and folders that it shows.
/// The line of a folder shows at most `most` names, the line of the root directory at most [`ROOT_NAMES_MAX`].
fn tree_lines(folders: &BTreeMap<String, Vec<String>>, most: usize) -> Vec<(String, usize)> {
    let line = |(folder, names): (&String, &Vec<String>)| {
        let (most, mut count) = if folder.is_empty() {
            (ROOT_NAMES_MAX, 0)
        } else {
            (most, 1)
        };
        let shown = &names[..names.len().min(most)];
        count += shown.len();
        let mut line = folder.clone();
        if !folder.is_empty() && !names.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&shown.join(", "));
        if shown.len() < names.len() {
            line.push_str(if shown.is_empty() { "…" } else { ", …" });
        }
        (line, count)
    };
    folders.iter().map(line).collect()
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
        assert_eq!(found.lines, ["README.md", "src/: main.rs, ui/"]);
        assert_eq!(found.left_out, 0);
    }

    /// Returns the overview of a directory that contains `folders` folders with 20 files each.
    fn tree_of(folders: usize) -> FileTree {
        let dir = tempfile::tempdir().unwrap();
        for folder in 0..folders {
            let folder = dir.path().join(format!("folder-{folder:02}"));
            std::fs::create_dir_all(&folder).unwrap();
            for file in 0..20 {
                std::fs::write(folder.join(format!("{file:02}")), "").unwrap();
            }
        }
        tree(dir.path())
    }

    #[test]
    fn overview_is_bounded_and_counts_what_is_missing() {
        let found = tree_of(2);
        let first = "folder-00/: 00, 01, 02, 03, 04, 05, 06, 07, …";
        assert_eq!(found.lines[0], first);
        assert_eq!(found.left_out, 2 * 12);
        // Names of files are left out before names of folders are.
        let found = tree_of(30);
        assert_eq!(found.lines.len(), 30);
        assert_eq!(found.lines[29], "folder-29/: 00, 01, …");
        assert_eq!(found.left_out, 30 * 18);
        let found = tree_of(90);
        assert!(found.lines.join("\n").len() <= TREE_BYTES_MAX);
        assert_eq!(found.lines[0], "folder-00/: …");
        assert_eq!(found.left_out, 90 * 21 - found.lines.len());
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
