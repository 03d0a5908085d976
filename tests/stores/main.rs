//! The promises about the shared state of a crew, checked for each store that can hold it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod board;
mod files;
mod hosts;
mod hub;
mod mail;
mod people;
mod suite;
