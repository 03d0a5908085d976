//! Moves the focus, the selection and the scroll position, and goes one step back.

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::navigation::{focus, show};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::needs;
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::quit::{self, Quit};
use crate::ui::shell::layout::areas;
use crate::ui::shell::state::UiState;

use crate::ui::shell::peek::{self, Peek};

/// Focuses a pane. If the pane already has the focus, switches its full screen on or off, except while
/// [`left_composer`](crate::ui::app::KeyState::left_composer) is set.
pub fn focus_or_zoom(app: &mut App, pane: Pane) {
    if app.focus != Focus::Pane(pane) || app.keys.left_composer {
        focus(app, pane);
    } else if app.arrangement.zoom.is_some() {
        app.arrangement.zoom = None;
    } else {
        enlarge(app);
    }
}

/// Shows the focused pane full screen, unless the screen shows only one pane anyway.
pub fn enlarge(app: &mut App) {
    if !frame_layout::shows_one(app) {
        app.arrangement.zoom = Some(app.focus.pane());
    }
}

/// Focuses the next or previous pane; after the last pane comes the first. Skips panes for which `PaneFeature::is_stop`
/// returns false.
pub fn cycle(state: &mut UiState, way: Way) {
    let here = state.focus.pane();
    let round: Vec<Pane> = Pane::ALL
        .into_iter()
        .filter(|pane| state.panes.get(*pane).is_stop(state) || *pane == here)
        .collect();
    let at = round.iter().position(|p| *p == here).unwrap_or(0);
    let next = match way {
        Way::Forward => (at + 1) % round.len(),
        Way::Back => (at + round.len() - 1) % round.len(),
    };
    if let Some(pane) = round.get(next) {
        focus(state, *pane);
    }
}

/// Goes one step back. Does the first of these that applies: closes the popup, clears the filter or search, leaves the
/// composer, ends full screen, goes back to the conversation of the parent or lead, or returns the focus to where it
/// was before the pane "Needs you" received it.
pub fn back(state: &mut UiState) {
    if state.close_popup() {
        return;
    }
    let pane = state.focus.pane();
    if state.panes.get_mut(pane).step_back(&mut state.app) {
        return;
    }
    if state.focus == Focus::Composer {
        let narrow = frame_layout::shows_one(state);
        let zoomed = state.arrangement.zoom == Some(Pane::Lead);
        let has_page = crate::ui::app::onboarding::visible_page(state).is_some();
        let pane = if narrow || zoomed || has_page || !state.shown.is_lead() {
            Pane::Lead
        } else {
            state.arrangement.tab
        };
        focus(state, pane);
        state.keys.left_composer = true;
    } else if state.arrangement.zoom.is_some() {
        state.arrangement.zoom = None;
    } else if let Some(parent) = state.shown.parent() {
        show(state, &parent);
    } else if !state.shown.is_lead() {
        state.open_conversation(&Name::lead());
        if state.focus == Focus::Pane(Pane::Lead) {
            focus(state, Pane::Team);
        }
    } else {
        needs::focus::return_focus(state);
    }
}

/// Closes what covers the lead's conversation, or quits crewdeck. Goes one step back, as [`back`] does, if a popup is
/// open, a pane is shown full screen, or the shown conversation is not that of the lead. If none of these is open, or
/// if the composer has the focus, quits. Asks for confirmation first if quitting would stop busy agents or jobs, or if
/// work waits for the user.
pub fn close(state: &mut UiState, out: &mut Vec<Effect>) {
    let is_view =
        !state.popups.is_empty() || state.arrangement.zoom.is_some() || !state.shown.is_lead();
    if is_view && state.focus != Focus::Composer {
        back(state);
    } else if quit::needs_question(state) {
        popup::open(&mut state.app, Confirmation(Quit));
    } else {
        out.push(Effect::Quit);
    }
}

/// Scrolls the focused pane, if it is a conversation or the inbox, to the newest entry, and keeps new entries visible.
/// Does nothing while a popup other than a preview is open.
pub fn follow(state: &mut UiState) {
    if !state.is_in_panes() {
        return;
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    state.panes.get_mut(pane).follow(&mut state.app, area);
}

/// Selects the next or previous tool call in the conversation, the next or previous request, or on the board a task
/// that blocks the selected one or is blocked by it. Does nothing in the other panes.
pub fn neighbour(state: &mut UiState, way: Way) {
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    state
        .panes
        .get_mut(pane)
        .neighbour(&mut state.app, area, way);
}

/// Scrolls the topmost popup if a popup is open, else the focused pane.
pub fn scroll(state: &mut UiState, by: Scroll) {
    if state.popups.is_empty() {
        scroll_pane(state, state.focus.pane(), by);
    } else {
        scroll_popup(state, by);
    }
}

/// Scrolls a pane, which need not have the focus.
pub fn scroll_pane(state: &mut UiState, pane: Pane, by: Scroll) {
    let area = areas::frame_of(state, pane);
    state.panes.get_mut(pane).scroll(&mut state.app, area, by);
}

fn scroll_popup(state: &mut UiState, by: Scroll) {
    if state.popups.top::<Peek>().is_some() {
        return peek::update::scroll(state, by);
    }
    // The result is ignored, because scrolling changes nothing outside the popup.
    let _ = state.with_popup(|popup, app| popup.act(app, Action::Move(by), &mut Vec::new()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::widgets::list::step;

    #[test]
    fn steps_stay_in_the_list() {
        let cases = [
            (0, 5, Scroll::LineUp, 0),
            (4, 5, Scroll::LineDown, 4),
            (0, 5, Scroll::HalfDown, 2),
            (0, 5, Scroll::PageDown, 4),
            (4, 5, Scroll::PageUp, 0),
            (2, 5, Scroll::Bottom, 4),
            (2, 5, Scroll::Top, 0),
            (0, 0, Scroll::Bottom, 0),
        ];
        for (at, len, by, expected) in cases {
            assert_eq!(step(at, len, by, 4), expected, "{at} {len} {by:?}");
        }
    }
}
