//! The integration tests, in one binary to link once and to share one thread pool. Each module covers one subject; `common` holds
//! shared helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests fail by panicking

mod acp;
#[cfg(target_os = "linux")]
mod acp_server;
mod architecture;
mod attachments;
mod board;
mod budgets;
mod chaos;
mod checkpoint_cli;
mod checkpoint_kills;
mod checks;
mod cli;
mod cli_edge_cases;
#[cfg(target_os = "linux")]
mod command_limits;
mod common;
mod crash;
mod crew_tools;
mod doctor;
mod doctor_terminal;
mod evals;
mod examples;
mod extension_approval;
mod external;
mod external_permissions;
mod first_request;
mod gallery;
mod golden;
mod headless;
#[cfg(target_os = "linux")]
mod history;
mod hook_events;
mod hooks;
mod hostile;
mod hostile_cli;
mod hostile_tools;
mod hub_arguments;
mod hub_try;
mod hub_viewer;
#[cfg(target_os = "linux")]
mod hub_worker;
mod keys;
mod language;
mod long_sessions;
#[cfg(target_os = "linux")]
mod mcp;
mod mcp_serve;
mod merging;
mod model_server;
mod named_models;
mod needs;
#[cfg(target_os = "linux")]
mod network_by_role;
mod onboarding;
mod pictures;
mod practice;
mod proof_team;
mod pull_requests;
mod race;
mod replay;
mod resources;
mod resume;
mod roles;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sandbox_writes;
#[cfg(target_os = "linux")]
mod sandboxed_tools;
mod secrets;
mod settings_approval;
mod skills;
#[cfg(target_os = "linux")]
mod supervisor;
mod task_import;
mod team;
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_isolation;
mod themes;
mod tools;
mod user_actions;
mod vendors;
mod viewer;
mod wire;
mod worktree_include;
mod worktree_recovery;
mod worktree_setup;
mod worktrees;
