//! Pure: tasks that nobody works on or can take, and what waits for them.

use crate::domain::graph::{ATTEMPTS_MAX, Claimer, tags_fit};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::ui::model::Model;
use crate::ui::model::board::history::Step;
use crate::ui::model::board::index::Standing;
use crate::ui::model::board::{branches, index};
use crate::ui::popups::problems::{Problem, Weight};

/// Most tasks that are named in one problem.
const NAMED_MAX: usize = 8;

/// What is wrong with the tasks.
pub fn problems(model: &Model) -> Vec<Problem> {
    let present = model.present();
    let mut out: Vec<Problem> = model
        .board
        .tasks()
        .filter_map(|t| task(model, t, &present))
        .collect();
    out.extend(nobody_there(model));
    out.extend(unmerged(model));
    out
}

fn task(model: &Model, task: &Task, present: &[Name]) -> Option<Problem> {
    let id = task.id;
    let problem = |weight, cause, help| {
        Some(Problem {
            weight,
            cause,
            help,
        })
    };
    match index::standing(&model.board, task) {
        Standing::InProgress | Standing::Assigned if is_here(&task.owner, present) => {
            let many = format!(
                "{id} is at its attempt number {}, now by {}",
                task.attempts,
                one_line(&task.owner)
            );
            let help =
                "{panes.focus_board}, then {board.open} shows it and what became of it before";
            (task.attempts >= ATTEMPTS_MAX)
                .then_some(())
                .and_then(|()| problem(Weight::Waits, many, help))
        }
        Standing::InProgress | Standing::Assigned => problem(
            Weight::Stuck,
            format!(
                "{id} belongs to {}, who is not here{}",
                one_line(&task.owner),
                what_waits(model, id)
            ),
            "{panes.compose} writes to the lead: it gives the task to somebody else",
        ),
        Standing::Ready if task.attempts >= ATTEMPTS_MAX => problem(
            Weight::Stuck,
            format!(
                "{id} was given up {} times: nobody takes it unasked{}",
                task.attempts,
                what_waits(model, id)
            ),
            "{panes.focus_board}, then {board.open} shows it; {panes.compose} tells the lead what to change",
        ),
        Standing::Ready => {
            if let Some(tags) = unknown_tags(model, task) {
                return problem(
                    Weight::Stuck,
                    format!(
                        "{id} asks for {tags}, and nobody on the team has that{}",
                        what_waits(model, id)
                    ),
                    "{panes.compose} writes to the lead: it spawns somebody with these tags, or changes them",
                );
            }
            let who = given_back_by(model, task, present)?;
            problem(
                Weight::Waits,
                format!("{id} went back to the board: {who}, who had it, is gone"),
                "a teammate that is idle takes it by itself; {panes.focus_board}, then {board.open} shows it",
            )
        }
        Standing::Blocked => {
            let lost = task
                .blocked_by
                .iter()
                .find(|b| model.board.get(**b).is_none())?;
            problem(
                Weight::Stuck,
                format!("{id} waits for {lost}, which is not on the board"),
                "{panes.compose} writes to the lead: it takes that line away",
            )
        }
        Standing::Done => None,
    }
}

fn is_here(owner: &str, present: &[Name]) -> bool {
    owner == "user"
        || present
            .iter()
            .any(|n| n.as_str().eq_ignore_ascii_case(owner))
}

/// How many tasks wait for it, themselves or through others.
fn what_waits(model: &Model, id: TaskId) -> String {
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
        (Some(one), 1) => format!("; {one} waits for it"),
        (Some(_), n) => format!("; {n} tasks wait for it"),
    }
}

/// The tags that it asks for, where nobody who is there has all of them.
fn unknown_tags(model: &Model, task: &Task) -> Option<String> {
    if task.tags.is_empty() {
        return None;
    }
    let fits = |claimer: &Claimer| tags_fit(task, claimer);
    let mut claimers = model.team.present().map(|m| Claimer {
        name: m.name.clone(),
        tags: m.tags.clone(),
    });
    (!claimers.any(|c| fits(&c))).then(|| one_line(&task.tags.join(" and ")))
}

/// Who had it last and is gone, where nobody has taken it since.
fn given_back_by(model: &Model, task: &Task, present: &[Name]) -> Option<String> {
    let last = model.history.of(task.id).next().map(|(_, step)| step);
    match last {
        Some(Step::Released { by }) if !is_here(by, present) => Some(one_line(by)),
        Some(
            Step::Released { .. }
            | Step::Claimed { .. }
            | Step::Completed { .. }
            | Step::Freed
            | Step::Blocked
            | Step::Edited
            | Step::Branch(_),
        )
        | None => None,
    }
}

/// While somebody is at work, what is not merged is in nobody's way.
fn unmerged(model: &Model) -> Option<Problem> {
    let all = branches::to_merge(model);
    if all.is_empty() || model.busy() > 0 {
        return None;
    }
    let ids: Vec<String> = all
        .iter()
        .take(NAMED_MAX)
        .map(ToString::to_string)
        .collect();
    let more = match all.len() - ids.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let are = if all.len() == 1 { "is" } else { "are" };
    Some(Problem {
        weight: Weight::Person,
        cause: format!("{}{more} {are} done and not merged", ids.join(" ")),
        help: "{panes.focus_board}, then {board.merge} merges; the lead can do it, too",
    })
}

/// Tasks are ready, and there is nobody who takes them by itself.
fn nobody_there(model: &Model) -> Option<Problem> {
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
        weight: Weight::Waits,
        cause: format!("{what} and no teammate is there to take what is ready"),
        help: "{panes.compose} writes to the lead: it spawns teammates, or does the work itself",
    })
}
