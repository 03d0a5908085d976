//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod complete;
mod conversation;
mod cost;
mod event_log;
mod first;
mod glances;
mod help;
mod keystrokes;
pub mod lasting;
mod layouts;
mod leaving;
pub mod merging;
mod mouse;
mod needs;
mod own_keys;
mod pressed;
mod pty;
mod read;
mod replay;
mod robust;
pub mod scenes;
mod themes;
mod threads;
mod unknown;
mod viewer;
mod whole;
