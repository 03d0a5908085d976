//! What a person sees where something is missing: room on the disk, rights, git, open files, plain files.
//! Each case with real processes: what can go on goes on, and one line says what happened and what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by them

#[path = "common/narrow.rs"]
mod narrow;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

#[path = "resources/clock.rs"]
mod clock;
#[path = "resources/denied.rs"]
mod denied;
#[path = "resources/descriptors.rs"]
mod descriptors;
#[path = "resources/disk.rs"]
mod disk;
#[path = "resources/files.rs"]
mod files;
#[path = "resources/repositories.rs"]
mod repositories;
#[path = "resources/surroundings.rs"]
mod surroundings;
