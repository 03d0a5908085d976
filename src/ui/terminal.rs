//! The terminal: taken over at the start, given back whatever happens, drawn to in one piece.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

use crate::domain::text::{clip, one_line};
use crate::ui::app::MouseOwner;

/// Room for a whole frame, so that it is written at once.
const OUT_BUFFER: usize = 128 * 1024;

/// Longest text that is put into the clipboard, in bytes: terminals drop longer sequences.
const COPY_MAX: usize = 100_000;

/// Longest notification, in characters.
const NOTIFY_MAX: usize = 200;

/// Presses, releases, pulls and the wheel, with coordinates of any size (DEC modes 1000, 1002 and 1006). Mode 1003 would
/// wake crewdeck at each move of the mouse.
const TAKE_MOUSE: &str = "\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1006h";

/// Puts the title on the terminal's stack and takes it back (xterm's window operations 22 and 23);
/// terminals without a stack ignore both.
const SAVE_TITLE: &str = "\u{1b}[22;2t";
const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// The terminal while crewdeck has it. Dropping it gives the terminal back, and so does a panic.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    taken: Arc<AtomicBool>,
    mouse: MouseOwner,
    title: String,
    /// What stands on the screen is not what was drawn last.
    is_spoilt: bool,
}

impl Screen {
    /// Takes the terminal over: raw mode, alternate screen, bracketed paste, keys told apart where the
    /// terminal can. Nothing is asked of the terminal, so nothing has to be waited for.
    ///
    /// # Errors
    /// When standard output is no terminal.
    pub fn enter() -> io::Result<Screen> {
        let out = BufWriter::with_capacity(OUT_BUFFER, io::stdout());
        let taken = Arc::new(AtomicBool::new(false));
        give_back_on_panic(&taken);
        let mut screen = Screen {
            terminal: Terminal::new(CrosstermBackend::new(out))?,
            taken,
            mouse: MouseOwner::Terminal,
            title: String::new(),
            is_spoilt: false,
        };
        screen.take()?;
        Ok(screen)
    }

    /// Draws a frame; the terminal shows it in one piece (synchronized update, DEC mode 2026).
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_spoilt) {
            let size = self.terminal.size()?;
            self.terminal.resize(size.into())?;
        }
        let drawn = self.terminal.draw(view).map(|_| ());
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        drawn
    }

    /// The terminal was resized: the next frame is drawn whole, also when the size is the same again by now.
    pub fn spoil(&mut self) {
        self.is_spoilt = true;
    }

    /// The size of the terminal: columns, rows.
    ///
    /// # Errors
    /// When the terminal does not tell.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Gives the mouse to crewdeck or back to the terminal, if another has it.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn set_mouse(&mut self, owner: MouseOwner) -> io::Result<()> {
        if self.mouse == owner {
            return Ok(());
        }
        self.mouse = owner;
        let out = self.terminal.backend_mut();
        match owner {
            MouseOwner::Crewdeck => execute!(out, Print(TAKE_MOUSE)),
            MouseOwner::Terminal => execute!(out, DisableMouseCapture),
        }
    }

    /// Sets the terminal's title, if it is another than before.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn set_title(&mut self, title: &str) -> io::Result<()> {
        if self.title == title {
            return Ok(());
        }
        self.title = title.to_string();
        execute!(self.terminal.backend_mut(), SetTitle(one_line(title)))
    }

    /// Shows a notification of the desktop (OSC 9); terminals without them ignore it.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn notify(&mut self, words: &str) -> io::Result<()> {
        // With a word before it, no text can be taken for one of the sequence's other uses.
        let words = clip(&one_line(words), NOTIFY_MAX);
        let sequence = format!("\u{1b}]9;crewdeck: {words}\u{7}");
        execute!(self.terminal.backend_mut(), Print(sequence))
    }

    /// Rings the bell.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn bell(&mut self) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print('\u{7}'))
    }

    /// Puts `text` into the clipboard of the terminal (OSC 52), also over ssh. A text of more than
    /// 100 kB is not sent; whether it was comes back.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<Copied> {
        if text.len() > COPY_MAX {
            return Ok(Copied::TooLong);
        }
        execute!(
            self.terminal.backend_mut(),
            CopyToClipboard::to_clipboard_from(text)
        )?;
        Ok(Copied::Sent)
    }

    /// Gives the terminal back for a while, as for `$EDITOR`. [`Screen::take`] takes it again.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn give(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().flush()?;
        give_back(&self.taken)
    }

    /// Takes the terminal over, again after [`Screen::give`]; the next frame is drawn whole.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        self.taken.store(true, Ordering::SeqCst);
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
        if self.mouse == MouseOwner::Crewdeck {
            execute!(out, Print(TAKE_MOUSE))?;
        }
        if !self.title.is_empty() {
            execute!(out, SetTitle(one_line(&self.title)))?;
        }
        // `Terminal::clear` would ask the terminal where its cursor is, and wait for the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }

    /// Gives the terminal back and stops the process as Ctrl+z does; returns when the shell has woken
    /// it, with the terminal taken over again. To be called on the main thread: there the signal
    /// stops the process before the call returns.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.give()?;
        kill_process(getpid(), Signal::TSTP)?;
        self.take()
    }
}

/// Whether a text reached the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// The terminal was asked to keep it.
    Sent,
    /// It is too long for a terminal.
    TooLong,
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone already; then there is nothing to give back.
        let _ = self.give();
    }
}

/// Gives the terminal back, if it is taken. May be called at any time, any number of times.
fn give_back(taken: &AtomicBool) -> io::Result<()> {
    if !taken.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let written = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show,
        SetTitle(""),
        Print(RESTORE_TITLE),
    );
    // Raw mode must end even when nothing can be written.
    disable_raw_mode().and(written)
}

/// Lets a panic give the terminal back before its message is printed.
fn give_back_on_panic(taken: &Arc<AtomicBool>) {
    let taken = Arc::clone(taken);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let _ = give_back(&taken);
        before(info);
    }));
}
