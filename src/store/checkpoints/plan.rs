//! Compares a checkpoint with the present files: what a rewind changes, and what it leaves alone.

use super::directory::{SnapshotDirectory, UnchangedFiles};
use super::error::CheckpointError;
use super::files::{is_foreign, shown};
use super::meta::CheckpointMeta;
use super::repository::{CheckpointRepository, SnapshotRef, StoredCheckpoint};
use crate::domain::checkpoint::{CheckpointId, PathList, RewindPreview};
use crate::store::git::GitError;

/// Maximum size of the list of differences between two trees, in bytes.
const LIST_MAX: usize = 256 * 1024 * 1024;
/// Maximum size of the diff of a preview, in bytes. The rest is cut off.
const DIFF_MAX: usize = 1024 * 1024;
/// Maximum number of paths that are excluded from the diff of a preview by name.
const EXCLUDED_MAX: usize = 500;

/// One file that a rewind changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindStep {
    /// The path of the file, relative to the work directory.
    pub path: Vec<u8>,
    pub action: RewindAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewindAction {
    Delete,
    Write {
        /// The name of the content in git.
        content: String,
        kind: WrittenKind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenKind {
    File,
    Executable,
    Symlink,
}

/// What leads from one snapshot to another. Deletions come first, because a folder can take the place of a file.
#[derive(Debug, Default)]
pub struct RewindPlan {
    pub steps: Vec<RewindStep>,
    /// The files that differ, or may differ, and are left alone.
    pub left_alone: Vec<Vec<u8>>,
}

/// Two trees with their [`CheckpointMeta`]: the present files, and those of a checkpoint.
pub struct RewindTrees<'a> {
    /// The checkpoint.
    pub id: CheckpointId,
    /// The trees of the files, for git commands in the repository of checkpoints.
    pub from: &'a str,
    pub to: &'a str,
    pub present: &'a CheckpointMeta,
    pub target: &'a CheckpointMeta,
}

impl RewindPlan {
    pub fn between(
        repository: &CheckpointRepository,
        trees: &RewindTrees,
    ) -> Result<RewindPlan, CheckpointError> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            trees.from,
            trees.to,
        ];
        let listed = repository.git().run_bytes(&args, LIST_MAX)?;
        if listed.code != 0 {
            // The present files were just stored, so a folder of the checkpoint is missing.
            return Err(CheckpointError::Gone {
                id: trees.id,
                path: "one of its folders".into(),
            });
        }
        if listed.lost > 0 {
            return Err(GitError::TooLong("diff-tree".into()).into());
        }
        let mut plan = RewindPlan::default();
        let mut writes = Vec::new();
        let mut fields = listed.out.split(|byte| *byte == 0);
        while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
            let facts = String::from_utf8_lossy(facts);
            let facts: Vec<&str> = facts.split(' ').collect();
            let [old_mode, mode, _, content, _] = facts[..] else {
                continue;
            };
            let is_submodule = [":160000", "160000"].contains(&old_mode) || mode == "160000";
            if is_submodule || is_foreign(path) {
                continue;
            }
            let path = path.to_vec();
            let is_skipped = trees.target.is_skipped(&path) || trees.present.is_skipped(&path);
            // The file was ignored at the checkpoint, so it may have existed. A file that is recorded although it is ignored
            // now is tracked.
            let was_ignored = trees.target.was_ignored(&path) && !trees.present.was_ignored(&path);
            if is_skipped || (mode == "000000" && was_ignored) {
                plan.left_alone.push(path);
                continue;
            }
            let kind = match mode {
                "100755" => WrittenKind::Executable,
                "120000" => WrittenKind::Symlink,
                _ => WrittenKind::File,
            };
            match mode {
                "000000" => plan.steps.push(RewindStep {
                    path,
                    action: RewindAction::Delete,
                }),
                _ => writes.push(RewindStep {
                    path,
                    action: RewindAction::Write {
                        content: content.to_string(),
                        kind,
                    },
                }),
            }
        }
        plan.steps.append(&mut writes);
        Ok(plan)
    }
}

/// Returns what a rewind to `target` would change. Stores the present files first, so that git can compare them. The
/// caller holds the lock of the repository.
pub fn preview(
    repository: &CheckpointRepository,
    directory: &mut SnapshotDirectory,
    target: &StoredCheckpoint,
) -> Result<RewindPreview, CheckpointError> {
    let content = &target.message.content;
    let taken = directory.snapshot(
        repository,
        SnapshotRef::Preview,
        content,
        UnchangedFiles::Store,
    )?;
    let meta = repository.meta(target.id)?;
    let from = repository.files_of(SnapshotRef::Preview, target.id)?;
    let to = repository.files_of(SnapshotRef::Checkpoint(target.id), target.id)?;
    let trees = RewindTrees {
        id: target.id,
        from: &from,
        to: &to,
        present: &taken.meta,
        target: &meta,
    };
    let plan = RewindPlan::between(repository, &trees)?;
    let mut not_recorded = PathList::default();
    // What git ignores only now may have been created since, for example by an agent that wants to keep it.
    let is_new = |path: &&Vec<u8>| !meta.was_ignored(path);
    for path in meta
        .skipped
        .iter()
        .chain(taken.meta.ignored.iter().filter(is_new))
    {
        not_recorded.add(shown(path));
    }
    let mut preview = RewindPreview {
        files: plan.steps.len(),
        not_recorded,
        commits: commits_since(directory, target),
        ..RewindPreview::default()
    };
    if !plan.steps.is_empty() {
        preview.stat = text(repository, &trees, &plan, "--stat")?;
        preview.diff = text(repository, &trees, &plan, "--patch")?;
    }
    Ok(preview)
}

/// Returns the output of `git diff` for the files that a plan changes.
fn text(
    repository: &CheckpointRepository,
    trees: &RewindTrees,
    plan: &RewindPlan,
    form: &str,
) -> Result<String, CheckpointError> {
    let mut args = vec![
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
    ];
    args.extend([
        "--ignore-submodules=all",
        form,
        trees.from,
        trees.to,
        "--",
        ".",
    ]);
    let excluded: Vec<String> = plan
        .left_alone
        .iter()
        .take(EXCLUDED_MAX)
        .filter_map(|path| {
            Some(format!(
                ":(exclude,literal){}",
                std::str::from_utf8(path).ok()?
            ))
        })
        .collect();
    args.extend(excluded.iter().map(String::as_str));
    let answer = repository.git().run_keeping(&args, DIFF_MAX)?;
    if answer.code != 0 {
        // The trees exist, so a content is missing.
        return Err(CheckpointError::Gone {
            id: trees.id,
            path: "one of its files".into(),
        });
    }
    let mut text = answer.out;
    if answer.lost > 0 {
        text.push_str(&format!("\n[{} more bytes are not shown]\n", answer.lost));
    }
    Ok(text)
}

/// Returns the number of commits between the checkpoint and the present; 0 if unknown.
fn commits_since(directory: &SnapshotDirectory, target: &StoredCheckpoint) -> usize {
    let range = target.message.head.as_ref().zip(directory.head());
    let Some((old, new)) = range.filter(|(old, new)| *old != new) else {
        return 0;
    };
    let git = &directory.folder.git;
    let count = git.ok(&["rev-list", "--count", &format!("{old}..{new}")]);
    count.ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}
