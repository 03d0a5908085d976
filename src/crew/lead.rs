//! Runs the lead: it answers the user, and is woken for messages, results and an idle team.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::outfit::{Order, Outfit};
use super::rest::is_news;
use super::{Shared, Standing, Start, lock};
use crate::agent::driver::{Control, blocking};
use crate::agent::prompt;
use crate::agent::turn::{Input, Limits};
use crate::domain::chat::Block;
use crate::domain::conversation::TurnState;
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::protocol::event::Level;
use crate::store::{Recalled, StoreError, last_subagent};
use crate::tools::Caller;
use crate::tools::policy::PlanGate;

/// A lead that is prepared but not running yet.
pub struct Lead {
    outfit: Outfit,
    first: Option<Vec<Block>>,
    /// Whether a turn was unfinished when the session ended.
    pub turn: TurnState,
}

impl Lead {
    /// Starts the lead.
    pub fn begin(self, shared: &Arc<Shared>) {
        let life = live(Arc::clone(shared), self.outfit, self.first);
        shared.tracker.spawn(life);
    }
}

/// Prepares the lead with an empty conversation or the one on disk.
pub async fn start(shared: &Arc<Shared>, start: Start) -> Result<Lead, StoreError> {
    let mut outfit = shared.outfit(Order {
        name: Name::lead(),
        caller: Caller::Lead,
        limits: Limits::default(),
        identity: String::new(),
        model: String::new(),
        gate: PlanGate::Open,
        tags: Vec::new(),
        system: &prompt::lead,
    });
    let first = match start {
        Start::Fresh => None,
        Start::Resumed => resume(shared, &mut outfit).await?,
    };
    shared.enroll(Name::lead(), outfit.handle.clone());
    let turn = match first {
        Some(_) => {
            // The crew must not count as idle before the lead has started.
            shared.set_standing(&outfit.handle, Standing::Working);
            TurnState::Open
        }
        None => TurnState::Ended,
    };
    Ok(Lead {
        outfit,
        first,
        turn,
    })
}

/// Restores the lead's conversation. Returns the input to continue with if the last turn was not finished.
async fn resume(shared: &Shared, outfit: &mut Outfit) -> Result<Option<Vec<Block>>, StoreError> {
    let transcript = outfit.driver.transcript.clone();
    let (root, session) = (shared.root.clone(), lock(&shared.setup).session.clone());
    let (recalled, subagents) =
        blocking(move || Ok((transcript.recall()?, last_subagent(&root, &session)?))).await?;
    let Recalled {
        conversation,
        notices,
    } = recalled;
    // Each subagent has its own transcript, so the numbering continues.
    shared.subagents.store(subagents, Ordering::SeqCst);
    for notice in notices {
        shared.notice(Level::Warn, notice).await;
    }
    let turn = conversation.turn;
    let board = shared.board.clone();
    let spoken = conversation.messages.clone();
    if blocking(move || board.ask(|graph| is_news(graph, &spoken))).await? {
        shared.news.fetch_add(1, Ordering::SeqCst);
    }
    outfit.driver.resume(conversation).await;
    outfit.driver.activity(Activity::Idle).await;
    Ok(match turn {
        TurnState::Ended => None,
        TurnState::Open => {
            let text = "The lead continues its unfinished turn. Interrupt it to stop it.";
            shared.notice(Level::Info, text).await;
            Some(vec![Block::text(prompt::GO_ON)])
        }
    })
}

async fn live(shared: Arc<Shared>, mut outfit: Outfit, first: Option<Vec<Block>>) {
    let mut changes = shared.changes.subscribe();
    // Messages may have arrived before the start.
    changes.mark_changed();
    let mut first = first.map(Input::Say);
    loop {
        let start = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            start = async { first.take() }, if first.is_some() => match start {
                Some(start) => start,
                None => continue,
            },
            control = outfit.control.recv() => match control {
                Some(Control::Say(blocks)) => Input::Say(blocks),
                Some(Control::Compact(focus)) => Input::Compact { focus },
                Some(Control::Interrupt) => continue,
                None => return,
            },
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                let heard = outfit.handle.desk.has_results() || shared.prompts.is_waiting();
                if !heard && !shared.has_mail(&Name::lead()).await {
                    continue;
                }
                Input::Say(Vec::new())
            }
        };
        shared.set_standing(&outfit.handle, Standing::Working);
        let end = work(&shared, &mut outfit, start).await;
        shared.queued.store(outfit.control.len(), Ordering::SeqCst);
        shared.set_standing(&outfit.handle, Standing::Resting);
        if end.is_none() {
            return;
        }
        changes.mark_changed();
    }
}

/// Runs one turn. When the crew stops, the turn is interrupted, so that the conversation on disk is complete, and the
/// result is `None`.
pub async fn work(
    shared: &Shared,
    outfit: &mut Outfit,
    start: Input,
) -> Option<crate::protocol::event::TurnEnd> {
    let interrupt = async {
        shared.stop.cancelled().await;
        // If the queue is full, the turn ends with the process.
        let _ = outfit.handle.control.try_send(Control::Interrupt);
        std::future::pending::<()>().await;
    };
    let end = tokio::select! {
        biased;
        () = interrupt => None,
        end = outfit.driver.turn(start, &mut outfit.control) => Some(end),
    };
    end.filter(|_| !shared.stop.is_cancelled())
}

impl Shared {
    /// Whether prompts, messages or news of the team wait for the lead.
    pub(super) async fn lead_has_news(self: &Arc<Self>) -> bool {
        self.prompts.is_waiting()
            || self.news.load(Ordering::SeqCst) > 0
            || self.has_mail(&Name::lead()).await
    }
}
