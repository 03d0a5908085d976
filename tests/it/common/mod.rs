//! Helpers shared by several test modules: projects, repositories, terminals, processes.

pub mod crew;
pub mod fake_client;
#[cfg(target_os = "linux")]
pub mod hub_project;
pub mod limited_resources;
pub mod process_tree;
pub mod project;
pub mod pty;
pub mod random;
pub mod repository;
#[cfg(target_os = "linux")]
pub mod supervised;
pub mod tool_fixture;
pub mod wait;
