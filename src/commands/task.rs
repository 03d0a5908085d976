//! The `crewdeck task` subcommands: add, import, list, claim, complete and change tasks.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::table::lines;
use super::{CommandContext, CommandOutcome, CompletionRequest, parse_name, task_import};
use crate::cli::{ImportArgs, TaskVerb};
use crate::domain::checks;
use crate::domain::graph::{Claimer, GraphError, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{MessageId, Name, TaskId, TaskRef};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::domain::worktree::BranchState;
use crate::store::{Board, BranchSnapshot, ScanMode, StoreError, Worktrees, take_task};

pub fn run(verb: &TaskVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let board = &context.stores.board;
    let task = match verb {
        TaskVerb::List { ready } => {
            return list(board, *ready, context);
        }
        TaskVerb::Import(args) => {
            return import(board, args, context);
        }
        TaskVerb::Show { id } => {
            let task = board.get(board.resolve(id)?)?;
            CommandContext::warn(&board.read_and_repair()?.notices);
            Task::clone(&task)
        }
        TaskVerb::Add {
            subject,
            description,
            blocked_by,
            tags,
            accept,
        } => {
            let new = NewTask {
                subject: subject.clone(),
                description: description.clone(),
                blocked_by: resolve_ids(board, blocked_by)?,
                tags: parse_tags(tags),
                worktree: String::new(),
            };
            if accept.is_some() {
                context.gate.check_may_set_acceptance()?;
            }
            match accept {
                Some(command) => create_with_acceptance(board, new, command, context)?,
                None => board.create(new, context.now)?,
            }
        }
        TaskVerb::Claim { id, name } => {
            let id = id.as_ref().map(|id| board.resolve(id)).transpose()?;
            match board.claim(id, &claimer(name, context)?, context.now)? {
                Some(task) => task,
                None => return Ok(CommandOutcome::Nothing),
            }
        }
        TaskVerb::Start { id, name } => {
            board.start(board.resolve(id)?, &claimer(name, context)?, context.now)?
        }
        TaskVerb::Done {
            id,
            name,
            override_reason,
        } => {
            let (id, name) = (board.resolve(id)?, parse_name(name)?);
            complete(board, id, &name, override_reason.as_deref(), context)?
        }
        TaskVerb::Release { id, name, force } => {
            let (id, name) = (board.resolve(id)?, parse_name(name)?);
            if *force {
                take_from_owner(board, id, &name, context)?
            } else {
                release(board, id, &name, context)?
            }
        }
        TaskVerb::Edit {
            id,
            subject,
            description,
            tags,
            blocked_by,
            unblock,
            accept,
        } => {
            let edit = TaskEdit {
                subject: subject.clone(),
                description: description.clone(),
                block_on: resolve_ids(board, blocked_by)?,
                unblock: resolve_ids(board, unblock)?,
                tags: (!tags.is_empty()).then(|| parse_tags(tags)),
            };
            let id = board.resolve(id)?;
            change(board, id, &edit, accept.as_deref(), context)?
        }
        TaskVerb::Rm { id } => {
            let removed = board.remove(board.resolve(id)?, context.now)?;
            context.print(&removed, || {
                format!("removed {} {}", removed.id, one_line(&removed.subject))
            })?;
            return Ok(CommandOutcome::Done);
        }
    };
    // Damaged task files are renamed now, so that later commands do not find them.
    CommandContext::warn(&board.set_aside()?);
    context.print(&task, || details(&task, &branches(&[&task], context)))?;
    Ok(CommandOutcome::Done)
}

/// Changes a task, and sets its acceptance command if `accept` is given.
fn change(
    board: &Board,
    id: TaskId,
    edit: &TaskEdit,
    accept: Option<&str>,
    context: &CommandContext<'_>,
) -> Result<Task> {
    let Some(command) = accept else {
        return Ok(board.edit(id, edit, context.now)?);
    };
    context.gate.check_may_set_acceptance()?;
    if *edit != TaskEdit::default() {
        board.edit(id, edit, context.now)?;
    }
    set_acceptance(board, id, command, context)
}

/// Completes a task after its checks. With a reason, completes it even if the checks are red.
fn complete(
    board: &Board,
    id: TaskId,
    name: &Name,
    override_reason: Option<&str>,
    context: &CommandContext<'_>,
) -> Result<Task> {
    if override_reason.is_some_and(|reason| reason.trim().is_empty()) {
        bail!("an override needs a reason: --override \"REASON\"");
    }
    let task = board.get(id)?;
    // The user can override the checks of a task that an agent owns. The task is completed for its owner.
    let owner = match override_reason {
        Some(_) if name.is_user() && !task.owner.is_empty() => Name::party(&task.owner)?,
        Some(_) | None => name.clone(),
    };
    board.query(|graph| graph.check_complete(id, &owner))??;
    let records = context.gate.check(&CompletionRequest {
        board,
        task: &task,
        by: name,
        override_reason,
    })?;
    // The checks may have taken long.
    let now = records.iter().map(|record| record.at);
    let now = now.fold(context.now, |last, at| if at > last { at } else { last });
    Ok(board.complete_checked(id, &owner, &records, now)?)
}

/// Creates a task with an acceptance command. The command is approved before the task exists, so that no agent completes
/// the task without it.
fn create_with_acceptance(
    board: &Board,
    new: NewTask,
    command: &str,
    context: &CommandContext<'_>,
) -> Result<Task> {
    let id = board.reserve(&new, context.now)?;
    let notice = context.gate.approve_acceptance(id, command)?;
    CommandContext::warn(notice.as_slice());
    let created = board.create_as(Some(id), new, context.now)?;
    set_acceptance(board, created.id, command, context)
}

/// Sets the acceptance command of a task, and stores that the user has set it, so that it may run.
fn set_acceptance(
    board: &Board,
    id: TaskId,
    command: &str,
    context: &CommandContext<'_>,
) -> Result<Task> {
    let notice = context.gate.approve_acceptance(id, command)?;
    CommandContext::warn(notice.as_slice());
    Ok(board.set_acceptance(id, command, context.now)?)
}

/// Releases a task that `name` owns or that has no owner. Fails if the task has another owner; if `name` is the user,
/// the error then mentions `--force`.
fn release(board: &Board, id: TaskId, name: &Name, context: &CommandContext<'_>) -> Result<Task> {
    match board.release(id, name, context.now) {
        Err(error @ StoreError::Graph(GraphError::OtherOwner(..))) if name.is_user() => {
            bail!(
                "{error} (--force releases the task anyway; its owner is stopped and gets a message)"
            )
        }
        other => Ok(other?),
    }
}

/// Takes a task away from its owner, if it has one, and returns it to the board. Fails unless `name` is the user.
/// `name` is the name under which the command runs.
fn take_from_owner(
    board: &Board,
    id: TaskId,
    name: &Name,
    context: &CommandContext<'_>,
) -> Result<Task> {
    if !name.is_user() {
        bail!("only the user can take tasks from others: use --as user with --force");
    }
    let owner = board.get(id)?.owner.clone();
    let from = if owner.is_empty() {
        name.clone()
    } else {
        Name::party(&owner)?
    };
    let (roster, mailbox) = (&context.stores.roster, &context.stores.mailbox);
    let message_id = MessageId((context.new_id)());
    let taken = take_task((board, roster, mailbox), id, &from, message_id, context.now)?;
    CommandContext::warn(taken.notice.as_slice());
    Ok(taken.task)
}

fn resolve_ids(board: &Board, references: &[TaskRef]) -> Result<Vec<TaskId>, StoreError> {
    references.iter().map(|r| board.resolve(r)).collect()
}

/// Returns the tags without blanks around them and without empty ones, so that `--tag ""` removes all tags.
fn parse_tags(args: &[String]) -> Vec<String> {
    let tags = args.iter().map(|tag| tag.trim());
    let tags = tags.filter(|tag| !tag.is_empty());
    tags.map(str::to_string).collect()
}

/// Returns who claims a task: the name and the member's tags. A name that is not on the team has no tags.
fn claimer(name: &str, context: &CommandContext<'_>) -> Result<Claimer> {
    let name = parse_name(name)?;
    let team = context.stores.roster.read()?;
    let tags = team.find(&name).map(|m| m.tags.clone()).unwrap_or_default();
    Ok(Claimer { name, tags })
}

fn list(board: &Board, only_ready: bool, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let reading = board.read_and_repair()?;
    CommandContext::warn(&reading.notices);
    let graph = &reading.graph;
    let tasks: Vec<&Task> = graph
        .tasks()
        .filter(|t| !only_ready || graph.is_ready(t))
        .collect();
    context.print(&tasks, || {
        if tasks.is_empty() {
            let none = if only_ready {
                "No task is ready."
            } else {
                "No tasks."
            };
            return none.into();
        }
        let branches = branches(&tasks, context);
        lines(tasks.iter().map(|t| task_line(graph, t, &branches)))
    })?;
    Ok(CommandOutcome::Done)
}

/// Imports tasks and prints them, one line each.
fn import(
    board: &Board,
    args: &ImportArgs,
    context: &CommandContext<'_>,
) -> Result<CommandOutcome> {
    let imported = task_import::run(args, board, context)?;
    CommandContext::warn(&imported.notices);
    let graph = board.read()?.graph;
    context.print(&imported.tasks, || {
        if imported.tasks.is_empty() {
            return "Nothing to import.".into();
        }
        let tasks = imported.tasks.iter();
        lines(tasks.map(|task| task_line(&graph, task, &BTreeMap::new())))
    })?;
    Ok(if imported.tasks.is_empty() {
        CommandOutcome::Nothing
    } else {
        CommandOutcome::Done
    })
}

/// Returns the merge status of the worktrees' branches, by worktree name. Runs git only if a completed task in `tasks`
/// has a worktree; otherwise the result is empty. If git fails, prints a warning and returns an empty result.
fn branches(tasks: &[&Task], context: &CommandContext<'_>) -> BTreeMap<String, BranchState> {
    let may_be_unmerged = |t: &&Task| t.status == TaskStatus::Completed && !t.worktree.is_empty();
    let has_worktrees = context.root.join(".worktrees/index.json").exists();
    if context.is_on_hub || !has_worktrees || !tasks.iter().any(may_be_unmerged) {
        return BTreeMap::new();
    }
    let (worktrees, mut cache) = (Worktrees::open(context.root), BranchSnapshot::default());
    let mut all = BTreeMap::new();
    loop {
        match worktrees.branches(&mut cache, ScanMode::IfChanged, &[]) {
            Ok(found) => all.extend(found.into_iter().map(|b| (b.worktree.to_string(), b.state))),
            Err(error) => {
                CommandContext::warn(&[format!("the merge status is not shown: {error}")]);
                return BTreeMap::new();
            }
        }
        if !cache.is_partial() {
            return all;
        }
    }
}

/// Returns the base branch into which the branch of a completed task must still be merged. Returns `None` if the task
/// is not completed, its branch need not be merged, or `branches` does not contain its worktree.
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

/// Returns a task as one line: the status as a mark (see [`TaskStatus::mark`]), number, subject, owner, open blockers,
/// tags and merge status.
fn task_line(graph: &TaskGraph, task: &Task, branches: &BTreeMap<String, BranchState>) -> String {
    let mut out = format!("{} {}: {}", task.status.mark(), task.id, task.subject);
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
    if let Some(words) = checks::summary(&task.checks) {
        out.push_str(&format!("  ({words})"));
    }
    out
}

fn details(task: &Task, branches: &BTreeMap<String, BranchState>) -> String {
    let mut rows = vec![format!(
        "{} {}: {}",
        task.status.mark(),
        task.id,
        task.subject
    )];
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
            rows.push(format!("    {name}: {text}"));
        }
    }
    if !task.acceptance.is_empty() {
        rows.push(format!("    acceptance command: {}", task.acceptance));
    }
    for record in &task.checks {
        let by = match record.by.as_str() {
            "" => String::new(),
            by => format!(" by {by}"),
        };
        let log = match record.log.as_str() {
            "" => String::new(),
            log => format!(" ({log})"),
        };
        rows.push(format!(
            "    check {}{by}: {}{log}",
            record.name,
            record.words()
        ));
    }
    let mut out = lines(rows);
    if !task.description.is_empty() {
        out.push_str(&format!("\n\n{}", task.description));
    }
    out
}
