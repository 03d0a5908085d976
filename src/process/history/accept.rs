//! Applies the ref changes of a command to the repository, or refuses them and keeps their commits under another ref.

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

use super::folder::Folder;
use super::refs::{self, RefChange, RefVerdict, RefusalReason};
use super::{PrivateHistory, git};
use crate::domain::text::one_line;

/// Maximum number of attempts to update a ref. An attempt fails while another git process holds the lock of the ref.
const ATTEMPTS: usize = 3;
/// Pause between two attempts to update a ref. Each attempt already includes the time that git itself waits for a lock.
const PAUSE: Duration = Duration::from_millis(100);
/// Prefix of the refs that crewdeck creates for commits that no other ref reaches, so that git does not delete the
/// commits.
const KEPT_COMMITS: &str = "refs/crewdeck/beside/";
/// Maximum number of refs below [`KEPT_COMMITS`]. If there are more, the oldest are deleted.
const KEPT_COMMITS_MAX: usize = 100;
const SHORT_HASH_LEN: usize = 12;

/// A ref change that a command made in its private history, and that was not applied to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRef {
    pub change: RefChange,
    pub reason: RefusalReason,
    /// The ref below `KEPT_COMMITS` that keeps the new commits of the change. `None` if other refs reach these commits,
    /// or if they could not be kept.
    pub kept: Option<String>,
}

impl RefusedRef {
    /// Formats a line for the model: which ref was not updated, why, where the commits are, and what to do.
    pub fn line(&self) -> String {
        let mut text = format!("[Ref not updated: {}. {}", self.change.name, self.why());
        if let (Some(kept), Some(new)) = (&self.kept, &self.change.new) {
            let short = short(new);
            text.push_str(&format!(
                " The commits are kept as {kept}: see them with `git log {short}`, use them with \
                 `git merge {short}` or `git branch NAME {short}`."
            ));
        }
        if let Some(command) = self.remedy() {
            text.push_str(&format!(
                " To update the ref, run `{command}` alone, in its own call; the user must approve it."
            ));
        }
        one_line(&(text + "]"))
    }

    fn why(&self) -> String {
        match &self.reason {
            RefusalReason::Symbolic => "Commands cannot change symbolic refs.".into(),
            RefusalReason::NoHash => "The new value is not the hash of an object.".into(),
            RefusalReason::Managed => "Only crewdeck changes this ref.".into(),
            RefusalReason::WrongPlace => {
                "Commands can create refs only below refs/heads/, refs/tags/, refs/notes/ and refs/remotes/."
                    .into()
            }
            RefusalReason::NotMadeHere => {
                "Commands can change or delete only refs that were created in this work directory.".into()
            }
            RefusalReason::LosesCommits => {
                "The new value would lose commits of the branch that is checked out.".into()
            }
            RefusalReason::Incomplete => "Objects that the new value needs are damaged or missing.".into(),
            RefusalReason::Moved => "Another process changed the ref while the command ran.".into(),
            RefusalReason::Git(why) => format!("git reported: {}.", why.trim_end_matches('.')),
        }
    }

    /// Returns a git command that makes this ref change and nothing else, for the user to approve. Returns `None` if
    /// the change was refused for a reason other than [`RefusalReason::NotMadeHere`] and
    /// [`RefusalReason::LosesCommits`].
    fn remedy(&self) -> Option<String> {
        let name = &self.change.name;
        match (&self.reason, &self.change.new) {
            (RefusalReason::NotMadeHere | RefusalReason::LosesCommits, Some(new)) => {
                Some(format!("git update-ref {name} {}", short(new)))
            }
            (RefusalReason::NotMadeHere, None) => Some(format!("git update-ref -d {name}")),
            (_, _) => None,
        }
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(SHORT_HASH_LEN).collect()
}

impl PrivateHistory {
    /// Applies to the repository the ref changes that [`refs::verdict`] accepts. Skips changes of private refs. If
    /// `has_all_objects` is false, also refuses each change whose new value needs objects that the repository lacks.
    /// Returns the refused changes, including those that git refuses.
    ///
    /// For commits that no ref would reach any more, creates a ref below [`KEPT_COMMITS`]. Records in the file `made`
    /// which refs commands have created.
    pub(super) fn accept(
        &self,
        dir: &Folder,
        changes: &[RefChange],
        has_all_objects: bool,
    ) -> io::Result<Vec<RefusedRef>> {
        let packed = refs::read_packed(&self.common)?;
        let mut made: BTreeSet<String> = refs::read_names(dir, "made")?;
        let before = made.clone();
        let mut refused = Vec::new();
        // Deletions are applied first, because the name of a deleted ref may be a folder in the name of a new one.
        let (gone, others): (Vec<_>, Vec<_>) = changes.iter().partition(|c| c.new.is_none());
        for change in gone.into_iter().chain(others) {
            let change = change.clone().with_packed(&packed);
            let is_branch = self.branch.is(&change.name);
            let mut is_forward = change.old.is_none();
            let done = match refs::verdict(&change, &self.branch, &made) {
                RefVerdict::Private => continue,
                RefVerdict::Refuse(reason) => Err(reason),
                RefVerdict::AcceptForward => {
                    is_forward = self.is_forward(&change)?;
                    if is_forward {
                        Ok(())
                    } else {
                        Err(RefusalReason::LosesCommits)
                    }
                }
                RefVerdict::Accept => Ok(()),
            };
            let is_whole = match &change.new {
                // Only an object name is passed to git.
                Some(new) if !refs::is_object(new) => false,
                Some(new) if !has_all_objects => git::is_connected(&self.common, new)?,
                Some(_) | None => true,
            };
            let done = match done {
                Ok(()) if !is_whole => Err(RefusalReason::Incomplete),
                Ok(()) => self.update(&change)?,
                refused @ Err(_) => refused,
            };
            if done.is_ok() && !is_forward {
                // git's garbage collection would delete the old commits if no other ref has them.
                self.keep_unreferenced(change.old.as_deref())?;
            }
            match (done, &change.old, &change.new) {
                (Ok(()), None, Some(_)) if is_branch => {}
                (Ok(()), None, Some(_)) => drop(made.insert(change.name)),
                (Ok(()), Some(_), None) => drop(made.remove(&change.name)),
                (Ok(()), _, _) => {}
                (Err(reason), _, _) => refused.push(RefusedRef {
                    kept: if is_whole {
                        self.keep_unreferenced(change.new.as_deref())?
                    } else {
                        None
                    },
                    reason,
                    change,
                }),
            }
        }
        if made != before {
            refs::write_names(dir, "made", &made)?;
        }
        Ok(refused)
    }

    /// Returns whether the change is a fast-forward, which loses no commit. Also true if the change creates or deletes
    /// the ref.
    fn is_forward(&self, change: &RefChange) -> io::Result<bool> {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => git::is_ancestor(&self.common, old, new),
            (_, _) => Ok(true),
        }
    }

    /// Updates a ref of the repository if it still has its old value. Also succeeds if the ref already has its new
    /// value, for example because crewdeck was killed after an earlier update. If the ref was not updated, the inner
    /// error is the reason.
    fn update(&self, change: &RefChange) -> io::Result<Result<(), RefusalReason>> {
        try_to_update(
            change,
            || git::update_ref(&self.common, change),
            || refs::current(&self.common, &change.name),
        )
    }

    /// Creates a ref below [`KEPT_COMMITS`] for the commit `value`, if no other ref reaches the commit. Returns the
    /// name of that ref, also if it already exists; `None` if no ref is needed or it could not be created.
    fn keep_unreferenced(&self, value: Option<&str>) -> io::Result<Option<String>> {
        let Some(new) = value.filter(|new| refs::is_object(new)) else {
            return Ok(None);
        };
        let kept = RefChange {
            name: format!("{KEPT_COMMITS}{}", short(new)),
            old: None,
            new: Some(new.to_string()),
        };
        let is_needed = refs::current(&self.common, &kept.name)?.is_some()
            || git::has_new_commits(&self.common, new)?;
        if !is_needed {
            return Ok(None);
        }
        let is_kept = self.update(&kept)?.is_ok();
        self.prune_kept_refs()?;
        Ok(is_kept.then_some(kept.name))
    }

    /// Deletes the oldest refs below [`KEPT_COMMITS`], so that at most [`KEPT_COMMITS_MAX`] remain.
    fn prune_kept_refs(&self) -> io::Result<()> {
        let mut all: Vec<(SystemTime, String, String)> = Vec::new();
        for (name, value) in refs::refs_below(&self.common, KEPT_COMMITS)? {
            // A packed ref has no separate file, and counts as older than all loose refs.
            let file = self.common.join(&name).symlink_metadata();
            let since = file.and_then(|file| file.modified());
            all.push((since.unwrap_or(SystemTime::UNIX_EPOCH), name, value));
        }
        all.sort();
        let surplus = all.len().saturating_sub(KEPT_COMMITS_MAX);
        for (_, name, value) in all.into_iter().take(surplus) {
            let change = RefChange {
                name,
                old: Some(value),
                new: None,
            };
            // If this fails, the next call tries again.
            let _ = git::update_ref(&self.common, &change)?;
        }
        Ok(())
    }
}

/// Tries to update a ref, up to [`ATTEMPTS`] times. `update` makes one attempt, `current` returns the ref's current
/// value. Also succeeds if the ref already has its new value. If the ref has neither its old nor its new value, gives
/// up early with [`RefusalReason::Moved`].
fn try_to_update(
    change: &RefChange,
    mut update: impl FnMut() -> io::Result<Result<(), String>>,
    mut current: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<Result<(), RefusalReason>> {
    let mut attempt = 1;
    loop {
        let Err(why) = update()? else {
            return Ok(Ok(()));
        };
        let now = current()?;
        if now == change.new {
            return Ok(Ok(()));
        }
        if now != change.old {
            return Ok(Err(RefusalReason::Moved));
        }
        if attempt == ATTEMPTS {
            return Ok(Err(RefusalReason::Git(why)));
        }
        attempt += 1;
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn change() -> RefChange {
        RefChange {
            name: "refs/heads/main".into(),
            old: Some("a".repeat(40)),
            new: Some("b".repeat(40)),
        }
    }

    /// Calls [`try_to_update`] for a ref whose current value is `now`; the first `fails` attempts fail. Returns the
    /// result and the number of attempts.
    fn run_change(fails: usize, now: Option<&String>) -> (Result<(), RefusalReason>, usize) {
        let mut attempts = 0;
        let update = || {
            attempts += 1;
            Ok(if attempts <= fails {
                Err("locked".into())
            } else {
                Ok(())
            })
        };
        let done = try_to_update(&change(), update, || Ok(now.cloned())).unwrap();
        (done, attempts)
    }

    #[test]
    fn update_is_retried_while_the_ref_has_its_old_value() {
        let change = change();
        assert_eq!(
            run_change(ATTEMPTS - 1, change.old.as_ref()),
            (Ok(()), ATTEMPTS)
        );
        let refused = Err(RefusalReason::Git("locked".into()));
        assert_eq!(
            run_change(ATTEMPTS, change.old.as_ref()),
            (refused, ATTEMPTS)
        );
        assert_eq!(run_change(1, change.new.as_ref()), (Ok(()), 1));
        assert_eq!(
            run_change(9, Some(&"c".repeat(40))),
            (Err(RefusalReason::Moved), 1)
        );
        assert_eq!(run_change(9, None), (Err(RefusalReason::Moved), 1));
    }

    #[test]
    fn refusal_names_the_kept_commits_and_the_remedy() {
        let refused = RefusedRef {
            change: change(),
            reason: RefusalReason::LosesCommits,
            kept: Some("refs/crewdeck/beside/bbbbbbbbbbbb".into()),
        };
        assert_eq!(
            refused.line(),
            "[Ref not updated: refs/heads/main. The new value would lose commits of the branch that is checked out. \
             The commits are kept as refs/crewdeck/beside/bbbbbbbbbbbb: see them with `git log bbbbbbbbbbbb`, use them \
             with `git merge bbbbbbbbbbbb` or `git branch NAME bbbbbbbbbbbb`. To update the ref, run \
             `git update-ref refs/heads/main bbbbbbbbbbbb` alone, in its own call; the user must approve it.]"
        );
        let deleted = RefusedRef {
            change: RefChange {
                new: None,
                ..change()
            },
            reason: RefusalReason::NotMadeHere,
            kept: None,
        };
        assert!(
            deleted
                .line()
                .contains("`git update-ref -d refs/heads/main`")
        );
    }
}
