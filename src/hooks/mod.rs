//! Runs hooks: starts all hooks of an event in parallel, limits their time and output, and merges their answers.
//!
//! The data and the rules are in [`crate::domain::hook`]. `config::extensions` decides which hooks exist and which are
//! approved. For an event without a hook, nothing is started or allocated.

mod command;
mod repeats;
mod request;
mod variables;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::domain::hook::{
    BlockEffect, BlockQuestion, HookContext, HookDecision, HookEvent, HookHandler, HookInput,
    HookOutcome, HookResult, HookSpec, decide, decide_changed, distinct, merge, own_input,
};
use crate::domain::trust::ApprovalCheck;
use crate::process::supervisor::Supervisor;
use repeats::RepeatedBlocks;
use variables::SessionCode;

/// Maximum number of asynchronous hooks that run at the same time. crewdeck does not wait for the end of such a hook.
const ASYNC_MAX: usize = 16;

/// Maximum number of different problems of one hook that the user is shown.
const PROBLEMS_MAX: usize = 3;

/// Shows the user a problem of an asynchronous hook. Nothing waits for such a hook, so the problem may occur long after
/// the event.
pub type LateReport = Box<dyn Fn(String) -> BoxFuture<'static, ()> + Send + Sync>;

/// The project directory, the supervisor and the callbacks that a [`HookRunner`] gets from the crew.
pub struct HookHost {
    pub project: PathBuf,
    /// The supervisor that runs the commands of hooks. It applies no sandbox, because hooks run with the user's rights.
    /// `None`: the commands run without a supervisor.
    pub supervisor: Option<Arc<Supervisor>>,
    /// The supervisor of the agents' commands, which get the variables that hooks set. `None`: the commands run without a
    /// supervisor, and hooks cannot set variables.
    pub agents: Option<Arc<Supervisor>>,
    /// The folder for the temporary files with the input of hooks. Agents' commands cannot write to it. Created when a
    /// hook first needs it.
    pub scratch: PathBuf,
    /// When this token is cancelled, the asynchronous hooks are killed.
    pub stop: CancellationToken,
    /// Called with each new problem of an asynchronous hook.
    pub report: LateReport,
}

/// Runs the hooks of a crew.
pub struct HookRunner {
    inner: Arc<Inner>,
}

struct Inner {
    /// The hooks that were read last. An event that has begun goes on with the hooks that it began with.
    current: Mutex<Arc<HookSet>>,
    approval: Arc<dyn ApprovalCheck>,
    host: HookHost,
    clients: request::HookClients,
    asynchronous: Arc<Semaphore>,
    /// The code with which hooks set variables for later commands of agents.
    code: SessionCode,
    /// Notified when the user may have made a decision about hooks, and when they were read again.
    outdated: Notify,
    /// The version of the hooks when [`HookRunner::next_decision`] returned last.
    announced: AtomicU64,
}

/// The hooks as they were read once, and what has happened to them since then.
#[derive(Default)]
struct HookSet {
    /// The version by which [`ApprovalCheck::is_outdated`] knows these hooks.
    version: u64,
    hooks: Vec<HookSpec>,
    repeats: Mutex<RepeatedBlocks>,
    /// The positions in `hooks` of the hooks that did not run because they are not approved. The user has got a notice
    /// about each.
    refused: Mutex<HashSet<usize>>,
    /// The problems that were reported to the user. The key is the position of the hook in `hooks`.
    problems: Mutex<HashMap<usize, Vec<String>>>,
}

impl fmt::Debug for HookRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookRunner")
            .field("hooks", &self.inner.current().hooks.len())
            .finish_non_exhaustive()
    }
}

impl HookRunner {
    pub fn new(
        hooks: Vec<HookSpec>,
        approval: Arc<dyn ApprovalCheck>,
        host: HookHost,
    ) -> HookRunner {
        HookRunner {
            inner: Arc::new(Inner {
                current: Mutex::new(Arc::new(HookSet {
                    hooks,
                    ..HookSet::default()
                })),
                approval,
                host,
                clients: request::HookClients::default(),
                asynchronous: Arc::new(Semaphore::new(ASYNC_MAX)),
                code: SessionCode::default(),
                outdated: Notify::new(),
                announced: AtomicU64::new(0),
            }),
        }
    }

    /// Returns whether the event has hooks. If not, the caller need not collect the facts of the event. Also returns true
    /// if the user has made a decision since the hooks were read, because the event may then have other hooks.
    pub fn has_hooks(&self, event: HookEvent) -> bool {
        let set = self.inner.current();
        if set.hooks.iter().any(|hook| hook.event == event) {
            return true;
        }
        let is_outdated = self.inner.approval.is_outdated(set.version);
        if is_outdated {
            self.inner.outdated.notify_one();
        }
        is_outdated
    }

    /// Waits until [`HookRunner::has_hooks`] or [`HookRunner::run`] has noticed a decision of the user, and reads the hooks
    /// again if that was not done yet.
    pub async fn next_decision(&self) {
        loop {
            self.inner.outdated.notified().await;
            let version = self.inner.refresh().await.version;
            // While the decisions cannot be read, the hooks stay outdated without a new version.
            if self.inner.announced.swap(version, Ordering::Relaxed) != version {
                return;
            }
        }
    }

    /// Returns the command, or `POST` and the URL, of each hook that applies to the event `input`. Includes hooks that
    /// [`HookRunner::run`] would not start because they are not approved.
    pub fn names(&self, input: &HookInput, context: &HookContext) -> Vec<String> {
        let set = self.inner.current();
        let selected = distinct(&set.hooks, input, context);
        selected.iter().map(|hook| hook.runs()).collect()
    }

    /// Runs the hooks that apply to the event `input`, and returns their merged decision. Asynchronous hooks are
    /// started but not waited for, except at the end of a session. When `cancel` is cancelled, the hooks that are
    /// waited for are killed and have no effect. If a hook has blocked the same action several times in a row, the
    /// outcome also has a question for the user ([`HookOutcome::ask_user`]).
    ///
    /// The caller must not fire `Stop`, `SubagentStop` or `TeammateIdle` for an agent that waits for an answer: a hook
    /// that blocks the event would make the agent continue without the answer.
    pub async fn run(
        &self,
        input: &HookInput,
        context: &HookContext,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        if !self.has_hooks(input.event()) {
            return HookOutcome::default();
        }
        let inner = &self.inner;
        let set = inner.refresh().await;
        let selected = distinct(&set.hooks, input, context);
        if selected.is_empty() {
            return HookOutcome::default();
        }
        let json: Arc<str> = input.json(context).to_string().into();
        let mut waited = Vec::new();
        let mut early = Vec::new();
        for hook in selected {
            // At the end of a session, crewdeck ends too and would kill an asynchronous hook, so it waits for the hook.
            if hook.is_async && hook.event != HookEvent::SessionEnd {
                early.extend(self.start_async(&set, hook, &json, context));
            } else {
                waited.push(inner.run_one(&set, hook, &json, context, cancel));
            }
        }
        let decisions = futures::future::join_all(waited).await;
        let question = set.question(&decisions, input, context);
        let merged = |decisions: Vec<HookDecision>| {
            let mut outcome = merge(decisions);
            if let (Some(changed), Some(call)) = (&outcome.updated_input, input.call()) {
                outcome.updated_input = Some(own_input(&call.name, changed, &context.dir));
            }
            outcome
        };
        let decisions = decisions.into_iter().map(|(_, decision)| decision);
        let decisions: Vec<HookDecision> = decisions.chain(early).collect();
        let ask_user = question.map(|text| {
            let lifted = decisions.iter().cloned().map(HookDecision::without_block);
            let lifted = merged(lifted.collect());
            Box::new(BlockQuestion { text, lifted })
        });
        let mut outcome = merged(decisions);
        outcome.problems.extend(inner.apply_code().await);
        HookOutcome {
            ask_user,
            ..outcome
        }
    }

    /// Starts an asynchronous hook without waiting for its end, and returns `None`. If [`ASYNC_MAX`] such hooks are
    /// already running, does not start the hook, and returns a decision that reports this to the user.
    fn start_async(
        &self,
        set: &Arc<HookSet>,
        hook: &HookSpec,
        json: &Arc<str>,
        context: &HookContext,
    ) -> Option<HookDecision> {
        let Ok(permit) = Arc::clone(&self.inner.asynchronous).try_acquire_owned() else {
            let why = format!(
                "was not started: {ASYNC_MAX} asynchronous hooks are already running, the maximum"
            );
            return Some(decide(hook, HookResult::Failed { why }));
        };
        let (inner, set) = (Arc::clone(&self.inner), Arc::clone(set));
        let (hook, json, context) = (hook.clone(), Arc::clone(json), context.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let stop = &inner.host.stop;
            let (_, decision) = inner.run_one(&set, &hook, &json, &context, stop).await;
            let problems = decision.problem.into_iter();
            for problem in problems.chain(inner.apply_code().await) {
                (inner.host.report)(problem).await;
            }
        });
        None
    }
}

impl HookSet {
    /// Returns the position of a hook in `hooks`, which identifies the hook; `usize::MAX` if `hooks` does not contain
    /// it.
    fn index(&self, hook: &HookSpec) -> usize {
        self.hooks
            .iter()
            .position(|known| known.source == hook.source)
            .unwrap_or(usize::MAX)
    }

    /// Counts the blocks in `decisions`. If a hook has blocked the same action too often in a row, returns the question
    /// for the user, with one line for each hook that blocks the action. Otherwise returns `None`. Blocks at an event
    /// where they prevent nothing are not counted.
    fn question(
        &self,
        decisions: &[(&HookSpec, HookDecision)],
        input: &HookInput,
        context: &HookContext,
    ) -> Option<String> {
        match input.event().block_effect() {
            BlockEffect::Refuses | BlockEffect::Continues => {}
            BlockEffect::TellsModel | BlockEffect::TellsUser => return None,
        }
        let key = input.block_key(context);
        let mut repeats = self.repeats.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut due, mut others) = (Vec::new(), Vec::new());
        for (hook, decision) in decisions {
            let reason = decision.block_reason();
            let is_due = repeats.count(self.index(hook), key, reason.is_some());
            let Some(reason) = reason else { continue };
            if is_due {
                due.push(repeats::describe_repeats(hook, reason));
            } else {
                others.push(repeats::also_blocks(hook, reason));
            }
        }
        if due.is_empty() {
            return None;
        }
        due.append(&mut others);
        Some(due.join("\n"))
    }

    /// Returns true, and records the problem, if the user must be shown a problem of the hook at position `index`: the
    /// problem is new, and fewer than [`PROBLEMS_MAX`] problems of this hook were recorded.
    fn is_news(&self, index: usize, problem: &str) -> bool {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let known = problems.entry(index).or_default();
        if known.len() >= PROBLEMS_MAX || known.iter().any(|known| known == problem) {
            return false;
        }
        known.push(problem.to_string());
        true
    }
}

impl Inner {
    fn current(&self) -> Arc<HookSet> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    /// Returns the current hooks. Reads them again first if the user has made a decision since they were read.
    async fn refresh(&self) -> Arc<HookSet> {
        let last = self.current();
        if !self.approval.is_outdated(last.version) {
            return last;
        }
        let approval = Arc::clone(&self.approval);
        let read = tokio::task::spawn_blocking(move || approval.current_hooks()).await;
        let Ok(Some((version, hooks))) = read else {
            return last;
        };
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Another event may have read the hooks at the same time.
        if current.version < version {
            *current = Arc::new(HookSet {
                version,
                hooks,
                ..HookSet::default()
            });
            self.outdated.notify_one();
        }
        Arc::clone(&current)
    }

    /// Sets the variables for commands of agents if hooks have written new code for that. Returns problems for the user.
    async fn apply_code(&self) -> Vec<String> {
        let agents = self.host.agents.as_ref();
        let HookHost {
            project, scratch, ..
        } = &self.host;
        self.code.apply(agents, project, scratch).await
    }

    /// Returns the directory in which hooks run: the agent's work directory, or the project directory if the work
    /// directory no longer exists.
    fn work_dir<'a>(&'a self, context: &'a HookContext) -> &'a Path {
        if context.dir.is_dir() {
            &context.dir
        } else {
            &self.host.project
        }
    }

    async fn run_one<'a>(
        &self,
        set: &HookSet,
        hook: &'a HookSpec,
        json: &str,
        context: &HookContext,
        cancel: &CancellationToken,
    ) -> (&'a HookSpec, HookDecision) {
        if let Some(refused) = self.refusal(set, hook, context).await {
            return (hook, refused);
        }
        let result = match &hook.handler {
            HookHandler::Command { command, args } => {
                command::run(
                    self,
                    hook,
                    (command, args.as_deref()),
                    json,
                    context,
                    cancel,
                )
                .await
            }
            HookHandler::Http { url, headers, env } => {
                let request = request::HookRequest {
                    url,
                    headers,
                    env,
                    body: json,
                };
                let done = request.send(&self.clients);
                tokio::select! {
                    () = cancel.cancelled() => Ended::cancelled(),
                    done = tokio::time::timeout(hook.timeout(), done) => match done {
                        Ok(result) => result.into(),
                        Err(_) => Ended::failed(format!("did not respond within {}", format_seconds(hook.timeout()))),
                    },
                }
            }
        };
        let mut decision = match result.result {
            Some(result) => decide(hook, result),
            None => HookDecision::default(),
        };
        if let (None, Some(why)) = (&decision.problem, result.note) {
            let note = decide(hook, HookResult::Failed { why });
            decision.problem = note.problem;
        }
        let index = set.index(hook);
        decision
            .problem
            .take_if(|problem| !set.is_news(index, problem));
        (hook, decision)
    }

    /// Returns `None` if the hook may run; hooks of the user always may. Otherwise returns the decision for a hook of the
    /// project that is not approved, has changed since its approval, or whose approval cannot be checked. Only the first
    /// such decision has a problem for the user, until the hook may run again.
    async fn refusal(
        &self,
        set: &HookSet,
        hook: &HookSpec,
        context: &HookContext,
    ) -> Option<HookDecision> {
        if !hook.source.is_project {
            return None;
        }
        let (approval, copy) = (Arc::clone(&self.approval), hook.clone());
        let dir = self.work_dir(context).to_owned();
        let checked = tokio::task::spawn_blocking(move || approval.check_hook(&copy, &dir)).await;
        let (why, has_changed) = match checked {
            Ok(Ok(())) => {
                let mut refused = set.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.remove(&set.index(hook));
                return None;
            }
            Ok(Err(refused)) => (refused.why, refused.has_changed),
            Err(_) => {
                let why = "the approval of a hook could not be checked, so it does not run";
                (why.into(), true)
            }
        };
        let mut refused = set.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = refused.insert(set.index(hook));
        let decision = if has_changed {
            decide_changed(hook, &why)
        } else {
            HookDecision::default()
        };
        Some(HookDecision {
            problem: is_news.then_some(why),
            ..decision
        })
    }
}

/// How a hook ended, and a note for the user about its run. The note is not shown if the result itself is a problem.
struct Ended {
    /// The result of the hook; `None` if it was cancelled.
    result: Option<HookResult>,
    note: Option<String>,
}

impl Ended {
    fn cancelled() -> Ended {
        Ended {
            result: None,
            note: None,
        }
    }

    fn failed(why: String) -> Ended {
        HookResult::Failed { why }.into()
    }
}

impl From<HookResult> for Ended {
    fn from(result: HookResult) -> Ended {
        Ended {
            result: Some(result),
            note: None,
        }
    }
}

/// Returns a duration in seconds as text for a message, such as `1.5 s`.
fn format_seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
