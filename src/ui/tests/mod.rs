//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod cost;
mod keystrokes;
mod lasting;
mod needs;
mod pictures;
mod pty;
mod replay;
mod robust;
mod themes;
mod viewer;
