//! Answers the request of the shown agent from the composer.

use crate::domain::request::{Request, RequestKind, Verdict};
use crate::ui::app::answering;
use crate::ui::app::effect::Effect;
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::needs::{answers, compact};
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::slash::{self, Slash};

/// Approves or rejects the request of the shown agent, with the draft as the comment, and clears the draft.
///
/// Decides nothing and keeps the draft in these cases; a status message says why:
///
/// - There is no such request, or it has just appeared.
/// - The verdict approves a question, which needs an answer instead.
/// - The verdict approves a permission request that the user has not seen completely. The pane "Needs you" then shows
///   the request.
pub fn decide(state: &mut UiState, verdict: Verdict, out: &mut Vec<Effect>) {
    let Some(request) = answering::request(state) else {
        let text = format!("{} has no open request.", state.shown);
        return state.say(text);
    };
    let (id, what) = (request.id.clone(), request.describe());
    if request.kind == RequestKind::Question && verdict == Verdict::Approve {
        let text = how_to_answer(state, request);
        return state.say(text);
    }
    if !answering::has_settled(state) {
        let text = format!(
            "Not decided: a new request from {} has just appeared. Read it first.",
            request.from
        );
        return state.say(text);
    }
    if verdict == Verdict::Approve && !was_read(state, request) {
        let key = state
            .prefs
            .keymap
            .key(Context::In(Pane::Needs), Action::Approve);
        let text = format!(
            "Part of the request was hidden. Read all of it here, then press {key} to approve."
        );
        navigation::show_request(state, id);
        return state.warn(text);
    }
    let comment = comment(state);
    if !state.input.composer.is_empty() {
        state.input.clear_sent();
    }
    let done = match verdict {
        Verdict::Approve => "Approved",
        Verdict::Reject => "Rejected",
    };
    state.say(format!("{done}: {what}."));
    answers::send(state, &id, verdict, comment, out);
}

fn how_to_answer(state: &UiState, question: &Request) -> String {
    let send = state.prefs.keymap.key(Context::Composer, Action::Send);
    match question.choices.len() {
        0 => format!("This is a question: write the answer and press {send}."),
        count => {
            let numbers = answering::choice_numbers(count);
            format!("This is a question: type {numbers} or your own answer and press {send}.")
        }
    }
}

/// Returns whether the user has seen the whole request. Always true for a request that asks for no permission: only a
/// permission must be read before it is approved.
fn was_read(state: &UiState, request: &Request) -> bool {
    let layout = layout::layout(state, state.size);
    let is_whole = |area| compact::shows_all(&state.model, request, area);
    request.kind != RequestKind::Permission
        || layout.request.is_some_and(is_whole)
        || state
            .panes
            .needs
            .has_read(&state.model, layout.pane(Pane::Needs), &request.id)
}

/// Returns the draft as a comment. If the draft is the slash command for the decision, returns only the text after the
/// command.
fn comment(state: &UiState) -> String {
    let draft = state.input.composer.draft();
    let text = match slash::read(draft.trim()) {
        Slash::Command(Action::ApproveShown | Action::RejectShown, argument) => argument,
        Slash::Command(..) | Slash::Elsewhere(_) | Slash::Unknown(_) | Slash::No => draft.trim(),
    };
    state.input.composer.expand(text).trim().to_string()
}

/// Answers the question of the shown agent with choice `number`, counted from 1. Does nothing if there is no such
/// question or choice.
pub fn choose(state: &mut UiState, number: usize, out: &mut Vec<Effect>) {
    let Some(question) = answering::question(state) else {
        return;
    };
    let (id, from) = (question.id.clone(), question.from.clone());
    if let Some(choice) = question.choices.get(number.wrapping_sub(1)).cloned() {
        state.say(format!("Answer sent to {from}."));
        answers::send(state, &id, Verdict::Approve, choice, out);
    }
}

/// Shows the question of the shown agent in the pane "Needs you" if the draft is the number of a choice that the user
/// cannot see. The draft is then not sent but cleared, because in that pane the user chooses with a key. Returns
/// whether the question was shown.
pub fn show_hidden_choice(state: &mut UiState) -> bool {
    let draft = state.input.composer.draft();
    let Some(question) = answering::question(state) else {
        return false;
    };
    let Some(number) = question.choice_number(&draft) else {
        return false;
    };
    let id = question.id.clone();
    let layout = layout::layout(state, state.size);
    let is_on_card = |area| compact::shows_choice(&state.model, question, area, number);
    let area = layout.pane(Pane::Needs);
    if layout.request.is_some_and(is_on_card)
        || state
            .panes
            .needs
            .shows_choice(&state.model, area, &id, number)
    {
        return false;
    }
    let keymap = &state.prefs.keymap;
    let key = keymap.key(Context::Choices, Action::Choose(number));
    let text = format!(
        "Choice {number} was not visible, so it was not sent. Read it here, then press {key}."
    );
    state.input.clear_sent();
    navigation::show_request(state, id);
    state.warn(text);
    true
}
