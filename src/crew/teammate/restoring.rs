//! Restores the members of a resumed session.

use std::sync::Arc;

use super::{TeammateLoop, Teammates};
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::agent::turn::TurnInput;
use crate::domain::chat::{Block, Message};
use crate::domain::conversation::{PlanState, TurnState};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::TaskStatus;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::protocol::event::NoticeLevel;
use crate::store::StoreError;
use crate::tools::claim_task;
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
        let lost_task = match conversation.turn {
            TurnState::Ended => None,
            TurnState::Open => life.lost_task(&conversation.messages).await,
        };
        let mut first = match conversation.turn {
            TurnState::Ended => Vec::new(),
            // The turn would work on a task of another agent, and without its worktree.
            TurnState::Open if lost_task.is_some() => Vec::new(),
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
        if let Some(task) = lost_task {
            let turn = &mut life.agent.driver.state.turn;
            turn.add_note(prompt::lost_task(task.0));
        }
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

impl TeammateLoop {
    /// Returns the task of an unfinished turn if it is no longer the one of this teammate: while this host of a crew on a hub
    /// did not run, the task was offered again. `conversation` contains the claim.
    async fn lost_task(&self, conversation: &[Message]) -> Option<TaskId> {
        self.crew.context.host.as_ref()?;
        let name = &self.member.name;
        if self.crew.worktrees.open_task_of(name).await.is_some() {
            return None;
        }
        let task = last_claimed(conversation, name)?;
        let graph = self.crew.board.graph();
        let is_finished = graph.get(task).is_some_and(|task| {
            task.status == TaskStatus::Completed && task.owner.eq_ignore_ascii_case(name.as_str())
        });
        (!is_finished).then_some(task)
    }
}

/// Returns the task that a teammate has claimed last, according to its conversation.
fn last_claimed(conversation: &[Message], name: &Name) -> Option<TaskId> {
    let blocks = conversation.iter().flat_map(|message| &message.blocks);
    blocks.rev().find_map(|block| {
        let text = match block {
            Block::Text { text } | Block::ToolResult { content: text, .. } => text,
            Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolCall(_) => return None,
        };
        [prompt::CLAIMED, claim_task::CLAIMED]
            .into_iter()
            .find_map(|begin| {
                let (_, rest) = text.rsplit_once(begin)?;
                let digits = rest.find(|c: char| !c.is_ascii_digit())?;
                let id = rest.get(..digits)?.parse().ok().map(TaskId)?;
                let is_claim = text.contains(&prompt::claimed_prefix(id.0))
                    || text.contains(&claim_task::result_line(id, name));
                is_claim.then_some(id)
            })
    })
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn last_claim_is_found_in_prompts_and_results() {
        let name = Name::member("gpu-1").unwrap();
        let user = |text: String| Message::user(vec![Block::text(text)]);
        let claimed = |id| user(prompt::claimed_task(id, "a", "b"));
        let result = user(claim_task::result_line(TaskId(7), &name) + "\nmore");
        let of = |messages: &[Message]| last_claimed(messages, &name);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[user("Claimed task #1 for bob.".into())]), None);
        assert_eq!(of(&[claimed(2), claimed(12)]), Some(TaskId(12)));
        assert_eq!(
            of(&[claimed(2), result.clone(), user("go on".into())]),
            Some(TaskId(7))
        );
        assert_eq!(of(&[result, claimed(2)]), Some(TaskId(2)));
    }
}
