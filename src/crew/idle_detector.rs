//! The idle detector. When the whole crew is idle, it wakes the lead if there is news or an undecided request.
//! Otherwise it publishes an event that lets a headless run end.

use std::sync::Arc;

use super::board_view::BoardView;
use super::branch_status::BranchStatus;
use super::context::CrewContext;
use super::hosts::CrewHosts;
use super::jobs::JobRunner;
use super::lead_inbox::LeadInbox;
use super::message_delivery::MessageDelivery;
use super::progress::{TeamProgress, progress};
use super::registry::{AgentHandle, AgentRegistry, AgentState};
use super::request_broker::RequestBroker;
use super::request_reminders::RequestReminders;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::protocol::event::{CrewEvent, EventKind};
use crate::store::TaskSet;

/// Detects that the whole crew is idle: no agent and no background job works, no message or task on disk is work for an
/// idle agent, and no request waits for the user.
pub struct IdleDetector {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub registry: Arc<AgentRegistry>,
    pub delivery: Arc<MessageDelivery>,
    pub lead: Arc<LeadInbox>,
    pub jobs: Arc<JobRunner>,
    pub broker: Arc<RequestBroker>,
    pub reminders: RequestReminders,
    pub board: Arc<BoardView>,
    pub branches: Arc<BranchStatus>,
    /// The other hosts of the crew; `None` if the crew is on this machine only.
    pub hosts: Option<Arc<CrewHosts>>,
}

/// The state on disk that was read when the crew was found to be idle.
struct IdleCrew {
    graph: Arc<TaskGraph>,
    /// The pending requests, none of which waits for the user.
    pending: Vec<Request>,
}

impl IdleDetector {
    /// Checks after every change whether the crew is idle, until the crew stops. Reports an idle crew once, and again
    /// only after an agent has worked. Reports nothing before the first agent has worked.
    pub async fn run(self) {
        let mut activity = self.signals.subscribe_activity();
        // The first check is made at once, because something may have changed before the subscription.
        activity.mark_changed();
        let mut reported_at = None;
        loop {
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                changed = activity.changed() => if changed.is_err() { return },
            }
            let starts = self.registry.work_starts();
            if starts == 0 || reported_at == Some(starts) {
                continue;
            }
            let Some(IdleCrew { graph, pending }) = self.check().await else {
                continue;
            };
            // If an agent has started to work while the files were read, the result of the check is outdated.
            if self.registry.work_starts() != starts || !self.seems_idle() {
                continue;
            }
            reported_at = Some(starts);
            if !pending.is_empty() {
                if self.reminders.remind(&pending).await {
                    continue;
                }
            } else if self.lead.take_news() && self.wake_lead(&graph).await {
                continue;
            }
            self.context
                .publish(EventKind::Crew(CrewEvent::AllIdle))
                .await;
        }
    }

    /// Returns whether the crew is idle according to the state in memory. Reads no files.
    fn seems_idle(&self) -> bool {
        !self.lead.has_input()
            && !self.signals.is_busy()
            && !self.jobs.is_running(None)
            && self
                .registry
                .all()
                .iter()
                .all(|(name, handle)| self.agent_seems_idle(name, handle))
    }

    /// Returns whether an agent counts as idle: it is not in a turn, or it is a teammate whose turn does nothing but
    /// wait for decisions.
    fn agent_seems_idle(&self, name: &Name, handle: &AgentHandle) -> bool {
        !handle.is_working() || (!name.is_lead() && self.broker.only_waits(name))
    }

    /// Returns the board and the pending requests if the crew is idle, as `IdleDetector` defines it. Otherwise returns
    /// `None`. If the board cannot be read, assumes that it contains no work, and returns the board as last published.
    async fn check(&self) -> Option<IdleCrew> {
        if !self.seems_idle() {
            return None;
        }
        let pending = self.broker.pending_without_user().await?;
        let agents = self.registry.all();
        for (name, handle) in agents.iter().filter(|(_, h)| !h.is_working()) {
            // Unchecked messages first: a message whose hooks end between the two looks is deliverable in the second.
            if handle.mailbox.has_job_results()
                || self.delivery.next_unchecked(name).await.is_some()
                || self.delivery.has_mail(name).await
            {
                return None;
            }
        }
        if let Some(hosts) = &self.hosts
            && hosts.have_work(&pending).await
        {
            return None;
        }
        let (board, idle) = (self.board.store().clone(), claimers(&agents));
        let can_claim = run_blocking(move || board.query(|graph| may_claim(graph, &idle))).await;
        if can_claim.unwrap_or_default() {
            // An agent can claim a task, so the crew is not idle. This is checked first because it is cheaper than
            // reading the whole board.
            return None;
        }
        // Reading the board publishes the last changes of the agents before the crew counts as idle.
        let Some(graph) = self.board.read(TaskSet::All).await else {
            // While the board cannot be read, no agent can claim a task. The crew counts as idle, since it would
            // otherwise wait forever.
            let graph = self.board.graph();
            return Some(IdleCrew { graph, pending });
        };
        (!may_claim(&graph, &claimers(&agents))).then_some(IdleCrew { graph, pending })
    }

    /// Wakes the lead with a text about the progress of the team. Returns false if the lead is not running or its queue
    /// is full.
    async fn wake_lead(&self, graph: &TaskGraph) -> bool {
        let unmerged = self.branches.unmerged_branches().await;
        let unmerged = if unmerged.is_empty() {
            String::new()
        } else {
            format!(
                " Not merged yet: {}. Merge a branch with merge_worktree.",
                unmerged.join(", ")
            )
        };
        let text = match progress(graph) {
            TeamProgress::Done(text) => format!("<crew>{text}{unmerged}</crew>"),
            TeamProgress::Open(text) => format!(
                "<crew>{text}. Check the board (task_list) and decide how to continue.</crew>"
            ),
        };
        self.lead.wake(text)
    }
}

/// Returns the teammates that are idle and would claim a ready task.
fn claimers(agents: &[(Name, AgentHandle)]) -> Vec<Claimer> {
    let is_idle = |(name, handle): &&(Name, AgentHandle)| {
        !name.is_lead() && handle.state() == AgentState::Idle
    };
    let claimer = |(name, handle): &(Name, AgentHandle)| Claimer {
        name: name.clone(),
        tags: handle.tags.clone(),
    };
    agents.iter().filter(is_idle).map(claimer).collect()
}

fn may_claim(graph: &TaskGraph, claimers: &[Claimer]) -> bool {
    let may = |claimer| graph.auto_claimable(claimer).is_some();
    claimers.iter().any(may)
}
