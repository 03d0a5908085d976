//! The agents' tools, one file per tool. [`TABLE`] lists them. To add a tool, add its file, its `mod` line and
//! its line in the table.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the functions of all tools have one signature"
)]

mod ask_user;
mod background_run;
mod bash;
mod broadcast;
mod check_background;
pub mod claim_task;
mod compact;
mod decide_request;
mod diff;
mod edit_file;
pub mod file_snapshots;
mod glob;
mod grep;
pub mod host;
mod lenient;
mod list_teammates;
mod load_skill;
mod merge_worktree;
mod messages;
mod nearest;
pub mod pending;
mod plan_approval;
pub mod policy;
pub mod reach;
mod read_file;
mod read_inbox;
mod redaction_guard;
pub mod replace;
mod send_message;
mod shutdown_request;
mod shutdown_response;
mod spawn_teammate;
mod stop_background;
pub mod table;
mod task;
mod task_create;
mod task_get;
mod task_list;
mod task_ref;
mod task_update;
mod todo;
mod tool;
pub mod tool_search;
mod walk;
mod workspace;
mod write_file;

pub use crate::domain::role::ToolUse;
pub use crate::process::supervisor::Supervisor;
pub use diff::format_diff;
pub use tool::{
    Access, Audience, Caller, Tool, ToolContext, ToolOutput, parse, path_below_root, schema_of,
};
use tool::{ToolResult, call, call_blocking, call_now, error_output, format_field, on_thread};

/// All tools, in the order in which they are sent to models. The order is fixed, so that prompt caches stay valid.
pub static TABLE: &[&Tool] = &[
    &bash::TOOL,
    &read_file::TOOL,
    &write_file::TOOL,
    &edit_file::TOOL,
    &glob::TOOL,
    &grep::TOOL,
    &background_run::TOOL,
    &check_background::TOOL,
    &stop_background::TOOL,
    &task::TOOL,
    &todo::TOOL,
    &compact::TOOL,
    &load_skill::TOOL,
    &task_create::TOOL,
    &task_update::TOOL,
    &task_list::TOOL,
    &task_get::TOOL,
    &claim_task::TOOL,
    &merge_worktree::TOOL,
    &spawn_teammate::TOOL,
    &list_teammates::TOOL,
    &send_message::TOOL,
    &broadcast::TOOL,
    &read_inbox::TOOL,
    &ask_user::TOOL,
    &plan_approval::TOOL,
    &shutdown_request::TOOL,
    &shutdown_response::TOOL,
    &decide_request::TOOL,
];
