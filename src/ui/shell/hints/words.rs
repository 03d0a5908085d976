//! Hint labels that depend on the state of the screen. Pure.

use crate::ui::app::App;
use crate::ui::frame::{CLEAR_FILTER, END_SEARCH};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::panes::lead::answering;
use crate::ui::panes::{board, needs};

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
    if binding.context != Context::Everywhere
        && let Some(words) = app.popups.last().and_then(|popup| popup.hint(app, action))
    {
        return words.into();
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
        && let Some((_, words)) = popup.buttons(app).iter().find(|b| b.0 == action)
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
    let selected = needs::selected_request(app).filter(|_| app.is_in_panes());
    if !selected.is_some_and(|(_, request)| app.model.requests.is_question(&request.id)) {
        return None;
    }
    let words = [
        (Context::In(Pane::Needs), Action::Reject, "decline"),
        (Context::In(Pane::Needs), Action::Comment, "answer"),
    ];
    let found = words
        .iter()
        .find(|(context, action, _)| *context == binding.context && *action == binding.action);
    found.map(|(_, _, words)| *words)
}
