//! The tasks of a teammate: checks whether there is work, claims tasks and sets up their worktrees.

use std::time::Duration;

use super::super::registry::AgentState;
use super::super::worktrees::is_exchange_failure;
use super::{CLAIM_AGAIN, TeammateLoop};
use crate::agent::driver::run_blocking;
use crate::agent::idle::Situation;
use crate::agent::prompt;
use crate::agent::turn::TurnInput;
use crate::domain::chat::{Block, Message};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::team::{Activity, MemberStatus};
use crate::protocol::event::AgentEvent;
use crate::store::{StoreError, TaskSet};
use crate::tools::claim_task;

/// Maximum number of times that the pause before the next fetch doubles: about a minute.
const DOUBLINGS_MAX: u32 = 5;

/// The result of a teammate's attempt to claim a task.
pub(super) enum Claim {
    /// The task is claimed. The next turn starts with this input.
    Work(Vec<Block>),
    /// The task was not claimed, or its worktree could not be created. The teammate checks for other work.
    CheckAgain,
    /// The board cannot be written, or the work on which the task builds cannot be fetched. The teammate tries again at this
    /// time after the start of the crew.
    Wait(Duration),
}

impl TeammateLoop {
    pub(super) async fn check_situation(&mut self) -> Situation {
        let name = self.member.name.clone();
        let heard = self.agent.handle.mailbox.has_job_results();
        let has_mail = heard || self.crew.delivery.has_mail(&name).await;
        let board = self.crew.board.store().clone();
        let claimer = self.claimer();
        // The cached board is sufficient, because each later change causes another check.
        let seen = run_blocking(move || {
            board.query(|graph| {
                let own = graph.open_task_of(&claimer.name).map(|t| t.id);
                (own, graph.auto_claimable(&claimer).map(|t| t.id))
            })
        });
        let (own, claimable) = match seen.await {
            Ok(seen) => seen,
            Err(error) => {
                self.agent
                    .driver
                    .report_file_error("The board cannot be read", &error)
                    .await;
                (None, None)
            }
        };
        // A teammate waits for a result instead of resuming its task.
        let awaits = self.awaits_result();
        let is_draining = self.crew.is_draining();
        Situation {
            has_mail,
            own: own.filter(|_| !self.is_paused && !awaits),
            claimable: claimable.filter(|_| !self.is_paused && !is_draining),
            pauses_idle_timeout: awaits || self.crew.broker.has_own_pending(),
            now: self.crew.context.uptime(),
        }
    }

    /// Returns whether the teammate has a running background job, or a request or checks whose result arrives as a message.
    pub(super) fn awaits_result(&self) -> bool {
        let (crew, name) = (&self.crew, &self.member.name);
        crew.jobs.is_running(Some(name))
            || crew.broker.has_left_open(name)
            || crew.checks.owes_result(name)
    }

    pub(super) fn claimer(&self) -> Claimer {
        Claimer {
            name: self.member.name.clone(),
            tags: self.member.tags.clone(),
        }
    }

    /// Marks the messages in the inbox as read, without a model call, and returns true. Does so only if they are all
    /// shutdown requests and one of these was approved. Otherwise returns false, and the messages stay unread.
    pub(super) async fn take_shutdown_requests(&mut self) -> bool {
        // Set before the messages are read, because afterwards they no longer keep the crew from counting as idle.
        self.set_state(AgentState::Working);
        if self.agent.driver.take_shutdown().await {
            self.idle.approve_shutdown();
            return true;
        }
        false
    }

    /// Returns the input of a turn that continues the teammate's open task. Returns `None` if the task needs a worktree that
    /// cannot be created: it is released then.
    pub(super) async fn resume(&mut self, task: TaskId) -> Option<Vec<Block>> {
        let graph = self.crew.board.graph();
        let subject = graph
            .get(task)
            .map(|t| t.subject.clone())
            .unwrap_or_default();
        let mut blocks = vec![Block::text(prompt::open_task_reminder(task.0, &subject))];
        if self.lacks_workspace().await {
            blocks.push(self.find_workspace(&[]).await?);
        }
        Some(blocks)
    }

    /// Returns whether the teammate has an open task without a worktree, although it must have one.
    pub(super) async fn lacks_workspace(&self) -> bool {
        let worktrees = &self.crew.worktrees;
        worktrees.lacks_worktree(&self.member.name).await
    }

    /// Releases a task whose worktree cannot be created, and pauses the teammate, unless the remote is the reason: then its next
    /// claim waits for the remote. Without a worktree, the teammate's changes could conflict with those of other agents.
    async fn give_up_workspace(&mut self, task: &Task, error: &StoreError) {
        let what = format!("The worktree of task {} cannot be created", task.id);
        self.agent.driver.report_file_error(&what, error).await;
        self.release_task().await;
        if is_exchange_failure(error) {
            return;
        }
        self.is_paused = true;
        let why = format!("{what}: {error}");
        self.crew.lead.report(why.clone());
        self.agent.driver.activity(Activity::Failed { why }).await;
    }

    /// Restores the worktree of the open task of a resumed member. This is necessary if crewdeck ended after the member
    /// had claimed the task and before the member's conversation mentioned it. Returns the text about the task to add to the
    /// conversation; `None` if there is nothing to restore. If the worktree cannot be created, releases the task and returns
    /// `None`. Does not wait for the setup: the next turn does.
    pub(super) async fn find_workspace(&mut self, conversation: &[Message]) -> Option<Block> {
        let own = self.crew.worktrees.open_task_of(&self.member.name).await?;
        let task = self.crew.worktrees.recover(own).await;
        let knows = |words: &str| {
            let mut blocks = conversation.iter().flat_map(|m| &m.blocks);
            blocks.any(|block| match block {
                Block::Text { text } | Block::ToolResult { content: text, .. } => {
                    text.contains(words)
                }
                Block::Image(_)
                | Block::Thinking { .. }
                | Block::ProviderItem(_)
                | Block::ToolCall(_) => false,
            })
        };
        let is_informed = knows(&prompt::claimed_prefix(task.id.0));
        let is_its_own = knows(&claim_task::result_line(task.id, &self.member.name));
        let worktrees = &self.crew.worktrees;
        if (is_its_own || is_informed) && worktrees.dir_of(&task).is_some() {
            return None;
        }
        match self
            .crew
            .worktrees
            .find_or_create(
                &task,
                &self.member.name,
                Some(&*self.agent.driver.tool_runner.host),
            )
            .await
        {
            Ok(workspace) => {
                let text = prompt::claimed_task(task.id.0, &task.subject, &task.description);
                workspace.map(|workspace| Block::text(text + &workspace.text))
            }
            Err(error) => {
                self.give_up_workspace(&task, &error).await;
                None
            }
        }
    }

    /// Sets the agent's work directory to the worktree of its open task. Without such a worktree, sets it to the
    /// project directory.
    pub(super) async fn enter_workspace(&mut self) {
        let worktrees = &self.crew.worktrees;
        let own = worktrees.open_task_of(&self.member.name).await;
        let dir = own.and_then(|task| worktrees.dir_of(&task));
        self.agent.driver.tool_runner.workdir =
            dir.unwrap_or_else(|| self.crew.context.root.clone());
    }

    /// Waits until the worktree in which the teammate works is prepared, unless its claim has just done so. Returns the input
    /// for the turn with a text about what was done. If the setup is interrupted, the turn begins and is interrupted too.
    pub(super) async fn await_setup(&mut self, start: TurnInput) -> TurnInput {
        let is_prepared = std::mem::take(&mut self.is_prepared);
        let TurnInput::Say(mut blocks) = start else {
            // The turn runs no tools.
            return start;
        };
        if !is_prepared {
            let dir = &self.agent.driver.tool_runner.workdir;
            let worktrees = &self.crew.worktrees;
            let text = worktrees.resume_setup(dir, &self.member.name).await;
            if !text.is_empty() {
                blocks.push(Block::text(text));
            }
        }
        TurnInput::Say(blocks)
    }

    /// Fetches what the task builds on, and claims the task.
    pub(super) async fn claim(&mut self, task: TaskId) -> Claim {
        if let Some((_, again)) = self.fetch_again.filter(|(id, again)| {
            // Each change of the board comes here, and must not contact the remote.
            *id == task && self.crew.context.uptime() < *again
        }) {
            return Claim::Wait(again);
        }
        // The teammate counts as working from here on, so that the crew is not idle while the worktree is created.
        if self.failed_claims == 0 {
            self.set_state(AgentState::Working);
        }
        match self.crew.worktrees.fetch_before_claim(task).await {
            Ok(()) => self.fetch_again = None,
            // The task has changed.
            Err(StoreError::Graph(_) | StoreError::Unreadable(..)) => {
                self.failed_claims = 0;
                return Claim::CheckAgain;
            }
            // The error was reported.
            Err(_) => {
                self.failed_claims += 1;
                let doublings = self.failed_claims.min(DOUBLINGS_MAX);
                let again = self.crew.context.uptime() + CLAIM_AGAIN * 2_u32.pow(doublings);
                self.fetch_again = Some((task, again));
                return Claim::Wait(again);
            }
        }
        let (board, claimer, now) = (
            self.crew.board.store().clone(),
            self.claimer(),
            self.crew.context.now(),
        );
        let claimed = match run_blocking(move || board.claim(Some(task), &claimer, now)).await {
            Ok(Some(claimed)) => claimed,
            // Another agent has claimed the task first, or the task has changed.
            Ok(None) | Err(StoreError::Graph(_) | StoreError::Unreadable(..)) => {
                self.failed_claims = 0;
                self.crew.worktrees.forget_fetched(task);
                return Claim::CheckAgain;
            }
            Err(error) => {
                self.failed_claims += 1;
                self.crew.worktrees.forget_fetched(task);
                let what = format!("Task {task} cannot be claimed; retrying");
                self.agent.driver.report_file_error(&what, &error).await;
                return Claim::Wait(self.crew.context.uptime() + CLAIM_AGAIN);
            }
        };
        self.failed_claims = 0;
        self.set_state(AgentState::Working);
        if self.crew.context.host.is_some() {
            // The worktree and its setup may take long, and the other hosts only see the team.
            self.set_status(MemberStatus::Working, false).await;
        }
        let which = TaskSet::These([task].into());
        self.crew.board.read(which).await;
        let agent = self.member.name.clone();
        let what = format!("claimed task {}: {}", claimed.id, claimed.subject);
        self.agent
            .driver
            .publish(
                AgentEvent::ContextAdded {
                    what,
                    text: claimed.description.clone(),
                }
                .of(agent),
            )
            .await;
        let mut text = prompt::claimed_task(claimed.id.0, &claimed.subject, &claimed.description);
        match self
            .crew
            .worktrees
            .workspace_for(
                &claimed,
                &self.member.name,
                Some(&*self.agent.driver.tool_runner.host),
            )
            .await
        {
            Ok(Some(workspace)) => {
                self.is_prepared = true;
                self.agent.driver.tool_runner.workdir = workspace.dir;
                text.push_str(&workspace.text);
            }
            Ok(None) => {}
            Err(error) => {
                self.give_up_workspace(&claimed, &error).await;
                return Claim::CheckAgain;
            }
        }
        Claim::Work(vec![Block::text(text)])
    }
}
