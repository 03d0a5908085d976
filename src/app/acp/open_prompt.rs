//! The state of a prompt of the editor: what the prompt waits for, and how it ends. Pure: the functions only return
//! what the session must do.

use agent_client_protocol::RawJsonRpcId;
use agent_client_protocol::v1::schema::{Error, StopReason};
use serde_json::Value;

use crate::agent::turn::{REFUSED, TOKEN_LIMIT_REACHED};
use crate::domain::ids::RequestId;
use crate::protocol::event::{TeamEvent, TurnEnd};
use crate::protocol::{AgentEvent, CommandId, CrewEvent, EventKind};

/// The phase of a prompt. It decides which event ends the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPhase {
    /// The lead has not read the prompt. The value is the text of the prompt as events contain it, with secrets
    /// redacted.
    Unread(String),
    /// The lead has read the prompt. The prompt ends with the lead's turn.
    Turn,
    /// The prompt is the answer to the question with this id. If the lead is in a turn when the question is decided,
    /// the prompt ends with this turn. Otherwise it ends when the question is decided.
    Answer(RequestId),
    Compact,
    Clear,
}

/// How a prompt ended: the answer to `session/prompt`.
pub type PromptEnd = Result<StopReason, Error>;

/// What the session must do about the editor's prompt after an event of the crew.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptStep {
    Nothing,
    /// The lead has read the prompt. Files that were sent with it are no longer needed.
    Read,
    /// The lead must be interrupted again, because its turn had not begun at the first interrupt.
    Interrupt,
    Ended(PromptEnd),
}

/// The ids of the commands that together cancel a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelCommands {
    /// The id of the command that removes the prompt from the lead's queue; `None` if the lead has read the prompt.
    pub recall: Option<CommandId>,
    /// The id of the command that interrupts the lead.
    pub interrupt: CommandId,
    /// The id of a command that is always rejected. Its rejection shows that the commands before it were carried out.
    pub fence: CommandId,
}

/// A prompt that the editor has sent and that has not ended.
#[derive(Debug)]
pub struct OpenPrompt {
    /// The id of the JSON-RPC request with which the editor sent the prompt.
    pub id: RawJsonRpcId,
    /// The id of the command with which the prompt was sent to the crew.
    pub command: CommandId,
    pub phase: PromptPhase,
    /// The commands that cancel the prompt; `None` while it is not being cancelled.
    pub cancel: Option<CancelCommands>,
    /// Whether the lead had read the prompt before it could be recalled.
    recall_failed: bool,
    /// Whether the interrupt failed because the lead's turn had not begun. The lead must then be interrupted again.
    interrupt_failed: bool,
}

impl OpenPrompt {
    pub fn new(id: RawJsonRpcId, command: CommandId, phase: PromptPhase) -> OpenPrompt {
        OpenPrompt {
            id,
            command,
            phase,
            cancel: None,
            recall_failed: false,
            interrupt_failed: false,
        }
    }

    /// Records an event of the crew. Returns what the session must do about the prompt. `is_lead_active` says whether
    /// the lead is in a turn after the event.
    pub fn step(&mut self, event: &EventKind, is_lead_active: bool) -> PromptStep {
        match event {
            EventKind::Agent { agent, event } if agent.is_lead() => self.lead(event),
            EventKind::Team(TeamEvent::RequestChanged { request })
                if !request.is_pending()
                    && self.phase == PromptPhase::Answer(request.id.clone()) =>
            {
                if is_lead_active {
                    self.phase = PromptPhase::Turn;
                    return PromptStep::Nothing;
                }
                self.end(Ok(StopReason::EndTurn))
            }
            EventKind::Crew(CrewEvent::CommandRejected {
                command: Some(command),
                why,
            }) => self.rejected(*command, why),
            // A summary that is not needed or cannot be made is reported by a notice.
            EventKind::Crew(CrewEvent::Notice {
                agent: Some(agent), ..
            }) if agent.is_lead() && self.phase == PromptPhase::Compact => {
                self.end(Ok(StopReason::EndTurn))
            }
            _ => PromptStep::Nothing,
        }
    }

    fn lead(&mut self, event: &AgentEvent) -> PromptStep {
        match (event, &self.phase) {
            (AgentEvent::Prompted { text, .. }, PromptPhase::Unread(own)) if text == own => {
                self.phase = PromptPhase::Turn;
                // The interrupt can have been carried out before the turn began.
                if self.cancel.is_some() {
                    return PromptStep::Interrupt;
                }
                PromptStep::Read
            }
            (AgentEvent::TurnEnded { end }, PromptPhase::Turn | PromptPhase::Compact) => {
                self.end(stop_reason(end))
            }
            (AgentEvent::Compacted { .. }, PromptPhase::Compact)
            | (AgentEvent::Cleared { .. }, PromptPhase::Clear) => self.end(Ok(StopReason::EndTurn)),
            (_, PromptPhase::Turn) if std::mem::take(&mut self.interrupt_failed) => {
                PromptStep::Interrupt
            }
            _ => PromptStep::Nothing,
        }
    }

    fn rejected(&mut self, command: CommandId, why: &str) -> PromptStep {
        if command == self.command {
            let error = Error::invalid_request().data(Value::from(why));
            return self.end(Err(error));
        }
        let Some(cancel) = self.cancel else {
            return PromptStep::Nothing;
        };
        if cancel.recall == Some(command) {
            self.recall_failed = true;
        } else if command == cancel.interrupt {
            self.interrupt_failed = true;
        } else if command == cancel.fence {
            let has_ended = match self.phase {
                PromptPhase::Unread(_) => !self.recall_failed,
                PromptPhase::Turn => false,
                PromptPhase::Answer(_) | PromptPhase::Compact | PromptPhase::Clear => true,
            };
            if has_ended {
                return PromptStep::Ended(Ok(StopReason::Cancelled));
            }
        }
        PromptStep::Nothing
    }

    /// Ends the prompt with `end`, or, if it was cancelled, with [`StopReason::Cancelled`].
    fn end(&self, end: PromptEnd) -> PromptStep {
        PromptStep::Ended(match self.cancel {
            Some(_) => Ok(StopReason::Cancelled),
            None => end,
        })
    }
}

fn stop_reason(end: &TurnEnd) -> PromptEnd {
    match end {
        TurnEnd::Interrupted => Ok(StopReason::Cancelled),
        TurnEnd::Stopped { why } if why == TOKEN_LIMIT_REACHED => Ok(StopReason::MaxTokens),
        TurnEnd::Stopped { why } if why == REFUSED => Ok(StopReason::Refusal),
        TurnEnd::Done | TurnEnd::Stopped { .. } => Ok(StopReason::EndTurn),
        TurnEnd::Failed { error, hint } => {
            let text = format!("{error}. {hint}");
            Err(Error::new(-32603, text.trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use pretty_assertions::assert_eq;

    const RECALL: CommandId = CommandId(2);
    const INTERRUPT: CommandId = CommandId(3);
    const FENCE: CommandId = CommandId(4);

    fn unread() -> OpenPrompt {
        let phase = PromptPhase::Unread("go".into());
        OpenPrompt::new(RawJsonRpcId::Number(1), CommandId(1), phase)
    }

    fn cancelled(mut prompt: OpenPrompt) -> OpenPrompt {
        prompt.cancel = Some(CancelCommands {
            recall: Some(RECALL),
            interrupt: INTERRUPT,
            fence: FENCE,
        });
        prompt
    }

    fn lead(event: AgentEvent) -> EventKind {
        event.of(Name::lead())
    }

    fn ended(end: TurnEnd) -> EventKind {
        lead(AgentEvent::TurnEnded { end })
    }

    fn steps(prompt: &mut OpenPrompt, events: &[EventKind]) -> Vec<PromptStep> {
        let step = |event| prompt.step(event, true);
        events
            .iter()
            .map(step)
            .filter(|step| *step != PromptStep::Nothing)
            .collect()
    }

    fn end(reason: StopReason) -> PromptStep {
        PromptStep::Ended(Ok(reason))
    }

    #[test]
    fn prompt_ends_with_the_turn_that_has_read_it() {
        let events = [
            // The turn of a report of a teammate.
            ended(TurnEnd::Done),
            lead(AgentEvent::prompt("from the dashboard")),
            lead(AgentEvent::prompt("go")),
            AgentEvent::TurnEnded { end: TurnEnd::Done }.of(Name::member("bob").unwrap()),
            ended(TurnEnd::Done),
        ];
        let all = steps(&mut unread(), &events);
        assert_eq!(all, [PromptStep::Read, end(StopReason::EndTurn)]);
    }

    #[test]
    fn ends_of_turns_are_stop_reasons() {
        let stopped = |why: &str| TurnEnd::Stopped { why: why.into() };
        for (turn, reason) in [
            (TurnEnd::Interrupted, StopReason::Cancelled),
            (stopped(TOKEN_LIMIT_REACHED), StopReason::MaxTokens),
            (stopped(REFUSED), StopReason::Refusal),
            (stopped("it repeats itself"), StopReason::EndTurn),
        ] {
            assert_eq!(stop_reason(&turn), Ok(reason));
        }
        let (error, hint) = ("no answer".to_string(), "Try again".to_string());
        let failed = stop_reason(&TurnEnd::Failed { error, hint });
        assert_eq!(failed.unwrap_err().message, "no answer. Try again");
    }

    #[test]
    fn cancelled_prompt_ends_when_the_lead_cannot_read_it_any_more() {
        let rejected = |id| EventKind::rejection(id, "no");
        // It was recalled; its attachments were still being read.
        for event in [rejected(FENCE), rejected(CommandId(1))] {
            let events = [rejected(INTERRUPT), event];
            let all = steps(&mut cancelled(unread()), &events);
            assert_eq!(all, [end(StopReason::Cancelled)]);
        }
        // The lead has read it in the meantime, before or after the interrupt.
        let events = [
            rejected(RECALL),
            rejected(FENCE),
            lead(AgentEvent::prompt("go")),
            ended(TurnEnd::Interrupted),
        ];
        let all = steps(&mut cancelled(unread()), &events);
        assert_eq!(all, [PromptStep::Interrupt, end(StopReason::Cancelled)]);
        // The lead had read it, but its turn had not begun.
        let mut prompt = cancelled(unread());
        prompt.phase = PromptPhase::Turn;
        let events = [
            rejected(INTERRUPT),
            rejected(FENCE),
            lead(AgentEvent::TurnStarted),
            ended(TurnEnd::Done),
        ];
        let all = steps(&mut prompt, &events);
        assert_eq!(all, [PromptStep::Interrupt, end(StopReason::Cancelled)]);
    }

    #[test]
    fn rejected_prompt_ends_with_the_reason() {
        let events = [EventKind::rejection(CommandId(1), "no such file")];
        let all = steps(&mut unread(), &events);
        let error = Error::invalid_request().data(Value::from("no such file"));
        assert_eq!(all, [PromptStep::Ended(Err(error))]);
    }
}
