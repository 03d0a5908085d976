//! Problems that notices in the event log report and that are not resolved yet: unreadable or damaged files, and merge
//! conflicts. Pure.
//!
//! The notices are recognized by the constants in this file, so these must match the texts that the crew writes.

use crate::domain::task::TaskStatus;
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::{About, LogLine, Topic};
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget};

/// The texts by which notices about unreadable files are recognized: that a file cannot be read, and that it can be
/// read again.
const UNREADABLE_TEXT: (&str, &str) = (" cannot be read", " can be read again");
/// The word by which a notice about a damaged file is recognized. Every such notice must contain it.
const DAMAGED: &str = "damaged";
/// The text by which a notice about a merge conflict is recognized.
const CONFLICT_TEXT: &str = " does not merge into ";

/// Returns the unresolved problems that notices in the event log report, each once.
pub fn problems(model: &CrewModel) -> Vec<Problem> {
    let mut out: Vec<Problem> = Vec::new();
    for line in model.event_log.lines().filter(|l| l.severity.is_trouble()) {
        let found = match line.topic {
            Topic::Notice => file(model, line),
            Topic::Worktree => conflict(model, line),
            _ => None,
        };
        // The same notice may occur several times in the log.
        out.extend(found.filter(|p| !out.contains(p)));
    }
    out
}

fn file(model: &CrewModel, line: &LogLine) -> Option<Problem> {
    let problem = |help, target| Problem {
        severity: ProblemSeverity::Failed,
        cause: line.words.clone(),
        help,
        target,
    };
    if let Some((what, _)) = line.words.split_once(UNREADABLE_TEXT.0) {
        let is_over = later(model, line).any(|l| {
            let rest = l.words.strip_prefix(what);
            rest.is_some_and(|r| {
                r.starts_with(UNREADABLE_TEXT.0) || r.starts_with(UNREADABLE_TEXT.1)
            })
        });
        let help = "run `crewdeck doctor` to check the files";
        return (!is_over).then(|| problem(help, ProblemTarget::Nothing));
    }
    let is_damaged = line.words.contains(DAMAGED);
    is_damaged.then(|| {
        problem(
            "run `crewdeck doctor --mend` to repair what can be repaired; {panes.event_log} shows when the damage was found",
            ProblemTarget::EventLog,
        )
    })
}

fn conflict(model: &CrewModel, line: &LogLine) -> Option<Problem> {
    let (branch, _) = line.words.split_once(CONFLICT_TEXT)?;
    let name = branch.strip_prefix("wt/")?;
    let is_over = later(model, line).any(|l| {
        l.topic == Topic::Worktree && l.words.contains(branch) && l.words.contains("merged")
    });
    if is_over {
        return None;
    }
    let mut here = model.board.tasks().filter(|t| t.worktree == name);
    let resolution = here.find(|t| t.status != TaskStatus::Completed);
    let target = match (resolution, &line.about) {
        (Some(task), _) => ProblemTarget::Task(task.id),
        (None, About::Task(id)) => ProblemTarget::Task(*id),
        (None, _) => ProblemTarget::Compose,
    };
    let (weight, help) = match (resolution.is_some(), &line.about) {
        (true, _) => (
            ProblemSeverity::Waits,
            "an open task resolves the conflict: {panes.focus_board}, select the task, then {board.open} shows the task",
        ),
        (false, About::Task(_)) => (
            ProblemSeverity::Stuck,
            "{panes.focus_board}, select the task, then {board.diff} shows the branch and {board.merge} merges it",
        ),
        (false, _) => (
            ProblemSeverity::Stuck,
            "{panes.compose} writes to the lead, who can merge the branch",
        ),
    };
    let cause = line.words.clone();
    Some(Problem {
        severity: weight,
        cause,
        help,
        target,
    })
}

fn later<'a>(model: &'a CrewModel, line: &LogLine) -> impl Iterator<Item = &'a LogLine> {
    let number = line.number;
    model.event_log.lines().filter(move |l| l.number > number)
}
