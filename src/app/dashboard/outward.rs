//! What the dashboard does outside its panes: calling the person, the clipboard, the theme's file, `$EDITOR`.

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::{Dashboard, Left};
use crate::app::{editor, in_words, theme};
use crate::domain::attention::Calling;
use crate::ui::terminal::Copied;
use crate::ui::{Msg, ThemeName, update};

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
    pub(super) fn save_theme(&self, name: ThemeName) {
        if let Some(said) = theme::keep(name, self.depth) {
            self.tell(&said);
        }
    }

    /// Lets the person write in `$EDITOR`. The screen waits meanwhile; the crew goes on. `Some`: crewdeck was told to end.
    pub(super) async fn edit(&mut self) -> Result<Option<Left>> {
        let before = self.state.composer_text();
        self.screen.give()?;
        let stop = CancellationToken::new();
        let editing = editor::edit(&before, &stop);
        tokio::pin!(editing);
        // What happens meanwhile is written down at once: others may look on. Who ends crewdeck ends the editor, too.
        let edited = loop {
            tokio::select! {
                edited = &mut editing => break edited,
                () = self.signals.sent_by_others() => stop.cancel(),
                Some(event) = self.inlet.next() => self.hear(event),
            }
        };
        if stop.is_cancelled() {
            return Ok(Some(Left::Quit));
        }
        self.screen.take()?;
        match edited {
            Ok(text) => drop(update(&mut self.state, Msg::Edited(text))),
            Err(error) => self.tell(&format!("The editor did not work: {}", in_words(&error))),
        }
        self.redraw_all()?;
        Ok(None)
    }
}
