//! Runs a teammate: turns and idle periods alternate, as [`Idle`] decides, until the teammate shuts down.

mod draining;
mod external;
mod hooks;
mod leaving;
mod restoring;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::agent_builder::{Agent, AgentBuilder, AgentSpec, ExternalSpec};
use super::board_view::BoardView;
use super::budget::TeamBudget;
use super::checks::CrewChecks;
use super::context::CrewContext;
use super::external_agents::ExternalAgents;
use super::jobs::JobRunner;
use super::lead_inbox::LeadInbox;
use super::message_delivery::MessageDelivery;
use super::parts::TeamLimits;
use super::registry::{AgentRegistry, AgentState};
use super::request_broker::RequestBroker;
use super::roles::AppliedRole;
use super::shutdown::Shutdowns;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::Control;
use crate::agent::idle::{Idle, IdleAction, LeaveReason};
use crate::agent::prompt;
use crate::agent::turn::{TurnInput, TurnLimits};
use crate::domain::chat::Block;
use crate::domain::ids::TaskId;
use crate::domain::role::ToolSelection;
use crate::domain::team::{Member, MemberStatus, PlanRule, Team};
use crate::protocol::event::{NoticeLevel, TurnEnd};
use crate::tools::Caller;
use crate::tools::host::Host;
use crate::tools::policy::PlanGate;
use external::{AnswerSource, ExternalLink};
use leaving::LeaveCause;
pub use restoring::RestoredTeammate;
use tasks::Claim;

/// Maximum number of model calls in one turn of a teammate whose role sets no other maximum. The same as in
/// learn-claude-code.
const ROUNDS_MAX: u32 = 50;
/// Time after which a teammate tries again to claim a task if the board could not be written, or the remote could not be
/// reached for the first time.
const CLAIM_AGAIN: Duration = Duration::from_secs(2);
/// Number of consecutive failed claims after which a teammate counts as paused, so that the crew can become idle and
/// `crewdeck run` can end. As long as the crew runs, the teammate tries to claim again.
const CLAIMS_MAX: u32 = 5;

/// Starts and restores teammates. Contains the components that teammates use.
pub struct Teammates {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub registry: Arc<AgentRegistry>,
    pub delivery: Arc<MessageDelivery>,
    pub lead: Arc<LeadInbox>,
    pub board: Arc<BoardView>,
    pub worktrees: Arc<TaskWorktrees>,
    pub jobs: Arc<JobRunner>,
    pub broker: Arc<RequestBroker>,
    pub budget: Arc<TeamBudget>,
    pub team: Arc<TeamRoster>,
    pub shutdowns: Arc<Shutdowns>,
    pub builder: Arc<AgentBuilder>,
    pub external: Arc<ExternalAgents>,
    pub checks: Arc<CrewChecks>,
    pub limits: TeamLimits,
    /// Whether the teammates claim no more tasks, because their host ends when they have finished.
    pub is_draining: AtomicBool,
}

impl Teammates {
    /// Adds a member to the roster, and starts the member in the background with its first prompt. Without a first prompt,
    /// the member waits for a message or a task.
    ///
    /// # Errors
    /// Returns the reason if the member's role cannot be used, the team has no room, the roster does not accept the
    /// member, or the roster cannot be read or written.
    pub async fn start(
        self: Arc<Self>,
        member: Member,
        first: String,
        host: Arc<dyn Host>,
    ) -> Result<(), String> {
        let role = self.builder.roles.find(&member.role).await?;
        let mut member = Member {
            role_defined: role.is_some(),
            session: self.context.session.clone(),
            first: first.clone(),
            host: self.context.member_host().to_string(),
            ..member
        };
        if let Some(AppliedRole { role, .. }) = &role
            && member.model.is_empty()
        {
            member.model.clone_from(&role.model);
        }
        member.model_named = self.builder.models.choice(member.model.clone()).named;
        member.set_color(role.as_ref().and_then(|applied| applied.role.color));
        let source = self.source_of(&member)?;
        let added = self.team.add(member.clone(), self.limits.agents_max).await;
        let team = added.map_err(|e| e.to_string())?;
        // Shutdown requests for an earlier member with the same name do not apply to this one.
        self.shutdowns.finish_all(&member.name).await;
        let mut life = TeammateLoop::new(&self, member, (role, Vec::new()), source, &team, host);
        let connected = match life.check_external().await {
            Ok(()) => life.connect_external().await,
            Err(why) => Err(why),
        };
        if let Err(why) = connected {
            life.leave(LeaveCause::Forced).await;
            return Err(why);
        }
        self.team.read().await;
        let first = (!first.is_empty()).then(|| TurnInput::Say(vec![Block::text(first)]));
        self.context.spawn(life.live(first));
        Ok(())
    }

    /// Starts the members of a team preset, each with its first prompt. Warns the user about each member that cannot be
    /// started.
    pub async fn start_all(self: Arc<Self>, members: Vec<(Member, String)>, host: Arc<dyn Host>) {
        for (member, first) in members {
            let name = member.name.clone();
            let started = Arc::clone(&self)
                .start(member, first, Arc::clone(&host))
                .await;
            if let Err(why) = started {
                let text = format!("The teammate {name} cannot be started: {why}");
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
    }
}

/// Returns whether a teammate is paused after a turn that ended with `end`. This is so if its model has failed or the
/// turn was interrupted, or if the turn only compacted or cleared the conversation and the teammate was paused before.
fn is_paused_after(was_paused: bool, is_compaction: bool, end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Interrupted | TurnEnd::Failed { .. } => true,
        TurnEnd::Done | TurnEnd::Stopped { .. } => is_compaction && was_paused,
    }
}

struct TeammateLoop {
    crew: Arc<Teammates>,
    agent: Agent,
    /// The external agent, if the teammate is one; `None` for crewdeck's own agents.
    external: Option<ExternalLink>,
    member: Member,
    idle: Idle,
    /// Whether the teammate takes up no task and only waits for input or a message. The reason is that its model has
    /// failed, it was interrupted or stopped, a budget was not raised, or its worktree could not be created.
    is_paused: bool,
    /// Whether the worktree was prepared for the next turn, or its setup was interrupted, so that the turn need not wait
    /// for it.
    is_prepared: bool,
    /// Number of consecutive claims that failed because the board could not be written, or the remote could not be reached.
    failed_claims: u32,
    /// The task whose work could not be fetched, and when to try again, since the start of the crew; `None` after a success.
    fetch_again: Option<(TaskId, Duration)>,
    /// Whether a turn has ended since the teammate was last idle.
    has_worked: bool,
    /// The task that was open when the teammate was last reported as stuck; `None` if it was not reported since its
    /// last turn started. The report about a task is not repeated before the teammate's next turn.
    stuck_with: Option<TaskId>,
}

impl TeammateLoop {
    /// Builds the agent of a member and adds it to the registry of running agents.
    fn new(
        crew: &Arc<Teammates>,
        member: Member,
        (role, tools): (Option<AppliedRole>, Vec<ToolSelection>),
        source: AnswerSource,
        team: &Team,
        host: Arc<dyn Host>,
    ) -> TeammateLoop {
        let others: Vec<String> = team
            .present()
            .filter(|m| !m.name.same(&member.name))
            .map(|m| format!("{} ({})", m.name, m.role))
            .collect();
        // A restored member whose external agent is gone has a model.
        let write = match &source {
            AnswerSource::Model(_) => prompt::teammate,
            AnswerSource::External(_) => prompt::external_teammate,
        };
        let system = |place: &prompt::PromptContext| {
            write(&member.name, &member.role, &team.team_name, &others, place)
        };
        let spec = AgentSpec {
            name: member.name.clone(),
            caller: match &source {
                AnswerSource::Model(_) => Caller::Teammate,
                AnswerSource::External(_) => Caller::ExternalTeammate,
            },
            limits: TurnLimits {
                rounds: Some(ROUNDS_MAX),
                ..TurnLimits::default()
            },
            identity: prompt::identity(&member.name, &member.role, &team.team_name),
            model: match &source {
                AnswerSource::Model(model) => Arc::clone(model),
                AnswerSource::External(_) => crew.builder.models.of_lead(),
            },
            gate: match member.plan {
                PlanRule::Free => PlanGate::Open,
                PlanRule::Required => PlanGate::Closed,
            },
            tags: member.tags.clone(),
            role,
            tools,
            roles: String::new(),
            system: &system,
        };
        let (agent, external) = match source {
            AnswerSource::Model(_) => (crew.builder.build(spec, host), None),
            AnswerSource::External(agent) => {
                let external = ExternalSpec {
                    agent,
                    memory: crew.external.memory_of(&member),
                    model: member.model.clone(),
                    idle_limit: crew.external.idle_limit(),
                };
                let (agent, external) = crew.builder.build_external(spec, host, external);
                (agent, Some(ExternalLink::new(external)))
            }
        };
        crew.registry.add(member.name.clone(), agent.handle.clone());
        // The teammate counts as working until it has checked for work the first time, so that the crew is not idle
        // before.
        crew.registry.set_state(&agent.handle, AgentState::Working);
        TeammateLoop {
            crew: Arc::clone(crew),
            idle: Idle::new(crew.limits.idle_timeout),
            agent,
            external,
            member,
            is_paused: false,
            is_prepared: false,
            failed_claims: 0,
            fetch_again: None,
            has_worked: false,
            stuck_with: None,
        }
    }

    async fn live(mut self, first: Option<TurnInput>) {
        let force = self.agent.handle.kill.clone();
        let cause = tokio::select! {
            biased;
            () = force.cancelled() => Some(LeaveCause::Forced),
            left = self.work_and_wait(first) => left,
        };
        if let Some(cause) = cause {
            self.leave(cause).await;
        }
    }

    /// Lets turns and idle periods alternate until the member shuts down. Returns why it shuts down; `None` if the crew
    /// stops.
    async fn work_and_wait(&mut self, first: Option<TurnInput>) -> Option<LeaveCause> {
        let mut changes = self.crew.signals.subscribe_files();
        let mut say = first;
        loop {
            if let Some(start) = say.take() {
                self.work(start).await?;
            }
            changes.mark_unchanged();
            let situation = self.check_situation().await;
            if self.crew.context.host.is_some() && self.crew.context.stop.is_cancelled() {
                // The crew must not wait for a hub that does not answer.
                return None;
            }
            let action = self.idle.next(situation);
            self.give_up_in_drain(action).await;
            match action {
                IdleAction::Read => {
                    self.is_paused = false;
                    if !self.take_shutdown_requests().await {
                        let mut blocks = Vec::new();
                        if self.lacks_workspace().await {
                            blocks.extend(self.find_workspace(&[]).await);
                        }
                        say = Some(TurnInput::Say(blocks));
                    }
                }
                IdleAction::Resume(task) => say = self.resume(task).await.map(TurnInput::Say),
                IdleAction::Claim(task) => match self.claim(task).await {
                    Claim::Work(words) => say = Some(TurnInput::Say(words)),
                    Claim::CheckAgain => {}
                    Claim::Wait(again) => {
                        say = self.wait(&mut changes, Some(again), false).await?;
                    }
                },
                IdleAction::Stuck(task) => {
                    if self.stuck_with.replace(task) != Some(task) {
                        let why = format!("ended its turn twice with task {task} still open");
                        self.report_stuck(&why).await;
                    }
                    say = self.wait(&mut changes, None, true).await?;
                }
                IdleAction::StayIdle(until) => {
                    say = match self.kept_by_hook().await {
                        Some(start) => Some(start),
                        None => self.wait(&mut changes, until, false).await?,
                    };
                }
                IdleAction::Leave(LeaveReason::ShutdownApproved) => return Some(LeaveCause::Asked),
                IdleAction::Leave(LeaveReason::IdleTimeout) => {
                    return Some(LeaveCause::IdleTimeout);
                }
            }
        }
    }

    /// Runs one turn, with the teammate's task workspace as the work directory, after its setup has ended. If the turn fails, releases the task. A
    /// turn that fails or is stopped is reported to the lead. Returns `None` if the crew stops, otherwise `Some(())`.
    async fn work(&mut self, start: TurnInput) -> Option<()> {
        self.stuck_with = None;
        self.set_state(AgentState::Working);
        self.set_status(MemberStatus::Working, false).await;
        self.enter_workspace().await;
        let start = self.await_setup(start).await;
        self.update_external_workdir();
        let is_compaction = matches!(start, TurnInput::Compact { .. } | TurnInput::Clear);
        let end = self.agent.run_turn(start, &self.crew.context).await?;
        self.crew.worktrees.publish_progress(&self.member.name);
        self.forget_first_prompt().await;
        self.is_paused = is_paused_after(self.is_paused, is_compaction, &end);
        // The user has taken the teammate's task, and a message to the teammate says so. The teammate continues with
        // other work instead of pausing.
        if end == TurnEnd::Interrupted && self.agent.handle.mailbox.take_revoked_task().is_some() {
            self.is_paused = false;
        }
        match end {
            TurnEnd::Done | TurnEnd::Interrupted => {}
            TurnEnd::Stopped { why } => {
                self.crew
                    .lead
                    .report(format!("{} stopped: {why}", self.member.name));
                // A used-up budget would stop any further turn too. An agent that the user has stopped must not go on by
                // itself.
                let (budget, name) = (&self.crew.budget, &self.member.name);
                if budget.is_over(name) || budget.was_stopped(name) {
                    self.is_paused = true;
                }
            }
            TurnEnd::Failed { error, .. } => {
                // The model call was already repeated as often as useful. Another teammate may succeed with the task.
                self.release_task().await;
                self.crew
                    .lead
                    .report(format!("{} cannot continue: {error}", self.member.name));
            }
        }
        self.has_worked = true;
        self.handle_shutdown_answer();
        Some(())
    }

    /// Waits for input, a change of the state files, or the time `until`, measured from the start of the crew. Without
    /// `until`, there is no time limit. `is_stuck` is whether the teammate has given up its open task. Returns:
    ///
    /// - `Some(Some(input))` if the teammate has input for its next turn
    /// - `Some(None)` if the teammate must check for work
    /// - `None` if the crew stops
    #[allow(clippy::option_option)] // three outcomes: stop, check again, input
    async fn wait(
        &mut self,
        changes: &mut tokio::sync::watch::Receiver<u64>,
        until: Option<Duration>,
        is_stuck: bool,
    ) -> Option<Option<TurnInput>> {
        let is_paused = self.is_paused || self.failed_claims >= CLAIMS_MAX;
        self.show_waiting(is_paused || is_stuck).await;
        let state = if is_paused {
            AgentState::Paused
        } else {
            AgentState::Idle
        };
        self.set_state(state);
        let deadline = async {
            match until {
                Some(at) => tokio::time::sleep(at.saturating_sub(self.crew.context.uptime())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.crew.context.stop.cancelled() => None,
            control = self.agent.control.recv() => match control {
                Some(Control::Say(blocks)) => Some(Some(TurnInput::Say(blocks))),
                Some(Control::Compact(focus)) => Some(Some(TurnInput::Compact { focus })),
                Some(Control::Clear) => Some(Some(TurnInput::Clear)),
                Some(Control::Rewind(order)) => {
                    self.agent.driver.rewind(*order).await;
                    Some(None)
                }
                Some(Control::Interrupt | Control::Abandon(_)) => {
                    // The interrupt came after the end of the turn for which it was meant.
                    self.agent.handle.mailbox.take_revoked_task();
                    Some(None)
                }
                None => None,
            },
            changed = changes.changed() => changed.ok().map(|()| None),
            () = deadline => Some(None),
        }
    }

    /// Removes the member's first prompt from the roster after a turn, since the conversation on disk then contains the
    /// prompt. Does nothing if it was removed before.
    async fn forget_first_prompt(&mut self) {
        if self.member.first.is_empty() {
            return;
        }
        // If this fails, a resumed session still finds the prompt in the conversation and does not repeat it.
        let cleared = self.crew.team.clear_first_prompt(&self.member.name).await;
        if cleared.is_ok() {
            self.member.first.clear();
        }
    }

    fn set_state(&self, state: AgentState) {
        self.crew.registry.set_state(&self.agent.handle, state);
    }

    /// Records that the teammate waits. Other hosts decide by the roster whether the crew has work, so on a hub it also says
    /// whether the teammate continues without them.
    async fn show_waiting(&mut self, is_paused: bool) {
        let is_on_hub = self.crew.context.host.is_some();
        let status = if is_on_hub && self.awaits_result() {
            MemberStatus::Working
        } else {
            MemberStatus::Idle
        };
        self.set_status(status, is_on_hub && is_paused).await;
    }

    async fn set_status(&mut self, status: MemberStatus, is_paused: bool) {
        // Another host may have marked the member as gone, because it saw this host as lost.
        let is_closed =
            self.crew.context.host.is_some() && self.crew.team.is_shut_down(&self.member.name);
        let is_same = self.member.status == status && self.member.is_paused == is_paused;
        if is_same && !is_closed {
            return;
        }
        self.member.status = status;
        self.member.is_paused = is_paused;
        let name = &self.member.name;
        let written = self.crew.team.set_state(name, status, is_paused).await;
        if let Err(error) = written {
            self.agent
                .driver
                .report_file_error("The roster cannot be written", &error)
                .await;
        }
        self.crew.team.read().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_teammate_stays_paused_after_compaction() {
        for was_paused in [false, true] {
            for is_compaction in [false, true] {
                let after = |end| is_paused_after(was_paused, is_compaction, &end);
                assert!(after(TurnEnd::Interrupted));
                assert_eq!(after(TurnEnd::Done), was_paused && is_compaction);
            }
        }
    }
}
