//! Executes effects outside of the dashboard's panes: notifications, clipboard, saving the theme, external programs.

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::{Dashboard, ExitReason};
use crate::app::external_program::ExternalProgram;
use crate::app::frame_limiter::FrameCause;
use crate::app::signals::Signalled;
use crate::app::{describe_error, theme};
use crate::domain::hook::SessionEndReason;
use crate::domain::notification::NotifyMethod;
use crate::ui::terminal::COPY_TOO_LONG;
use crate::ui::{Msg, ThemeChoice, update};

impl Dashboard {
    /// Notifies the user by the method in the settings: rings the bell, shows `words` as a desktop notification, or
    /// does nothing.
    pub(super) fn notify(&mut self, words: &str) -> Result<()> {
        match self.notify_method {
            NotifyMethod::Bell => self.screen.bell()?,
            NotifyMethod::Desktop => self.screen.notify(words)?,
            NotifyMethod::Off => {}
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, text: &str) -> Result<()> {
        if !self.screen.copy(text)? {
            self.warn(COPY_TOO_LONG);
        }
        Ok(())
    }

    /// Saves the theme in the user's settings. Shows a warning if it cannot be saved, or if saving it has no visible
    /// effect.
    pub(super) fn save_theme(&self, chosen: &ThemeChoice) {
        if let Some(message) = theme::save(chosen, self.depth) {
            self.warn(&message);
        }
    }

    /// Runs an external program that uses the terminal, and waits until it ends. The crew continues to run. Edited text
    /// replaces the text of the composer. If the program fails, shows a warning. If crewdeck receives a signal to end,
    /// stops the program and returns the exit reason; otherwise returns `None`.
    pub(super) async fn run_program(
        &mut self,
        program: ExternalProgram,
    ) -> Result<Option<ExitReason>> {
        let is_over_by_interrupt = program.ends_by_interrupt();
        self.screen.restore_terminal()?;
        let stop = CancellationToken::new();
        let running = program.run(&stop);
        tokio::pin!(running);
        // Continue to record events, because viewers in other processes read them. A signal that ends crewdeck also
        // ends the editor.
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                signalled = self.signals.any() => match signalled {
                    Signalled::End => stop.cancel(),
                    Signalled::Interrupt if is_over_by_interrupt => break Ok(None),
                    Signalled::Interrupt => {}
                },
                Some(event) = self.events.next() => self.record_event(event),
            }
        };
        if stop.is_cancelled() {
            return Ok(Some(self.quit(SessionEndReason::Other)));
        }
        self.screen.set_up()?;
        match done {
            Ok(Some(text)) => drop(update(&mut self.state, Msg::Edited(text))),
            Ok(None) => {}
            Err(error) => self.warn(&describe_error(&error)),
        }
        self.redraw_all()?;
        Ok(None)
    }

    /// Prepares a complete redraw with the next frame after another program used the terminal, because the terminal's size
    /// and images may have changed.
    pub(super) fn redraw_all(&mut self) -> Result<()> {
        self.pictures.forget_terminal(&mut self.state);
        let (width, height) = self.screen.size()?;
        update(&mut self.state, Msg::Resize(width, height));
        self.frames.request(FrameCause::Key);
        Ok(())
    }
}
