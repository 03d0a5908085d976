//! Problems with agents: failed, waiting, stalled, or still running after an approved shutdown. Pure.

use std::time::Duration;

use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::model::{CrewModel, style};
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget, STALLED_AFTER};
use crate::ui::text::age;
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;

/// Time that an agent has to end after its shutdown was approved. If the agent still runs then, it is listed as a
/// problem. The crew sends a notice after the same time.
const OVERDUE_AFTER: Duration = Duration::from_secs(120);

/// Returns the problems with the lead and with the teammates that have not shut down.
pub fn problems(app: &App) -> Vec<Problem> {
    let present = app.present();
    let all = present.iter();
    all.flat_map(|name| [agent(app, name), overdue(app, name)])
        .flatten()
        .collect()
}

/// Returns the times since which agents may count as overdue or stalled: when their shutdown was approved, and when
/// their current activity began.
pub fn ages(model: &CrewModel) -> Vec<ShownAge> {
    let mut out = Vec::new();
    for name in model.present() {
        out.extend(
            model
                .event_log
                .shutdown_approved_at(&name)
                .map(|since| ShownAge {
                    since,
                    from: OVERDUE_AFTER,
                }),
        );
        out.extend(busy_since(model, &name).map(|since| ShownAge {
            since,
            from: STALLED_AFTER,
        }));
    }
    out
}

/// Returns the time at which an agent began its current activity; `None` if the agent is not busy or the time is unknown.
fn busy_since(model: &CrewModel, name: &Name) -> Option<Timestamp> {
    match model.activity(name) {
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {}
        _ => return None,
    }
    let since = model.agents.get(name).map(|a| a.since);
    since.filter(|s| s.0 > 0.0)
}

/// Returns a problem if an agent is still running [`OVERDUE_AFTER`] after its shutdown was approved; otherwise `None`.
fn overdue(app: &App, name: &Name) -> Option<Problem> {
    let asked = app.model.event_log.shutdown_approved_at(name)?;
    let passed = app.now.since(asked);
    (passed >= OVERDUE_AFTER).then(|| Problem {
        severity: ProblemSeverity::Stuck,
        cause: format!(
            "{name} still runs; its shutdown was approved {} ago",
            age(passed)
        ),
        help: "{panes.focus_team}, select it, then {team.kill_teammate} kills it; its task goes back to the board",
        target: ProblemTarget::Agent(name.clone()),
    })
}

fn agent(app: &App, name: &Name) -> Option<Problem> {
    let (weight, cause, help) = match app.activity(name) {
        Activity::Failed { why } => (
            ProblemSeverity::Failed,
            format!("{name} failed: {}", one_line(&why)),
            "{panes.focus_team}, select it, then {team.open} shows what it did; {panes.compose} writes to it",
        ),
        Activity::Stuck { why } => (
            ProblemSeverity::Stuck,
            format!("{name} is stuck: {}", one_line(&why)),
            "{panes.focus_team}, select it, then {team.nudge} asks for its status; or {team.open}, then {panes.compose} to write to it",
        ),
        Activity::Backoff { cause, .. } => (
            ProblemSeverity::Waits,
            format!("{name} is waiting to retry: {}", one_line(&cause)),
            "{panes.models} chooses another model",
        ),
        Activity::Queued { place } => (
            ProblemSeverity::Waits,
            format!("{name}'s model call is queued at position {place}"),
            "it continues automatically",
        ),
        Activity::Thinking | Activity::Compacting | Activity::Tool { .. } => {
            let passed = app.now.since(busy_since(app, name)?);
            if passed < STALLED_AFTER {
                return None;
            }
            let (_, doing, _) = style::activity(&app.activity(name), app.now, &Theme::default());
            (
                ProblemSeverity::Stuck,
                format!("{name} is stalled: {doing} for {}", age(passed)),
                "{panes.focus_team}, select it, then {team.nudge} asks for its status; {everywhere.interrupt} stops the shown agent",
            )
        }
        // An agent that needs the user has an open request, and the request is listed as a problem.
        Activity::NeedsYou { .. } | Activity::Idle | Activity::Gone => return None,
    };
    let target = match app.activity(name) {
        Activity::Backoff { .. } => ProblemTarget::Models,
        Activity::Queued { .. } => ProblemTarget::Nothing,
        _ => ProblemTarget::Agent(name.clone()),
    };
    Some(Problem {
        severity: weight,
        cause,
        help,
        target,
    })
}
