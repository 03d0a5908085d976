//! `task_list`: lists the board, one line per task.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lenient::LenientRef;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, schema_of, task_ref,
};
use crate::domain::graph::{SUBJECT_MAX, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::{clip, one_line};

/// Maximum number of tasks in one result. On a larger board, only open tasks are listed by default.
const TASKS_MAX: usize = 300;
/// Maximum size of all task lines together, in bytes. Further tasks are only counted. Lower than the limit for a tool
/// result, so that no task line is cut.
const BYTES_MAX: usize = 48 * 1024;
/// Maximum number of blockers that the line of a task names. Further ones are only counted.
const BLOCKERS_MAX: usize = 10;

pub const TOOL: Tool = Tool {
    name: "task_list",
    text: include_str!("task_list.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |_| String::new(),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Which tasks to list; null for all, or on a board of more than 300 tasks for the open ones.
    show: Option<Show>,
    /// List only tasks with a higher number than this: the next part of a long list.
    #[schemars(with = "Option<u64>")]
    after: Option<LenientRef>,
}

/// Which tasks are listed. Open tasks are not completed; ready tasks can be claimed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Show {
    All,
    Open,
    Ready,
    Completed,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let after = input.after.as_ref();
    let after = after
        .map(|reference| task_ref::resolve(&context.stores.board, reference))
        .transpose()?;
    let reading = context.stores.board.read().map_err(error_output)?;
    Ok(ToolOutput::ok(render(&reading.graph, input.show, after)))
}

/// Renders the board in the format of learn-claude-code, with owners added. Lists at most [`TASKS_MAX`] tasks. If tasks
/// are left out, lines at the end say so and how to list them.
fn render(graph: &TaskGraph, show: Option<Show>, after: Option<TaskId>) -> String {
    if graph.is_empty() {
        return "No tasks.".into();
    }
    let show = show.unwrap_or(if graph.len() <= TASKS_MAX {
        Show::All
    } else {
        Show::Open
    });
    let fits = |t: &&Task| match show {
        Show::All => true,
        Show::Open => t.status != TaskStatus::Completed,
        Show::Ready => graph.is_ready(t),
        Show::Completed => t.status == TaskStatus::Completed,
    };
    let tasks: Vec<&Task> = graph
        .tasks()
        .filter(|t| after.is_none_or(|after| t.id > after))
        .filter(fits)
        .collect();
    let mut lines = Vec::new();
    let mut room = BYTES_MAX;
    for task in tasks.iter().take(TASKS_MAX) {
        let line = line(graph, task);
        if line.len() > room {
            break;
        }
        room -= line.len();
        lines.push(line);
    }
    let (shown, more) = tasks.split_at(lines.len());
    let more = more.len();
    if let Some(last) = shown.last().filter(|_| more > 0) {
        lines.push(format!(
            "... ({more} more: call task_list with \"after\": {})",
            last.id.0
        ));
    }
    if show != Show::All || more > 0 {
        lines.push(counts(graph));
    }
    lines.join("\n")
}

/// Returns a line that says how many tasks are in each state and how to list them.
fn counts(graph: &TaskGraph) -> String {
    let (mut working, mut waiting) = (0, 0);
    for task in graph.tasks() {
        match task.status {
            TaskStatus::InProgress => working += 1,
            TaskStatus::Pending if !graph.is_ready(task) => waiting += 1,
            TaskStatus::Pending | TaskStatus::Completed => {}
        }
    }
    format!(
        "({} tasks: {working} in progress, {} ready, {waiting} waiting, {} completed; to list only some, pass \"show\": \"ready\" or \"completed\")",
        graph.len(),
        graph.ready().count(),
        graph.done()
    )
}

fn line(graph: &TaskGraph, task: &Task) -> String {
    let mark = task.status.mark();
    // Other programs may write subjects and owners of any length.
    let short = |text: &str| clip(&one_line(text), SUBJECT_MAX);
    let mut out = format!("{mark} #{}: {}", task.id.0, short(&task.subject));
    if !task.owner.is_empty() {
        out.push_str(&format!(" @{}", short(&task.owner)));
    }
    let open = graph.open_blockers(task);
    if !open.is_empty() && task.status != TaskStatus::Completed {
        let named = open.iter().take(BLOCKERS_MAX).map(|b| b.0.to_string());
        let mut blockers = named.collect::<Vec<_>>().join(", ");
        if open.len() > BLOCKERS_MAX {
            blockers.push_str(&format!(", ... {} more", open.len() - BLOCKERS_MAX));
        }
        out.push_str(&format!(" (blocked by: [{blockers}])"));
    }
    out
}
