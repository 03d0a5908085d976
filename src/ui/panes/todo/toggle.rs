//! Showing and hiding the todo list.

use crate::domain::screen::{PaneLayout, TodoPane};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::frame::layout::{SizeClass, class, shows_one};
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::todo::TodoListPane;

impl TodoListPane {
    /// Shows or hides the todo list, which is visible now if `is_visible` is true. Does nothing while a popup is open.
    ///
    /// If the screen has room for the list next to the conversation, saves the choice. Otherwise the list takes the
    /// place of another pane; hiding it shows that pane again, and the choice is not saved.
    pub fn toggle(&mut self, app: &mut App, is_visible: bool, out: &mut Vec<Effect>) {
        if !app.popups.is_empty() {
            return;
        }
        if fills_screen_or_tab(app) {
            if is_visible {
                self.switch_back(app);
            } else {
                self.switch_to(app);
            }
            return;
        }
        let has_keys = app.focus == Focus::Pane(Pane::Todo);
        if !is_visible && app.arrangement.screen.shows_todo() && !app.shown_todo().is_empty() {
            // The pane is hidden because there are too few rows. It becomes visible when it gets the focus.
            return navigation::focus(app, Pane::Todo);
        }
        app.arrangement.screen.todo = if is_visible {
            TodoPane::Hidden
        } else {
            TodoPane::Shown
        };
        if has_keys {
            navigation::focus(app, Pane::Lead);
        }
        let key = app.prefs.keymap.key(Context::Everywhere, Action::Todo);
        let words = if !app.arrangement.screen.shows_todo() {
            format!("Todo list hidden. {key} shows it.")
        } else if app.shown_todo().is_empty() {
            "The todo list appears when the agent writes one.".into()
        } else {
            format!("Todo list shown. {key} hides it.")
        };
        app.say(words);
        out.push(Effect::SaveScreen(app.arrangement.screen));
    }

    /// Shows the todo list in place of another pane, and stores the current focus, full-screen pane and tab for
    /// [`TodoListPane::switch_back`].
    fn switch_to(&mut self, app: &mut App) {
        self.before_toggle = Some((app.focus, app.arrangement.zoom, app.arrangement.tab));
        let has_tab = matches!(app.focus, Focus::Pane(p) if Pane::TABS.contains(&p));
        if shows_one(app) || app.arrangement.zoom.is_some() || has_tab {
            let zoom = app.arrangement.zoom.map(|_| Pane::Todo);
            navigation::focus(app, Pane::Todo);
            app.arrangement.zoom = zoom;
        } else {
            // Only the tab changes; the composer keeps the focus.
            app.arrangement.tab = Pane::Todo;
        }
    }

    /// Hides the todo list and restores the tab that [`TodoListPane::switch_to`] has stored. If the list has the focus,
    /// also restores the stored focus and full-screen pane.
    ///
    /// If nothing is stored, selects the tab of the board, and a focus on the list moves to the lead's conversation.
    fn switch_back(&mut self, app: &mut App) {
        let before = self.before_toggle.take();
        let (focus, zoom, tab) = before.unwrap_or((Focus::Pane(Pane::Lead), None, Pane::Board));
        let is_todo = |focus: Focus| focus == Focus::Pane(Pane::Todo);
        if is_todo(app.focus) {
            app.focus = if is_todo(focus) {
                Focus::Pane(Pane::Lead)
            } else {
                focus
            };
            app.arrangement.zoom = zoom.filter(|pane| *pane != Pane::Todo);
        }
        app.arrangement.tab = if tab == Pane::Todo { Pane::Board } else { tab };
    }
}

/// Returns whether the todo list, if it were shown, would fill the whole screen or a tab.
fn fills_screen_or_tab(app: &App) -> bool {
    let is_tab =
        class(app.size) == SizeClass::Middle && app.arrangement.screen.layout == PaneLayout::Wall;
    shows_one(app) || app.arrangement.zoom.is_some() || is_tab
}
