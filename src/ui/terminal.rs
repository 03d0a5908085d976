//! Terminal control: sets up the screen, restores it on exit and panic, and draws whole frames.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{QueueSelector, tcflush};

use crate::domain::text::{clip, one_line};
use crate::ui::pictures::{PictureSize, kitty};

/// Size of the output buffer, in bytes. The buffer is large enough for a whole frame, so that a frame is written in one
/// piece.
const OUT_BUFFER: usize = 128 * 1024;

/// Maximum length of a text that is sent to the clipboard, in bytes. Terminals drop longer escape sequences.
const COPY_MAX: usize = 100_000;

pub const COPY_TOO_LONG: &str =
    "The text is too long to copy through the terminal: the limit is 100 kB.";

/// Maximum length of a notification, in characters. A longer text is cut.
const NOTIFY_MAX: usize = 200;

/// Escape sequences that make the terminal report mouse buttons, drags and the wheel, with SGR coordinates (DEC modes
/// 1000, 1002 and 1006). Mode 1003 is not used, because it reports every mouse movement.
const TAKE_MOUSE: &str = "\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1006h";

/// Escape sequences that save and restore the window title (xterm window operations 22 and 23). Terminals without a
/// title stack ignore both.
const SAVE_TITLE: &str = "\u{1b}[22;2t";
const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// Escape sequence that asks the terminal for its background colour (OSC 11). Terminals without support ignore it.
const ASK_BACKGROUND: &str = "\u{1b}]11;?\u{1b}\\";

/// The changes to the terminal that must be undone when crewdeck exits or panics.
#[derive(Debug, Default)]
struct TerminalSetup {
    /// Whether the terminal is in full-screen mode.
    is_active: AtomicBool,
    /// The ids of the images in the terminal's memory.
    images: Mutex<Vec<u32>>,
}

/// The terminal in full-screen mode. Dropping this value or a panic restores the terminal.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    setup: Arc<TerminalSetup>,
    captures_mouse: bool,
    title: String,
    needs_full_redraw: bool,
    /// Whether the terminal was asked for its background colour and has not answered yet.
    awaits_background: bool,
}

impl Screen {
    /// Sets up the terminal: raw mode, alternate screen, bracketed paste, focus reports, and enhanced keys where
    /// supported. Mouse capture stays off. Asks the terminal nothing, so this call never waits for an answer.
    ///
    /// # Errors
    /// Fails if standard output is not a terminal.
    pub fn enter() -> io::Result<Screen> {
        let out = BufWriter::with_capacity(OUT_BUFFER, io::stdout());
        let setup = Arc::new(TerminalSetup::default());
        restore_on_panic(&setup);
        let mut screen = Screen {
            terminal: Terminal::new(CrosstermBackend::new(out))?,
            setup,
            captures_mouse: false,
            title: String::new(),
            needs_full_redraw: false,
            awaits_background: false,
        };
        screen.set_up()?;
        Ok(screen)
    }

    /// Draws a frame with `view` as one synchronized update (DEC mode 2026). Writes only the cells that have changed
    /// since the last frame, or all cells after [`Screen::invalidate`].
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.needs_full_redraw) {
            let size = self.terminal.size()?;
            self.terminal.resize(size.into())?;
        }
        let drawn = self.terminal.draw(view).map(|_| ());
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Makes the next frame a complete redraw. Needed after every resize of the terminal, even if its size is the same
    /// as before.
    pub fn invalidate(&mut self) {
        self.needs_full_redraw = true;
    }

    /// Returns the columns and rows of the terminal.
    ///
    /// # Errors
    /// Fails if the terminal does not report its size.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Turns mouse capture on or off. While mouse capture is on, crewdeck receives the mouse events; otherwise the
    /// terminal handles them, for example to select text.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn set_mouse_capture(&mut self, is_on: bool) -> io::Result<()> {
        if self.captures_mouse == is_on {
            return Ok(());
        }
        self.captures_mouse = is_on;
        let out = self.terminal.backend_mut();
        if is_on {
            execute!(out, Print(TAKE_MOUSE))
        } else {
            execute!(out, DisableMouseCapture)
        }
    }

    /// Sets the window title. Writes nothing if `title` is the current title.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        if self.title == title {
            return Ok(());
        }
        self.title = title.to_string();
        execute!(self.terminal.backend_mut(), SetTitle(one_line(title)))
    }

    /// Shows a desktop notification (OSC 9) with the text `crewdeck: ` and `words`. `words` is shown on one line and
    /// cut to `NOTIFY_MAX` characters. Terminals without support ignore it.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn notify(&mut self, words: &str) -> io::Result<()> {
        // The prefix `crewdeck:` prevents the terminal from taking a text for another command of OSC 9.
        let words = clip(&one_line(words), NOTIFY_MAX);
        let sequence = format!("\u{1b}]9;crewdeck: {words}\u{7}");
        execute!(self.terminal.backend_mut(), Print(sequence))
    }

    /// Asks the terminal for its background colour. The answer arrives as input; some terminals never answer.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn ask_background(&mut self) -> io::Result<()> {
        self.awaits_background = true;
        execute!(self.terminal.backend_mut(), Print(ASK_BACKGROUND))
    }

    /// Records that the terminal has answered [`Screen::ask_background`].
    pub fn background_known(&mut self) {
        self.awaits_background = false;
    }

    pub fn bell(&mut self) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print('\u{7}'))
    }

    /// Copies `text` to the terminal's clipboard with the escape sequence OSC 52. This works over ssh too, but
    /// terminals do not confirm it. Returns false and copies nothing if `text` is longer than `COPY_MAX` bytes.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<bool> {
        if text.len() > COPY_MAX {
            return Ok(false);
        }
        execute!(
            self.terminal.backend_mut(),
            CopyToClipboard::to_clipboard_from(text)
        )?;
        Ok(true)
    }

    /// Sends a PNG image to the terminal. The terminal draws the image, scaled to `size`, where placeholder characters
    /// with the same `id` are on the screen. Only for terminals with the kitty graphics protocol.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn show_image(&mut self, id: u32, size: PictureSize, png: &[u8]) -> io::Result<()> {
        let images = self.setup.images.lock();
        images.unwrap_or_else(PoisonError::into_inner).push(id);
        let sequences = kitty::transmit(id, size, png);
        execute!(self.terminal.backend_mut(), Print(sequences))
    }

    /// Removes an image from the terminal's memory.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn remove_image(&mut self, id: u32) -> io::Result<()> {
        let images = self.setup.images.lock();
        let mut images = images.unwrap_or_else(PoisonError::into_inner);
        images.retain(|image| *image != id);
        drop(images);
        execute!(self.terminal.backend_mut(), Print(kitty::remove(id)))
    }

    /// Removes all images from the terminal's memory.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn remove_images(&mut self) -> io::Result<()> {
        let sequences = self.setup.take_images();
        if sequences.is_empty() {
            return Ok(());
        }
        execute!(self.terminal.backend_mut(), Print(sequences))
    }

    /// Restores the terminal temporarily, for example for `$EDITOR`, and removes all images from its memory.
    /// [`Screen::set_up`] sets the terminal up again.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn restore_terminal(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().flush()?;
        if self.awaits_background {
            // Drops the answer of the terminal, so that the next program does not read it as input. An error means that
            // the terminal is gone.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        restore(&self.setup)
    }

    /// Sets up the terminal, also after [`Screen::restore_terminal`]. The next frame is a complete redraw.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn set_up(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        self.setup.is_active.store(true, Ordering::SeqCst);
        let out = self.terminal.backend_mut();
        execute!(
            out,
            Print(SAVE_TITLE),
            EnterAlternateScreen,
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
            Hide,
        )?;
        if self.captures_mouse {
            execute!(out, Print(TAKE_MOUSE))?;
        }
        if !self.title.is_empty() {
            execute!(out, SetTitle(one_line(&self.title)))?;
        }
        // `Terminal::clear` is not used: it queries the cursor position and waits for the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Restores the terminal and suspends the process as Ctrl+z does in a shell. Returns after the shell has resumed
    /// the process; the terminal is then set up again. Must be called on the main thread, where the signal stops the
    /// process before the call returns.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.restore_terminal()?;
        kill_process(getpid(), Signal::TSTP)?;
        self.set_up()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = self.restore_terminal();
    }
}

impl TerminalSetup {
    /// Empties the list of images and returns the escape sequences that remove these images from the terminal's memory.
    /// Returns an empty text and changes nothing if another thread holds the lock.
    fn take_images(&self) -> String {
        // Does not wait for the lock: if a thread panics while it holds the lock, the terminal must still be restored.
        let images = match self.images.try_lock() {
            Ok(mut images) => std::mem::take(&mut *images),
            Err(TryLockError::Poisoned(images)) => std::mem::take(&mut *images.into_inner()),
            Err(TryLockError::WouldBlock) => Vec::new(),
        };
        images.into_iter().map(kitty::remove).collect()
    }
}

/// Restores the terminal if it is in full-screen mode; otherwise, does nothing.
///
/// # Errors
/// Fails if the terminal is gone.
fn restore(setup: &TerminalSetup) -> io::Result<()> {
    if !setup.is_active.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let written = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        // The images are removed before the terminal leaves the alternate screen, to which they belong.
        Print(setup.take_images()),
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show,
        SetTitle(""),
        Print(RESTORE_TITLE),
    );
    // Leave raw mode even if writing failed.
    disable_raw_mode().and(written)
}

/// Installs a panic hook that restores the terminal before the message is printed.
fn restore_on_panic(setup: &Arc<TerminalSetup>) {
    let setup = Arc::clone(setup);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let _ = restore(&setup);
        before(info);
    }));
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn images_are_removed_once_also_after_a_panic() {
        let setup = Arc::new(TerminalSetup::default());
        let other = Arc::clone(&setup);
        let panicking = std::thread::spawn(move || {
            let mut images = other.images.lock().unwrap();
            images.extend([7, 8]);
            panic!("while the lock is held");
        });
        assert!(panicking.join().is_err());
        let removal = [7, 8].map(kitty::remove).concat();
        assert_eq!(setup.take_images(), removal);
        assert_eq!(setup.take_images(), "");
    }
}
