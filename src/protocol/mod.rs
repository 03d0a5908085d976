//! Floor 1: what may be said. Command goes down, Event comes up; both are plain data.

pub mod asked;
pub mod bus;
pub mod command;
pub mod event;
pub mod setup;

pub use asked::Asked;
pub use bus::{Inlet, Publisher};
pub use command::{Command, TaskWish};
pub use event::{Event, EventKind};
