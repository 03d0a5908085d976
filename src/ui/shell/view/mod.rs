//! Draws the state into terminal cells. Each file draws one part of the screen. Drawing does not change the state.
//! Pure.

mod hints;
mod replay;
mod status;
mod tour;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::popup::Popup;
use crate::ui::frame::layout::{Layout, SizeClass};
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::lead::onboarding;
use crate::ui::panes::needs::compact;
use crate::ui::shell::hints::lines;
use crate::ui::shell::state::UiState;
pub use crate::ui::shell::view::replay::{places as replay_places, share_of};
pub use crate::ui::shell::view::status::places as status_places;
use crate::ui::shell::{layout, peek};
use crate::ui::theme::Theme;

/// Draws the whole screen and places the terminal's cursor.
pub fn draw(state: &UiState, cache: &mut ViewCache, theme: &Theme, frame: &mut Frame) {
    let area = frame.area();
    let cursor = draw_on(state, cache, theme, area, frame.buffer_mut());
    if let Some(cursor) = cursor.filter(|at| area.contains(*at)) {
        frame.set_cursor_position(cursor);
    }
}

/// Draws the whole screen into `buffer`. Returns the position of the cursor; `None` if the cursor is hidden.
fn draw_on(
    state: &UiState,
    cache: &mut ViewCache,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    cache.begin_frame();
    if area.is_empty() {
        return None;
    }
    buffer.set_style(area, theme.ground);
    let layout = layout::layout(state, area);
    if layout.class == SizeClass::Small {
        onboarding::too_small(area, theme, buffer);
        return None;
    }
    status::draw(state, theme, layout.status, buffer);
    hints::draw(state, theme, layout.hints, buffer);
    if let Some(row) = layout.tour {
        tour::draw(state, theme, row, buffer);
    }
    if let (Some(row), Some(player)) = (layout.replay, &state.replay) {
        replay::draw(player, theme, row, buffer);
    }
    if let Some((row, offered)) = &layout.tabs {
        tabs(state, theme, *row, offered, &layout, buffer);
    }
    if let Some(row) = layout.banner {
        state.panes.needs.draw_banner(state, theme, row, buffer);
    }
    if let Some(area) = layout.request {
        compact::draw(state, theme, area, buffer);
    }
    let mut searching = None;
    for (pane, area) in &layout.panes {
        let canvas = PaneCanvas {
            cache,
            theme,
            buffer,
            is_named_above: is_below_tab(&layout, *area),
            is_team_shown: layout.pane(Pane::Team).is_some(),
        };
        let cursor = state.panes.get(*pane).draw(state, *area, canvas);
        searching = searching.or(cursor);
    }
    // Dimming below a popup changes the colours of cells. A picture consists of coloured cells, so it would be
    // destroyed.
    let is_dimmed = state.popups.last().is_some_and(Popup::dims);
    if !is_dimmed {
        cache.draw_pictures(&state.pictures, buffer);
    }
    let composer = &state.panes.lead;
    let mut cursor = composer
        .draw_composer(state, theme, &layout, buffer)
        .or(searching);
    if let Some(top) = state.popups.last() {
        if top.dims() {
            let from = layout.status.bottom();
            let panes = Rect {
                y: from,
                height: layout.hints.y.saturating_sub(from),
                ..area
            };
            buffer.set_style(panes, theme.backdrop());
        }
        cursor = top.draw(state, theme, area, buffer);
    }
    match layout.peek {
        Some(area) => {
            peek::view::draw(state, cache, theme, area, buffer);
            cache.draw_peeked_pictures(&state.pictures, buffer);
        }
        None => cache.peeked.clear(),
    }
    if let Some(area) = layout.message {
        hints::draw_message(state, theme, area, buffer);
    }
    cursor
}

/// Returns whether the pane with the frame `area` is below the line of tabs, with at most the line that announces open
/// requests in between. The pane then needs no name of its own, because its tab is its name.
fn is_below_tab(layout: &Layout, area: Rect) -> bool {
    layout.tabs.as_ref().is_some_and(|(tabs, _)| {
        let between = layout.banner.filter(|line| line.y == tabs.bottom());
        let top = between.unwrap_or(*tabs).bottom();
        top == area.y && tabs.x == area.x
    })
}

/// Draws the tabs of the panes that share one area.
fn tabs(
    state: &UiState,
    theme: &Theme,
    row: Rect,
    offered: &[Pane],
    layout: &Layout,
    buffer: &mut Buffer,
) {
    for placed in lines::tab_line(state, layout, row, offered) {
        let (pane, label) = placed.what;
        let is_shown = layout.pane(pane).is_some();
        let style = match (is_shown, state.focus.pane() == pane) {
            (true, true) => theme.title_focused,
            (true, false) => theme.title,
            (false, _) if state.panes.get(pane).highlights_tab() => theme.waiting,
            (false, _) => theme.dim,
        };
        Line::styled(label, style).render(placed.at, buffer);
    }
}
