//! Commands and events: the plain data that front ends and the crew exchange, and the channel for it.

pub mod bus;
pub mod command;
pub mod command_ref;
pub mod event;
pub mod session_info;

pub use bus::{EventReceiver, EventSender};
pub use command::{Command, TaskCommand};
pub use command_ref::CommandRef;
pub use event::{Event, EventKind};
