//! Helpers shared by several test modules: projects, repositories, terminals, processes.

#[cfg(target_os = "linux")]
pub mod held;
pub mod narrow;
pub mod place;
pub mod process_tree;
pub mod project;
pub mod pty;
pub mod repository;
