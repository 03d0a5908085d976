//! `crewdeck task …`

use anyhow::Result;

use super::{Desk, Ended, party};
use crate::cli::TaskVerb;
use crate::domain::graph::{Claimer, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::store::{Board, Roster};

/// Carries the verb out.
pub fn run(verb: &TaskVerb, desk: &Desk<'_>) -> Result<Ended> {
    let board = Board::open(desk.root);
    let task = match verb {
        TaskVerb::List { ready } => return list(&board, *ready, desk),
        TaskVerb::Show { id } => {
            let reading = board.read()?;
            Desk::warn(&reading.notices);
            Task::clone(reading.graph.known(TaskId(*id))?)
        }
        TaskVerb::Add {
            subject,
            description,
            blocked_by,
            tags,
        } => {
            let new = NewTask {
                subject: subject.clone(),
                description: description.clone(),
                blocked_by: ids(blocked_by),
                tags: tags.clone(),
            };
            board.create(new, desk.now)?
        }
        TaskVerb::Claim { id, name } => {
            match board.claim(id.map(TaskId), &claimer(name, desk)?, desk.now)? {
                Some(task) => task,
                None => return Ok(Ended::Nothing),
            }
        }
        TaskVerb::Start { id, name } => {
            board.start(TaskId(*id), &claimer(name, desk)?, desk.now)?
        }
        TaskVerb::Done { id, name } => board.complete(TaskId(*id), &party(name)?, desk.now)?,
        TaskVerb::Release { id, name } => board.release(TaskId(*id), &party(name)?, desk.now)?,
        TaskVerb::Edit {
            id,
            subject,
            description,
            tags,
            block_on,
            unblock,
        } => {
            let edit = TaskEdit {
                subject: subject.clone(),
                description: description.clone(),
                block_on: ids(block_on),
                unblock: ids(unblock),
                tags: (!tags.is_empty()).then(|| tags.clone()),
            };
            board.edit(TaskId(*id), &edit, desk.now)?
        }
        TaskVerb::Rm { id } => {
            let gone = board.remove(TaskId(*id), desk.now)?;
            desk.print(&gone, || format!("removed {} {}", gone.id, gone.subject))?;
            return Ok(Ended::Done);
        }
    };
    desk.print(&task, || whole(&task))?;
    Ok(Ended::Done)
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}

/// Who claims: a member brings its tags, anybody else has none.
fn claimer(name: &str, desk: &Desk<'_>) -> Result<Claimer> {
    let name = party(name)?;
    let team = Roster::open(desk.root).read()?;
    let tags = team.find(&name).map(|m| m.tags.clone()).unwrap_or_default();
    Ok(Claimer { name, tags })
}

fn list(board: &Board, ready: bool, desk: &Desk<'_>) -> Result<Ended> {
    let reading = board.read()?;
    Desk::warn(&reading.notices);
    let graph = &reading.graph;
    let tasks: Vec<&Task> = graph
        .tasks()
        .filter(|t| !ready || graph.is_ready(t))
        .collect();
    desk.print(&tasks, || {
        if tasks.is_empty() {
            return if ready {
                "No task is ready.".into()
            } else {
                "No tasks.".into()
            };
        }
        let lines: Vec<String> = tasks.iter().map(|t| line(graph, t)).collect();
        lines.join("\n")
    })?;
    Ok(Ended::Done)
}

/// One task in one line: the reference's marks, the owner, what it waits for.
fn line(graph: &TaskGraph, task: &Task) -> String {
    let mut out = format!("{} {}: {}", mark(task.status), task.id, task.subject);
    if !task.owner.is_empty() {
        out.push_str(&format!("  @{}", task.owner));
    }
    let open = graph.open_blockers(task);
    if !open.is_empty() && task.status != TaskStatus::Completed {
        let names: Vec<String> = open.iter().map(ToString::to_string).collect();
        out.push_str(&format!("  (blocked by {})", names.join(", ")));
    }
    if !task.tags.is_empty() {
        out.push_str(&format!("  [{}]", task.tags.join(", ")));
    }
    out
}

fn whole(task: &Task) -> String {
    let mut out = format!("{} {}: {}", mark(task.status), task.id, task.subject);
    let list = |ids: &[TaskId]| {
        ids.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (name, text) in [
        ("owner", task.owner.clone()),
        ("blocked by", list(&task.blocked_by)),
        ("blocks", list(&task.blocks)),
        ("tags", task.tags.join(", ")),
    ] {
        if !text.is_empty() {
            out.push_str(&format!("\n    {name}: {text}"));
        }
    }
    if !task.description.is_empty() {
        out.push_str(&format!("\n\n{}", task.description));
    }
    out
}

fn mark(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "[ ]",
        TaskStatus::InProgress => "[>]",
        TaskStatus::Completed => "[x]",
    }
}
