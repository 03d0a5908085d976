//! A teammate and its tasks: what it finds when it looks around, and how it claims.

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

/// What came of the wish to claim a task.
pub(super) enum Claim {
    /// It is the teammate's, and these words begin the work on it.
    Work(Vec<Block>),
    /// It is not: there may be another.
    LookAgain,
    /// The board can not be written: later, perhaps.
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
        // As it was last seen: what changes meanwhile makes it look again.
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
                    .trouble("The board can not be read", &error)
                    .await;
                (None, None)
            }
        };
        // What its background job comes to is what it waits for.
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

    /// Letters that only say "go" need no model. True when there was nothing else to read.
    pub(super) async fn take_orders(&mut self) -> bool {
        // Mail that is taken is no reason any more to wait for this one.
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

    /// Without a worktree of its own it does not work: others might be in the same files.
    async fn no_place(&mut self, task: &Task, error: &StoreError) {
        let what = format!("The worktree of task {} can not be made", task.id);
        self.outfit.driver.trouble(&what, error).await;
        self.give_back().await;
        self.hold = Hold::UntilMail;
        let why = format!("{what}: {error}");
        self.tell_lead(why.clone());
        self.outfit.driver.activity(Activity::Failed { why }).await;
    }

    /// For a member that comes back with this conversation: its task and a worktree for it, where crewdeck was ended
    /// after the claim and before it had heard of both. What it should know comes back.
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

    /// Goes to where its task is worked on; without one, to the root.
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
        // From here on it is at work: making its worktree takes a moment, and the crew must not seem at rest.
        if self.failed_claims == 0 {
            self.shared
                .set_standing(&self.outfit.handle, Standing::Working);
        }
        let (board, claimer, now) = (self.shared.board.clone(), self.claimer(), self.shared.now());
        let claimed = match blocking(move || board.claim(Some(task), &claimer, now)).await {
            Ok(Some(claimed)) => claimed,
            // Somebody was faster, or changed the task.
            Ok(None) | Err(StoreError::Graph(_) | StoreError::Unreadable(..)) => {
                self.failed_claims = 0;
                return Claim::LookAgain;
            }
            Err(error) => {
                self.failed_claims += 1;
                let what = format!("Task {task} can not be claimed; it is tried again");
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
