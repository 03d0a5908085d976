//! Problems with the hosts of a crew on a hub. Pure.

use crate::domain::text::join_names;
use crate::ui::app::App;
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget};
use crate::ui::text::format_time;

/// Maximum number of tasks that the cause of a problem names. Further tasks are only counted.
const TASKS_MAX: usize = 8;

/// Returns a problem if the hub cannot be reached, and one for each lost host.
pub fn problems(app: &App) -> Vec<Problem> {
    let outage = app.role.outage().map(|outage| Problem {
        severity: ProblemSeverity::Failed,
        cause: format!(
            "the hub cannot be reached since {}: {}",
            format_time(outage.since, &app.prefs.zone),
            outage.cause
        ),
        help: "start its NATS server, or check the network; crewdeck connects again by itself",
        target: ProblemTarget::Nothing,
    });
    let lost = app.model.team.hosts().iter().filter(|host| host.is_lost());
    let lost = lost.map(|host| {
        let tasks: Vec<String> = host.held.iter().map(ToString::to_string).collect();
        let held = match tasks.len() {
            0 => "no task".into(),
            all => join_names(&tasks, TASKS_MAX, all),
        };
        Problem {
            severity: ProblemSeverity::Stuck,
            cause: format!("host {} is lost; it held {held}", host.name()),
            help: "other agents can claim its tasks; crewdeck worker on that machine starts the host again",
            target: ProblemTarget::Nothing,
        }
    });
    outage.into_iter().chain(lost).collect()
}
