//! Problems with tasks: the owner has left, no teammate can claim the task, a blocker is missing, a branch is unmerged.
//! Pure.

use crate::domain::graph::{ATTEMPTS_MAX, Claimer, tags_match};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::ui::model::CrewModel;
use crate::ui::model::board::history::HistoryStep;
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::board::{branches, index};
use crate::ui::popups::problems::{Problem, ProblemSeverity, ProblemTarget};

/// Maximum number of tasks that one problem names.
const NAMED_MAX: usize = 8;

pub fn problems(model: &CrewModel) -> Vec<Problem> {
    let present = model.present();
    let mut out: Vec<Problem> = model
        .board
        .tasks()
        .filter_map(|t| task(model, t, &present))
        .collect();
    out.extend(no_teammates(model));
    out.extend(unmerged_problem(model));
    out
}

fn task(model: &CrewModel, task: &Task, present: &[Name]) -> Option<Problem> {
    let id = task.id;
    let problem = |severity, cause, (target, help)| {
        Some(Problem {
            severity,
            cause,
            help,
            target,
        })
    };
    let to_task = |help: &'static str| (ProblemTarget::Task(id), help);
    // Where the user can only write to the lead, the problem leads to the composer.
    let to_lead = |help: &'static str| (ProblemTarget::Compose, help);
    match index::board_status(&model.board, task) {
        BoardStatus::InProgress | BoardStatus::Assigned if is_here(&task.owner, present) => {
            let many = format!(
                "{id} was claimed {} times, now by {}",
                task.attempts,
                one_line(&task.owner)
            );
            let help = to_task(
                "{panes.focus_board}, select the task, then {board.open} shows the task and its history",
            );
            (task.attempts >= ATTEMPTS_MAX)
                .then_some(())
                .and_then(|()| problem(ProblemSeverity::Waits, many, help))
        }
        BoardStatus::InProgress if task.owner.is_empty() => problem(
            ProblemSeverity::Stuck,
            format!(
                "{id} is in progress and has no owner, so it cannot be claimed{}",
                what_waits(model, id)
            ),
            to_task(
                "crewdeck task release NUMBER --as user returns the task to the board; {panes.focus_board}, select the task, then {board.complete_task} completes it",
            ),
        ),
        BoardStatus::InProgress | BoardStatus::Assigned => problem(
            ProblemSeverity::Stuck,
            format!(
                "{id} is owned by {}, who is not on the team{}",
                one_line(&task.owner),
                what_waits(model, id)
            ),
            to_lead("{panes.compose} writes to the lead, who can reassign the task"),
        ),
        BoardStatus::Ready if task.attempts >= ATTEMPTS_MAX => problem(
            ProblemSeverity::Stuck,
            format!(
                "{id} was claimed {} times without being completed, so it is no longer assigned automatically{}",
                task.attempts,
                what_waits(model, id)
            ),
            to_task(
                "{panes.focus_board}, select the task, then {board.open} shows the task; {panes.compose} writes to the lead, who can change the task",
            ),
        ),
        BoardStatus::Ready => {
            if let Some(tags) = unknown_tags(model, task) {
                return problem(
                    ProblemSeverity::Stuck,
                    format!(
                        "{id} requires the tags {tags}, which no teammate has{}",
                        what_waits(model, id)
                    ),
                    to_lead(
                        "{panes.compose} writes to the lead, who can spawn a teammate with the tags or change the tags",
                    ),
                );
            }
            let who = released_by_departed(model, task, present)?;
            problem(
                ProblemSeverity::Waits,
                format!("{id} is back on the board: its owner {who} left"),
                to_task(
                    "an idle teammate claims the task automatically; {panes.focus_board}, select the task, then {board.open} shows the task",
                ),
            )
        }
        BoardStatus::Blocked => {
            let lost = task
                .blocked_by
                .iter()
                .find(|b| model.board.get(**b).is_none())?;
            problem(
                ProblemSeverity::Stuck,
                format!("{id} is blocked by {lost}, which is not on the board"),
                to_lead("{panes.compose} writes to the lead, who can remove the dependency"),
            )
        }
        BoardStatus::Done => None,
    }
}

fn is_here(owner: &str, present: &[Name]) -> bool {
    owner == "user"
        || present
            .iter()
            .any(|n| n.as_str().eq_ignore_ascii_case(owner))
}

/// Describes how many open tasks the task `id` blocks, directly or indirectly; empty if it blocks none.
fn what_waits(model: &CrewModel, id: TaskId) -> String {
    let mut waiting = std::collections::BTreeSet::new();
    let mut next = vec![id];
    while let Some(id) = next.pop() {
        let open = |b: &TaskId| {
            let task = model.board.get(*b);
            task.is_some_and(|t| t.status != TaskStatus::Completed && t.blocked_by.contains(&id))
        };
        for behind in model.board.dependants(id).into_iter().filter(open) {
            if waiting.insert(behind) {
                next.push(behind);
            }
        }
    }
    let mut all = waiting.iter();
    match (all.next(), waiting.len()) {
        (None, _) => String::new(),
        (Some(one), 1) => format!("; it blocks {one}"),
        (Some(_), n) => format!("; it blocks {n} tasks"),
    }
}

/// Returns the tags of a task as text if no teammate has all of them. `None` if a teammate has them all or the task has
/// no tags.
fn unknown_tags(model: &CrewModel, task: &Task) -> Option<String> {
    if task.tags.is_empty() {
        return None;
    }
    let fits = |claimer: &Claimer| tags_match(task, claimer);
    let mut claimers = model.team.present().map(|m| Claimer {
        name: m.name.clone(),
        tags: m.tags.clone(),
    });
    (!claimers.any(|c| fits(&c))).then(|| one_line(&task.tags.join(" and ")))
}

/// Returns the last owner of a task that was released, if that owner has left the team and the task has not changed
/// since; otherwise `None`.
fn released_by_departed(model: &CrewModel, task: &Task, present: &[Name]) -> Option<String> {
    let last = model.history.of(task.id).next().map(|(_, step)| step);
    match last {
        Some(HistoryStep::Released { by }) if !is_here(by, present) => Some(one_line(by)),
        _ => None,
    }
}

/// Returns a problem if branches can be merged but are not; otherwise `None`. While an agent is busy, this is no
/// problem, because the lead may still merge the branches.
fn unmerged_problem(model: &CrewModel) -> Option<Problem> {
    let all = branches::to_merge(model);
    if all.is_empty() || model.busy() > 0 {
        return None;
    }
    let mut ids: Vec<TaskId> = all.iter().copied().collect();
    let first = ids.first().copied()?;
    ids.sort_unstable();
    ids.truncate(NAMED_MAX);
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let more = match all.len() - ids.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let are = if all.len() == 1 { "is" } else { "are" };
    Some(Problem {
        severity: ProblemSeverity::NeedsUser,
        cause: format!("{}{more} {are} unmerged", ids.join(" ")),
        help: "{panes.focus_board}, select a task, then {board.merge} merges its branch; the lead can merge, too",
        // The one that the others build on.
        target: ProblemTarget::Task(first),
    })
}

/// Returns a problem if tasks are ready but there are no teammates to claim them; otherwise `None`. While an agent is
/// busy, this is no problem, because the lead may still spawn teammates.
fn no_teammates(model: &CrewModel) -> Option<Problem> {
    if model.team.present().next().is_some() || model.busy() > 0 {
        return None;
    }
    let ready = model.board.ready().count();
    let what = match ready {
        0 => return None,
        1 => "1 task is ready".to_string(),
        n => format!("{n} tasks are ready"),
    };
    Some(Problem {
        severity: ProblemSeverity::Waits,
        cause: format!("{what} and there are no teammates"),
        help: "{panes.compose} writes to the lead, who can spawn teammates or do the work",
        target: ProblemTarget::Compose,
    })
}
