//! Starts a crew, queues its commands, and stops it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::assembly::{Components, StartChecks, assemble};
use super::budget::TeamBudget;
use super::command_loop::{self, COMMANDS_MAX};
use super::context::CrewContext;
use super::first_board::{PublishedBoard, publish_session};
use super::hook_session;
use super::host_facts::HostFacts;
use super::lead::LeadAgent;
use super::parts::CrewParts;
use super::recovery::Recovery;
use super::start;
use super::teammate::{RestoredTeammate, Teammates};
use crate::domain::conversation::TurnState;
use crate::domain::hook::SessionEndReason;
use crate::domain::ids::Name;
use crate::domain::team::Member;
use crate::domain::team_preset::TeamPreset;
use crate::protocol::SentCommand;
use crate::store::StoreError;

/// Maximum time for which a stopping crew waits for its agents to end.
const STOP_WITHIN: Duration = Duration::from_secs(3);
/// Maximum time for which a crew waits for its agents to end if this process continues.
const ABANDON_WITHIN: Duration = Duration::from_mins(1);
/// Interval at which is checked whether this host has lost its session on the hub.
const LOST_CHECK: Duration = Duration::from_millis(500);

/// A running crew, which accepts commands until it is stopped.
pub struct Crew {
    context: Arc<CrewContext>,
    recovery: Arc<Recovery>,
    budget: Arc<TeamBudget>,
    teammates: Arc<Teammates>,
    commands: mpsc::Sender<SentCommand>,
    /// What this host reports about itself; `None` if the crew is on this machine only.
    host_facts: Option<HostFacts>,
    resumed: TurnState,
}

impl Crew {
    /// Starts a crew. First cleans up after an earlier crew: marks its members as gone, puts their tasks back on the
    /// board, and withdraws their pending requests. The members of a resumed session are exempt: they keep their tasks
    /// and requests and continue.
    ///
    /// # Errors
    /// Fails if the state folders cannot be read or written.
    pub async fn start(mut parts: CrewParts) -> Result<Crew, StoreError> {
        let PublishedBoard { board, graph } = match parts.session.published.take() {
            Some(published) => published,
            None => {
                let stores = &parts.shared.stores;
                publish_session(stores, &parts.session.info, &parts.event_sender).await
            }
        };
        // Git starts after the board is published, which its processes would delay.
        let git_check = start::start_git_check(&parts);
        let environment = start::start_environment(&parts);
        let checked = start::finish_git_check(git_check).await;
        let environment = start::environment(environment).await;
        let resumes = parts.resumes;
        let found = StartChecks {
            board,
            graph,
            worktrees: checked.worktrees,
            environment,
        };
        // Both are large, and the future of a caller would contain them.
        let components = Box::new(assemble(parts, found));
        let context = Arc::clone(&components.context);
        for (level, text) in checked.notices {
            context.notice(level, text).await;
        }
        Box::pin(launch(*components, resumes)).await
    }

    /// Returns [`TurnState::Open`] if the crew has anything to continue without input: an unfinished turn, task,
    /// message or decision of the resumed session. Otherwise returns [`TurnState::Ended`].
    pub fn resumed_state(&self) -> TurnState {
        self.resumed
    }

    /// Queues a command without waiting. If the crew later rejects the command, it publishes an event with the reason.
    ///
    /// # Errors
    /// Returns the command if the queue is full or the crew has stopped.
    pub fn submit(&self, command: SentCommand) -> Result<(), SentCommand> {
        let sent = self.commands.try_send(command);
        sent.map_err(mpsc::error::TrySendError::into_inner)
    }

    /// Makes the teammates claim no more tasks.
    pub fn drain(&self) {
        self.teammates.drain();
        if let Some(facts) = &self.host_facts {
            facts.set_draining();
        }
    }

    /// Returns what the teammates of this process have not finished, as text for the user; `None` if nothing is left.
    pub async fn unfinished_work(&self) -> Option<String> {
        self.teammates.unfinished_work().await
    }

    /// Returns whether a teammate runs in this process.
    pub fn has_teammates(&self) -> bool {
        let agents = self.teammates.registry.all();
        agents.iter().any(|(name, _)| !name.is_lead())
    }

    /// Waits until this host has lost its session on the hub, so that its agents may no longer act for the crew. Waits
    /// forever if the crew is on this machine only.
    pub async fn lost(&self) {
        if self.context.host.is_none() {
            std::future::pending::<()>().await;
        }
        while self.context.may_act() {
            tokio::time::sleep(LOST_CHECK).await;
        }
    }

    /// Returns why the hub cannot be reached; `None` if it can be, or if the crew is on this machine only.
    pub fn hub_outage(&self) -> Option<String> {
        self.context.host.as_ref()?.store.outage()
    }

    /// Stops all agents and their programs without a change of the shared state, because this host has lost its session on
    /// the hub. Returns whether all have ended within `ABANDON_WITHIN`.
    pub async fn abandon(self) -> bool {
        self.context.stop.cancel();
        self.context.tracker.close();
        let ended = tokio::time::timeout(ABANDON_WITHIN, self.context.tracker.wait()).await;
        let _ = tokio::time::timeout(STOP_WITHIN, self.budget.save()).await;
        ended.is_ok()
    }

    /// Ends the session of this host, if the crew is on a hub. If the hub does not answer, the lease of the host expires.
    async fn leave(&self) {
        if let Some(host) = &self.context.host {
            let session = Arc::clone(&host.session);
            let left = tokio::task::spawn_blocking(move || session.leave());
            let _ = left.await;
        }
    }

    /// Stops the crew as [`Crew::stop_because`] does, with the reason `Other`.
    ///
    /// # Errors
    /// Fails if the state folders cannot be read or written.
    pub async fn stop(self) -> Result<Vec<String>, StoreError> {
        self.stop_because(SessionEndReason::Other).await
    }

    /// Stops all agents and their programs, marks the members as gone and puts their tasks back on the board. Members
    /// with a request that the lead left undecided are exempt: they continue in the next run of the session. Waits at
    /// most `STOP_WITHIN` for the agents. Runs the hooks of the session's end with `reason`, and returns their
    /// problems as texts for the user. A host that has lost its session on the hub changes nothing of the shared state.
    ///
    /// # Errors
    /// Fails if the state folders cannot be read or written.
    pub async fn stop_because(self, reason: SessionEndReason) -> Result<Vec<String>, StoreError> {
        self.context.stop.cancel();
        self.context.tracker.close();
        // Agents end by cancellation. An agent that has not ended within `STOP_WITHIN` ends with the process.
        let agents = tokio::time::timeout(STOP_WITHIN, self.context.tracker.wait());
        let problems = match &self.context.hooks {
            // Agents and hooks end at the same time, so that the exit takes only as long as the slower of the two.
            Some(hooks) => tokio::join!(agents, hooks.end(reason)).1,
            None => {
                let _ = agents.await;
                Vec::new()
            }
        };
        let _ = tokio::time::timeout(STOP_WITHIN, self.budget.save()).await;
        if !self.context.may_act() {
            return Ok(problems);
        }
        let closed = self.recovery.close().await;
        self.leave().await;
        closed?;
        Ok(problems)
    }
}

/// Restores the agents of a resumed session, and starts the components that run in the background.
#[allow(clippy::too_many_lines)] // steps in an order that matters
async fn launch(components: Components, resumes: bool) -> Result<Crew, StoreError> {
    let Components {
        context,
        signals,
        registry,
        lead,
        preset,
        builder,
        teammates,
        host,
        skills,
        servers,
        checks,
        budget,
        watcher,
        recovery,
        idle_detector,
        inbox_prompts,
        hosts,
        commands,
    } = components;
    budget.publish_limits().await;
    let (back, team) = recovery.recover(resumes).await?;
    if let Some(choice) = team.lead_models.get(&context.session)
        && resumes
        && !commands.models.restore_lead(choice).await
    {
        // The next run uses the model of this start.
        recovery.team.set_lead_model(None).await?;
    }
    budget.warn_without_effect().await;
    commands.models.warn_about_uses().await;
    skills.read().await;
    if let Some(servers) = servers {
        servers.start_always().await;
    }
    let (inbox, delivery) = (Arc::clone(&lead.inbox), Arc::clone(&lead.delivery));
    let model = commands.models.current().name;
    let mode = preset.as_ref().map(|p| p.lead).unwrap_or_default();
    // The lead of a worker's crew runs on another host.
    let is_worker = context.is_worker();
    let lead = if is_worker {
        None
    } else {
        let host = Arc::clone(&host);
        Some(LeadAgent::prepare(lead, &builder, host, resumes, mode).await?)
    };
    if let Some(handle) = registry.find(&Name::lead()) {
        hook_session::start(&context, handle, resumes, model);
    } else if let Some(hooks) = &context.hooks {
        // The hooks of the session's start run on the host of the lead.
        hooks.caller.set_started();
    }
    let mut resumed = lead.as_ref().map_or(TurnState::Ended, LeadAgent::turn);
    let mut restored: Vec<RestoredTeammate> = Vec::new();
    for member in back {
        let host = Arc::clone(&host);
        let member = teammates.restore(member, &team, host).await?;
        if member.turn == TurnState::Open {
            resumed = TurnState::Open;
        }
        restored.push(member);
    }
    let has_news = inbox.has_prompts() || inbox.has_news();
    let has_left = has_news
        || is_worker
        || delivery.has_mail(&Name::lead()).await
        || delivery.next_unchecked(&Name::lead()).await.is_some()
        || commands.broker.has_unfinished().await;
    if resumes && has_left {
        // Makes the idle detector treat the crew as having worked, so that it wakes the lead when the crew becomes
        // idle.
        registry.count_work_start();
        resumed = TurnState::Open;
    }
    checks.restart_unfinished(resumes);
    // All agents are registered before any agent starts, so that decisions made in the meantime reach them. The crew
    // counts as busy until all agents have started and the pending requests were handed to their approvers again.
    let busy = signals.busy();
    let begin = move || {
        let _busy = busy;
        if let Some(lead) = lead {
            lead.begin();
        }
        for member in restored {
            member.begin();
        }
    };
    if let Some(preset) = preset.filter(|_| !resumes || is_worker) {
        let members = missing_members(preset, &teammates);
        Arc::clone(&teammates).start_all(members, host).await;
    }
    context.spawn(watcher.run(begin));
    if let Some(hosts) = hosts {
        context.spawn(hosts.run());
    }
    context.spawn(Arc::clone(&recovery).record_alive());
    context.spawn(inbox_prompts.run());
    if !is_worker {
        context.spawn(idle_detector.run());
    }
    let (sender, inbox) = mpsc::channel(COMMANDS_MAX);
    context.spawn(command_loop::run(Arc::new(commands), inbox));
    let host = context.host.as_ref();
    let host_facts = host.map(|host| HostFacts::start(&context, host));
    Ok(Crew {
        context,
        recovery,
        budget,
        teammates,
        commands: sender,
        host_facts,
        resumed,
    })
}

/// Returns the members of a preset that do not run yet; on a worker, at most as many as it has free slots.
fn missing_members(preset: TeamPreset, teammates: &Teammates) -> Vec<(Member, String)> {
    let registry = &teammates.registry;
    let mut members = preset.members;
    members.retain(|(member, _)| registry.find(&member.name).is_none());
    if teammates.context.is_worker() {
        let running = registry.all().len();
        members.truncate(teammates.limits.agents_max.saturating_sub(running));
    }
    members
}
