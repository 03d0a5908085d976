//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod cost;
mod keystrokes;
mod pictures;
mod pty;
mod robust;
