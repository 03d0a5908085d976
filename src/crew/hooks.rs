//! The hooks of a crew: one runner that all agents share, and the events that belong to no turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::hooks::{AgentHooks, HookCaller, HookService, HookSubject};
use crate::domain::hook::{
    HookContext, HookEvent, HookInput, HookOutcome, HookSpec, SessionEndReason,
};
use crate::domain::ids::Name;
use crate::domain::request::{Approver, Request, RequestKind};
use crate::domain::subagent::GENERAL_PURPOSE;
use crate::domain::team::{Activity, Team};
use crate::domain::text::{clip, one_line};
use crate::domain::trust::ApprovalCheck;
use crate::hooks::{HookHost, HookRunner};
use crate::process::supervisor::Supervisor;
use crate::protocol::EventSender;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel, TeamEvent};
use crate::store::TranscriptFile;
use crate::tools::host::Host;

/// Maximum time that the hooks of the session end may take.
const SESSION_END_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of notifications that wait for their hooks. Further ones are dropped.
const NOTIFICATIONS_MAX: usize = 64;
/// Maximum length of a notification, in characters.
const NOTIFICATION_MAX: usize = 300;
/// The permission mode in the input of hooks for events that are not tool calls.
const MODE: &str = "default";

/// The hooks of a crew, as configured.
pub struct HookParts {
    /// The approved hooks, and those that have changed since their approval.
    pub specs: Vec<HookSpec>,
    /// Whether notification hooks are declared. They may be approved later.
    pub has_notifications: bool,
    /// Checks before each run whether the user has approved the hook.
    pub trust: Arc<dyn ApprovalCheck>,
    /// A folder that agents cannot write, for the input of hooks.
    pub scratch: PathBuf,
    /// Whether a hook may approve tool calls. It may not if the settings deny every call that needs approval.
    pub can_approve: bool,
}

/// The hooks of a crew. Exists only if a hook is declared, whether the user has approved it or not.
pub struct CrewHooks {
    pub caller: Arc<HookCaller>,
    root: PathBuf,
    session: String,
    /// Ends the hooks that run in the background, whose results are not used. Cancelled when the crew ends.
    stop: CancellationToken,
    /// The hooks that an agent waits for outside of its turns. Each entry has a number, the name of the agent, and the
    /// signal that ends the hooks.
    running: Mutex<Vec<(u64, Name, CancellationToken)>>,
    /// The agent type of each teammate in the input of hooks, by the teammate's name in lower case. An entry stays when
    /// its teammate leaves.
    kinds: Mutex<BTreeMap<String, String>>,
    /// The receiver of the events for which notification hooks run. `None` if there are no such hooks, or after
    /// [`CrewHooks::take_notifications`] has taken it.
    notifications: Mutex<Option<mpsc::Receiver<EventKind>>>,
}

impl HookService for HookRunner {
    fn has_hooks(&self, event: HookEvent) -> bool {
        HookRunner::has_hooks(self, event)
    }

    fn names(&self, input: &HookInput, context: &HookContext) -> Vec<String> {
        HookRunner::names(self, input, context)
    }

    fn run<'a>(
        &'a self,
        input: &'a HookInput,
        context: &'a HookContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, HookOutcome> {
        Box::pin(HookRunner::run(self, input, context, cancel))
    }

    fn next_decision(&self) -> BoxFuture<'_, ()> {
        Box::pin(HookRunner::next_decision(self))
    }
}

impl CrewHooks {
    /// Creates the hooks of a crew whose project directory is `root`. The hooks run under `supervisor`, outside of its
    /// sandbox. If there are notification hooks, replaces `event_sender` by a sender that also sends the events for
    /// these hooks to this object.
    pub fn new(
        hooks: HookParts,
        (root, session): (&PathBuf, &String),
        supervisor: Option<&Arc<Supervisor>>,
        event_sender: &mut EventSender,
    ) -> CrewHooks {
        let (stop, late) = (CancellationToken::new(), event_sender.clone());
        let host = HookHost {
            project: root.clone(),
            supervisor: supervisor.map(|supervisor| Arc::new(supervisor.for_user())),
            agents: supervisor.cloned(),
            scratch: hooks.scratch,
            stop: stop.clone(),
            report: Box::new(move |problem| {
                let late = late.clone();
                Box::pin(async move {
                    let notice = EventKind::notice(NoticeLevel::Warn, problem);
                    late.publish(notice).await;
                })
            }),
        };
        let caller = HookCaller::new(
            Box::new(HookRunner::new(hooks.specs, hooks.trust, host)),
            event_sender.clone(),
            session.clone(),
            Team::default().team_name,
            hooks.can_approve,
        );
        let notifications = hooks.has_notifications.then(|| {
            let (sender, receiver) = mpsc::channel(NOTIFICATIONS_MAX);
            let all = event_sender.clone();
            *event_sender = all.with_listener(|event| notification(event).is_some(), sender);
            receiver
        });
        CrewHooks {
            caller: Arc::new(caller),
            root: root.clone(),
            session: session.clone(),
            stop,
            running: Mutex::default(),
            kinds: Mutex::default(),
            notifications: Mutex::new(notifications),
        }
    }

    pub fn has_hooks(&self, event: HookEvent) -> bool {
        self.caller.has_hooks(event)
    }

    /// Returns the object through which `agent` runs hooks. `kind` is the type of a subagent or teammate; empty for the
    /// lead. Remembers the type of a teammate for [`CrewHooks::subject`].
    pub fn for_agent(&self, agent: &Name, kind: String) -> AgentHooks {
        if is_teammate(agent) {
            self.lock_kinds()
                .insert(agent.as_str().to_ascii_lowercase(), kind.clone());
        }
        let subject = HookSubject {
            kind,
            ..self.subject(agent)
        };
        AgentHooks::new(Arc::clone(&self.caller), subject)
    }

    /// Returns the agent as the subject of an event outside of its turns. A teammate without a remembered type and a
    /// subagent have the type [`GENERAL_PURPOSE`].
    pub fn subject(&self, agent: &Name) -> HookSubject {
        let kind = if agent.is_lead() || agent.is_user() {
            String::new()
        } else {
            let kinds = self.lock_kinds();
            let known = kinds.get(&agent.as_str().to_ascii_lowercase());
            known.map_or_else(|| GENERAL_PURPOSE.to_string(), String::clone)
        };
        let transcript = TranscriptFile::open(&self.root, &self.session, agent);
        HookSubject {
            agent: agent.clone(),
            kind,
            transcript: transcript.path().to_string_lossy().into_owned(),
            // The user has no activity.
            is_shown: !agent.is_user(),
        }
    }

    fn lock_kinds(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the hooks for the event in `input` in the project directory, on behalf of `subject`, and returns their
    /// combined outcome. Cancelling `cancel` ends the hooks.
    pub async fn run(
        &self,
        subject: &HookSubject,
        input: &HookInput,
        cancel: &CancellationToken,
    ) -> HookOutcome {
        let place = (self.root.as_path(), MODE);
        self.caller.run(subject, place, input, cancel).await
    }

    /// Ends the hooks that run in the background. Then runs the hooks of the session's end, and kills them after
    /// [`SESSION_END_WITHIN`]. Returns their problems as texts for the user. The caller shows the texts, since the
    /// screen may no longer show events.
    pub async fn end(&self, reason: SessionEndReason) -> Vec<String> {
        self.stop.cancel();
        let input = HookInput::SessionEnd { reason };
        let subject = HookSubject {
            is_shown: false,
            ..self.subject(&Name::lead())
        };
        let cancel = CancellationToken::new();
        let work = self.run(&subject, &input, &cancel);
        match tokio::time::timeout(SESSION_END_WITHIN, work).await {
            Ok(outcome) => outcome.problems,
            Err(_) => {
                let text = format!(
                    "The SessionEnd hooks ran longer than {} s and were killed.",
                    SESSION_END_WITHIN.as_secs()
                );
                // Limited in time: the queue of events can be full while nothing reads it any more.
                let notice = self.caller.notice(NoticeLevel::Warn, text.clone());
                let _ = tokio::time::timeout(Duration::from_millis(100), notice).await;
                vec![text]
            }
        }
    }

    /// Registers hooks that an agent waits for outside of its turns, so that [`CrewHooks::interrupt`] can end them.
    pub fn interruptible(&self, agent: &Name) -> InterruptibleHooks<'_> {
        let cancel = CancellationToken::new();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let number = running.last().map_or(0, |(number, ..)| number + 1);
        running.push((number, agent.clone(), cancel.clone()));
        InterruptibleHooks {
            hooks: self,
            number,
            cancel,
        }
    }

    /// Returns whether `agent` waits for hooks outside of its turns.
    pub fn hold_up(&self, agent: &Name) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().any(|(_, name, _)| name.same(agent))
    }

    /// Takes the receiver of the events that have notification hooks; `None` if there are no such hooks or it was
    /// already taken.
    pub fn take_notifications(&self) -> Option<mpsc::Receiver<EventKind>> {
        let mut events = self
            .notifications
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        events.take()
    }

    /// Ends the hooks that `agent` waits for outside of its turns; for the lead, also the hooks of the session's start.
    /// Returns whether there were any.
    pub fn interrupt(&self, agent: &Name) -> bool {
        let is_starting = agent.is_lead() && !self.caller.is_started();
        if is_starting {
            self.caller.start_cancel.cancel();
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let own = running.iter().filter(|(_, name, _)| name.same(agent));
        let has_running = own.map(|(.., cancel)| cancel.cancel()).count() > 0;
        is_starting || has_running
    }

    /// Runs, in the directory `dir`, the hooks for a change of a task. `input` describes the change, and `agent` makes
    /// it. The user is asked through `host` about a hook that blocks too often.
    ///
    /// # Errors
    /// Returns the reason if a hook prevents the change.
    pub async fn check_task(
        &self,
        host: &dyn Host,
        agent: &Name,
        dir: &Path,
        input: HookInput,
    ) -> Result<(), String> {
        let event = input.event();
        let subject = self.subject(agent);
        let cancel = CancellationToken::new();
        let outcome = self
            .caller
            .run(&subject, (dir, MODE), &input, &cancel)
            .await;
        let outcome = self.caller.settle(event, outcome, host, agent).await;
        feedback(event, &outcome)
    }

    /// Runs the hooks that can create a worktree in place of git. Returns the directory that a hook has created; `None`
    /// if no such hook is configured or none created a directory. With a `host`, the user is asked about a hook that
    /// blocks too often.
    ///
    /// # Errors
    /// Returns the reason if a hook blocks the creation or the hooks were interrupted.
    pub async fn create_worktree(
        &self,
        owner: &Name,
        name: &str,
        host: Option<&dyn Host>,
    ) -> Result<Option<PathBuf>, String> {
        if !self.has_hooks(HookEvent::WorktreeCreate) {
            return Ok(None);
        }
        let input = HookInput::WorktreeCreate { name: name.into() };
        let subject = self.subject(owner);
        let running = self.interruptible(owner);
        let work = async {
            let outcome = self.run(&subject, &input, &running.cancel).await;
            match host {
                Some(host) => {
                    self.caller
                        .settle(input.event(), outcome, host, owner)
                        .await
                }
                None => outcome,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = running.cancel.cancelled() => {
                return Err("its WorktreeCreate hooks were interrupted".into());
            }
            outcome = work => outcome,
        };
        if outcome.is_blocked() {
            return Err(format!("WorktreeCreate hook: {}", outcome.reason()));
        }
        Ok(outcome.worktree.map(|path| self.root.join(path)))
    }
}

/// The registration of hooks that an agent waits for outside of its turns. Dropping this value ends the registration,
/// and does not end the hooks.
pub struct InterruptibleHooks<'a> {
    hooks: &'a CrewHooks,
    number: u64,
    pub cancel: CancellationToken,
}

impl Drop for InterruptibleHooks<'_> {
    fn drop(&mut self) {
        let running = self.hooks.running.lock();
        let mut running = running.unwrap_or_else(PoisonError::into_inner);
        running.retain(|(number, ..)| *number != self.number);
    }
}

fn is_teammate(agent: &Name) -> bool {
    !agent.is_lead() && !agent.is_user() && agent.parent().is_none()
}

/// Returns the reason as an error if a hook has stopped the agent or blocked the event. The error has the format of
/// Claude Code: a line with the event's name, then the reason.
pub fn feedback(event: HookEvent, outcome: &HookOutcome) -> Result<(), String> {
    let reason = match &outcome.stop {
        Some(why) => why.clone(),
        None if outcome.is_blocked() => outcome.reason(),
        None => return Ok(()),
    };
    Err(format!("{} hook feedback:\n{reason}", event.name()))
}

/// Returns the notification that an event causes: its type, as Claude Code names it, and its text. Returns `None` if
/// the event causes no notification.
pub fn notification(event: &EventKind) -> Option<(&'static str, String)> {
    let (kind, text) = match event {
        EventKind::Team(TeamEvent::RequestChanged { request }) => {
            if !request.is_pending() || request.approver != Approver::Ask {
                return None;
            }
            (
                kind_of(request),
                format!(
                    "{} needs you: {}: {}",
                    request.from, request.kind, request.body
                ),
            )
        }
        EventKind::Crew(CrewEvent::AllIdle) => {
            ("idle_prompt", "All agents are idle and wait for you".into())
        }
        EventKind::Agent {
            agent,
            event: AgentEvent::ActivityChanged { activity },
        } => match activity {
            Activity::Failed { why } => ("agent_failed", format!("{agent} failed: {why}")),
            Activity::Stuck { why } => ("agent_stuck", format!("{agent} is stuck: it {why}")),
            _ => return None,
        },
        _ => return None,
    };
    Some((kind, clip(&one_line(&text), NOTIFICATION_MAX)))
}

fn kind_of(request: &Request) -> &'static str {
    match request.kind {
        RequestKind::Question => "elicitation_dialog",
        RequestKind::Plan
        | RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Budget => "permission_prompt",
    }
}
