//! Moves the keyboard focus between panes and conversations.
use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::frame::layout as frame_layout;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};

/// Gives the keys to a pane.
pub fn focus(state: &mut UiState, pane: Pane) {
    if pane == Pane::Needs && state.focus != Focus::Pane(Pane::Needs) {
        state.keys.before_needs = Some(state.focus);
    }
    if state.arrangement.zoom.is_some_and(|zoomed| zoomed != pane) {
        state.arrangement.zoom = None;
    }
    if frame_layout::TABS.contains(&pane) {
        state.arrangement.tab = pane;
    }
    state.focus = Focus::Pane(pane);
}

/// Gives the keys to the composer.
pub fn compose(state: &mut UiState) {
    if state.replay.is_some() {
        state.say(Level::Info, crate::ui::app::UNCHANGED);
        return;
    }
    if state
        .arrangement
        .zoom
        .is_some_and(|zoomed| zoomed != Pane::Lead)
    {
        state.arrangement.zoom = None;
    }
    state.focus = Focus::Composer;
}

/// Gives the keys to the oldest request that waits.
pub fn waiting(state: &mut UiState) {
    let Some(oldest) = state.model.requests.at(0).map(|r| r.id.clone()) else {
        state.say_nothing_waits();
        return;
    };
    if state.is_commenting() {
        return;
    }
    state.popups.clear();
    if state.selected.request.as_ref() != Some(&oldest) {
        state.selected.request = Some(oldest);
        state.selected.request_scroll = 0;
    }
    // The user has chosen to look at it.
    state.selected.request_since = Stamp::default();
    focus(state, Pane::Needs);
}

/// Shows the conversation of `agent` and gives it the keys.
pub fn show(state: &mut UiState, agent: &Name) {
    state.model.agents.entry(agent);
    state.open_conversation(agent);
    focus(state, Pane::Lead);
}

/// Shows the conversation of the subagent that the selected tool call sent out.
pub fn subagent(state: &mut UiState) {
    let agent = state.model.agents.get(&state.shown);
    let sent = agent.and_then(|a| a.transcript.selected_subagent().cloned());
    match sent {
        Some(subagent) => show(state, &subagent),
        None => {
            let key = |action| state.prefs.keymap.key(Context::In(Pane::Lead), action);
            let (next, before) = (key(Action::Next), key(Action::Prev));
            let shows = key(Action::Subagent);
            let words = format!(
                "Select a call of task with {next} and {before}: {shows} shows its subagent."
            );
            state.say(Level::Info, words);
        }
    }
}
