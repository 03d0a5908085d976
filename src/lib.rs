//! crewdeck: a full-screen terminal dashboard for a team of coding agents.
//!
//! `docs/ARCHITECTURE.md` has the overview, the map and the invariants; `docs/GUARANTEES.md` what users can rely on;
//! `docs/GLOSSARY.md` the terms.
//!
//! ```text
//!   keys ─> ui update ─> Command ─> crew ─> agent driver ─> model (HTTP)
//! screen <─ ui view <─── Event <─── bus <─┬─ agent turns (pure state machine)
//!                                         └─ file watcher on .tasks .team
//! ```
//!
//! Each layer imports only layers above it in this table; `tests/it/architecture.rs` checks it.
//!
//! | layer | content | must not know |
//! |---|---|---|
//! | [`domain`] | data and rules: tasks, messages, requests, conversations | files, async, the clock |
//! | [`protocol`] | commands, events, the bus | who sends and who receives |
//! | [`process`] | child processes with their descendants, the sandbox | why a command runs |
//! | [`store`] | the state files | agents, the screen |
//! | [`model`] | language models and their wire formats | tools, the crew |
//! | [`tools`] | one file per tool, the permission policy | models, the crew |
//! | [`agent`] | one agent: pure turn and idle machines, their driver | other agents, the screen |
//! | [`crew`] | lead, teammates, subagents, jobs, requests | the screen |
//! | [`ui`] | state, update and view of the dashboard, all pure | everything but domain and protocol |
//! | [`app`] | start, assembly, the main loops of the front ends | – |
//!
//! Beside the layers: [`config`] (settings), [`cli`] (command line), [`commands`] (subcommands on the state files),
//! [`doctor`] (checks and repairs), [`fuzzing`] (fuzz targets for the parsers of untrusted input).

pub mod agent;
pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
pub mod crew;
pub mod doctor;
pub mod domain;
#[doc(hidden)]
pub mod fuzzing;
pub mod model;
pub mod process;
pub mod protocol;
pub mod store;
pub mod tools;
pub mod ui;
