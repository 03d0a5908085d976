//! Restores the members of a resumed session.

use std::sync::Arc;

use super::{TeammateLoop, Teammates};
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::agent::turn::TurnInput;
use crate::domain::chat::Block;
use crate::domain::conversation::{PlanState, TurnState};
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::protocol::event::NoticeLevel;
use crate::store::StoreError;
use crate::tools::host::Host;

impl Teammates {
    /// Restores a member of a resumed session with its conversation, without starting it. `team` is the team as the
    /// earlier crew left it.
    ///
    /// # Errors
    /// Fails if the conversation cannot be read or the roster cannot be written.
    pub async fn restore(
        self: &Arc<Self>,
        member: Member,
        team: &Team,
        host: Arc<dyn Host>,
    ) -> Result<RestoredTeammate, StoreError> {
        let role = self.builder.roles.of_restored(&member).await;
        let source = self.source_of_restored(&member).await;
        let mut life = TeammateLoop::new(self, member, role, source, team, host);
        if let Err(why) = life.connect_external().await {
            let text = format!("{} cannot use the crew's tools: {why}", life.member.name);
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let transcript = life.agent.driver.transcript.clone();
        let recalled = run_blocking(move || transcript.load()).await?;
        for notice in recalled.notices {
            self.context.notice(NoticeLevel::Warn, notice).await;
        }
        let conversation = recalled.conversation;
        if conversation.plan == PlanState::Approved {
            life.agent.handle.mailbox.open_gate();
        }
        let mut first = match conversation.turn {
            TurnState::Ended => Vec::new(),
            TurnState::Open if life.external.is_some() => {
                vec![Block::text(prompt::EXTERNAL_RESUMED_TURN)]
            }
            TurnState::Open => vec![Block::text(prompt::RESUMED_TURN)],
        };
        let words = Block::text(life.member.first.clone());
        let has_heard = conversation
            .messages
            .iter()
            .any(|m| m.blocks.contains(&words));
        if !life.member.first.is_empty() && !has_heard {
            first.push(words);
        }
        life.agent.driver.resume(conversation).await;
        let messages = life.agent.driver.state.turn.messages();
        if let Some(words) = life.find_workspace(&messages).await {
            first.push(words);
        }
        let first = (!first.is_empty()).then_some(TurnInput::Say(first));
        life.agent.driver.activity(Activity::Idle).await;
        self.team
            .set_status(&life.member.name, MemberStatus::Idle)
            .await?;
        life.member.status = MemberStatus::Idle;
        life.member.is_paused = false;
        let approved_shutdown = life.remember_shutdown().await;
        let turn = match (
            &first,
            approved_shutdown || life.check_situation().await.has_work(),
        ) {
            (None, false) => TurnState::Ended,
            (Some(_), _) | (None, true) => TurnState::Open,
        };
        Ok(RestoredTeammate { life, first, turn })
    }
}

/// A member of a resumed session that was restored and does not run yet.
pub struct RestoredTeammate {
    life: TeammateLoop,
    first: Option<TurnInput>,
    /// `Open` if the member has something to continue with: an unfinished turn, a first prompt that it has not read, a
    /// task, a message or an approved shutdown.
    pub turn: TurnState,
}

impl RestoredTeammate {
    /// Runs the member in the background until it shuts down.
    pub fn begin(self) {
        let context = Arc::clone(&self.life.crew.context);
        context.spawn(self.life.live(self.first));
    }
}
