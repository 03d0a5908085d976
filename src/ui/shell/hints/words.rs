//! Hint labels that depend on the state of the screen. Pure.

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::panes::lead::answering;
use crate::ui::panes::{board, needs};
use crate::ui::popups::feature::feature;
use crate::ui::popups::reader::text_search;

/// The label of `Back` in a filtered list.
pub const CLEAR_FILTER: &str = "clear filter";
/// The label of `Back` in a searched conversation.
pub const END_SEARCH: &str = "end search";

/// Returns the label of `binding` in the current state.
pub fn words(app: &App, binding: &KeyBinding) -> String {
    let action = binding.action;
    let is_closing_view = app.arrangement.zoom.is_some() || !app.shown.is_lead();
    if action == Action::Waiting {
        return match app.model.requests.for_person() {
            1 => "1 needs you".into(),
            n => format!("{n} need you"),
        };
    }
    if let Some(words) = answer_words(app, binding) {
        return words.into();
    }
    if action == Action::TurnWait
        && let Some((_, id)) = board::selected(app)
    {
        return format!("wait for {id}");
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
        if app.filters.of(app.focus.pane()).is_some() {
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

/// Returns the label for a question, which is answered or declined instead of approved or rejected.
fn answer_words(app: &App, binding: &KeyBinding) -> Option<&'static str> {
    let id = if let Some(Popup::Comment(comment)) = app.popups.last() {
        Some(&comment.request)
    } else if app.is_in_panes() {
        needs::selected_request(app).map(|(_, r)| &r.id)
    } else {
        None
    };
    if !id.is_some_and(|id| app.model.requests.is_question(id)) {
        return None;
    }
    let words = [
        (Context::Comment, Action::Accept, "send"),
        (Context::In(Pane::Needs), Action::Reject, "decline"),
        (Context::In(Pane::Needs), Action::Comment, "answer"),
    ];
    let found = words
        .iter()
        .find(|(context, action, _)| *context == binding.context && *action == binding.action);
    found.map(|(_, _, words)| *words)
}
