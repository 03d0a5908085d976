//! What the dashboard does outside its panes: calling the person, the clipboard, the theme's file, errands of the terminal.

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::{Dashboard, Left};
use crate::app::errand::Errand;
use crate::app::signals::Signalled;
use crate::app::{in_words, theme};
use crate::domain::attention::Calling;
use crate::ui::terminal::Copied;
use crate::ui::{Msg, ThemeChoice, update};

impl Dashboard {
    /// Calls the person as they want to be called.
    pub(super) fn call(&mut self, words: &str) -> Result<()> {
        match self.calling {
            Calling::Bell => self.screen.bell()?,
            Calling::Desktop => self.screen.notify(words)?,
            Calling::Off => {}
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, text: &str) -> Result<()> {
        match self.screen.copy(text)? {
            Copied::Sent => {}
            Copied::TooLong => self.tell("That is too long to be copied by the terminal."),
        }
        Ok(())
    }

    /// Has the theme remembered.
    pub(super) fn save_theme(&self, chosen: &ThemeChoice) {
        if let Some(said) = theme::keep(chosen, self.depth) {
            self.tell(&said);
        }
    }

    /// Gives the terminal away for an errand. The screen waits meanwhile; the crew goes on. `Some`: crewdeck was told to end.
    pub(super) async fn away(&mut self, errand: Errand) -> Result<Option<Left>> {
        let is_over_by_interrupt = errand.ends_by_interrupt();
        self.screen.give()?;
        let stop = CancellationToken::new();
        let running = errand.run(&stop);
        tokio::pin!(running);
        // What happens meanwhile is written down at once: others may look on. Who ends crewdeck ends the editor, too.
        let done = loop {
            tokio::select! {
                done = &mut running => break done,
                signalled = self.signals.any() => match signalled {
                    Signalled::End => stop.cancel(),
                    Signalled::Interrupt if is_over_by_interrupt => break Ok(None),
                    Signalled::Interrupt => {}
                },
                Some(event) = self.inlet.next() => self.hear(event),
            }
        };
        if stop.is_cancelled() {
            return Ok(Some(Left::Quit));
        }
        self.screen.take()?;
        match done {
            Ok(Some(text)) => drop(update(&mut self.state, Msg::Edited(text))),
            Ok(None) => {}
            Err(error) => self.tell(&in_words(&error)),
        }
        self.redraw_all()?;
        Ok(None)
    }
}
