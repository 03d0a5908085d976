//! Floor 0: plain data and rules. No IO, no clock, no async; time and ids come in as values.

pub mod aftermath;
pub mod asking;
pub mod attention;
pub mod ceiling;
pub mod chat;
pub mod conversation;
pub mod folders;
pub mod graph;
pub mod ids;
pub mod job;
pub mod limits;
pub mod mail;
pub mod redact;
pub mod request;
pub mod rule;
pub mod screen;
pub mod skill;
pub mod stamp;
pub mod subagent;
pub mod task;
pub mod team;
pub mod text;
pub mod theme;
pub mod todo;
pub mod usage;
pub mod worktree;
