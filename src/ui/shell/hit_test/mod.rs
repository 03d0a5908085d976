//! Mouse hit test: finds what a click hits, with the same layout functions that the views draw with. Pure.

mod overlays;
mod panes;

use ratatui::layout::{Position, Rect};

use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout::SizeClass;
use crate::ui::keymap::Action;
use crate::ui::panes::needs::compact;
use crate::ui::shell;
use crate::ui::shell::hints::lines;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::widgets::placed::PlacedPart;

/// Returns the topmost mouse target at the cell in this column and row of the screen, both counted from 0;
/// [`Hit::Nothing`] if no target is there.
pub fn at(state: &UiState, column: u16, row: u16) -> Hit {
    let here = Position::new(column, row);
    let found = targets(state).into_iter().find(|t| t.at.contains(here));
    found.map_or(Hit::Nothing, |t| t.what)
}

/// Returns everything that can be clicked, topmost first: a click hits the first target that contains it. Empty if the
/// screen is too small for panes.
pub fn targets(state: &UiState) -> Vec<PlacedPart<Hit>> {
    let layout = layout::layout(state, state.size);
    if layout.class == SizeClass::Small {
        // On a screen that is too small, only a message about the size is drawn.
        return Vec::new();
    }
    let hints = lines::hint_line(state, layout.hints).into_iter();
    let mut out: Vec<PlacedPart<Hit>> = hints
        .map(|hint| hint.map(|hint| Hit::Button(hint.action)))
        .collect();
    if let Some(popup) = state.popups.last() {
        overlays::popup(state, popup, &mut out);
        return out;
    }
    let composer = &state.panes.lead;
    composer.completion_targets(state, &layout, &mut out);
    let mut put = |at: Rect, what: Hit| out.push(PlacedPart { at, what });
    if let (Some(line), Some(player)) = (layout.replay, &state.replay) {
        let (turn, bar) = shell::view::replay_places(player, line);
        put(turn, Hit::Button(Action::PauseOrPlay));
        put(bar, Hit::Replay(line));
    }
    if let Some(away) = layout
        .tour
        .and_then(|row| lines::tour_dismiss_hint(state, row))
    {
        put(away.at, Hit::Button(Action::ToggleTips));
    }
    if let Some(line) = layout.banner {
        put(line, Hit::Button(Action::Waiting));
    }
    if let Some((line, offered)) = &layout.tabs {
        for tab in lines::tab_line(state, &layout, *line, offered) {
            put(tab.at, Hit::Tab(tab.what.0));
        }
    }
    for piece in shell::view::status_places(state, layout.status) {
        put(piece.at, piece.what);
    }
    for (pane, area) in &layout.panes {
        panes::on_the_frame(state, *pane, *area, &mut out);
    }
    out.extend(layout.border.map(|at| PlacedPart {
        at,
        what: Hit::Border,
    }));
    for (pane, area) in &layout.panes {
        panes::inside(state, *pane, *area, &mut out);
    }
    if let Some(area) = layout.request {
        compact::targets(state, area, &mut out);
    }
    out.extend(layout.composer.map(|at| PlacedPart {
        at,
        what: Hit::Composer,
    }));
    out
}
