//! Opens, scrolls and moves the preview: the selected item of a pane, shown outside the pane, which keeps the focus.

use crate::ui::app::App;
use ratatui::layout::Position;

use crate::ui::app::popup;
use crate::ui::keymap::direction::Scroll;
use crate::ui::shell::layout::areas;
use crate::ui::shell::peek::{Peek, PreviewScroll, ScrollTo};
use crate::ui::shell::state::UiState;
use crate::ui::shell::{layout, peek};

/// Opens the preview of the item that is selected in the focused pane. If the pane has nothing to preview, shows a
/// status message that says why instead.
pub fn open(state: &mut UiState) {
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    if state.panes.get(pane).can_peek(state, area) {
        popup::open(state, Peek::new(pane));
        note_read(state);
    } else {
        let why = state.panes.get(pane).why_no_preview(state);
        state.say(why);
        if let Some(message) = &mut state.status {
            message.nothing_in = Some(pane);
        }
    }
}

/// Handles a scroll command while a preview is open. Commands for a page or half a page scroll the preview; all others
/// select another item of the previewed pane.
pub fn scroll(state: &mut UiState, by: Scroll) {
    match by {
        Scroll::HalfUp | Scroll::HalfDown | Scroll::PageUp | Scroll::PageDown => {
            read(state, ScrollTo::By(by));
        }
        Scroll::LineUp | Scroll::LineDown | Scroll::Top | Scroll::Bottom => select(state, by),
    }
}

pub fn read(state: &mut UiState, to: ScrollTo) {
    let area = layout::layout(state, state.size).peek;
    if let Some(reading) = area.and_then(|area| peek::scroll_position_after(state, area, to)) {
        set_scroll(state, reading);
    }
    note_read(state);
}

fn set_scroll(app: &mut App, scroll: PreviewScroll) {
    if let Some(peek) = app.popups.top_mut::<Peek>() {
        peek.scroll = scroll;
    }
}

/// Tells the previewed pane that the user has read the preview, if the last line of the preview is visible.
fn note_read(state: &mut UiState) {
    let area = layout::layout(state, state.size).peek;
    if let Some(pane) = area.and_then(|area| peek::read_to_end(state, area)) {
        state.panes.get_mut(pane).preview_was_read(&state.app);
    }
}

/// Returns whether the cell `here` of the screen belongs to the list whose selection is previewed.
pub fn is_in_list(state: &UiState, here: Position) -> bool {
    let layout = layout::layout(state, state.size);
    let list = layout.pane(state.focus.pane());
    list.is_some_and(|area| area.contains(here))
}

/// Selects another item of the previewed pane.
fn select(state: &mut UiState, by: Scroll) {
    step(state, by);
    note_read(state);
}

fn step(state: &mut UiState, by: Scroll) {
    let pane = state.focus.pane();
    set_scroll(state, PreviewScroll::default());
    let area = areas::frame_of(state, pane);
    let feature = state.panes.get_mut(pane);
    feature.step_preview(&mut state.app, area, by);
}
