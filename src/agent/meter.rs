//! What counts an agent's tokens and may hold it up before a call. Declared here, implemented by the crew.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::driver::{Control, Driver, until_interrupt};
use super::turn::Input;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;

/// The crew's count of what its agents use.
pub trait Meter: Send + Sync {
    /// A turn of the agent begins: what was denied in an earlier one may be asked for again.
    fn begin(&self, agent: &Name);

    /// The agent has used this much more; `cost` in US dollars, where the price is known.
    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>);

    /// Waits until the agent may call its model. The error says why it may not.
    fn admit<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;
}

impl Driver {
    /// Waits until the model may be called. What ends the turn instead comes back.
    pub(super) async fn held_up(
        &self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<Input>,
    ) -> Option<Input> {
        match until_interrupt(control, inputs, self.meter.admit(&self.name)).await {
            Some(Ok(())) => None,
            Some(Err(why)) => Some(Input::Stop { why }),
            None => Some(Input::Interrupt {
                partial: String::new(),
            }),
        }
    }
}
