//! Floor 4: one agent. The turn and the idle cycle are pure machines; the driver carries their effects out.

pub mod calls;
pub mod desk;
pub mod driver;
pub mod idle;
mod letterbox;
pub mod mail;
pub mod prompt;
mod stream;
pub mod turn;
