//! A single agent. The turn and the idle cycle are pure state machines; the driver executes their effects.

mod attachments;
pub mod budget_gate;
pub mod checkpoint_state;
pub mod checkpoints;
pub mod compact;
mod control;
pub mod driver;
mod driver_state;
mod environment;
pub mod external;
pub mod external_tools;
pub mod hooks;
pub mod idle;
mod inbox_reader;
pub mod mail;
pub mod mailbox;
mod model_change;
mod model_config;
mod permission_card;
mod persistence;
pub mod progress_check;
pub mod prompt;
pub mod prompt_checks;
mod published_calls;
mod server_calls;
pub mod server_tools;
mod shown_conversation;
mod stall;
mod standstill;
mod stream;
mod summary;
mod tool_hooks;
pub mod tool_runner;
pub mod turn;
mod turn_hooks;
mod work_state;

pub use inbox_reader::MESSAGE_FROM;
pub use permission_card::FULL_TEXT;

pub use shown_conversation::shown_events;
