//! Helpers shared by several test modules: projects, repositories, terminals, processes.

#[cfg(target_os = "linux")]
pub mod supervised;
pub mod limited_resources;
pub mod tool_fixture;
pub mod process_tree;
pub mod project;
pub mod pty;
pub mod repository;
