//! The idle detector: when the whole crew is idle, it reports news to the lead, or lets the run end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::undecided::{Reminded, Reminder};
use super::{Handle, Shared, Standing, lock};
use crate::agent::driver::{Control, blocking};
use crate::domain::chat::{Block, Message, Role};
use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::task::{Task, TaskStatus};
use crate::protocol::event::EventKind;
use crate::store::Which;

/// Checks for idleness after every change, until the crew stops.
pub async fn detect(shared: Arc<Shared>) {
    let mut pulse = shared.pulse.subscribe();
    // Changes before the subscription count too.
    pulse.mark_changed();
    let mut told_at = None;
    let mut reminded = Reminded::default();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            changed = pulse.changed() => if changed.is_err() { return },
        }
        let begun = shared.begun.load(Ordering::SeqCst);
        if begun == 0 || told_at == Some(begun) {
            continue;
        }
        let Some(Rest { graph, left }) = shared.is_at_rest().await else {
            continue;
        };
        // An agent may have started to work while the files were read; then this check does not count.
        if shared.begun.load(Ordering::SeqCst) != begun || !shared.all_rest() {
            continue;
        }
        told_at = Some(begun);
        if !left.is_empty() {
            if shared.remind(&left, &mut reminded).await == Reminder::Sent {
                continue;
            }
        } else if shared.news.swap(0, Ordering::SeqCst) > 0 && shared.wake_lead(&graph).await {
            continue;
        }
        shared.publish(EventKind::CrewAtRest).await;
    }
}

/// The state of an idle crew.
struct Rest {
    /// The board on disk.
    graph: Arc<TaskGraph>,
    /// The requests that still wait for the lead's decision.
    left: Vec<Request>,
}

/// The progress of an idle team, as a sentence for the lead.
enum Stand {
    Done(String),
    Open(String),
}

/// Returns the idle teammates that claim tasks automatically.
fn claimers(agents: &[(Name, Handle)]) -> Vec<Claimer> {
    let is_idle = |(name, handle): &&(Name, Handle)| {
        !name.is_lead() && *lock(&handle.standing) == Standing::Resting
    };
    let claimer = |(name, handle): &(Name, Handle)| Claimer {
        name: name.clone(),
        tags: handle.tags.clone(),
    };
    agents.iter().filter(is_idle).map(claimer).collect()
}

/// Whether one of the teammates may claim a task.
fn may_claim(graph: &TaskGraph, claimers: &[Claimer]) -> bool {
    let may = |claimer| graph.claimable_unasked(claimer).is_some();
    claimers.iter().any(may)
}

fn stand(graph: &TaskGraph) -> Stand {
    let all = graph.len();
    match all - graph.done() {
        0 => Stand::Done(format!(
            "All {all} tasks on the board are completed and the team is idle."
        )),
        open => Stand::Open(format!("The team is idle with {open} of {all} tasks open")),
    }
}

/// Whether other agents have completed tasks and the lead's conversation does not mention the current progress. Used on
/// resume, since notes that were kept in memory are lost when crewdeck ends.
pub fn is_news(graph: &TaskGraph, conversation: &[Message]) -> bool {
    let (Stand::Done(words) | Stand::Open(words)) = stand(graph);
    let has_heard = |block: &Block| matches!(block, Block::Text { text } if text.contains(&words));
    let mut heard = conversation
        .iter()
        .filter(|m| m.role == Role::User)
        .flat_map(|m| &m.blocks);
    let by_others = |t: &Task| t.status == TaskStatus::Completed && t.owner != "lead";
    graph.tasks().any(by_others) && !heard.any(has_heard)
}

impl Shared {
    fn all_rest(&self) -> bool {
        self.queued.load(Ordering::SeqCst) == 0
            && !self.prompts.is_waiting()
            && self.chores.load(Ordering::SeqCst) == 0
            && !self.jobs.is_running(None)
            && lock(&self.agents)
                .iter()
                .all(|(name, h)| self.seems_at_rest(name, *lock(&h.standing)))
    }

    /// Returns the crew's state if it is idle: no agent works, nothing on disk gives an agent work, and no request waits
    /// for the user. `None` otherwise.
    async fn is_at_rest(self: &Arc<Self>) -> Option<Rest> {
        if !self.all_rest() {
            return None;
        }
        let left = self.left_to_lead().await?;
        let agents: Vec<(Name, Handle)> = lock(&self.agents)
            .iter()
            .map(|(n, h)| (n.clone(), h.clone()))
            .collect();
        let in_no_turn = |(_, h): &&(Name, Handle)| *lock(&h.standing) != Standing::Working;
        for (name, handle) in agents.iter().filter(in_no_turn) {
            if handle.desk.has_results() || self.has_mail(name).await {
                return None;
            }
        }
        let (board, resting) = (self.board.clone(), claimers(&agents));
        let known = blocking(move || board.ask(|graph| may_claim(graph, &resting))).await;
        if known.unwrap_or_default() {
            // An agent can claim a task, so the crew is not idle. This check is cheaper than reading the whole board.
            return None;
        }
        // Publishes the changes of the last agent before the crew counts as idle.
        let Some(graph) = self.read_board(Which::All).await else {
            // Without a readable board no agent can claim a task, so the crew counts as idle instead of waiting forever.
            let graph = self.graph();
            return Some(Rest { graph, left });
        };
        (!may_claim(&graph, &claimers(&agents))).then_some(Rest { graph, left })
    }

    /// Wakes the lead with the progress of the team. Returns false if the lead cannot be reached.
    async fn wake_lead(&self, graph: &TaskGraph) -> bool {
        let unmerged = self.unmerged().await;
        let unmerged = if unmerged.is_empty() {
            String::new()
        } else {
            format!(
                " Not merged yet: {}. Merge one with merge_worktree.",
                unmerged.join(", ")
            )
        };
        let text = match stand(graph) {
            Stand::Done(words) => format!("<crew>{words}{unmerged}</crew>"),
            Stand::Open(words) => format!(
                "<crew>{words}. Check the board (task_list) and decide how to continue.</crew>"
            ),
        };
        self.wake(text)
    }

    /// Sends the lead a text from the crew. Returns false if the lead cannot be reached.
    pub(super) fn wake(&self, text: String) -> bool {
        let Some(lead) = self.handle(&Name::lead()) else {
            return false;
        };
        self.queued.fetch_add(1, Ordering::SeqCst);
        let sent = lead
            .control
            .try_send(Control::Say(vec![Block::text(text)]))
            .is_ok();
        if !sent {
            self.queued.fetch_sub(1, Ordering::SeqCst);
        }
        sent
    }
}
