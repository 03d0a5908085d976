//! Problems with agents: failed, waiting, stalled, or still running after an approved shutdown. Pure.

use std::time::Duration;

use super::{Problem, STALLED_AFTER, Weight};
use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::look;
use crate::ui::state::UiState;
use crate::ui::state::ages::Aging;
use crate::ui::textual::age;
use crate::ui::theme::Theme;

/// After this time an approved shutdown is overdue. The crew sends a notice after the same time.
const OVERDUE_AFTER: Duration = Duration::from_secs(120);

/// Returns the problems with agents that are present.
pub fn problems(state: &UiState) -> Vec<Problem> {
    let present = state.present();
    let all = present.iter();
    all.flat_map(|name| [agent(state, name), overdue(state, name)])
        .flatten()
        .collect()
}

/// Returns the times whose age makes, or will make, an agent a problem.
pub fn ages(state: &UiState) -> Vec<Aging> {
    let mut out = Vec::new();
    for name in state.present() {
        out.extend(state.event_log.asked_to_go(&name).map(|since| Aging {
            since,
            from: OVERDUE_AFTER,
        }));
        out.extend(busy_since(state, &name).map(|since| Aging {
            since,
            from: STALLED_AFTER,
        }));
    }
    out
}

/// Returns when an agent began its current activity, or `None` if it is not busy.
fn busy_since(state: &UiState, name: &Name) -> Option<Stamp> {
    match state.activity(name) {
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {}
        Activity::Idle
        | Activity::Backoff { .. }
        | Activity::Queued { .. }
        | Activity::NeedsYou { .. }
        | Activity::Stuck { .. }
        | Activity::Failed { .. }
        | Activity::Gone => return None,
    }
    let since = state.agents.get(name).map(|a| a.since);
    since.filter(|s| s.0 > 0.0)
}

/// Reports an agent that is still running after an approved shutdown.
fn overdue(state: &UiState, name: &Name) -> Option<Problem> {
    let asked = state.event_log.asked_to_go(name)?;
    let passed = state.now.since(asked);
    (passed >= OVERDUE_AFTER).then(|| Problem {
        weight: Weight::Stuck,
        cause: format!(
            "{name} is still running, shutdown approved {} ago",
            age(passed)
        ),
        help: "{panes.focus_team}, then {team.force} ends it by force; its task goes back to the board",
    })
}

fn agent(state: &UiState, name: &Name) -> Option<Problem> {
    let (weight, cause, help) = match state.activity(name) {
        Activity::Failed { why } => (
            Weight::Failed,
            format!("{name} failed: {}", one_line(&why)),
            "{panes.focus_team}, then {team.open} shows what it did; {panes.compose} writes to it",
        ),
        Activity::Stuck { why } => (
            Weight::Stuck,
            format!("{name} is stuck: {}", one_line(&why)),
            "{panes.focus_team}, then {team.nudge} nudges it; {team.open}, then {panes.compose} writes to it",
        ),
        Activity::Backoff { cause, .. } => (
            Weight::Waits,
            format!("{name} is waiting to retry: {}", one_line(&cause)),
            "{panes.models} chooses another model",
        ),
        Activity::Queued { place } => (
            Weight::Waits,
            format!("{name}'s call is queued at position {place}"),
            "it continues automatically",
        ),
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let passed = state.now.since(busy_since(state, name)?);
            if passed < STALLED_AFTER {
                return None;
            }
            let (_, doing, _) = look::activity(&state.activity(name), state.now, &Theme::default());
            (
                Weight::Stuck,
                format!("{name} is stalled: {doing} for {}", age(passed)),
                "{panes.focus_team}, then {team.nudge} nudges it; {everywhere.interrupt} stops the shown agent",
            )
        }
        // An agent that needs the user has a request, which is listed by itself.
        Activity::NeedsYou { .. } | Activity::Idle | Activity::Gone => return None,
    };
    Some(Problem {
        weight,
        cause,
        help,
    })
}
