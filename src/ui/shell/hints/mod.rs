//! The hint line: the keys that have an effect in the current state of the screen.

pub(in crate::ui) mod labels;
pub(in crate::ui) mod lines;

use crate::domain::request::Request;
use crate::ui::app::{App, onboarding};
use crate::ui::frame::buttons::Button;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::{CLEAR_FILTER, END_SEARCH};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding, KeyLookup};
use crate::ui::keys;
use crate::ui::panes::needs::buttons::{all_buttons, choice_keys};
use crate::ui::popups;
use crate::ui::shell::hints::labels::words;
use crate::ui::shell::layout;
use crate::ui::shell::layout::areas;
use crate::ui::shell::peek::{self, Peek};
use crate::ui::shell::state::UiState;
use crate::ui::widgets::placed::PlacedPart;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The key, formatted for display.
    pub key: String,
    /// The label, which says what the key does.
    pub words: String,
    pub action: Action,
    pub urgency: Urgency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Shown if there is room.
    Usual,
    /// Shown even if other hints must be left out for it. Used for the key of the help.
    Always,
}

/// Returns the keys that have an effect now, most useful first. After the first key of a two-key sequence, returns all
/// sequences that begin with this key.
pub fn hints(state: &UiState) -> Vec<Hint> {
    if let Some(first) = &state.keys.prefix {
        let contexts = state.contexts();
        let bound = contexts
            .iter()
            .flat_map(|c| state.prefs.keymap.in_context(*c));
        let pairs = bound.flat_map(|b| b.keys.iter().map(move |key| (key, b.words, b.action)));
        return pairs
            .filter(|(key, ..)| key.split_once(' ').is_some_and(|(a, _)| a == first))
            .map(|(key, words, action)| Hint {
                key: keys::format_key(key),
                words: words.into(),
                action,
                urgency: Urgency::Usual,
            })
            .collect();
    }
    let contexts = state.contexts();
    let named = named_elsewhere(state);
    let mut out: Vec<Hint> = Vec::new();
    for binding in contexts
        .iter()
        .flat_map(|c| state.prefs.keymap.in_context(*c))
    {
        if binding.hint.is_empty() || binding.keys.is_empty() || !does_something(state, binding) {
            continue;
        }
        if named.contains(&binding.action) {
            continue;
        }
        // The key is shown only if it runs this action: a more specific context may bind the same key to another
        // action.
        let meant = KeyLookup::Action(binding.action);
        let means = |key: &&String| state.prefs.keymap.lookup(&contexts, key) == meant;
        let Some(key) = binding.keys.iter().find(means) else {
            continue;
        };
        let hint = Hint {
            key: shown_key(state, binding, key),
            words: words(state, binding),
            action: binding.action,
            urgency: if binding.action == Action::Help {
                Urgency::Always
            } else {
                Urgency::Usual
            },
        };
        // Skips a hint whose label or key is already shown, because the hints of more specific contexts come first.
        let is_shown = |h: &Hint| h.words == hint.words || h.key == hint.key;
        if !out.iter().any(is_shown) {
            out.push(hint);
        }
    }
    let card = card_actions(state);
    out.sort_by_key(|hint| {
        let on_card = card.iter().position(|action| *action == hint.action);
        match on_card {
            Some(at) => (0, at),
            None if is_early(state, hint) => (1, 0),
            None => (2, 0),
        }
    });
    out
}

/// Returns the actions whose keys another part of the screen names: the setup page or the buttons of the topmost popup.
/// While a status message is shown, which may cover the buttons, these do not count.
fn named_elsewhere(state: &UiState) -> Vec<Action> {
    if let Some(popup) = state.popups.last() {
        if state.status.is_some() || popup.buttons(state).is_empty() {
            return Vec::new();
        }
        let targets = popup.targets(state).inside.into_iter();
        let action = |target: PlacedPart<Hit>| match target.what {
            Hit::Button(action) => Some(action),
            _ => None,
        };
        return targets.filter_map(action).collect();
    }
    let page = onboarding::visible_page(state).filter(|_| onboarding::has_keys(state));
    let offers = page.map_or(&[][..], |page| &page.offers);
    offers.iter().map(|offer| offer.action).collect()
}

/// Returns the actions that the card in the pane "Needs you" names, in their order. Returns none if another part of the
/// screen receives the keys, or if the user has already decided the request.
fn card_actions(state: &UiState) -> Vec<Action> {
    if state.focus != Focus::Pane(Pane::Needs) || !state.popups.is_empty() {
        return Vec::new();
    }
    let open = |request: &&Request| !state.model.requests.is_answered(&request.id);
    let Some(request) = state.selected_request().filter(open) else {
        return Vec::new();
    };
    // The button that chooses an answer stands for all choices. The hint belongs to the first one.
    let action = |button: Button| button.action.unwrap_or(Action::Choose(1));
    all_buttons(state, request)
        .into_iter()
        .map(action)
        .collect()
}

/// Returns `key` formatted for display. For scrolling the preview, returns the keys of both directions, such as `PgUp
/// PgDn`. For the first choice of a question, returns the keys of all choices, such as `1-3`.
fn shown_key(state: &UiState, binding: &KeyBinding, key: &str) -> String {
    let shown = keys::format_key(key);
    let keymap = &state.prefs.keymap;
    match (binding.context, binding.action) {
        (Context::Peek, Action::Move(Scroll::PageDown)) => {
            let up = keymap.key(Context::Peek, Action::Move(Scroll::PageUp));
            format!("{up} {shown}")
        }
        (Context::Choices, Action::Choose(1)) => {
            state.selected_request().map_or(shown, |question| {
                choice_keys(&state.prefs, question.choices.len())
            })
        }
        _ => shown,
    }
}

/// Returns whether a hint is shown before the others: ending a filter or search, leaving the conversation of a teammate,
/// deciding the previewed request, merging the selected task, and interrupting the agent directly after Esc has left the
/// composer, because Esc interrupts in similar programs.
fn is_early(app: &App, hint: &Hint) -> bool {
    let ends = [CLEAR_FILTER, END_SEARCH].contains(&hint.words.as_str());
    let is_peek = app.popups.top::<Peek>().is_some();
    let answers = [Action::Approve, Action::Reject].contains(&hint.action);
    let stops = hint.action == Action::Interrupt && app.keys.left_composer;
    let merges = hint.action == Action::Merge;
    let is_entered = app.focus == Focus::Pane(Pane::Lead) && !app.shown.is_lead();
    let leaves = hint.action == Action::Back && is_entered && app.popups.is_empty();
    ends || stops || merges || leaves || is_peek && answers
}

/// Returns whether the action of `binding` would have an effect now.
#[allow(clippy::too_many_lines)] // one match over all actions
fn does_something(state: &UiState, binding: &KeyBinding) -> bool {
    let pane = state.focused_pane();
    let in_panes = state.popups.is_empty();
    let is_recording = state.replay.is_some() && binding.action.needs_crew();
    if is_recording || state.role.refuses(binding.action).is_some() {
        return false;
    }
    if binding.context != Context::Everywhere
        && let Some(popup) = state.popups.last()
        && let Some(offers) = popup.offers(state, binding.action)
    {
        return offers;
    }
    match binding.action {
        action if binding.context == Context::FirstRun => onboarding::offers(state, action),
        Action::Interrupt => in_panes && state.role.is_crew() && state.is_running(&state.shown),
        Action::Follow => pane.can_follow(state),
        Action::Popup(name) => {
            popups::by_name(name).is_some_and(|popup| (popup.has_content)(state))
        }
        Action::Subagent => state
            .model
            .agents
            .get(&state.shown)
            .is_some_and(|a| a.transcript.selected_subagent().is_some()),
        Action::Open => pane.can_open(state),
        Action::Next | Action::Prev => pane.has_neighbour(state),
        Action::Enlarge => {
            state.arrangement.zoom.is_none() && !crate::ui::frame::layout::shows_one(state)
        }
        Action::Restore => state.arrangement.zoom.is_some(),
        Action::Move(Scroll::PageDown | Scroll::PageUp) if binding.context == Context::Peek => {
            let area = layout::layout(state, state.size).peek;
            area.is_some_and(|area| peek::scrollbar(state, area).is_some())
        }
        Action::Peek => pane.can_peek(state, areas::frame_of(state, state.focus.pane())),
        Action::Filter => pane.can_filter(state),
        Action::Back if binding.context == Context::Panes => {
            let steps_back = pane.back_label(state).is_some();
            steps_back || state.arrangement.zoom.is_some() || !state.shown.is_lead()
        }
        Action::Send | Action::Newline => match state.popups.last() {
            None => !state.input.composer.is_empty(),
            Some(_) => true,
        },
        Action::Copy if !in_panes => true,
        Action::Copy => pane.can_copy(state),
        action if action.is_only_in_popups() => !in_panes,
        _ => {
            let mut panes = Pane::ALL.into_iter().map(|pane| state.panes.get(pane));
            let offers = panes.find_map(|pane| pane.offers(state, binding.action));
            offers.unwrap_or(true)
        }
    }
}
