//! What a push of a worktree's branch would publish, and the push. Only commands of the user push.

use std::ffi::OsString;

use super::diff::diff_text;
use super::merge::check_state_untouched;
use super::{OpenRegistry, Worktrees};
use crate::domain::code_host::RepositoryAddress;
use crate::domain::redact::Redactor;
use crate::domain::text::{clip, join_names, one_line};
use crate::domain::worktree::{
    GitRemote, OUTGOING_COMMITS_MAX, OutgoingBranch, Worktree, WorktreeError, WorktreeName,
};
use crate::store::StoreError;
use crate::store::git::{Git, commit_of};

/// Maximum length of a commit's abbreviated hash and subject, in characters.
const COMMIT_MAX: usize = 110;
/// Maximum size of the statistics of the changes, in bytes.
const STAT_MAX: usize = 8 * 1024;
/// Maximum number of remotes that an error names.
const REMOTES_MAX: usize = 5;
/// Maximum length of a URL in an error, in characters.
const URL_MAX: usize = 200;

/// Which branch to push where.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingQuery<'a> {
    pub worktree: &'a WorktreeName,
    /// The commit to push, as [`Worktrees::pushable_commit`] has returned it.
    pub commit: &'a str,
    /// The name of the remote, as [`Worktrees::remote`] has returned it.
    pub remote: &'a str,
    /// The branch at the remote to merge into; `None` for the base branch of the worktree.
    pub base: Option<&'a str>,
    /// The branch at the remote that gets the commits; `None` for one with the name of the worktree's branch.
    pub branch: Option<&'a str>,
    /// Variables with the user's tokens, for git's credential helpers.
    pub variables: &'a [(&'static str, OsString)],
}

impl Worktrees {
    /// Returns the last commit of a worktree's branch if the branch can be pushed. Contacts no remote.
    ///
    /// # Errors
    /// When there is no worktree with that name, its branch is gone, another branch or a commit is checked out in its
    /// folder, the folder has uncommitted files, or a git operation is in progress there.
    pub fn pushable_commit(&self, name: &WorktreeName) -> Result<String, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        let branch = tree.name.branch();
        let Some(tip) = work.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        work.check_finished(&tree.name)?;
        Ok(tip)
    }

    /// Returns the remote to which a worktree's branch is pushed: the remote `wanted`, else the one that the settings of git
    /// name for pushes of the branch, the upstream remote of the branch or of its base branch, `origin`, or the only one.
    ///
    /// # Errors
    /// When there is no such remote, or none can be chosen.
    pub fn remote(
        &self,
        name: &WorktreeName,
        wanted: Option<&str>,
    ) -> Result<GitRemote, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        let git = &work.repo.git;
        let names = git.ok(&["remote"])?;
        // Git would take such a name for an option.
        let names = names.lines().filter(|name| !name.starts_with('-'));
        let names: Vec<String> = names.map(String::from).collect();
        let name = match wanted {
            Some(wanted) => names.iter().find(|name| *name == wanted).cloned(),
            None => work.default_remote(tree, &names)?,
        };
        let Some(name) = name else {
            return Err(no_remote(wanted, &names).into());
        };
        let expanded = git.ok(&["remote", "get-url", "--push", &name])?;
        let expanded = expanded.lines().next().unwrap_or_default();
        let mut address = RepositoryAddress::parse(expanded);
        // A mirror on this machine (`url.PATH.insteadOf`) does not say which service has the repository.
        for key in ["pushurl", "url"] {
            if address.is_none()
                && let Some(url) = setting(git, &format!("remote.{name}.{key}"))?
            {
                address = RepositoryAddress::parse(&url);
            }
        }
        Ok(GitRemote {
            name,
            shown_url: clip(&one_line(&Redactor::default().text(expanded)), URL_MAX),
            address,
        })
    }

    /// Returns what a push would publish. Asks the remote for its branches.
    ///
    /// # Errors
    /// When the remote cannot be read or lacks the base branch, the branch has no commits that the base branch lacks or
    /// changes crewdeck's state folders, or the remote's branch of that name has other commits.
    pub fn outgoing(&self, query: &OutgoingQuery<'_>) -> Result<OutgoingBranch, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(query.worktree)?;
        let (remote, commit, git) = (query.remote, query.commit, &work.repo.git);
        let own = tree.name.branch();
        let base = match query.base {
            Some(base) => base.to_string(),
            None => work.base_of(tree)?.0.ok_or_else(|| {
                refusal(
                    "the main worktree is on no branch: name the branch to merge into with --base",
                )
            })?,
        };
        let branch = query.branch.unwrap_or(&own).to_string();
        for name in [&base, &branch] {
            check_branch_name(git, name)?;
        }
        if base == branch {
            return Err(refusal(format!(
                "{branch} is the branch to merge into: name another one with --branch or --base"
            )));
        }
        let at_remote = git
            .for_remote(query.variables)
            .remote_branches(remote, &[&base, &branch])?;
        let Some(base_commit) = at_remote.get(&base) else {
            return Err(refusal(format!(
                "{remote} has no branch {base} to merge into: push it first (git push {remote} {base}), or name another one with --base"
            )));
        };
        let start = work.known_commit_of_base(remote, &base, base_commit)?;
        check_state_untouched(git, &own, &start, commit)?;
        if work.repo.contains(&start, commit)? {
            return Err(refusal(format!(
                "{own} has no changes that {base} of {remote} lacks: there is nothing to push"
            )));
        }
        let Some(parted) = work.repo.merge_base(&start, commit)? else {
            return Err(refusal(format!(
                "{own} has no commit in common with {base} of {remote}: name another branch to merge into with --base"
            )));
        };
        let pushed = at_remote.get(&branch).cloned();
        if let Some(tip) = &pushed
            && !is_in_history(git, tip, commit)?
        {
            return Err(refusal(format!(
                "{branch} of {remote} has commits that {own} lacks, and crewdeck never replaces commits: merge them in the worktree (git fetch {remote} {branch}, then git merge FETCH_HEAD), or push to another branch with --branch NAME"
            )));
        }
        let count = |from: &str| -> Result<u64, StoreError> {
            let range = format!("{from}..{commit}");
            let count = git.ok(&["rev-list", "--count", &range])?;
            Ok(count.parse().unwrap_or(u64::MAX))
        };
        let form = ["--stat=100", "--stat-count=60"];
        Ok(OutgoingBranch {
            worktree: tree.name.clone(),
            remote: remote.to_string(),
            commit: commit.to_string(),
            tree: git.ok(&["rev-parse", &format!("{commit}^{{tree}}")])?,
            unpushed_count: count(pushed.as_deref().unwrap_or(&start))?,
            commit_count: count(&start)?,
            commits: newest_commits(git, &start, commit)?,
            stat: diff_text(git, &form, &[&parted, commit], STAT_MAX)?,
            base,
            branch,
            pushed,
        })
    }

    /// Pushes the commits of `outgoing`, with the user's hooks. Never replaces commits of the remote.
    ///
    /// # Errors
    /// When the push fails.
    pub fn push(
        &self,
        outgoing: &OutgoingBranch,
        variables: &[(&'static str, OsString)],
    ) -> Result<(), StoreError> {
        let (repo, _) = self.open_repo()?;
        let git = repo.git.for_remote(variables);
        Ok(git.push(&outgoing.remote, &outgoing.refspec())?)
    }
}

impl OpenRegistry {
    /// Returns the remote in `names` to which the branch of `tree` is pushed unless the user names another one.
    fn default_remote(
        &self,
        tree: &Worktree,
        names: &[String],
    ) -> Result<Option<String>, StoreError> {
        let own = tree.name.branch();
        let mut keys = vec![
            format!("branch.{own}.pushRemote"),
            String::from("remote.pushDefault"),
            format!("branch.{own}.remote"),
        ];
        keys.extend(self.base_of(tree)?.0.map(|b| format!("branch.{b}.remote")));
        for key in keys {
            // The upstream of a branch can also be a local branch or a URL.
            let remote = setting(&self.repo.git, &key)?.filter(|remote| names.contains(remote));
            if remote.is_some() {
                return Ok(remote);
            }
        }
        let origin = names.iter().find(|name| *name == "origin");
        let only = names.first().filter(|_| names.len() == 1);
        Ok(origin.or(only).cloned())
    }

    /// Returns the newest known commit of the branch `base` of a remote: `at_remote`, its last commit there, if the
    /// repository has it, else what was fetched last, else the local branch.
    fn known_commit_of_base(
        &self,
        remote: &str,
        base: &str,
        at_remote: &str,
    ) -> Result<String, StoreError> {
        let git = self.repo.git.without_fetching();
        let fetched = format!("refs/remotes/{remote}/{base}");
        let local = format!("refs/heads/{base}");
        for name in [at_remote, &fetched, &local] {
            if let Some(commit) = commit_of(&git, name)? {
                return Ok(commit);
            }
        }
        Err(refusal(format!(
            "the commits of {base} of {remote} are unknown here: run git fetch {remote} {base} first"
        )))
    }
}

fn refusal(why: impl Into<String>) -> StoreError {
    WorktreeError::NotPushable(why.into()).into()
}

/// Returns the error if no remote can be chosen. `names` are all remotes.
fn no_remote(wanted: Option<&str>, names: &[String]) -> WorktreeError {
    let known = join_names(names, REMOTES_MAX, names.len());
    WorktreeError::NotPushable(match (wanted, names) {
        (_, []) => {
            "the repository has no remote to push to: add one (git remote add origin URL)".into()
        }
        (Some(wanted), _) => {
            format!(
                "there is no remote {:?}: existing: {known}",
                clip(wanted, 80)
            )
        }
        (None, _) => {
            format!("the repository has several remotes ({known}): name one with --remote")
        }
    })
}

/// Returns the value of a git setting; `None` if it is not set.
fn setting(git: &Git, key: &str) -> Result<Option<String>, StoreError> {
    let answer = git.run(&["config", "--get", key])?;
    let value = answer.out.trim_end_matches('\n').to_string();
    Ok((answer.code == 0 && !value.is_empty()).then_some(value))
}

/// Checks that git accepts `name` as the name of a branch, and fails otherwise.
fn check_branch_name(git: &Git, name: &str) -> Result<(), StoreError> {
    let is_valid = !name.starts_with('-')
        && git
            .run(&["check-ref-format", &format!("refs/heads/{name}")])?
            .code
            == 0;
    if is_valid {
        return Ok(());
    }
    Err(refusal(format!(
        "{:?} is not a valid name of a branch",
        clip(name, 80)
    )))
}

/// Returns the newest commits in the history of `commit` that `start` lacks, oldest first.
fn newest_commits(git: &Git, start: &str, commit: &str) -> Result<Vec<String>, StoreError> {
    let most = format!("--max-count={OUTGOING_COMMITS_MAX}");
    let range = format!("{start}..{commit}");
    let log = git.ok(&[
        "log",
        "--no-show-signature",
        "--no-color",
        "--reverse",
        "--format=%h %s",
        &most,
        &range,
    ])?;
    let lines = log.lines();
    Ok(lines
        .map(|line| clip(&one_line(line), COMMIT_MAX))
        .collect())
}

/// Returns whether `tip`, a commit that may not be in the repository, is `commit` or in its history.
fn is_in_history(git: &Git, tip: &str, commit: &str) -> Result<bool, StoreError> {
    if commit_of(&git.without_fetching(), tip)?.is_none() {
        return Ok(false);
    }
    Ok(git.succeeds(&["merge-base", "--is-ancestor", tip, commit])?)
}
