//! Problems with the hosts of a crew on a hub. Pure.

use crate::domain::text::join_names;
use crate::ui::model::CrewModel;
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget};

/// Maximum number of tasks that the cause of a problem names. Further tasks are only counted.
const TASKS_MAX: usize = 8;

/// Returns a problem for each lost host.
pub fn problems(model: &CrewModel) -> Vec<Problem> {
    let lost = model.team.hosts().iter().filter(|host| host.is_lost());
    lost.map(|host| {
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
    })
    .collect()
}
