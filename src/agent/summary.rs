//! Shortens or empties a conversation for the driver: requests the summary, archives the whole conversation, and
//! replaces it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use tokio::sync::mpsc;

use super::compact::{KeptState, LengthLimit, SummaryRequest, WINDOW_ASSUMED};
use super::driver::{Control, Driver, LogCompleteness, ModelConfig, run_blocking, until_interrupt};
use super::driver_state::FailedModel;
use super::turn::TurnInput;
use super::work_state::work_state;
use crate::domain::request::{Request, RequestStatus};
use crate::domain::team::Activity;
use crate::domain::text::{clip, one_line};
use crate::domain::todo::TodoList;
use crate::model::http::truncated_error;
use crate::model::retry;
use crate::model::{Delta, ModelError, ModelRequest, Reply};
use crate::protocol::event::{AgentEvent, Compaction, EventKind, NoticeLevel};
use crate::tools::Access;

/// Maximum number of decisions on requests that are added to the conversation after a compaction.
const DECISIONS_MAX: usize = 10;
/// Maximum length, in characters, of a request and the comment on it together, in the line that describes a decision.
const DECISION_MAX: usize = 400;

/// The assumed size, in tokens, of the context window of an external agent. So large that its conversation is never
/// compacted.
const WINDOW_UNLIMITED: u64 = 1 << 48;

impl Driver {
    /// Sets the turn's token limits for the current model, which may have changed.
    pub(super) fn set_budget(&mut self) {
        let model_config = self.model_config();
        let known = model_config.known_window();
        let window = if model_config.model.keeps_conversation() {
            WINDOW_UNLIMITED
        } else {
            known.map_or(WINDOW_ASSUMED, |window| window.tokens)
        };
        let budget = LengthLimit {
            window,
            compact_at: self.compact_at,
        };
        let front = self.system.len()
            + self
                .specs
                .iter()
                .map(|s| s.text.len() + s.schema().to_string().len())
                .sum::<usize>();
        self.state.turn.set_budget(budget, (front / 4) as u64);
    }

    /// Requests a summary of the conversation from the model. First runs the PreCompact hooks and checks the budget;
    /// either may refuse the request. Returns the [`TurnInput`] that contains the summary or says why there is none. The
    /// user does not see the summary as an answer.
    pub(super) async fn summarise(
        &mut self,
        question: SummaryRequest,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> TurnInput {
        if let Some(refused) = self.refused_compaction(control, inputs).await {
            return refused;
        }
        if let Some(stop) = self.await_budget(control, inputs).await {
            return stop;
        }
        self.activity(Activity::Compacting).await;
        let mut model_config = self.model_config();
        let mut failed = FailedModel::Own(model_config.clone());
        let answer;
        if let Some(other) = self.usable_summary_model().await {
            let work = self.ask(&other, question.clone());
            match until_interrupt(control, inputs, work).await {
                Some(Err(error)) if retry::pause(&error, 0, 0.0).is_none() => {
                    let why = error.to_string();
                    self.stop_using_summary_model(&other.name, &why).await;
                    let work = self.ask(&model_config, question);
                    answer = until_interrupt(control, inputs, work).await;
                }
                other_answer => {
                    answer = other_answer;
                    failed = FailedModel::Summary(other.name.clone());
                    model_config = other;
                }
            }
        } else {
            let work = self.ask(&model_config, question);
            answer = until_interrupt(control, inputs, work).await;
        }
        match answer {
            Some(Ok(reply)) => {
                self.count(&model_config, &reply).await;
                TurnInput::Replied(reply)
            }
            Some(Err(error)) => self.model_failed(failed, error),
            None => TurnInput::Interrupt {
                partial: String::new(),
            },
        }
    }

    /// Returns the model that only summarises the conversation; `None` if none is set. If it cannot be used, warns the
    /// user, uses the agent's model for summaries from now on, and returns `None`.
    async fn usable_summary_model(&self) -> Option<ModelConfig> {
        let (name, found) = self.model.summary_model()?;
        match found {
            Ok(other) => Some(other),
            Err(why) => {
                self.stop_using_summary_model(&name, &why).await;
                None
            }
        }
    }

    async fn ask(
        &self,
        model_config: &ModelConfig,
        question: SummaryRequest,
    ) -> Result<Reply, ModelError> {
        // The conversation itself is sent with the thinking of its other requests. Otherwise the server could not use its
        // prompt cache, and it refuses a conversation in which the last answer begins with thinking.
        let (system, tools, thinking_budget) = match question.system {
            Some(system) => (system, Arc::default(), None),
            None => (
                self.system.clone(),
                Arc::clone(&self.specs),
                model_config.options.thinking_budget,
            ),
        };
        let mut stream = model_config.model.call(ModelRequest {
            agent: self.name.clone(),
            model: model_config.name.clone(),
            system,
            messages: Arc::new(question.messages),
            tools,
            max_tokens: model_config.max_tokens,
            images: self.image_input(model_config),
            effort: None,
            thinking_budget,
            workdir: self.tool_runner.workdir.clone(),
            clearings: self.state.turn.clearings(),
        });
        while let Some(delta) = stream.next().await {
            match delta? {
                Delta::Done(reply) => return Ok(reply),
                Delta::Waiting(held) => self.publish_wait(held, Activity::Compacting).await,
                Delta::Text(_)
                | Delta::Part(_)
                | Delta::External(_)
                | Delta::Thinking(_)
                | Delta::ToolCall(_) => {}
            }
        }
        Err(truncated_error())
    }

    /// Copies the whole conversation into an archive file. Returns the turn input with the state that the compaction
    /// adds to the new conversation, or with the reason why the archive could not be written.
    pub(super) async fn archive(&mut self) -> TurnInput {
        self.repair_log().await;
        if self.state.log_completeness != LogCompleteness::Complete {
            return TurnInput::ArchiveFailed {
                why: "the log of the conversation cannot be written".into(),
            };
        }
        let transcript = self.transcript.clone();
        let path = match run_blocking(move || transcript.archive()).await {
            Ok(path) => path,
            Err(error) => {
                return TurnInput::ArchiveFailed {
                    why: error.to_string(),
                };
            }
        };
        let (board, name) = (self.board.clone(), self.name.clone());
        let task = run_blocking(move || Ok(board.read()?.graph.open_task_of(&name).cloned())).await;
        if let Err(error) = &task {
            self.report_file_error("The board cannot be read", error)
                .await;
        }
        let requests = self.requests.clone();
        let decisions = match run_blocking(move || requests.read_all()).await {
            Ok(reading) => {
                // Reading the requests moves damaged files aside once, so the notice about them must be published now.
                for notice in reading.notices {
                    self.publish(EventKind::notice(NoticeLevel::Warn, notice))
                        .await;
                }
                self.decisions(&reading.requests)
            }
            Err(error) => {
                self.report_file_error(
                    "The approval requests cannot be read for the summary of the conversation",
                    &error,
                )
                .await;
                Vec::new()
            }
        };
        TurnInput::Archived(Box::new(KeptState {
            identity: self.identity.clone(),
            todo: self.state.todo.clone(),
            task: task.ok().flatten(),
            decisions,
            transcript: path,
            work: self.work_state().await,
        }))
    }

    /// Returns a fingerprint of everything that this agent can change. Two compactions with the same fingerprint
    /// suggest that the agent makes no progress. `None` for a subagent that only reads: its model calls are limited, so
    /// it cannot loop endlessly. Also `None` if the computation panics.
    async fn work_state(&self) -> Option<u64> {
        let mut tools = self.tool_runner.tools.iter();
        if self.name.parent().is_some() && tools.all(|t| t.access == Access::Read) {
            return None;
        }
        let root = self.tool_runner.root.clone();
        let workdir = self.tool_runner.workdir.clone();
        let since = Duration::try_from_secs_f64(self.state.current.began.0).unwrap_or_default();
        let since = SystemTime::UNIX_EPOCH + since;
        run_blocking(move || Ok(work_state(&root, &workdir, since)))
            .await
            .ok()
    }

    /// Returns the newest [`DECISIONS_MAX`] decisions on requests from or to this agent, oldest first, one line each.
    fn decisions(&self, requests: &[Request]) -> Vec<String> {
        let mine = |r: &&Request| r.from.same(&self.name) || r.target.same(&self.name);
        let decided = |r: &&Request| match r.status {
            RequestStatus::Approved | RequestStatus::Rejected => true,
            RequestStatus::Pending | RequestStatus::Withdrawn => false,
        };
        let lines: Vec<String> = requests
            .iter()
            .filter(mine)
            .filter(decided)
            .map(|r| {
                let what = one_line(&clip(&r.body, DECISION_MAX / 2));
                let comment = match r.comment.trim() {
                    "" => String::new(),
                    text => format!(" ({})", one_line(&clip(text, DECISION_MAX / 2))),
                };
                format!(
                    "{} {} by {}{comment}: {what}",
                    r.kind, r.status, r.decided_by
                )
            })
            .collect();
        let from = lines.len().saturating_sub(DECISIONS_MAX);
        lines[from..].to_vec()
    }

    /// Rewrites the log after the conversation was shortened or emptied. The next model call adds the instructions of
    /// MCP servers again.
    pub(super) async fn replace(&mut self) {
        self.forget_instructions();
        if let Err(error) = self.rewrite_log().await {
            self.report_file_error("The conversation cannot be saved", &error)
                .await;
        }
    }

    /// Archives the log, then empties the conversation and the todo list. If the log cannot be archived, changes
    /// nothing and reports the error to the user. For the lead, the SessionEnd hooks run before the conversation is
    /// emptied, and the SessionStart hooks afterwards. An interrupt kills the hooks that run, but does not prevent the
    /// emptying. If it kills the SessionEnd hooks, the SessionStart hooks do not run.
    pub(super) async fn clear(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) {
        self.repair_log().await;
        let transcript = self.transcript.clone();
        let archived = match self.state.log_completeness {
            LogCompleteness::Complete => run_blocking(move || transcript.archive()).await,
            LogCompleteness::Empty | LogCompleteness::Incomplete => {
                let why = std::io::Error::other(
                    "its log on disk is incomplete: free disk space or make .transcripts writable",
                );
                Err(why.into())
            }
        };
        let transcript = match archived {
            Ok(path) => path,
            Err(error) => {
                let what = "The conversation was not cleared";
                return self.report_file_error(what, &error).await;
            }
        };
        let ended = self.end_session(control, inputs).await;
        self.state.turn.clear(&self.identity);
        self.state.todo = TodoList::default();
        self.state.unanswered.clear();
        self.replace().await;
        let list = TodoList::default();
        for event in [
            AgentEvent::TodoChanged { list },
            AgentEvent::Cleared { transcript },
        ] {
            self.publish(event.of(self.name.clone())).await;
        }
        if ended.is_some() {
            let texts = self.restart_session("clear", control, inputs).await;
            let texts = texts.unwrap_or_default();
            self.tool_runner.mailbox.record_session_start(&texts);
            for text in texts {
                self.tool_runner.mailbox.note(text);
            }
        }
        if let Some(hooks) = &self.tool_runner.hooks {
            hooks.caller.show_idle(&self.name).await;
        }
    }

    pub(super) async fn publish_compaction(&self, compaction: Compaction) {
        self.publish(AgentEvent::Compacted { compaction }.of(self.name.clone()))
            .await;
    }
}
