//! Moves the focus to the pane "Needs you" and back.

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::key_guard::{HOLD, Hold};
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::needs::NeedsPane;

impl NeedsPane {
    /// Closes all popups, selects the first request and focuses the pane. The first request is the oldest that the user
    /// must decide, or else the oldest that the lead may decide. Keys that approve take effect at once, because the
    /// delay against accidental approval is needed only if a request appears without a key press. If no request is
    /// open, only shows a status message. Does nothing while a popup contains text of the user.
    pub fn focus_oldest(&mut self, app: &mut App) {
        if app.model.requests.is_empty() {
            app.say_nothing_waits();
            return;
        }
        if app.is_commenting() {
            return;
        }
        app.popups.clear();
        let oldest = app.model.requests.at(0).map(|r| r.id.clone());
        if self.selected != oldest {
            self.selected = oldest;
            self.scroll = 0;
        }
        self.since = Timestamp::default();
        navigation::focus(app, Pane::Needs);
    }
}

/// Called after request `last` has changed. Returns whether the focus is to move back: no request is open any more, and
/// this pane has the focus and has received it from another part of the screen. If so, moves the focus back with
/// [`return_focus`]. But if the user decided `last` and the agent that made it is still running, the focus moves only
/// when [`end_hold`] ends the delay; in a replay, there is no delay.
pub fn after_decision(app: &mut App, last: &Request) -> bool {
    let is_last = app.model.requests.is_empty()
        && app.focus == Focus::Pane(Pane::Needs)
        && app.keys.before_needs.is_some();
    if !is_last {
        return false;
    }
    let is_users = last.decided_by == Name::user().as_str();
    if is_users && app.is_running(&last.from) && app.replay.is_none() {
        app.keys.guard.hold = Some(Hold {
            requester: last.from.clone(),
            until: None,
        });
    } else {
        return_focus(app);
    }
    true
}

/// Called for each key press. Limits the delay that [`after_decision`] has started to [`HOLD`]: a user who is present
/// and presses other keys may want to write.
pub fn note_key(app: &mut App) {
    if let Some(hold) = &mut app.keys.guard.hold {
        hold.until = hold.until.or(Some(app.now.after(HOLD)));
    }
}

/// Ends the delay that [`after_decision`] has started if its time is over or the agent that made the request has
/// stopped. Moves the focus back with [`return_focus`], but waits while a popup is open. If the user has left the pane
/// or a new request has arrived, ends the delay without moving the focus.
pub fn end_hold(app: &mut App) {
    let Some(hold) = &app.keys.guard.hold else {
        return;
    };
    if app.focus != Focus::Pane(Pane::Needs) || !app.model.requests.is_empty() {
        app.keys.guard.hold = None;
        return;
    }
    let goes_on = hold.until.is_none_or(|until| until > app.now) && app.is_running(&hold.requester);
    if !goes_on && app.popups.is_empty() {
        return_focus(app);
    }
}

/// Moves the focus from this pane back to the part of the screen that had the focus before, and ends the full-screen
/// view. Does nothing if another part of the screen has the focus.
pub fn return_focus(app: &mut App) {
    if app.focus != Focus::Pane(Pane::Needs) {
        return;
    }
    app.keys.guard.hold = None;
    if let Some(focus) = app.keys.before_needs.take() {
        app.focus = focus;
        app.arrangement.zoom = None;
        app.dirty = true;
    }
}
