//! The components of a crew that are created first, and those that respond to changes of the board.

use std::sync::{Arc, Weak};

use super::board_followup::BoardFollowup;
use super::board_view::{BoardObserver, BoardView};
use super::branch_exchange::CrewExchange;
use super::branch_status::BranchStatus;
use super::context::CrewContext;
use super::file_errors::FileErrors;
use super::lead_inbox::{LeadInbox, RemoteLead};
use super::merge_service::MergeService;
use super::message_delivery::MessageDelivery;
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use super::team::TeamRoster;
use super::worktrees::TaskWorktrees;
use crate::checks::TaskChecks;
use crate::domain::graph::TaskGraph;
use crate::domain::worktree::MergePolicy;
use crate::store::{Board, Mailbox, PromptQueue, Requests, Stores, WorktreeCommands, Worktrees};

/// The components that are created first, because they use no components outside of this group.
pub struct BaseComponents {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub errors: Arc<FileErrors>,
    pub registry: Arc<AgentRegistry>,
    pub lead: Arc<LeadInbox>,
    pub delivery: Arc<MessageDelivery>,
    pub team: Arc<TeamRoster>,
    pub prompts: Arc<PromptQueue>,
    pub mailbox: Mailbox,
    pub requests: Requests,
    /// Exchanges branches with other hosts; `None` if the crew is on this machine only, or has no git remote.
    pub exchange: Option<Arc<CrewExchange>>,
}

impl BaseComponents {
    pub fn new(context: CrewContext, stores: Stores) -> BaseComponents {
        let context = Arc::new(context);
        let (root, redactor) = (&context.root, context.event_sender.redactor());
        let prompts = Arc::new(PromptQueue::open(root, &context.session, redactor));
        let Stores {
            mailbox,
            requests,
            roster,
            ..
        } = stores;
        let signals = Arc::new(CrewSignals::default());
        let errors = Arc::new(FileErrors::new(context.clone()));
        let registry = Arc::new(AgentRegistry::new(signals.clone()));
        let remote = context.is_worker().then(|| RemoteLead {
            context: context.clone(),
            mailbox: mailbox.clone(),
        });
        let lead = LeadInbox::new(registry.clone(), prompts.clone()).with_remote(remote);
        let delivery = MessageDelivery::new(
            context.clone(),
            signals.clone(),
            registry.clone(),
            mailbox.clone(),
        );
        let exchange = context.host.as_ref().and_then(|host| host.exchange.clone());
        let exchange = exchange.map(|e| Arc::new(CrewExchange::new(context.clone(), e)));
        let team = TeamRoster::new(context.clone(), errors.clone(), roster);
        BaseComponents {
            lead: Arc::new(lead),
            delivery: Arc::new(delivery),
            team: Arc::new(team),
            context,
            signals,
            errors,
            registry,
            prompts,
            mailbox,
            requests,
            exchange,
        }
    }

    /// Creates the board view and the components that respond to changes of the board. The board view and
    /// [`BoardFollowup`] refer to each other: the board view reports changes to [`BoardFollowup`], which reads the
    /// board view.
    pub fn board(
        &self,
        board: Board,
        published: TaskGraph,
        worktrees: Option<&Worktrees>,
        policy: MergePolicy,
        checks: &Arc<TaskChecks>,
        commands: WorktreeCommands,
    ) -> Arc<BoardFollowup> {
        Arc::new_cyclic(|followup: &Weak<BoardFollowup>| {
            let observer: Weak<dyn BoardObserver> = followup.clone();
            let board = Arc::new(BoardView::new(
                self.context.clone(),
                self.errors.clone(),
                self.signals.clone(),
                board,
                published,
                observer,
            ));
            let branches = BranchStatus::new(
                self.context.clone(),
                self.errors.clone(),
                board.clone(),
                worktrees.cloned(),
            );
            let merges = MergeService::new(
                self.context.clone(),
                board.clone(),
                Arc::new(branches),
                self.lead.clone(),
                worktrees.cloned(),
                policy,
                Some(checks.clone()),
            )
            .with_exchange(self.exchange.clone());
            let worktrees = TaskWorktrees::new(
                self.context.clone(),
                self.registry.clone(),
                board.clone(),
                worktrees.map(|store| (store.clone(), commands)),
                self.exchange.clone(),
            );
            BoardFollowup::new(
                self.context.clone(),
                self.signals.clone(),
                self.registry.clone(),
                self.lead.clone(),
                board,
                Arc::new(worktrees),
                Arc::new(merges),
                self.exchange.clone(),
            )
        })
    }
}
