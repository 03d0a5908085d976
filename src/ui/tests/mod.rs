//! Tests of the whole UI: keystrokes, snapshots and robustness.

mod beside_popups;
mod event_log;
mod filters;
mod focus;
mod glances;
mod help;
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
mod read;
mod refused;
mod replay;
mod robust;
pub mod scenes;
mod scrollbars;
mod themes;
mod threads;
mod unknown;
mod viewer;
mod whole;
