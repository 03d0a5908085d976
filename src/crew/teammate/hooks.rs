//! Runs the hooks of a teammate that is about to become idle.

use std::collections::VecDeque;

use super::super::registry::AgentState;
use super::TeammateLoop;
use crate::agent::driver::Control;
use crate::agent::turn::TurnInput;
use crate::domain::chat::Block;

impl TeammateLoop {
    /// Runs the `TeammateIdle` hooks of a teammate that is about to become idle after a turn. Returns the input for its
    /// next turn if a hook keeps the teammate working, or if input has arrived in the meantime; otherwise `None`. Runs
    /// no hooks if the teammate is paused or has had no turn since it was last idle.
    pub(super) async fn kept_by_hook(&mut self) -> Option<TurnInput> {
        let has_worked = std::mem::take(&mut self.has_worked);
        if !has_worked || self.is_paused {
            return None;
        }
        let hooks = self.agent.driver.tool_runner.hooks.clone()?;
        self.set_state(AgentState::Working);
        let (driver, control) = (&self.agent.driver, &mut self.agent.control);
        let mut inputs = VecDeque::new();
        let stop = &self.crew.context.stop;
        let text = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            text = driver.check_idle(control, &mut inputs) => text,
        };
        let text = text.map(|text| TurnInput::Say(vec![Block::text(text)]));
        let mut inputs = text.into_iter().chain(inputs);
        let Some(mut first) = inputs.next() else {
            hooks.caller.show_idle(&self.member.name).await;
            return None;
        };
        for input in inputs {
            let later = match (&mut first, input) {
                (TurnInput::Say(blocks), TurnInput::Say(more)) => {
                    blocks.extend(more);
                    continue;
                }
                (_, TurnInput::Say(blocks)) => Control::Say(blocks),
                (_, TurnInput::Compact { focus }) => Control::Compact(focus),
                (_, TurnInput::Clear) => Control::Clear,
                _ => continue,
            };
            // The queue has room, because this command was just taken from it.
            let _ = self.agent.handle.control.try_send(later);
        }
        Some(first)
    }
}
