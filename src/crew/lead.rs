//! Runs the lead, which answers the user. The crew wakes it for messages and job results, and when the team is idle.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::agent_builder::{Agent, AgentBuilder, AgentSpec};
use super::board_view::BoardView;
use super::context::CrewContext;
use super::lead_inbox::LeadInbox;
use super::message_delivery::MessageDelivery;
use super::progress::is_news;
use super::registry::{AgentRegistry, AgentState};
use super::signals::CrewSignals;
use crate::agent::checkpoint_state::RewindOrder;
use crate::agent::driver::{Control, run_blocking};
use crate::agent::prompt;
use crate::agent::turn::{TurnInput, TurnLimits};
use crate::domain::chat::Block;
use crate::domain::conversation::{Conversation, TurnState};
use crate::domain::ids::Name;
use crate::domain::role::ToolSelection;
use crate::domain::team::Activity;
use crate::domain::team_preset::LeadMode;
use crate::protocol::event::NoticeLevel;
use crate::store::{LoadedTranscript, StoreError, last_subagent};
use crate::tools::Caller;
use crate::tools::host::Host;
use crate::tools::policy::PlanGate;

pub struct LeadParts {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub registry: Arc<AgentRegistry>,
    pub inbox: Arc<LeadInbox>,
    pub delivery: Arc<MessageDelivery>,
    pub board: Arc<BoardView>,
}

pub struct LeadAgent {
    parts: LeadParts,
    agent: Agent,
    first: Option<Vec<Block>>,
}

impl LeadAgent {
    /// Prepares the lead. If `resumes` is true, the lead continues the conversation on disk; otherwise it starts with
    /// an empty one. If `mode` or the conversation on disk says that the lead only delegates, the lead gets no tools to
    /// work on tasks itself.
    ///
    /// # Errors
    /// Fails if the conversation or the board cannot be read.
    pub async fn prepare(
        parts: LeadParts,
        builder: &AgentBuilder,
        host: Arc<dyn Host>,
        resumes: bool,
        mode: LeadMode,
    ) -> Result<LeadAgent, StoreError> {
        let restored = if resumes {
            Some(load(&parts).await?)
        } else {
            None
        };
        let recorded = restored.as_ref().map(|c| c.lead).unwrap_or_default();
        let tools = match (recorded, mode) {
            (LeadMode::Work, LeadMode::Work) => Vec::new(),
            (LeadMode::Delegate, _) | (_, LeadMode::Delegate) => vec![ToolSelection::delegating()],
        };
        let spec = AgentSpec {
            role: None,
            tools,
            roles: builder.roles.prompt_list().await,
            name: Name::lead(),
            caller: Caller::Lead,
            limits: TurnLimits::default(),
            identity: String::new(),
            model: builder.models.of_lead(),
            gate: PlanGate::Open,
            tags: Vec::new(),
            system: &prompt::lead,
        };
        let mut agent = builder.build(spec, host);
        let first = match restored {
            Some(conversation) => resume(&parts, &mut agent, conversation).await?,
            None => None,
        };
        if mode == LeadMode::Delegate && recorded == LeadMode::Work {
            agent.driver.set_lead_mode(mode).await;
        }
        if recorded == LeadMode::Delegate {
            let text = "The lead only delegates work: the session's team preset requires it.";
            parts.context.notice(NoticeLevel::Info, text).await;
        }
        parts.registry.add(Name::lead(), agent.handle.clone());
        if first.is_some() {
            // The crew must not count as idle before the lead has started.
            parts.registry.set_state(&agent.handle, AgentState::Working);
        }
        Ok(LeadAgent {
            parts,
            agent,
            first,
        })
    }

    /// Returns [`TurnState::Open`] if the lead continues an unfinished turn of the resumed session, otherwise
    /// [`TurnState::Ended`].
    pub fn turn(&self) -> TurnState {
        match self.first {
            Some(_) => TurnState::Open,
            None => TurnState::Ended,
        }
    }

    /// Runs the lead in the background until the crew stops.
    pub fn begin(self) {
        let context = Arc::clone(&self.parts.context);
        context.spawn(self.live());
    }

    async fn live(self) {
        let LeadAgent {
            parts,
            mut agent,
            first,
        } = self;
        let stop = &parts.context.stop;
        let mut changes = parts.signals.subscribe_files();
        // The first check is made at once, because messages may have arrived before the subscription.
        changes.mark_changed();
        let mut first = first.map(TurnInput::Say);
        loop {
            let start = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                start = async { first.take() }, if first.is_some() => match start {
                    Some(start) => start,
                    None => continue,
                },
                input = next_input(&mut agent.control, &parts.inbox, &parts.signals) => match input {
                    Some(NextInput::Turn(input)) => input,
                    Some(NextInput::Rewind(order)) => {
                        agent.driver.rewind(*order).await;
                        parts.inbox.set_queued(agent.control.len());
                        parts.signals.activity_changed();
                        continue;
                    }
                    None => return,
                },
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let heard = agent.handle.mailbox.has_job_results() || parts.inbox.has_prompts();
                    if !heard && !parts.delivery.has_mail(&Name::lead()).await {
                        continue;
                    }
                    TurnInput::Say(Vec::new())
                }
            };
            parts.registry.set_state(&agent.handle, AgentState::Working);
            let end = agent.run_turn(start, &parts.context).await;
            parts.inbox.set_queued(agent.control.len());
            parts.registry.set_state(&agent.handle, AgentState::Idle);
            if end.is_none() {
                return;
            }
            changes.mark_changed();
        }
    }
}

/// What an idle lead receives.
#[derive(Debug)]
pub(super) enum NextInput {
    /// The start of a turn.
    Turn(TurnInput),
    Rewind(Box<RewindOrder>),
}

/// Receives the next input of an idle lead; `None` if the channel is closed. Drops interrupts, because the turn that
/// they were meant for has ended. After each dropped interrupt, corrects the number of queued inputs in `inbox`;
/// otherwise the crew would never count as idle.
pub(super) async fn next_input(
    control: &mut mpsc::Receiver<Control>,
    inbox: &LeadInbox,
    signals: &CrewSignals,
) -> Option<NextInput> {
    loop {
        let input = match control.recv().await? {
            Control::Say(blocks) => TurnInput::Say(blocks),
            Control::Compact(focus) => TurnInput::Compact { focus },
            Control::Clear => TurnInput::Clear,
            Control::Rewind(order) => return Some(NextInput::Rewind(order)),
            Control::Interrupt | Control::Abandon(_) => {
                inbox.set_queued(control.len());
                signals.activity_changed();
                continue;
            }
        };
        return Some(NextInput::Turn(input));
    }
}

/// Reads the lead's conversation from disk and publishes the notices about it. Also sets the number of the next
/// subagent, so that it follows the numbers of the earlier subagents of this session.
async fn load(parts: &LeadParts) -> Result<Conversation, StoreError> {
    let transcript = parts.context.transcript(&Name::lead());
    let (root, session) = (parts.context.root.clone(), parts.context.session.clone());
    let (recalled, subagents) =
        run_blocking(move || Ok((transcript.load()?, last_subagent(&root, &session)?))).await?;
    let LoadedTranscript {
        conversation,
        notices,
    } = recalled;
    // Each subagent has a transcript with its number in this session, so new subagents must get new numbers.
    parts.registry.continue_subagents_after(subagents);
    for notice in notices {
        parts.context.notice(NoticeLevel::Warn, notice).await;
    }
    Ok(conversation)
}

/// Restores the lead's conversation. If the last turn was not finished, returns the input with which the lead continues
/// the turn; otherwise `None`.
async fn resume(
    parts: &LeadParts,
    agent: &mut Agent,
    conversation: Conversation,
) -> Result<Option<Vec<Block>>, StoreError> {
    let turn = conversation.turn;
    let board = parts.board.store().clone();
    let spoken = conversation.messages.clone();
    if run_blocking(move || board.query(|graph| is_news(graph, &spoken))).await? {
        parts.inbox.add_news();
    }
    agent.driver.resume(conversation).await;
    agent.driver.activity(Activity::Idle).await;
    Ok(match turn {
        TurnState::Ended => None,
        TurnState::Open => {
            let text =
                "The lead continues its unfinished turn. To stop the turn, interrupt the lead.";
            parts.context.notice(NoticeLevel::Info, text).await;
            Some(vec![Block::text(prompt::RESUMED_TURN)])
        }
    })
}
