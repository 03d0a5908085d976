//! `task_update`: changes the status, text or blockers of a task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lenient::{self, LenientRef};
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    on_thread, schema_of, task_ref,
};
use crate::domain::graph::{GraphError, TaskEdit};
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::store::{Board, StoreError, Stores};
use crate::tools::host::CheckedCompletion;

pub const TOOL: Tool = Tool {
    name: "task_update",
    text: include_str!("task_update.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show,
    run: |context, input| call(context, input, update),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the task.
    #[schemars(with = "u64")]
    task_id: LenientRef,
    /// pending puts your task back on the board, in_progress claims or restarts it, completed finishes it.
    #[schemars(with = "Option<Status>")]
    status: Option<TaskStatus>,
    /// Numbers of tasks to add as blockers.
    #[serde(
        default,
        rename = "addBlockedBy",
        alias = "add_blocked_by",
        deserialize_with = "lenient::refs"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    add: Vec<LenientRef>,
    /// Numbers of tasks to remove as blockers.
    #[serde(
        default,
        rename = "removeBlockedBy",
        alias = "remove_blocked_by",
        deserialize_with = "lenient::refs"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    remove: Vec<LenientRef>,
    /// New subject, in one line of at most 200 characters.
    subject: Option<String>,
    /// New description, which replaces the whole old one.
    description: Option<String>,
}

/// Describes [`TaskStatus`] in the JSON schema.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

fn show(input: &Value) -> String {
    let id = input
        .get("task_id")
        .map(ToString::to_string)
        .unwrap_or_default();
    let status = input
        .get("status")
        .and_then(Value::as_str)
        .unwrap_or_default();
    crate::domain::text::one_line(format!("#{} {status}", id.trim_matches(['"', '#'])).trim())
}

async fn update(context: ToolContext, mut input: Input) -> ToolResult {
    let ToolContext {
        host,
        agent,
        stores: Stores { board, .. },
        ..
    } = context.clone();
    let status = input.status;
    if status == Some(TaskStatus::Completed) {
        if host.has_hooks(HookEvent::TaskCompleted) {
            check_hooks(&context, &input).await?;
        }
        // Commit before the task is completed: tasks that become ready by its completion build on this branch.
        host.commit_leftovers(&agent).await.map_err(error_output)?;
        if let Some(output) = complete_checked(&context, &mut input).await? {
            return Ok(output);
        }
    }
    let before = own(&board, &agent).await;
    if status == Some(TaskStatus::InProgress) && context.is_external {
        check_owned(&context, &input, before.as_ref()).await?;
    }
    if status == Some(TaskStatus::InProgress) && before.is_none() {
        host.check_may_claim().map_err(error_output)?;
    }
    let mut output = on_thread(move || run(&context, input)).await?;
    // Starting an unclaimed task also claims it.
    if status == Some(TaskStatus::InProgress)
        && let Some(task) = own(&board, &agent).await
        && before.is_none_or(|t| t.id != task.id)
    {
        let place = host
            .enter_worktree(&agent, &task)
            .await
            .map_err(error_output)?;
        output.text.push_str(&place);
    }
    Ok(output)
}

/// Completes the task after its checks, and returns the result of the call. The other changes in `input` are made
/// before, and taken out of `input`. Returns `None` if no check concerns the task. Fails with text for the model if the
/// task is not completed.
async fn complete_checked(
    context: &ToolContext,
    input: &mut Input,
) -> Result<Option<ToolOutput>, ToolOutput> {
    let changes = Input {
        task_id: input.task_id.clone(),
        status: None,
        add: std::mem::take(&mut input.add),
        remove: std::mem::take(&mut input.remove),
        subject: input.subject.take(),
        description: input.description.take(),
    };
    let own = context.clone();
    let id = on_thread(move || change(&own, changes).map(|(id, _)| id)).await?;
    let wait_max = context.decision_wait();
    let completion = context
        .host
        .complete_checked(&context.agent, id, wait_max)
        .await
        .map_err(error_output)?;
    match completion {
        None => Ok(None),
        Some(CheckedCompletion::Completed(task)) => task_ref::to_output(&task).map(Some),
        Some(CheckedCompletion::StillRunning) => Ok(Some(ToolOutput::ok(format!(
            "The checks of task {id} are still running. You get their result as a message. The task is completed when they are green. To wait for them, complete the task again."
        )))),
    }
}

/// Runs the hooks for completed tasks if the agent may complete the task. Fails with text for the model if the agent
/// may not complete the task, or if a hook rejects the completion.
async fn check_hooks(context: &ToolContext, input: &Input) -> Result<(), ToolOutput> {
    let (board, agent, id) = (
        context.stores.board.clone(),
        context.agent.clone(),
        input.task_id.clone(),
    );
    let task = on_thread(move || {
        let id = task_ref::resolve(&board, &id)?;
        let found = board.query(|graph| {
            graph.check_complete(id, &agent)?;
            Ok::<_, GraphError>(graph.get(id).cloned())
        });
        found.map_err(error_output)?.map_err(error_output)
    });
    let Some(task) = task.await? else {
        return Ok(());
    };
    let change = HookInput::TaskCompleted {
        id: task.id.0.to_string(),
        subject: input.subject.clone().unwrap_or(task.subject),
        description: input.description.clone().unwrap_or(task.description),
    };
    let checked = context
        .host
        .check_task(&context.agent, &context.workdir, change);
    checked.await.map_err(error_output)
}

/// Checks that an external agent starts only the task that it owns. Starting another task would claim it, and an
/// external agent cannot be moved into that task's worktree while it works. Fails with text for the model.
async fn check_owned(
    context: &ToolContext,
    input: &Input,
    own: Option<&Task>,
) -> Result<(), ToolOutput> {
    let (board, reference) = (context.stores.board.clone(), input.task_id.clone());
    let id = on_thread(move || task_ref::resolve(&board, &reference)).await?;
    if own.is_some_and(|task| task.id == id) {
        return Ok(());
    }
    Err(error_output(format!(
        "you do not own task {id}, and you cannot claim tasks: ready tasks are claimed for you between your turns"
    )))
}

/// Returns the open task that `agent` owns; `None` if it owns none, or if the board cannot be read.
async fn own(board: &Board, agent: &Name) -> Option<Task> {
    let (board, agent) = (board.clone(), agent.clone());
    let own = move || board.query(|graph| graph.open_task_of(&agent).cloned());
    tokio::task::spawn_blocking(own).await.ok()?.ok()?
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let status = input.status;
    let (id, mut task) = change(context, input)?;
    if let Some(status) = status {
        let moved = set_status(context, id, status).map_err(error_output)?;
        task = Some(moved);
    }
    match task {
        Some(task) => task_ref::to_output(&task),
        None => Err(error_output(
            "nothing to change: pass status, subject, description, addBlockedBy or removeBlockedBy",
        )),
    }
}

/// Makes the changes of the text and the blockers. Returns the number of the task, and the task if anything was changed.
fn change(context: &ToolContext, input: Input) -> Result<(TaskId, Option<Task>), ToolOutput> {
    let board = &context.stores.board;
    let id = task_ref::resolve(board, &input.task_id)?;
    let edit = TaskEdit {
        subject: input.subject,
        description: input.description,
        block_on: task_ref::resolve_all(board, &input.add)?,
        unblock: task_ref::resolve_all(board, &input.remove)?,
        tags: None,
    };
    let mut task = None;
    if edit != TaskEdit::default() {
        let edited = board
            .edit(id, &edit, (context.clock)())
            .map_err(error_output)?;
        task = Some(edited);
    }
    Ok((id, task))
}

fn set_status(context: &ToolContext, id: TaskId, status: TaskStatus) -> Result<Task, StoreError> {
    let (board, now) = (&context.stores.board, (context.clock)());
    match status {
        TaskStatus::Completed => board.complete(id, &context.agent, now),
        TaskStatus::InProgress => board.start(id, &task_ref::claimer(context), now),
        TaskStatus::Pending => board.release(id, &context.agent, now),
    }
}
