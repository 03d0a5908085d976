//! Undoes what a killed git has written of a merge in a work tree, and nothing else.
//!
//! Git writes the files first, then `AUTO_MERGE`, the index, `MERGE_HEAD` and the commit. A git that was killed leaves
//! files with the content of the merge, the last one perhaps incomplete. Each file that the merge changes is compared
//! with the result of the merge, byte by byte: equal content, or the beginning of it, was written by git, and so was the
//! mode of the merge where the content is as it was. All other content was written by the user or an agent and stays.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::store::StoreError;
use crate::store::git::{ANSWER_MAX, Git, GitError, commit_of, is_hash};

/// Most paths in one call of git.
const PATHS_MAX: usize = 200;
/// Most bytes of a file that is compared with the content that it was to have.
const FILE_MAX: usize = 64 * 1024 * 1024;
/// The hash of a file that is not there.
const NOTHING: char = '0';

/// A file that a merge changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Touched {
    path: Vec<u8>,
    /// Its content before; `None`: there was no such file.
    old: Option<String>,
    /// Its content in the merge; `None`: the merge deletes it.
    new: Option<String>,
    /// Its mode in the merge, as git writes it, where that differs from the one before.
    new_mode: Option<String>,
}

/// Undoes what a merge of the commit `tip` has written in `dir`, where `git` works with the git folder `own`. Returns
/// the paths that hold other content than that of the merge, or that the user has staged; they stay.
pub fn undo(git: &Git, dir: &Path, own: &Path, tip: &str) -> Result<Vec<String>, StoreError> {
    let is_marked = commit_of(git, "MERGE_HEAD")?.is_some();
    let written = auto_merge(git)?;
    let planned = match &written {
        Some(tree) if is_marked => Some(tree.clone()),
        _ => merge_tree(git, tip)?,
    };
    let Some(planned) = planned else {
        // A git before 2.38 cannot compute the result. It only undoes what it knows to be a merge.
        if is_marked {
            git.ok(&["merge", "--abort"])?;
            return Ok(Vec::new());
        }
        return Ok(names(git, &["diff", "--name-only", "-z", "HEAD"])?
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect());
    };
    // Git was killed between the index and `MERGE_HEAD`, in a hook for example. `git merge --squash` stages the same.
    let is_index_of_merge =
        is_marked || (written.as_ref() == Some(&planned) && !own.join("SQUASH_MSG").exists());
    let staged = if is_index_of_merge {
        BTreeSet::new()
    } else {
        names(
            git,
            &["diff-index", "--cached", "--name-only", "-z", "HEAD"],
        )?
    };
    let raw = bytes(
        git,
        &["diff-tree", "-r", "-z", "--no-renames", "HEAD", &planned],
    )?;
    let (mut restored, mut removed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for file in touched(&raw) {
        let Ok(path) = std::str::from_utf8(&file.path) else {
            // Such a name cannot be passed to git as an argument.
            kept.push(String::from_utf8_lossy(&file.path).into_owned());
            continue;
        };
        let path = path.to_string();
        if staged.contains(&file.path) {
            kept.push(path);
            continue;
        }
        match is_of_merge(git, dir, &path, &file)? {
            None => kept.push(path),
            Some(false) => {}
            Some(true) if file.old.is_some() => restored.push(path),
            Some(true) => removed.push(path),
        }
    }
    // Resets the index and the state of the merge, no file. After a kill here the same files are found again.
    if is_index_of_merge && (is_marked || !restored.is_empty() || !removed.is_empty()) {
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

/// The files that git had computed when it was killed, with the marks of conflicts.
fn auto_merge(git: &Git) -> Result<Option<String>, StoreError> {
    let answer = git.run(&["rev-parse", "--quiet", "--verify", "AUTO_MERGE^{tree}"])?;
    let tree = answer.out.trim().to_string();
    Ok((answer.code == 0 && is_hash(&tree)).then_some(tree))
}

/// The files as a merge of `tip` leaves them, with the marks of conflicts; `None`: this git cannot compute it.
fn merge_tree(git: &Git, tip: &str) -> Result<Option<String>, StoreError> {
    let merged = git.run(&["merge-tree", "--write-tree", "--no-messages", "HEAD", tip])?;
    let tree = merged.out.lines().next().unwrap_or_default().to_string();
    Ok((merged.code <= 1 && is_hash(&tree)).then_some(tree))
}

/// The whole answer of git, as bytes.
fn bytes(git: &Git, args: &[&str]) -> Result<Vec<u8>, StoreError> {
    let answer = git.run_bytes(args, ANSWER_MAX)?;
    if answer.code != 0 {
        return Err(answer.failed(args).into());
    }
    if answer.lost > 0 {
        let what = args.first().copied().unwrap_or_default();
        return Err(GitError::TooLong(what.into()).into());
    }
    Ok(answer.out)
}

/// The paths in an answer of git with `-z`.
fn names(git: &Git, args: &[&str]) -> Result<BTreeSet<Vec<u8>>, StoreError> {
    let answer = bytes(git, args)?;
    let all = answer.split(|b| *b == 0).filter(|name| !name.is_empty());
    Ok(all.map(<[u8]>::to_vec).collect())
}

/// The answer of `git diff-tree -r -z --no-renames`.
fn touched(raw: &[u8]) -> Vec<Touched> {
    let mut fields = raw.split(|b| *b == 0).filter(|field| !field.is_empty());
    let mut all = Vec::new();
    while let (Some(what), Some(path)) = (fields.next(), fields.next()) {
        let what = String::from_utf8_lossy(what);
        // `:100644 100644 OLD NEW M`
        let mut words = what.trim_start_matches(':').split(' ');
        let modes = (words.next(), words.next());
        let new_mode = modes.1.filter(|_| modes.0 != modes.1).map(String::from);
        let mut hash = || -> Option<String> {
            let hash = words.next()?;
            (!hash.chars().all(|c| c == NOTHING)).then(|| hash.to_string())
        };
        let (old, new) = (hash(), hash());
        let path = path.to_vec();
        all.push(Touched {
            path,
            old,
            new,
            new_mode,
        });
    }
    all
}

/// Whether a file has the content of the merge, or the beginning of it. `None`: it has content of its own.
fn is_of_merge(
    git: &Git,
    dir: &Path,
    name: &str,
    file: &Touched,
) -> Result<Option<bool>, StoreError> {
    let path = dir.join(name);
    let Ok(meta) = fs::symlink_metadata(&path) else {
        // To be written, or deleted by the merge: either way it comes back where it was.
        return Ok(Some(file.old.is_some()));
    };
    let Some(new) = &file.new else {
        // Not deleted yet.
        return Ok(Some(false));
    };
    // The content may be as it was: then git has written nothing but the mode, or nothing.
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
    let is_git_s = now == *new || is_beginning(git, &path, name, new)?;
    Ok(is_git_s.then_some(true))
}

/// The mode of a file as git writes it.
fn mode(meta: &fs::Metadata) -> &'static str {
    if meta.is_symlink() {
        "120000"
    } else if meta.permissions().mode() & 0o100 != 0 {
        "100755"
    } else {
        "100644"
    }
}

/// Whether a file holds the first bytes of what git was to write into it: git was killed while it wrote.
pub fn is_beginning(git: &Git, file: &Path, path: &str, hash: &str) -> Result<bool, StoreError> {
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
    fn files_of_a_merge_are_read_from_diff_tree() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100644 {a} {b} M\0x y.txt\0:000000 100644 {none} {b} A\0n\0:100644 000000 {a} {none} D\0d\0:100644 100755 {a} {a} M\0x\0"
        );
        let file = |path: &str, old: Option<&str>, new: Option<&str>, mode: Option<&str>| Touched {
            path: path.into(),
            old: old.map(String::from),
            new: new.map(String::from),
            new_mode: mode.map(String::from),
        };
        assert_eq!(
            touched(raw.as_bytes()),
            [
                file("x y.txt", Some(&a), Some(&b), None),
                file("n", None, Some(&b), Some("100644")),
                file("d", Some(&a), None, Some("000000")),
                file("x", Some(&a), Some(&a), Some("100755")),
            ]
        );
    }
}
