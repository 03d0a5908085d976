//! Tests of the whole UI: keystrokes, snapshots and robustness.

mod beside_popups;
mod filters;
mod focus;
mod glances;
mod kept_selection;
mod keystrokes;
pub mod lasting;
mod layouts;
mod leaving;
mod mouse;
mod notices;
mod own_keys;
mod pressed;
mod pty;
mod refused;
mod replay;
mod robust;
pub mod scenes;
mod scrollbars;
mod unknown;
mod viewer;
mod whole;
