//! Runs the hooks of the session: at its start, for each prompt of the user, and for notifications.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::context::CrewContext;
use super::hooks::{CrewHooks, notification};
use super::parts::CrewParts;
use super::registry::AgentHandle;
use crate::agent::hooks::{HookSubject, context_lines};
use crate::domain::hook::{HookEvent, HookInput, HookOutcome};
use crate::domain::ids::Name;
use crate::domain::text::one_line;
use crate::protocol::event::EventKind;
use crate::tools::host::Host;

/// Creates the hooks of a crew from `parts.extensions.hooks`, which is `None` afterwards. Returns `None` if no hook is
/// configured. [`CrewHooks::new`] may replace the event sender in `parts`.
pub fn create(parts: &mut CrewParts) -> Option<Arc<CrewHooks>> {
    let hooks = parts.extensions.hooks.take()?;
    Some(Arc::new(CrewHooks::new(
        hooks,
        (&parts.shared.root, &parts.session.info.session),
        parts.supervisor.as_ref(),
        &mut parts.event_sender,
    )))
}

/// Starts two background tasks. One runs the hooks of the session's start. The other runs the notification hooks until
/// the crew stops. The lead's first model call waits for the hooks of the session's start and contains the texts that
/// they return.
pub fn start(context: &Arc<CrewContext>, lead: AgentHandle, resumes: bool, model: String) {
    let Some(hooks) = context.hooks.clone() else {
        return;
    };
    if let Some(events) = hooks.take_notifications() {
        context.spawn(notify(Arc::clone(&hooks), context.stop.clone(), events));
    }
    if !hooks.has_hooks(HookEvent::SessionStart) {
        return hooks.caller.set_started();
    }
    let (own, context) = (hooks, Arc::clone(context));
    context.clone().spawn(async move {
        let input = HookInput::SessionStart {
            source: if resumes { "resume" } else { "startup" },
            model: Some(model),
        };
        let subject = own.subject(&Name::lead());
        let work = own.run(&subject, &input, &own.caller.start_cancel);
        tokio::select! {
            () = context.stop.cancelled() => {}
            outcome = work => {
                if let Some(why) = &outcome.stop {
                    own.caller.stop_session(why);
                }
                let redactor = context.event_sender.redactor();
                let lines = context_lines(HookEvent::SessionStart, &outcome).into_iter();
                let lines: Vec<String> = lines
                    .map(|line| redactor.text(&line).into_owned())
                    .collect();
                lead.mailbox.record_session_start(&lines);
                for line in lines {
                    lead.mailbox.note(line);
                }
            }
        }
        own.caller.set_started();
        if !lead.is_working() {
            own.caller.show_idle(&Name::lead()).await;
        }
    });
}

/// Runs the hooks of an action of the user. `name` is the agent that the action concerns: the recipient of a message,
/// and the lead for all other actions. `agent` is `None` if that agent is not running. With a `host`, the user is asked
/// about a hook that blocks too often.
///
/// While the hooks run, they are shown as the activity of the agent, if it is not in a turn. [`CrewHooks::interrupt`]
/// with the name of the agent ends the hooks.
///
/// Returns `None` if the hooks were interrupted or the crew stops.
pub async fn run_for_user(
    context: &CrewContext,
    hooks: &CrewHooks,
    (name, agent): (&Name, Option<&AgentHandle>),
    input: &HookInput,
    host: Option<&dyn Host>,
) -> Option<HookOutcome> {
    let running = hooks.interruptible(name);
    let cancel = running.cancel.clone();
    let subject = HookSubject {
        is_shown: agent.is_some_and(|agent| !agent.is_working()),
        ..hooks.subject(name)
    };
    let work = async {
        let outcome = hooks.run(&subject, input, &cancel).await;
        match host {
            Some(host) => {
                // The question is the lead's, because the agent itself does not wait for it.
                let event = input.event();
                hooks
                    .caller
                    .settle(event, outcome, host, &Name::lead())
                    .await
            }
            None => outcome,
        }
    };
    let outcome = tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        () = context.stop.cancelled() => None,
        outcome = work => Some(outcome),
    };
    drop(running);
    let is_free = agent.is_some_and(|agent| !agent.is_working()) && !hooks.hold_up(name);
    if subject.is_shown && is_free {
        hooks.caller.show_idle(name).await;
    }
    outcome
}

/// Runs the `UserPromptSubmit` hooks of the user's message `prompt` to the agent `recipient`. Returns the texts that
/// the hooks add for the model; empty if no such hook is configured. [`CrewHooks::interrupt`] with the agent's name
/// ends the hooks.
///
/// # Errors
/// Returns why the agent must not get the message.
pub async fn check_prompt(
    context: &CrewContext,
    recipient: (&Name, Option<&AgentHandle>),
    host: &dyn Host,
    prompt: &str,
) -> Result<Vec<String>, String> {
    let hooks = context.hooks.as_ref();
    let Some(hooks) = hooks.filter(|hooks| hooks.has_hooks(HookEvent::UserPromptSubmit)) else {
        return Ok(Vec::new());
    };
    let input = HookInput::UserPromptSubmit {
        prompt: prompt.to_string(),
    };
    let outcome = run_for_user(context, hooks, recipient, &input, Some(host)).await;
    let Some(outcome) = outcome else {
        return Err("its UserPromptSubmit hooks were interrupted.".into());
    };
    let reason = outcome
        .stop
        .clone()
        .or_else(|| outcome.is_blocked().then(|| outcome.reason()));
    match reason {
        Some(reason) => Err(one_line(&format!("UserPromptSubmit hook: {reason}"))),
        None => {
            let redactor = context.event_sender.redactor();
            let texts = outcome.context.iter();
            Ok(texts.map(|text| redactor.text(text).into_owned()).collect())
        }
    }
}

async fn notify(
    hooks: Arc<CrewHooks>,
    cancel: CancellationToken,
    mut events: mpsc::Receiver<EventKind>,
) {
    let subject = HookSubject {
        is_shown: false,
        ..hooks.subject(&Name::lead())
    };
    loop {
        let event = tokio::select! {
            () = cancel.cancelled() => return,
            event = events.recv() => event,
        };
        let Some(event) = event else { return };
        if let Some((kind, message)) = notification(&event) {
            let input = HookInput::Notification {
                kind,
                title: "crewdeck".into(),
                message,
            };
            hooks.run(&subject, &input, &cancel).await;
        }
    }
}
