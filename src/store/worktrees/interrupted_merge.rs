//! Undoes an interrupted merge in a worktree: exactly the changes that git had written when it was killed.
//!
//! Git writes the files first, then `AUTO_MERGE`, the index, `MERGE_HEAD` and the commit. A killed git leaves files
//! with the content of the merge; the last one may be truncated. Each file that the merge changes is compared with the
//! result of the merge, byte by byte. If the file's content equals this result or is the beginning of it, git wrote the
//! file. If the content is the one from before the merge and the mode is the one after it, git changed only the mode.
//! Any other content is the user's or an agent's and is kept.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::store::StoreError;
use crate::store::git::{ANSWER_MAX, Git, GitError, commit_of, is_hash};

/// Maximum number of paths in one git command.
const PATHS_MAX: usize = 200;
/// Maximum size, in bytes, of a file for which [`is_prefix_of_blob`] can be true. A larger file counts as changed by
/// the user.
const FILE_MAX: usize = 64 * 1024 * 1024;
/// In git's output, the hash of a missing file consists only of this digit.
const NOTHING: char = '0';

/// A file that a merge changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedFile {
    path: Vec<u8>,
    /// The hash of the content before the merge; `None` if there was no such file.
    old: Option<String>,
    /// The hash of the merged content; `None` if the merge deletes the file.
    new: Option<String>,
    /// The file mode after the merge, as git prints it; `None` if the merge does not change the mode.
    new_mode: Option<String>,
}

/// Whether the interrupted merge may have been a fast-forward. In a fast-forward, git writes the files and the index,
/// then moves the branch to the merged commit; it writes no `AUTO_MERGE` and no `MERGE_HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FastForward {
    /// The merge may have been a fast-forward. If the index equals the merged commit, git has written the index.
    Possible,
    /// The merge was started with `--no-ff`. If the index equals the merged commit, the user has written the index.
    Never,
}

/// Undoes what a merge of the commit `tip` has written to the worktree in `dir`. `git` runs in the worktree, and `own`
/// is its git folder. Keeps files whose content is not from the merge and files that the user has staged; returns the
/// paths of these files.
pub fn undo(
    git: &Git,
    dir: &Path,
    own: &Path,
    tip: &str,
    fast_forward: FastForward,
) -> Result<Vec<String>, StoreError> {
    let is_marked = commit_of(git, "MERGE_HEAD")?.is_some();
    let written = auto_merge(git)?;
    let planned = match &written {
        Some(tree) if is_marked => Some(tree.clone()),
        _ => merge_tree(git, tip)?,
    };
    let Some(planned) = planned else {
        // Git before 2.38 cannot compute the result of the merge, so only a merge that git itself has recorded is
        // undone.
        if is_marked {
            git.ok(&["merge", "--abort"])?;
            return Ok(Vec::new());
        }
        return Ok(run_for_paths(git, &["diff", "--name-only", "-z", "HEAD"])?
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect());
    };
    // If git was killed after it wrote the index and before it wrote `MERGE_HEAD`, for example in a hook, the index
    // comes from the merge. `git merge --squash` stages the same content, but also leaves the file `SQUASH_MSG`.
    let is_staged_by_merge = match written.as_ref() {
        Some(written) => *written == planned,
        None => fast_forward == FastForward::Possible && is_index(git, &planned)?,
    };
    let is_index_from_merge = is_marked || (is_staged_by_merge && !own.join("SQUASH_MSG").exists());
    let staged = if is_index_from_merge {
        BTreeSet::new()
    } else {
        run_for_paths(
            git,
            &["diff-index", "--cached", "--name-only", "-z", "HEAD"],
        )?
    };
    let raw = run_for_bytes(
        git,
        &["diff-tree", "-r", "-z", "--no-renames", "HEAD", &planned],
    )?;
    let (mut restored, mut removed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for file in parse_diff_tree(&raw) {
        let Ok(path) = std::str::from_utf8(&file.path) else {
            // A name with invalid UTF-8 cannot be passed to git as an argument.
            kept.push(String::from_utf8_lossy(&file.path).into_owned());
            continue;
        };
        let path = path.to_string();
        if staged.contains(&file.path) {
            kept.push(path);
            continue;
        }
        match is_from_merge(git, dir, &path, &file)? {
            None => kept.push(path),
            Some(false) => {}
            Some(true) if file.old.is_some() => restored.push(path),
            Some(true) => removed.push(path),
        }
    }
    // Resets the index and the merge state, but no file. If crewdeck is killed at this point, the next run finds the
    // same files.
    if is_index_from_merge && (is_marked || !restored.is_empty() || !removed.is_empty()) {
        git.ok(&["reset", "--quiet"])?;
    }
    for paths in restored.chunks(PATHS_MAX) {
        let mut args = vec!["checkout-index", "--force", "--quiet", "--"];
        args.extend(paths.iter().map(String::as_str));
        git.ok(&args)?;
    }
    for path in removed {
        let path = dir.join(path);
        fs::remove_file(&path).map_err(StoreError::at(&path))?;
        // Removes the folders that the merge created, if they are empty.
        for folder in path.ancestors().skip(1).take_while(|f| *f != dir) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(kept)
}

/// Returns whether the index has the same content as `tree`.
fn is_index(git: &Git, tree: &str) -> Result<bool, StoreError> {
    Ok(git.succeeds(&["diff-index", "--cached", "--quiet", tree, "--"])?)
}

/// Returns the hash of the tree that the killed git had computed as the result of the merge. Files in conflict contain
/// conflict markers. Returns `None` if git had not computed the tree yet.
fn auto_merge(git: &Git) -> Result<Option<String>, StoreError> {
    let answer = git.run(&["rev-parse", "--quiet", "--verify", "AUTO_MERGE^{tree}"])?;
    let tree = answer.out.trim().to_string();
    Ok((answer.code == 0 && is_hash(&tree)).then_some(tree))
}

/// Returns the hash of the tree that a merge of `tip` into `HEAD` results in. Files in conflict contain conflict
/// markers. Returns `None` if the installed git cannot compute the tree.
fn merge_tree(git: &Git, tip: &str) -> Result<Option<String>, StoreError> {
    let merged = git.run(&["merge-tree", "--write-tree", "--no-messages", "HEAD", tip])?;
    let tree = merged.out.lines().next().unwrap_or_default().to_string();
    Ok((merged.code <= 1 && is_hash(&tree)).then_some(tree))
}

/// Returns the output of a git command. Fails if the exit code is not 0 or the output exceeds [`ANSWER_MAX`].
fn run_for_bytes(git: &Git, args: &[&str]) -> Result<Vec<u8>, StoreError> {
    let answer = git.run_bytes(args, ANSWER_MAX)?;
    if answer.code != 0 {
        return Err(answer.to_error(args).into());
    }
    if answer.lost > 0 {
        let what = args.first().copied().unwrap_or_default();
        return Err(GitError::TooLong(what.into()).into());
    }
    Ok(answer.out)
}

/// Runs a git command with `-z`, which separates paths by NUL, and returns the paths in its output.
fn run_for_paths(git: &Git, args: &[&str]) -> Result<BTreeSet<Vec<u8>>, StoreError> {
    let answer = run_for_bytes(git, args)?;
    let all = answer.split(|b| *b == 0).filter(|name| !name.is_empty());
    Ok(all.map(<[u8]>::to_vec).collect())
}

/// Parses the output of `git diff-tree -r -z --no-renames`.
fn parse_diff_tree(raw: &[u8]) -> Vec<ChangedFile> {
    let mut fields = raw.split(|b| *b == 0).filter(|field| !field.is_empty());
    let mut all = Vec::new();
    while let (Some(what), Some(path)) = (fields.next(), fields.next()) {
        let what = String::from_utf8_lossy(what);
        // For example `:100644 100644 OLD NEW M`: old mode, new mode, old hash, new hash, status.
        let mut words = what.trim_start_matches(':').split(' ');
        let modes = (words.next(), words.next());
        let new_mode = modes.1.filter(|_| modes.0 != modes.1).map(String::from);
        let mut hash = || -> Option<String> {
            let hash = words.next()?;
            (!hash.chars().all(|c| c == NOTHING)).then(|| hash.to_string())
        };
        let (old, new) = (hash(), hash());
        let path = path.to_vec();
        all.push(ChangedFile {
            path,
            old,
            new,
            new_mode,
        });
    }
    all
}

/// Compares a file with its content before and after the merge. Returns `Some(true)` if git has changed the file, so
/// that the change must be undone. Returns `Some(false)` if there is nothing to undo, and `None` if the content is
/// neither the old nor the merged one.
fn is_from_merge(
    git: &Git,
    dir: &Path,
    name: &str,
    file: &ChangedFile,
) -> Result<Option<bool>, StoreError> {
    let path = dir.join(name);
    let Ok(meta) = fs::symlink_metadata(&path) else {
        // Git has not written the file yet, or the merge has deleted it. A file that existed before the merge is
        // restored.
        return Ok(Some(file.old.is_some()));
    };
    let Some(new) = &file.new else {
        // The merge deletes this file, but git has not done so yet.
        return Ok(Some(false));
    };
    // If the content is the old one, git has changed only the mode or nothing.
    let has_new_mode = file.new_mode.as_deref() == Some(mode(&meta));
    if meta.is_symlink() {
        let target = fs::read_link(&path).map_err(StoreError::at(&path))?;
        let is = |hash: &Option<String>| -> Result<bool, StoreError> {
            let Some(hash) = hash else { return Ok(false) };
            let blob = git.run_bytes(&["cat-file", "blob", hash], ANSWER_MAX)?;
            Ok(blob.code == 0 && OsStr::from_bytes(&blob.out) == target.as_os_str())
        };
        let is_old = is(&file.old)?;
        return Ok(if is_old {
            Some(has_new_mode)
        } else {
            is(&file.new)?.then_some(true)
        });
    }
    if !meta.is_file() {
        return Ok(None);
    }
    let now = git.ok(&["hash-object", "--", name])?;
    if file.old.as_ref() == Some(&now) {
        return Ok(Some(has_new_mode));
    }
    let is_from_git = now == *new || is_prefix_of_blob(git, &path, name, new)?;
    Ok(is_from_git.then_some(true))
}

/// Returns the mode of a file as git prints it.
fn mode(meta: &fs::Metadata) -> &'static str {
    if meta.is_symlink() {
        "120000"
    } else if meta.permissions().mode() & 0o100 != 0 {
        "100755"
    } else {
        "100644"
    }
}

/// Returns whether the content of `file` is the blob `hash` or the beginning of it. A git that is killed while writing
/// the file leaves this content. True for an empty file, and false for a file of more than [`FILE_MAX`] bytes. `path`
/// is the path of the file in the repository; it determines which filters git applies to the blob before the
/// comparison.
pub fn is_prefix_of_blob(
    git: &Git,
    file: &Path,
    path: &str,
    hash: &str,
) -> Result<bool, StoreError> {
    let size = fs::metadata(file).map_err(StoreError::at(file))?.len();
    if size == 0 {
        return Ok(true);
    }
    if size > FILE_MAX as u64 {
        return Ok(false);
    }
    let of = format!("--path={path}");
    let whole = git.run_bytes(&["cat-file", "--filters", &of, hash], FILE_MAX)?;
    let bytes = fs::read(file).map_err(StoreError::at(file))?;
    Ok(whole.code == 0 && whole.out.starts_with(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn parses_diff_tree() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100644 {a} {b} M\0x y.txt\0:000000 100644 {none} {b} A\0n\0:100644 000000 {a} {none} D\0d\0:100644 100755 {a} {a} M\0x\0"
        );
        let file =
            |path: &str, old: Option<&str>, new: Option<&str>, mode: Option<&str>| ChangedFile {
                path: path.into(),
                old: old.map(String::from),
                new: new.map(String::from),
                new_mode: mode.map(String::from),
            };
        assert_eq!(
            parse_diff_tree(raw.as_bytes()),
            [
                file("x y.txt", Some(&a), Some(&b), None),
                file("n", None, Some(&b), Some("100644")),
                file("d", Some(&a), None, Some("000000")),
                file("x", Some(&a), Some(&a), Some("100755")),
            ]
        );
    }
}
