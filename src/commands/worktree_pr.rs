//! `crewdeck worktree pr`: pushes the branch of a worktree and opens a pull request for it.
//!
//! Nothing is stored: what has happened already is read from the remote and from the service. A run that was interrupted is
//! therefore continued by the same command.

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;

use super::pull_request_client::{NewPullRequest, PullRequestClient};
use super::{CommandContext, CommandOutcome};
use crate::cli::{CodeHostArg, PullRequestArgs};
use crate::domain::code_host::{CodeHost, RepositoryAddress};
use crate::domain::pull_request::{PullRequest, PullRequestState, PullRequestText};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::count_noun;
use crate::domain::worktree::{GitRemote, OutgoingBranch, Worktree};
use crate::process::supervisor;
use crate::store::{Board, OutgoingQuery, Worktrees};

/// What `crewdeck worktree pr` has done, or would do, as `--json` prints it.
#[derive(Serialize)]
struct PullRequestReport<'a> {
    /// The URL of the pull request; `None` if it was not opened, because of `--dry-run`.
    url: Option<&'a str>,
    /// Whether the pull request was opened now; false if it was open already, and with `--dry-run`.
    opened: bool,
    dry_run: bool,
    remote: &'a str,
    branch: &'a str,
    base: &'a str,
    commit: &'a str,
    /// Number of commits that were pushed. With `--dry-run`, of those that would be pushed.
    pushed: u64,
    /// Number of commits of the pull request.
    commits: u64,
    draft: bool,
    title: &'a str,
    body: &'a str,
    /// The command that pushes; `None` if nothing is to be pushed.
    push_command: Option<Vec<String>>,
    /// The command that opens the pull request, without title and text; `None` if it is open already.
    open_command: Option<Vec<String>>,
}

/// Everything that is known before anything is changed.
struct PullRequestPlan<'a> {
    args: &'a PullRequestArgs,
    client: PullRequestClient,
    outgoing: OutgoingBranch,
    text: PullRequestText,
    task: Option<Task>,
    /// The open pull request of the branch; `None` if there is none.
    open: Option<PullRequest>,
}

/// Pushes the branch of a worktree and opens a pull request, or pushes new commits of an open one.
///
/// # Errors
/// Fails inside a command that crewdeck has started, because only the user pushes. Fails if the branch cannot be pushed,
/// there is nothing to push, or git or the client fails. If the push has succeeded, the error says so and how to continue.
pub fn run(
    args: &PullRequestArgs,
    worktrees: &Worktrees,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    if supervisor::is_in_agent_command() {
        bail!(
            "a command that crewdeck has started, for an agent, a hook or the user (!), cannot push: the user must run it in a shell outside of crewdeck"
        );
    }
    let plan = PullRequestPlan::new(args, worktrees, context)?;
    if args.dry_run {
        let url = plan.open.as_ref().map(|open| open.url.as_str());
        let report = plan.report(url, false);
        context.print(&report, || plan.preview())?;
        plan.warn();
        return Ok(CommandOutcome::Done);
    }
    let noun = plan.noun();
    let OutgoingBranch { remote, branch, .. } = &plan.outgoing;
    let is_pushed = plan.outgoing.needs_push();
    if is_pushed {
        worktrees.push(&plan.outgoing, &plan.client.client().tokens())?;
    }
    let pushed = format!(
        "Pushed {} to {branch} of {remote}.",
        count_noun(
            usize::try_from(plan.outgoing.unpushed_count).unwrap_or(usize::MAX),
            "commit"
        )
    );
    if let Some(open) = &plan.open {
        let report = plan.report(Some(&open.url), false);
        context.print(&report, || {
            format!("{pushed} The {noun} is open already: {}", open.url)
        })?;
        plan.warn();
        return Ok(CommandOutcome::Done);
    }
    let url = plan.open_request().map_err(|why| {
        let has = if is_pushed {
            "was pushed"
        } else {
            "is pushed already"
        };
        anyhow!(
            "{branch} {has} to {remote}, but no {noun} was opened: {why:#}. To continue, run: {}",
            plan.command(context)
        )
    })?;
    let report = plan.report(Some(&url), true);
    context.print(&report, || {
        let pushed = if is_pushed {
            pushed.as_str()
        } else {
            "The commits were pushed already."
        };
        format!(
            "{pushed} Opened a {noun} into {}: {url}",
            plan.outgoing.base
        )
    })?;
    plan.warn();
    Ok(CommandOutcome::Done)
}

impl<'a> PullRequestPlan<'a> {
    /// Checks everything that can be checked, without changing anything.
    fn new(
        args: &'a PullRequestArgs,
        worktrees: &Worktrees,
        context: &CommandContext<'_>,
    ) -> Result<PullRequestPlan<'a>> {
        let tree = worktrees.find(&args.name)?;
        let commit = worktrees.pushable_commit(&tree.name)?;
        let remote = worktrees.remote(&tree.name, args.remote.as_deref())?;
        let (host, address) = repository_of(&remote, args)?;
        let client = PullRequestClient::find(host, &address, context.root)?;
        let branch = args.branch.clone().unwrap_or_else(|| tree.name.branch());
        let known = client.list(&branch)?;
        let noun = host.request_name();
        let is_merged = |request: &&PullRequest| {
            request.state == PullRequestState::Merged && request.commit == commit
        };
        if let Some(merged) = known.iter().find(is_merged) {
            bail!("the {noun} of {branch} is merged already: {}", merged.url);
        }
        let mut known = known.into_iter();
        let open = known.find(|request| request.state == PullRequestState::Open);
        let tokens = client.client().tokens();
        let query = OutgoingQuery {
            worktree: &tree.name,
            commit: &commit,
            remote: &remote.name,
            base: args.base.as_deref(),
            branch: args.branch.as_deref(),
            variables: &tokens,
        };
        let outgoing = match (worktrees.outgoing(&query), &open) {
            (Ok(outgoing), Some(open)) if !outgoing.needs_push() => bail!(
                "{branch} has a {noun} already, and no new commits to push: {}",
                open.url
            ),
            (Err(why), Some(open)) => {
                bail!("{why} ({branch} has an open {noun} already: {})", open.url)
            }
            (outgoing, _) => outgoing?,
        };
        let task = task_of(&tree, context)?;
        Ok(PullRequestPlan {
            text: PullRequestText::new(task.as_ref(), &tree.subject, &outgoing),
            args,
            client,
            outgoing,
            task,
            open,
        })
    }

    fn noun(&self) -> &'static str {
        self.client.client().host().request_name()
    }

    fn new_request(&self) -> NewPullRequest<'_> {
        NewPullRequest {
            branch: &self.outgoing.branch,
            base: &self.outgoing.base,
            is_draft: self.args.draft,
            text: &self.text,
        }
    }

    /// Opens the pull request and returns its URL. If the client fails or prints no URL, looks whether the pull request is
    /// open nevertheless: the answer of the service may have been lost.
    fn open_request(&self) -> Result<String> {
        let why = match self.client.open(&self.new_request()) {
            Ok(Some(url)) => return Ok(url),
            Ok(None) => anyhow!(
                "{} printed no address of a {}",
                self.client.client().name(),
                self.noun()
            ),
            Err(why) => why,
        };
        let listed = self.client.list(&self.outgoing.branch);
        let mut listed = listed.unwrap_or_default().into_iter();
        match listed.find(|request| request.state == PullRequestState::Open) {
            Some(open) => Ok(open.url),
            None => Err(why),
        }
    }

    fn report<'b>(&'b self, url: Option<&'b str>, opened: bool) -> PullRequestReport<'b> {
        let OutgoingBranch {
            remote,
            branch,
            base,
            commit,
            ..
        } = &self.outgoing;
        PullRequestReport {
            url,
            opened,
            dry_run: self.args.dry_run,
            remote,
            branch,
            base,
            commit,
            pushed: self.outgoing.unpushed_count,
            commits: self.outgoing.commit_count,
            draft: self.args.draft,
            title: &self.text.title,
            body: &self.text.body,
            push_command: self.push_command(),
            open_command: self.open_command(),
        }
    }

    /// Returns the command that pushes; `None` if nothing is to be pushed.
    fn push_command(&self) -> Option<Vec<String>> {
        let refspec = self.outgoing.refspec();
        let command = ["git", "push", &self.outgoing.remote, &refspec];
        let command = command.map(String::from).to_vec();
        self.outgoing.needs_push().then_some(command)
    }

    /// Returns the command that opens the pull request, without title and text; `None` if it is open already.
    fn open_command(&self) -> Option<Vec<String>> {
        let command = || self.client.open_command(&self.new_request());
        self.open.is_none().then(command)
    }

    /// Returns what `--dry-run` shows.
    fn preview(&self) -> String {
        let push = match self.push_command() {
            Some(command) => format!("Push:\n  {}", shell_words(&command)),
            None => format!(
                "Push: nothing, {} of {} has the commits already",
                self.outgoing.branch, self.outgoing.remote
            ),
        };
        let open = match (self.open_command(), &self.open) {
            (Some(command), _) => format!(
                "Open a {}:\n  {}\n\nTitle: {}\n\n{}",
                self.noun(),
                shell_words(&command),
                self.text.title,
                self.text.body.trim_end()
            ),
            (None, open) => {
                let url = open.as_ref().map_or("", |open| open.url.as_str());
                format!("The {} is open already: {url}", self.noun())
            }
        };
        format!("{push}\n{open}")
    }

    /// Returns the command that the user has run, with all options that matter for a second run.
    fn command(&self, context: &CommandContext<'_>) -> String {
        let args = self.args;
        let mut words: Vec<String> = ["crewdeck", "worktree", "pr", &args.name]
            .map(String::from)
            .to_vec();
        let options = [
            ("--remote", args.remote.as_deref()),
            ("--to", args.to.map(CodeHostArg::name)),
            ("--base", args.base.as_deref()),
            ("--branch", args.branch.as_deref()),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                words.extend([name.to_string(), value.to_string()]);
            }
        }
        if args.draft {
            words.push("--draft".into());
        }
        let here = std::env::current_dir().and_then(|dir| dir.canonicalize());
        if !here.is_ok_and(|here| here.starts_with(context.root)) {
            words.extend(["--dir".to_string(), context.root.display().to_string()]);
        }
        shell_words(&words)
    }

    /// Prints what the user should know about the pull request.
    fn warn(&self) {
        let mut notices = Vec::new();
        if let Some(task) = &self.task
            && task.status != TaskStatus::Completed
        {
            notices.push(format!(
                "task {} is not completed: it is {}",
                task.id, task.status
            ));
        }
        if self.args.dry_run {
            notices.push(String::from(
                "nothing was pushed or opened, because of --dry-run",
            ));
        }
        CommandContext::warn(&notices);
    }
}

/// Returns the service and the repository of a remote.
fn repository_of(
    remote: &GitRemote,
    args: &PullRequestArgs,
) -> Result<(CodeHost, RepositoryAddress)> {
    let GitRemote {
        name, shown_url, ..
    } = remote;
    let address = remote.address.clone().with_context(|| {
        format!(
            "the remote {name} ({shown_url}) is no repository at GitHub or GitLab: choose another one with --remote, or change its URL (git remote set-url {name} URL)"
        )
    })?;
    let host = match args.to {
        Some(host) => host.into(),
        None => CodeHost::of_server(&address.server).with_context(|| {
            format!(
                "the name of {} does not say whether it is GitHub or GitLab: add --to github or --to gitlab",
                address.server
            )
        })?,
    };
    Ok((host, address))
}

/// Returns the task of a worktree; `None` if the board has none. Of several tasks in the worktree, returns the one that it
/// was created for, else the oldest.
fn task_of(tree: &Worktree, context: &CommandContext<'_>) -> Result<Option<Task>> {
    let task = Board::open(context.root).query(|graph| {
        let own = tree.task_id.and_then(|id| graph.get(id));
        let bound = || {
            let mut tasks = graph.tasks();
            tasks.find(|task| task.worktree == tree.name.as_str())
        };
        own.or_else(bound).cloned()
    })?;
    Ok(task)
}

/// Returns a command as it is written in a shell.
fn shell_words(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let words = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let words = ["git", "push", "o", "abc:refs/heads/it's $HOME", ""].map(String::from);
        assert_eq!(
            shell_words(&words),
            r"git push o 'abc:refs/heads/it'\''s $HOME' ''"
        );
    }
}
