//! crewdeck: a full-screen terminal dashboard for a team of coding agents.
//!
//! `docs/ARCHITECTURE.md` describes the structure and the invariants, `docs/GUARANTEES.md` lists what users can rely
//! on, and `docs/GLOSSARY.md` defines the terms.
//!
//! The layers, lowest first. Each layer imports only layers that this list names before it, as
//! `tests/it/architecture.rs` checks.
//!
//! - [`domain`]: data and rules
//! - [`protocol`]: commands, events, the bus
//! - [`process`]: child processes and the sandbox
//! - [`store`]: the state files
//! - [`checks`]: runs the checks of tasks
//! - [`hooks`]: runs hooks
//! - [`model`]: language models and their wire formats
//! - [`mcp`]: MCP servers and their connections
//! - [`acp`]: external agents and their sessions
//! - [`tools`]: the tools and the permission policy
//! - [`agent`]: one agent
//! - [`crew`]: lead, teammates, subagents, jobs, requests
//! - [`ui`]: the dashboard
//! - [`app`]: start, assembly, the main loops of the front ends
//!
//! Outside of the layers: [`http`] (HTTP clients), [`config`] (settings), [`cli`] (command line), [`commands`]
//! (subcommands that read or change the state files), [`doctor`] (checks and repairs), [`fuzzing`] (fuzz targets for
//! the parsers of untrusted input).

pub mod acp;
pub mod agent;
pub mod app;
pub mod checks;
pub mod cli;
pub mod commands;
pub mod config;
pub mod crew;
pub mod doctor;
pub mod domain;
#[doc(hidden)]
pub mod fuzzing;
pub mod hooks;
pub mod http;
pub mod mcp;
pub mod model;
pub mod process;
pub mod protocol;
pub mod store;
pub mod tools;
pub mod ui;
