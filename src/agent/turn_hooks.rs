//! Runs the hooks of an agent's turn and of the lead's session: SessionStart, SessionEnd, PreCompact, Stop,
//! SubagentStop and TeammateIdle hooks.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::driver::{Control, Driver, run_blocking, until_interrupt};
use super::hooks::{AgentHooks, EndDecision, HookCaller, context_lines};
use super::turn::TurnInput;
use crate::domain::chat::{Message, Role};
use crate::domain::hook::{HookEvent, HookInput, HookOutcome, SessionEndReason};
use crate::domain::text::one_line;
use crate::protocol::event::{AgentEvent, NoticeLevel};

impl Driver {
    /// Waits until the SessionStart hooks have ended, so that the lead's first model call contains their texts. An
    /// interrupt kills these hooks and interrupts the turn. Does nothing for agents other than the lead.
    pub(super) async fn await_session_start(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        let hooks = self.tool_runner.hooks.as_ref();
        let Some(hooks) = hooks.filter(|_| self.name.is_lead()) else {
            return;
        };
        let caller = &hooks.caller;
        if caller.is_started() {
            return;
        }
        if until_interrupt(control, inputs, caller.until_started())
            .await
            .is_none()
        {
            caller.start_cancel.cancel();
            caller.until_started().await;
            inputs.push_back(TurnInput::Interrupt {
                partial: String::new(),
            });
        }
    }

    /// Returns the input that ends the turn before its next model call because a hook has requested it; `None` if no
    /// hook has. Clears the request.
    pub(super) fn stopped_by_hook(&self) -> Option<TurnInput> {
        let hooks = self.tool_runner.hooks.as_ref()?;
        let is_lead = self.name.is_lead();
        let of_session = || is_lead.then(|| hooks.caller.take_session_stop()).flatten();
        let why = hooks.take_stop().or_else(of_session)?;
        Some(TurnInput::Stop { why })
    }

    /// Returns why a hook has stopped an external agent during its last prompt, and clears the reason; `None` if no
    /// hook has. Always `None` for crewdeck's own agents: these are stopped before their next model call, whereas the
    /// prompt of an external agent is the whole turn.
    pub(super) fn stopped_in_prompt(&self) -> Option<String> {
        let hooks = self.tool_runner.hooks.as_ref();
        hooks.filter(|_| self.tool_runner.is_external)?.take_stop()
    }

    /// Runs the PreCompact hooks. Returns `None` if the compaction may continue. If a hook prevents it or stops the
    /// agent, or if the hooks are interrupted, returns the input that reports this to the turn.
    pub(super) async fn refused_compaction(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<TurnInput> {
        let hooks = self.hooks_of(HookEvent::PreCompact)?;
        let (is_manual, focus) = self.state.turn.compaction()?;
        // A second request for the same summary is part of the same compaction, so the hooks do not run again.
        if hooks.is_compaction_checked() {
            return None;
        }
        let input = HookInput::PreCompact {
            is_manual,
            instructions: focus.to_string(),
        };
        let Some(outcome) = self.run_hooks(hooks, &input, control, inputs).await else {
            return Some(TurnInput::Interrupt {
                partial: String::new(),
            });
        };
        if let Some(why) = outcome.stop.clone() {
            return Some(TurnInput::Stop { why });
        }
        if outcome.is_blocked() {
            let why = outcome.reason();
            let text = format!(
                "A PreCompact hook prevents the compaction of {}'s conversation: {why}",
                self.name
            );
            hooks
                .caller
                .notice(NoticeLevel::Warn, one_line(&text))
                .await;
            return Some(TurnInput::CompactionRefused { why });
        }
        hooks.set_compaction_checked(true);
        None
    }

    /// Runs the SessionStart hooks again after a summary of the lead's conversation. Adds their texts to the
    /// conversation after the summary, so that the next model call contains them. An interrupt ends the hooks and the
    /// turn. Does nothing for agents other than the lead.
    pub(super) async fn restart_after_summary(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        match self.restart_session("compact", control, inputs).await {
            Some(texts) if texts.is_empty() => {}
            Some(texts) => {
                let text = format!("<hook>\n{}\n</hook>", texts.join("\n"));
                self.state.turn.add_context(text);
                self.replace().await;
                self.tool_runner.mailbox.record_session_start(&texts);
            }
            None => inputs.push_back(TurnInput::Interrupt {
                partial: String::new(),
            }),
        }
    }

    /// Runs the SessionEnd hooks before the lead's conversation is emptied. Returns `None` if they are interrupted.
    /// Returns `Some` without running a hook for agents other than the lead, and if no SessionEnd hook is configured.
    pub(super) async fn end_session(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<()> {
        let input = HookInput::SessionEnd {
            reason: SessionEndReason::Clear,
        };
        self.run_session_hooks(&input, control, inputs).await?;
        Some(())
    }

    /// Runs the SessionStart hooks again, because the lead begins a new conversation. `source` is the reason, `compact`
    /// or `clear`. If a hook stops the session, the lead's turn ends before its next model call. Returns the hooks'
    /// texts for the model; empty for agents other than the lead, and if no SessionStart hook is configured. `None` if
    /// the hooks are interrupted.
    pub(super) async fn restart_session(
        &self,
        source: &'static str,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<Vec<String>> {
        let input = HookInput::SessionStart {
            source,
            model: Some(self.model_config().name),
        };
        let outcome = self.run_session_hooks(&input, control, inputs).await?;
        if let (Some(hooks), Some(why)) = (&self.tool_runner.hooks, &outcome.stop) {
            hooks.caller.stop_session(why);
        }
        let lines = context_lines(HookEvent::SessionStart, &outcome).into_iter();
        let redacted = lines.map(|text| self.tool_runner.redactor.text(&text).into_owned());
        Some(redacted.collect())
    }

    /// Runs SessionStart or SessionEnd hooks, for the lead only, because the session belongs to the lead. Returns the
    /// default outcome for other agents, and if no such hook is configured; `None` if the hooks are interrupted.
    async fn run_session_hooks(
        &self,
        input: &HookInput,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<HookOutcome> {
        let hooks = self.hooks_of(input.event());
        let Some(hooks) = hooks.filter(|_| self.name.is_lead()) else {
            return Some(HookOutcome::default());
        };
        self.run_hooks(hooks, input, control, inputs).await
    }

    /// Runs the Stop hooks, or SubagentStop hooks for a subagent, at the end of a turn in which the model has answered.
    /// `is_active` says whether one of these hooks has already prevented the end of this turn. The hooks do not run,
    /// and the turn ends, if a request of the agent waits for a decision or if the requests cannot be read.
    pub(super) async fn check_end(
        &self,
        is_active: bool,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> EndDecision {
        let is_subagent = self.name.parent().is_some();
        let event = if is_subagent {
            HookEvent::SubagentStop
        } else {
            HookEvent::Stop
        };
        let Some(hooks) = self.hooks_of(event) else {
            return EndDecision::End;
        };
        if self.waits_for_answer().await {
            return EndDecision::End;
        }
        let last_message = self.last_answer();
        let input = if is_subagent {
            HookInput::SubagentStop {
                is_active,
                last_message,
                transcript_path: hooks.subject.transcript.clone(),
            }
        } else {
            HookInput::Stop {
                is_active,
                last_message,
            }
        };
        self.decide_end(hooks, &input, control, inputs).await
    }

    /// Runs the TeammateIdle hooks before a teammate becomes idle. If they keep the teammate working, returns the text
    /// with which it continues, else `None`. The hooks do not run while a request of the teammate waits for a decision
    /// or the requests cannot be read.
    pub async fn check_idle(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<String> {
        let hooks = self.hooks_of(HookEvent::TeammateIdle)?;
        if self.waits_for_answer().await {
            return None;
        }
        let input = HookInput::TeammateIdle;
        match self.decide_end(hooks, &input, control, inputs).await {
            EndDecision::GoOn(text) => Some(text),
            EndDecision::End | EndDecision::Interrupted => None,
        }
    }

    async fn decide_end(
        &self,
        hooks: &AgentHooks,
        input: &HookInput,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> EndDecision {
        let Some(outcome) = self.run_hooks(hooks, input, control, inputs).await else {
            return EndDecision::Interrupted;
        };
        if let Some(why) = &outcome.stop {
            let text = format!("A hook has stopped {}: {why}", self.name);
            let text = one_line(&text);
            hooks.caller.notice(NoticeLevel::Info, text).await;
        }
        let name = input.event().name();
        let redactor = &self.tool_runner.redactor;
        let lines = context_lines(input.event(), &outcome);
        if outcome.stop.is_some() || !outcome.is_blocked() {
            for line in lines {
                self.tool_runner
                    .mailbox
                    .note(redactor.text(&line).into_owned());
            }
            return EndDecision::End;
        }
        let mut texts = vec![format!("{name} hook feedback:\n{}", outcome.reason())];
        texts.extend(lines);
        let text = redactor.text(&texts.join("\n")).into_owned();
        let shown = AgentEvent::ContextAdded {
            what: format!("{name} hook: {}", one_line(&outcome.reason())),
            text: text.clone(),
        };
        self.publish(shown.of(self.name.clone())).await;
        EndDecision::GoOn(text)
    }

    fn hooks_of(&self, event: HookEvent) -> Option<&AgentHooks> {
        let hooks = self.tool_runner.hooks.as_deref()?;
        hooks.caller.has_hooks(event).then_some(hooks)
    }

    /// Runs hooks until they end. If an interrupt arrives first, kills the hooks and returns `None`.
    async fn run_hooks(
        &self,
        hooks: &AgentHooks,
        input: &HookInput,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<HookOutcome> {
        let cancel = CancellationToken::new();
        let _ends_with_this = cancel.clone().drop_guard();
        let caller: &HookCaller = &hooks.caller;
        let place = (
            &*self.tool_runner.workdir,
            self.tool_runner.permission_mode(),
        );
        let work = async {
            let outcome = caller.run(&hooks.subject, place, input, &cancel).await;
            let host = &*self.tool_runner.host;
            caller
                .settle(input.event(), outcome, host, &self.name)
                .await
        };
        until_interrupt(control, inputs, work).await
    }

    /// Returns whether a request of the agent waits for a decision. Also returns true if the requests cannot be read.
    async fn waits_for_answer(&self) -> bool {
        let requests = self.requests.clone();
        let Ok(reading) = run_blocking(move || requests.read_all()).await else {
            return true;
        };
        let mut pending = reading.requests.iter().filter(|r| r.is_pending());
        pending.any(|request| request.from.same(&self.name))
    }

    /// Returns the text of the model's last answer; empty if there is none.
    fn last_answer(&self) -> String {
        let messages = self.state.turn.messages();
        let last = messages.iter().rfind(|m| m.role == Role::Assistant);
        last.map(Message::text).unwrap_or_default()
    }
}
