//! Counts an agent's usage and holds model calls back when a budget is used up. Declared here, implemented by the crew.

use std::collections::VecDeque;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::driver::{Control, Driver, until_interrupt};
use super::turn::Input;
use crate::domain::ids::Name;
use crate::domain::usage::Usage;

/// The crew's budget for its agents.
pub trait Meter: Send + Sync {
    /// Starts a turn of the agent: an increase that was denied in an earlier turn may be requested again.
    fn begin(&self, agent: &Name);

    /// Adds usage of the agent; `cost` is in US dollars, if the price is known.
    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>);

    /// Waits until the agent may call its model. The error says why it may not.
    fn admit<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;
}

impl Driver {
    /// Waits until the model may be called. Returns the input that ends the turn, if it may not.
    pub(super) async fn await_budget(
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
