//! Pure: agents that failed, wait, stand still, or do not leave.

use std::time::Duration;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::UiState;
use crate::ui::model::style;
use crate::ui::popups::problems::{Problem, STALLED_AFTER, Weight};
use crate::ui::text::age;
use crate::ui::text::aging::Aging;
use crate::ui::theme::Theme;

/// After so many seconds a shutdown that was asked for is overdue; the crew tells it then, too.
const OVERDUE_AFTER: Duration = Duration::from_secs(120);

/// What is wrong with the agents that are there.
pub fn problems(state: &UiState) -> Vec<Problem> {
    let present = state.present();
    let all = present.iter();
    all.flat_map(|name| [agent(state, name), overdue(state, name)])
        .flatten()
        .collect()
}

/// The ages of what is wrong, or will be if nothing happens.
pub fn ages(state: &UiState) -> Vec<Aging> {
    let mut out = Vec::new();
    for name in state.present() {
        out.extend(state.model.event_log.asked_to_go(&name).map(|since| Aging {
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

/// Since when it does what it does, if it is at work.
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
    let since = state.model.agents.get(name).map(|a| a.since);
    since.filter(|s| s.0 > 0.0)
}

/// It was asked to go and is still there.
fn overdue(state: &UiState, name: &Name) -> Option<Problem> {
    let asked = state.model.event_log.asked_to_go(name)?;
    let passed = state.now.since(asked);
    (passed >= OVERDUE_AFTER).then(|| Problem {
        weight: Weight::Stuck,
        cause: format!(
            "{name} was to shut down and is still there after {}",
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
            format!("{name} tries again later: {}", one_line(&cause)),
            "{panes.models} chooses another model",
        ),
        Activity::Queued { place } => (
            Weight::Waits,
            format!("{name} waits for a free call, place {place}"),
            "it goes on by itself",
        ),
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let passed = state.now.since(busy_since(state, name)?);
            if passed < STALLED_AFTER {
                return None;
            }
            let (_, doing, _) =
                style::activity(&state.activity(name), state.now, &Theme::default());
            (
                Weight::Stuck,
                format!("{name} is stalled: {doing} for {}", age(passed)),
                "{panes.focus_team}, then {team.nudge} nudges it; {everywhere.interrupt} stops the shown agent",
            )
        }
        // Who needs the person has a request, which is told.
        Activity::NeedsYou { .. } | Activity::Idle | Activity::Gone => return None,
    };
    Some(Problem {
        weight,
        cause,
        help,
    })
}
