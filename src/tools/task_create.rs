//! `task_create`: creates a task on the board.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lenient::{self, LenientRef};
use super::{
    Access, Audience, Tool, ToolContext, ToolResult, ToolUse, call, error_output, format_field,
    on_thread, schema_of, task_ref,
};
use crate::domain::graph::NewTask;
use crate::domain::hook::{HookEvent, HookInput};

pub const TOOL: Tool = Tool {
    name: "task_create",
    text: include_str!("task_create.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "subject"),
    run: |context, input| call(context, input, create),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What will be done, in one line of at most 200 characters.
    #[serde(alias = "title")]
    subject: String,
    /// Everything else the owner needs: files, interfaces, how to check the result, what is out of scope.
    description: Option<String>,
    /// Numbers of the tasks that must be completed first.
    #[serde(
        default,
        alias = "blockedBy",
        alias = "addBlockedBy",
        deserialize_with = "lenient::refs"
    )]
    #[schemars(with = "Option<Vec<u64>>")]
    blocked_by: Vec<LenientRef>,
    /// Tags that a teammate must have to claim the task; null for none.
    #[serde(default)]
    tags: Option<Vec<String>>,
}

async fn create(context: ToolContext, input: Input) -> ToolResult {
    let board = context.stores.board.clone();
    let resolve = move || {
        Ok(NewTask {
            blocked_by: task_ref::resolve_all(&board, &input.blocked_by)?,
            subject: input.subject,
            description: input.description.unwrap_or_default(),
            tags: input.tags.unwrap_or_default(),
            worktree: String::new(),
        })
    };
    let new = on_thread(resolve).await?;
    let mut reserved = None;
    if context.host.has_hooks(HookEvent::TaskCreated) {
        let (board, checked, now) = (context.stores.board.clone(), new.clone(), (context.clock)());
        let check = move || board.reserve(&checked, now).map_err(error_output);
        let id = on_thread(check).await?;
        reserved = Some(id);
        let change = HookInput::TaskCreated {
            id: id.0.to_string(),
            subject: new.subject.clone(),
            description: new.description.clone(),
        };
        let checked = context
            .host
            .check_task(&context.agent, &context.workdir, change);
        checked.await.map_err(error_output)?;
    }
    on_thread(move || {
        let created = context
            .stores
            .board
            .create_as(reserved, new, (context.clock)());
        let task = created.map_err(error_output)?;
        task_ref::to_output(&task)
    })
    .await
}
