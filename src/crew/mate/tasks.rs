//! The tasks of a teammate: checks what there is to do, claims tasks and sets up their worktrees.

use super::super::Standing;
use super::{Hold, Life};
use crate::agent::driver::blocking;
use crate::agent::idle::{Mail, Person, Sight};
use crate::agent::prompt;
use crate::domain::chat::{Block, Message};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::team::Activity;
use crate::protocol::event::EventKind;
use crate::store::{StoreError, Which};
use crate::tools::claim_task;

/// The result of a claim.
pub(super) enum Claim {
    /// The task is claimed; this input starts the work on it.
    Work(Vec<Block>),
    /// The task is not available; check for another one.
    LookAgain,
    /// The board cannot be written; try again later.
    Wait,
}

impl Life {
    pub(super) async fn look(&mut self) -> Sight {
        let name = self.member.name.clone();
        let heard = self.outfit.handle.desk.has_results();
        let mail = if heard || self.shared.has_mail(&name).await {
            Mail::Waiting
        } else {
            Mail::None
        };
        let board = self.shared.board.clone();
        let claimer = self.claimer();
        // Uses the cached board: any later change causes another check.
        let seen = blocking(move || {
            board.ask(|graph| {
                let own = graph.open_task_of(&claimer.name).map(|t| t.id);
                (own, graph.claimable_unasked(&claimer).map(|t| t.id))
            })
        });
        let (own, claimable) = match seen.await {
            Ok(seen) => seen,
            Err(error) => {
                self.outfit
                    .driver
                    .trouble("The board cannot be read", &error)
                    .await;
                (None, None)
            }
        };
        // A teammate with a running background job waits for its result.
        let awaits = self.shared.jobs.is_running(Some(&name));
        let held = self.hold == Hold::UntilMail;
        Sight {
            mail,
            own: own.filter(|_| !held && !awaits),
            claimable: claimable.filter(|_| !held),
            person: if awaits || self.shared.has_open_request() {
                Person::Asked
            } else {
                Person::Free
            },
            now: self.shared.ran(),
        }
    }

    pub(super) fn claimer(&self) -> Claimer {
        Claimer {
            name: self.member.name.clone(),
            tags: self.member.tags.clone(),
        }
    }

    /// Handles shutdown messages without a model call. Returns true if there was nothing else to read.
    pub(super) async fn take_orders(&mut self) -> bool {
        // Marked as working first: once the messages are read, they no longer keep the crew from being idle.
        self.shared
            .set_standing(&self.outfit.handle, Standing::Working);
        if self.outfit.driver.take_shutdown().await {
            self.idle.ask_to_go();
            return true;
        }
        false
    }

    pub(super) fn resume(&self, task: TaskId) -> Vec<Block> {
        let graph = self.shared.graph();
        let subject = graph
            .get(task)
            .map(|t| t.subject.clone())
            .unwrap_or_default();
        vec![Block::text(prompt::resume(task.0, &subject))]
    }

    /// Releases a task whose worktree cannot be created: working in a shared directory could collide with other agents.
    async fn no_place(&mut self, task: &Task, error: &StoreError) {
        let what = format!("The worktree of task {} cannot be created", task.id);
        self.outfit.driver.trouble(&what, error).await;
        self.give_back().await;
        self.hold = Hold::UntilMail;
        let why = format!("{what}: {error}");
        self.tell_lead(why.clone());
        self.outfit.driver.activity(Activity::Failed { why }).await;
    }

    /// Restores the task and worktree of a resuming member if crewdeck ended after the claim and before its conversation
    /// mentioned them. Returns the text to add to the conversation.
    pub(super) async fn find_place(&mut self, conversation: &[Message]) -> Option<Block> {
        let (board, name) = (self.shared.board.clone(), self.member.name.clone());
        let own = blocking(move || board.ask(|graph| graph.open_task_of(&name).cloned())).await;
        let task = self.shared.bound(own.ok().flatten()?).await;
        let knows = |words: &str| {
            let mut blocks = conversation.iter().flat_map(|m| &m.blocks);
            blocks.any(|block| match block {
                Block::Text { text } | Block::ToolResult { content: text, .. } => {
                    text.contains(words)
                }
                Block::Thinking { .. } | Block::ToolCall(_) => false,
            })
        };
        let is_told = knows(&prompt::claimed_mark(task.id.0));
        let is_its_own = knows(&claim_task::mark(task.id, &self.member.name));
        if (is_its_own || is_told) && self.shared.dir_of(&task).is_some() {
            return None;
        }
        match self.shared.place_for(&task, &self.member.name).await {
            Ok(place) => {
                let text = prompt::claimed(task.id.0, &task.subject, &task.description);
                place.map(|place| Block::text(text + &place.words))
            }
            Err(error) => {
                self.no_place(&task, &error).await;
                None
            }
        }
    }

    /// Sets the working directory to the worktree of the open task, or to the root if there is none.
    pub(super) async fn settle(&mut self) {
        let (board, name) = (self.shared.board.clone(), self.member.name.clone());
        let own = blocking(move || board.ask(|graph| graph.open_task_of(&name).cloned())).await;
        let dir = own
            .ok()
            .flatten()
            .and_then(|task| self.shared.dir_of(&task));
        self.outfit.driver.workshop.workdir = dir.unwrap_or_else(|| self.shared.common_dir());
    }

    pub(super) async fn claim(&mut self, task: TaskId) -> Claim {
        // Counts as working from here on, so that the crew is not idle while the worktree is created.
        if self.failed_claims == 0 {
            self.shared
                .set_standing(&self.outfit.handle, Standing::Working);
        }
        let (board, claimer, now) = (self.shared.board.clone(), self.claimer(), self.shared.now());
        let claimed = match blocking(move || board.claim(Some(task), &claimer, now)).await {
            Ok(Some(claimed)) => claimed,
            // Another agent was faster, or the task has changed.
            Ok(None) | Err(StoreError::Graph(_) | StoreError::Unreadable(..)) => {
                self.failed_claims = 0;
                return Claim::LookAgain;
            }
            Err(error) => {
                self.failed_claims += 1;
                let what = format!("Task {task} cannot be claimed; retrying");
                self.outfit.driver.trouble(&what, &error).await;
                return Claim::Wait;
            }
        };
        self.failed_claims = 0;
        self.shared
            .set_standing(&self.outfit.handle, Standing::Working);
        let which = Which::These([task].into());
        self.shared.read_board(which).await;
        let agent = self.member.name.clone();
        let what = format!("claimed task {}: {}", claimed.id, claimed.subject);
        self.outfit
            .driver
            .publish(EventKind::Injected {
                agent,
                what,
                text: claimed.description.clone(),
            })
            .await;
        let mut text = prompt::claimed(claimed.id.0, &claimed.subject, &claimed.description);
        match self.shared.place_for(&claimed, &self.member.name).await {
            Ok(Some(place)) => {
                self.outfit.driver.workshop.workdir = place.dir;
                text.push_str(&place.words);
            }
            Ok(None) => {}
            Err(error) => {
                self.no_place(&claimed, &error).await;
                return Claim::LookAgain;
            }
        }
        Claim::Work(vec![Block::text(text)])
    }
}
