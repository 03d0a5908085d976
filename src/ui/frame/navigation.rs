//! Moves the keyboard focus between panes and conversations.

use crate::domain::ids::{Name, RequestId};
use crate::ui::app::App;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};

/// Focuses a pane. If another pane is full screen, ends its full screen. If the pane has a tab, selects the tab. Before
/// "Needs you" gets the focus, remembers the previous focus.
pub fn focus(app: &mut App, pane: Pane) {
    if pane == Pane::Needs && app.focus != Focus::Pane(Pane::Needs) {
        app.keys.before_needs = Some(app.focus);
    }
    if app.arrangement.zoom.is_some_and(|zoomed| zoomed != pane) {
        app.arrangement.zoom = None;
    }
    if Pane::TABS.contains(&pane) {
        app.arrangement.tab = pane;
    }
    app.focus = Focus::Pane(pane);
}

/// Focuses the composer, and ends the full screen of a pane other than the conversation. During a replay, only shows a
/// message, because the recording cannot be changed.
pub fn compose(app: &mut App) {
    if app.replay.is_some() {
        app.say(crate::ui::app::UNCHANGED);
        return;
    }
    if app
        .arrangement
        .zoom
        .is_some_and(|zoomed| zoomed != Pane::Lead)
    {
        app.arrangement.zoom = None;
    }
    app.focus = Focus::Composer;
}

/// Shows the request `id` in the pane "Needs you" and focuses the pane.
pub fn show_request(app: &mut App, id: RequestId) {
    app.ask_panes(PaneRequest::ShowRequest(id));
    focus(app, Pane::Needs);
}

/// Shows and focuses the conversation of `agent`. If the agent is not in the view model yet, adds it.
pub fn show(app: &mut App, agent: &Name) {
    app.model.agents.entry(agent);
    app.open_conversation(agent);
    focus(app, Pane::Lead);
}

/// Shows the conversation of the subagent that the selected tool call started. If no such call is selected, says how to
/// select one.
pub fn show_subagent(app: &mut App) {
    let agent = app.model.agents.get(&app.shown);
    let sent = agent.and_then(|a| a.transcript.selected_subagent().cloned());
    match sent {
        Some(subagent) => show(app, &subagent),
        None => {
            let key = |action| app.prefs.keymap.key(Context::In(Pane::Lead), action);
            let (next, before) = (key(Action::Next), key(Action::Prev));
            let shows = key(Action::Subagent);
            let words = format!(
                "Select a task call with {next} or {before}. {shows} then opens its subagent."
            );
            app.say(words);
        }
    }
}
