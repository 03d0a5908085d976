//! Changes the mode of a session beside a running prompt: some agents answer no other request while they work.

use futures::future::BoxFuture;

use crate::acp::{AcpSession, UnsetChoice};

/// The mode with the result of setting it.
type ModeSet = (String, Result<(), UnsetChoice>);

/// A change of the mode during a prompt.
#[derive(Default)]
pub struct ModeChange<'a> {
    running: Option<BoxFuture<'a, ModeSet>>,
    /// The mode that was tried last. It is not tried again during the prompt.
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
