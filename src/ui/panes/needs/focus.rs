//! Moves the focus to "Needs you" and back.

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::key_guard::{HOLD, Hold};
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::needs::NeedsPane;

impl NeedsPane {
    /// Selects the oldest open request and focuses the pane. Approval keys take effect at once: only a request that
    /// appears by itself needs the delay that protects from approving it by accident. Shows a status message if no
    /// request is open. Does nothing while the user writes a comment.
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

/// Called after request `last` has changed. If this pane has the focus and no request is open any more, returns the
/// focus to where it was before. If the user decided `last` and the agent that asked is running, the focus first stays
/// here for at most [`HOLD`]. Returns `false` if the focus is not affected.
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
            until: app.now.after(HOLD),
        });
    } else {
        return_focus(app);
    }
    true
}

/// Ends the time in which [`after_decision`] keeps the focus in this pane. If the agent that asked has stopped or the
/// time is over, returns the focus. If the user has left the pane or a request has arrived, the focus stays where it
/// is.
pub fn end_hold(app: &mut App) {
    let Some(hold) = &app.keys.guard.hold else {
        return;
    };
    if app.focus != Focus::Pane(Pane::Needs) || !app.model.requests.is_empty() {
        app.keys.guard.hold = None;
        return;
    }
    let goes_on = hold.until > app.now && app.is_running(&hold.requester);
    if !goes_on && app.popups.is_empty() {
        return_focus(app);
    }
}

/// Moves the focus from this pane back to where it was before. Does nothing if this pane does not have the focus.
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
