//! Moves the focus to the pane "Needs you" and back.

use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::frame::navigation;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::sentence;
use crate::ui::panes::needs::{ClosedRequest, NeedsPane};

impl NeedsPane {
    /// Closes all popups, selects the first request and focuses the pane. The first request is the oldest that the user
    /// must decide, or else the oldest that the lead may decide. If no request is open, only shows a status message.
    /// Does nothing while a popup contains text of the user.
    ///
    /// Keys that approve work immediately, without waiting for the time [`SETTLE`](crate::ui::SETTLE): the user has
    /// pressed a key to see the request, so it does not appear unexpectedly.
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

/// Records how the request `last` was closed, for the text of the empty pane. Called after the request was closed. Does
/// nothing and returns false if this pane does not have the focus.
///
/// Returns true if no request is open any more and the part of the screen that had the focus before is known. The focus
/// stays in this pane, because it must not move while the user reads or presses a key, and the next request often
/// follows. Only in a replay, where the user decides nothing, [`return_focus`] moves the focus back.
pub fn after_decision(pane: &mut NeedsPane, app: &mut App, last: &Request) -> bool {
    if app.focus != Focus::Pane(Pane::Needs) {
        return false;
    }
    pane.closed = Some(ClosedRequest {
        from: last.from.clone(),
        summary: sentence::closed(last),
    });
    let is_last = app.model.requests.is_empty() && app.keys.before_needs.is_some();
    if is_last && app.replay.is_some() {
        return_focus(app);
    }
    is_last
}

/// Forgets how the last request was closed if this pane does not have the focus. Called at the end of each update.
pub fn forget_closed(pane: &mut NeedsPane, app: &App) {
    if app.focus != Focus::Pane(Pane::Needs) {
        pane.closed = None;
    }
}

/// Moves the focus from this pane back to the part of the screen that had the focus before, and ends the full-screen
/// view. Does nothing if another part of the screen has the focus.
pub fn return_focus(app: &mut App) {
    if app.focus != Focus::Pane(Pane::Needs) {
        return;
    }
    if let Some(focus) = app.keys.before_needs.take() {
        app.focus = focus;
        app.arrangement.zoom = None;
        app.dirty = true;
    }
}
