//! What a push of a worktree's branch would publish, and the push. Only commands of the user push this way.

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
use crate::store::git::{Git, Hooks, PushHooks, RemoteLogin, commit_of};

/// Maximum size of the statistics of the changes, in bytes. Larger than what is shown, because secrets in the names of files
/// are found only in whole names.
const STAT_MAX: usize = 256 * 1024;
/// Maximum number of remotes that an error names.
const REMOTES_MAX: usize = 5;
/// Maximum length of a URL in an error, in characters.
const URL_MAX: usize = 200;

/// Which branch to push where.
#[derive(Clone, Copy)]
pub struct OutgoingQuery<'a> {
    pub worktree: &'a WorktreeName,
    /// The commit to push, as [`Worktrees::pushable_commit`] has returned it.
    pub commit: &'a str,
    /// The remote, as [`Worktrees::remote`] has returned it.
    pub remote: &'a GitRemote,
    /// The branch at the remote to merge into; `None` for the base branch of the worktree.
    pub base: Option<&'a str>,
    /// The branch at the remote that gets the commits; `None` for one with the name of the worktree's branch.
    pub branch: Option<&'a str>,
    pub login: &'a RemoteLogin,
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
    /// When there is no such remote, none can be chosen, or git would push all branches or to several places.
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
        let mirror = format!("remote.{name}.mirror");
        let is_mirror = git.run(&["config", "--type=bool", "--get", &mirror])?;
        if is_mirror.out.trim() == "true" {
            return Err(refusal(format!(
                "the remote {name} is a mirror ({mirror}), to which git pushes all branches at once: choose another one with --remote"
            )));
        }
        let push_urls = git.ok(&["remote", "get-url", "--push", "--all", &name])?;
        let mut push_urls = push_urls.lines();
        let push_url = push_urls.next().unwrap_or_default();
        let others = push_urls.count();
        if others > 0 {
            return Err(refusal(format!(
                "git pushes to {} repositories for the remote {name} (git remote get-url --push --all {name}), and crewdeck pushes to one: choose another remote with --remote",
                others + 1
            )));
        }
        let fetch_url = git.ok(&["remote", "get-url", &name])?;
        let mut address = RepositoryAddress::parse(push_url);
        // A mirror on this machine (`url.PATH.insteadOf`) does not say which service has the repository. The other URL of the
        // remote may belong to another repository.
        let own = match setting(git, &format!("remote.{name}.pushurl"))? {
            Some(url) => Some(url),
            None => setting(git, &format!("remote.{name}.url"))?,
        };
        if address.is_none() {
            address = own.and_then(|url| RepositoryAddress::parse(&url));
        }
        Ok(GitRemote {
            shown_url: clip(&one_line(&Redactor::default().text(push_url)), URL_MAX),
            address,
            push_url: (fetch_url != push_url).then(|| push_url.to_string()),
            name,
        })
    }

    /// Returns which hooks run at a push.
    ///
    /// # Errors
    /// When git fails.
    pub fn push_hooks(&self) -> Result<PushHooks, StoreError> {
        let (repo, _) = self.open_repo()?;
        Ok(PushHooks::find(&repo)?)
    }

    /// Returns what a push would publish; that may be nothing. Asks the remote for its branches.
    ///
    /// # Errors
    /// When the remote cannot be read or lacks the base branch, or has commits of it that were not fetched. Also when the
    /// branch changes crewdeck's state folders or has files that are to stay on this machine, and when the remote's branch of
    /// that name has other commits.
    pub fn outgoing(&self, query: &OutgoingQuery<'_>) -> Result<OutgoingBranch, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(query.worktree)?;
        let (commit, git) = (query.commit, &work.repo.git);
        let remote = query.remote.name.as_str();
        let source = query.remote.shown_source();
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
            .for_remote(query.login, Hooks::Skip)
            .remote_branches(query.remote, &[&base, &branch])?;
        let Some(base_commit) = at_remote.get(&base) else {
            return Err(refusal(format!(
                "{source} has no branch {base} to merge into: push it first (git push {remote} {base}), or name another one with --base"
            )));
        };
        // With an older commit, the list of commits and changes would be wrong, and a branch that was merged there would be
        // pushed again.
        let Some(start) = commit_of(&git.without_fetching(), base_commit)? else {
            return Err(refusal(format!(
                "{base} of {source} has commits that are not in this repository: run git fetch {source} {base} first"
            )));
        };
        check_state_untouched(git, &own, &start, commit)?;
        let Some(parted) = work.repo.merge_base(&start, commit)? else {
            return Err(refusal(format!(
                "{own} has no commit in common with {base} of {source}: name another branch to merge into with --base"
            )));
        };
        let is_merged = work.repo.contains(&start, commit)?;
        let pushed = at_remote.get(&branch).cloned();
        if let Some(tip) = &pushed
            && !is_merged
            && !is_in_history(git, tip, commit)?
        {
            return Err(refusal(format!(
                "{branch} of {source} has commits that {own} lacks, and crewdeck never replaces commits: merge them in the worktree (git fetch {source} {branch}, then git merge FETCH_HEAD), or push to another branch with --branch NAME"
            )));
        }
        if !is_merged {
            work.check_no_local_files(&own, &start, commit)?;
        }
        let count = |from: &str| -> Result<u64, StoreError> {
            let range = format!("{from}..{commit}");
            let count = git.ok(&["rev-list", "--count", &range])?;
            Ok(count.parse().unwrap_or(u64::MAX))
        };
        let (unpushed_count, commit_count) = if is_merged {
            (0, 0)
        } else {
            (count(pushed.as_deref().unwrap_or(&start))?, count(&start)?)
        };
        // Wide enough that git shortens no path.
        let form = [
            "--stat=4400",
            "--stat-name-width=4200",
            "--stat-graph-width=40",
            "--stat-count=60",
        ];
        Ok(OutgoingBranch {
            worktree: tree.name.clone(),
            remote: remote.to_string(),
            commit: commit.to_string(),
            tree: git.ok(&["rev-parse", &format!("{commit}^{{tree}}")])?,
            unpushed_count,
            commit_count,
            commits: newest_commits(git, &start, commit)?,
            stat: diff_text(git, &form, &[&parted, commit], STAT_MAX)?,
            base,
            branch,
            pushed,
        })
    }

    /// Pushes the commits of `outgoing`, with `hooks` if they are the user's own. Never replaces commits of the remote.
    ///
    /// # Errors
    /// When the push fails.
    pub fn push(
        &self,
        outgoing: &OutgoingBranch,
        login: &RemoteLogin,
        hooks: &PushHooks,
    ) -> Result<(), StoreError> {
        let (repo, _) = self.open_repo()?;
        let git = repo.git.for_remote(login, hooks.to_run());
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
        if let Some(origin) = names.iter().find(|name| *name == "origin") {
            return Ok(Some(origin.clone()));
        }
        // Several names of one repository are no choice.
        let git = &self.repo.git;
        let url = |name: &String| git.ok(&["remote", "get-url", "--push", "--all", name]);
        let mut urls = names.iter().map(url).collect::<Result<Vec<_>, _>>()?;
        urls.dedup();
        Ok(names.first().filter(|_| urls.len() == 1).cloned())
    }
}

pub(super) fn refusal(why: impl Into<String>) -> StoreError {
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
    Ok(log.lines().map(one_line).collect())
}

/// Returns whether `tip`, a commit that may not be in the repository, is `commit` or in its history.
fn is_in_history(git: &Git, tip: &str, commit: &str) -> Result<bool, StoreError> {
    if commit_of(&git.without_fetching(), tip)?.is_none() {
        return Ok(false);
    }
    Ok(git.succeeds(&["merge-base", "--is-ancestor", tip, commit])?)
}
