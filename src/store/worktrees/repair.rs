//! Puts in order what gits that were killed with their crew have left behind (`debris.rs`). Nothing is lost by it: what
//! holds content that git did not write stays, and is named.

use std::fs;
use std::path::Path;

use super::cut_merge::{self, is_beginning};
use super::debris::{Debris, Ground, is_unfilled};
use super::log::Note;
use super::merge::split;
use super::{Work, Worktrees};
use crate::domain::stamp::Stamp;
use crate::domain::text::one_line;
use crate::domain::worktree::{Busy, Removal, Worktree, WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::locks;
use crate::store::git::{Git, busy_in, commit_of, is_hash};

/// Most files that are named.
const NAMED_MAX: usize = 5;
/// The index with which a half-made worktree is judged.
const JUDGING: &str = "index.crewdeck";

impl Worktrees {
    /// Finds and repairs what killed gits have left behind: lock files that no process holds, half-made worktrees, cut
    /// merges and removals. A line for each thing comes back. Waits a few seconds where a git still runs, and runs no
    /// git where there is nothing to repair.
    ///
    /// # Errors
    /// When the registry cannot be read or written, or git fails.
    pub fn repair(&self, now: Stamp) -> Result<Vec<String>, StoreError> {
        let Some(ground) = self.ground() else {
            return Ok(Vec::new());
        };
        let mut said = Vec::new();
        if !locks::lock_files(&ground.common).is_empty() {
            let (removed, stay) = locks::clear(&ground.root, &ground.common);
            said.extend(
                removed
                    .iter()
                    .map(|l| format!("removed {}", ground.lock(l))),
            );
            for lock in stay {
                said.push(format!(
                    "{} stays: a program works in the repository now. Once none does: crewdeck doctor --mend",
                    lock.display()
                ));
            }
        }
        if ground.signs()?.is_empty() {
            return Ok(said);
        }
        let removals = {
            let mut work = self.work()?;
            work.repair(&ground, now, &mut said)?
        };
        for name in removals {
            match self.remove(&name, Removal::OnlyIfSafe, now) {
                Ok(_) => said.push(format!("finished the removal of worktree {name}")),
                // What it holds is shown with the worktrees.
                Err(StoreError::Worktree(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(said)
    }
}

impl Work {
    /// The removals that are to be finished come back.
    fn repair(
        &mut self,
        ground: &Ground,
        now: Stamp,
        said: &mut Vec<String>,
    ) -> Result<Vec<WorktreeName>, StoreError> {
        for debris in ground.signs()? {
            if let Debris::HalfMade(name) = debris {
                said.extend(self.clear_half_made(ground, &name)?);
            }
        }
        // One that was finished has not started, and one that was removed leaves a branch.
        let mut removals = Vec::new();
        for debris in ground.signs()? {
            match debris {
                Debris::Lock(_) | Debris::HalfMade(_) => {}
                Debris::NotStarted(name) => said.extend(self.undo_cut_start(&name, now)?),
                Debris::Merge(name) => said.extend(self.undo_cut_merge(&name, now)?),
                Debris::Removal(name) => removals.push(name),
                Debris::Branch(name) => said.extend(self.delete_unused(&name)?),
            }
        }
        Ok(removals)
    }

    /// Removes a worktree that git did not finish. One that holds anything that git did not write is finished instead.
    fn clear_half_made(
        &self,
        ground: &Ground,
        name: &WorktreeName,
    ) -> Result<Option<String>, StoreError> {
        let dir = self.dir.join(name.as_str());
        if !dir.exists() || is_unfilled(&dir) {
            for left in [dir.join(".git"), dir.clone()] {
                let removed = if left.is_dir() {
                    fs::remove_dir(&left)
                } else {
                    fs::remove_file(&left)
                };
                if let Err(error) = removed
                    && error.kind() != std::io::ErrorKind::NotFound
                {
                    return Err(StoreError::at(left)(error));
                }
            }
            forget(ground, name)?;
            return Ok(Some(format!("removed the half-made worktree {name}")));
        }
        let Some((git, own)) = self.tree(name).git else {
            return Ok(Some(format!(
                ".worktrees/{name} is half made and holds files: look what is in it, then move it away"
            )));
        };
        let work = work_in(&git, &dir, &own)?;
        if work.is_empty() {
            let path = dir.to_string_lossy();
            // Twice: git locks it while it makes it.
            self.repo
                .git
                .ok(&["worktree", "remove", "--force", "--force", "--", &path])?;
            return Ok(Some(format!("removed the half-made worktree {name}")));
        }
        // Its files that are missing are written; those that are there stay.
        git.ok(&["read-tree", "HEAD"])?;
        // Says that the others are there already.
        git.run(&["checkout-index", "--all", "--quiet"])?;
        let path = dir.to_string_lossy();
        self.repo.git.ok(&["worktree", "unlock", "--", &path])?;
        Ok(Some(format!(
            "finished the half-made worktree {name}: it holds {}",
            named(&work)
        )))
    }

    /// Takes back what was cut off while the branches of a task's blockers were merged into its new worktree: they are
    /// merged when the task is taken up.
    fn undo_cut_start(
        &mut self,
        name: &WorktreeName,
        now: Stamp,
    ) -> Result<Option<String>, StoreError> {
        let (git, own) = self.whole(name)?;
        let dir = self.dir.join(name.as_str());
        let is_changed = || -> Result<bool, StoreError> {
            let status = ["status", "--porcelain=v1", "-z", "--ignore-submodules=all"];
            Ok(busy_in(&own) == Some(Busy::Merge) || !git.ok(&status)?.is_empty())
        };
        let was_changed = is_changed()?;
        let mut tips: Vec<String> = commit_of(&git, "MERGE_HEAD")?.into_iter().collect();
        if tips.is_empty() {
            for other in self.index.standing() {
                tips.extend(self.repo.branch(&other.name.branch())?);
            }
        }
        for tip in tips {
            if !is_changed()? {
                break;
            }
            if !git.says(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
                cut_merge::undo(&git, &dir, &tip)?;
            }
        }
        if busy_in(&own) == Some(Busy::Merge) {
            // The commit was made; only the marks of the merge are left.
            git.ok(&["merge", "--quit"])?;
        }
        let is_undone = was_changed && !is_changed()?;
        let tree = self.entered(name);
        self.index.put(tree.clone());
        self.save()?;
        self.log
            .note(Note::of("worktree.create.after", &tree), now)?;
        Ok(is_undone.then(|| format!("took back a cut merge in worktree {name}")))
    }

    /// Undoes a merge into the base that was cut off, or notes that it was done. Changes of the user stay.
    pub(super) fn undo_cut_merge(
        &mut self,
        name: &WorktreeName,
        now: Stamp,
    ) -> Result<Option<String>, StoreError> {
        let tree = self.entered(name);
        let branch = name.branch();
        let tip = self.repo.branch(&branch)?;
        let git = self.repo.git.clone();
        let merging = commit_of(&git, "MERGE_HEAD")?;
        let is_other = self.repo.busy().is_some_and(|busy| busy != Busy::Merge)
            || (merging.is_some() && merging != tip);
        let Some(tip) = tip.filter(|_| !is_other) else {
            // What is under way now is the user's; our merge has left nothing.
            return self.note_cut(&tree, now).map(|()| None);
        };
        if git.says(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
            if merging.is_some() {
                git.ok(&["merge", "--quit"])?;
            }
            let by = commit_of(&git, "HEAD")?
                .filter(|h| is_hash(h))
                .unwrap_or_default();
            let tree = self.index.change(name, |tree| tree.merged(&by, now))?;
            self.save()?;
            self.log
                .note(Note::of("worktree.merge.after", &tree), now)?;
            return Ok(Some(format!("noted that {branch} is merged")));
        }
        let kept = cut_merge::undo(&git, &self.repo.root, &tip)?;
        self.note_cut(&tree, now)?;
        let mut line = format!("undid the merge of {branch}, which was cut off");
        if !kept.is_empty() {
            line.push_str(&format!("; your changes stay: {}", named(&kept)));
        }
        Ok(Some(line))
    }

    fn note_cut(&self, tree: &Worktree, now: Stamp) -> Result<(), StoreError> {
        let note = Note::of("worktree.merge.failed", tree).error("git was killed; it is undone");
        self.log.note(note, now)
    }

    /// Deletes the branch of a worktree that was never made, if it has no work of its own.
    fn delete_unused(&self, name: &WorktreeName) -> Result<Option<String>, StoreError> {
        let branch = name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Ok(None);
        };
        let head = self.repo.head()?.commit;
        let git = &self.repo.git;
        let is_used = self
            .repo
            .registered()?
            .iter()
            .any(|r| r.branch.as_deref() == Some(&branch));
        if is_used || !git.says(&["merge-base", "--is-ancestor", &tip, &head])? {
            return Ok(None);
        }
        self.delete_branch(name, &tip)?;
        Ok(Some(format!(
            "deleted branch {branch}: its worktree was never made"
        )))
    }

    /// Its entry, or one as for a worktree that git knows and the registry does not.
    pub(super) fn entered(&self, name: &WorktreeName) -> Worktree {
        self.index.get(name).cloned().unwrap_or_else(|| {
            let path = self.dir.join(name.as_str()).to_string_lossy().into_owned();
            Worktree::new(name.clone(), path, Stamp::default())
        })
    }

    /// What a cut merge has left is put in order before the next one: see [`Work::undo_cut_merge`].
    pub(super) fn undo_cut_merges(&mut self, now: Stamp) -> Result<(), StoreError> {
        let last = self.log.last_events()?;
        let is_cut = |name: &WorktreeName| {
            last.get(name.as_str()).map(String::as_str) == Some(super::debris::MERGE)
        };
        let cut: Vec<WorktreeName> = self
            .index
            .standing()
            .into_iter()
            .map(|tree| tree.name.clone())
            .filter(is_cut)
            .collect();
        if cut.is_empty() {
            return Ok(());
        }
        let (_, stay) = locks::clear(&self.repo.root, self.repo.common());
        if let Some(lock) = stay.first() {
            let branch = cut[0].branch();
            let why = format!(
                "{} is there, and a program works in the repository now: try again when it has ended",
                lock.display()
            );
            return Err(WorktreeError::NotMerged { branch, why }.into());
        }
        for name in cut {
            self.undo_cut_merge(&name, now)?;
        }
        Ok(())
    }
}

/// Removes what git keeps of a worktree that it did not finish.
fn forget(ground: &Ground, name: &WorktreeName) -> Result<(), StoreError> {
    if ground.entries().get(name) != Some(&false) {
        return Ok(());
    }
    let home = ground.dir.join(name.as_str()).join(".git");
    for entry in fs::read_dir(ground.common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let link = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
        let is_it = if link.trim().is_empty() {
            entry.file_name() == name.as_str()
        } else {
            Path::new(link.trim()) == home
        };
        if is_it {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(StoreError::at(path))?;
        }
    }
    Ok(())
}

/// The files in a half-made worktree that are neither its branch's nor the beginning of one of them.
fn work_in(git: &Git, dir: &Path, own: &Path) -> Result<Vec<String>, StoreError> {
    let index = own.join(JUDGING);
    let judging = git.with_index(&index);
    judging.ok(&["read-tree", "HEAD"])?;
    let listed = judging.ok(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ]);
    // It is in no one's way.
    let _ = fs::remove_file(&index);
    let mut work = Vec::new();
    for line in split(&listed?) {
        let (Some(what), Some(path)) = (line.get(..2), line.get(3..)) else {
            continue;
        };
        let of_head = || git.ok(&["rev-parse", &format!("HEAD:{path}")]);
        let is_git_s = match what {
            " D" => true,
            " M" => is_beginning(git, &dir.join(path), path, &of_head()?)?,
            _ => false,
        };
        if !is_git_s {
            work.push(path.to_string());
        }
    }
    Ok(work)
}

fn named(files: &[String]) -> String {
    let shown: Vec<String> = files.iter().take(NAMED_MAX).map(|f| one_line(f)).collect();
    match files.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
