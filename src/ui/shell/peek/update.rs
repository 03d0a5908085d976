//! The preview: shows the selected item beside its pane, which keeps the focus.

use ratatui::layout::Position;

use crate::protocol::event::NoticeLevel;
use crate::ui::app::popup;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::needs;
use crate::ui::shell::peek::{Peek, PreviewScroll, ScrollTo};
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::movement;
use crate::ui::shell::{layout, peek};
use crate::ui::widgets::list;

/// Opens the preview of the focused pane's selection.
pub fn open(state: &mut UiState) {
    let pane = state.focus.pane();
    if peek::can(state, pane) {
        popup::open(state, Peek::new(pane));
        note_read(state);
    } else {
        let text = "Nothing to preview here yet.";
        state.say_while(NoticeLevel::Info, text, move |state| {
            !peek::can(state, pane)
        });
    }
}

/// Page keys scroll the preview; line keys and the ends select another item.
pub fn scroll(state: &mut UiState, by: Scroll) {
    match by {
        Scroll::HalfUp | Scroll::HalfDown | Scroll::PageUp | Scroll::PageDown => {
            read(state, ScrollTo::By(by));
        }
        Scroll::LineUp | Scroll::LineDown | Scroll::Top | Scroll::Bottom => select(state, by),
    }
}

/// Scrolls the preview.
pub fn read(state: &mut UiState, to: ScrollTo) {
    let area = layout::layout(state, state.size).peek;
    if let Some(reading) = area.and_then(|area| peek::go(state, area, to)) {
        set_scroll(state, reading);
    }
    note_read(state);
}

fn set_scroll(state: &mut UiState, scroll: PreviewScroll) {
    if let Some(peek) = state.popups.top_mut::<Peek>() {
        peek.scroll = scroll;
    }
}

/// Records that the end of the previewed request was visible.
fn note_read(state: &mut UiState) {
    let area = layout::layout(state, state.size).peek;
    if let Some(id) = area.and_then(|area| peek::request_at_end(state, area)) {
        state.selected.request_read = Some(id);
    }
}

/// Returns whether a screen cell belongs to the list whose selection is previewed.
pub fn is_in_list(state: &UiState, here: Position) -> bool {
    let layout = layout::layout(state, state.size);
    let list = layout.pane(state.focus.pane());
    list.is_some_and(|area| area.contains(here))
}

/// Selects another item of the same pane.
fn select(state: &mut UiState, by: Scroll) {
    step(state, by);
    note_read(state);
}

fn step(state: &mut UiState, by: Scroll) {
    let pane = state.focus.pane();
    set_scroll(state, PreviewScroll::default());
    if pane != Pane::Needs {
        return movement::scroll_pane(state, pane, by);
    }
    // In Needs you these keys scroll the card. The preview shows all of it, so they select the next card.
    let way = match by {
        Scroll::LineDown => Way::Forward,
        Scroll::LineUp => Way::Back,
        Scroll::HalfUp
        | Scroll::HalfDown
        | Scroll::PageUp
        | Scroll::PageDown
        | Scroll::Top
        | Scroll::Bottom => {
            let at = needs::selected_request(state).map_or(0, |(at, _)| at);
            let to = list::step(
                at,
                state.model.requests.len(),
                by,
                state.model.requests.len().max(1),
            );
            let id = state.model.requests.at(to).map(|r| r.id.clone());
            state.selected.request = id.or(state.selected.request.take());
            state.selected.request_scroll = 0;
            return;
        }
    };
    movement::neighbour(state, way);
}
