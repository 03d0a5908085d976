//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod complete;
mod conversation;
mod cost;
mod event_log;
mod first;
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
mod replay;
mod robust;
mod scenes;
mod themes;
mod threads;
mod viewer;
mod whole;
