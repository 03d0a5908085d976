//! The lead's life: it answers the person, and wakes for letters and for the end of all work.

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

/// A lead that has not begun.
pub struct Lead {
    outfit: Outfit,
    first: Option<Vec<Block>>,
    /// Whether a turn was under way.
    pub turn: TurnState,
}

impl Lead {
    /// Lets it work.
    pub fn begin(self, shared: &Arc<Shared>) {
        let life = live(Arc::clone(shared), self.outfit, self.first);
        shared.tracker.spawn(life);
    }
}

/// Prepares the lead, from nothing or from where its conversation stands on disk.
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
            // The crew must not seem at rest before it has begun.
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

/// Gives the lead its conversation back. Words come back when it was cut off in the middle of a turn.
async fn resume(shared: &Shared, outfit: &mut Outfit) -> Result<Option<Vec<Block>>, StoreError> {
    let transcript = outfit.driver.transcript.clone();
    let (root, session) = (shared.root.clone(), lock(&shared.setup).session.clone());
    let (recalled, subagents) =
        blocking(move || Ok((transcript.recall()?, last_subagent(&root, &session)?))).await?;
    let Recalled {
        conversation,
        notices,
    } = recalled;
    // Each has a log of its own: numbers go on.
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
            let text = "The lead was cut off in the middle of its turn and goes on. Interrupt it to stop it.";
            shared.notice(Level::Info, text).await;
            Some(vec![Block::text(prompt::GO_ON)])
        }
    })
}

async fn live(shared: Arc<Shared>, mut outfit: Outfit, first: Option<Vec<Block>>) {
    let mut changes = shared.changes.subscribe();
    // Letters may have waited since before it began.
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

/// One turn; when the crew stops it is interrupted, so that its conversation is whole on disk. `None`:
/// the crew stops.
pub async fn work(
    shared: &Shared,
    outfit: &mut Outfit,
    start: Input,
) -> Option<crate::protocol::event::TurnEnd> {
    let interrupt = async {
        shared.stop.cancelled().await;
        // When its queue is full the turn ends with the process.
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
    /// Whether something waits for the lead: prompts, letters, or news of what its team has done.
    pub(super) async fn lead_has_news(self: &Arc<Self>) -> bool {
        self.prompts.is_waiting()
            || self.news.load(Ordering::SeqCst) > 0
            || self.has_mail(&Name::lead()).await
    }
}
