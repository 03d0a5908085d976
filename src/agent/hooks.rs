//! Calls hooks for agents: shows which hooks run, reports their problems, and asks the user about a hook that has
//! blocked the same action too often.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::prompt_checks::PromptChecks;
use crate::domain::hook::{
    BlockEffect, BlockQuestion, HookAgent, HookContext, HookEvent, HookInput, HookOutcome,
};
use crate::domain::ids::Name;
use crate::domain::request::{NewRequest, RequestKind, RequestStatus};
use crate::domain::team::Activity;
use crate::domain::text::{clip, escape_control_chars, first_names, one_line};
use crate::protocol::EventSender;
use crate::protocol::event::{AgentEvent, EventKind, NoticeLevel};
use crate::tools::host::Host;
use crate::tools::policy::Ruling;

/// Run time of hooks after which the agent's activity shows them. Most hooks end earlier.
pub(super) const SHOWN_AFTER: Duration = Duration::from_millis(200);
/// Maximum length, in characters, of a message from a hook to the user.
const MESSAGE_MAX: usize = 500;
/// Maximum number of different problems of hooks that the user is shown in a session. Further ones are dropped.
const PROBLEMS_MAX: usize = 64;

/// The user's choices in the question about hooks that block the same action too often. `ONE` is for a question about
/// one hook, `SEVERAL` for one about several hooks. The first choice of each ignores the hooks.
const ONE: [&str; 2] = ["Ignore the hook this time", "Let the hook block it"];
const SEVERAL: [&str; 2] = ["Ignore these hooks this time", "Let these hooks block it"];

/// Runs the hooks of an event. Declared here, implemented by the crew.
pub trait HookService: Send + Sync {
    fn has_hooks(&self, event: HookEvent) -> bool;

    /// Returns the command, or `POST` and the URL, of each hook that runs for the event `input`.
    fn names(&self, input: &HookInput, context: &HookContext) -> Vec<String>;

    /// Runs the hooks of the event `input`. Waits for all hooks except asynchronous ones. If `cancel` is triggered or
    /// the future is dropped, the hooks that are waited for are killed and have no effect; asynchronous hooks continue.
    fn run<'a>(
        &'a self,
        input: &'a HookInput,
        context: &'a HookContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, HookOutcome>;

    /// Waits until a method has noticed that the user may have approved or ignored hooks, and the hooks were read again.
    /// Each decision ends the wait of one caller.
    fn next_decision(&self) -> BoxFuture<'_, ()>;
}

/// Runs the hooks of a crew for all its agents. Exists only if a hook is configured.
pub struct HookCaller {
    runner: Box<dyn HookService>,
    event_sender: EventSender,
    session: String,
    team: String,
    /// Whether a hook may approve tool calls. False if the settings deny every call that needs approval.
    pub can_approve: bool,
    /// Whether the SessionStart hooks have ended.
    started: watch::Sender<bool>,
    /// Cancelling this token kills the SessionStart hooks.
    pub start_cancel: CancellationToken,
    /// Why a SessionStart hook has stopped the lead; `None` if no hook has. When the lead is about to call the model,
    /// it takes the reason from here and ends its turn.
    session_stop: Mutex<Option<String>>,
    /// The problems of hooks that were already reported to the user.
    reported: Mutex<BTreeSet<String>>,
    /// The agents for which running hooks were published as the activity. [`HookCaller::show_idle`] removes an agent.
    shown: Mutex<BTreeSet<Name>>,
    /// What UserPromptSubmit hooks have decided about messages of the user that are in the inboxes of agents.
    prompt_checks: PromptChecks,
}

/// The agent whose work triggers a hook event.
#[derive(Debug, Clone)]
pub struct HookSubject {
    pub agent: Name,
    /// The type of a subagent or teammate, such as `Explore` or the name of its role; empty for the lead and the user.
    pub kind: String,
    /// The path of the agent's transcript, which need not exist.
    pub transcript: String,
    /// Whether hooks that run longer than `SHOWN_AFTER` are shown as the agent's activity.
    pub is_shown: bool,
}

/// The decision of the hooks that run at the end of a turn or before a teammate becomes idle.
#[derive(Debug, PartialEq, Eq)]
pub enum EndDecision {
    End,
    /// The agent continues to work, with this text as its next input.
    GoOn(String),
    /// The user interrupted the hooks.
    Interrupted,
}

impl HookCaller {
    pub fn new(
        runner: Box<dyn HookService>,
        event_sender: EventSender,
        session: String,
        team: String,
        can_approve: bool,
    ) -> HookCaller {
        HookCaller {
            runner,
            event_sender,
            session,
            team,
            can_approve,
            started: watch::Sender::new(false),
            start_cancel: CancellationToken::new(),
            session_stop: Mutex::default(),
            reported: Mutex::default(),
            shown: Mutex::default(),
            prompt_checks: PromptChecks::default(),
        }
    }

    /// Returns what UserPromptSubmit hooks have decided about messages of the user that are in the inboxes of agents;
    /// `None` if no such hook is configured.
    pub fn prompt_checks(&self) -> Option<&PromptChecks> {
        self.has_hooks(HookEvent::UserPromptSubmit)
            .then_some(&self.prompt_checks)
    }

    pub fn has_hooks(&self, event: HookEvent) -> bool {
        self.runner.has_hooks(event)
    }

    /// Waits until the hooks were read again after a decision of the user. See [`HookService::next_decision`].
    pub async fn next_decision(&self) {
        self.runner.next_decision().await;
    }

    /// Runs the hooks of the event `input`, and publishes their problems and messages. `dir` is the agent's work
    /// directory, `mode` its permission mode. If `cancel` is triggered or the future is dropped, all running hooks
    /// except asynchronous ones are killed. Returns the default outcome if the event has no hooks.
    pub async fn run(
        &self,
        subject: &HookSubject,
        (dir, mode): (&Path, &'static str),
        input: &HookInput,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let event = input.event();
        if !self.runner.has_hooks(event) {
            return HookOutcome::default();
        }
        let context = self.context(subject, dir, mode);
        let work = self.runner.run(input, &context, cancel);
        tokio::pin!(work);
        let outcome = tokio::select! {
            biased;
            outcome = &mut work => outcome,
            () = tokio::time::sleep(SHOWN_AFTER), if subject.is_shown => {
                self.show(subject, input, &context).await;
                work.await
            }
        };
        self.report(event, &outcome).await;
        outcome
    }

    fn context(&self, subject: &HookSubject, dir: &Path, mode: &'static str) -> HookContext {
        let is_subagent = subject.agent.parent().is_some();
        let is_teammate = !is_subagent && !subject.agent.is_lead() && !subject.agent.is_user();
        HookContext {
            session_id: self.session.clone(),
            transcript_path: subject.transcript.clone(),
            dir: dir.to_owned(),
            permission_mode: Some(mode.into()),
            agent: (is_subagent || is_teammate).then(|| HookAgent {
                id: is_subagent.then(|| subject.agent.to_string()),
                kind: subject.kind.clone(),
            }),
            teammate: is_teammate.then(|| subject.agent.to_string()),
            team: is_teammate.then(|| self.team.clone()),
        }
    }

    /// Shows the running hooks as the agent's activity.
    async fn show(&self, subject: &HookSubject, input: &HookInput, context: &HookContext) {
        self.lock_shown().insert(subject.agent.clone());
        let names = self.runner.names(input, context);
        let activity = Activity::Tool {
            tool: format!("hook {}", input.event().name()),
            on: one_line(&escape_control_chars(&first_names(&names))),
        };
        let changed = AgentEvent::ActivityChanged { activity };
        self.event_sender
            .publish(changed.of(subject.agent.clone()))
            .await;
    }

    /// Publishes notices for the user: each problem that was not reported before, at most `PROBLEMS_MAX` in a session,
    /// and each message of a hook. If hooks cannot prevent the event, also publishes why hooks tried to block it.
    async fn report(&self, event: HookEvent, outcome: &HookOutcome) {
        for problem in &outcome.problems {
            let is_news = {
                let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
                reported.len() < PROBLEMS_MAX && reported.insert(problem.clone())
            };
            if is_news {
                self.notice(NoticeLevel::Warn, problem.clone()).await;
            }
        }
        for message in &outcome.messages {
            self.notice(NoticeLevel::Info, said(event, message)).await;
        }
        if event.block_effect() == BlockEffect::TellsUser {
            for text in outcome.blocks.iter().chain(&outcome.stop) {
                self.notice(NoticeLevel::Warn, said(event, text)).await;
            }
        }
    }

    pub async fn notice(&self, level: NoticeLevel, text: String) {
        self.publish(EventKind::notice(level, text)).await;
    }

    pub async fn publish(&self, event: EventKind) {
        self.event_sender.publish(event).await;
    }

    /// Asks the user the question in `outcome`, and returns the outcome that follows from the answer. Returns `outcome`
    /// unchanged if it contains no question. The question is whether to ignore a hook that has blocked the same action
    /// too often. An approval without a choice ignores the hook. If the question is rejected or withdrawn, or cannot be
    /// asked, a hook that keeps an agent working is ignored, and any other block stays.
    pub async fn settle(
        &self,
        event: HookEvent,
        mut outcome: HookOutcome,
        host: &dyn Host,
        agent: &Name,
    ) -> HookOutcome {
        let Some(question) = outcome.ask_user.take() else {
            return outcome;
        };
        let BlockQuestion { text, lifted } = *question;
        let continues = event.block_effect() == BlockEffect::Continues;
        let effect = if continues {
            format!("The block keeps {agent} working.")
        } else {
            "The blocked action does not happen.".to_string()
        };
        let choices = if text.contains('\n') { SEVERAL } else { ONE };
        let question = self.event_sender.redactor().text(&text).into_owned();
        let asking = NewRequest {
            choices: choices.map(String::from).to_vec(),
            ..NewRequest::new(
                RequestKind::Question,
                agent,
                format!("{question}\n\n{effect}"),
            )
        };
        let is_lifted = match host.ask(agent, asking).await {
            Ok(request) if request.status == RequestStatus::Approved => {
                request.comment.is_empty() || request.comment == choices[0]
            }
            Ok(_) | Err(_) => continues,
        };
        if is_lifted { lifted } else { outcome }
    }

    /// Publishes that an idle agent is idle, if its published activity still shows running hooks.
    pub async fn show_idle(&self, agent: &Name) {
        if self.lock_shown().remove(agent) {
            let activity = Activity::Idle;
            let changed = AgentEvent::ActivityChanged { activity };
            self.publish(changed.of(agent.clone())).await;
        }
    }

    fn lock_shown(&self) -> MutexGuard<'_, BTreeSet<Name>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks that the SessionStart hooks have ended.
    pub fn set_started(&self) {
        self.started.send_replace(true);
    }

    /// Waits until the SessionStart hooks have ended.
    pub async fn until_started(&self) {
        // Never fails: the sender is in `self`.
        let _ = self.started.subscribe().wait_for(|done| *done).await;
    }

    pub fn is_started(&self) -> bool {
        *self.started.borrow()
    }

    /// Makes the lead's turn end before its next model call, with `reason`, shortened to `MESSAGE_MAX` characters on
    /// one line. Called if a SessionStart hook requests it. If the lead is idle, its next turn ends this way. An
    /// earlier reason that the lead has not taken yet is not replaced.
    pub fn stop_session(&self, reason: &str) {
        let mut stop = self.lock_session_stop();
        stop.get_or_insert(clip(&one_line(&escape_control_chars(reason)), MESSAGE_MAX));
    }

    /// Takes the reason for which a SessionStart hook stops the lead. `None` if there is none or it was already taken.
    pub fn take_session_stop(&self) -> Option<String> {
        self.lock_session_stop().take()
    }

    fn lock_session_stop(&self) -> MutexGuard<'_, Option<String>> {
        let stop = self.session_stop.lock();
        stop.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the texts that hooks have for the model, each preceded by `Hook` and the name of the event; empty if there
/// are none. A text may have several lines.
pub fn context_lines(event: HookEvent, outcome: &HookOutcome) -> Vec<String> {
    let line = |text: &String| format!("Hook {}: {}", event.name(), text.trim());
    outcome.context.iter().map(line).collect()
}

/// Returns the text of a notice that contains `text`, which a hook of the event has written.
fn said(event: HookEvent, text: &str) -> String {
    let text = clip(&one_line(&escape_control_chars(text.trim())), MESSAGE_MAX);
    format!("Hook {}: {text}", event.name())
}

/// The decision of the PreToolUse hooks about the permission of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HookPermission {
    /// The hooks decide nothing, so the permission rules apply.
    #[default]
    Rules,
    /// The call runs without approval, unless the rules deny it.
    Allowed,
    /// The call needs approval for this reason, unless the rules deny it.
    MustAsk(String),
}

impl HookPermission {
    /// Combines the ruling of the permission rules with the decision of the hooks. A denial by the rules stays.
    pub fn apply(&self, ruling: Ruling) -> Ruling {
        match (ruling, self) {
            (Ruling::Ask { .. }, HookPermission::Allowed) => Ruling::Allow,
            (Ruling::Allow, HookPermission::MustAsk(why)) => Ruling::Ask { why: why.clone() },
            (Ruling::Ask { why }, HookPermission::MustAsk(more)) => Ruling::Ask {
                why: format!("{why}; {more}"),
            },
            (ruling, _) => ruling,
        }
    }
}

/// The decision of the PermissionRequest hooks, which run before an approver gets an approval request.
pub enum RequestHook {
    /// The hooks decide nothing, so the approver decides.
    Ask,
    /// The call is approved. If an input is given, it replaces the input of the call.
    Approved(Option<Value>),
    /// The call does not run. The text is its result for the model.
    Denied(String),
}

/// What an agent needs to call hooks for its events: the crew's hook caller, and the agent as the subject of the
/// events. Also holds what hooks have decided about the current turn: a reason to stop, and whether a compaction was
/// checked.
pub struct AgentHooks {
    pub caller: Arc<HookCaller>,
    pub subject: HookSubject,
    /// Why a hook has stopped the agent's turn; `None` if no hook has, or if the driver has taken the reason.
    stop: Mutex<Option<String>>,
    /// Whether the PreCompact hooks have already allowed the current compaction.
    is_compaction_checked: AtomicBool,
}

impl AgentHooks {
    pub fn new(caller: Arc<HookCaller>, subject: HookSubject) -> AgentHooks {
        AgentHooks {
            caller,
            subject,
            stop: Mutex::default(),
            is_compaction_checked: AtomicBool::new(false),
        }
    }

    pub fn is_compaction_checked(&self) -> bool {
        self.is_compaction_checked.load(Ordering::Relaxed)
    }

    pub fn set_compaction_checked(&self, is_checked: bool) {
        self.is_compaction_checked
            .store(is_checked, Ordering::Relaxed);
    }

    /// Clears the stop reason and the compaction check of the previous turn.
    pub fn begin_turn(&self) {
        self.take_stop();
        self.set_compaction_checked(false);
    }

    /// Makes the turn end before its next model call, with `reason`, shortened to `MESSAGE_MAX` characters on one line.
    /// Tool calls that follow in this turn do not run. Called if a hook requests the stop. An earlier reason that was
    /// not taken yet is not replaced.
    pub fn request_stop(&self, reason: &str) {
        let text = clip(&one_line(&escape_control_chars(reason)), MESSAGE_MAX);
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        stop.get_or_insert(text);
    }

    pub fn stop_reason(&self) -> Option<String> {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        stop.clone()
    }

    pub fn take_stop(&self) -> Option<String> {
        let mut stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        stop.take()
    }
}
