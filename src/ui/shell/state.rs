//! The whole state of the dashboard: the state that panes and popups share, and the state that only the shell uses.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use jiff::tz::TimeZone;

use crate::domain::ids::Name;
use crate::domain::notification::NotifyKind;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::app::key_guard::KeyGuard;
use crate::ui::frame::hit::Pointer;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::requests::RequestBook;
use crate::ui::notifier::Notifier;
use crate::ui::panes::Panes;
use crate::ui::panes::feature::{PaneFeature, SelectedItem};
use crate::ui::shell::demo_step::DemoStep;
use crate::ui::shell::peek::Peek;

#[derive(Debug)]
pub struct UiState {
    pub(in crate::ui) app: App,
    pub(in crate::ui) panes: Panes,
    /// What the mouse is dragging, and the target of its last click.
    pub(in crate::ui) pointer: Pointer,
    pub(in crate::ui) is_tour_dismissed: bool,
    /// The demo steps that the user has done. Their tips are not shown again.
    pub(in crate::ui) followed_tips: BTreeSet<DemoStep>,
    pub(in crate::ui) notifier: Notifier,
}

impl UiState {
    /// Creates an empty screen of `width` columns and `height` rows that shows times in `zone`.
    pub fn new(width: u16, height: u16, zone: TimeZone) -> UiState {
        UiState {
            app: App::new(width, height, zone),
            panes: Panes::default(),
            pointer: Pointer::default(),
            is_tour_dismissed: false,
            followed_tips: BTreeSet::new(),
            notifier: Notifier::with_kinds(&NotifyKind::ALL),
        }
    }
}

impl Deref for UiState {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl DerefMut for UiState {
    fn deref_mut(&mut self) -> &mut App {
        &mut self.app
    }
}

impl UiState {
    /// Returns the focused pane. If the composer has the focus, returns the conversation's pane.
    pub(in crate::ui) fn focused_pane(&self) -> &dyn PaneFeature {
        self.panes.get(self.focus.pane())
    }

    /// Returns the request that is selected in the pane "Needs you"; `None` if no request is open.
    pub(in crate::ui) fn selected_request(&self) -> Option<&Request> {
        match self.panes.get(Pane::Needs).selected_item(self)? {
            SelectedItem::Request(id) => self.model.requests.get(&id),
            _ => None,
        }
    }

    /// Passes the queued `App::pane_requests` to all panes. These requests come from other parts of the user interface
    /// and are not approval requests. Each pane handles the requests that concern it.
    pub(in crate::ui) fn pass_pane_requests(&mut self) {
        for request in std::mem::take(&mut self.app.pane_requests) {
            for pane in Pane::ALL {
                self.panes.get_mut(pane).handle_request(&request);
            }
        }
    }

    /// Handles the end of the crewdeck process whose events were applied so far: marks all its agents and jobs as
    /// ended, and removes its open requests, session permissions and queued messages. Also removes the status message and
    /// the pending notifications, and focuses the composer.
    pub fn end_of_session(&mut self, now: Timestamp) {
        self.now = now;
        self.model.agents.end_of_session();
        self.model.requests = RequestBook::default();
        self.model.rules.clear();
        self.model.jobs.end_of_session(now);
        self.model.queued.clear();
        self.keys.interrupted = None;
        self.status = None;
        self.notifier.clear();
        self.keys.guard = KeyGuard {
            moved_at: (self.focus != Focus::Composer).then_some(now),
            shown: None,
        };
        self.focus = Focus::Composer;
        self.dirty = true;
    }

    pub fn set_notify_kinds(&mut self, kinds: &[NotifyKind]) {
        self.notifier.set_kinds(kinds);
    }
}

impl UiState {
    /// Removes the pending notifications and the status message of the events so far, so that none of them notifies the
    /// user.
    pub fn mark_seen(&mut self, now: Timestamp) {
        self.now = now;
        self.status = None;
        self.notifier.clear();
        self.dirty = true;
    }

    /// Tells the event log that older events are missing, because only the end of a long journal was read.
    pub fn begins_late(&mut self) {
        self.app.model.event_log.begins_late();
    }

    /// Shows that the host of the lead of a crew on a hub runs no agents anymore: the lead, its teammates without a host of
    /// their own, and their subagents. Agents of other hosts continue.
    pub fn end_lead(&mut self) {
        let roster = self.model.team.members.iter();
        let own: Vec<Name> = roster
            .filter(|member| member.host.is_empty())
            .map(|member| member.name.clone())
            .collect();
        self.model.agents.end_agents(|name| {
            let agent = name.parent().unwrap_or_else(|| name.clone());
            agent.is_lead() || own.iter().any(|own| own.same(&agent))
        });
        self.dirty = true;
    }

    /// Like [`UiState::end_of_session`], but moves the focus only if it is in the pane "Needs you". Used by a viewer, a
    /// dashboard that only watches a crew and stays open after the crew has ended.
    pub fn end_crew(&mut self, now: Timestamp) {
        let focus = self.focus;
        self.end_of_session(now);
        if focus == Focus::Pane(Pane::Needs) {
            // The previewed request is closed, so the preview closes too and receives no more keys.
            self.popups.close_all::<Peek>();
        } else {
            self.focus = focus;
        }
    }
}
