//! Commands and events: the plain data that front ends and the crew exchange, and the channel for it.

pub mod bus;
pub mod command;
pub mod event;
pub mod session_info;

pub use bus::{EventReceiver, EventSender};
pub use command::{Command, CommandId, CommandIds, SentCommand, TaskCommand};
pub use event::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
