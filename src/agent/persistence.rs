//! Saves the driver's conversation. Each message is on disk before the driver acts on it.

use std::sync::Arc;

use super::attachments;
use super::driver::{Driver, LogCompleteness, ModelConfig, run_blocking};
use super::driver_state::TakenEntry;
use super::turn::{Turn, TurnInput};
use crate::domain::chat::{Block, Message, Role};
use crate::domain::conversation::{Conversation, JobState, LogRecord, PlanState, TurnState};
use crate::domain::ids::{JobId, PromptId};
use crate::domain::team_preset::LeadMode;
use crate::domain::todo::TodoList;
use crate::domain::usage::Cost;
use crate::model::Reply;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};
use crate::store::{AppendResult, Cursor, PromptQueue, StoreError, TranscriptFile};
use crate::tools::policy::PlanGate;

impl Driver {
    /// Writes a conversation message to disk, then acknowledges the inbox messages, prompts and job results in it
    /// (guarantee 1 of docs/GUARANTEES.md). If the write fails, [`Driver::repair_log`] later writes the message and
    /// acknowledges its content. Returns false, and saves nothing, if the message consists of inbox messages that another
    /// reader has taken over.
    pub(super) async fn save(&mut self, mut message: Message) -> bool {
        let is_user = message.role == Role::User;
        for event in self.state.announced.on_message(&self.name, &message) {
            self.publish(event).await;
        }
        let published = if is_user {
            0
        } else {
            std::mem::take(&mut self.state.published.parts)
        };
        let said = (!is_user).then(|| (text_after(&message, published), thoughts(&message)));
        let files = self.tool_runner.snapshots.take_unsaved();
        if !files.is_empty() {
            self.append_log(LogRecord::Files { files }).await;
        }
        if is_user {
            self.withdraw_lost_messages(&mut message);
            if message.blocks.is_empty() {
                return false;
            }
        }
        let inbox = self
            .state
            .pending_inbox
            .as_ref()
            .filter(|_| is_user)
            .map(|pending| pending.upto.offset);
        let ended = if is_user {
            self.state.pending_jobs.clone()
        } else {
            Vec::new()
        };
        let taken = if is_user {
            std::mem::take(&mut self.state.prompts)
        } else {
            Vec::new()
        };
        if is_user {
            let prompt = taken.iter().find_map(|entry| match entry {
                TakenEntry::Prompt(prompt) => Some(prompt.text.as_str()),
                TakenEntry::Command(_) => None,
            });
            self.label_checkpoints(&message, prompt);
        }
        let ids: Vec<PromptId> = taken.iter().map(|entry| entry.id().clone()).collect();
        self.state
            .unacknowledged_prompts
            .extend(ids.iter().cloned());
        self.append_log(if inbox.is_none() && ended.is_empty() && ids.is_empty() {
            LogRecord::Message(message)
        } else {
            LogRecord::Delivery {
                message,
                inbox,
                ended,
                prompts: ids,
            }
        })
        .await;
        for entry in taken {
            let TakenEntry::Prompt(prompt) = entry else {
                continue;
            };
            let agent = self.name.clone();
            let prompted = attachments::prompt_event(prompt.text, &prompt.attachments);
            self.publish(prompted.of(agent)).await;
        }
        if let Some((text, thinking)) = said {
            let thought_ms = std::mem::take(&mut self.state.published.thought_ms);
            self.publish(
                AgentEvent::AnswerFinished {
                    text,
                    thinking,
                    thought_ms,
                }
                .of(self.name.clone()),
            )
            .await;
        }
        if is_user {
            if let Some(pending) = self.state.pending_inbox.take() {
                self.state.unacknowledged_inbox = Some(pending.upto);
            }
            let jobs = std::mem::take(&mut self.state.pending_jobs);
            self.state.unacknowledged_jobs.extend(jobs);
            self.acknowledge_saved().await;
        }
        true
    }

    /// Acknowledges everything that the conversation on disk contains: inbox messages, prompts, and results of
    /// background jobs. Does nothing if the log is incomplete.
    async fn acknowledge_saved(&mut self) {
        if self.state.log_completeness == LogCompleteness::Incomplete {
            return;
        }
        for job in std::mem::take(&mut self.state.unacknowledged_jobs) {
            if let Some(command) = self.tool_runner.mailbox.remove_reported_job(&job) {
                let state = JobState::Ended;
                self.append_log(LogRecord::Job {
                    job,
                    command,
                    state,
                })
                .await;
            }
        }
        self.acknowledge_prompts().await;
        self.acknowledge().await;
    }

    /// Returns this agent's queues on disk: the queue of prompts (only the lead has one) and the queue of the user's
    /// commands (subagents have none).
    fn queues(&self) -> Vec<Arc<PromptQueue>> {
        let commands = self.tool_runner.mailbox.user_commands();
        self.prompts.iter().cloned().chain(commands).collect()
    }

    /// Removes those prompts and user commands from their queues that are already in the log. If a queue cannot be
    /// written, the next call tries again.
    async fn acknowledge_prompts(&mut self) {
        let held = std::mem::take(&mut self.state.unacknowledged_prompts);
        if held.is_empty() {
            return;
        }
        for queue in self.queues() {
            let ids = held.clone();
            if let Err(error) = run_blocking(move || queue.remove(&ids)).await {
                self.report_file_error("The queue of messages cannot be written", &error)
                    .await;
                self.state.unacknowledged_prompts.clone_from(&held);
            }
        }
    }

    /// Appends a line to the agent's log. If that fails, or if the log was removed meanwhile, the log counts as
    /// incomplete. Then further calls do nothing until [`Driver::repair_log`] has rewritten the log.
    pub(super) async fn append_log(&mut self, record: LogRecord) {
        if self.state.log_completeness == LogCompleteness::Incomplete {
            return;
        }
        let transcript = self.transcript.clone();
        let added = run_blocking(move || transcript.append(&record)).await;
        self.state.log_completeness = match (added, self.state.log_completeness) {
            (Ok(AppendResult::Created), LogCompleteness::Complete) => LogCompleteness::Incomplete,
            (
                Ok(AppendResult::Created | AppendResult::Existed),
                LogCompleteness::Empty | LogCompleteness::Complete | LogCompleteness::Incomplete,
            ) => LogCompleteness::Complete,
            (
                Err(error),
                LogCompleteness::Empty | LogCompleteness::Complete | LogCompleteness::Incomplete,
            ) => {
                let what = "The conversation cannot be saved; crewdeck keeps trying";
                self.report_file_error(what, &error).await;
                LogCompleteness::Incomplete
            }
        };
    }

    /// If the log is incomplete, rewrites it. Then acknowledges everything that the log contains. While inbox messages
    /// remain unacknowledged, new messages do not wake the agent. Must only be called when every message of the
    /// conversation has passed [`Driver::save`].
    pub(super) async fn repair_log(&mut self) {
        if self.state.log_completeness == LogCompleteness::Incomplete
            && self.rewrite_log().await.is_ok()
        {
            let text = "Saving the conversation works again.".to_string();
            let agent = Some(self.name.clone());
            self.publish(EventKind::Crew(CrewEvent::Notice {
                level: NoticeLevel::Info,
                agent,
                text,
            }))
            .await;
        }
        self.acknowledge_saved().await;
        let ignores = self.state.unacknowledged_inbox.is_some();
        self.tool_runner.mailbox.set_ignores_messages(ignores);
    }

    /// Replaces the log with the current conversation and state. If that fails, the log counts as incomplete.
    pub(super) async fn rewrite_log(&mut self) -> Result<(), StoreError> {
        let conversation = self.conversation();
        let transcript = self.transcript.clone();
        let records = TranscriptFile::records(&conversation);
        let done = run_blocking(move || transcript.replace(&records)).await;
        self.state.log_completeness = match done {
            Ok(()) => LogCompleteness::Complete,
            Err(_) => LogCompleteness::Incomplete,
        };
        done
    }

    /// Returns the current conversation and state, as a log contains them during a turn.
    pub(super) fn conversation(&self) -> Conversation {
        Conversation {
            messages: self.state.turn.messages().to_vec(),
            todo: self.state.todo.clone(),
            spent: self.state.usage,
            cost: self.state.cost,
            calls: self.state.calls,
            unreported_jobs: self.tool_runner.mailbox.unreported_jobs(),
            plan: match self.tool_runner.mailbox.gate() {
                PlanGate::Open => PlanState::Approved,
                PlanGate::Closed => PlanState::Open,
            },
            lead: self.lead_mode,
            // Inbox messages that are not acknowledged yet are already in the conversation.
            inbox: self.state.unacknowledged_inbox.map(|c| c.offset),
            prompts: self.state.unacknowledged_prompts.clone(),
            files: self.tool_runner.snapshots.seen_files(),
            turn: TurnState::Open,
        }
    }

    /// Records, in the driver and in the log, whether the lead also works on tasks itself, so that a resumed session
    /// does the same. Does not change the tools of the running lead: those are chosen when the lead is built.
    pub async fn set_lead_mode(&mut self, lead: LeadMode) {
        self.lead_mode = lead;
        self.append_log(LogRecord::Lead { lead }).await;
    }

    /// Saves and publishes a new todo list.
    pub(super) async fn save_todo(&mut self, list: TodoList) {
        self.state.todo = list.clone();
        self.append_log(LogRecord::Todo { todo: list.clone() })
            .await;
        self.publish(AgentEvent::TodoChanged { list }.of(self.name.clone()))
            .await;
    }

    /// Records in the log that the turn has ended, so that a restart does not continue it.
    pub(super) async fn record_turn_end(&mut self) {
        self.repair_log().await;
        self.append_log(LogRecord::Turn {
            turn: TurnState::Ended,
        })
        .await;
    }

    /// Adds one model call, with its tokens and its cost, to the agent's totals and to the budgets, and publishes the
    /// totals. If the price of a remote model is unknown and a budget in US dollars is set, warns the user, once for
    /// each model, that the cost is not counted.
    pub(super) async fn count(&mut self, model_config: &ModelConfig, reply: &Reply) {
        self.state.usage.add(reply.usage);
        self.state.calls += 1;
        let cost = model_config.known_price().map(|known| Cost {
            dollars: known.price.cost(&reply.usage),
            is_estimate: known.is_assumed,
        });
        if let Some(cost) = cost {
            self.state.cost = Some(self.state.cost.unwrap_or_default().plus(cost));
        }
        self.budget_gate.count(&self.name, reply.usage, cost).await;
        // The calls of a model on this machine cost nothing.
        if cost.is_none() && model_config.model.is_remote() {
            let name = &model_config.name;
            self.budget_gate.warn_without_price(name).await;
        }
        let context = match reply.usage.total() {
            // The tokens of a turn are those of many requests, and its own conversation differs from the recorded one.
            _ if model_config.model.keeps_conversation() => self.reported_context().0,
            0 => self.state.turn.context(),
            counted => counted,
        };
        self.publish_usage(model_config, context).await;
    }

    /// Returns the tokens in the context window of an external agent and the window's size, as the agent has reported
    /// them last. Unknown values are 0 and `None`.
    fn reported_context(&self) -> (u64, Option<u64>) {
        match &self.state.published.context {
            Some(usage) => (usage.used, Some(usage.size).filter(|size| *size > 0)),
            None => (0, None),
        }
    }

    async fn publish_usage(&mut self, model_config: &ModelConfig, context: u64) {
        self.append_log(LogRecord::Spent {
            spent: self.state.usage,
            cost: self.state.cost.map(|cost| cost.dollars),
            estimated: self.state.cost.is_some_and(|cost| cost.is_estimate),
            calls: self.state.calls,
        })
        .await;
        let (window, is_assumed) = if model_config.model.keeps_conversation() {
            (self.reported_context().1, false)
        } else {
            let window = model_config.known_window();
            (
                window.map(|window| window.tokens),
                window.is_some_and(|window| window.is_assumed),
            )
        };
        self.publish(
            AgentEvent::UsageChanged {
                total: self.state.usage,
                context,
                window,
                assumed: is_assumed,
                cost: self.state.cost.map(|cost| cost.dollars),
                estimated: self.state.cost.is_some_and(|cost| cost.is_estimate),
                calls: self.state.calls,
            }
            .of(self.name.clone()),
        )
        .await;
    }

    /// Restores a saved conversation: its messages, todo list, usage, lead mode, prompts that wait, and the states of
    /// the files that the agent has read or written. Acknowledges the inbox messages that the conversation already
    /// contains, and adds a note about background jobs that were lost. Does not restore the plan gate. Called before
    /// the agent's first turn.
    pub async fn resume(&mut self, from: Conversation) {
        let turn = std::mem::replace(
            &mut self.state.turn,
            Turn::new(super::turn::TurnLimits::default()),
        );
        // A conversation without messages may have no log yet. Then a missing log does not mean that it was removed.
        self.state.log_completeness = if from.messages.is_empty() {
            LogCompleteness::Empty
        } else {
            LogCompleteness::Complete
        };
        self.state.turn = turn.with_messages(from.messages);
        self.state
            .turn
            .step(TurnInput::TodoSet(from.todo.has_open()));
        self.state.usage = from.spent;
        self.state.cost = from.cost;
        self.state.calls = from.calls;
        self.budget_gate.restore(&self.name, from.spent, from.cost);
        self.lead_mode = from.lead;
        self.tool_runner.snapshots.restore(from.files);
        self.state.todo = from.todo.clone();
        self.recall_prompts(from.prompts).await;
        self.acknowledge_restored(from.inbox).await;
        self.report_lost_jobs(from.unreported_jobs);
        let model_config = self.model_config();
        self.set_budget();
        self.publish(AgentEvent::TodoChanged { list: from.todo }.of(self.name.clone()))
            .await;
        let context = if model_config.model.keeps_conversation() {
            0
        } else {
            self.state.turn.context()
        };
        self.publish_usage(&model_config, context).await;
    }

    /// Restores this agent's queues from disk: the prompts and the user's commands that were waiting when crewdeck
    /// ended. Leaves out the entries with the ids `held`, because the conversation already contains them.
    async fn recall_prompts(&mut self, held: Vec<PromptId>) {
        for queue in self.queues() {
            let held = held.clone();
            match run_blocking(move || queue.load(&held)).await {
                Ok(None) => {}
                Ok(Some(notice)) => {
                    let notice = EventKind::notice(NoticeLevel::Warn, notice);
                    self.publish(notice).await;
                }
                Err(error) => {
                    let what = format!("The messages waiting for {} cannot be read", self.name);
                    self.report_file_error(&what, &error).await;
                }
            }
        }
    }

    /// Acknowledges the inbox messages up to the position `inbox`, which the conversation already contains. crewdeck
    /// may have ended before it acknowledged them. Does nothing if `inbox` is `None`.
    async fn acknowledge_restored(&mut self, inbox: Option<u64>) {
        if let Some(offset) = inbox {
            self.state.unacknowledged_inbox = Some(Cursor { offset, mark: None });
            self.acknowledge().await;
        }
    }

    /// Adds a note for the model that names `jobs`: background jobs of the previous run whose results are not in the
    /// conversation. Once the message with the note is saved, the jobs count as reported.
    fn report_lost_jobs(&mut self, jobs: Vec<(JobId, String)>) {
        let mailbox = &self.tool_runner.mailbox;
        let named: Vec<String> = jobs.iter().map(|(id, c)| format!("{id} ({c})")).collect();
        if !named.is_empty() {
            mailbox.note(format!(
                "these background commands no longer run, and how they ended is unknown: {}",
                named.join(", ")
            ));
        }
        for (job, command) in jobs {
            self.state.pending_jobs.push(job.clone());
            mailbox.add_running_job(job, command);
        }
    }
}

/// Returns the text blocks of `message` without the first `skipped`, joined with newlines.
fn text_after(message: &Message, skipped: usize) -> String {
    let texts = message.blocks.iter().filter_map(|b| match b {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.skip(skipped).collect::<Vec<_>>().join("\n")
}

fn thoughts(message: &Message) -> String {
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
