//! Hooks: programs and addresses of the user that crewdeck calls at certain events and that can block or change what
//! happens.
//!
//! The formats of the configuration files, matchers, inputs and answers are those of Claude Code, so that hooks written
//! for it run unchanged.

mod decision;
mod event;
mod input;
mod matcher;
mod outcome;
mod rule;
mod spec;
mod tools;

pub use decision::{HookDecision, HookResult, PermissionVerdict, decide, decide_changed};
pub use event::{BlockEffect, HookEvent, SessionEndReason};
pub use input::{HookAgent, HookCall, HookContext, HookInput};
pub use matcher::Matcher;
pub use outcome::{BlockQuestion, CONTEXT_MAX, HookOutcome, limit_length, merge};
pub use rule::ToolRule;
pub use spec::{HookHandler, HookSource, HookSpec, distinct};
pub use tools::{
    ExternalCall, external_call, external_name, external_response, own_input, own_tools,
};
