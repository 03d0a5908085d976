//! The integration tests, in one binary: one link, and one pool of threads for all of them. A module is a subject; `common` has
//! what several of them use.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by them

mod architecture;
mod board;
mod by_hand;
mod ceilings;
mod chaos;
mod cli;
mod common;
#[cfg(target_os = "linux")]
mod confinement;
mod contract;
mod crash;
mod crew_tools;
mod doctor;
mod doctor_terminal;
mod evals;
mod examples;
mod first;
mod gallery;
mod golden;
#[cfg(target_os = "linux")]
mod guard;
mod headless;
#[cfg(target_os = "linux")]
mod held_tools;
#[cfg(target_os = "linux")]
mod history;
mod hostile;
mod hostile_cli;
mod hostile_tools;
mod keys;
mod lasting;
mod merging;
mod needs;
#[cfg(target_os = "linux")]
mod own_terminal;
mod practice;
mod race;
mod replay;
mod resources;
mod resume;
#[cfg(target_os = "linux")]
mod sandbox;
mod secrets;
mod skills;
mod team;
mod terminal;
mod themes;
mod tools;
mod vendors;
mod viewer;
mod wire;
mod worktree_recovery;
mod worktrees;
