//! Runs the hooks of a tool call: PreToolUse, PermissionRequest and PostToolUse hooks.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::hooks::{AgentHooks, HookPermission, RequestHook, SHOWN_AFTER};
use super::published_calls::{started_event, summarise_call};
use super::tool_runner::ToolRunner;
use crate::domain::chat::{Outcome, ToolCall};
use crate::domain::hook::{
    HookCall, HookEvent, HookInput, HookOutcome, PermissionVerdict, external_name,
    external_response, limit_length,
};
use crate::domain::ids::{CallId, Name};
use crate::domain::team::Activity;
use crate::protocol::event::AgentEvent;
use crate::tools::ToolOutput;
use crate::tools::policy::PlanGate;

/// Maximum size, in bytes, of a call's input in the result of the call. The result contains the input only if a hook
/// has changed it.
const INPUT_MAX: usize = 2000;

/// The text after the result of a call whose `PostToolUse` hooks were interrupted. It replaces the texts of the hooks.
const HOOKS_INTERRUPTED: &str = "\n[The PostToolUse hooks of this call were interrupted.]";

/// Texts from hooks that are appended to the result of a tool call.
#[derive(Default)]
pub(in crate::agent) struct Notes(Vec<String>);

/// A call after the PreToolUse hooks have run and not denied it.
pub(in crate::agent) struct HookedCall {
    /// The call. If a hook has set another input, the call has that input.
    pub call: ToolCall,
    pub permission: HookPermission,
    pub notes: Notes,
}

impl Notes {
    fn add_context(&mut self, event: HookEvent, outcome: &HookOutcome) {
        for text in &outcome.context {
            self.0
                .push(format!("[Hook {}: {}]", event.name(), text.trim()));
        }
    }

    fn add_input(&mut self, input: &Value) {
        let text = crate::domain::text::head_and_tail(&input.to_string(), INPUT_MAX);
        self.0
            .push(format!("[A hook changed the input of this call to {text}]"));
    }

    /// Returns the texts, each on a new line, to be appended to the result of a call; empty if there are none.
    pub fn text(&self) -> String {
        match &self.0[..] {
            [] => String::new(),
            notes => limit_length(&format!("\n{}", notes.join("\n"))),
        }
    }
}

/// A function that keeps the result of a call in case its PostToolUse hooks are interrupted. It is called before these
/// hooks run, with the tool's run time and its output, to which a note about the interruption is already added. It is
/// not called if the tool fails or no such hooks exist.
pub type KeepOutput<'a> = &'a (dyn Fn(ToolOutput, Duration) + Sync);

impl ToolRunner {
    /// Executes one tool call with its hooks. Returns the output and the run time of the tool, without the wait for
    /// approval; the run time is zero if the tool did not run. Dropping the future stops the tool and withdraws an open
    /// approval request. If the future is dropped while PostToolUse hooks run, `keep` has already received the output.
    pub async fn carry_out(
        &self,
        agent: &Name,
        call: &ToolCall,
        keep: KeepOutput<'_>,
    ) -> (ToolOutput, Duration) {
        match &self.hooks {
            None => self.execute(agent, call, &HookPermission::Rules).await,
            Some(hooks) => self.carry_out_with_hooks(hooks, agent, call, keep).await,
        }
    }

    async fn carry_out_with_hooks(
        &self,
        hooks: &AgentHooks,
        agent: &Name,
        call: &ToolCall,
        keep: KeepOutput<'_>,
    ) -> (ToolOutput, Duration) {
        let at_once = |text: String| (self.finish(ToolOutput::error(text), ""), Duration::ZERO);
        let HookedCall {
            call,
            permission,
            mut notes,
        } = match self.run_before(hooks, agent, call).await {
            Ok(hooked) => hooked,
            Err(why) => return at_once(why),
        };
        let (mut output, took) = self.execute(agent, &call, &permission).await;
        if output.outcome == Outcome::Ok && hooks.caller.has_hooks(HookEvent::PostToolUse) {
            let note = notes.text() + HOOKS_INTERRUPTED;
            keep(
                self.finish(output.clone(), &self.redactor.text(&note)),
                took,
            );
            self.run_after(hooks, agent, &call, (&output.text, took), &mut notes)
                .await;
        }
        let text = notes.text();
        if !text.is_empty() {
            output = self.finish(output, &self.redactor.text(&text));
        }
        (output, took)
    }

    /// Runs the PreToolUse hooks for a call. Returns the call as the hooks have changed it, with their decision.
    ///
    /// # Errors
    /// Returns the error text of the call if a hook denies it or stops the agent.
    pub(in crate::agent) async fn run_before(
        &self,
        hooks: &AgentHooks,
        agent: &Name,
        call: &ToolCall,
    ) -> Result<HookedCall, String> {
        let stopped = |why: &str| Err(format!("Error: not run: a hook stopped the agent: {why}"));
        if let Some(why) = hooks.stop_reason() {
            return stopped(&why);
        }
        let mut hooked = HookedCall {
            call: call.clone(),
            permission: HookPermission::Rules,
            notes: Notes::default(),
        };
        if !hooks.caller.has_hooks(HookEvent::PreToolUse) {
            return Ok(hooked);
        }
        let input = HookInput::PreToolUse(hook_call(call));
        let outcome = self.run_hooks(hooks, agent, &input).await;
        if let Some(why) = &outcome.stop {
            hooks.request_stop(why);
            return stopped(why);
        }
        if let Some(changed) = outcome.updated_input.clone() {
            hooked.call = self.replace_input(agent, call, changed).await;
            hooked.notes.add_input(&hooked.call.input);
        }
        hooked.notes.add_context(HookEvent::PreToolUse, &outcome);
        hooked.permission = match outcome.permission {
            Some((PermissionVerdict::Deny, reason)) => {
                return Err(error_text(&input, &reason) + &hooked.notes.text());
            }
            Some((PermissionVerdict::Ask, reason)) => {
                HookPermission::MustAsk(match reason.trim() {
                    "" => "a hook asks for approval".into(),
                    reason => format!("a hook asks for approval: {reason}"),
                })
            }
            Some((PermissionVerdict::Allow, _)) if hooks.caller.can_approve => {
                HookPermission::Allowed
            }
            _ => HookPermission::Rules,
        };
        Ok(hooked)
    }

    /// Runs the PostToolUse hooks for a call that has succeeded, and adds their texts to `notes`. `text` is the output
    /// of the call, and `took` is its run time.
    pub(in crate::agent) async fn run_after(
        &self,
        hooks: &AgentHooks,
        agent: &Name,
        call: &ToolCall,
        (text, took): (&str, Duration),
        notes: &mut Notes,
    ) {
        let input = HookInput::PostToolUse {
            call: hook_call(call),
            response: external_response(&call.name, &call.input, &self.workdir, text),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        let outcome = self.run_hooks(hooks, agent, &input).await;
        if let Some(why) = &outcome.stop {
            hooks.request_stop(why);
        }
        for reason in &outcome.blocks {
            let text = error_text(&input, reason);
            notes.0.push(format!("[{text}]"));
        }
        notes.add_context(HookEvent::PostToolUse, &outcome);
    }

    /// Runs the PermissionRequest hooks, which decide about a call before the approver sees the approval request.
    /// Returns [`RequestHook::Ask`] if no such hook is configured or the hooks decide nothing. If the settings deny
    /// every call that needs approval, the hooks do not run, and the result is [`RequestHook::Ask`] too.
    pub(super) async fn run_request_hooks(&self, agent: &Name, call: &ToolCall) -> RequestHook {
        let hooks = self.hooks.as_ref();
        let Some(hooks) = hooks.filter(|hooks| {
            hooks.caller.can_approve && hooks.caller.has_hooks(HookEvent::PermissionRequest)
        }) else {
            return RequestHook::Ask;
        };
        let input = HookInput::PermissionRequest(hook_call(call));
        let outcome = self.run_hooks(hooks, agent, &input).await;
        if let Some(why) = &outcome.stop {
            hooks.request_stop(why);
        }
        match outcome.permission {
            Some((PermissionVerdict::Deny, reason)) => {
                RequestHook::Denied(error_text(&input, &reason))
            }
            Some((PermissionVerdict::Allow, _)) => RequestHook::Approved(outcome.updated_input),
            _ => RequestHook::Ask,
        }
    }

    /// Runs the hooks of a tool event and returns their outcome. If a hook has blocked the same action too often, first
    /// asks the user whether to ignore the hook.
    async fn run_hooks(&self, hooks: &AgentHooks, agent: &Name, input: &HookInput) -> HookOutcome {
        let cancel = CancellationToken::new();
        let _ends_with_this = cancel.clone().drop_guard();
        let place = (self.workdir.as_path(), self.permission_mode());
        let began = Instant::now();
        let outcome = hooks
            .caller
            .run(&hooks.subject, place, input, &cancel)
            .await;
        if let Some(call) = input.call().filter(|_| began.elapsed() >= SHOWN_AFTER) {
            self.show_call(hooks, agent, call).await;
        }
        let event = input.event();
        hooks
            .caller
            .settle(event, outcome, &*self.host, agent)
            .await
    }

    /// Returns the agent's permission mode as Claude Code names it: `default` or `plan`.
    pub(super) fn permission_mode(&self) -> &'static str {
        match self.mailbox.gate() {
            PlanGate::Open => "default",
            PlanGate::Closed => "plan",
        }
    }

    /// Returns `call` with the input `input`, and publishes the new input, so that the screen shows the new input.
    /// Publishes nothing for an external agent, which reports its calls itself.
    pub(super) async fn replace_input(
        &self,
        agent: &Name,
        call: &ToolCall,
        input: Value,
    ) -> ToolCall {
        let call = ToolCall {
            input,
            ..call.clone()
        };
        if let Some(hooks) = self.hooks.as_ref().filter(|_| !self.is_external) {
            hooks.caller.publish(started_event(agent, &call)).await;
        }
        call
    }

    /// Publishes the call as the agent's activity again, after the activity showed running hooks.
    async fn show_call(&self, hooks: &AgentHooks, agent: &Name, call: &HookCall) {
        let activity = Activity::Tool {
            tool: call.name.clone(),
            on: summarise_call(&ToolCall {
                id: CallId(call.id.clone()),
                name: call.name.clone(),
                input: call.input.clone(),
                broken: None,
            }),
        };
        let changed = AgentEvent::ActivityChanged { activity };
        hooks.caller.publish(changed.of(agent.clone())).await;
    }
}

fn hook_call(call: &ToolCall) -> HookCall {
    HookCall {
        name: call.name.clone(),
        input: call.input.clone(),
        id: call.id.0.clone(),
    }
}

/// Returns the text that tells the model that a hook denied or commented on a call, in the wording of Claude Code.
fn error_text(input: &HookInput, reason: &str) -> String {
    let tool = input.call().map(|call| external_name(&call.name));
    let event = input.event().name();
    format!(
        "{event}:{} hook error: {}",
        tool.unwrap_or_default(),
        reason.trim()
    )
}
