//! An agent's log: the lines that it is made of, and the conversation that they add up to.

use serde::{Deserialize, Serialize};

use super::chat::{Block, Message, Outcome, Role};
use super::ids::{CallId, JobId, PromptId};
use super::todo::TodoList;
use super::usage::Usage;

/// What a call is answered with whose end nobody has seen.
pub const UNKNOWN_END: &str = "Error: crewdeck ended before this call did. It may have been carried out, in \
part or not at all: look before you repeat it.";

/// One line of an agent's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// A message of the conversation that holds what must not be told again: one line, so that the one is not on
    /// disk without the other.
    Told {
        /// The message.
        #[serde(flatten)]
        message: Message,
        /// How far the inbox was read into it, in bytes.
        inbox: Option<u64>,
        /// The background jobs whose end it tells.
        ended: Vec<JobId>,
        /// The prompts that it holds and that waited in the queue.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prompts: Vec<PromptId>,
    },
    /// Any other message of the conversation.
    Message(Message),
    /// How far the inbox stands in the messages before.
    Inbox {
        /// In bytes.
        inbox: u64,
    },
    /// Prompts that stand in the messages before and may still be in the queue on disk.
    Prompts {
        /// Their ids.
        prompts: Vec<PromptId>,
    },
    /// The todo list from here on.
    Todo {
        /// The list.
        todo: TodoList,
    },
    /// All tokens so far, and what they cost where the price is known.
    Spent {
        /// The tokens.
        spent: Usage,
        /// US dollars.
        cost: Option<f64>,
        /// The calls of the model so far; 0 where they were not counted.
        #[serde(default)]
        calls: u64,
    },
    /// A background job began, or its end stands in the conversation.
    Job {
        /// The job.
        job: JobId,
        /// Its command.
        command: String,
        /// Where it stands.
        state: JobState,
    },
    /// The agent's plan was approved: it may write and run from here on.
    Plan {
        /// Where it stands.
        plan: PlanState,
    },
    /// A turn ended: nothing of it is left to do.
    Turn {
        /// Where it stands.
        turn: TurnState,
    },
}

/// Where a job stands, in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It began.
    Began,
    /// It ended, and its agent was told.
    Ended,
}

/// Where an agent's plan stands, in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// None was approved. Never written.
    #[default]
    Open,
    /// It was approved.
    Approved,
}

/// Where a turn stands, in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It ended.
    #[default]
    Ended,
    /// It was under way when the log ends. Never written.
    Open,
}

/// What a log adds up to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// The messages; valid by [`super::chat::check`].
    pub messages: Vec<Message>,
    /// The todo list.
    pub todo: TodoList,
    /// All tokens.
    pub spent: Usage,
    /// What they cost, in US dollars, where known.
    pub cost: Option<f64>,
    /// The calls of the model.
    pub calls: u64,
    /// Background jobs whose end the agent has not been told: id and command.
    pub lost_jobs: Vec<(JobId, String)>,
    /// Whether its plan was approved.
    pub plan: PlanState,
    /// How far the inbox stands in the messages, in bytes; `None`: not known.
    pub inbox: Option<u64>,
    /// The prompts of the queue that stand in the messages.
    pub prompts: Vec<PromptId>,
    /// Whether the last turn had ended.
    pub turn: TurnState,
}

impl Conversation {
    /// Adds `records` up. A conversation that a crash has cut is mended: calls without a result get one.
    pub fn of(records: impl IntoIterator<Item = Record>) -> Conversation {
        let mut all = Conversation::default();
        for record in records {
            match record {
                Record::Told {
                    message,
                    inbox,
                    ended,
                    prompts,
                } => {
                    all.turn = TurnState::Open;
                    all.join(message);
                    all.prompts.extend(prompts);
                    all.inbox = inbox.or(all.inbox);
                    all.lost_jobs.retain(|(id, _)| !ended.contains(id));
                }
                Record::Message(message) => {
                    all.turn = TurnState::Open;
                    all.join(message);
                }
                Record::Inbox { inbox } => all.inbox = Some(inbox),
                Record::Prompts { prompts } => all.prompts.extend(prompts),
                Record::Todo { todo } => all.todo = todo,
                Record::Spent { spent, cost, calls } => {
                    all.spent = spent;
                    all.cost = cost;
                    all.calls = calls;
                }
                Record::Job {
                    job,
                    command,
                    state: JobState::Began,
                } => {
                    // A log that was written anew while it began has it twice.
                    all.lost_jobs.retain(|(id, _)| *id != job);
                    all.lost_jobs.push((job, command));
                }
                Record::Job {
                    job,
                    state: JobState::Ended,
                    ..
                } => all.lost_jobs.retain(|(id, _)| *id != job),
                Record::Plan { plan } => all.plan = plan,
                Record::Turn { turn } => all.turn = turn,
            }
        }
        all.close();
        if all
            .messages
            .last()
            .is_none_or(|m| m.role == Role::Assistant)
        {
            all.turn = TurnState::Ended;
        }
        all
    }

    /// Takes a message in such that the whole stays valid.
    fn join(&mut self, message: Message) {
        let mut message = message;
        let mut open = self.open_calls();
        message.blocks.retain(|block| match block {
            Block::ToolResult { call, .. } => {
                let at = open.iter().position(|id| id == call);
                at.map(|at| open.remove(at)).is_some()
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) => true,
        });
        match message.role {
            Role::User => {
                let results = open.into_iter().map(unknown_end);
                message.blocks.splice(0..0, results);
            }
            Role::Assistant => self.close(),
        }
        if message.blocks.is_empty() || (self.messages.is_empty() && message.role != Role::User) {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == message.role => last.blocks.extend(message.blocks),
            Some(_) | None => self.messages.push(message),
        }
    }

    /// Answers the calls that stand open at the end.
    fn close(&mut self) {
        let open = self.open_calls();
        if !open.is_empty() {
            let results = open.into_iter().map(unknown_end).collect();
            self.messages.push(Message::user(results));
        }
    }

    fn open_calls(&self) -> Vec<CallId> {
        let calls = self
            .messages
            .last()
            .map(|m| m.calls().map(|c| c.id.clone()));
        calls.map(Iterator::collect).unwrap_or_default()
    }
}

fn unknown_end(call: CallId) -> Block {
    Block::ToolResult {
        call,
        content: UNKNOWN_END.into(),
        outcome: Outcome::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::chat::{ToolCall, check};
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn said(text: &str) -> Record {
        Record::Message(Message::user(vec![Block::text(text)]))
    }

    fn answered(text: &str) -> Record {
        Record::Message(Message::assistant(vec![Block::text(text)]))
    }

    fn asked(ids: &[&str]) -> Record {
        let call = |id: &&str| {
            Block::ToolCall(ToolCall {
                id: CallId((*id).into()),
                name: "bash".into(),
                input: serde_json::json!({}),
                broken: None,
            })
        };
        Record::Message(Message::assistant(ids.iter().map(call).collect()))
    }

    fn result(id: &str) -> Record {
        Record::Message(Message::user(vec![Block::ToolResult {
            call: CallId(id.into()),
            content: "fine".into(),
            outcome: Outcome::Ok,
        }]))
    }

    const ENDED: Record = Record::Turn {
        turn: TurnState::Ended,
    };

    #[test]
    fn a_cut_in_the_middle_of_a_call_is_answered_and_the_turn_is_open() {
        let all = Conversation::of([said("go"), asked(&["a", "b"])]);
        assert_eq!(check(&all.messages), Ok(()));
        let last = all.messages.last().unwrap();
        assert_eq!(last.answered().count(), 2);
        assert_eq!(all.turn, TurnState::Open);
    }

    #[test]
    fn where_a_turn_stands() {
        let cases = [
            (vec![], TurnState::Ended),
            (vec![said("go")], TurnState::Open),
            (vec![said("go"), ENDED], TurnState::Ended),
            (vec![said("go"), answered("done")], TurnState::Ended),
            (
                vec![said("go"), asked(&["a"]), result("a")],
                TurnState::Open,
            ),
            (
                vec![said("go"), asked(&["a"]), result("a"), ENDED],
                TurnState::Ended,
            ),
            (
                vec![said("go"), answered("x"), ENDED, said("on")],
                TurnState::Open,
            ),
        ];
        for (records, turn) in cases {
            assert_eq!(Conversation::of(records.clone()).turn, turn, "{records:?}");
        }
    }

    #[test]
    fn the_last_word_on_todo_tokens_and_jobs_counts() {
        let job = |state| Record::Job {
            job: JobId("j1".into()),
            command: "make".into(),
            state,
        };
        let spent = |input| Record::Spent {
            spent: Usage {
                input,
                ..Usage::default()
            },
            cost: None,
            calls: input,
        };
        let all = Conversation::of([spent(5), job(JobState::Began), spent(9)]);
        assert_eq!((all.spent.input, all.calls, all.lost_jobs.len()), (9, 9, 1));
        let all = Conversation::of([job(JobState::Began), job(JobState::Began)]);
        assert_eq!(all.lost_jobs.len(), 1);
        let all = Conversation::of([job(JobState::Began), job(JobState::Ended)]);
        assert_eq!(all.lost_jobs, vec![]);
        let told = Record::Told {
            message: Message::user(vec![Block::text("it ended")]),
            inbox: Some(3),
            ended: vec![JobId("j1".into())],
            prompts: vec![PromptId("p1".into())],
        };
        let all = Conversation::of([job(JobState::Began), told, said("on")]);
        assert_eq!((all.lost_jobs, all.inbox), (vec![], Some(3)));
        assert_eq!(all.prompts, vec![PromptId("p1".into())]);
    }

    #[test]
    fn every_line_reads_back_as_itself() {
        let all = [
            said("a"),
            asked(&["x"]),
            Record::Told {
                message: Message::user(vec![Block::text("<inbox>")]),
                inbox: Some(7),
                ended: vec![JobId("j".into())],
                prompts: vec![PromptId("p".into())],
            },
            Record::Inbox { inbox: 7 },
            Record::Prompts {
                prompts: vec![PromptId("p".into())],
            },
            Record::Todo {
                todo: TodoList::default(),
            },
            Record::Spent {
                spent: Usage::default(),
                cost: Some(0.5),
                calls: 3,
            },
            ENDED,
        ];
        for record in all {
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(
                serde_json::from_str::<Record>(&line).unwrap(),
                record,
                "{line}"
            );
        }
    }

    proptest! {
        /// Whatever order lines come in, what they add up to may be sent.
        #[test]
        fn it_is_always_valid(kinds in proptest::collection::vec((0u8..5, 0u8..3), 0..30)) {
            let records = kinds.iter().enumerate().map(|(at, (kind, n))| match kind {
                0 => said("words"),
                1 => answered("words"),
                2 => asked(&[format!("c{n}").as_str(), format!("d{at}").as_str()]),
                3 => result(&format!("c{n}")),
                _ => ENDED,
            });
            let all = Conversation::of(records);
            prop_assert_eq!(check(&all.messages), Ok(()));
        }
    }
}
