//! `crewdeck worktree pr`: pushes the branch of a worktree and opens a pull request for it.
//!
//! Nothing is stored: what has happened already is read from the remote and from the service. A run that was interrupted is
//! therefore continued by the same command.

mod report;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, anyhow, bail};

use super::pull_request_client::{NewPullRequest, PullRequestClient};
use super::{CommandContext, CommandOutcome, Publishing, ssh_alias};
use crate::cli::PullRequestArgs;
use crate::domain::code_host::{CodeHost, RepositoryAddress};
use crate::domain::pull_request::{
    CheckReport, PullRequest, PullRequestState, PullRequestText, check_reports,
};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::count_noun;
use crate::domain::worktree::{GitRemote, OutgoingBranch, Worktree};
use crate::process::supervisor;
use crate::store::{Board, CheckStore, OutgoingQuery, PushHooks, RemoteLogin, Worktrees};
use report::NothingToDo;

/// Everything that is known before anything is changed.
struct PullRequestPlan<'a> {
    args: &'a PullRequestArgs,
    publishing: &'a Publishing,
    client: PullRequestClient,
    login: RemoteLogin,
    hooks: PushHooks,
    outgoing: OutgoingBranch,
    text: PullRequestText,
    task: Option<Task>,
    checks: Vec<CheckReport>,
    /// The open pull request of the branch; `None` if there is none.
    open: Option<PullRequest>,
}

enum Planned<'a> {
    Something(Box<PullRequestPlan<'a>>),
    Nothing(NothingToDo),
}

/// Pushes the branch of a worktree and opens a pull request, or pushes new commits of an open one. If there is nothing to
/// push, prints why and returns [`CommandOutcome::Nothing`]. If the user interrupts it, stops git and the client.
///
/// # Errors
/// Fails inside a command that crewdeck has started, because only the user pushes. Fails if the branch cannot be pushed, the
/// task or its checks are not finished, or git or the client fails. If the push has succeeded, the error says so and how to
/// continue.
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
    let publishing = (context.publishing)()?;
    match publish(args, worktrees, context, &publishing) {
        Err(why) if publishing.stop.load(Ordering::SeqCst) => {
            CommandContext::warn(&[format!("interrupted: {why:#}")]);
            Ok(CommandOutcome::Interrupted)
        }
        ended => ended,
    }
}

fn publish(
    args: &PullRequestArgs,
    worktrees: &Worktrees,
    context: &CommandContext<'_>,
    publishing: &Publishing,
) -> Result<CommandOutcome> {
    let plan = match PullRequestPlan::prepare(args, worktrees, context, publishing)? {
        Planned::Something(plan) => plan,
        Planned::Nothing(nothing) => {
            context.print(&nothing.report(args.dry_run), || nothing.text.clone())?;
            return Ok(CommandOutcome::Nothing);
        }
    };
    if args.dry_run {
        let url = plan.open.as_ref().map(|open| open.url.as_str());
        let report = plan.report(url, false);
        context.print(&report, || plan.preview())?;
        let mut notices = plan.notices();
        notices.extend(
            plan.refusal()
                .map(|why| format!("it would be refused: {why}")),
        );
        notices.push("nothing was pushed or opened, because of --dry-run".into());
        CommandContext::warn(&notices);
        return Ok(CommandOutcome::Done);
    }
    if let Some(why) = plan.refusal() {
        bail!("{why}");
    }
    CommandContext::warn(&plan.notices());
    let noun = plan.noun();
    let OutgoingBranch { remote, branch, .. } = &plan.outgoing;
    let is_pushed = plan.outgoing.needs_push();
    if is_pushed {
        plan.announce_push();
        let pushed = worktrees.push(&plan.outgoing, &plan.login, &plan.hooks);
        pushed.map_err(|why| {
            if plan.is_stopped() {
                anyhow!("{why}. To continue, run: {}", plan.command(context))
            } else {
                why.into()
            }
        })?;
    }
    let pushed = format!("Pushed {} to {branch} of {remote}.", plan.pushed_commits());
    if let Some(open) = &plan.open {
        let report = plan.report(Some(&open.url), false);
        context.print(&report, || {
            format!("{pushed} The {noun} is open already: {}", open.url)
        })?;
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
    Ok(CommandOutcome::Done)
}

impl<'a> PullRequestPlan<'a> {
    /// Checks everything that can be checked, without changing anything.
    fn prepare(
        args: &'a PullRequestArgs,
        worktrees: &Worktrees,
        context: &CommandContext<'_>,
        publishing: &'a Publishing,
    ) -> Result<Planned<'a>> {
        let tree = worktrees.find(&args.name)?;
        let commit = worktrees.pushable_commit(&tree.name)?;
        let remote = worktrees.remote(&tree.name, args.remote.as_deref())?;
        let stop = &publishing.stop;
        let address = address_of(&remote)?;
        let address = ssh_alias::resolve(address, context.root, stop)?;
        let host = host_of(&address, args)?;
        let client = PullRequestClient::find(host, &address, context.root, Arc::clone(stop))?;
        let branch = args.branch.clone().unwrap_or_else(|| tree.name.branch());
        let known = client.list(&branch)?;
        let noun = host.request_name();
        let nothing = |request: Option<&PullRequest>, text: String| NothingToDo {
            url: request.map(|request| request.url.clone()),
            remote: remote.name.clone(),
            branch: branch.clone(),
            base: request.map(|request| request.base.clone()),
            commit: commit.clone(),
            commits: 0,
            is_draft: request.is_some_and(|request| request.is_draft),
            text,
        };
        // An empty base is unknown.
        let has_base =
            |request: &PullRequest, base: &str| request.base.is_empty() || request.base == base;
        let is_into_base = |request: &&PullRequest| {
            let base = args.base.as_deref();
            base.is_none_or(|base| has_base(request, base))
        };
        let is_merged = |request: &&PullRequest| {
            request.state == PullRequestState::Merged && request.commit == commit
        };
        if let Some(merged) = known
            .iter()
            .find(|known| is_merged(known) && is_into_base(known))
        {
            let text = format!("The {noun} of {branch} is merged already: {}", merged.url);
            return Ok(Planned::Nothing(nothing(Some(merged), text)));
        }
        let is_open = |request: &&PullRequest| request.state == PullRequestState::Open;
        let open = known
            .iter()
            .find(|known| is_open(known) && is_into_base(known));
        if let (None, Some(other)) = (open, known.iter().find(is_open)) {
            bail!(
                "{branch} has an open {noun} into {}: {}. Change its base branch there, leave out --base, or push to another branch with --branch",
                other.base,
                other.url
            );
        }
        let login = RemoteLogin::find(context.root, client.client().tokens(), Arc::clone(stop))?;
        let base_of_open = open.map(|open| open.base.as_str());
        let query = OutgoingQuery {
            worktree: &tree.name,
            commit: &commit,
            remote: &remote,
            base: args
                .base
                .as_deref()
                .or(base_of_open.filter(|base| !base.is_empty())),
            branch: args.branch.as_deref(),
            login: &login,
        };
        let outgoing = match (worktrees.outgoing(&query), open) {
            (Err(why), Some(open)) => {
                bail!("{why} ({branch} has an open {noun} already: {})", open.url)
            }
            (outgoing, _) => outgoing?,
        };
        if let Some(text) = nothing_to_push(&outgoing, open, &tree, noun) {
            return Ok(Planned::Nothing(NothingToDo {
                base: Some(outgoing.base.clone()),
                commits: outgoing.commit_count,
                ..nothing(open, text)
            }));
        }
        let task = task_of(&tree, context)?;
        let checks = task
            .as_ref()
            .map(|task| checks_of(task, &outgoing, context, publishing));
        let checks = checks.unwrap_or_default();
        let redactor = &publishing.redactor;
        Ok(Planned::Something(Box::new(PullRequestPlan {
            text: PullRequestText::new(task.as_ref(), &tree.subject, &outgoing, &checks, redactor),
            hooks: worktrees.push_hooks()?,
            open: open.cloned(),
            args,
            publishing,
            client,
            login,
            outgoing,
            task,
            checks,
        })))
    }

    fn noun(&self) -> &'static str {
        self.client.client().host().request_name()
    }

    fn pushed_commits(&self) -> String {
        let count = usize::try_from(self.outgoing.unpushed_count).unwrap_or(usize::MAX);
        count_noun(count, "commit")
    }

    fn is_stopped(&self) -> bool {
        self.publishing.stop.load(Ordering::SeqCst)
    }

    /// Returns whether the pull request is or becomes a draft.
    fn is_draft(&self) -> bool {
        match &self.open {
            Some(open) => open.is_draft,
            None => self.args.draft,
        }
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
            Err(why) if self.is_stopped() => return Err(why),
            Err(why) => why,
        };
        let listed = self.client.list(&self.outgoing.branch);
        let mut listed = listed.unwrap_or_default().into_iter();
        match listed.find(|request| request.state == PullRequestState::Open) {
            Some(open) => Ok(open.url),
            None => Err(why),
        }
    }

    /// Returns what speaks against a review of the branch: the task is open, or a check is not green on the commits.
    fn unfinished(&self) -> Vec<String> {
        let mut unfinished = Vec::new();
        if let Some(task) = &self.task
            && task.status != TaskStatus::Completed
        {
            unfinished.push(format!(
                "task {} is not completed: it is {}",
                task.id, task.status
            ));
        }
        let checks = self.checks.iter().filter(|check| !check.is_green());
        unfinished.extend(checks.map(|check| {
            let line = check.line(&self.publishing.redactor);
            format!("a check is not green on these commits: {line}")
        }));
        unfinished
    }

    /// Returns why the branch is not pushed, if it is unfinished and the user has not asked for that.
    fn refusal(&self) -> Option<String> {
        if self.args.unfinished || self.is_draft() {
            return None;
        }
        let unfinished = self.unfinished();
        let remedy = match self.open {
            None => "open the request as a draft with --draft, or add --unfinished",
            Some(_) => "to push it nevertheless, add --unfinished",
        };
        (!unfinished.is_empty()).then(|| format!("{} ({remedy})", unfinished.join("; ")))
    }

    /// Returns what the user should know before the push.
    fn notices(&self) -> Vec<String> {
        let mut notices = match self.refusal() {
            // It names the same.
            Some(_) => Vec::new(),
            None => self.unfinished(),
        };
        if self.args.draft && !self.is_draft() {
            notices.push(format!(
                "the {} is open already and no draft: --draft does not change it",
                self.noun()
            ));
        }
        if let PushHooks::InProject(path) = &self.hooks
            && let Some(command) = self.push_command()
        {
            notices.push(format!(
                "hooks do not run, because agents can change {}: to run them, look at them, run {} in a shell, and repeat this command",
                path.display(),
                report::shell_words(&command)
            ));
        }
        notices
    }

    /// Prints on a terminal that the push begins, which may take minutes and prints nothing else.
    fn announce_push(&self) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let hooks = match &self.hooks {
            PushHooks::Own(names) => format!("; hooks run: {}", names.join(", ")),
            PushHooks::None | PushHooks::InProject(_) => String::new(),
        };
        let OutgoingBranch { remote, branch, .. } = &self.outgoing;
        CommandContext::warn(&[format!(
            "pushing {} to {branch} of {remote} (Ctrl-C stops it){hooks}",
            self.pushed_commits()
        )]);
    }
}

/// Returns why there is nothing to push; `None` if there is.
fn nothing_to_push(
    outgoing: &OutgoingBranch,
    open: Option<&PullRequest>,
    tree: &Worktree,
    noun: &str,
) -> Option<String> {
    let OutgoingBranch {
        branch,
        base,
        remote,
        ..
    } = outgoing;
    match open {
        Some(open) if !outgoing.needs_push() => Some(format!(
            "{branch} has a {noun} already, and no new commits to push: {}",
            open.url
        )),
        _ if outgoing.is_merged() => Some(format!(
            "{} has no changes that {base} of {remote} lacks: there is nothing to push.",
            tree.name.branch()
        )),
        Some(_) | None => None,
    }
}

/// Returns the repository of a remote.
fn address_of(remote: &GitRemote) -> Result<RepositoryAddress> {
    let GitRemote {
        name, shown_url, ..
    } = remote;
    remote.address.clone().with_context(|| {
        format!(
            "the remote {name} ({shown_url}) is no repository at GitHub or GitLab: choose another one with --remote, or change its URL (git remote set-url {name} URL)"
        )
    })
}

/// Returns the service that has the repository at `address`.
fn host_of(address: &RepositoryAddress, args: &PullRequestArgs) -> Result<CodeHost> {
    match args.to {
        Some(host) => Ok(host.into()),
        None => CodeHost::of_server(&address.server).with_context(|| {
            format!(
                "the name of {} does not say whether it is GitHub or GitLab: add --to github or --to gitlab",
                address.server
            )
        }),
    }
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

/// Returns the checks of a task, with crewdeck's own results on the commits that are pushed.
fn checks_of(
    task: &Task,
    outgoing: &OutgoingBranch,
    context: &CommandContext<'_>,
    publishing: &Publishing,
) -> Vec<CheckReport> {
    let (store, tree) = (CheckStore::open(context.root), &outgoing.tree);
    let stored = |run: &str| {
        let found = store.find(run, tree)?;
        Some((found.outcome, found.at, found.seconds))
    };
    let is_set = |run: &str| (publishing.is_acceptance_set)(context.root, task.id, run);
    check_reports(task, tree, &publishing.checks, stored, is_set)
}
