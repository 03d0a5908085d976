//! Decisions on approval requests, with or without a comment, and shutdown requests to teammates.

use ratatui::layout::Rect;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decision, Request, RequestKind, Verdict};
use crate::domain::team::MemberStatus;
use crate::protocol::Command;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::effect::Effect;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::app::popup;
use crate::ui::app::status_message::StatusMessage;
use crate::ui::app::{App, drafts};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::needs::{answers, buttons, card};
use crate::ui::panes::{needs, team};
use crate::ui::popups::comment::CommentPopup;
use crate::ui::popups::confirm::Confirmation;
use crate::ui::popups::confirm::end_by_force::EndByForce;
use crate::ui::popups::scopes::ScopeChoices;

/// The key context of the "Needs you" pane.
const NEEDS: Context = Context::In(Pane::Needs);

/// Approves the selected request.
pub fn approve(app: &mut App, area: Option<Rect>, out: &mut Vec<Effect>) {
    decide(app, area, Verdict::Approve, out);
}

/// Rejects the selected request.
pub fn reject(app: &mut App, area: Option<Rect>, out: &mut Vec<Effect>) {
    decide(app, area, Verdict::Reject, out);
}

fn decide(app: &mut App, area: Option<Rect>, verdict: Verdict, out: &mut Vec<Effect>) {
    if let Some(comment) = app.popups.top::<CommentPopup>() {
        let id = comment.request.clone();
        let words = comment.text.text().trim().to_string();
        if words.is_empty() && app.model.requests.is_question(&id) {
            app.say(NoticeLevel::Info, "The answer is empty.");
            return;
        }
        let may_approve = |app: &mut App| has_settled(app, &id) && was_read(app, area, &id);
        if verdict == Verdict::Approve && !may_approve(app) {
            return;
        }
        app.popups.pop();
        answers::send(app, &id, verdict, words, out);
        return;
    }
    let Some((_, request)) = needs::selected_request(app) else {
        app.say_nothing_waits();
        return;
    };
    if request.kind == RequestKind::Question && verdict == Verdict::Approve {
        let key = |action| app.prefs.keymap.key(NEEDS, action);
        let (own, no) = (key(Action::Comment), key(Action::Reject));
        let how = match request.choices.len() {
            0 => format!("Press {own} to answer, {no} to decline."),
            count => {
                let keys = buttons::choice_keys(&app.prefs, count);
                format!(
                    "Press {keys} to choose, {own} to answer in your own words, {no} to decline."
                )
            }
        };
        app.say(NoticeLevel::Info, how);
        return;
    }
    let id = request.id.clone();
    if has_settled(app, &id) && (verdict == Verdict::Reject || was_read(app, area, &id)) {
        answer(app, &id, verdict, String::new(), out);
    }
}

/// Returns whether a permission request was completely visible before its approval. If not, explains what to do.
/// Folded or truncated content is reported once; the next approval counts.
fn was_read(app: &mut App, area: Option<Rect>, id: &RequestId) -> bool {
    let is_selected = needs::selected_request(app).is_some_and(|(_, r)| r.id == *id);
    if !is_selected {
        let kind = app.model.requests.get(id).map(|r| r.kind);
        if kind != Some(RequestKind::Permission) {
            return true;
        }
        // Another card is visible: show this one before it can be approved.
        app.selected.request = Some(id.clone());
        app.selected.request_scroll = 0;
        app.selected.request_since = app.now;
        say_of(
            app,
            id,
            "This request was not visible. Read it, then approve.".into(),
        );
        return false;
    }
    let Some(reading) = card::reading(app, area) else {
        return true;
    };
    if !reading.is_at_end && app.selected.request_read.as_ref() != Some(id) {
        let key = app
            .prefs
            .keymap
            .key(Context::Panes, Action::Move(Scroll::PageDown));
        let text = format!("Not all of it was visible. {key} shows the rest; then approve.");
        say_of(app, id, text);
        return false;
    }
    if reading.folded + reading.cut > 0 && app.selected.request_cut.as_ref() != Some(id) {
        let what = match (reading.cut, reading.folded) {
            (0, folded) => format!("{folded} characters of comments are folded"),
            (cut, 0) => format!("Too long to show: {cut} bytes in the middle are cut"),
            (cut, folded) => {
                format!("{cut} bytes are cut and {folded} characters of comments are folded")
            }
        };
        let yes = app.prefs.keymap.key(NEEDS, Action::Approve);
        let text = format!("{what}. Press {yes} again to approve without reading them.");
        say_of(app, id, text);
        app.selected.request_cut = Some(id.clone());
        // Prevents a double press from approving.
        app.selected.request_since = app.now;
        return false;
    }
    true
}

/// Shows what to do before a request can be approved, until it is answered.
fn say_of(app: &mut App, id: &RequestId, text: String) {
    let about = id.clone();
    app.say_while(NoticeLevel::Warn, text, move |app| {
        app.model.requests.get(&about).is_some() && !app.model.requests.is_answered(&about)
    });
    if let Some(flash) = &mut app.status {
        flash.request = Some(id.clone());
    }
}

/// Returns whether the request has been visible for at least [`SETTLE`], so that a key is meant for it. If not, shows
/// a status message, unless one about this request is already shown.
fn has_settled(app: &mut App, id: &RequestId) -> bool {
    let since = app.selected.request_since;
    let is_new = since.0 > 0.0 && app.now.since(since) < SETTLE;
    let warning = |f: &StatusMessage| f.request.as_ref() == Some(id) && !f.is_read(app.now);
    let is_warned = app.status.as_ref().is_some_and(warning);
    if is_new
        && !is_warned
        && let Some(from) = app.model.requests.get(id).map(|r| r.from.clone())
    {
        let text = format!("A new request from {from} is shown. Read it first.");
        app.say(NoticeLevel::Info, text);
    }
    !is_new
}

/// Opens the choice of scopes for the selected permission.
pub fn choose_scope(app: &mut App, area: Option<Rect>) {
    let Some((_, request)) = needs::selected_request(app) else {
        app.say_nothing_waits();
        return;
    };
    let id = request.id.clone();
    let scopes = request.call.as_ref().map_or(0, |c| c.scopes.len());
    if request.kind != RequestKind::Permission {
        app.say(
            NoticeLevel::Info,
            "Only tool permissions can be given for more than one call.",
        );
    } else if scopes == 0 {
        let key = app.prefs.keymap.key(NEEDS, Action::Approve);
        let why = format!(
            "The text does not show all that runs: it can only be allowed once. Press {key}."
        );
        app.say(NoticeLevel::Info, why);
    } else if has_settled(app, &id) && was_read(app, area, &id) {
        popup::open(app, ScopeChoices::picker(id));
    }
}

/// Answers the selected question with choice ` number`, counted from 1.
pub fn choose(app: &mut App, number: usize, out: &mut Vec<Effect>) {
    let Some((_, request)) = needs::selected_request(app) else {
        return;
    };
    let (id, count) = (request.id.clone(), request.choices.len());
    let Some(choice) = request.choices.get(number.wrapping_sub(1)).cloned() else {
        app.say(
            NoticeLevel::Info,
            format!("There are only {count} choices."),
        );
        return;
    };
    if has_settled(app, &id) {
        answer(app, &id, Verdict::Approve, choice, out);
    }
}

pub(in crate::ui) fn answer(
    app: &mut App,
    id: &RequestId,
    verdict: Verdict,
    comment: String,
    out: &mut Vec<Effect>,
) {
    let Some(request) = app.model.requests.get(id) else {
        app.say(NoticeLevel::Info, "This request is already closed.");
        return;
    };
    if app.model.requests.is_answered(id) {
        return;
    }
    let decision = Decision::on(request, verdict, Name::user(), comment);
    app.selected.request = Some(id.clone());
    app.model.requests.answer(id);
    out.push(Effect::Command(Command::Decide(decision)));
}

/// Opens the comment field for the selected request, or the answer field for a question.
pub fn comment(app: &mut App) {
    open_comment(app, |_| String::new());
}

/// Opens the comment field and `$EDITOR` with it. A plan is prefilled for editing and goes back as the comment.
pub fn edit_comment(app: &mut App, out: &mut Vec<Effect>) {
    open_comment(app, |request| match request.kind {
        RequestKind::Plan => format!("The plan as I want it:\n\n{}", request.body),
        RequestKind::Shutdown
        | RequestKind::Permission
        | RequestKind::Ceiling
        | RequestKind::Question => String::new(),
    });
    if app.is_commenting() {
        drafts::edit_outside(app, out);
    }
}

fn open_comment(app: &mut App, begin: fn(&Request) -> String) {
    let Some((_, request)) = needs::selected_request(app) else {
        app.say_nothing_waits();
        return;
    };
    let comment = CommentPopup::new(request.id.clone(), &begin(request));
    popup::open(app, comment);
}

/// Asks the selected teammate to shut down.
pub fn ask_shutdown(app: &mut App, out: &mut Vec<Effect>) {
    if let Some(member) = selected_at_work(app) {
        let text = format!("Asked {member} to shut down; it finishes its step first.");
        app.say(NoticeLevel::Info, text);
        out.push(Effect::Command(Command::AskShutdown { member }));
    }
}

/// Asks for confirmation to kill the selected teammate.
pub fn force(app: &mut App) {
    if let Some(member) = selected_at_work(app) {
        popup::open(app, Confirmation(EndByForce(member)));
    }
}

/// Asks the selected teammate for a status report.
pub fn nudge(app: &mut App, out: &mut Vec<Effect>) {
    if let Some(member) = selected_at_work(app) {
        app.say(NoticeLevel::Info, format!("Asked {member} for its status."));
        out.push(Effect::Command(Command::Nudge { member }));
    }
}

/// Returns the selected teammate if it is running; otherwise says why nothing can be done.
fn selected_at_work(app: &mut App) -> Option<Name> {
    let Some((_, member)) = team::selected_member(app) else {
        app.say_while(NoticeLevel::Info, "No teammates yet.", |app| {
            app.model.team.members.is_empty()
        });
        return None;
    };
    if let Some(parent) = member.parent() {
        let open = app.prefs.keymap.key(Context::In(Pane::Team), Action::Open);
        let stop = app.prefs.keymap.key(Context::Everywhere, Action::Interrupt);
        let text =
            format!("{member} is a subagent of {parent}: open it with {open}, {stop} stops it.");
        app.say(NoticeLevel::Info, text);
        return None;
    }
    let status = app.model.team.find(&member).map(|m| m.status);
    if status == Some(MemberStatus::Shutdown) {
        app.say(
            NoticeLevel::Info,
            format!("{member} has already shut down."),
        );
        return None;
    }
    Some(member)
}
