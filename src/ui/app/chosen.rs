//! The user's settings for the screen, such as keys and layout. They stay when the state of the crew is reset.

use std::sync::Arc;

use crate::domain::screen::ScreenSettings;
use crate::ui::app::App;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::keymap::pane::Focus;
use crate::ui::keymap::{Action, Context, KeyMap};

impl App {
    /// Applies the saved pane layout of the project, and passes it on to the panes.
    pub fn set_screen(&mut self, screen: ScreenSettings) {
        self.arrangement.screen = screen;
        self.ask_panes(PaneRequest::ScreenRestored(screen));
        self.dirty = true;
    }

    pub fn set_keymap(&mut self, keymap: KeyMap) {
        self.prefs.keymap = Arc::new(keymap);
        self.dirty = true;
    }

    /// Returns the key that focuses the pane "Needs you" and its first request, given the current focus. The key is
    /// formatted for display.
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
    use crate::domain::screen::PaneLayout;
    use crate::ui::ThemeName;
    use crate::ui::fixture::busy;
    use crate::ui::keymap::KeyOverrides;

    #[test]
    fn user_choices_survive_session_end_and_replay_seek() {
        {
            let mut state = busy(160, 45);
            let changes = KeyOverrides::from([("palette".to_string(), vec!["ctrl+g".to_string()])]);
            let keymap = KeyMap::with_overrides(&changes).unwrap();
            let screen = ScreenSettings {
                layout: PaneLayout::Board,
                ..ScreenSettings::default()
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
