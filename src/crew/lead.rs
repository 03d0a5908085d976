//! The lead's life: it answers the person, and wakes for letters and for the end of all work.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::outfit::{Order, Outfit};
use super::{Shared, Standing};
use crate::agent::driver::{Control, blocking};
use crate::agent::prompt;
use crate::domain::chat::Block;
use crate::domain::ids::Name;
use crate::tools::Audience;
use crate::tools::policy::PlanGate;

/// Starts the lead.
pub fn start(shared: &Arc<Shared>) {
    let outfit = shared.outfit(Order {
        name: Name::lead(),
        audience: Audience::Lead,
        rounds: None,
        gate: PlanGate::Open,
        tags: Vec::new(),
        system: &prompt::lead,
    });
    shared.enroll(Name::lead(), outfit.handle.clone());
    shared.tracker.spawn(live(Arc::clone(shared), outfit));
}

async fn live(shared: Arc<Shared>, mut outfit: Outfit) {
    let mut changes = shared.changes.subscribe();
    loop {
        let say = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            control = outfit.control.recv() => match control {
                Some(Control::Say(blocks)) => blocks,
                Some(Control::Interrupt) => continue,
                None => return,
            },
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                if !shared.has_mail(&Name::lead()).await {
                    continue;
                }
                Vec::new()
            }
        };
        shared.set_standing(&outfit.handle, Standing::Working);
        let end = work(&shared, &mut outfit, say).await;
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
    say: Vec<Block>,
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
        end = outfit.driver.turn(say, &mut outfit.control) => Some(end),
    };
    end.filter(|_| !shared.stop.is_cancelled())
}

impl Shared {
    /// Whether letters wait for `name`.
    pub(super) async fn has_mail(&self, name: &Name) -> bool {
        let (post, name) = (self.post.clone(), name.clone());
        blocking(move || post.pending(&name))
            .await
            .is_ok_and(|p| !p.letters.is_empty())
    }
}
