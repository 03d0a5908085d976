//! Moves refs of the repository to where a command has moved its private ones, or keeps the commits beside.

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

use super::folder::Folder;
use super::refs::{self, Change, Reason, Verdict};
use super::{PrivateHistory, git, objects};
use crate::domain::text::one_line;

/// How often a ref is tried to be moved while it has its old value: another git may hold its lock.
const ATTEMPTS: usize = 3;
/// The pause between two attempts. Git itself waits for a lock too.
const PAUSE: Duration = Duration::from_millis(100);
/// The refs that keep commits which no other ref has.
const BESIDE: &str = "refs/crewdeck/beside/";
/// Most of them. The oldest go first.
const BESIDE_MAX: usize = 100;
/// How many digits of a hash name it.
const SHORT: usize = 12;

/// A change of a ref that was not transferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRef {
    /// The change.
    pub change: Change,
    /// Why.
    pub reason: Reason,
    /// The ref that keeps its commits; `None`: other refs have them, or they are damaged.
    pub kept: Option<String>,
}

impl RefusedRef {
    /// A line for the model: what was refused, why, where the commits are, and what to do.
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
                " To update the ref, run only this command; the user must approve it: `{command}`."
            ));
        }
        one_line(&(text + "]"))
    }

    fn why(&self) -> String {
        match &self.reason {
            Reason::Symbolic => "Commands cannot change symbolic refs.".into(),
            Reason::NoHash => "The new value is not the hash of an object.".into(),
            Reason::Managed => "Only crewdeck changes this ref.".into(),
            Reason::WrongPlace => {
                "Commands can create refs only below refs/heads/, refs/tags/, refs/notes/ and refs/remotes/."
                    .into()
            }
            Reason::NotMadeHere => {
                "Commands can change or delete only refs that were created in this work directory.".into()
            }
            Reason::LosesCommits => {
                "The new value would lose commits of the branch that is checked out.".into()
            }
            Reason::Incomplete => "Objects that the new value needs are damaged or missing.".into(),
            Reason::Moved => "Another process changed it while the command ran.".into(),
            Reason::Git(why) => format!("git reported: {}.", why.trim_end_matches('.')),
        }
    }

    /// The command that makes the change when the user allows it. It moves nothing but the ref.
    fn remedy(&self) -> Option<String> {
        let name = &self.change.name;
        match (&self.reason, &self.change.new) {
            (Reason::NotMadeHere | Reason::LosesCommits, Some(new)) => {
                Some(format!("git update-ref {name} {}", short(new)))
            }
            (Reason::NotMadeHere, None) => Some(format!("git update-ref -d {name}")),
            (_, _) => None,
        }
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(SHORT).collect()
}

impl PrivateHistory {
    /// Moves the refs that may be moved. Returns the others.
    pub(super) fn accept(
        &self,
        dir: &Folder,
        changes: &[Change],
        objects: objects::CopyResult,
    ) -> io::Result<Vec<RefusedRef>> {
        let packed = refs::read_packed(&self.common)?;
        let mut made: BTreeSet<String> = refs::read_names(dir, "made")?;
        let before = made.clone();
        let mut refused = Vec::new();
        // Those that go first: a new ref may have the name of one as its folder.
        let (gone, others): (Vec<_>, Vec<_>) = changes.iter().partition(|c| c.new.is_none());
        for change in gone.into_iter().chain(others) {
            let change = change.clone().with_packed(&packed);
            let is_branch = self.branch.is(&change.name);
            let mut is_forward = change.old.is_none();
            let done = match refs::verdict(&change, &self.branch, &made) {
                Verdict::Private => continue,
                Verdict::Refuse(reason) => Err(reason),
                Verdict::AcceptForward => {
                    is_forward = self.is_forward(&change)?;
                    if is_forward {
                        Ok(())
                    } else {
                        Err(Reason::LosesCommits)
                    }
                }
                Verdict::Accept => Ok(()),
            };
            let is_whole = match &change.new {
                // Nothing else is an argument for git.
                Some(new) if !refs::is_object(new) => false,
                Some(new) if objects == objects::CopyResult::Some => {
                    git::is_connected(&self.common, new)?
                }
                Some(_) | None => true,
            };
            let done = match done {
                Ok(()) if !is_whole => Err(Reason::Incomplete),
                Ok(()) => self.update(&change)?,
                refused @ Err(_) => refused,
            };
            if done.is_ok() && !is_forward {
                // What the ref led to before is lost to the next housekeeping where nothing else has it.
                self.keep_beside(change.old.as_deref())?;
            }
            match (done, &change.old, &change.new) {
                (Ok(()), None, Some(_)) if is_branch => {}
                (Ok(()), None, Some(_)) => drop(made.insert(change.name)),
                (Ok(()), Some(_), None) => drop(made.remove(&change.name)),
                (Ok(()), _, _) => {}
                (Err(reason), _, _) => refused.push(RefusedRef {
                    kept: if is_whole {
                        self.keep_beside(change.new.as_deref())?
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

    /// Whether the new commit has the old one in its history.
    fn is_forward(&self, change: &Change) -> io::Result<bool> {
        match (&change.old, &change.new) {
            (Some(old), Some(new)) => git::is_ancestor(&self.common, old, new),
            (_, _) => Ok(true),
        }
    }

    /// Moves a ref if it has its old value, also when it has the new one since an earlier transfer was cut off.
    fn update(&self, change: &Change) -> io::Result<Result<(), Reason>> {
        try_to_update(
            change,
            || git::update_ref(&self.common, change),
            || refs::current(&self.common, &change.name),
        )
    }

    /// Keeps the commits of a value that no ref leads to. Returns the ref.
    fn keep_beside(&self, value: Option<&str>) -> io::Result<Option<String>> {
        let Some(new) = value.filter(|new| refs::is_object(new)) else {
            return Ok(None);
        };
        let kept = Change {
            name: format!("{BESIDE}{}", short(new)),
            old: None,
            new: Some(new.to_string()),
        };
        let is_needed = refs::current(&self.common, &kept.name)?.is_some()
            || git::has_new_commits(&self.common, new)?;
        if !is_needed {
            return Ok(None);
        }
        let is_kept = self.update(&kept)?.is_ok();
        self.let_go_beside()?;
        Ok(is_kept.then_some(kept.name))
    }

    /// Removes the oldest refs that keep commits beside, but [`BESIDE_MAX`].
    fn let_go_beside(&self) -> io::Result<()> {
        let mut all: Vec<(SystemTime, String, String)> = Vec::new();
        for (name, value) in refs::all_below(&self.common, BESIDE)? {
            // A packed one has no file of its own; it was there before all that have.
            let file = self.common.join(&name).symlink_metadata();
            let since = file.and_then(|file| file.modified());
            all.push((since.unwrap_or(SystemTime::UNIX_EPOCH), name, value));
        }
        all.sort();
        let surplus = all.len().saturating_sub(BESIDE_MAX);
        for (_, name, value) in all.into_iter().take(surplus) {
            let change = Change {
                name,
                old: Some(value),
                new: None,
            };
            // One that stays goes with the next.
            let _ = git::update_ref(&self.common, &change)?;
        }
        Ok(())
    }
}

/// Tries a change until it is made or `current` is neither its old nor its new value.
fn try_to_update(
    change: &Change,
    mut update: impl FnMut() -> io::Result<Result<(), String>>,
    mut current: impl FnMut() -> io::Result<Option<String>>,
) -> io::Result<Result<(), Reason>> {
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
            return Ok(Err(Reason::Moved));
        }
        if attempt == ATTEMPTS {
            return Ok(Err(Reason::Git(why)));
        }
        attempt += 1;
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn change() -> Change {
        Change {
            name: "refs/heads/main".into(),
            old: Some("a".repeat(40)),
            new: Some("b".repeat(40)),
        }
    }

    /// Runs a change whose ref has the value `now` and whose first `fails` attempts fail; with their number.
    fn tried(fails: usize, now: Option<&String>) -> (Result<(), Reason>, usize) {
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
    fn update_is_repeated_while_the_ref_has_its_old_value() {
        let change = change();
        assert_eq!(tried(ATTEMPTS - 1, change.old.as_ref()), (Ok(()), ATTEMPTS));
        let refused = Err(Reason::Git("locked".into()));
        assert_eq!(tried(ATTEMPTS, change.old.as_ref()), (refused, ATTEMPTS));
        assert_eq!(tried(1, change.new.as_ref()), (Ok(()), 1));
        assert_eq!(tried(9, Some(&"c".repeat(40))), (Err(Reason::Moved), 1));
        assert_eq!(tried(9, None), (Err(Reason::Moved), 1));
    }

    #[test]
    fn refusal_names_the_kept_commits_and_the_command_that_helps() {
        let refused = RefusedRef {
            change: change(),
            reason: Reason::LosesCommits,
            kept: Some("refs/crewdeck/beside/bbbbbbbbbbbb".into()),
        };
        assert_eq!(
            refused.line(),
            "[Ref not updated: refs/heads/main. The new value would lose commits of the branch that is checked out. \
             The commits are kept as refs/crewdeck/beside/bbbbbbbbbbbb: see them with `git log bbbbbbbbbbbb`, use them \
             with `git merge bbbbbbbbbbbb` or `git branch NAME bbbbbbbbbbbb`. To update the ref, run only this command; the user must approve \
             it: `git update-ref refs/heads/main bbbbbbbbbbbb`.]"
        );
        let deleted = RefusedRef {
            change: Change {
                new: None,
                ..change()
            },
            reason: Reason::NotMadeHere,
            kept: None,
        };
        assert!(
            deleted
                .line()
                .contains("`git update-ref -d refs/heads/main`")
        );
    }
}
