//! Repairs what killed gits left in the repository (`debris.rs`). Loses nothing: content that git did not write stays
//! and is named.

use std::fs;
use std::path::{Path, PathBuf};

use super::cut_merge::{self, is_beginning};
use super::debris::{Debris, Ground, is_unfilled};
use super::log::Note;
use super::merge::split;
use super::{Work, Worktrees};
use crate::domain::stamp::Stamp;
use crate::domain::text::one_line;
use crate::domain::worktree::{Busy, Removal, Worktree, WorktreeError, WorktreeName};
use crate::store::git::locks;
use crate::store::git::{Git, busy_in, commit_of, is_hash};
use crate::store::{StoreError, plain};

/// Most files that are named.
const NAMED_MAX: usize = 5;
/// Most bytes of a file in which git keeps the state of a merge.
const STATE_MAX: u64 = 1024 * 1024;
/// The index with which an incomplete worktree is compared.
const JUDGING: &str = "index.crewdeck";

impl Worktrees {
    /// Finds and repairs what killed gits left behind: lock files that no process holds, incomplete worktrees,
    /// interrupted merges and removals. Returns a line for each repair, and for each thing that stays with the reason.
    /// Waits up to four seconds while a git runs. Runs no git where there is nothing to repair.
    ///
    /// # Errors
    /// When the registry cannot be read or written, or git fails.
    pub fn repair(&self, now: Stamp) -> Result<Vec<String>, StoreError> {
        let Some(ground) = self.ground() else {
            return Ok(Vec::new());
        };
        let mut said = Vec::new();
        if !locks::lock_files(&ground.common).is_empty() {
            let cut = ground.cut_steps()?;
            let (removed, stay) = locks::clear(&ground.root, &ground.common, &cut);
            let line = |lock: &PathBuf| {
                let lock = Debris::Lock(ground.below(lock));
                format!("removed {lock}")
            };
            said.extend(removed.iter().map(line));
            for (lock, holder) in stay {
                let lock = ground.below(&lock);
                said.push(format!("{} stays: {holder}", lock.display()));
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
                Err(StoreError::Worktree(why)) => {
                    said.push(format!("worktree {name} stays: {why}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(said)
    }
}

impl Work {
    /// Repairs all but the removals, and returns these.
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
        // A finished worktree still lacks what it builds on, and a removed one leaves a branch.
        let mut removals = Vec::new();
        for debris in ground.signs()? {
            match debris {
                Debris::Lock(_) | Debris::UnseenLock(_) | Debris::HalfMade(_) => {}
                Debris::Unlinked(name) => said.push(format!(
                    ".worktrees/{name} stays: it is incomplete and holds files that git does not know. Move it away, then run crewdeck doctor --mend"
                )),
                Debris::NotStarted(name) => said.extend(self.undo_cut_start(&name, now)?),
                Debris::Merge(name) => said.extend(self.undo_cut_merge(&name, now)?),
                Debris::Removal(name) => removals.push(name),
                Debris::Branch(name) => said.extend(self.delete_unused(&name, now)?),
            }
        }
        Ok(removals)
    }

    /// Removes an incomplete worktree. Completes it instead where it holds content that git did not write.
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
            return Ok(Some(format!("removed the incomplete worktree {name}")));
        }
        let Some((git, own)) = self.tree(name).git else {
            return Ok(Some(format!(
                ".worktrees/{name} stays: it is incomplete, and its link to the repository is not valid. Move it away, then run crewdeck doctor --mend"
            )));
        };
        let work = work_in(&git, &dir, &own)?;
        if work.is_empty() {
            let path = dir.to_string_lossy();
            // Twice: git locks it while it makes it.
            self.repo
                .git
                .ok(&["worktree", "remove", "--force", "--force", "--", &path])?;
            return Ok(Some(format!("removed the incomplete worktree {name}")));
        }
        // Its files that are missing are written; those that are there stay.
        git.ok(&["read-tree", "HEAD"])?;
        // Says that the others are there already.
        git.run(&["checkout-index", "--all", "--quiet"])?;
        let path = dir.to_string_lossy();
        self.repo.git.ok(&["worktree", "unlock", "--", &path])?;
        Ok(Some(format!(
            "completed worktree {name}, which git had not finished: it holds {}",
            named(&work)
        )))
    }

    /// Undoes the interrupted merge of a blocker's branch into a new worktree. The branches are merged again when the
    /// task is started.
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
            if !git.succeeds(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
                cut_merge::undo(&git, &dir, &own, &tip)?;
            }
        }
        if busy_in(&own) == Some(Busy::Merge) {
            // The commit exists; only the state files of the merge are left.
            git.ok(&["merge", "--quit"])?;
        }
        let is_undone = was_changed && !is_changed()?;
        let tree = self.entered(name);
        self.index.put(tree.clone());
        self.save()?;
        self.log
            .note(Note::of("worktree.create.after", &tree), now)?;
        Ok(is_undone.then(|| format!("undid an interrupted merge in worktree {name}")))
    }

    /// Undoes an interrupted merge into the base, or notes that it was done. A merge that the user began since
    /// then stays, and so do changes of the user.
    ///
    /// What is whose is decided by what git wrote and not by times: a hook may run for minutes, and the user may act
    /// within a second. The merge is ours when the commit that was checked out when it began still is, and when
    /// `MERGE_MSG` and `MERGE_MODE` are those of crewdeck's command.
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
            return self.note_cut(&tree, "git was killed", now).map(|()| None);
        };
        let begun = self.log.last_events()?.remove(name.as_str());
        let head = commit_of(&git, "HEAD")?;
        let begun_at = begun.and_then(|last| last.head);
        let is_unmoved = head.is_some() && begun_at == head;
        if git.succeeds(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
            if merging.is_some() {
                git.ok(&["merge", "--quit"])?;
            }
            let by = head.filter(|h| is_hash(h)).unwrap_or_default();
            let tree = self.index.change(name, |tree| tree.merged(&by, now))?;
            self.save()?;
            self.log
                .note(Note::of("worktree.merge.after", &tree), now)?;
            return Ok(Some(format!("noted that {branch} is merged")));
        }
        if merging.is_some() && !(is_unmoved && self.is_own_merge(&tree)) {
            self.note_cut(&tree, "git was killed; a merge of the user stays", now)?;
            return Ok(Some(format!(
                "a merge of {branch} that crewdeck did not begin is under way and stays: run git merge --continue to finish it, or git merge --abort to undo it"
            )));
        }
        if !is_unmoved {
            self.note_cut(&tree, "git was killed; nothing is undone", now)?;
            let changed = git.ok(&["status", "--porcelain=v1", "--ignore-submodules=all"])?;
            let why = match begun_at {
                Some(_) => "another commit was checked out since",
                None => {
                    "an older version of crewdeck did not note the commit on which it began, so it is not known which files are of the merge"
                }
            };
            return Ok((!changed.is_empty()).then(|| {
                format!(
                    "the merge of {branch} was interrupted, and {why}. Uncommitted files stay: git status shows them"
                )
            }));
        }
        let kept = cut_merge::undo(&git, &self.repo.root, self.repo.git_dir(), &tip)?;
        self.note_cut(&tree, "git was killed; it is undone", now)?;
        let mut line = format!("undid the interrupted merge of {branch}");
        if !kept.is_empty() {
            line.push_str(&format!("; your changes stay: {}", named(&kept)));
        }
        Ok(Some(line))
    }

    /// Whether the merge that is under way in the main work tree is the one of crewdeck's command.
    fn is_own_merge(&self, tree: &Worktree) -> bool {
        let text = |file: &str| {
            plain::read_text(&self.repo.git_dir().join(file), STATE_MAX).unwrap_or_default()
        };
        text("MERGE_MSG").lines().next() == Some(&tree.message())
            && text("MERGE_MODE").split_whitespace().any(|w| w == "no-ff")
    }

    fn note_cut(&self, tree: &Worktree, why: &str, now: Stamp) -> Result<(), StoreError> {
        let note = Note::of("worktree.merge.failed", tree).error(why);
        self.log.note(note, now)
    }

    /// Deletes the branch of a worktree that was not created, if it has no commits of its own.
    fn delete_unused(&self, name: &WorktreeName, now: Stamp) -> Result<Option<String>, StoreError> {
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
        let why = if is_used {
            "it is checked out"
        } else if !git.succeeds(&["merge-base", "--is-ancestor", &tip, &head])? {
            "it has commits that are not merged"
        } else {
            self.delete_branch(name, &tip)?;
            return Ok(Some(format!(
                "deleted branch {branch}: its worktree was not created"
            )));
        };
        // It is said once: the branch is the user's from now on.
        let note = Note::of("worktree.create.failed", &self.entered(name)).error(why);
        self.log.note(note, now)?;
        Ok(Some(format!("branch {branch} stays: {why}")))
    }

    /// Returns the entry in the registry, or a new one for a worktree that only git knows.
    pub(super) fn entered(&self, name: &WorktreeName) -> Worktree {
        self.index.get(name).cloned().unwrap_or_else(|| {
            let path = self.dir.join(name.as_str()).to_string_lossy().into_owned();
            Worktree::new(name.clone(), path, Stamp::default())
        })
    }

    /// Undoes all interrupted merges before the next one begins: see [`Work::undo_cut_merge`].
    pub(super) fn undo_cut_merges(&mut self, now: Stamp) -> Result<(), StoreError> {
        let last = self.log.last_events()?;
        let is_cut = |name: &WorktreeName| {
            last.get(name.as_str())
                .is_some_and(|last| last.event == super::debris::MERGE)
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
        let steps = self.log.cut_steps()?;
        let (_, stay) = locks::clear(&self.repo.root, self.repo.common(), &steps);
        if let Some((lock, holder)) = stay.first() {
            let branch = cut[0].branch();
            let why = format!("{} is there: {holder}", lock.display());
            return Err(WorktreeError::NotMerged { branch, why }.into());
        }
        for name in cut {
            self.undo_cut_merge(&name, now)?;
        }
        Ok(())
    }
}

/// Removes git's entry of an incomplete worktree.
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

/// Returns the files in an incomplete worktree that differ from its branch and are not the beginning of its files.
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
    // A leftover index disturbs nothing.
    let _ = fs::remove_file(&index);
    let mut work = Vec::new();
    for line in split(&listed?) {
        let (Some(what), Some(path)) = (line.get(..2), line.get(3..)) else {
            continue;
        };
        let of_head = || git.ok(&["rev-parse", &format!("HEAD:{path}")]);
        let is_git_s = match what {
            // A name that is no text cannot be passed to git.
            _ if path.contains(char::REPLACEMENT_CHARACTER) => false,
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
