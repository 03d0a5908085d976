//! Actions on the selection and on filters: open, filter, accept and copy.

use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Copied;
use crate::ui::keymap::Action;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;

/// Opens the selected item of the focused pane, and closes its preview. Does nothing if another popup is open.
pub fn open(state: &mut UiState) {
    // Closes the preview: the item that it shows is opened instead.
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

/// Opens the filter field of the focused pane, if the pane has a filter.
pub fn filter(state: &mut UiState) {
    if state.is_in_panes() {
        // The filter field is in the pane, so the preview closes.
        state.popups.pop();
        if let Some(filter) = state.panes.get_mut(state.app.focus.pane()).filter_mut() {
            filter.start();
        }
    }
}

/// Finishes the text that is being typed in the focused pane. If that accepts a command in the completion list, returns
/// the action to run.
pub fn accept(state: &mut UiState) -> Option<Action> {
    if !state.popups.is_empty() {
        return None;
    }
    let pane = state.focus.pane();
    state.panes.get_mut(pane).accept(&mut state.app)
}

/// Copies the selection or the open text.
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
    match popup.map_or(Copied::Below, |popup| popup.copied(state)) {
        Copied::Text(what, text) => return Some((what, text)),
        Copied::Nothing => return None,
        Copied::Below => {}
    }
    state.focused().copied(state)
}
