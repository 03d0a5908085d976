//! The commands that the crew sends to an agent, and the work that they interrupt.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::checkpoint_state::RewindOrder;
use super::turn::TurnInput;
use crate::domain::chat::Block;

/// Commands that the crew sends to an agent.
#[derive(Debug)]
pub enum Control {
    /// Adds text to the agent's conversation. If the agent is idle, starts a turn.
    Say(Vec<Block>),
    Interrupt,
    /// Like `Interrupt`, but not because of the user: the agent may no longer act for its crew. The value says why, in one
    /// line.
    Abandon(&'static str),
    /// Replaces the conversation with a summary. The value says what the summary should cover in most detail; may be
    /// empty.
    Compact(String),
    /// Empties the conversation. Interrupts the turn first if one is running.
    Clear,
    /// Restores the agent's files, its conversation or both. Refused during a turn.
    Rewind(Box<RewindOrder>),
}

/// Runs `work` and returns its result. Meanwhile, receives the commands of `control` and adds new text, compaction
/// requests and clear requests to `inputs`. Stops `work` and returns `None` if an interrupt or a clear request arrives,
/// or if `control` is closed.
pub(super) async fn until_interrupt<T>(
    control: &mut mpsc::Receiver<Control>,
    inputs: &mut VecDeque<TurnInput>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            message = control.recv() => match message {
                Some(Control::Say(blocks)) => inputs.push_back(TurnInput::Say(blocks)),
                Some(Control::Compact(focus)) => inputs.push_back(TurnInput::Compact { focus }),
                Some(Control::Clear) => {
                    inputs.push_back(TurnInput::Clear);
                    return None;
                }
                Some(Control::Rewind(order)) => order.refuse(),
                Some(Control::Abandon(why)) => {
                    inputs.push_back(TurnInput::Abandon(why));
                    return None;
                }
                Some(Control::Interrupt) | None => return None,
            },
            out = &mut work => return Some(out),
        }
    }
}
