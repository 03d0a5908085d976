//! An agent's log: its records, and the conversation that is rebuilt from them.

use serde::{Deserialize, Serialize};

use super::chat::{Block, Message, Outcome, Role};
use super::ids::{CallId, JobId, PromptId};
use super::team_preset::LeadMode;
use super::todo::TodoList;
use super::usage::{Cost, Usage};

/// The result of a tool call for which the log contains no result, because crewdeck ended before the call did.
pub const NO_RESULT: &str = "Error: crewdeck ended before this call did. The call may have run completely, \
partly or not at all. Check the state before you repeat it.";

/// One line of an agent's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LogRecord {
    /// A message that delivers inbox messages, job results or queued prompts, each of which must be delivered only
    /// once. The message and the list of the delivered items are on one line, so that a crash cannot separate them.
    Delivery {
        #[serde(flatten)]
        message: Message,
        /// The read position in the inbox after this delivery, as an offset in bytes. `None` means that the position is
        /// unchanged.
        inbox: Option<u64>,
        /// The ended background jobs whose results the message contains.
        ended: Vec<JobId>,
        /// The queued prompts that the message contains.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prompts: Vec<PromptId>,
    },
    /// A message that contains nothing from the inbox, the background jobs or the prompt queue.
    Message(Message),
    /// The read position in the inbox, as an offset in bytes. Written when a conversation is saved as a new log. The
    /// new log contains no [`LogRecord::Delivery`] that records the position.
    Inbox { inbox: u64 },
    /// Queued prompts that are already part of the messages in this log. Written when a conversation is saved as a new
    /// log, because the queue on disk may still contain these prompts.
    Prompts { prompts: Vec<PromptId> },
    /// The agent replaced its todo list.
    Todo { todo: TodoList },
    /// All tokens that the agent has used so far, and their cost if the price is known.
    Spent {
        spent: Usage,
        /// Total cost in US dollars; `None` if the price is unknown.
        cost: Option<f64>,
        /// Whether a part of the cost is an estimate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
        /// Number of model calls so far; 0 if not counted.
        #[serde(default)]
        calls: u64,
    },
    /// A background job began, or the conversation has reported its end to the agent.
    Job {
        job: JobId,
        command: String,
        state: JobState,
    },
    /// The agent's plan was approved. From here on the agent may write files and run commands.
    Plan { plan: PlanState },
    /// Whether the lead works on tasks or only delegates. Only in the log of a lead.
    Lead { lead: LeadMode },
    /// Files that the agent has read or written since the last record of this kind.
    Files { files: Vec<SeenFile> },
    /// A turn ended. A resumed session does not continue it.
    Turn { turn: TurnState },
}

/// A file that an agent has read or written, with a hash of the content at that time. Another version of crewdeck may
/// compute another hash for the same content. The file then counts as changed, and the agent must read it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The absolute path of the file.
    pub path: String,
    pub hash: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Began,
    /// The job ended, and the conversation reports it.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// No plan was approved. This state is never written to a log: it applies if the log contains no plan record.
    #[default]
    Open,
    Approved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    #[default]
    Ended,
    /// The turn has not ended. This state is never written to a log: a turn is open until its end is recorded.
    Open,
}

/// An agent's conversation and other state, rebuilt from its log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// The messages. Valid according to [`super::chat::validate`].
    pub messages: Vec<Message>,
    pub todo: TodoList,
    pub spent: Usage,
    /// Total cost; `None` if the price is unknown.
    pub cost: Option<Cost>,
    /// Number of model calls so far; 0 if the log does not record it.
    pub calls: u64,
    /// Background jobs whose end the conversation has not reported to the agent yet: id and command.
    pub unreported_jobs: Vec<(JobId, String)>,
    pub plan: PlanState,
    /// Whether the lead works on tasks or only delegates. Set only in the conversation of the lead.
    pub lead: LeadMode,
    /// The read position in the inbox, as an offset in bytes; `None` if unknown.
    pub inbox: Option<u64>,
    /// The queued prompts that are already part of `messages`, so that they are not delivered again.
    pub prompts: Vec<PromptId>,
    /// The files that the agent has read or written, oldest first. A file can occur several times; its last entry
    /// counts.
    pub files: Vec<SeenFile>,
    /// Whether the last turn has ended. If crewdeck ended during the turn, the turn is still open.
    pub turn: TurnState,
}

impl Conversation {
    /// Rebuilds the state from the records of a log, oldest first.
    ///
    /// The messages are made valid. A tool call without a result, which a crash leaves behind, gets the result
    /// [`NO_RESULT`]. Results without a call and answers before the first user message are dropped. Consecutive
    /// messages of one role become one message.
    ///
    /// The turn is open if the last message is from the user and no end of a turn is recorded after it. Tool results
    /// are messages from the user.
    pub fn from_records(records: impl IntoIterator<Item = LogRecord>) -> Conversation {
        let mut all = Conversation::default();
        for record in records {
            match record {
                LogRecord::Delivery {
                    message,
                    inbox,
                    ended,
                    prompts,
                } => {
                    all.turn = TurnState::Open;
                    all.join(message);
                    all.prompts.extend(prompts);
                    all.inbox = inbox.or(all.inbox);
                    all.unreported_jobs.retain(|(id, _)| !ended.contains(id));
                }
                LogRecord::Message(message) => {
                    all.turn = TurnState::Open;
                    all.join(message);
                }
                LogRecord::Inbox { inbox } => all.inbox = Some(inbox),
                LogRecord::Prompts { prompts } => all.prompts.extend(prompts),
                LogRecord::Todo { todo } => all.todo = todo,
                LogRecord::Spent {
                    spent,
                    cost,
                    estimated,
                    calls,
                } => {
                    all.spent = spent;
                    all.cost = Cost::from_fields(cost, estimated);
                    all.calls = calls;
                }
                LogRecord::Job {
                    job,
                    command,
                    state: JobState::Began,
                } => {
                    // The log can contain the start of a job twice, if the log was rewritten while the job began.
                    all.unreported_jobs.retain(|(id, _)| *id != job);
                    all.unreported_jobs.push((job, command));
                }
                LogRecord::Job {
                    job,
                    state: JobState::Ended,
                    ..
                } => all.unreported_jobs.retain(|(id, _)| *id != job),
                LogRecord::Plan { plan } => all.plan = plan,
                LogRecord::Lead { lead } => all.lead = lead,
                LogRecord::Files { files } => all.files.extend(files),
                LogRecord::Turn { turn } => all.turn = turn,
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

    /// Returns how many of `records` lead to the place after the first `count` messages. `is_place` returns whether
    /// messages are those before the place. Returns `None` if no part of the log ends with that place. If several do,
    /// returns the longest.
    pub fn records_before(
        records: &[LogRecord],
        count: usize,
        is_place: impl Fn(&[Message]) -> bool,
    ) -> Option<usize> {
        let mut all = Conversation::default();
        let mut found = None;
        for (at, record) in records.iter().enumerate() {
            let message = match record {
                LogRecord::Message(message) | LogRecord::Delivery { message, .. } => message,
                // What is recorded before the next message belongs to the messages before it.
                _ if found == Some(at) => {
                    found = Some(at + 1);
                    continue;
                }
                _ => continue,
            };
            all.join(message.clone());
            if all.messages.len() == count && is_place(&all.messages) {
                found = Some(at + 1);
            }
        }
        found
    }

    /// Appends `message` and keeps the conversation valid. Drops tool results in `message` that answer no call of the
    /// last message, and adds an error result for each call of the last message that has no result. Merges `message`
    /// into the last message if both have the same role. Drops an empty message, and an answer before the first user
    /// message.
    fn join(&mut self, message: Message) {
        let mut message = message;
        let mut open = self.open_calls();
        message.blocks.retain(|block| match block {
            Block::ToolResult { call, .. } => {
                let at = open.iter().position(|id| id == call);
                at.map(|at| open.remove(at)).is_some()
            }
            Block::Text { .. }
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolCall(_) => true,
        });
        match message.role {
            Role::User => {
                let results = open.into_iter().map(missing_result);
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

    /// Adds a user message with an error result for each tool call of the last message. Does nothing if that message
    /// has no calls.
    fn close(&mut self) {
        let open = self.open_calls();
        if !open.is_empty() {
            let results = open.into_iter().map(missing_result).collect();
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

fn missing_result(call: CallId) -> Block {
    Block::ToolResult {
        call,
        content: NO_RESULT.into(),
        outcome: Outcome::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::chat::{ToolCall, validate};
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn said(text: &str) -> LogRecord {
        LogRecord::Message(Message::user(vec![Block::text(text)]))
    }

    fn answer_record(text: &str) -> LogRecord {
        LogRecord::Message(Message::assistant(vec![Block::text(text)]))
    }

    fn call_record(ids: &[&str]) -> LogRecord {
        let call = |id: &&str| {
            Block::ToolCall(ToolCall {
                id: CallId((*id).into()),
                name: "bash".into(),
                input: serde_json::json!({}),
                broken: None,
            })
        };
        LogRecord::Message(Message::assistant(ids.iter().map(call).collect()))
    }

    fn result(id: &str) -> LogRecord {
        LogRecord::Message(Message::user(vec![Block::ToolResult {
            call: CallId(id.into()),
            content: "fine".into(),
            outcome: Outcome::Ok,
        }]))
    }

    const ENDED: LogRecord = LogRecord::Turn {
        turn: TurnState::Ended,
    };

    #[test]
    fn place_is_found_by_number_and_messages() {
        let records = [
            said("one"),
            answer_record("two"),
            ENDED,
            said("three"),
            said("four"),
            answer_record("five"),
        ];
        let find = |count, text: &str| {
            let is_place = |messages: &[Message]| {
                let last = messages.last().and_then(|message| message.blocks.last());
                matches!(last, Some(Block::Text { text: last }) if last == text)
            };
            Conversation::records_before(&records, count, is_place)
        };
        assert_eq!(find(2, "two"), Some(3));
        // Consecutive messages of one role are one message.
        assert_eq!(find(3, "three"), Some(4));
        assert_eq!(find(3, "four"), Some(5));
        assert_eq!(find(4, "five"), Some(6));
        assert_eq!(find(4, "two"), None);
    }

    #[test]
    fn interrupted_calls_get_results_and_leave_turn_open() {
        let all = Conversation::from_records([said("go"), call_record(&["a", "b"])]);
        assert_eq!(validate(&all.messages), Ok(()));
        let last = all.messages.last().unwrap();
        assert_eq!(last.result_ids().count(), 2);
        assert_eq!(all.turn, TurnState::Open);
    }

    #[test]
    fn turn_state_follows_the_last_records() {
        let cases = [
            (vec![], TurnState::Ended),
            (vec![said("go")], TurnState::Open),
            (vec![said("go"), ENDED], TurnState::Ended),
            (vec![said("go"), answer_record("done")], TurnState::Ended),
            (
                vec![said("go"), call_record(&["a"]), result("a")],
                TurnState::Open,
            ),
            (
                vec![said("go"), call_record(&["a"]), result("a"), ENDED],
                TurnState::Ended,
            ),
            (
                vec![said("go"), answer_record("x"), ENDED, said("on")],
                TurnState::Open,
            ),
        ];
        for (records, turn) in cases {
            assert_eq!(
                Conversation::from_records(records.clone()).turn,
                turn,
                "{records:?}"
            );
        }
    }

    #[test]
    fn latest_record_of_usage_jobs_and_inbox_counts() {
        let job = |state| LogRecord::Job {
            job: JobId("j1".into()),
            command: "make".into(),
            state,
        };
        let spent = |input| LogRecord::Spent {
            spent: Usage {
                input,
                ..Usage::default()
            },
            cost: None,
            estimated: false,
            calls: input,
        };
        let all = Conversation::from_records([spent(5), job(JobState::Began), spent(9)]);
        assert_eq!(
            (all.spent.input, all.calls, all.unreported_jobs.len()),
            (9, 9, 1)
        );
        let all = Conversation::from_records([job(JobState::Began), job(JobState::Began)]);
        assert_eq!(all.unreported_jobs.len(), 1);
        let all = Conversation::from_records([job(JobState::Began), job(JobState::Ended)]);
        assert_eq!(all.unreported_jobs, vec![]);
        let delivered = LogRecord::Delivery {
            message: Message::user(vec![Block::text("it ended")]),
            inbox: Some(3),
            ended: vec![JobId("j1".into())],
            prompts: vec![PromptId("p1".into())],
        };
        let all = Conversation::from_records([job(JobState::Began), delivered, said("on")]);
        assert_eq!((all.unreported_jobs, all.inbox), (vec![], Some(3)));
        assert_eq!(all.prompts, vec![PromptId("p1".into())]);
    }

    #[test]
    fn records_survive_a_json_round_trip() {
        let all = [
            said("a"),
            call_record(&["x"]),
            LogRecord::Delivery {
                message: Message::user(vec![Block::text("<inbox>")]),
                inbox: Some(7),
                ended: vec![JobId("j".into())],
                prompts: vec![PromptId("p".into())],
            },
            LogRecord::Inbox { inbox: 7 },
            LogRecord::Prompts {
                prompts: vec![PromptId("p".into())],
            },
            LogRecord::Todo {
                todo: TodoList::default(),
            },
            LogRecord::Spent {
                spent: Usage::default(),
                cost: Some(0.5),
                estimated: true,
                calls: 3,
            },
            ENDED,
        ];
        for record in all {
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(
                serde_json::from_str::<LogRecord>(&line).unwrap(),
                record,
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn rebuilt_conversation_is_always_valid(kinds in proptest::collection::vec((0u8..5, 0u8..3), 0..30)) {
            let records = kinds.iter().enumerate().map(|(at, (kind, n))| match kind {
                0 => said("words"),
                1 => answer_record("words"),
                2 => call_record(&[format!("c{n}").as_str(), format!("d{at}").as_str()]),
                3 => result(&format!("c{n}")),
                _ => ENDED,
            });
            let all = Conversation::from_records(records);
            prop_assert_eq!(validate(&all.messages), Ok(()));
        }
    }
}
