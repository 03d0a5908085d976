//! Layer 4: a single agent. The turn and the idle cycle are pure state machines; the driver executes their effects.

mod attachments;
pub mod budget_gate;
pub mod compact;
pub mod driver;
mod environment;
pub mod idle;
mod inbox_reader;
pub mod mail;
pub mod mailbox;
mod model_config;
mod permission_card;
mod persistence;
pub mod prompt;
mod server_calls;
pub mod server_tools;
mod stream;
mod summary;
pub mod tool_runner;
pub mod turn;
mod work_state;
