//! The driver: executes the effects of one agent's turn, feeds the results back, and publishes events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::mpsc;

use super::budget_gate::BudgetGate;
pub use super::control::Control;
pub(super) use super::control::until_interrupt;
pub use super::driver_state::DriverState;
pub(super) use super::driver_state::LogCompleteness;
use super::driver_state::{FailedModel, Streamed};
use super::hooks::EndDecision;
pub use super::model_config::{
    AgentModel, FindModel, ModelConfig, ModelOptions, ModelPrice, SharedModelConfig,
};
use super::progress_check::ProgressCheck;
use super::tool_runner::ToolRunner;
use super::turn::{TurnEffect, TurnInput};
use crate::domain::chat::{self, Block};
use crate::domain::ids::Name;
use crate::domain::role::RoleEffort;
use crate::domain::team::Activity;
use crate::domain::team_preset::LeadMode;
use crate::domain::timestamp::Timestamp;
use crate::model::ToolSpec;
use crate::protocol::EventSender;
use crate::protocol::event::{
    AgentEvent, CrewEvent, DeliveryState, EventKind, NoticeLevel, TeamEvent, TurnEnd,
};
use crate::store::{Board, Mailbox, PromptQueue, Requests, TranscriptFile};

/// Runs the turns of one agent. Holds its configuration, stores and state.
pub struct Driver {
    pub name: Name,
    pub system: String,
    /// The descriptions of the agent's tools, as sent to the model.
    pub specs: Arc<Vec<ToolSpec>>,
    /// The agent's model. The user may change it between model calls.
    pub model: Arc<AgentModel>,
    pub tool_runner: ToolRunner,
    pub budget_gate: Arc<dyn BudgetGate>,
    pub progress_check: ProgressCheck,
    pub event_sender: EventSender,
    /// The store of messages between agents; `None` for subagents.
    pub mailbox: Option<Mailbox>,
    /// The queue of the user's prompts; `None` except for the lead.
    pub prompts: Option<Arc<PromptQueue>>,
    /// The store of approval requests. Inbox messages refer to the requests by id.
    pub requests: Requests,
    pub board: Board,
    /// The agent's name, role and team as text. A compaction or `/clear` adds it to the new conversation; empty for the
    /// lead.
    pub identity: String,
    /// The reasoning effort that the agent's role sets; `None` if it sets none.
    pub effort: Option<RoleEffort>,
    /// Whether the lead also works on tasks itself. Has no meaning for other agents.
    pub lead_mode: LeadMode,
    /// The share of the context window, in percent, at which the conversation is compacted.
    pub compact_at: u64,
    pub transcript: TranscriptFile,
    pub clock: fn() -> Timestamp,
    /// Returns a random number from 0 to 1. It varies the wait before a retry, so that agents do not retry at the same
    /// time.
    pub jitter: fn() -> f64,
    pub state: DriverState,
}

/// The part of a turn's state that decides what happens at the end of the turn.
struct TurnProgress {
    /// How the turn ended most recently. A hook can continue a turn that has ended, so a turn can end several times.
    ended: TurnEnd,
    is_cleared: bool,
    /// Whether the model was called in this turn.
    has_called: bool,
}

impl Default for TurnProgress {
    fn default() -> TurnProgress {
        TurnProgress {
            ended: TurnEnd::Done,
            is_cleared: false,
            has_called: false,
        }
    }
}

impl Driver {
    /// Runs a turn that begins with `start`: text, or a request to compact or clear the conversation. If the text is
    /// empty, the turn answers only the messages that [`Driver::gather_mail`] returns. If the turn clears the
    /// conversation, the SessionEnd and SessionStart hooks run after the turn. Inputs that arrive while they run start
    /// another turn. Returns how the last turn ended.
    pub async fn turn(
        &mut self,
        start: TurnInput,
        control: &mut mpsc::Receiver<Control>,
    ) -> TurnEnd {
        let mut inputs = VecDeque::from([start]);
        loop {
            let ended = self.single_turn(&mut inputs, control).await;
            // Inputs that arrived while hooks ran after the end of the turn start another turn.
            if inputs.is_empty() {
                return ended;
            }
        }
    }

    /// Runs a turn with `inputs`. Afterwards, `inputs` contains only the inputs that arrived after the end of the turn.
    async fn single_turn(
        &mut self,
        inputs: &mut VecDeque<TurnInput>,
        control: &mut mpsc::Receiver<Control>,
    ) -> TurnEnd {
        self.publish(AgentEvent::TurnStarted.of(self.name.clone()))
            .await;
        self.budget_gate.begin(&self.name);
        self.state.current.began = (self.clock)();
        self.troubles().clear();
        self.begin_turn_of_checkpoints();
        if let Some(hooks) = &self.tool_runner.hooks {
            hooks.begin_turn();
            self.await_session_start(control, inputs).await;
        }
        self.start_servers(control, inputs).await;
        let mut progress = TurnProgress::default();
        let mut is_hooked = false;
        loop {
            self.process(inputs, control, &mut progress).await;
            if !progress.has_called || progress.ended != TurnEnd::Done || progress.is_cleared {
                break;
            }
            if let Some(why) = self.stopped_in_prompt() {
                progress.ended = TurnEnd::Stopped { why };
                break;
            }
            match self.check_end(is_hooked, control, inputs).await {
                EndDecision::End if inputs.is_empty() => break,
                // An input has arrived while the hooks ran, so the turn continues with it.
                EndDecision::End => {}
                EndDecision::GoOn(text) => {
                    is_hooked = true;
                    inputs.push_back(TurnInput::Say(vec![Block::text(text)]));
                }
                EndDecision::Interrupted => {
                    progress.ended = TurnEnd::Interrupted;
                    self.process(inputs, control, &mut progress).await;
                    break;
                }
            }
        }
        let TurnProgress {
            ended, is_cleared, ..
        } = progress;
        self.activity(match &ended {
            TurnEnd::Failed { error, .. } => Activity::Failed { why: error.clone() },
            TurnEnd::Done | TurnEnd::Interrupted | TurnEnd::Stopped { .. } => Activity::Idle,
        })
        .await;
        self.record_turn_end().await;
        let end = ended.clone();
        self.publish(AgentEvent::TurnEnded { end }.of(self.name.clone()))
            .await;
        if is_cleared {
            self.clear(control, inputs).await;
        }
        ended
    }

    /// Feeds inputs to the turn and executes its effects until no input is left.
    async fn process(
        &mut self,
        inputs: &mut VecDeque<TurnInput>,
        control: &mut mpsc::Receiver<Control>,
        progress: &mut TurnProgress,
    ) {
        while let Some(input) = inputs.pop_front() {
            if matches!(input, TurnInput::Say(_)) {
                self.progress_check.reset();
            }
            let mut is_withdrawn = false;
            for effect in self.state.turn.step(input) {
                match effect {
                    TurnEffect::CheckMail => {
                        self.update_server_tools().await;
                        self.set_budget();
                        self.repair_log().await;
                        // If the turn is already interrupted, messages that are taken from the inbox now would stay
                        // unanswered.
                        let blocks = if inputs.iter().any(TurnInput::is_interrupt) {
                            Vec::new()
                        } else {
                            self.gather_mail().await
                        };
                        if !blocks.is_empty() {
                            self.progress_check.reset();
                        }
                        inputs.push_back(TurnInput::Mail(blocks));
                    }
                    TurnEffect::Save(message) => is_withdrawn = !self.save(message).await,
                    // Another reader has taken over the messages, so there is nothing to answer.
                    TurnEffect::Call if is_withdrawn => inputs.push_back(TurnInput::Stop {
                        why: "another program took over the messages".into(),
                    }),
                    // The user interrupted the hooks that ran after a summary, so the model is not called.
                    TurnEffect::Call if inputs.iter().any(TurnInput::is_interrupt) => {}
                    TurnEffect::Call => {
                        progress.has_called = true;
                        self.repair_log().await;
                        let answer = self.call(control, inputs).await;
                        inputs.push_back(answer);
                    }
                    TurnEffect::Summarise(question) => {
                        let answer = self.summarise(question, control, inputs).await;
                        inputs.push_back(answer);
                    }
                    TurnEffect::Archive => {
                        if let Some(hooks) = &self.tool_runner.hooks {
                            hooks.set_compaction_checked(false);
                        }
                        self.repair_log().await;
                        inputs.push_back(self.archive().await);
                    }
                    TurnEffect::Replace(_) => {
                        self.replace().await;
                        self.restart_after_summary(control, inputs).await;
                    }
                    TurnEffect::Compacted(compaction) => self.publish_compaction(compaction).await,
                    // The conversation is cleared after the turn, so that the archive contains the end of the turn.
                    TurnEffect::Clear => progress.is_cleared = true,
                    TurnEffect::Wait {
                        wait,
                        attempt,
                        attempts_max,
                        cause,
                    } => {
                        let activity = Activity::Backoff {
                            cause,
                            until: (self.clock)().after(wait),
                            attempt,
                            attempts_max,
                        };
                        self.back_off(wait, activity, control, inputs).await;
                    }
                    TurnEffect::UseFallback { why } => self.replace_model(&why).await,
                    TurnEffect::Run(calls) => {
                        self.repair_log().await;
                        self.run(calls, control, inputs).await;
                    }
                    TurnEffect::Notice(level, text) => {
                        let agent = Some(self.name.clone());
                        self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
                            .await;
                    }
                    TurnEffect::End(end) => progress.ended = end,
                }
            }
        }
    }

    pub(super) fn model_config(&self) -> ModelConfig {
        self.model.current()
    }

    pub async fn activity(&self, activity: Activity) {
        self.publish(AgentEvent::ActivityChanged { activity }.of(self.name.clone()))
            .await;
    }

    pub async fn publish(&self, kind: EventKind) {
        self.event_sender.publish(kind).await;
    }

    /// Reports to the user that a state file could not be read or written. `what` is the first part of the report, such
    /// as `The inbox cannot be read`. The same report is made only once per turn.
    pub async fn report_file_error(&self, what: &str, error: &crate::store::StoreError) {
        let text = format!("{what}: {error}");
        if !self.troubles().insert(text.clone()) {
            return;
        }
        self.publish(EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Error,
            agent: Some(self.name.clone()),
            text,
        }))
        .await;
    }

    fn troubles(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let troubles = self.state.current.troubles.lock();
        troubles.unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> TurnInput {
        if let Some(stop) = self.stopped_by_hook() {
            return stop;
        }
        if let Some(stop) = self.await_budget(control, inputs).await {
            return stop;
        }
        if let Some(stop) = self.check_progress(control, inputs).await {
            return stop;
        }
        let recording = self.record_checkpoint_of_external();
        if until_interrupt(control, inputs, recording).await.is_none() {
            return TurnInput::interrupt();
        }
        self.activity(Activity::Thinking).await;
        let model_config = self.model_config();
        self.publish_model(&model_config).await;
        self.hint_at_images(&model_config).await;
        let mut streamed = Streamed::default();
        let mut stream = self.stream(&model_config, &mut streamed);
        let mut answer = until_interrupt(control, inputs, stream).await;
        while let Some(Err(error)) = &answer
            && self.is_effort_refusal(&model_config, error).await
        {
            stream = self.stream(&model_config, &mut streamed);
            answer = until_interrupt(control, inputs, stream).await;
        }
        self.state.published.thought_ms = streamed.thought_ms;
        self.end_external_calls(&mut streamed.calls).await;
        let reported = streamed.calls.context.take();
        self.state.published.context = reported.or(self.state.published.context.take());
        let partial = streamed.partial;
        // After a failure, the parts are not in the conversation.
        self.state.published.parts = match answer {
            Some(Ok(_)) => streamed.parts,
            Some(Err(_)) | None => 0,
        };
        match answer {
            Some(Ok(reply)) => {
                self.progress_check.note_answer();
                self.count(&model_config, &reply).await;
                for message in std::mem::take(&mut self.state.unanswered) {
                    let step = DeliveryState::ActedOn;
                    self.publish(EventKind::Team(TeamEvent::MessageMoved { message, step }))
                        .await;
                }
                TurnInput::Replied(reply)
            }
            Some(Err(error)) => {
                if !partial.is_empty() {
                    self.publish(AgentEvent::StreamReset.of(self.name.clone()))
                        .await;
                }
                let error = self.look_for_image_refusal(&model_config, error);
                self.model_failed(FailedModel::Own(model_config), error)
            }
            None => TurnInput::Interrupt { partial },
        }
    }

    async fn back_off(
        &mut self,
        wait: Duration,
        activity: Activity,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        self.activity(activity).await;
        let slept = until_interrupt(control, inputs, tokio::time::sleep(wait)).await;
        inputs.push_back(match slept {
            Some(()) => TurnInput::RetryDue,
            None => TurnInput::interrupt(),
        });
    }

    async fn run(
        &mut self,
        calls: Vec<chat::ToolCall>,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        let recording = self.record_checkpoint_before(&calls);
        if until_interrupt(control, inputs, recording).await.is_none() {
            return inputs.push_back(TurnInput::interrupt());
        }
        for event in self.state.announced.record_starts(&self.name, &calls) {
            self.publish(event).await;
        }
        if let Some(call) = calls.first() {
            let tool = call.name.clone();
            self.activity(Activity::Tool {
                tool,
                on: super::published_calls::summarise_call(call),
            })
            .await;
        }
        // Results of finished calls are kept when the other calls are interrupted.
        let done = Mutex::new(BTreeMap::new());
        let work = join_all(calls.iter().enumerate().map(async |(at, call)| {
            let keep = |output, took| {
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.insert(at, (output, took));
            };
            let (output, took) = self.tool_runner.carry_out(&self.name, call, &keep).await;
            keep(output, took);
        }));
        let ended = until_interrupt(control, inputs, work).await;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (at, call) in calls.into_iter().enumerate() {
            let Some((output, took)) = done.remove(&at) else {
                continue;
            };
            let finished = self
                .state
                .announced
                .record_finish(&self.name, &call, &output, took);
            self.publish(finished).await;
            self.progress_check.note_call(&call, &output);
            if !output.images.is_empty() {
                let images = output.images.into_iter().map(Block::Image);
                inputs.push_back(TurnInput::ResultImages(images.collect()));
            }
            inputs.push_back(TurnInput::ToolDone {
                call: call.id,
                content: output.text,
                outcome: output.outcome,
            });
        }
        if ended.is_none() {
            inputs.push_back(TurnInput::interrupt());
        }
        if let Some(place) = self.tool_runner.mailbox.take_workdir() {
            self.tool_runner.workdir = place;
        }
        if let Some(focus) = self.tool_runner.mailbox.take_compaction() {
            inputs.push_front(TurnInput::OwnCompaction { focus });
        }
        if let Some(list) = self.tool_runner.mailbox.take_todo() {
            inputs.push_front(TurnInput::TodoSet(list.has_open()));
            self.save_todo(list).await;
        }
    }
}

/// Runs `work`, which accesses files, on a thread for blocking work. A panic in `work` becomes an error.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::store::StoreError> + Send + 'static,
) -> Result<T, crate::store::StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(crate::store::StoreError::from(std::io::Error::other(error))),
    }
}
