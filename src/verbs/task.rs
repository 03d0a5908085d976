//! `crewdeck task …`

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::{Desk, Ended, party};
use crate::cli::TaskVerb;
use crate::domain::graph::{Claimer, GraphError, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{LetterId, Name, TaskId, TaskRef};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::BranchState;
use crate::store::{Board, Look, Post, Roster, Seen, StoreError, Worktrees, take_from};

/// Carries the verb out.
pub fn run(verb: &TaskVerb, desk: &Desk<'_>) -> Result<Ended> {
    let board = Board::open(desk.root);
    let task = match verb {
        TaskVerb::List { ready } => {
            let which = if *ready { Listed::Ready } else { Listed::All };
            return list(&board, which, desk);
        }
        TaskVerb::Show { id } => {
            let task = board.get(board.resolve(id)?)?;
            Desk::warn(&board.tidy()?.notices);
            Task::clone(&task)
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
                blocked_by: ids(&board, blocked_by)?,
                tags: tags_of(tags),
                worktree: String::new(),
            };
            board.create(new, desk.now)?
        }
        TaskVerb::Claim { id, name } => {
            let id = id.as_ref().map(|id| board.resolve(id)).transpose()?;
            match board.claim(id, &claimer(name, desk)?, desk.now)? {
                Some(task) => task,
                None => return Ok(Ended::Nothing),
            }
        }
        TaskVerb::Start { id, name } => {
            board.start(board.resolve(id)?, &claimer(name, desk)?, desk.now)?
        }
        TaskVerb::Done { id, name } => {
            board.complete(board.resolve(id)?, &party(name)?, desk.now)?
        }
        TaskVerb::Release { id, name, force } => {
            let (id, name) = (board.resolve(id)?, party(name)?);
            if *force {
                take(&board, id, &name, desk)?
            } else {
                release(&board, id, &name, desk)?
            }
        }
        TaskVerb::Edit {
            id,
            subject,
            description,
            tags,
            blocked_by,
            unblock,
        } => {
            let edit = TaskEdit {
                subject: subject.clone(),
                description: description.clone(),
                block_on: ids(&board, blocked_by)?,
                unblock: ids(&board, unblock)?,
                tags: (!tags.is_empty()).then(|| tags_of(tags)),
            };
            board.edit(board.resolve(id)?, &edit, desk.now)?
        }
        TaskVerb::Rm { id } => {
            let gone = board.remove(board.resolve(id)?, desk.now)?;
            desk.print(&gone, || format!("removed {} {}", gone.id, gone.subject))?;
            return Ok(Ended::Done);
        }
    };
    // What was damaged beside it is out of the way before the next verb comes.
    Desk::warn(&board.set_aside()?);
    desk.print(&task, || whole(&task, &branches(&[&task], desk)))?;
    Ok(Ended::Done)
}

/// The person hears how to take a task from somebody else: in the dashboard that is asked.
fn release(board: &Board, id: TaskId, name: &Name, desk: &Desk<'_>) -> Result<Task> {
    match board.release(id, name, desk.now) {
        Err(error @ StoreError::Graph(GraphError::Foreign(..))) if name.is_user() => {
            bail!(
                "{error} (--force takes it: the agent that works on it is stopped and gets a message)"
            )
        }
        other => Ok(other?),
    }
}

/// The person takes a task, as with the key in the dashboard.
fn take(board: &Board, id: TaskId, name: &Name, desk: &Desk<'_>) -> Result<Task> {
    if !name.is_user() {
        bail!("only the user takes tasks from others: use --as user with --force");
    }
    let owner = board.get(id)?.owner.clone();
    let from = if owner.is_empty() {
        name.clone()
    } else {
        Name::party(&owner)?
    };
    let (roster, post) = (Roster::open(desk.root), Post::open(desk.root));
    let letter = LetterId((desk.new_id)());
    Ok(take_from(
        (board, &roster, &post),
        id,
        &from,
        letter,
        desk.now,
    )?)
}

fn ids(board: &Board, references: &[TaskRef]) -> Result<Vec<TaskId>, StoreError> {
    references.iter().map(|r| board.resolve(r)).collect()
}

/// The tags that are given; an empty one is none, so that `--tag ""` takes all of them away.
fn tags_of(given: &[String]) -> Vec<String> {
    let tags = given.iter().map(|tag| tag.trim());
    let tags = tags.filter(|tag| !tag.is_empty());
    tags.map(str::to_string).collect()
}

/// Who claims: a member brings its tags, anybody else has none.
fn claimer(name: &str, desk: &Desk<'_>) -> Result<Claimer> {
    let name = party(name)?;
    let team = Roster::open(desk.root).read()?;
    let tags = team.find(&name).map(|m| m.tags.clone()).unwrap_or_default();
    Ok(Claimer { name, tags })
}

/// Which tasks are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    All,
    Ready,
}

fn list(board: &Board, which: Listed, desk: &Desk<'_>) -> Result<Ended> {
    let reading = board.tidy()?;
    Desk::warn(&reading.notices);
    let graph = &reading.graph;
    let tasks: Vec<&Task> = graph
        .tasks()
        .filter(|t| which == Listed::All || graph.is_ready(t))
        .collect();
    desk.print(&tasks, || {
        if tasks.is_empty() {
            return match which {
                Listed::Ready => "No task is ready.".into(),
                Listed::All => "No tasks.".into(),
            };
        }
        let branches = branches(&tasks, desk);
        let lines: Vec<String> = tasks.iter().map(|t| line(graph, t, &branches)).collect();
        lines.join("\n")
    })?;
    Ok(Ended::Done)
}

/// Where the branches of the worktrees stand, as the dashboard has it: git says. Empty where there are none, or git cannot
/// say; nothing is asked where no completed task has a worktree.
fn branches(tasks: &[&Task], desk: &Desk<'_>) -> BTreeMap<String, BranchState> {
    let may_be_unmerged = |t: &&Task| t.status == TaskStatus::Completed && !t.worktree.is_empty();
    let has_trees = desk.root.join(".worktrees/index.json").exists();
    if !has_trees || !tasks.iter().any(may_be_unmerged) {
        return BTreeMap::new();
    }
    let (trees, mut seen) = (Worktrees::open(desk.root), Seen::default());
    let mut all = BTreeMap::new();
    loop {
        match trees.branches(&mut seen, Look::IfChanged, &[]) {
            Ok(told) => all.extend(told.into_iter().map(|b| (b.worktree.to_string(), b.state))),
            Err(error) => {
                Desk::warn(&[format!("what is merged is not shown: {error}")]);
                return BTreeMap::new();
            }
        }
        if !seen.is_partial() {
            return all;
        }
    }
}

/// What a completed task has that its base lacks: the branch that it is to be merged into.
fn unmerged_into<'a>(
    task: &Task,
    branches: &'a BTreeMap<String, BranchState>,
) -> Option<&'a String> {
    match branches.get(&task.worktree) {
        Some(BranchState::Unmerged { into, .. }) if task.status == TaskStatus::Completed => {
            Some(into)
        }
        Some(_) | None => None,
    }
}

/// One task in one line: the marks of learn-claude-code, the owner, what it waits for, whether it is to be merged.
fn line(graph: &TaskGraph, task: &Task, branches: &BTreeMap<String, BranchState>) -> String {
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
    if let Some(into) = unmerged_into(task, branches) {
        out.push_str(&format!("  (not merged into {into})"));
    }
    out
}

fn whole(task: &Task, branches: &BTreeMap<String, BranchState>) -> String {
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
        (
            "not merged into",
            unmerged_into(task, branches).cloned().unwrap_or_default(),
        ),
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
