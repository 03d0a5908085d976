//! Applies events to a transcript.

use crate::domain::attachment::PromptImage;
use crate::domain::ids::CallId;
use crate::domain::text::{clip, head_and_tail, one_line};
use crate::protocol::AgentEvent;
use crate::protocol::event::{Compaction, CompactionMethod};
use crate::ui::text::count;
use crate::ui::transcript::Transcript;
use crate::ui::transcript::answer::Answer;
use crate::ui::transcript::cell::{AttachedFile, CellKind, CellPicture};
use crate::ui::transcript::entry::InsertedEntry;
use crate::ui::transcript::run::{ToolCallState, ToolRun};
use crate::ui::transcript::tool_display::USER_COMMAND;

/// Maximum length of a prompt, in bytes. A longer prompt is cut in the middle.
pub(super) const PROMPT_MAX: usize = 256 * 1024;
/// Maximum number of attachments of a prompt that are shown. The crew accepts fewer.
const LABELS_MAX: usize = 100;
/// Maximum length of the line that names an attachment, in characters. A longer line is cut.
const LABEL_MAX: usize = 500;
/// Maximum length of the file name of an image, in bytes. An image with a longer name is not shown.
const FILE_NAME_MAX: usize = 64;
/// Maximum number of running calls that are tracked. If there are more, the oldest is no longer tracked, and its result
/// is added as a new cell.
const RUNNING_MAX: usize = 256;

/// Number of cells after a failed call that are searched for notices that repeat the error of the call.
const NOTICES_MAX: u64 = 8;

impl Transcript {
    pub fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Prompted {
                text,
                attachments,
                images,
            } => {
                let text = head_and_tail(text, PROMPT_MAX);
                self.push(CellKind::Prompt(text, attached_files(attachments, images)));
            }
            AgentEvent::SubagentStarted { prompt, .. } => {
                let text = head_and_tail(prompt, PROMPT_MAX);
                self.push(CellKind::Prompt(text, Vec::new()));
            }
            AgentEvent::ContextAdded { what, text } => {
                self.push(CellKind::Injected(Box::new(InsertedEntry::new(what, text))));
            }
            AgentEvent::TurnStarted => self.close_answer(),
            AgentEvent::TextDelta { text } => self.stream(|answer| answer.push_text(text)),
            AgentEvent::ThinkingDelta { text } => self.stream(|answer| answer.push_thinking(text)),
            AgentEvent::StreamReset => {
                if let Some(open) = self.open.take() {
                    self.log.remove(open);
                }
            }
            AgentEvent::AnswerFinished {
                text,
                thinking,
                thought_ms,
            } => {
                let mut answer = Answer::complete(text, thinking);
                answer.thought_ms = *thought_ms;
                self.complete_answer(answer);
            }
            AgentEvent::ToolStarted {
                call,
                tool,
                on,
                input,
            } => self.begin_run(call, ToolRun::new(tool, on, input, &self.zone())),
            AgentEvent::ToolOutput { call, chunk } => {
                if let Some((_, number)) = self.running.iter().find(|(id, _)| id == call) {
                    self.log.change(*number, |kind| {
                        if let CellKind::Tool(run) = kind {
                            run.append_output(chunk);
                        }
                    });
                }
            }
            AgentEvent::ToolFinished {
                call,
                tool,
                outcome,
                output,
                diff,
                took_ms,
            } => {
                let zone = self.zone();
                let number = self.end_run(call, tool, |run| {
                    run.end(*outcome, output, diff, *took_ms, &zone);
                });
                self.drop_repeated_notices(number);
            }
            AgentEvent::UserCommandStarted { call, command } => {
                // The streamed answer stays open: its further text is added to its cell above the command.
                self.track_run(call, ToolRun::user_command(command));
            }
            AgentEvent::UserCommandEnded {
                call,
                outcome,
                output,
                took_ms,
            } => {
                let zone = self.zone();
                self.end_run(call, USER_COMMAND, |run| {
                    run.end(*outcome, output, "", *took_ms, &zone);
                });
            }
            AgentEvent::TurnEnded { end } => {
                self.close_answer();
                self.abandon_runs();
                if let Some(kind) = CellKind::turn_end_notice(end) {
                    self.push(kind);
                }
            }
            AgentEvent::Compacted { compaction } => {
                let entry = InsertedEntry::new(&self::compaction(compaction), "");
                self.push(CellKind::Injected(Box::new(entry)));
            }
            AgentEvent::Cleared { transcript } => {
                self.clear();
                let entry = InsertedEntry::new(&clear_notice(transcript), "");
                self.push(CellKind::Injected(Box::new(entry)));
            }
            AgentEvent::Rewound { .. } => self.rewind(event),
            _ => {}
        }
    }

    pub(super) fn push(&mut self, kind: CellKind) -> u64 {
        self.log.push(kind)
    }

    /// Applies `add` to the answer that is being streamed; if there is none, starts a new answer. A cell that was added
    /// below the answer meanwhile, such as a notice, does not end it: the text still goes to the answer's cell.
    fn stream(&mut self, add: impl FnOnce(&mut Answer)) {
        let number = match self.open {
            Some(open) if self.log.index(open).is_some() => open,
            Some(_) | None => {
                let origin = self.next_origin();
                self.push(CellKind::Answer(Box::new(Answer::streaming(origin))))
            }
        };
        self.open = Some(number);
        self.log.change(number, |kind| {
            if let CellKind::Answer(answer) = kind {
                add(answer);
            }
        });
    }

    /// Replaces the answer that is being streamed with the complete answer `answer`. If no answer is being streamed,
    /// adds `answer`. If `answer` is blank, adds nothing and removes the streamed answer.
    fn complete_answer(&mut self, mut answer: Answer) {
        answer.origin = self.next_origin();
        match self.open.take().filter(|n| self.log.index(*n).is_some()) {
            Some(open) if answer.is_blank() => self.log.remove(open),
            Some(open) => self.log.change(open, |kind| {
                if let CellKind::Answer(partial) = kind {
                    answer.fold = partial.fold;
                    if answer.text == partial.text {
                        answer.origin = partial.origin;
                    }
                }
                *kind = CellKind::Answer(Box::new(answer));
            }),
            None if answer.is_blank() => {}
            None => {
                self.push(CellKind::Answer(Box::new(answer)));
            }
        }
    }

    fn next_origin(&mut self) -> u64 {
        self.origin += 1;
        self.origin
    }

    fn close_answer(&mut self) {
        if let Some(open) = self.open.take() {
            self.log.change(open, |kind| {
                if let CellKind::Answer(answer) = kind {
                    answer.close();
                }
            });
        }
    }

    fn begin_run(&mut self, call: &CallId, run: ToolRun) {
        // If a running call is started a second time, a hook has changed its input.
        let mut run = Some(run);
        if let Some((_, number)) = self.running.iter().find(|(id, _)| id == call) {
            self.log.change(*number, |kind| {
                if let CellKind::Tool(known) = kind
                    && known.state == ToolCallState::Running
                    && run.as_ref().is_some_and(|run| run.tool == known.tool)
                    && let Some(run) = run.take()
                {
                    **known = run;
                }
            });
        }
        let Some(run) = run else { return };
        self.close_answer();
        self.track_run(call, run);
    }

    fn track_run(&mut self, call: &CallId, run: ToolRun) {
        let number = self.log.push_call(run);
        // Model servers may use a call id again; the newest call with this id is the one that is tracked.
        self.running.retain(|(id, _)| id != call);
        self.running.push_back((call.clone(), number));
        if self.running.len() > RUNNING_MAX {
            self.running.pop_front();
        }
    }

    /// Applies `end` to the running call with the id `call`, which is then no longer tracked. If there is no such call,
    /// adds a new cell for it and applies `end` to that. Returns the number of the call's cell.
    fn end_run(&mut self, call: &CallId, tool: &str, end: impl FnOnce(&mut ToolRun)) -> u64 {
        let at = self.running.iter().position(|(id, _)| id == call);
        let known = at.and_then(|at| self.running.remove(at));
        let number = known.map_or_else(
            || {
                let run = ToolRun::new(tool, "", &serde_json::Value::Null, &self.zone());
                self.log.push_call(run)
            },
            |(_, number)| number,
        );
        self.log.change(number, |kind| {
            if let CellKind::Tool(run) = kind {
                end(run);
            }
        });
        number
    }

    /// Removes the notices that repeat the error of the call in the cell `number`. Before the call ends, the crew
    /// publishes its error as a notice, which other parts of the screen show. Searches the first [`NOTICES_MAX`] cells
    /// after the call.
    fn drop_repeated_notices(&mut self, number: u64) {
        let after = number + 1..self.log.next().min(number + 1 + NOTICES_MAX);
        let repeated: Vec<u64> = after
            .filter(|later| match self.kind(*later) {
                Some(CellKind::Notice(_, text, _)) => self.repeats_error(number, text),
                _ => false,
            })
            .collect();
        for later in repeated.into_iter().rev() {
            self.log.remove(later);
        }
    }

    /// Returns whether the call in the cell `number` has failed with an error that contains `text`.
    fn repeats_error(&self, number: u64, text: &str) -> bool {
        let Some(CellKind::Tool(run)) = self.kind(number) else {
            return false;
        };
        let has_failed = run.state == ToolCallState::Failed;
        has_failed && !text.is_empty() && run.error_line().contains(text)
    }

    /// Ends the streamed answer and the running calls, whose results will not arrive because the session has ended.
    pub fn close_open_entries(&mut self) {
        self.close_answer();
        self.abandon_runs();
        self.running.clear();
    }

    /// Marks the running tool calls as abandoned, because their turn has ended without their results. The calls stay
    /// tracked: a result that arrives later replaces the state "abandoned". Commands of the user are not part of a turn
    /// and keep running.
    fn abandon_runs(&mut self) {
        for (_, number) in &self.running {
            self.log.change(*number, |kind| {
                if let CellKind::Tool(run) = kind
                    && run.tool != USER_COMMAND
                {
                    run.state = ToolCallState::Abandoned;
                }
            });
        }
    }
}

/// Returns the attached files of a prompt: one for each of the first [`LABELS_MAX`] labels, with the image that belongs
/// to it. Images with an invalid file name are left out, because another program may have written the journal.
fn attached_files(labels: &[String], images: &[PromptImage]) -> Vec<AttachedFile> {
    let is_name = |name: &str| {
        name.len() <= FILE_NAME_MAX && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    };
    let picture = |at: usize| {
        let image = images.iter().take(LABELS_MAX).find(|i| i.label == at)?;
        is_name(&image.file).then(|| CellPicture {
            file: image.file.clone(),
            pixels: (image.width, image.height),
            failure: None,
        })
    };
    let labels = labels.iter().take(LABELS_MAX).enumerate();
    labels
        .map(|(at, label)| AttachedFile {
            label: clip(&one_line(label), LABEL_MAX),
            picture: picture(at),
        })
        .collect()
}

/// Returns the text of the entry that says that the conversation was emptied. `transcript` is the path of the file with
/// the old conversation.
pub fn clear_notice(transcript: &str) -> String {
    let path = one_line(transcript);
    format!("conversation cleared. Old conversation: {path}")
}

/// Returns a one-line description of a compaction, such as `3 old tool results pruned: 9k → 4k tokens`.
pub fn compaction(compaction: &Compaction) -> String {
    let sizes = format!(
        "{} → {} tokens",
        count(compaction.before),
        count(compaction.after)
    );
    match &compaction.how {
        CompactionMethod::Results { count: 1 } => format!("1 old tool result pruned: {sizes}"),
        CompactionMethod::Results { count } => format!("{count} old tool results pruned: {sizes}"),
        CompactionMethod::Summary { transcript } => {
            let path = one_line(transcript);
            format!("conversation compacted: {sizes}. Full transcript: {path}")
        }
    }
}
