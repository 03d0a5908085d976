//! Popups: opening, choosing and copying.

use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Choice, Popup, Text, push};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::feature;
use crate::ui::popups::feature::Copied;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;

/// Opens the help, with the keys of the current context first.
pub fn help(state: &mut UiState) {
    let is_help = |p: &Popup| matches!(p, Popup::Pager(r) if matches!(r.text, Text::Help(_)));
    if !state.popups.iter().any(is_help) {
        let contexts = state.contexts();
        push(state, Popup::read(Text::Help(contexts)));
    }
}

/// Opens the action palette.
pub fn palette(state: &mut UiState) {
    let is_palette = |p: &Popup| matches!(p, Popup::Picker(picker) if matches!(picker.choice, Choice::Palette { .. }));
    if state.is_commenting() || state.popups.iter().any(is_palette) {
        return;
    }
    state.popups.clear();
    let mut contexts = state.contexts();
    // From the composer, the actions of the conversation pane are listed too.
    if state.focus == Focus::Composer {
        contexts.extend([Context::In(Pane::Lead), Context::Panes]);
    }
    let focus = state.focus;
    push(state, Popup::choose(Choice::Palette { contexts, focus }));
}

/// Opens the list of background jobs.
pub fn jobs(app: &mut App) {
    if !app.shows_jobs() {
        push(app, Popup::Jobs { row: 0 });
    }
}

/// Shows more of what is selected.
pub fn open(state: &mut UiState) {
    // The preview shows the selected item, which is opened instead.
    let is_peek = |popup: &mut Popup| matches!(popup, Popup::Peek(_));
    state.popups.pop_if(is_peek);
    if let Some(popup) = feature::top(state) {
        return popup.open(state);
    }
    let pane = state.focus.pane();
    let area = areas::frame_of(state, pane);
    state.panes.get_mut(pane).open(&mut state.app, area);
}

/// Starts a search in the open text or help, or a filter in the focused list.
pub fn filter(state: &mut UiState) {
    if !feature::top(state).is_some_and(|popup| popup.search(state)) && state.is_in_panes() {
        // The filter field is in the pane, so the preview closes.
        state.popups.pop();
        if let Some(filter) = state.panes.get_mut(state.app.focus.pane()).filter_mut() {
            filter.start();
        }
    }
}

/// Accepts the selection or the input. Returns the action chosen in the palette, to be run by the caller.
pub fn accept(state: &mut UiState, out: &mut Vec<Effect>) -> Option<Action> {
    if state.popups.is_empty() && state.is_searching() {
        crate::ui::shell::update::find::keep(state);
        return None;
    }
    if let Some(popup) = feature::top(state) {
        return popup.accept(state, out);
    }
    if let Some(filter) = state.panes.get_mut(state.app.focus.pane()).filter_mut() {
        filter.finish();
    }
    None
}

/// Copies the selection or the open text.
pub fn copy(state: &mut UiState, out: &mut Vec<Effect>) {
    let Some((what, text)) = selected_text(state) else {
        state.say(NoticeLevel::Info, "Nothing to copy here yet.");
        return;
    };
    state.say(NoticeLevel::Info, format!("Copied {what}."));
    out.push(Effect::Copy(text));
}

fn selected_text(state: &UiState) -> Option<(String, String)> {
    match feature::top(state).map_or(Copied::Below, |popup| popup.copied(state)) {
        Copied::Text(what, text) => return Some((what, text)),
        Copied::Nothing => return None,
        Copied::Below => {}
    }
    state.focused().copied(state)
}
