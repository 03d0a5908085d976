//! Commands and events: the data that the crew and its front ends exchange, and the channel for events.

pub mod agent_socket;
pub mod bus;
pub mod command;
pub mod event;
pub mod session_info;

pub use bus::{EventReceiver, EventSender};
pub use command::{Command, CommandId, CommandIds, SentCommand, ServerAction, TaskCommand};
pub use event::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
