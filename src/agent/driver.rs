//! The driver: executes the effects of one agent's turn, feeds the results back, and publishes events.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::mpsc;

use super::budget_gate::BudgetGate;
pub use super::model_config::{ModelConfig, SharedModelConfig};
use super::tool_runner::{PublishedCalls, ToolRunner};
use super::turn::{Input, Turn, TurnEffect};
use crate::domain::chat::{self, Block};
use crate::domain::ids::{JobId, Name, PromptId};
use crate::domain::mail::MailMessage;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;
use crate::model::ToolSpec;
use crate::protocol::EventSender;
use crate::protocol::event::{
    AgentEvent, CrewEvent, DeliveryState, EventKind, NoticeLevel, TeamEvent, TurnEnd,
};
use crate::store::{Board, Cursor, Mailbox, PromptQueue, QueuedPrompt, Requests, Transcript};

/// Commands of the crew to an agent while it works.
#[derive(Debug)]
pub enum Control {
    /// Adds text to its conversation.
    Say(Vec<Block>),
    /// Interrupts the turn.
    Interrupt,
    /// Summarises the conversation, in most detail about this.
    Compact(String),
}

/// Everything that one agent works with.
pub struct Driver {
    /// The agent's name.
    pub name: Name,
    /// The system prompt.
    pub system: String,
    /// The tools that are sent to the model.
    pub specs: Arc<Vec<ToolSpec>>,
    /// The model.
    pub model: SharedModelConfig,
    /// Runs tool calls.
    pub tool_runner: ToolRunner,
    /// Counts usage and enforces budgets.
    pub budget_gate: Arc<dyn BudgetGate>,
    /// Publishes events.
    pub publisher: EventSender,
    /// The message store; `None` for subagents.
    pub post: Option<Mailbox>,
    /// The queue of prompts; only for the lead.
    pub prompts: Option<Arc<PromptQueue>>,
    /// The requests that messages refer to.
    pub requests: Requests,
    /// The board with the agent's open task.
    pub board: Board,
    /// The agent's name, role and team as text, which a compaction keeps; empty for the lead.
    pub identity: String,
    /// The share of the window, in percent, at which the conversation is summarised.
    pub compact_at: u64,
    /// The log of the conversation.
    pub transcript: Transcript,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
    /// Returns random numbers in 0..1, to spread retries.
    pub jitter: fn() -> f64,
    /// State that is kept from turn to turn.
    pub state: State,
}

/// How completely the log on disk holds an agent's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    /// The conversation is empty.
    Empty,
    /// The log holds the whole conversation.
    Whole,
    /// A line could not be written, or the log was removed. The log must be rewritten.
    Incomplete,
}

/// The state of a driver that is kept from turn to turn.
pub struct State {
    /// The conversation.
    pub turn: Turn,
    /// Total usage so far, in tokens.
    pub usage: Usage,
    /// Total cost so far, if the price is known.
    pub cost: Option<f64>,
    /// The number of model calls so far.
    pub calls: u64,
    /// The agent's todo list, which its tool `todo` replaces.
    pub todo: TodoList,
    /// The approved shutdown request, if the agent has received one.
    pub approved_shutdown: Option<MailMessage>,
    /// Whether the log on disk is complete.
    pub(super) log: Log,
    /// The inbox position after the messages in the conversation message that is being built.
    pub(super) pending_inbox: Option<Cursor>,
    /// The inbox position after messages that are not yet on disk or not yet acknowledged.
    pub(super) unacknowledged_inbox: Option<Cursor>,
    /// The inbox messages up to that position.
    pub(super) letters: Vec<MailMessage>,
    /// Prompts in the conversation message that is being built.
    pub(super) prompts: Vec<QueuedPrompt>,
    /// Prompts in the conversation that are still in the queue on disk.
    pub(super) unacknowledged_prompts: Vec<PromptId>,
    /// Background jobs whose end is in the conversation message that is being built.
    pub(super) pending_jobs: Vec<JobId>,
    /// Background jobs whose end is in conversation messages that are not on disk yet.
    pub(super) unacknowledged_jobs: Vec<JobId>,
    /// Inbox messages in the conversation that the model has not answered yet.
    pub(super) unanswered: Vec<MailMessage>,
    /// How long the model thought before its last answer, in milliseconds.
    pub(super) thought_ms: u64,
    pub(super) announced: PublishedCalls,
    /// The start of the turn.
    pub(super) began: Timestamp,
    /// The file errors that were reported in this turn, so that each is reported once.
    troubles: Mutex<BTreeSet<String>>,
}

impl State {
    /// Creates the state of an agent with an empty conversation.
    pub fn new(turn: Turn) -> State {
        State {
            turn,
            usage: Usage::default(),
            cost: None,
            calls: 0,
            todo: TodoList::default(),
            approved_shutdown: None,
            log: Log::Empty,
            pending_inbox: None,
            unacknowledged_inbox: None,
            letters: Vec::new(),
            prompts: Vec::new(),
            unacknowledged_prompts: Vec::new(),
            pending_jobs: Vec::new(),
            unacknowledged_jobs: Vec::new(),
            unanswered: Vec::new(),
            thought_ms: 0,
            announced: PublishedCalls::default(),
            began: Timestamp::default(),
            troubles: Mutex::default(),
        }
    }
}

impl Driver {
    /// Runs a turn that begins with `start`: new text (empty to read the inbox), or a compaction.
    pub async fn turn(&mut self, start: Input, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        self.publish(AgentEvent::TurnStarted.of(self.name.clone()))
            .await;
        self.budget_gate.begin(&self.name);
        self.state.began = (self.clock)();
        self.troubles().clear();
        let mut inputs = VecDeque::from([start]);
        let mut ended = TurnEnd::Done;
        while let Some(input) = inputs.pop_front() {
            for effect in self.state.turn.step(input) {
                match effect {
                    TurnEffect::CheckMail => {
                        self.set_budget();
                        self.repair_log().await;
                        // If the turn is already interrupted, messages taken now would stay unanswered.
                        let is_over = inputs.iter().any(|i| matches!(i, Input::Interrupt { .. }));
                        let blocks = if is_over {
                            Vec::new()
                        } else {
                            self.gather_mail().await
                        };
                        inputs.push_back(Input::Mail(blocks));
                    }
                    TurnEffect::Save(message) => self.save(message).await,
                    TurnEffect::Call => {
                        self.repair_log().await;
                        let answer = self.call(control, &mut inputs).await;
                        inputs.push_back(answer);
                    }
                    TurnEffect::Summarise(question) => {
                        let answer = self.summarise(question, control, &mut inputs).await;
                        inputs.push_back(answer);
                    }
                    TurnEffect::Archive => {
                        self.repair_log().await;
                        inputs.push_back(self.archive().await);
                    }
                    TurnEffect::Replace(_) => self.replace().await,
                    TurnEffect::Compacted(compaction) => self.compacted(compaction).await,
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
                        self.back_off(wait, activity, control, &mut inputs).await;
                    }
                    TurnEffect::Run(calls) => {
                        self.repair_log().await;
                        self.run(calls, control, &mut inputs).await;
                    }
                    TurnEffect::Notice(level, text) => {
                        let agent = Some(self.name.clone());
                        self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
                            .await;
                    }
                    TurnEffect::End(end) => ended = end,
                }
            }
        }
        self.activity(match &ended {
            TurnEnd::Failed { error, .. } => Activity::Failed { why: error.clone() },
            TurnEnd::Done | TurnEnd::Interrupted | TurnEnd::Stopped { .. } => Activity::Idle,
        })
        .await;
        self.record_turn_end().await;
        let end = ended.clone();
        self.publish(AgentEvent::TurnEnded { end }.of(self.name.clone()))
            .await;
        ended
    }

    /// Returns the model in use.
    pub(super) fn engine(&self) -> ModelConfig {
        self.model
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Publishes what the agent does now.
    pub async fn activity(&self, activity: Activity) {
        self.publish(AgentEvent::ActivityChanged { activity }.of(self.name.clone()))
            .await;
    }

    /// Publishes an event.
    pub async fn publish(&self, kind: EventKind) {
        self.publisher.publish(kind).await;
    }

    /// Reports to the user that a state file could not be read or written, each error once per turn.
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
        let troubles = self.state.troubles.lock();
        troubles.unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<Input>,
    ) -> Input {
        if let Some(stop) = self.await_budget(control, inputs).await {
            return stop;
        }
        self.activity(Activity::Thinking).await;
        let engine = self.engine();
        let mut partial = String::new();
        let mut thought_ms = 0;
        let stream = self.stream(&engine, &mut partial, &mut thought_ms);
        let answer = until_interrupt(control, inputs, stream).await;
        self.state.thought_ms = thought_ms;
        match answer {
            Some(Ok(reply)) => {
                self.count(&engine, &reply).await;
                for letter in std::mem::take(&mut self.state.unanswered) {
                    let step = DeliveryState::ActedOn;
                    self.publish(EventKind::Team(TeamEvent::MessageMoved { letter, step }))
                        .await;
                }
                Input::Replied(reply)
            }
            Some(Err(error)) => {
                if !partial.is_empty() {
                    self.publish(AgentEvent::StreamReset.of(self.name.clone()))
                        .await;
                }
                Input::ModelFailed {
                    error,
                    jitter: (self.jitter)(),
                }
            }
            None => Input::Interrupt { partial },
        }
    }

    async fn back_off(
        &mut self,
        wait: Duration,
        activity: Activity,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<Input>,
    ) {
        self.activity(activity).await;
        let slept = until_interrupt(control, inputs, tokio::time::sleep(wait)).await;
        inputs.push_back(match slept {
            Some(()) => Input::RetryDue,
            None => Input::Interrupt {
                partial: String::new(),
            },
        });
    }

    async fn run(
        &mut self,
        calls: Vec<chat::ToolCall>,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<Input>,
    ) {
        for event in self.state.announced.started(&self.name, &calls) {
            self.publish(event).await;
        }
        if let Some(call) = calls.first() {
            let tool = call.name.clone();
            self.activity(Activity::Tool {
                tool,
                on: super::tool_runner::shown(call),
            })
            .await;
        }
        // Results of finished calls are kept when the other calls are interrupted.
        let done = Mutex::new(Vec::new());
        let work = join_all(calls.into_iter().enumerate().map(async |(at, call)| {
            let (output, took) = self.tool_runner.carry_out(&self.name, &call).await;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, call, output, took));
        }));
        let ended = until_interrupt(control, inputs, work).await;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, ..)| *at);
        for (_, call, output, took) in done {
            let finished = self
                .state
                .announced
                .finished(&self.name, &call, &output, took);
            self.publish(finished).await;
            inputs.push_back(Input::ToolDone {
                call: call.id,
                content: output.text,
                outcome: output.outcome,
            });
        }
        if ended.is_none() {
            inputs.push_back(Input::Interrupt {
                partial: String::new(),
            });
        }
        if let Some(place) = self.tool_runner.mailbox.take_workdir() {
            self.tool_runner.workdir = place;
        }
        if let Some(focus) = self.tool_runner.mailbox.take_compaction() {
            inputs.push_front(Input::OwnCompaction { focus });
        }
        if let Some(list) = self.tool_runner.mailbox.take_todo() {
            inputs.push_front(Input::TodoSet(list.has_open()));
            self.save_todo(list).await;
        }
    }
}

/// Runs `work` while receiving commands: new text is queued for the turn, and an interrupt drops the work and returns
/// `None`.
pub(super) async fn until_interrupt<T>(
    control: &mut mpsc::Receiver<Control>,
    inputs: &mut VecDeque<Input>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            message = control.recv() => match message {
                Some(Control::Say(blocks)) => inputs.push_back(Input::Say(blocks)),
                Some(Control::Compact(focus)) => inputs.push_back(Input::Compact { focus }),
                Some(Control::Interrupt) | None => return None,
            },
            out = &mut work => return Some(out),
        }
    }
}

/// Runs file work on a thread for blocking work. A panic in it becomes an error.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::store::StoreError> + Send + 'static,
) -> Result<T, crate::store::StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(crate::store::StoreError::from(std::io::Error::other(error))),
    }
}
