//! Changes the mode of a session while its prompt runs. The prompt does not wait for the change, because some agents
//! answer no other request while they work. If an agent leaves the mode by itself, the mode is set again.

use futures::future::BoxFuture;

use crate::acp::{AcpSession, UnsetChoice};
use crate::domain::agent_update::AgentUpdate;

/// A mode of a session, and the result of the attempt to set it.
type ModeSet = (String, Result<(), UnsetChoice>);

/// A change of the session's mode while a prompt runs.
#[derive(Default)]
pub struct ModeChange<'a> {
    running: Option<BoxFuture<'a, ModeSet>>,
    /// The mode that was tried last. It is not tried again during the prompt unless the agent leaves it.
    tried: Option<String>,
}

impl<'a> ModeChange<'a> {
    /// Begins to set the mode `wanted` if it differs from `current` and was not tried yet.
    pub fn begin(
        &mut self,
        session: &'a AcpSession,
        current: Option<&String>,
        wanted: Option<String>,
    ) {
        if wanted.as_ref() == current || wanted == self.tried {
            return;
        }
        let Some(wanted) = wanted else {
            return;
        };
        self.tried = Some(wanted.clone());
        self.running = Some(Box::pin(async move {
            let set = session.set_mode(&wanted).await;
            (wanted, set)
        }));
    }

    /// Returns whether `updates` report that the agent has left the mode `current`, which crewdeck has set. If so,
    /// stores the agent's new mode in `current`. Returns false if `current` is `None`, because crewdeck has set no
    /// mode.
    pub fn note_updates(
        &mut self,
        session: &AcpSession,
        current: &mut Option<String>,
        updates: &[AgentUpdate],
    ) -> bool {
        let reported = updates.iter().rev().find_map(|update| match update {
            AgentUpdate::Mode(id) => Some(id),
            _ => None,
        });
        let Some((id, set)) = reported.zip(current.as_deref()) else {
            return false;
        };
        let is_id_of = |mode: &str| session.mode_id(mode).as_ref() == Some(id);
        // The agent may report the mode that is being set before it answers the request.
        let setting = self.tried.as_deref().filter(|_| self.running.is_some());
        if is_id_of(set) || setting.is_some_and(is_id_of) {
            return false;
        }
        *current = Some(id.clone());
        self.tried = None;
        true
    }

    /// Waits until the mode is set or cannot be set. Does not return while no change runs.
    pub async fn changed(&mut self) -> ModeSet {
        let Some(running) = &mut self.running else {
            return std::future::pending().await;
        };
        let set = running.await;
        self.running = None;
        set
    }
}
