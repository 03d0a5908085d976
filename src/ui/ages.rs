//! The ages on the screen, and when the first of them reads otherwise. Pure.

use std::time::Duration;

use super::board;
use super::pane::{Focus, Pane};
use super::popup::{Popup, Text};
use super::state::UiState;
use super::textual::{age, age_lasts};
use crate::domain::ids::TaskId;
use crate::domain::stamp::Stamp;
use crate::domain::task::TaskStatus;

/// Most tasks whose ages are seen to: more than a screen has rows.
pub(super) const AGES_MAX: usize = 256;

/// The times whose ages may be on the screen.
fn shown(state: &UiState) -> Vec<Stamp> {
    let mut all = board::under_way(state).to_vec();
    let mut of_task = |id: TaskId| {
        if let Some(task) = state.board.get(id) {
            all.extend(state.history.since(task));
            all.extend([task.created_at, task.updated_at]);
        }
    };
    if let Some(Popup::Reader(reader)) = state.popups.last()
        && let Text::Task(id) = reader.text
    {
        of_task(id);
    }
    if state.focus == Focus::Pane(Pane::Board)
        && let Some((_, id)) = board::selected(state)
    {
        of_task(id);
    }
    all.retain(|at| at.0 > 0.0);
    all
}

/// How long all of them still read as they do; `None`: there are none.
pub(super) fn last_for(state: &UiState) -> Option<Duration> {
    let left = |at: &Stamp| age_lasts(state.now.since(*at));
    shown(state).iter().map(left).min()
}

/// Whether one of them read otherwise at `before`.
pub(super) fn read_otherwise(state: &UiState, before: Stamp) -> bool {
    let is_other = |at: &Stamp| age(before.since(*at)) != age(state.now.since(*at));
    shown(state).iter().any(is_other)
}

/// When the tasks that are in progress began to be, [`AGES_MAX`] at most.
pub(super) fn of_tasks(state: &UiState) -> Vec<Stamp> {
    let tasks = state.board.tasks();
    let in_progress = tasks.filter(|task| task.status == TaskStatus::InProgress);
    let since = in_progress.filter_map(|task| state.history.since(task));
    since.take(AGES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::{Event, EventKind};
    use crate::ui::{Motion, Msg, next_tick, update};
    use jiff::tz::TimeZone;
    use serde_json::json;
    use std::sync::Arc;

    const BEGUN: f64 = 1000.0;

    /// A screen at rest with a task that nobody works on any more, `passed` seconds after it was begun.
    fn at_rest(status: TaskStatus, passed: f64) -> UiState {
        let task = json!({"id": 1, "subject": "A", "status": status, "updated_at": BEGUN});
        let mut state = UiState::new(120, 40, TimeZone::UTC, Motion::Full);
        let kind = EventKind::BoardChanged {
            changed: vec![Arc::new(serde_json::from_value(task).unwrap())],
            removed: vec![],
        };
        let (seq, at) = (1, Stamp(BEGUN));
        update(&mut state, Msg::Event(Event { seq, at, kind }));
        let now = Stamp(BEGUN + passed);
        update(&mut state, Msg::Tick { now });
        state.take_dirty();
        state
    }

    #[test]
    fn the_screen_wakes_when_an_age_reads_otherwise_and_not_before() {
        let wait = |status, passed| next_tick(&at_rest(status, passed)).map(|w| w.as_secs_f64());
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
    fn it_is_drawn_again_once_a_minute_in_an_hour() {
        let mut state = at_rest(TaskStatus::InProgress, 61.0);
        let end = Stamp(BEGUN + 3600.0);
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
}
