//! The driver and its records: messages are on disk before anything follows from them.

use super::desk::Intake;
use super::driver::{Driver, Engine, Log, blocking, todo_open};
use super::turn::{Input, Turn};
use crate::domain::chat::{Block, Message, Role};
use crate::domain::conversation::{Conversation, JobState, PlanState, Record, TurnState};
use crate::domain::ids::{JobId, PromptId};
use crate::domain::todo::TodoList;
use crate::model::Reply;
use crate::protocol::event::{EventKind, Level};
use crate::store::{Added, Cursor, QueuedPrompt, StoreError, Transcript};
use crate::tools::policy::PlanGate;

impl Driver {
    /// Writes a message to disk, then acknowledges the letters that it holds (promise 1).
    pub(super) async fn save(&mut self, message: Message) {
        let is_user = message.role == Role::User;
        for event in self.state.announced.on_message(&self.name, &message) {
            self.publish(event).await;
        }
        let said = (!is_user).then(|| (message.words(), thoughts(&message)));
        if is_user {
            self.announce().await;
        }
        let inbox = self.state.taken.filter(|_| is_user).map(|c| c.offset);
        let ended = if is_user {
            self.state.told.clone()
        } else {
            Vec::new()
        };
        let prompts = if is_user {
            std::mem::take(&mut self.state.prompts)
        } else {
            Vec::new()
        };
        let ids: Vec<PromptId> = prompts.iter().map(|p| p.id.clone()).collect();
        self.state.prompts_owed.extend(ids.iter().cloned());
        self.keep(if inbox.is_none() && ended.is_empty() && ids.is_empty() {
            Record::Message(message)
        } else {
            Record::Told {
                message,
                inbox,
                ended,
                prompts: ids,
            }
        })
        .await;
        for QueuedPrompt { text, .. } in prompts {
            let agent = self.name.clone();
            self.publish(EventKind::Prompted { agent, text }).await;
        }
        if let Some((text, thinking)) = said {
            let thought_ms = std::mem::take(&mut self.state.thought_ms);
            self.publish(EventKind::Said {
                agent: self.name.clone(),
                text,
                thinking,
                thought_ms,
            })
            .await;
        }
        if is_user {
            if let Some(cursor) = self.state.taken.take() {
                self.state.owed = Some(cursor);
            }
            let told = std::mem::take(&mut self.state.told);
            self.state.told_owed.extend(told);
            self.settle().await;
        }
    }

    /// What the messages on disk hold is acknowledged: letters, and the ends of background jobs.
    async fn settle(&mut self) {
        if self.state.log == Log::Behind {
            return;
        }
        for job in std::mem::take(&mut self.state.told_owed) {
            if let Some(command) = self.workshop.desk.told(&job) {
                let state = JobState::Ended;
                self.keep(Record::Job {
                    job,
                    command,
                    state,
                })
                .await;
            }
        }
        self.settle_prompts().await;
        self.acknowledge().await;
    }

    /// Prompts that the log holds leave the queue; what fails is tried again at the next step.
    async fn settle_prompts(&mut self) {
        let held = std::mem::take(&mut self.state.prompts_owed);
        let Some(queue) = self.prompts.clone().filter(|_| !held.is_empty()) else {
            return;
        };
        let ids = held.clone();
        if let Err(error) = blocking(move || queue.settle(&ids)).await {
            self.trouble("The queue of messages cannot be written", &error)
                .await;
            self.state.prompts_owed = held;
        }
    }

    /// Adds a line to the agent's log. What can not be written is written by [`Driver::catch_up`].
    pub(super) async fn keep(&mut self, record: Record) {
        if self.state.log == Log::Behind {
            return;
        }
        let transcript = self.transcript.clone();
        let added = blocking(move || transcript.append(&record)).await;
        self.state.log = match (added, self.state.log) {
            (Ok(Added::First), Log::Whole) => Log::Behind,
            (Ok(Added::First | Added::Behind), Log::Empty | Log::Whole | Log::Behind) => Log::Whole,
            (Err(error), Log::Empty | Log::Whole | Log::Behind) => {
                let what = "The conversation can not be saved; it is tried again at each step";
                self.trouble(what, &error).await;
                Log::Behind
            }
        };
    }

    /// Writes a log that is behind anew, and acknowledges what it holds now. Only between messages: all
    /// that was said so far must have passed [`Driver::save`].
    pub(super) async fn catch_up(&mut self) {
        if self.state.log == Log::Behind && self.write_anew().await.is_ok() {
            let text = "The conversation is saved again.".to_string();
            let agent = Some(self.name.clone());
            self.publish(EventKind::Notice {
                level: Level::Info,
                agent,
                text,
            })
            .await;
        }
        self.settle().await;
        let intake = match self.state.owed {
            None => Intake::Open,
            Some(_) => Intake::Shut,
        };
        self.workshop.desk.set_intake(intake);
    }

    /// Writes the whole log anew.
    pub(super) async fn write_anew(&mut self) -> Result<(), StoreError> {
        let conversation = Conversation {
            messages: self.state.turn.messages().to_vec(),
            todo: self.state.todo.clone(),
            spent: self.state.usage,
            cost: self.state.cost,
            calls: self.state.calls,
            lost_jobs: self.workshop.desk.untold(),
            plan: match self.workshop.desk.gate() {
                PlanGate::Open => PlanState::Approved,
                PlanGate::Closed => PlanState::Open,
            },
            // Letters that are not acknowledged yet are in the messages already.
            inbox: self.state.owed.map(|c| c.offset),
            prompts: self.state.prompts_owed.clone(),
            turn: TurnState::Open,
        };
        let transcript = self.transcript.clone();
        let records = Transcript::records(&conversation);
        let done = blocking(move || transcript.replace(&records)).await;
        self.state.log = match done {
            Ok(()) => Log::Whole,
            Err(_) => Log::Behind,
        };
        done
    }

    /// Keeps a new todo list, and tells it.
    pub(super) async fn keep_todo(&mut self, list: TodoList) {
        self.state.todo = list.clone();
        self.keep(Record::Todo { todo: list.clone() }).await;
        self.publish(EventKind::TodoChanged {
            agent: self.name.clone(),
            list,
        })
        .await;
    }

    /// The turn is over: nothing of it is left to do after a restart.
    pub(super) async fn rest(&mut self) {
        self.catch_up().await;
        self.keep(Record::Turn {
            turn: TurnState::Ended,
        })
        .await;
    }

    /// Adds an answer's tokens up and tells the sum.
    pub(super) async fn count(&mut self, engine: &Engine, reply: &Reply) {
        self.state.usage.add(reply.usage);
        self.state.calls += 1;
        let cost = engine.price.map(|p| p.cost(&reply.usage));
        if let Some(cost) = cost {
            self.state.cost = Some(self.state.cost.unwrap_or(0.0) + cost);
        }
        self.meter.count(&self.name, reply.usage, cost);
        let context = match reply.usage.total() {
            0 => self.state.turn.context(),
            counted => counted,
        };
        self.tell_usage(engine, context).await;
    }

    async fn tell_usage(&mut self, engine: &Engine, context: u64) {
        self.keep(Record::Spent {
            spent: self.state.usage,
            cost: self.state.cost,
            calls: self.state.calls,
        })
        .await;
        let window = engine.known_window();
        self.publish(EventKind::UsageChanged {
            agent: self.name.clone(),
            total: self.state.usage,
            context,
            window: window.map(|window| window.tokens),
            assumed: window.is_some_and(|window| window.is_assumed),
            cost: self.state.cost,
            calls: self.state.calls,
        })
        .await;
    }

    /// Goes on from an earlier conversation: its messages, its todo list, its tokens.
    pub async fn resume(&mut self, from: Conversation) {
        let turn = std::mem::replace(
            &mut self.state.turn,
            Turn::new(super::turn::Limits::default()),
        );
        // Without a message there is perhaps no log yet: that nobody took away.
        self.state.log = if from.messages.is_empty() {
            Log::Empty
        } else {
            Log::Whole
        };
        self.state.turn = turn.going_on_from(from.messages);
        self.state.turn.step(Input::TodoSet(todo_open(&from.todo)));
        self.state.usage = from.spent;
        self.state.cost = from.cost;
        self.state.calls = from.calls;
        self.meter.count(&self.name, from.spent, from.cost);
        self.state.todo = from.todo.clone();
        self.recall_prompts(from.prompts).await;
        self.stand_by(from.inbox).await;
        self.tell_lost(from.lost_jobs);
        let engine = self.engine();
        self.set_budget();
        self.publish(EventKind::TodoChanged {
            agent: self.name.clone(),
            list: from.todo,
        })
        .await;
        let context = self.state.turn.context();
        self.tell_usage(&engine, context).await;
    }

    /// Prompts that waited when crewdeck ended wait again, except those that stand in the conversation.
    async fn recall_prompts(&mut self, held: Vec<PromptId>) {
        let Some(queue) = self.prompts.clone() else {
            return;
        };
        match blocking(move || queue.recall(&held)).await {
            Ok(None) => {}
            Ok(Some(notice)) => {
                let notice = EventKind::notice(Level::Warn, notice);
                self.publish(notice).await;
            }
            Err(error) => {
                let what = "The messages that waited for the lead cannot be read";
                self.trouble(what, &error).await;
            }
        }
    }

    /// Letters that stand in the conversation do not come again, also where crewdeck was ended before they were
    /// acknowledged.
    async fn stand_by(&mut self, inbox: Option<u64>) {
        if let Some(offset) = inbox {
            self.state.owed = Some(Cursor { offset, mark: None });
            self.acknowledge().await;
        }
    }

    /// Background jobs whose end nobody has told: the next message does.
    fn tell_lost(&mut self, jobs: Vec<(JobId, String)>) {
        let desk = &self.workshop.desk;
        let named: Vec<String> = jobs.iter().map(|(id, c)| format!("{id} ({c})")).collect();
        if !named.is_empty() {
            desk.note(format!(
                "these background commands no longer run and how they ended is not known: {}",
                named.join(", ")
            ));
        }
        for (job, command) in jobs {
            self.state.told.push(job.clone());
            desk.began(job, command);
        }
    }
}

fn thoughts(message: &Message) -> String {
    let texts: Vec<&str> = message
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Thinking { text, .. } => Some(text.as_str()),
            Block::Text { .. } | Block::ToolCall(_) | Block::ToolResult { .. } => None,
        })
        .collect();
    texts.join("\n")
}
