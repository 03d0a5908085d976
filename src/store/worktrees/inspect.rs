//! Inspects a worktree: its uncommitted files, its commits, which of the commits are merged, and its size. For the diff
//! see `diff.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::nested_repos::{IGNORE_NESTED_FILES, nested_repos};
use super::trash::{delete_unlocked, mark_cache_for_deletion};
use super::{OpenRegistry, WorktreeFolder, Worktrees, cache};
use crate::domain::folders::{CHECK_CACHE, CHECK_CHECKOUTS};
use crate::domain::text::{clip, one_line};
use crate::domain::worktree::{
    ContentStatus, DiskUse, FILES_MAX, SUBJECTS_MAX, Worktree, WorktreeName, WorktreeState,
    WorktreeStatus,
};
use crate::store::StoreError;
use crate::store::git::{Git, GitError, busy_in, head};

/// Maximum number of files and folders whose sizes are added up. If there are more, the sum is reported as a minimum.
const WALK_MAX: usize = 50_000;
/// As [`WALK_MAX`], for a report of sizes that the user has asked for.
const REPORT_WALK_MAX: usize = 1_000_000;
/// As [`WALK_MAX`], for the sum that is compared with the limit of the disk usage.
const LIMIT_WALK_MAX: usize = 3_000_000;
/// Maximum length of a commit's subject line, in characters.
const SUBJECT_MAX: usize = 100;

/// The git command that lists the uncommitted files of a worktree without ignored ones. An untracked folder counts as one
/// file. The output is for [`paths`].
pub(super) const STATUS: &[&str] = &[
    "status",
    "--porcelain=v1",
    "-z",
    "--no-renames",
    "--untracked-files=normal",
    IGNORE_NESTED_FILES,
];

pub struct UncommittedFiles {
    /// Number of uncommitted files. An untracked folder counts as one file.
    pub count: usize,
    /// The paths of the first [`FILES_MAX`] uncommitted files, relative to the worktree, in the order of `git status`.
    pub files: Vec<String>,
    /// The paths of the first [`FILES_MAX`] untracked files and folders, relative to the worktree, in the order of `git
    /// status`.
    pub untracked: Vec<String>,
}

impl Worktrees {
    /// Returns the state of a worktree: its folder, uncommitted files, unmerged commits and any operation in progress.
    ///
    /// # Errors
    /// When there is no worktree with that name, or git fails.
    pub fn state(&self, name: &WorktreeName) -> Result<WorktreeState, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        work.state(tree)
    }

    /// Returns the disk usage of a worktree's folder and its cache folder. Runs no git; counts at most 50,000 files in
    /// each.
    pub fn size(&self, name: &WorktreeName) -> DiskUse {
        let dir = self.root.join(".worktrees");
        let cache = size_of(&cache::path_of(&dir, name));
        size_of(&dir.join(name.as_str())).plus(cache)
    }

    /// Returns the disk usage of a worktree's folder, and that of its cache folder. Runs no git; counts at most 1,000,000
    /// files in each. Blocks that files share are counted for each file.
    pub fn folder_and_cache_size(&self, name: &WorktreeName) -> (DiskUse, DiskUse) {
        let dir = self.root.join(".worktrees");
        let size = |path: &Path| size_up_to(path, REPORT_WALK_MAX);
        (
            size(&dir.join(name.as_str())),
            size(&cache::path_of(&dir, name)),
        )
    }

    /// Returns the disk usage that `worktree.disk_limit` limits: that of `.worktrees` with all caches and with what is being
    /// deleted, and that of the checkouts and the cache of checks. Runs no git; counts at most 3,000,000 files. Blocks that
    /// files share are counted for each file, a file with several names is counted once.
    pub fn disk_use(&self) -> DiskUse {
        let folders = [".worktrees", CHECK_CHECKOUTS, CHECK_CACHE];
        let folders = folders.map(|folder| self.root.join(folder));
        sum_of_sizes(folders.to_vec(), LIMIT_WALK_MAX)
    }

    /// Deletes the cache folders of `worktrees`, one after the other, until `bytes` bytes are freed. Returns the worktrees
    /// whose cache folders were deleted.
    ///
    /// # Errors
    /// When a worktree does not exist, or a cache folder cannot be deleted.
    pub fn delete_caches(
        &self,
        worktrees: &[WorktreeName],
        bytes: u64,
    ) -> Result<Vec<WorktreeName>, StoreError> {
        let (mut freed, mut deleted) = (0_u64, Vec::new());
        for name in worktrees {
            if freed >= bytes {
                break;
            }
            let path = cache::path_of(&self.root.join(".worktrees"), name);
            let size = size_up_to(&path, REPORT_WALK_MAX).bytes;
            if size == 0 {
                continue;
            }
            // The worktree lock is held until the folder is renamed, not while it is deleted.
            let work = self.begin_change()?;
            work.index.find(name)?;
            let dir = work.dir.clone();
            if let Some(folder) = mark_cache_for_deletion(&dir, name)? {
                delete_unlocked(&dir, vec![folder], move || drop(work))?;
                freed = freed.saturating_add(size);
                deleted.push(name.clone());
            }
        }
        Ok(deleted)
    }

    /// Returns the disk usage of the checkouts and the cache of checks. Runs no git; counts at most 1,000,000 files.
    pub fn check_size(&self) -> DiskUse {
        let folders = [CHECK_CHECKOUTS, CHECK_CACHE].map(|folder| self.root.join(folder));
        sum_of_sizes(folders.to_vec(), REPORT_WALK_MAX)
    }
}

impl OpenRegistry {
    pub(super) fn state(&self, tree: &Worktree) -> Result<WorktreeState, StoreError> {
        self.state_in(tree, &self.folder(&tree.name))
    }

    /// As [`OpenRegistry::state`], but inspects the folder `found`, to which the worktree's folder may have been
    /// renamed.
    pub(super) fn state_in(
        &self,
        tree: &Worktree,
        found: &WorktreeFolder,
    ) -> Result<WorktreeState, StoreError> {
        let mut tips: Vec<String> = self.repo.branch(&tree.name.branch())?.into_iter().collect();
        let mut state = WorktreeState {
            on_disk: found.on_disk,
            other_checkout: None,
            unreachable_commit: None,
            busy: None,
            dirty: 0,
            files: Vec::new(),
            ahead: 0,
            content: ContentStatus::Nothing,
            unmerged: Vec::new(),
            nested: Vec::new(),
        };
        let mut alone = None;
        if let Some((git, own)) = &found.git {
            let status = status_of(git)?;
            (state.dirty, state.files) = (status.count, status.files);
            state.busy = busy_in(own);
            state.nested = first_nested_repos(git, &found.dir)?;
            if let Some(head) = head(git)?
                && head.branch.as_deref() != Some(&tree.name.branch())
            {
                let commit = clip(&head.commit, 8);
                if head.branch.is_none() {
                    alone = Some(head.commit.clone());
                }
                state.other_checkout =
                    Some(head.branch.unwrap_or_else(|| format!("commit {commit}")));
                // If the worktree were removed, commits on another branch or a detached `HEAD` would be lost as well.
                if !tips.contains(&head.commit) {
                    tips.push(head.commit);
                }
            }
        }
        self.inspect_commits(tree, &tips, &mut state)?;
        // While a git operation such as a rebase is in progress, the operation is reported as what would be lost, so
        // its commit is not reported too.
        if let Some(commit) = alone.filter(|_| state.busy.is_none())
            && state.content == ContentStatus::Unmerged
            && !self.is_referenced(&commit)?
        {
            state.unreachable_commit = Some(commit.chars().take(8).collect());
        }
        Ok(state)
    }

    /// Returns whether `commit` is in the history of a branch, a remote-tracking branch or a tag.
    fn is_referenced(&self, commit: &str) -> Result<bool, StoreError> {
        let places = ["refs/heads", "refs/remotes", "refs/tags"];
        let mut args = vec!["for-each-ref", "--count=1", "--contains", commit];
        args.extend(places);
        Ok(!self.repo.git.ok(&args)?.is_empty())
    }

    /// Sets in `state` the number of commits in the history of `tips` that the base branch lacks, and whether the base
    /// branch has the content of `tips`. If it has not, also sets the hashes and subject lines of the newest of these
    /// commits.
    fn inspect_commits(
        &self,
        tree: &Worktree,
        tips: &[String],
        state: &mut WorktreeState,
    ) -> Result<(), StoreError> {
        if tips.is_empty() {
            return Ok(());
        }
        let (_, base) = self.base_of(tree)?;
        let own = |args: &[&str]| -> Result<String, GitError> {
            let tips = tips.iter().map(String::as_str);
            let args: Vec<&str> = args
                .iter()
                .copied()
                .chain(tips)
                .chain(["--not", &base])
                .collect();
            self.repo.git.ok(&args)
        };
        state.ahead = own(&["rev-list", "--count"])?.parse().unwrap_or(u64::MAX);
        let start = match tree.base_commit.as_str() {
            "" => &base,
            known => known,
        };
        let is_new = tips.iter().all(|tip| tip == start);
        if state.ahead == 0 && is_new && !was_merged(tree) {
            return Ok(());
        }
        let mut has_all = true;
        for tip in tips {
            has_all = has_all && self.repo.contains(&base, tip)?;
        }
        if has_all {
            state.content = ContentStatus::Merged;
            return Ok(());
        }
        state.content = ContentStatus::Unmerged;
        let most = format!("--max-count={SUBJECTS_MAX}");
        let log = own(&[
            "log",
            "--no-show-signature",
            "--no-color",
            "--format=%h %s",
            &most,
        ])?;
        state.unmerged = log
            .lines()
            .map(|l| clip(&one_line(l), SUBJECT_MAX))
            .collect();
        Ok(())
    }
}

pub(super) fn was_merged(tree: &Worktree) -> bool {
    tree.status == WorktreeStatus::Merged || tree.merged_at.is_some()
}

pub fn status_of(git: &Git) -> Result<UncommittedFiles, StoreError> {
    // If the output is cut off, the count is too low, but not zero.
    let answer = git.run(STATUS)?;
    if answer.code != 0 {
        return Err(answer.to_error(STATUS).into());
    }
    let mut files = paths(&answer.out);
    let count = files.len();
    files.truncate(FILES_MAX);
    let untracked = answer.out.split('\0').filter_map(|l| l.strip_prefix("?? "));
    Ok(UncommittedFiles {
        count,
        files,
        untracked: untracked.take(FILES_MAX).map(one_line).collect(),
    })
}

/// Parses the paths in the output of `git status --porcelain=v1 -z --no-renames`.
pub fn paths(text: &str) -> Vec<String> {
    text.split('\0')
        .filter_map(|line| line.get(3..))
        .map(one_line)
        .collect()
}

/// Returns the paths of the first [`FILES_MAX`] nested repositories. Commits in them are on no branch of this repository.
fn first_nested_repos(git: &Git, dir: &Path) -> Result<Vec<String>, StoreError> {
    let all = nested_repos(git, dir)?.into_iter().take(FILES_MAX);
    Ok(all.map(|path| one_line(&path)).collect())
}

/// Returns the disk space that the files below `dir` take. Counts at most 50,000 files and folders, and does not
/// follow symbolic links.
pub fn size_of(dir: &Path) -> DiskUse {
    size_up_to(dir, WALK_MAX)
}

fn size_up_to(dir: &Path, entries_max: usize) -> DiskUse {
    sum_of_sizes(vec![dir.to_path_buf()], entries_max)
}

fn sum_of_sizes(mut folders: Vec<PathBuf>, entries_max: usize) -> DiskUse {
    let mut found = DiskUse::default();
    let mut seen = 0;
    // The files with several names, by device and inode.
    let mut linked = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            if seen == entries_max {
                found.at_least = true;
                return found;
            }
            seen += 1;
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                folders.push(entry.path());
            } else if meta.nlink() > 1 && !linked.insert((meta.dev(), meta.ino())) {
                continue;
            }
            found.bytes = found
                .bytes
                .saturating_add(meta.blocks().saturating_mul(512));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn status_paths_are_parsed_and_escaped() {
        assert_eq!(
            paths(" M a b.txt\0?? 新/\0UU x\u{1b}[2J\0"),
            ["a b.txt", "新/", "x␛[2J"]
        );
        assert_eq!(paths(""), Vec::<String>::new());
    }

    #[test]
    fn size_does_not_follow_symbolic_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/b"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("root")).unwrap();
        let found = size_of(dir.path());
        assert!((100_000..2_000_000).contains(&found.bytes), "{found:?}");
        assert!(!found.at_least);
        assert_eq!(size_of(&dir.path().join("nothing")), DiskUse::default());
    }

    #[test]
    fn file_with_several_names_is_counted_once_and_a_cut_sum_says_so() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), vec![1; 1_000_000]).unwrap();
        for name in ["b", "c"] {
            fs::hard_link(dir.path().join("a"), dir.path().join(name)).unwrap();
        }
        let found = size_of(dir.path());
        assert!((1_000_000..1_900_000).contains(&found.bytes), "{found:?}");
        assert!(!size_up_to(dir.path(), 3).at_least);
        assert!(size_up_to(dir.path(), 2).at_least);
    }

    #[test]
    fn limited_disk_use_has_caches_checks_and_what_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            ".worktrees/task-1/a",
            ".worktrees/.cache-task-1/a",
            ".worktrees/.cache-task-9/a",
            ".worktrees/.removed-task-2/a",
            ".crewdeck/checks/trees/check-1-2/a",
            ".crewdeck/checks/cache/a",
            ".crewdeck/checks/other/a",
            "a",
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![1; 1_000_000]).unwrap();
        }
        let worktrees = Worktrees::open(dir.path());
        let use_of = worktrees.disk_use();
        assert!((6_000_000..7_000_000).contains(&use_of.bytes), "{use_of:?}");
        let checks = worktrees.check_size();
        assert!((2_000_000..3_000_000).contains(&checks.bytes), "{checks:?}");
    }
}
