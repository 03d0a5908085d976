//! The crew: receives commands, runs the lead and its teammates, and publishes events.
//!
//! A crew consists of components, each with its own state. A component receives the components that it uses in its
//! constructor. [`Crew`] creates and connects the components; no object contains all of them. `CrewContext` contains
//! what all components share.
//!
//! | concern | component |
//! |---|---|
//! | running agents and subagents | `registry` |
//! | wake-ups, work in progress of the crew | `signals` |
//! | the lead's prompts and news | `lead_inbox` |
//! | messages to agents, files attached to them | `message_delivery`, `attachments` |
//! | requests: filing, deciding, executing, reminding | `request_broker`, `decision_followup`, `request_reminders` |
//! | permissions for the session, budgets | `session_permissions`, `budget` |
//! | published board, responses to its changes | `board_view`, `board_followup` |
//! | worktrees, branches, merges, removal | `worktrees`, `worktree_setup`, `worktree_disk`, `branch_status`, `merge_service`, `merge_train`, `train_merger`, `worktree_removal` |
//! | branches of other hosts | `branch_exchange` |
//! | background jobs, MCP servers, what they offer | `jobs`, `servers`, `offers`, `server_prompt` |
//! | team, recovery after a crash, shutdown | `team`, `recovery`, `shutdown` |
//! | tool calls of external agents | `agent_socket` |
//! | agents: building, lead, teammates, subagents | `agent_builder`, `lead`, `teammate`, `subagent` |
//! | other hosts of a crew on a hub | `hosts` |
//! | idleness, files on disk | `idle_detector`, `watcher` |
//! | events of agents on other hosts | `event_relay`, `event_outbox`, `event_buffer`, `relayed_events` |
//! | commands of the user, here and in a viewer | `commands`, `user_actions`, `user_shell`, `viewer` |

mod agent_builder;
pub mod agent_socket;
mod approvers;
mod assembly;
mod attachments;
mod base_components;
mod board_followup;
mod board_view;
mod branch_exchange;
mod branch_status;
mod budget;
mod checkpoints;
mod checks;
mod command_loop;
mod commands;
#[cfg(test)]
mod component_tests;
mod context;
#[allow(clippy::module_inception)] // the type of the folder
mod crew;
mod decision_followup;
mod event_buffer;
mod event_outbox;
pub mod event_relay;
mod external_agents;
mod file_errors;
mod first_board;
mod hook_session;
mod hooks;
mod host;
mod host_changes;
mod host_facts;
mod hosts;
#[cfg(test)]
mod hub_request_tests;
mod hub_retry;
#[cfg(test)]
mod hub_test_support;
mod identical_requests;
mod idle_detector;
mod inbox_prompts;
mod jobs;
mod lead;
mod lead_inbox;
mod merge_report;
mod merge_service;
#[cfg(test)]
mod merge_tests;
mod merge_train;
mod message_delivery;
mod models;
#[cfg(test)]
mod models_tests;
mod offers;
mod parts;
mod period_counter;
mod progress;
mod prompt_waits;
mod recovery;
mod red_question;
mod registry;
mod relayed_events;
mod remote_work;
mod request_broker;
mod request_reminders;
#[cfg(test)]
mod request_tests;
mod roles;
mod server_events;
mod server_prompt;
mod servers;
mod session_permissions;
mod shared_parts;
mod shutdown;
mod signals;
mod skills;
mod spare_worktree;
mod start;
mod subagent;
mod team;
mod teammate;
#[cfg(test)]
mod test_support;
mod train_merger;
#[cfg(test)]
mod train_tests;
mod train_texts;
mod user_actions;
mod user_shell;
mod viewer;
mod watcher;
mod work_directory;
mod worktree_disk;
mod worktree_removal;
mod worktree_setup;
#[cfg(test)]
mod worktree_tests;
mod worktrees;

pub use approvers::Approvers;
pub use attachments::decode_image;
pub use branch_exchange::CrewExchange;
pub use context::until;
pub use crew::Crew;
pub use external_agents::ExternalParts;
pub use first_board::{PublishedBoard, publish_session};
pub use hooks::HookParts;
pub use merge_train::{TrainHost, TrainRunner};
pub use parts::{
    BudgetParts, CheckParts, CrewParts, ExtensionParts, InstructionParts, ModelParts, NamedModels,
    SessionParts, TeamLimits, WorktreeParts,
};
pub use request_reminders::REMINDERS_MAX;
pub use servers::ServerParts;
pub use shared_parts::{HostParts, SharedParts};
pub use train_merger::TrainMerger;
pub use viewer::{HubFeed, HubUpdate, Runner, Viewer, ViewerParts};
