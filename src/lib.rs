//! crewdeck.

pub mod domain;
pub mod model;
pub mod protocol;
pub mod tools;
pub mod ui;
