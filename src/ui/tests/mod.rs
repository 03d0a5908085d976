//! The screen as a whole: keystrokes, pictures, and that nothing breaks it.

mod keystrokes;
mod pictures;
mod pty;
mod robust;
