//! Mouse targets of popups. A popup covers all targets below it.

use crate::ui::app::popup::Popup;
use crate::ui::frame::hit::{Hit, ScrollTarget, has_mouse};
use crate::ui::keymap::Action;
use crate::ui::shell::hit_test::{PlacedPart, panes};
use crate::ui::shell::layout;
use crate::ui::shell::peek::{self, Peek};
use crate::ui::shell::state::UiState;
use crate::ui::widgets::area;

/// Adds the mouse targets of `popup` and of the screen around it to `out`, topmost first. If `popup` is a preview, also
/// adds the mouse targets of the list whose item is previewed.
pub fn popup(state: &UiState, popup: &dyn Popup, out: &mut Vec<PlacedPart<Hit>>) {
    let mut list: Vec<PlacedPart<Hit>> = Vec::new();
    let mut targets = popup.targets(state);
    if let Some(Peek { pane, .. }) = state.popups.top() {
        let layout = layout::layout(state, state.size);
        // The list whose item is previewed stays clickable.
        if let Some(area) = layout.pane(*pane) {
            panes::inside(state, *pane, area, &mut list);
        }
        targets.area = layout.peek.unwrap_or_default();
        targets.bar = peek::scrollbar(state, targets.area);
    }
    let mut put = |at, what| targets.inside.push(PlacedPart { at, what });
    if has_mouse(&state.prefs) {
        put(area::close_mark(targets.area), Hit::Button(Action::Back));
    }
    if let Some(bar) = targets.bar {
        put(bar.at, Hit::Scrollbar(ScrollTarget::Popup, bar));
    }
    out.append(&mut targets.inside);
    out.append(&mut list);
    let around = [(targets.area, Hit::Popup), (state.size, targets.beside)];
    out.extend(around.map(|(at, what)| PlacedPart { at, what }));
}
