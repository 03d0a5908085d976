//! Commands and events: the plain data that front ends and the crew exchange, and the channel for it.

pub mod asked;
pub mod bus;
pub mod command;
pub mod event;
pub mod setup;

pub use asked::CommandRef;
pub use bus::{EventReceiver, EventSender};
pub use command::{Command, TaskCommand};
pub use event::{Event, EventKind};
