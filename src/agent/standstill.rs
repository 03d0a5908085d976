//! Pauses an agent whose model calls change nothing, and asks the user whether it may go on.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use super::driver::{Control, Driver, run_blocking, until_interrupt};
use super::stall::StallStep;
use super::turn::TurnInput;
use super::work_state::files_state;
use crate::domain::chat::Block;

impl Driver {
    /// Returns `None` if the agent may call its model: it makes progress, or the user lets it go on. If the user stops
    /// it or the wait is interrupted, returns the input that ends the turn. If the user gives advice, returns the input
    /// with it.
    pub(super) async fn check_progress(
        &mut self,
        control: &mut mpsc::Receiver<Control>,
        inputs: &mut VecDeque<TurnInput>,
    ) -> Option<TurnInput> {
        match self.progress_check.0.step() {
            StallStep::Call => return None,
            StallStep::TakeFingerprint => {
                match self.files_state().await {
                    Some(files) => self.progress_check.0.set_fingerprint(files),
                    None => self.progress_check.reset(),
                }
                return None;
            }
            StallStep::Compare(before) if self.files_state().await != Some(before) => {
                self.progress_check.reset();
                return None;
            }
            StallStep::Compare(_) => {}
        }
        let reason = self.standstill_text();
        let asking = self.budget_gate.ask_to_go_on(&self.name, reason);
        let answer = until_interrupt(control, inputs, asking).await;
        self.progress_check.reset();
        match answer {
            Some(Ok(advice)) if advice.is_empty() => None,
            Some(Ok(advice)) => Some(TurnInput::Advice(vec![Block::text(advice)])),
            Some(Err(why)) => Some(TurnInput::Stop { why }),
            None => Some(TurnInput::Interrupt {
                partial: String::new(),
            }),
        }
    }

    /// Returns the question to the user: what is wrong, what the agent did last, and what each answer does.
    fn standstill_text(&self) -> String {
        let (calls, last) = self.progress_check.0.standstill();
        let last = if last.is_empty() {
            "It called no tool.".into()
        } else {
            format!("Last tool calls:\n- {}", last.join("\n- "))
        };
        let text = format!(
            "{} has called its model {calls} times without a change of files, tasks or messages.\n{last}\n\
             Go on lets it work until the same happens again. Stop ends its turn. Any other answer is sent to it as \
             advice. (setting calls_without_progress)",
            self.name
        );
        self.event_sender.redactor().text(&text).into_owned()
    }

    /// Returns a fingerprint of the files in the work directory; `None` if it cannot be computed.
    async fn files_state(&self) -> Option<u64> {
        let workdir = self.tool_runner.workdir.clone();
        let since = Duration::try_from_secs_f64(self.state.current.began.0).unwrap_or_default();
        let since = SystemTime::UNIX_EPOCH + since;
        run_blocking(move || Ok(files_state(&workdir, since)))
            .await
            .ok()
    }
}
