//! A merge that was cut off in a work tree: what git had written of it is taken back, and nothing else.
//!
//! Git writes the files first, then the index, then `MERGE_HEAD`, then the commit. So a git that was killed leaves files
//! with the content of the merge, one of them perhaps not whole, with or without a word about the merge. Each file that
//! the merge touches is compared with the merge's own result: what equals it, or is the beginning of it, is git's.
//! Anything else the user or an agent has written since, and it stays.

use std::fs;
use std::path::Path;

use super::merge::split;
use crate::store::StoreError;
use crate::store::git::{Git, commit_of, is_hash};

/// Most paths in one call of git.
const PATHS_MAX: usize = 200;
/// Most bytes of a file that is compared with the content that it was to have.
const FILE_MAX: usize = 64 * 1024 * 1024;
/// The hash of a file that is not there.
const NOTHING: char = '0';

/// A file that a merge touches.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Touched {
    path: String,
    /// Its content before; `None`: there was no such file.
    old: Option<String>,
    /// Its content in the merge; `None`: the merge deletes it.
    new: Option<String>,
}

/// Takes back what a merge of the commit `tip` has written in `dir`, where `git` works. The paths that hold other
/// content than the merge's come back; they stay as they are.
pub fn undo(git: &Git, dir: &Path, tip: &str) -> Result<Vec<String>, StoreError> {
    let Some(result) = result_of(git, tip)? else {
        // An older git: it can only take back what it knows to be a merge.
        git.ok(&["merge", "--abort"])?;
        return Ok(Vec::new());
    };
    let raw = git.ok(&["diff-tree", "-r", "-z", "--no-renames", "HEAD", &result])?;
    let (mut restored, mut removed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for file in touched(&raw) {
        match is_of_merge(git, dir, &file)? {
            None => kept.push(file.path),
            Some(false) => {}
            Some(true) if file.old.is_some() => restored.push(file.path),
            Some(true) => removed.push(file.path),
        }
    }
    // The index, and the marks of a merge; no file. Killed after this, the same files are found again.
    let is_marked = commit_of(git, "MERGE_HEAD")?.is_some();
    if is_marked || !restored.is_empty() || !removed.is_empty() {
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
        // Folders that the merge made; one with something in it stays.
        for folder in path.ancestors().skip(1).take_while(|f| *f != dir) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(kept)
}

/// The files as the merge was to leave them, with the marks of conflicts; `None`: this git cannot tell.
fn result_of(git: &Git, tip: &str) -> Result<Option<String>, StoreError> {
    let written = git.run(&["rev-parse", "--quiet", "--verify", "AUTO_MERGE^{tree}"])?;
    if written.code == 0 && is_hash(written.out.trim()) {
        return Ok(Some(written.out.trim().into()));
    }
    let merged = git.run(&["merge-tree", "--write-tree", "--no-messages", "HEAD", tip])?;
    let tree = merged.out.lines().next().unwrap_or_default().to_string();
    Ok((merged.code <= 1 && is_hash(&tree)).then_some(tree))
}

/// The answer of `git diff-tree -r -z --no-renames`.
fn touched(raw: &str) -> Vec<Touched> {
    let mut fields = split(raw);
    let mut all = Vec::new();
    while let (Some(what), Some(path)) = (fields.next(), fields.next()) {
        // `:100644 100644 OLD NEW M`
        let mut words = what.split(' ').skip(2);
        let mut hash = || -> Option<String> {
            let hash = words.next()?;
            (!hash.chars().all(|c| c == NOTHING)).then(|| hash.to_string())
        };
        let (old, new) = (hash(), hash());
        let path = path.to_string();
        all.push(Touched { path, old, new });
    }
    all
}

/// Whether a file is as the merge has made it, or half so. `None`: it has content of its own.
fn is_of_merge(git: &Git, dir: &Path, file: &Touched) -> Result<Option<bool>, StoreError> {
    let path = dir.join(&file.path);
    let Ok(meta) = fs::symlink_metadata(&path) else {
        // To be written, or deleted by the merge: either way it comes back where it was.
        return Ok(Some(file.old.is_some()));
    };
    let Some(new) = &file.new else {
        // Not deleted yet.
        return Ok(Some(false));
    };
    if meta.is_symlink() {
        let target = fs::read_link(&path).map_err(StoreError::at(&path))?;
        let is = |hash: &Option<String>| -> Result<bool, StoreError> {
            let Some(hash) = hash else { return Ok(false) };
            Ok(git.run(&["cat-file", "blob", hash])?.out == target.to_string_lossy())
        };
        let is_old = is(&file.old)?;
        return Ok(if is_old {
            Some(false)
        } else {
            is(&file.new)?.then_some(true)
        });
    }
    if !meta.is_file() {
        return Ok(None);
    }
    let now = git.ok(&["hash-object", "--", &file.path])?;
    if file.old.as_ref() == Some(&now) {
        return Ok(Some(false));
    }
    let is_git_s = now == *new || is_beginning(git, &path, &file.path, new)?;
    Ok(is_git_s.then_some(true))
}

/// Whether a file holds the beginning of a content: git was killed while it wrote it.
pub fn is_beginning(git: &Git, file: &Path, path: &str, hash: &str) -> Result<bool, StoreError> {
    let size = fs::metadata(file).map_err(StoreError::at(file))?.len();
    if size == 0 {
        return Ok(true);
    }
    if size > FILE_MAX as u64 {
        return Ok(false);
    }
    let of = format!("--path={path}");
    let whole = git.run_keeping(&["cat-file", "--filters", &of, hash], FILE_MAX)?;
    let bytes = fs::read(file).map_err(StoreError::at(file))?;
    let text = String::from_utf8_lossy(&bytes);
    // It may end within a character.
    Ok(whole.code == 0 && whole.out.starts_with(text.trim_end_matches('\u{fffd}')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn files_of_a_merge_are_read_from_diff_tree() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100644 {a} {b} M\0x y.txt\0:000000 100644 {none} {b} A\0n\0:100644 000000 {a} {none} D\0d\0"
        );
        let file = |path: &str, old: Option<&str>, new: Option<&str>| Touched {
            path: path.into(),
            old: old.map(String::from),
            new: new.map(String::from),
        };
        assert_eq!(
            touched(&raw),
            [
                file("x y.txt", Some(&a), Some(&b)),
                file("n", None, Some(&b)),
                file("d", Some(&a), None),
            ]
        );
    }
}
