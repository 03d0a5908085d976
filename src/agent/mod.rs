//! Floor 4: one agent. The turn and the idle cycle are pure machines; the driver carries their effects out.

pub mod calls;
pub mod compact;
pub mod desk;
pub mod driver;
pub mod idle;
mod keeper;
mod letterbox;
pub mod mail;
pub mod meter;
pub mod prompt;
mod stream;
mod summary;
pub mod turn;
