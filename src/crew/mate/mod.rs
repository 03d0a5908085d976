//! Runs a teammate: it works in turns and is idle in between, as its idle state machine decides, until it shuts down.

mod leaving;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use super::lead::work;
use super::outfit::{Order, Outfit};
use super::{Shared, Standing, lock};
use crate::agent::driver::{Control, blocking};
use crate::agent::idle::{Idle, Next, Why};
use crate::agent::prompt;
use crate::agent::turn::{Input, Limits};
use crate::domain::chat::Block;
use crate::domain::conversation::{PlanState, TurnState};
use crate::domain::ids::TaskId;
use crate::domain::team::{Activity, Member, MemberStatus, PlanRule, Team};
use crate::protocol::event::{Level, TurnEnd};
use crate::store::StoreError;
use crate::tools::Caller;
use crate::tools::policy::PlanGate;
use leaving::Farewell;
use tasks::Claim;

/// Most model calls in one turn, the same as in learn-claude-code.
const ROUNDS_MAX: u32 = 50;
/// The delay before the next attempt to claim a task if the board could not be written.
const CLAIM_AGAIN: Duration = Duration::from_secs(2);
/// Most failed attempts in a row before the teammate counts as idle: then `run` ends, while a dashboard keeps trying.
const CLAIMS_MAX: u32 = 5;

/// Adds a member to the roster and starts it with its first prompt.
pub async fn start(shared: Arc<Shared>, member: Member, first: String) -> Result<(), String> {
    let member = Member {
        session: lock(&shared.setup).session.clone(),
        first: first.clone(),
        ..member
    };
    let (roster, entering, most) = (shared.roster.clone(), member.clone(), shared.agents_max);
    let team = blocking(move || roster.enter(entering, most))
        .await
        .map_err(|e| e.to_string())?;
    // Shutdown requests for an earlier member with this name do not apply.
    shared.finish_shutdowns(&member.name).await;
    let life = Life::new(&shared, member, &team);
    shared.read_team().await;
    let first = Input::Say(vec![Block::text(first)]);
    shared.tracker.spawn(life.live(Some(first)));
    Ok(())
}

/// Restores a member of a resumed session with its conversation.
pub async fn back(shared: &Arc<Shared>, member: Member, team: &Team) -> Result<Back, StoreError> {
    let mut life = Life::new(shared, member, team);
    let transcript = life.outfit.driver.transcript.clone();
    let recalled = blocking(move || transcript.recall()).await?;
    for notice in recalled.notices {
        shared.notice(Level::Warn, notice).await;
    }
    let conversation = recalled.conversation;
    if conversation.plan == PlanState::Approved {
        life.outfit.handle.desk.open_gate();
    }
    let mut first = match conversation.turn {
        TurnState::Ended => Vec::new(),
        TurnState::Open => vec![Block::text(prompt::GO_ON)],
    };
    let words = Block::text(life.member.first.clone());
    let has_heard = conversation
        .messages
        .iter()
        .any(|m| m.blocks.contains(&words));
    if !life.member.first.is_empty() && !has_heard {
        first.push(words);
    }
    life.outfit.driver.resume(conversation).await;
    let messages = life.outfit.driver.state.turn.messages();
    if let Some(words) = life.find_place(&messages).await {
        first.push(words);
    }
    let first = (!first.is_empty()).then_some(Input::Say(first));
    life.outfit.driver.activity(Activity::Idle).await;
    let (roster, name, now) = (
        shared.roster.clone(),
        life.member.name.clone(),
        shared.now(),
    );
    blocking(move || roster.set_status(&name, MemberStatus::Idle, now)).await?;
    life.member.status = MemberStatus::Idle;
    let asked_to_go = life.remember_shutdown().await;
    let turn = match (&first, asked_to_go || life.look().await.has_work()) {
        (None, false) => TurnState::Ended,
        (Some(_), _) | (None, true) => TurnState::Open,
    };
    Ok(Back { life, first, turn })
}

/// A restored member that is not running yet.
pub struct Back {
    life: Life,
    first: Option<Input>,
    /// Whether it has something to do.
    pub turn: TurnState,
}

impl Back {
    /// Starts the member.
    pub fn begin(self, shared: &Shared) {
        shared.tracker.spawn(self.life.live(self.first));
    }
}

/// Whether a teammate waits for a message although it has work, because its model failed, it was interrupted, or a budget
/// was not raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    No,
    UntilMail,
}

/// What started a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Words,
    /// A request to compact the conversation, which does not tell a paused teammate to continue.
    Compaction,
}

impl Begun {
    fn by(start: &Input) -> Begun {
        if matches!(start, Input::Compact { .. }) {
            Begun::Compaction
        } else {
            Begun::Words
        }
    }
}

impl Hold {
    /// Returns whether the teammate waits for a message after a turn.
    fn after(self, begun: Begun, end: &TurnEnd) -> Hold {
        match (end, begun) {
            (TurnEnd::Interrupted | TurnEnd::Failed { .. }, _) => Hold::UntilMail,
            (TurnEnd::Done | TurnEnd::Stopped { .. }, Begun::Words) => Hold::No,
            (TurnEnd::Done | TurnEnd::Stopped { .. }, Begun::Compaction) => self,
        }
    }
}

struct Life {
    shared: Arc<Shared>,
    outfit: Outfit,
    member: Member,
    idle: Idle,
    hold: Hold,
    /// The number of claims in a row that failed because the board could not be written.
    failed_claims: u32,
    /// The task with which it was reported as stuck since its last turn, so that this is reported only once.
    stuck_with: Option<TaskId>,
}

impl Life {
    /// Builds a member and registers it with the crew.
    fn new(shared: &Arc<Shared>, member: Member, team: &Team) -> Life {
        let mates: Vec<String> = team
            .present()
            .filter(|m| !m.name.same(&member.name))
            .map(|m| format!("{} ({})", m.name, m.role))
            .collect();
        let system = |place: &prompt::Place| {
            prompt::mate(&member.name, &member.role, &team.team_name, &mates, place)
        };
        let outfit = shared.outfit(Order {
            name: member.name.clone(),
            caller: Caller::Teammate,
            limits: Limits {
                rounds: Some(ROUNDS_MAX),
                ..Limits::default()
            },
            identity: prompt::identity(&member.name, &member.role, &team.team_name),
            model: member.model.clone(),
            gate: match member.plan {
                PlanRule::Free => PlanGate::Open,
                PlanRule::Required => PlanGate::Closed,
            },
            tags: member.tags.clone(),
            system: &system,
        });
        shared.enroll(member.name.clone(), outfit.handle.clone());
        // Counts as working until its first check for work, so that the crew is not idle before that.
        shared.set_standing(&outfit.handle, Standing::Working);
        Life {
            shared: Arc::clone(shared),
            idle: Idle::new(shared.idle_timeout),
            outfit,
            member,
            hold: Hold::No,
            failed_claims: 0,
            stuck_with: None,
        }
    }

    async fn live(mut self, first: Option<Input>) {
        let force = self.outfit.handle.force.clone();
        let farewell = tokio::select! {
            biased;
            () = force.cancelled() => Some(Farewell::Forced),
            left = self.work_and_rest(first) => left,
        };
        if let Some(farewell) = farewell {
            self.leave(farewell).await;
        }
    }

    /// Works and waits until the member shuts down. `None` if the crew stops.
    async fn work_and_rest(&mut self, first: Option<Input>) -> Option<Farewell> {
        let mut changes = self.shared.changes.subscribe();
        let mut say = first;
        loop {
            if let Some(start) = say.take() {
                self.work(start).await?;
            }
            changes.mark_unchanged();
            let sight = self.look().await;
            match self.idle.next(sight) {
                Next::Read => {
                    self.hold = Hold::No;
                    if !self.take_orders().await {
                        say = Some(Input::Say(Vec::new()));
                    }
                }
                Next::Resume(task) => say = Some(Input::Say(self.resume(task))),
                Next::Claim(task) => match self.claim(task).await {
                    Claim::Work(words) => say = Some(Input::Say(words)),
                    Claim::LookAgain => {}
                    Claim::Wait => {
                        let again = self.shared.ran() + CLAIM_AGAIN;
                        say = self.rest(&mut changes, Some(again)).await?;
                    }
                },
                Next::Stuck(task) => {
                    if self.stuck_with.replace(task) != Some(task) {
                        let why = format!("ended its turn twice with task {task} still open");
                        self.stuck(&why).await;
                    }
                    say = self.rest(&mut changes, None).await?;
                }
                Next::Rest(until) => say = self.rest(&mut changes, until).await?,
                Next::Leave(Why::Asked) => return Some(Farewell::Asked),
                Next::Leave(Why::Rested) => return Some(Farewell::Rested),
            }
        }
    }

    /// Runs one turn. `None` if the crew stops.
    async fn work(&mut self, start: Input) -> Option<()> {
        self.stuck_with = None;
        self.shared
            .set_standing(&self.outfit.handle, Standing::Working);
        self.set_status(MemberStatus::Working).await;
        self.settle().await;
        let begun = Begun::by(&start);
        let end = work(&self.shared, &mut self.outfit, start).await?;
        self.has_begun().await;
        self.hold = self.hold.after(begun, &end);
        // Its task was taken: a message tells it so, and it continues with other work instead of pausing.
        if end == TurnEnd::Interrupted && self.outfit.handle.desk.take_lifted().is_some() {
            self.hold = Hold::No;
        }
        match end {
            TurnEnd::Done | TurnEnd::Interrupted => {}
            TurnEnd::Stopped { why } => {
                self.tell_lead(format!("{} stopped: {why}", self.member.name));
                // Any further work would reach the same budget limit.
                if self.shared.spending.is_over(&self.member.name) {
                    self.hold = Hold::UntilMail;
                }
            }
            TurnEnd::Failed { error, .. } => {
                // The turn has already retried as often as useful; another teammate may succeed.
                self.give_back().await;
                self.tell_lead(format!("{} cannot continue: {error}", self.member.name));
            }
        }
        self.answer_to_go();
        Some(())
    }

    /// Waits for input, a change on disk or the time `until`. Outer `None`: the crew stops; inner `None`: check for work.
    #[allow(clippy::option_option)] // three outcomes: stop, check again, input
    async fn rest(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<u64>,
        until: Option<Duration>,
    ) -> Option<Option<Input>> {
        self.set_status(MemberStatus::Idle).await;
        let standing = match self.hold {
            Hold::No if self.failed_claims < CLAIMS_MAX => Standing::Resting,
            Hold::No | Hold::UntilMail => Standing::Held,
        };
        self.shared.set_standing(&self.outfit.handle, standing);
        let deadline = async {
            match until {
                Some(at) => tokio::time::sleep(at.saturating_sub(self.shared.ran())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.shared.stop.cancelled() => None,
            control = self.outfit.control.recv() => match control {
                Some(Control::Say(blocks)) => Some(Some(Input::Say(blocks))),
                Some(Control::Compact(focus)) => Some(Some(Input::Compact { focus })),
                Some(Control::Interrupt) => {
                    // The interrupt arrived after the end of the turn.
                    self.outfit.handle.desk.take_lifted();
                    Some(None)
                }
                None => None,
            },
            changed = changes.changed() => changed.ok().map(|()| None),
            () = deadline => Some(None),
        }
    }

    /// Removes the first prompt from the roster after the first turn, since the conversation contains it.
    async fn has_begun(&mut self) {
        if self.member.first.is_empty() {
            return;
        }
        let (roster, name) = (self.shared.roster.clone(), self.member.name.clone());
        // If this fails, a resume finds the prompt in the conversation.
        if blocking(move || roster.has_begun(&name)).await.is_ok() {
            self.member.first.clear();
        }
    }

    async fn set_status(&mut self, status: MemberStatus) {
        if self.member.status == status {
            return;
        }
        self.member.status = status;
        let (roster, name, now) = (
            self.shared.roster.clone(),
            self.member.name.clone(),
            self.shared.now(),
        );
        if let Err(error) = blocking(move || roster.set_status(&name, status, now)).await {
            self.outfit
                .driver
                .trouble("The roster cannot be written", &error)
                .await;
        }
        self.shared.read_team().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_teammate_stays_paused_after_compaction() {
        let say = Begun::by(&Input::Say(vec![]));
        let focus = String::new();
        let compact = Begun::by(&Input::Compact { focus });
        let held = Hold::No.after(say, &TurnEnd::Interrupted);
        assert_eq!(held, Hold::UntilMail);
        assert_eq!(held.after(compact, &TurnEnd::Done), Hold::UntilMail);
        assert_eq!(held.after(say, &TurnEnd::Done), Hold::No);
        assert_eq!(Hold::No.after(compact, &TurnEnd::Done), Hold::No);
    }
}
