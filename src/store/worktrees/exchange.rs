//! Exchanges the branches of worktrees between the hosts of a crew, over a git remote.
//!
//! At the remote, a crew has its own refs: `refs/crewdeck/CREW/base`, the base commit of the lead, and
//! `refs/crewdeck/CREW/wt/NAME`, the branches of worktrees. They are no branches, so that they disturb no other user of the
//! remote. Fetched refs are kept below `refs/crewdeck/fetched/CREW/`, where commands of agents cannot write.
//!
//! No work is replaced: branches are only fast-forwarded, here and at the remote. If a host was killed at any point, the same
//! call continues.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};

use super::exchange_remote::find_shared_remote;
use super::fetched_refs::{FETCHED, FetchedRefs, is_ancestor, list_fetched, names_to_fetch};
use super::merge::check_state_untouched;
use super::outgoing::refusal;
use super::{OpenRegistry, Worktrees};
use crate::domain::host::HostName;
use crate::domain::text::clip;
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{
    Git, GitError, Hooks, PushHooks, PushResult, RemoteFailure, RemoteLogin, Repo, SharedRemote,
    commit_of,
};

/// Prefix of the refs of all crews at a remote.
const SHARED: &str = "refs/crewdeck/";
/// The ref with the base commit, below the prefix of the crew.
pub(super) const BASE: &str = "base";
/// The folder of the refs with branches, below the prefix of the crew.
pub(super) const BRANCHES: &str = "wt/";
/// Names of folders in `refs/crewdeck/` with other content. A remote may be the clone of another crew.
const RESERVED: [&str; 3] = ["beside", "stash", "fetched"];
/// Maximum length of the name of a crew, in characters.
const CREW_MAX: usize = 32;
/// Maximum number of pushes of a branch that others push at the same time.
const PUSHES_MAX: usize = 3;
/// Maximum length of the start of a name under which a branch is published beside other work, in characters. Eight or nine
/// characters of a hash follow.
const COPY_PREFIX_MAX: usize = 23;
/// Number of digits of the hash of a host's name; even, at most 8.
const HASH_DIGITS: usize = 6;
/// Maximum length of the part of such a name that is from the worktree.
const COPY_WORKTREE_MAX: usize = 14;

/// Publishes, fetches and takes over the branches of the worktrees of a crew. Cheap to clone.
///
/// All methods block. Those that reach the remote wait up to 30 s for its list of refs, and then up to ten minutes for commits.
#[derive(Clone)]
pub struct BranchExchange {
    pub(super) worktrees: Worktrees,
    pub(super) remote: String,
    crew: String,
    pub(super) host: HostName,
    /// Variables with the user's tokens, for credential helpers.
    tokens: Vec<(&'static str, OsString)>,
    /// Git is stopped when this flag becomes true.
    stop: Arc<AtomicBool>,
    /// The base commit that this process has pushed last.
    pub(super) pushed_base: Arc<Mutex<Option<String>>>,
    /// The names of the crew's refs that the remote had at the last fetch of this process, without the prefix; `None` before.
    at_remote: Arc<Mutex<Option<BTreeSet<String>>>>,
}

/// Where a published branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The name under which the other hosts find the commits: that of the worktree, or another one if the remote has other
    /// work under that name.
    pub worktree: WorktreeName,
    /// The last commit of the branch.
    pub commit: String,
    /// The last commit of the other work that has the worktree's name; `None` if there is none.
    pub other_work: Option<String>,
}

/// What a crew has at the remote, as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchedBranches {
    /// The base commit of the lead; `None` if the lead has published none.
    pub base: Option<String>,
    /// The branches, sorted by name.
    pub branches: Vec<FetchedBranch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBranch {
    pub worktree: WorktreeName,
    /// The last commit of the branch.
    pub commit: String,
}

/// A remote that can be reached, and how.
pub(super) struct RemoteConnection {
    /// Runs no hooks.
    pub(super) git: Git,
    login: RemoteLogin,
    pub(super) remote: SharedRemote,
}

/// What a ref at the remote has in common with a commit to push.
enum RefRelation {
    Missing,
    /// The ref has the commit.
    HasCommit,
    /// The commit has everything that the ref has.
    Behind,
    /// The ref has other work.
    Other,
}

/// Names and hashes of refs, without the prefix of the crew.
pub(super) type RefList = BTreeMap<String, String>;

impl BranchExchange {
    /// Returns the exchange of the crew `crew` over `remote`: the name of a remote of the clone in `root`, a URL or an absolute
    /// path. Reads nothing and contacts no server.
    pub fn new(root: &Path, remote: String, crew: &str) -> BranchExchange {
        BranchExchange {
            worktrees: Worktrees::open(root),
            remote,
            crew: crew.into(),
            host: HostName::similar_to(""),
            tokens: Vec::new(),
            stop: Arc::default(),
            pushed_base: Arc::default(),
            at_remote: Arc::default(),
        }
    }

    /// Sets the name of this host. It is a part of the names of branches that are published beside other work.
    #[must_use]
    pub fn with_host(self, host: HostName) -> BranchExchange {
        BranchExchange { host, ..self }
    }

    /// Sets variables with the user's tokens, which git's credential helpers get if no hooks run.
    #[must_use]
    pub fn with_tokens(self, tokens: Vec<(&'static str, OsString)>) -> BranchExchange {
        BranchExchange { tokens, ..self }
    }

    /// Returns the flag that stops a running git when it becomes true. Later calls fail as long as it is true.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Checks that the remote can be read and, as far as git can find out without writing, that it can be written. Runs no
    /// hooks of the clone. The server can still refuse a push.
    ///
    /// # Errors
    /// When the setting names no usable remote, or the remote cannot be reached.
    pub fn check(&self) -> Result<(), StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let head = repo.head()?.commit;
        let connection = self.connect(&repo)?;
        let (git, remote) = (&connection.git, &connection.remote);
        git.shared_refs(remote, &self.prefix())?;
        // Forced, because a ref of this name would say nothing about the right to write.
        let refspec = format!("+{head}:{}check", self.prefix());
        match git.push_shared(remote, &["--dry-run"], &refspec)? {
            PushResult::Done => Ok(()),
            PushResult::Outdated(why) => Err(GitError::from(RemoteFailure::Refused {
                remote: remote.shown.clone(),
                what: "git push --dry-run",
                why,
            })
            .into()),
        }
    }

    /// Publishes the commits of a worktree's branch. Files that are not committed are not published. Commits of the remote are
    /// never replaced: if it has other work under the name, the commits are published under a name with the name of this host
    /// and the start of their hash.
    ///
    /// # Errors
    /// When there is no such branch, it changes crewdeck's state folders or has files that are to stay on this machine, or the
    /// push fails.
    pub fn publish(&self, worktree: &WorktreeName) -> Result<Published, StoreError> {
        self.check_crew()?;
        let work = self.worktrees.read()?;
        let branch = worktree.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        let start = self.start_of(&work, worktree, &tip)?;
        check_state_untouched(&work.repo.git, &branch, &start, &tip)?;
        work.check_no_local_files(&branch, &start, &tip)?;
        let connection = self.connect(&work.repo)?;
        let mut why = String::new();
        for _ in 0..PUSHES_MAX {
            let refs = self.refs_with_commits(&work.repo, &connection, worktree)?;
            let (name, relation) = self.place_for(&work.repo.git, &refs, worktree, &tip)?;
            let other_work = (name != *worktree)
                .then(|| refs.get(&ref_of(worktree)).cloned())
                .flatten();
            let full = format!("{}{}", self.prefix(), ref_of(&name));
            let published = Published {
                worktree: name,
                commit: tip.clone(),
                other_work,
            };
            let git = &work.repo.git;
            if matches!(relation, RefRelation::HasCommit) {
                self.note_published(git, &published, refs.get(&ref_of(&published.worktree)));
                return Ok(published);
            }
            match BranchExchange::push(&work.repo, &connection, &[], &format!("{tip}:{full}"))? {
                PushResult::Done => {
                    self.note_published(git, &published, None);
                    return Ok(published);
                }
                PushResult::Outdated(reason) => why = reason,
            }
        }
        let full = format!("{}{}", self.prefix(), ref_of(worktree));
        Err(other_work(&connection.remote, full, why))
    }

    /// Fetches the base commit and the branches of the crew. Changes no branch, and deletes no fetched ref. Asks the remote for
    /// objects only if something is new. Git checks all objects (`transfer.fsckObjects`), and no hooks run.
    ///
    /// # Errors
    /// When the remote cannot be read.
    pub fn fetch(&self) -> Result<FetchedBranches, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let connection = self.connect(&repo)?;
        let at_remote = self.list_used(&connection)?;
        let prefix = self.fetched_prefix()?;
        let mut here = list_fetched(&repo.git, &prefix)?;
        if self.fetch_new(&connection, &at_remote, &here)? {
            here = list_fetched(&repo.git, &prefix)?;
        }
        // Refs that were deleted at the remote are kept here, but belong to no work of the crew any more.
        here.retain(|name, fetched| fetched.is_commit && at_remote.contains_key(name));
        *self.lock_at_remote() = Some(at_remote.into_keys().collect());
        let branches = here.iter().filter_map(|(name, fetched)| {
            let worktree = WorktreeName::new(name.strip_prefix(BRANCHES)?).ok()?;
            Some(FetchedBranch {
                worktree,
                commit: fetched.hash.clone(),
            })
        });
        Ok(FetchedBranches {
            branches: branches.collect(),
            base: here.get(BASE).map(|fetched| fetched.hash.clone()),
        })
    }

    /// Returns the prefix of the crew's fetched refs.
    pub(super) fn fetched_prefix(&self) -> Result<String, StoreError> {
        self.check_crew()?;
        Ok(format!("{FETCHED}{}/", self.crew))
    }

    pub(super) fn lock_at_remote(&self) -> MutexGuard<'_, Option<BTreeSet<String>>> {
        self.at_remote
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what was published, so that it counts as fetched. After an error, the next fetch does.
    fn note_published(&self, git: &Git, published: &Published, at_remote: Option<&String>) {
        let name = ref_of(&published.worktree);
        let full = format!("{FETCHED}{}/{name}", self.crew);
        let commit = at_remote.unwrap_or(&published.commit);
        if let Err(error) = git.ok(&["update-ref", &full, commit]) {
            tracing::debug!("{full} is not up to date: {error}");
        }
        if let Some(known) = &mut *self.lock_at_remote() {
            known.insert(name);
        }
    }

    /// Returns the prefix of the crew's refs at the remote.
    pub(super) fn prefix(&self) -> String {
        format!("{SHARED}{}/", self.crew)
    }

    pub(super) fn connect(&self, repo: &Repo) -> Result<RemoteConnection, StoreError> {
        self.check_crew()?;
        let remote = find_shared_remote(repo, &self.remote)?;
        let login = RemoteLogin::find(&repo.root, self.tokens.clone(), Arc::clone(&self.stop))?;
        Ok(RemoteConnection {
            git: repo.git.for_remote(&login, Hooks::Skip),
            login,
            remote,
        })
    }

    fn check_crew(&self) -> Result<(), StoreError> {
        let crew = self.crew.as_str();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_valid = !crew.is_empty() && crew.len() <= CREW_MAX && crew.chars().all(is_name);
        // Some file systems ignore case.
        let is_reserved = RESERVED.iter().any(|name| name.eq_ignore_ascii_case(crew));
        if is_valid && !is_reserved {
            return Ok(());
        }
        Err(refusal(format!(
            "the crew {:?} cannot exchange branches, because its name is not valid for refs or crewdeck uses it itself: choose another name in --hub",
            clip(crew, 80)
        )))
    }

    /// Pushes with the user's hooks, unless agents can change them.
    pub(super) fn push(
        repo: &Repo,
        connection: &RemoteConnection,
        options: &[&str],
        refspec: &str,
    ) -> Result<PushResult, StoreError> {
        let hooks = PushHooks::find(repo)?.to_run();
        let git = repo.git.for_remote(&connection.login, hooks);
        Ok(git.push_shared(&connection.remote, options, refspec)?)
    }

    /// Returns the refs at the remote that the hosts of the crew use. Others that push to the remote may add refs, whose names
    /// could prevent that these are fetched.
    fn list_used(&self, connection: &RemoteConnection) -> Result<RefList, GitError> {
        let (git, remote) = (&connection.git, &connection.remote);
        let mut refs = git.shared_refs(remote, &self.prefix())?;
        refs.retain(|name, _| {
            let branch = name.strip_prefix(BRANCHES);
            name == BASE || branch.is_some_and(|branch| WorktreeName::new(branch).is_ok())
        });
        Ok(refs)
    }

    /// Fetches those of the refs `at_remote` that are not among the fetched refs `here`. Returns whether there were any.
    fn fetch_new(
        &self,
        connection: &RemoteConnection,
        at_remote: &RefList,
        here: &FetchedRefs,
    ) -> Result<bool, GitError> {
        let (prefix, crew) = (self.prefix(), &self.crew);
        let names = names_to_fetch(at_remote, here).into_iter();
        let refspecs: Vec<String> = names
            .map(|name| format!("+{prefix}{name}:{FETCHED}{crew}/{name}"))
            .collect();
        connection.git.fetch_shared(&connection.remote, &refspecs)?;
        Ok(!refspecs.is_empty())
    }

    /// Returns the refs that were fetched, as long as they are commits.
    pub(super) fn fetched_refs(&self, git: &Git) -> Result<RefList, StoreError> {
        let fetched = list_fetched(git, &self.fetched_prefix()?)?.into_iter();
        let commits = fetched.filter(|(_, fetched)| fetched.is_commit);
        Ok(commits
            .map(|(name, fetched)| (name, fetched.hash))
            .collect())
    }

    /// Returns the refs of the crew at the remote. The commits of the ref with the name of the worktree are fetched, so that
    /// they can be compared.
    fn refs_with_commits(
        &self,
        repo: &Repo,
        connection: &RemoteConnection,
        worktree: &WorktreeName,
    ) -> Result<RefList, StoreError> {
        let refs = self.list_used(connection)?;
        if let Some((name, commit)) = refs.get_key_value(&ref_of(worktree))
            && commit_of(&repo.git.without_fetching(), commit)?.is_none()
        {
            let wanted = RefList::from([(name.clone(), commit.clone())]);
            self.fetch_new(connection, &wanted, &FetchedRefs::new())?;
        }
        Ok(refs)
    }

    /// Returns the commit from which the commits to publish start: the published base commit, if the branch contains it, else
    /// that of the base branch of the worktree.
    fn start_of(
        &self,
        work: &OpenRegistry,
        worktree: &WorktreeName,
        tip: &str,
    ) -> Result<String, StoreError> {
        let git = &work.repo.git;
        let fetched = format!("{FETCHED}{}/{BASE}", self.crew);
        if let Some(base) = commit_of(git, &fetched)?
            && is_ancestor(git, &base, tip)?
        {
            return Ok(base);
        }
        Ok(match work.index.get(worktree) {
            Some(tree) => work.base_of(tree)?.1,
            None => work.repo.head()?.commit,
        })
    }

    /// Returns the name under which to publish the commit `tip` of a worktree, and what the remote has under that name.
    fn place_for(
        &self,
        git: &Git,
        refs: &RefList,
        worktree: &WorktreeName,
        tip: &str,
    ) -> Result<(WorktreeName, RefRelation), StoreError> {
        let relation = compare(git, refs.get(&ref_of(worktree)), tip)?;
        if !matches!(relation, RefRelation::Other) {
            return Ok((worktree.clone(), relation));
        }
        let prefix = copy_prefix(worktree, &self.host);
        // An earlier commit may have been published beside the other work already.
        for (name, commit) in refs {
            let Some(name) = name
                .strip_prefix(BRANCHES)
                .filter(|n| n.starts_with(&prefix))
            else {
                continue;
            };
            let Ok(name) = WorktreeName::new(name) else {
                continue;
            };
            match compare(git, Some(commit), tip)? {
                RefRelation::Other | RefRelation::Missing => {}
                relation @ (RefRelation::HasCommit | RefRelation::Behind) => {
                    return Ok((name, relation));
                }
            }
        }
        for length in [8, 9] {
            let hash: String = tip.chars().take(length).collect();
            let name = WorktreeName::new(&format!("{prefix}{hash}"))?;
            if !refs.contains_key(&ref_of(&name)) {
                return Ok((name, RefRelation::Missing));
            }
        }
        Err(refusal(format!(
            "{} is not published: the remote has other work under all names for it. Rename the branch (git branch -m)",
            worktree.branch()
        )))
    }
}

/// Returns the name of the ref of a worktree's branch, without the prefix of the crew.
pub(super) fn ref_of(worktree: &WorktreeName) -> String {
    format!("{BRANCHES}{worktree}")
}

/// Returns the start of the names under which `host` publishes a branch beside other work. Valid names of worktrees result,
/// so that such a branch is taken over like any other.
pub(super) fn copy_prefix(worktree: &WorktreeName, host: &HostName) -> String {
    let name: String = worktree.as_str().chars().take(COPY_WORKTREE_MAX).collect();
    let rest = COPY_PREFIX_MAX.saturating_sub(name.len() + 2);
    format!("{name}-{}-", shortened(host, rest))
}

/// Returns the name of a host in lower case, in at most `length` characters. The end of a longer name is replaced by a hash,
/// because the names of the hosts of a farm often differ at the end only.
fn shortened(host: &HostName, length: usize) -> String {
    let name = host.as_str().to_ascii_lowercase();
    if name.len() <= length {
        return name;
    }
    let hash = digest(&SHA256, name.as_bytes());
    let first = hash.as_ref().iter().take(HASH_DIGITS / 2);
    let hash = first.fold(0_u32, |all, byte| (all << 8) | u32::from(*byte));
    let start: String = name
        .chars()
        .take(length.saturating_sub(HASH_DIGITS))
        .collect();
    format!("{start}{hash:0HASH_DIGITS$x}")
}

/// Compares the commit of a ref at the remote with the commit `tip`. A commit that is not in this repository counts as other
/// work.
fn compare(git: &Git, commit: Option<&String>, tip: &str) -> Result<RefRelation, StoreError> {
    let Some(commit) = commit else {
        return Ok(RefRelation::Missing);
    };
    if commit == tip {
        return Ok(RefRelation::HasCommit);
    }
    if commit_of(&git.without_fetching(), commit)?.as_ref() != Some(commit) {
        return Ok(RefRelation::Other);
    }
    Ok(if is_ancestor(git, tip, commit)? {
        RefRelation::HasCommit
    } else if is_ancestor(git, commit, tip)? {
        RefRelation::Behind
    } else {
        RefRelation::Other
    })
}

pub(super) fn other_work(remote: &SharedRemote, name: String, why: String) -> StoreError {
    let remote = remote.shown.clone();
    GitError::from(RemoteFailure::OtherWork { remote, name, why }).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::{assert_eq, assert_ne};

    #[test]
    fn names_beside_other_work_are_valid_names_of_worktrees() {
        for (name, host, expected) in [
            ("task-3", "gpu-box", "task-3-gpu-box-"),
            ("task-3-2", "H", "task-3-2-h-"),
            (
                "a-name-with-all-32-characters-xx",
                "a-host-with-all-32-characters-xx",
                "a-name-with-al-a8c3da8-",
            ),
        ] {
            let worktree = WorktreeName::new(name).unwrap();
            let prefix = copy_prefix(&worktree, &HostName::parse(host).unwrap());
            assert_eq!(prefix, expected);
            assert!(WorktreeName::new(&format!("{prefix}123456789")).is_ok());
        }
    }

    #[test]
    fn hosts_whose_names_differ_at_the_end_publish_under_different_names() {
        let worktree = WorktreeName::new("task-3").unwrap();
        let prefix = |host: &str| copy_prefix(&worktree, &HostName::parse(host).unwrap());
        assert_ne!(prefix("gpu-builder-farm-01"), prefix("gpu-builder-farm-02"));
        assert_eq!(prefix("gpu-builder-farm-01"), prefix("GPU-builder-farm-01"));
    }
}
