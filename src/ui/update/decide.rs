//! Yes or no to what waits for the person, with a comment or without; asking a teammate to leave.

use std::time::Duration;

use super::Do;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decision, Verdict};
use crate::domain::team::MemberStatus;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::composer::Composer;
use crate::ui::popup::{CommentBox, CommentStage, POPUPS_MAX, Popup, Question};
use crate::ui::rows;
use crate::ui::state::UiState;

/// How long a request that took another's place must be in view before a key decides it: the second
/// press of a key that was meant for the first one must not.
const SETTLE: Duration = Duration::from_millis(400);

/// Says yes to the selected request.
pub fn approve(state: &mut UiState, out: &mut Vec<Do>) {
    decide(state, Verdict::Approve, out);
}

/// Says no to the selected request.
pub fn reject(state: &mut UiState, out: &mut Vec<Do>) {
    decide(state, Verdict::Reject, out);
}

fn decide(state: &mut UiState, verdict: Verdict, out: &mut Vec<Do>) {
    if let Some(Popup::Comment(comment)) = state.popups.last() {
        let id = comment.request.clone();
        let words = comment.text.text().trim().to_string();
        state.popups.pop();
        answer(state, &id, verdict, words, out);
        return;
    }
    let Some((_, request)) = rows::selected_request(state) else {
        state.say(Level::Info, "Nothing waits for you.");
        return;
    };
    let id = request.id.clone();
    let since = state.selected.request_since;
    if since.0 > 0.0 && state.now.since(since) < SETTLE {
        let text = format!("This is another request, by {}: look first.", request.from);
        state.say(Level::Info, text);
        return;
    }
    answer(state, &id, verdict, String::new(), out);
}

fn answer(
    state: &mut UiState,
    id: &RequestId,
    verdict: Verdict,
    comment: String,
    out: &mut Vec<Do>,
) {
    let Some(request) = state.requests.get(id) else {
        state.say(Level::Info, "That request waits no more.");
        return;
    };
    if state.requests.is_answered(id) {
        return;
    }
    let decision = Decision {
        id: request.id.clone(),
        kind: request.kind,
        target: request.target.clone(),
        verdict,
        by: Name::user(),
        comment,
    };
    state.selected.request = Some(id.clone());
    state.requests.answer(id);
    out.push(Do::Command(Command::Decide(decision)));
}

/// Opens a field for a comment to the selected request.
pub fn comment(state: &mut UiState) {
    let Some((_, request)) = rows::selected_request(state) else {
        state.say(Level::Info, "Nothing waits for you.");
        return;
    };
    let request = request.id.clone();
    if state.popups.len() < POPUPS_MAX {
        state.popups.push(Popup::Comment(Box::new(CommentBox {
            request,
            text: Composer::default(),
            stage: CommentStage::Writing,
        })));
    }
}

/// Asks the selected teammate to shut down.
pub fn ask_shutdown(state: &mut UiState, out: &mut Vec<Do>) {
    if let Some(member) = selected_at_work(state) {
        let text = format!("Asked {member} to shut down: it ends its step first.");
        state.say(Level::Info, text);
        out.push(Do::Command(Command::AskShutdown { member }));
    }
}

/// Asks whether the selected teammate is to be ended by force.
pub fn force(state: &mut UiState) {
    if let Some(member) = selected_at_work(state)
        && state.popups.len() < POPUPS_MAX
    {
        state.popups.push(Popup::Confirm(Question::Force(member)));
    }
}

/// Asks the selected teammate where it stands.
pub fn nudge(state: &mut UiState, out: &mut Vec<Do>) {
    if let Some(member) = selected_at_work(state) {
        state.say(Level::Info, format!("Asked {member} where it stands."));
        out.push(Do::Command(Command::Nudge { member }));
    }
}

/// The selected teammate, if it is at work; else says why there is nothing to do.
fn selected_at_work(state: &mut UiState) -> Option<Name> {
    let Some((_, member)) = rows::selected_member(state) else {
        state.say(Level::Info, "There is no teammate yet.");
        return None;
    };
    if let Some(parent) = member.parent() {
        let text =
            format!("{member} is a subagent of {parent}: open it with Enter, Ctrl+c stops it.");
        state.say(Level::Info, text);
        return None;
    }
    let status = state.team.find(&member).map(|m| m.status);
    if status == Some(MemberStatus::Shutdown) {
        state.say(Level::Info, format!("{member} has shut down already."));
        return None;
    }
    Some(member)
}
