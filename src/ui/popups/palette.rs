//! The action palette: a searchable list of everything that a key or a slash command can do.

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding, SLASH};
use crate::ui::popups::picker::{Choices, Picker, PickerRow};

/// The content of the action palette: the actions that a key or a slash command can run.
#[derive(Debug)]
pub struct PaletteChoices {
    /// The key contexts that were in effect when the palette was opened.
    contexts: Vec<Context>,
    /// The focus at the time when the palette was opened.
    focus: Focus,
}

/// An action of the palette. If the action does not work where the palette was opened, also holds the pane that must
/// get the focus first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaletteAction(Action, Option<Pane>);

/// Closes all popups, so that the palette can be opened, and returns `true`. Does nothing and returns `false` if the
/// palette is already open or the user is writing a comment.
pub fn make_room(app: &mut App) -> bool {
    if app.is_commenting() || app.popups.find::<Picker<PaletteChoices>>().is_some() {
        return false;
    }
    app.popups.clear();
    true
}

/// Opens the palette. The actions of `contexts` come first.
pub fn open(app: &mut App, mut contexts: Vec<Context>) {
    let focus = app.focus;
    // If the composer has the focus, the actions of the conversation pane are listed too.
    if focus == Focus::Composer {
        contexts.extend([Context::In(Pane::Lead), Context::Panes]);
    }
    open_popup(app, Picker::new(PaletteChoices { contexts, focus }, 0));
}

impl Choices for PaletteChoices {
    type Item = PaletteAction;

    const TIP: &'static str = "Type to filter the actions";

    fn title(&self, _app: &App) -> String {
        "Actions".into()
    }

    /// Returns the actions in this order: the action that shows open requests, if there are any; the actions for
    /// everyday use of the contexts in which the palette was opened; the other actions of these contexts; the actions of
    /// all panes; the slash commands whose actions have no key.
    fn rows(&self, app: &App) -> Vec<PickerRow<PaletteAction>> {
        let mut rows: Vec<PickerRow<PaletteAction>> = Vec::new();
        let mut seen: Vec<Action> = Vec::new();
        let mut add = |binding: &KeyBinding, pane: Option<Pane>| {
            if binding.action.is_hidden_in_palette() || seen.contains(&binding.action) {
                return;
            }
            seen.push(binding.action);
            let key = binding.display_key();
            let place = pane.map_or_else(String::new, |pane| format!("in {}", pane.title()));
            let aside: Vec<&str> = [place.as_str(), &key]
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect();
            let item = PaletteAction(binding.action, pane);
            rows.push(PickerRow::new(binding.words.into(), aside.join("  "), item));
        };
        let keymap = &app.prefs.keymap;
        for binding in self.contexts.iter().flat_map(|c| keymap.in_context(*c)) {
            add(binding, None);
        }
        for pane in Pane::ALL {
            for binding in keymap.in_context(Context::In(pane)) {
                add(binding, Some(pane));
            }
        }
        for (word, action, words) in SLASH {
            if !seen.contains(action) {
                let item = PaletteAction(*action, None);
                rows.push(PickerRow::new((*words).into(), (*word).into(), item));
            }
        }
        let has_requests = app.model.requests.for_user() > 0;
        rows.sort_by_key(|row| match row.item {
            PaletteAction(Action::Waiting, None) if has_requests => 0,
            PaletteAction(action, None) if action.is_everyday() => 1,
            _ => 2,
        });
        rows
    }

    fn choose(
        &mut self,
        app: &mut App,
        PaletteAction(action, pane): PaletteAction,
        _out: &mut Vec<Effect>,
    ) -> Next {
        match pane {
            Some(pane) => navigation::focus(app, pane),
            None => app.focus = self.focus,
        }
        Next::CloseAndRun(action)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use crate::ui::Effect;
    use crate::ui::fixture::{picture, press, started_screen, top_popup};

    #[test]
    fn actions_for_everyday_use_come_first() {
        let mut state = started_screen(160, 45);
        press(&mut state, "esc 1 :");
        let text = picture(&state);
        let row = |words: &str| text.lines().position(|row| row.contains(words));
        let everyday = [
            "search the conversation",
            "write to the shown agent",
            "go to the next pane",
            "go to the inbox",
        ];
        let rare = row("go to the next match");
        for words in everyday {
            let here = row(words);
            assert!(here.is_some() && (rare.is_none() || here < rare), "{text}");
        }
    }

    #[test]
    fn command_name_and_whole_words_come_before_scattered_characters() {
        let first = |typed: &str| {
            let mut state = started_screen(120, 35);
            press(&mut state, &format!("esc : \"{typed}\""));
            let text = picture(&state);
            let row = text
                .lines()
                .find(|row| row.contains("│ › ") && !row.contains(typed));
            let row = row.or_else(|| text.lines().filter(|row| row.contains("› ")).nth(1));
            row.unwrap_or_default().to_string()
        };
        for (typed, command) in [
            ("resume", "/resume"),
            ("init", "/init"),
            ("doctor", "/doctor"),
        ] {
            assert!(first(typed).contains(command), "{typed}: {}", first(typed));
        }
        let mut state = started_screen(120, 35);
        let done = press(&mut state, "esc : \"resume\" enter");
        assert_eq!(done, [Effect::ListSessions]);
        assert_eq!(top_popup(&state), "SessionChoices");
    }
}
