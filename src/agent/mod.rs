//! Floor 4: one agent. The turn and the idle cycle are pure machines; the driver carries their effects out.

pub mod calls;
pub mod compact;
pub mod desk;
pub mod driver;
mod engine;
mod environment;
pub mod idle;
mod keeper;
mod letterbox;
pub mod mail;
pub mod meter;
mod permission_card;
pub mod prompt;
mod stream;
mod summary;
pub mod turn;
mod work_state;
