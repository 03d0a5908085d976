//! Layer 4: a single agent. The turn and the idle cycle are pure state machines; the driver executes their effects.

pub mod calls;
pub mod compact;
pub mod desk;
pub mod driver;
mod engine;
mod environment;
pub mod idle;
mod inbox_reader;
pub mod mail;
pub mod meter;
mod permission_card;
mod persistence;
pub mod prompt;
mod stream;
mod summary;
pub mod turn;
mod work_state;
