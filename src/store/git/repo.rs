//! Reads a repository: its folders, what is checked out, operations in progress, and its registered worktrees.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::regular_file;
use super::{Git, GitError, incomplete_worktrees};
use crate::domain::worktree::GitOperation;
use crate::process::history::is_hash;

/// Maximum size in bytes of a git file that contains the path of a folder, such as the `.git` file of a worktree.
const LINK_MAX: u64 = 16 * 1024;

/// Maximum number of attempts to list the worktrees. An attempt can fail because another git is creating a worktree. If
/// all attempts fail, git's error is returned.
const LISTS_MAX: usize = 4;

/// A git repository, opened at `root`, the top folder of one of its worktrees.
#[derive(Debug, Clone)]
pub struct Repo {
    /// Runs git in the root.
    pub git: Git,
    /// The root, without symbolic links.
    pub root: PathBuf,
    /// The git folder of the worktree at `root`. It equals `common` only in the main worktree.
    git_dir: PathBuf,
    /// The git folder that all worktrees share.
    common: PathBuf,
}

/// What a worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The branch, without `refs/heads/`; `None` if `HEAD` is detached.
    pub branch: Option<String>,
    pub commit: String,
}

/// A worktree in the output of `git worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RegisteredWorktree {
    /// The worktree's folder, which may no longer exist.
    pub path: PathBuf,
    /// The branch that is checked out, without `refs/heads/`; `None` if `HEAD` is detached.
    pub branch: Option<String>,
    /// The reason why the worktree is locked; `None` if it is not locked. The reason is `initializing` while `git
    /// worktree add` runs, and also after that command was killed.
    pub locked: Option<String>,
}

impl Repo {
    /// Opens the repository that has `root` as the top folder of one of its worktrees.
    ///
    /// # Errors
    /// When there is no repository, it is bare, damaged or owned by another user, its path has a line break, or git is
    /// missing, too old or fails.
    pub fn open(root: &Path) -> Result<Repo, GitError> {
        Repo::open_by(&Git::at(root))
    }

    /// As [`Repo::open`]; the root is the directory in which `git` runs.
    pub(super) fn open_by(git: &Git) -> Result<Repo, GitError> {
        let root = fs::canonicalize(&git.dir).unwrap_or_else(|_| git.dir.clone());
        let git = Git {
            dir: root.clone(),
            ..git.clone()
        };
        let asked = &[
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ];
        let answer = git.run(asked)?;
        // A git that is too old prints an option that it does not know instead of an answer.
        let is_plain =
            answer.code == 0 && matches!(answer.out.lines().next(), Some("true" | "false"));
        let is_outside = answer.error_message.contains("not a git repository");
        if !is_plain && !is_outside {
            git.check()?;
        }
        let mut lines = answer.out.lines();
        if lines.next() == Some("true") {
            return Err(GitError::Bare(root));
        }
        if is_outside {
            return Err(if root.join(".git").symlink_metadata().is_ok() {
                GitError::Damaged(root)
            } else {
                GitError::NoRepository(root)
            });
        }
        if answer.error_message.contains("dubious ownership") {
            return Err(GitError::OwnedByOther(root));
        }
        if answer.code == 0 && root.to_string_lossy().contains('\n') {
            return Err(GitError::LineBreak(root));
        }
        if answer.code != 0 {
            return Err(answer.to_error(asked));
        }
        let (Some(own), Some(common), Some(top)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(answer.to_error(asked));
        };
        if fs::canonicalize(top).ok().as_deref() != Some(&root) {
            return Err(GitError::NoRepository(root));
        }
        Ok(Repo {
            git_dir: own.into(),
            common: common.into(),
            git,
            root,
        })
    }

    /// Returns what is checked out in the root.
    ///
    /// # Errors
    /// When there is no commit yet, or git cannot be run.
    pub fn head(&self) -> Result<Head, GitError> {
        head(&self.git)?.ok_or(GitError::NoCommits)
    }

    /// Returns the hash of the last commit on the branch `name`; `None` if there is no such branch.
    ///
    /// # Errors
    /// When git fails.
    pub fn branch(&self, name: &str) -> Result<Option<String>, GitError> {
        commit_of(&self.git, &format!("refs/heads/{name}"))
    }

    /// Returns the git folder of the worktree at the root. It equals [`Repo::common`] only in the main worktree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the git folder that all worktrees share.
    pub fn common(&self) -> &Path {
        &self.common
    }

    /// Returns the git operation in progress in the root, such as a rebase; `None` if there is none.
    pub fn busy(&self) -> Option<GitOperation> {
        busy_in(&self.git_dir)
    }

    /// Returns the git folder of a worktree in which a rebase or bisect is in progress that will move or check out the
    /// branch `name` at its end; `None` if there is none. `HEAD` of such a worktree is detached.
    pub fn in_use_by_operation(&self, name: &str) -> Option<PathBuf> {
        let linked = fs::read_dir(self.common.join("worktrees"));
        let linked = linked.into_iter().flatten().flatten();
        let mut all = [self.common.clone()]
            .into_iter()
            .chain(linked.map(|entry| entry.path()));
        all.find(|own| {
            let files = [
                "rebase-merge/head-name",
                "rebase-apply/head-name",
                "BISECT_START",
            ];
            let named = files.iter().filter_map(|file| short_file(&own.join(file)));
            let mut named = named.map(|text| text.trim().to_string());
            named.any(|text| text.strip_prefix("refs/heads/").unwrap_or(&text) == name)
        })
    }

    /// Returns all worktrees in git's list, the main one first.
    ///
    /// # Errors
    /// When git fails.
    pub fn list_worktrees(&self) -> Result<Vec<RegisteredWorktree>, GitError> {
        let list = || self.git.ok(&["worktree", "list", "--porcelain"]);
        let mut listed = list();
        // The list fails while another git creates a worktree, and after a git was killed while creating one.
        for _ in 1..LISTS_MAX {
            if listed.is_ok() {
                break;
            }
            incomplete_worktrees::clear(&self.common);
            listed = list();
        }
        Ok(parse_list(&listed?))
    }

    /// Returns the folders of all linked worktrees that git has registered. Reads git's files and runs no git. A
    /// returned folder may no longer exist. Returns `None` if git's entry for a worktree is incomplete or cannot be
    /// read; the caller can then use [`Repo::list_worktrees`].
    pub fn registered_folders(&self) -> Option<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.common.join("worktrees")) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Some(Vec::new()),
            Err(_) => return None,
        };
        let folder = |entry: fs::DirEntry| {
            let entry = entry.path();
            short_file(&entry.join("commondir")).filter(|path| !path.trim().is_empty())?;
            let link = entry.join(short_file(&entry.join("gitdir"))?.trim());
            link.parent().map(Path::to_path_buf)
        };
        entries.map(|entry| folder(entry.ok()?)).collect()
    }

    /// Returns the git folder of the linked worktree in `dir`; `None` if `dir` is not a linked worktree of this
    /// repository.
    ///
    /// Agents can write the `.git` file in a worktree, so it is trusted only if the repository's entry for the worktree
    /// contains the path of this file.
    pub fn git_dir_of(&self, dir: &Path) -> Option<PathBuf> {
        let link = dir.join(".git");
        let text = short_file(&link)?;
        let own = dir.join(text.strip_prefix("gitdir:")?.trim());
        let own = fs::canonicalize(own).ok()?;
        let ours = fs::canonicalize(self.common.join("worktrees")).ok()?;
        let back = fs::canonicalize(own.join(short_file(&own.join("gitdir"))?.trim())).ok()?;
        let is_ours = own.parent() == Some(&ours) && fs::canonicalize(&link).ok()? == back;
        is_ours.then_some(own)
    }
}

/// Returns the content of a file that holds a path, such as a worktree's `.git` file; `None` if there is no regular
/// file at `path` or it cannot be read.
fn short_file(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    regular_file::read_text(path, LINK_MAX).ok()
}

/// Returns the git operation, such as a rebase, that is in progress in the worktree with the git folder `git_dir`;
/// `None` if there is none.
pub fn busy_in(git_dir: &Path) -> Option<GitOperation> {
    [
        ("rebase-merge", GitOperation::Rebase),
        // Only a `git am` has this file.
        ("rebase-apply/applying", GitOperation::Am),
        ("rebase-apply", GitOperation::Rebase),
        ("MERGE_HEAD", GitOperation::Merge),
        ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
        ("REVERT_HEAD", GitOperation::Revert),
        ("BISECT_LOG", GitOperation::Bisect),
    ]
    .into_iter()
    .find(|(file, _)| git_dir.join(file).exists())
    .map(|(_, busy)| busy)
}

/// Returns what is checked out in the directory of `git`; `None` if there is no commit yet. Fails if git cannot be run.
pub fn head(git: &Git) -> Result<Option<Head>, GitError> {
    let both = [
        "--revs-only",
        "HEAD^{commit}",
        "--symbolic-full-name",
        "HEAD",
    ];
    let answer = git.run(&[&["rev-parse"][..], &both].concat())?;
    let mut lines = answer.out.lines();
    let commit = lines.next().filter(|hash| is_hash(hash));
    let Some(commit) = commit.filter(|_| answer.code == 0).map(String::from) else {
        return Ok(None);
    };
    let name = match lines.next() {
        Some(name) => name.to_string(),
        // Git prints no name if another reference is named `HEAD` too.
        None => git.run(&["symbolic-ref", "--quiet", "HEAD"])?.out,
    };
    let branch = name.trim().strip_prefix("refs/heads/").map(String::from);
    Ok(Some(Head { branch, commit }))
}

/// Returns the hash of the commit that `name`, a full reference name or a hash, refers to; `None` if there is none.
/// Fails if git cannot be run.
pub fn commit_of(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    let name = format!("{name}^{{commit}}");
    let answer = git.run(&["rev-parse", "--quiet", "--verify", &name])?;
    let hash = answer.out.trim();
    Ok((answer.code == 0 && is_hash(hash)).then(|| hash.to_string()))
}

fn parse_list(text: &str) -> Vec<RegisteredWorktree> {
    let mut all: Vec<RegisteredWorktree> = Vec::new();
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        if key == "worktree" {
            all.push(RegisteredWorktree {
                path: value.into(),
                ..RegisteredWorktree::default()
            });
        }
        let Some(last) = all.last_mut() else { continue };
        match key {
            "branch" => last.branch = value.strip_prefix("refs/heads/").map(String::from),
            "locked" => last.locked = Some(value.into()),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn git_am_is_distinguished_from_rebase() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(busy_in(dir.path()), None);
        fs::create_dir(dir.path().join("rebase-apply")).unwrap();
        assert_eq!(busy_in(dir.path()), Some(GitOperation::Rebase));
        fs::write(dir.path().join("rebase-apply/applying"), "").unwrap();
        let busy = busy_in(dir.path()).unwrap();
        assert_eq!((busy, busy.abort()), (GitOperation::Am, "am --abort"));
    }

    #[test]
    fn parses_worktree_list() {
        let text = "worktree /r\nHEAD 1\nbranch refs/heads/main\n\n\
                    worktree /r/.worktrees/a b\nHEAD 2\nbranch refs/heads/wt/a\nlocked initializing\n\n\
                    worktree /x\nHEAD 3\ndetached\nprunable gitdir file points to non-existent location\n";
        let of = |path: &str, branch: Option<&str>, locked: Option<&str>| RegisteredWorktree {
            path: path.into(),
            branch: branch.map(String::from),
            locked: locked.map(String::from),
        };
        assert_eq!(
            parse_list(text),
            [
                of("/r", Some("main"), None),
                of("/r/.worktrees/a b", Some("wt/a"), Some("initializing")),
                of("/x", None, None),
            ]
        );
    }
}
