//! Hint labels that depend on the state of the screen. Pure.

use crate::ui::app::{answering, recipient};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::shell::state::UiState;

/// Returns the label of `binding` for the key hints: what the action of the key does in the current state.
pub fn words(state: &UiState, binding: &KeyBinding) -> String {
    let app = &state.app;
    let action = binding.action;
    let is_closing_view = app.arrangement.zoom.is_some() || !app.shown.is_lead();
    if binding.context != Context::Everywhere
        && let Some(words) = app.popups.last().and_then(|popup| popup.hint(app, action))
    {
        return words.into();
    }
    let mut panes = Pane::ALL.into_iter().map(|pane| state.panes.get(pane));
    if let Some(words) = panes.find_map(|pane| pane.hint(state, binding)) {
        return words;
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
        && recipient::named_recipient(app).is_none()
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
        if let Some(words) = state.focused_pane().back_label(app) {
            return words.into();
        }
        if !app.shown.is_lead() && app.arrangement.zoom.is_none() {
            return "back to lead".into();
        }
    }
    binding.hint.into()
}
