//! `task_list`: the board in one line a task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, blocking, parse, schema_of, task_ref,
};
use crate::domain::graph::TaskGraph;
use crate::domain::task::{Task, TaskStatus};

/// Most tasks of one result; completed ones are left out first.
const TASKS_MAX: usize = 300;

/// The tool.
pub const TOOL: Tool = Tool {
    name: "task_list",
    text: include_str!("task_list.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Everyone,
    show: |_| String::new(),
    run: |context, input| Box::pin(blocking(context, input, run)),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn run(context: &ToolContext, input: Value) -> Result<ToolOutput, ToolOutput> {
    let Input {} = parse(input)?;
    let reading = context.board.read().map_err(|e| task_ref::refused(&e))?;
    Ok(ToolOutput::ok(render(&reading.graph)))
}

/// The board as the reference renders it, with owners.
fn render(graph: &TaskGraph) -> String {
    if graph.is_empty() {
        return "No tasks.".into();
    }
    let open = |t: &&Task| t.status != TaskStatus::Completed;
    let keep_done = graph.len() <= TASKS_MAX;
    let shown = graph
        .tasks()
        .filter(|t| keep_done || open(t))
        .take(TASKS_MAX);
    let mut lines: Vec<String> = shown.map(|t| line(graph, t)).collect();
    if graph.len() > lines.len() {
        lines.push(format!(
            "... ({} more tasks; {} are completed)",
            graph.len() - lines.len(),
            graph.done()
        ));
    }
    lines.join("\n")
}

fn line(graph: &TaskGraph, task: &Task) -> String {
    let mark = match task.status {
        TaskStatus::Pending => "[ ]",
        TaskStatus::InProgress => "[>]",
        TaskStatus::Completed => "[x]",
    };
    let mut out = format!("{mark} #{}: {}", task.id.0, task.subject);
    if !task.owner.is_empty() {
        out.push_str(&format!(" @{}", task.owner));
    }
    let blockers: Vec<String> = graph
        .open_blockers(task)
        .iter()
        .map(|b| b.0.to_string())
        .collect();
    if !blockers.is_empty() && task.status != TaskStatus::Completed {
        out.push_str(&format!(" (blocked by: [{}])", blockers.join(", ")));
    }
    out
}
