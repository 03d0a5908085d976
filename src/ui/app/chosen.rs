//! What the person chose for the screen: keys, layout, what is looked at. It outlives what the crew says.

use std::sync::Arc;

use crate::domain::screen::ScreenChoice;
use crate::ui::app::App;
use crate::ui::keymap::pane::Focus;
use crate::ui::keymap::{Action, Context, KeyMap};

impl App {
    /// Lets the panes lie as they did before.
    pub fn set_screen(&mut self, screen: ScreenChoice) {
        self.arrangement.screen = screen;
        self.dirty = true;
    }

    /// Uses the keys that the person wants.
    pub fn set_keymap(&mut self, keymap: KeyMap) {
        self.prefs.keymap = Arc::new(keymap);
        self.dirty = true;
    }

    /// The key that leads from here to what waits, as the person reads it.
    pub(in crate::ui) fn waiting_key(&self) -> String {
        let context = match self.focus {
            Focus::Composer => Context::Everywhere,
            Focus::Pane(_) => Context::Panes,
        };
        self.prefs.keymap.key(context, Action::Waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screen::Arrangement;
    use crate::ui::ThemeName;
    use crate::ui::fixture::busy;
    use crate::ui::keymap::Changes;

    #[test]
    fn what_the_person_chose_outlives_the_crew_and_the_past() {
        {
            let mut state = busy(160, 45);
            let changes = Changes::from([("palette".to_string(), vec!["ctrl+g".to_string()])]);
            let keymap = KeyMap::changed(&changes).unwrap();
            let screen = ScreenChoice {
                layout: Arrangement::Board,
                ..ScreenChoice::default()
            };
            state.set_keymap(keymap.clone());
            state.set_screen(screen);
            state.set_theme(ThemeName::Light);
            state.forget_crew();
            assert_eq!(*state.prefs.keymap, keymap);
            assert_eq!(state.arrangement.screen, screen);
            assert_eq!(state.theme(), ThemeName::Light);
        }
    }
}
