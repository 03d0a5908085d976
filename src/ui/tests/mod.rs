//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod complete;
mod conversation;
mod cost;
mod keystrokes;
mod lasting;
mod layouts;
mod merging;
mod mouse;
mod needs;
mod pictures;
mod pty;
mod replay;
mod robust;
mod themes;
mod viewer;
