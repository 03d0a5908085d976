//! The ages that the screen shows, such as `2m`, and the time until one of them changes. Pure.

use std::time::Duration;

use crate::domain::timestamp::Timestamp;
use crate::ui::keymap::pane::Focus;
use crate::ui::model::board as model_board;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;
use crate::ui::text::aging::ShownAge;

/// Returns all ages, such as `2m`, that the screen may show now.
fn visible_ages(state: &UiState) -> Vec<ShownAge> {
    let under_way = model_board::start_times(state);
    let mut all: Vec<ShownAge> = under_way.iter().copied().map(ShownAge::at_once).collect();
    all.extend(state.model.team.report_ages());
    if let Some(popup) = state.popups.last() {
        all.extend(popup.ages(state));
    }
    if let Some(peek) = state.popups.top::<Peek>() {
        all.extend(state.panes.get(peek.pane).preview_ages(state));
    }
    if let Focus::Pane(pane) = state.focus {
        all.extend(state.panes.get(pane).ages(state));
    }
    all.retain(|age| age.since.0 > 0.0);
    all
}

/// Returns the time until an age on the screen changes, such as from `2m` to `3m`; `None` if the screen shows no ages.
pub(in crate::ui) fn next_change_in(state: &UiState) -> Option<Duration> {
    let left = |age: &ShownAge| age.valid_for(state.now);
    visible_ages(state).iter().map(left).min()
}

/// Returns whether any age on the screen, such as `2m`, has changed since `before`.
pub(in crate::ui) fn changed_since(state: &UiState, before: Timestamp) -> bool {
    let is_other = |age: &ShownAge| age.text(before) != age.text(state.now);
    visible_ages(state).iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use crate::domain::task::TaskStatus;
    use crate::ui::keymap::pane::Pane;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::mail::MailKind;
    use crate::protocol::event::DeliveryState;
    use crate::protocol::{BoardEvent, Event, EventKind, TeamEvent};
    use crate::ui::app::popup::{Popup, open};
    use crate::ui::fixture::mail_message;
    use crate::ui::popups::pager::Pager;
    use crate::ui::popups::problems::{self, ProblemsPage};
    use crate::ui::popups::thread::ThreadPage;
    use crate::ui::update;
    use crate::ui::{Msg, next_tick};
    use jiff::tz::TimeZone;
    use serde_json::json;
    use std::sync::Arc;

    const BEGUN: f64 = 1000.0;

    fn thread() -> Pager<ThreadPage> {
        Pager::new(ThreadPage { number: 0 })
    }

    /// An idle screen with a task, `passed` seconds after it was started.
    fn idle_screen(status: TaskStatus, passed: f64) -> UiState {
        let task = json!({"id": 1, "subject": "A", "status": status, "updated_at": BEGUN});
        let mut state = UiState::new(120, 40, TimeZone::UTC);
        let kind = EventKind::Board(BoardEvent::BoardChanged {
            changed: vec![Arc::new(serde_json::from_value(task).unwrap())],
            removed: vec![],
        });
        let (seq, at) = (1, Timestamp(BEGUN));
        update(&mut state, Msg::Event(Event { seq, at, kind }));
        let now = Timestamp(BEGUN + passed);
        update(&mut state, Msg::Tick { now });
        state.take_dirty();
        state
    }

    #[test]
    fn next_tick_is_when_the_next_age_changes() {
        let wait =
            |status, passed| next_tick(&idle_screen(status, passed)).map(|w| w.as_secs_f64());
        let table = [
            (TaskStatus::Pending, 5.0, None),
            (TaskStatus::Completed, 5.0, None),
            (TaskStatus::InProgress, 5.25, Some(0.75)),
            (TaskStatus::InProgress, 60.0, Some(60.0)),
            (TaskStatus::InProgress, 150.0, Some(30.0)),
            (TaskStatus::InProgress, 3600.0 * 1.5, Some(1800.0)),
        ];
        for (status, passed, expected) in table {
            assert_eq!((passed, wait(status, passed)), (passed, expected));
        }
    }

    #[test]
    fn task_age_redraws_once_a_minute_in_first_hour() {
        let mut state = idle_screen(TaskStatus::InProgress, 61.0);
        let end = Timestamp(BEGUN + 3600.0);
        let (mut wakes, mut frames) = (0, 0);
        while let Some(wait) = next_tick(&state) {
            let now = state.now.after(wait);
            if now.0 > end.0 {
                break;
            }
            update(&mut state, Msg::Tick { now });
            wakes += 1;
            frames += usize::from(state.take_dirty());
        }
        assert_eq!((wakes, frames), (59, 59));
    }

    /// Like `idle_screen`, with a message to the lead in the delivery state `step`, and with an open popup.
    fn message_read(popup: impl Popup, step: DeliveryState, passed: f64) -> UiState {
        let mut state = idle_screen(TaskStatus::Completed, 0.0);
        let mut one = mail_message("1", MailKind::Message, "bob", "lead", "hello");
        one.timestamp = Timestamp(BEGUN);
        let kind = EventKind::Team(TeamEvent::MessageMoved { message: one, step });
        let (seq, at) = (2, Timestamp(BEGUN));
        update(&mut state, Msg::Event(Event { seq, at, kind }));
        open(&mut state, popup);
        let now = Timestamp(BEGUN + passed);
        update(&mut state, Msg::Tick { now });
        state.take_dirty();
        state
    }

    #[test]
    fn age_of_unread_message_updates_while_shown() {
        let wait = |step, passed| {
            let state = message_read(thread(), step, passed);
            next_tick(&state).map(|wait| wait.as_secs_f64())
        };
        assert_eq!(wait(DeliveryState::Sent, 5.25), Some(0.75));
        assert_eq!(wait(DeliveryState::Sent, 150.0), Some(30.0));
        assert_eq!(wait(DeliveryState::ActedOn, 5.25), None);

        let mut state = message_read(thread(), DeliveryState::Sent, 150.0);
        let at = |passed| Msg::Tick {
            now: Timestamp(BEGUN + passed),
        };
        update(&mut state, at(179.0));
        assert!(!state.take_dirty());
        update(&mut state, at(180.0));
        assert!(state.take_dirty());
        state.popups.clear();
        assert_eq!(next_tick(&state), None);
        // The preview of the inbox shows the age of the message too.
        open(&mut state, Peek::new(Pane::Inbox));
        assert_eq!(next_tick(&state).map(|wait| wait.as_secs()), Some(60));
    }

    #[test]
    fn problem_appears_on_time_and_its_age_updates() {
        let mut state = message_read(
            Pager::new(ProblemsPage::default()),
            DeliveryState::Sent,
            10.0,
        );
        let mut seen = Vec::new();
        for _ in 0..4 {
            let wait = next_tick(&state).unwrap();
            let now = state.now.after(wait);
            update(&mut state, Msg::Tick { now });
            assert!(state.take_dirty());
            let causes = problems::problems(&state).into_iter().map(|p| p.cause);
            seen.push((now.0 - BEGUN, causes.collect::<Vec<_>>().concat()));
        }
        let cause = |m| format!("lead has not read 1 message; the oldest has waited {m}m");
        let expected = [(300.0, 5), (360.0, 6), (420.0, 7), (480.0, 8)];
        assert_eq!(seen, expected.map(|(at, m)| (at, cause(m))));
        // Without the popup, the screen shows no age.
        state.popups.clear();
        assert_eq!(next_tick(&state), None);
    }
}
