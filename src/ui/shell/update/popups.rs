//! Actions on the selection and on filters: open, filter, accept and copy.

use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Copied;
use crate::ui::keymap::Action;
use crate::ui::shell::layout::areas;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;

/// Closes the preview, if one is open, and opens the selected item of the focused pane. Does nothing if another popup
/// is open.
pub fn open(state: &mut UiState) {
    // The previewed item itself is opened, so the preview closes.
    if state.popups.top::<Peek>().is_some() {
        state.popups.pop();
    }
    if !state.popups.is_empty() {
        return;
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    state.panes.get_mut(pane).open(&mut state.app, area);
}

/// Opens the filter field of the focused pane, if the pane has a filter, and closes the preview. Does nothing if another
/// popup is open.
pub fn filter(state: &mut UiState) {
    if state.is_in_panes() {
        // The preview closes, because the filter field is in the pane.
        state.popups.pop();
        if let Some(filter) = state.panes.get_mut(state.app.focus.pane()).filter_mut() {
            filter.start();
        }
    }
}

/// Accepts the text that is typed in the focused pane, such as a filter. If this accepts a slash command from the
/// completion list, returns the command's action for the caller to run. Otherwise, returns `None`. Does nothing while a
/// popup is open.
pub fn accept(state: &mut UiState) -> Option<Action> {
    if !state.popups.is_empty() {
        return None;
    }
    let pane = state.focus.pane();
    state.panes.get_mut(pane).accept(&mut state.app)
}

/// Copies a text to the clipboard: the text that the topmost popup offers, or the selection of the focused pane if no
/// popup is open or the popup leaves copying to the pane. A status message says what was copied, or that there is nothing
/// to copy.
pub fn copy(state: &mut UiState, out: &mut Vec<Effect>) {
    let Some((what, text)) = selected_text(state) else {
        state.say("Nothing to copy here yet.");
        return;
    };
    state.say(format!("Copied {what}."));
    out.push(Effect::Copy(text));
}

fn selected_text(state: &UiState) -> Option<(String, String)> {
    let popup = state.popups.last();
    match popup.map_or(Copied::Below, |popup| popup.clipboard_text(state)) {
        Copied::Text(what, text) => return Some((what, text)),
        Copied::Nothing => return None,
        Copied::Below => {}
    }
    state.focused_pane().clipboard_text(state)
}
