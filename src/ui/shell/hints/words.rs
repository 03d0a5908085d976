//! Hint labels that depend on the state of the screen. Pure.

use crate::ui::app::answering;
use crate::ui::app::popup::Popup;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::popups::feature::feature;
use crate::ui::popups::reader::text_search;
use crate::ui::shell::state::UiState;

/// The label of `Back` in a filtered list.
pub const CLEAR_FILTER: &str = "clear filter";
/// The label of `Back` in a searched conversation.
pub const END_SEARCH: &str = "end search";

/// Returns the label of `binding` in the current state.
pub fn words(state: &UiState, binding: &KeyBinding) -> String {
    let app = &state.app;
    let action = binding.action;
    let is_closing_view = app.arrangement.zoom.is_some() || !app.shown.is_lead();
    if action == Action::Waiting {
        return match app.model.requests.for_person() {
            1 => "1 needs you".into(),
            n => format!("{n} need you"),
        };
    }
    let mut panes = Pane::ALL.into_iter().map(|pane| state.panes.get(pane));
    if let Some(words) = panes.find_map(|pane| pane.hint(state, binding)) {
        return words;
    }
    if binding.context == Context::Comment
        && action == Action::Accept
        && let Some(Popup::Comment(comment)) = app.popups.last()
        && app.model.requests.is_question(&comment.request)
    {
        return "send".into();
    }
    // In a dialog, hints have the same labels as its buttons.
    let asks = [Context::TaskForm, Context::Confirm, Context::Leave];
    if asks.contains(&binding.context)
        && let Some(popup) = app.popups.last()
        && let Some((_, words)) = feature(popup)
            .buttons(app, popup)
            .iter()
            .find(|b| b.0 == action)
    {
        return (*words).into();
    }
    if action == Action::Send
        && let Some(question) = answering::question(app)
    {
        return format!("answer {}", question.from);
    }
    if action == Action::Interrupt {
        return format!("stop {}", app.shown);
    }
    if action == Action::Close && is_closing_view {
        return "close".into();
    }
    if binding.context == Context::EventLog
        && let Some(Popup::EventLog(view)) = app.popups.last()
    {
        if action == Action::Back && view.has_filter() {
            return CLEAR_FILTER.into();
        }
        if action == Action::Trouble && view.is_trouble_only() {
            return "show all".into();
        }
    }
    if binding.context == Context::Reader
        && action == Action::Back
        && let Some(Popup::Pager(reader)) = app.popups.last()
        && text_search::is_searching(reader)
    {
        return END_SEARCH.into();
    }
    if action == Action::Back && binding.context == Context::Panes {
        if state.focused().filter().is_some_and(ListFilter::is_set) {
            return CLEAR_FILTER.into();
        }
        let agent = app.model.agents.get(&app.shown);
        let is_searched = agent.is_some_and(|a| a.transcript.search().is_some());
        if is_searched && app.focus == Focus::Pane(Pane::Lead) {
            return END_SEARCH.into();
        }
        if !app.shown.is_lead() && app.arrangement.zoom.is_none() {
            return "back to lead".into();
        }
    }
    binding.hint.into()
}
