//! Decisions on requests, with or without a comment.

use ratatui::layout::Rect;

use crate::domain::ids::RequestId;
use crate::domain::request::{Request, RequestKind, Verdict};
use crate::ui::app::effect::Effect;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::app::popup;
use crate::ui::app::status_message::MESSAGE_ROWS_MAX;
use crate::ui::app::status_message::StatusMessage;
use crate::ui::app::{App, drafts};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::needs::{NeedsPane, answers, buttons, card};
use crate::ui::popups::comment::CommentPopup;
use crate::ui::popups::scopes::ScopeChoices;

const NEEDS: Context = Context::In(Pane::Needs);

impl NeedsPane {
    /// If the user is writing a comment on a request, approves or rejects this request together with the comment.
    /// Otherwise approves or rejects the selected request without a comment. In these cases, sends nothing and shows a
    /// status message that says why:
    ///
    /// - The answer to a question is empty, or the user approves a question without writing an answer.
    /// - The request appeared less than [`SETTLE`] ago. This does not prevent a rejection with a comment.
    /// - The user approves a permission request without having seen all of it.
    pub fn decide(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        verdict: Verdict,
        out: &mut Vec<Effect>,
    ) {
        if let Some(comment) = app.popups.top::<CommentPopup>() {
            let id = comment.request.clone();
            let words = comment.text.text().trim().to_string();
            if words.is_empty() && app.model.requests.is_question(&id) {
                app.say("The answer is empty: write it first.");
                return;
            }
            if verdict == Verdict::Approve
                && !(self.has_settled(app, &id) && self.was_read(app, area, &id))
            {
                return;
            }
            app.popups.pop();
            answers::send(app, &id, verdict, words, out);
            return;
        }
        let Some((_, request)) = self.selected_request(app) else {
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
            app.say(how);
            return;
        }
        let id = request.id.clone();
        if self.has_settled(app, &id)
            && (verdict == Verdict::Reject || self.was_read(app, area, &id))
        {
            answers::decide(app, &id, verdict, String::new(), out);
        }
    }

    /// Returns whether the user has seen the whole permission request, so that it may be approved. If not, shows a
    /// status message that says what to do. If parts are folded or cut, warns the user once; after that, the request
    /// counts as seen. Other kinds of requests always count as seen.
    fn was_read(&mut self, app: &mut App, area: Option<Rect>, id: &RequestId) -> bool {
        let is_selected = self.selected_request(app).is_some_and(|(_, r)| r.id == *id);
        if !is_selected {
            let kind = app.model.requests.get(id).map(|r| r.kind);
            if kind != Some(RequestKind::Permission) {
                return true;
            }
            // Another request was visible, so this one is shown first. The user can approve it with a later key press.
            self.show(id.clone());
            self.since = app.now;
            warn_about(
                app,
                id,
                "This request was not visible. Read it, then approve.".into(),
            );
            return false;
        }
        let Some(reading) = card::reading_progress(self, app, area) else {
            return true;
        };
        if !reading.is_at_end && self.seen_to_end.as_ref() != Some(id) {
            let key = app
                .prefs
                .keymap
                .key(Context::Panes, Action::Move(Scroll::PageDown));
            let text =
                format!("Part of the request was hidden. {key} shows the rest; then approve.");
            warn_about(app, id, text);
            return false;
        }
        if reading.folded + reading.cut > 0 && self.warned_incomplete.as_ref() != Some(id) {
            let what = match (reading.cut, reading.folded) {
                (0, folded) => {
                    format!("{folded} characters of the command's comments are hidden")
                }
                (cut, 0) => format!("Too long to show: {cut} bytes in the middle are hidden"),
                (cut, folded) => {
                    format!("{cut} bytes and {folded} characters of comments are hidden")
                }
            };
            let yes = app.prefs.keymap.key(NEEDS, Action::Approve);
            let text = format!("{what}. Press {yes} again to approve without reading them.");
            warn_about(app, id, text);
            self.warned_incomplete = Some(id.clone());
            // The second press of a double press must not approve the request.
            self.since = app.now;
            return false;
        }
        true
    }

    /// Returns whether the request has been visible for at least [`SETTLE`], so that the key press was meant for this
    /// request. If not, shows a status message, unless one about this request is already shown.
    fn has_settled(&self, app: &mut App, id: &RequestId) -> bool {
        let since = self.since;
        let is_new = since.0 > 0.0 && app.now.since(since) < SETTLE;
        let warning = |f: &StatusMessage| f.request.as_ref() == Some(id) && !f.is_read(app.now);
        let is_warned = app.status.as_ref().is_some_and(warning);
        if is_new
            && !is_warned
            && let Some(from) = app.model.requests.get(id).map(|r| r.from.clone())
        {
            let text =
                format!("Key ignored: a new request from {from} has just appeared. Read it first.");
            app.say(text);
        }
        !is_new
    }

    /// Opens the picker with the scopes that the selected permission request offers, to approve more than this one call
    /// for the whole team. If the request offers no scope, a status message says why.
    pub fn choose_scope(&mut self, app: &mut App, area: Option<Rect>) {
        let Some((_, request)) = self.selected_request(app) else {
            app.say_nothing_waits();
            return;
        };
        let id = request.id.clone();
        let scopes = request.call.as_ref().map_or(0, |c| c.scopes.len());
        if request.kind != RequestKind::Permission {
            app.say("Only tool permissions can be approved for the whole team.");
        } else if scopes == 0 {
            let key = app.prefs.keymap.key(NEEDS, Action::Approve);
            let why = format!(
                "The request does not show everything that would run, so it can only be approved once: press {key}."
            );
            app.say(why);
        } else if self.has_settled(app, &id) && self.was_read(app, area, &id) {
            popup::open(app, ScopeChoices::picker(id));
        }
    }

    /// Answers the selected question with choice `number`, counted from 1.
    pub fn choose(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        number: usize,
        out: &mut Vec<Effect>,
    ) {
        let Some((_, request)) = self.selected_request(app) else {
            return;
        };
        let (id, count) = (request.id.clone(), request.choices.len());
        let Some(choice) = request.choices.get(number.wrapping_sub(1)).cloned() else {
            app.say(format!("There are only {count} choices."));
            return;
        };
        if self.has_settled(app, &id) && self.saw_choice(app, area, &id, number) {
            answers::decide(app, &id, Verdict::Approve, choice, out);
        }
    }

    /// Returns whether choice `number` of question `id` is visible or was seen. If not, scrolls the choice into view
    /// and shows a status message. A key press after the time [`SETTLE`] can then choose it.
    fn saw_choice(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        id: &RequestId,
        number: usize,
    ) -> bool {
        if self.shows_choice(app, area, id, number) {
            return true;
        }
        if let Some(area) = area {
            // The message below can take rows of the pane. The choice must stay in view then.
            let height = area.height.saturating_sub(MESSAGE_ROWS_MAX);
            let lower = Rect { height, ..area };
            self.scroll = card::scroll_to_choice(self, app, lower, number);
        }
        let text = format!("Choice {number} was not visible. Read it, then choose.");
        warn_about(app, id, text);
        // The second press of a double press must not choose the answer.
        self.since = app.now;
        false
    }

    /// Opens the comment field for the selected request. For a question, this is the field for the answer.
    pub fn comment(&self, app: &mut App) {
        self.open_comment(app, |_| String::new());
    }

    /// Opens the comment field for the selected request and edits its text in `$EDITOR`. For a plan, the text starts
    /// with the plan, so that the user can send back a changed plan as the comment.
    pub fn edit_comment(&self, app: &mut App, out: &mut Vec<Effect>) {
        self.open_comment(app, |request| match request.kind {
            RequestKind::Plan => format!("The plan as I want it:\n\n{}", request.body),
            _ => String::new(),
        });
        if app.is_commenting() {
            drafts::edit_outside(app, out);
        }
    }

    fn open_comment(&self, app: &mut App, begin: fn(&Request) -> String) {
        let Some((_, request)) = self.selected_request(app) else {
            app.say_nothing_waits();
            return;
        };
        let comment = CommentPopup::new(request.id.clone(), &begin(request));
        popup::open(app, comment);
    }
}

/// Shows a warning about a request as the status message. It disappears like other status messages, and at the latest
/// when the request is answered or closed.
pub fn warn_about(app: &mut App, id: &RequestId, text: String) {
    let about = id.clone();
    app.warn(text);
    app.keep_message_while(move |app| {
        app.model.requests.get(&about).is_some() && !app.model.requests.is_answered(&about)
    });
    if let Some(message) = &mut app.status {
        message.request = Some(id.clone());
    }
}
