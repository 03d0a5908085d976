//! Focus, selection, scrolling and the way back.

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::navigation::{focus, show};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes;
use crate::ui::panes::lead::complete_update;
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::quit::Quit;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;

use crate::ui::shell::peek::{self, Peek};

/// Focuses a pane; if it is focused, toggles full screen.
pub fn focus_or_zoom(app: &mut App, pane: Pane) {
    if app.focus != Focus::Pane(pane) || app.keys.left_composer {
        focus(app, pane);
    } else if app.arrangement.zoom.is_some() {
        app.arrangement.zoom = None;
    } else {
        enlarge(app);
    }
}

/// Shows the focused pane full screen.
pub fn enlarge(app: &mut App) {
    if !frame_layout::shows_one(app) {
        app.arrangement.zoom = Some(app.focus.pane());
    }
}

/// Focuses the next or previous pane; wraps around.
pub fn cycle(app: &mut App, way: Way) {
    let here = app.focus.pane();
    let round: Vec<Pane> = Pane::ALL
        .into_iter()
        .filter(|pane| panes::feature::feature(*pane).is_stop(app) || *pane == here)
        .collect();
    let at = round.iter().position(|p| *p == here).unwrap_or(0);
    let next = match way {
        Way::Forward => (at + 1) % round.len(),
        Way::Back => (at + round.len() - 1) % round.len(),
    };
    if let Some(pane) = round.get(next) {
        focus(app, *pane);
    }
}

/// Goes one step back: closes the popup, leaves the composer, clears the filter, ends full screen, returns to the
/// lead.
pub fn back(app: &mut App) {
    if app.close_popup() {
        return;
    }
    if complete_update::put_away(app) {
        return;
    }
    if app.focus == Focus::Composer {
        let narrow = frame_layout::shows_one(app);
        let zoomed = app.arrangement.zoom == Some(Pane::Lead);
        let has_page = crate::ui::app::onboarding::drawn(app).is_some();
        let pane = if narrow || zoomed || has_page || !app.shown.is_lead() {
            Pane::Lead
        } else {
            app.arrangement.tab
        };
        focus(app, pane);
        app.keys.left_composer = true;
    } else if app.filters.remove(app.focus.pane())
        || app.focus == Focus::Pane(Pane::Lead) && crate::ui::shell::update::find::end(app)
    {
    } else if app.arrangement.zoom.is_some() {
        app.arrangement.zoom = None;
    } else if let Some(parent) = app.shown.parent() {
        show(app, &parent);
    } else if !app.shown.is_lead() {
        app.open_conversation(&Name::lead());
        if app.focus == Focus::Pane(Pane::Lead) {
            focus(app, Pane::Team);
        }
    } else if app.focus == Focus::Pane(Pane::Needs)
        && let Some(before) = app.keys.before_needs.take()
    {
        app.focus = before;
    }
}

/// Closes the view. At the top level quits crewdeck, after confirmation if agents or jobs are running.
pub fn close(app: &mut App, out: &mut Vec<Effect>) {
    let is_view = !app.popups.is_empty() || app.arrangement.zoom.is_some() || !app.shown.is_lead();
    if is_view && app.focus != Focus::Composer {
        back(app);
    } else if app.at_stake() + app.jobs_at_stake() > 0 {
        popup::open(app, Confirmation(Quit));
    } else {
        out.push(Effect::Quit);
    }
}

/// Scrolls a conversation or the inbox to the newest entry and follows it.
pub fn follow(state: &mut UiState) {
    if !state.is_in_panes() {
        return;
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    panes::feature::feature(pane).follow(state, area);
}

/// Selects the next or previous tool call, card or task.
pub fn neighbour(state: &mut UiState, way: Way) {
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    panes::feature::feature(pane).neighbour(state, area, way);
}

/// Scrolls the focused pane or the top popup.
pub fn scroll(state: &mut UiState, by: Scroll) {
    if complete_update::select(state, by) {
        return;
    }
    if state.popups.is_empty() {
        scroll_pane(state, state.focus.pane(), by);
    } else {
        scroll_popup(state, by);
    }
}

/// Scrolls a pane, focused or not.
pub fn scroll_pane(state: &mut UiState, pane: Pane, by: Scroll) {
    let area = areas::frame_of(state, pane);
    panes::feature::feature(pane).scroll(state, area, by);
}

fn scroll_popup(state: &mut UiState, by: Scroll) {
    if state.popups.top::<Peek>().is_some() {
        return peek::update::scroll(state, by);
    }
    // Scrolling has no effect outside the popup.
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
