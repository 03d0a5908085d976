//! Floor 1: what may be said. Command goes down, Event comes up; both are plain data.

pub mod bus;
pub mod command;
pub mod event;

pub use bus::{Inlet, Publisher};
pub use command::{Command, TaskWish};
pub use event::{Event, EventKind};
