//! Runs the program in a pseudo-terminal with a screen model, and waits for screen content.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Maximum time to wait for screen content. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(40);

struct TerminalState {
    parser: vt100::Parser,
    raw: Vec<u8>,
    has_ended: bool,
}

/// A program that runs in a pseudoterminal.
pub struct Screen {
    state: Arc<(Mutex<TerminalState>, Condvar)>,
    writer: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

/// The character that a [`Screen`] shows in place of U+FFFD, which its parser leaves out.
pub const REPLACEMENT: char = '¿';

/// Takes the bytes from `waiting` that do not end within a U+FFFD, with [`REPLACEMENT`] in place of each.
fn take_complete(waiting: &mut Vec<u8>) -> Vec<u8> {
    let replaced = "\u{fffd}".as_bytes();
    let mut cuts = 1..replaced.len();
    let cut = cuts.find(|length| waiting.ends_with(&replaced[..*length]));
    let rest = waiting.split_off(waiting.len() - cut.unwrap_or(0));
    let complete = std::mem::replace(waiting, rest);
    let mut taken = Vec::with_capacity(complete.len());
    let mut left = complete.as_slice();
    while let Some(byte) = left.first() {
        match left.strip_prefix(replaced) {
            Some(after) => {
                taken.extend_from_slice(REPLACEMENT.to_string().as_bytes());
                left = after;
            }
            None => {
                taken.push(*byte);
                left = &left[1..];
            }
        }
    }
    taken
}

impl Screen {
    /// Starts crewdeck with `args` in a terminal of `cols` × `rows`, with `dir` as current directory and home.
    pub fn start(dir: &Path, cols: u16, rows: u16, args: &[&str]) -> Screen {
        let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
        Screen::start_program(program, dir, cols, rows, args, &[])
    }

    /// Starts crewdeck with the arguments, the current directory and the environment variables of `command`, in a terminal
    /// of `cols` × `rows`.
    #[cfg(target_os = "linux")]
    pub fn start_command(command: &std::process::Command, cols: u16, rows: u16) -> Screen {
        let args = command.get_args().map(|arg| arg.to_str().unwrap());
        let args: Vec<&str> = args.collect();
        let set = command.get_envs();
        let environment: Vec<(&str, &str)> = set
            .filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)))
            .collect();
        let program = Path::new(command.get_program());
        let dir = command.get_current_dir().unwrap();
        Screen::start_program(program, dir, cols, rows, &args, &environment)
    }

    /// Starts `program` like [`Screen::start`], with additional environment variables.
    pub fn start_program(
        program: &Path,
        dir: &Path,
        cols: u16,
        rows: u16,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Screen {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(dir);
        command.env_clear();
        command.env("PATH", std::env::var("PATH").unwrap());
        command.env("TERM", "xterm-256color");
        command.env("HOME", dir);
        for (name, value) in environment {
            command.env(name, value);
        }
        // Tests can find leftover temporary files in `dir`.
        command.env("TMPDIR", dir);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new(size_of(rows), size_of(cols), 0);
        let state = Arc::new((
            Mutex::new(TerminalState {
                parser,
                raw: vec![],
                has_ended: false,
            }),
            Condvar::new(),
        ));
        let reader_state = Arc::clone(&state);
        std::thread::spawn(move || {
            let (mut bytes, mut waiting) = ([0; 8192], Vec::new());
            loop {
                let n = reader.read(&mut bytes).unwrap_or(0);
                let mut state = reader_state.0.lock().unwrap();
                if n == 0 {
                    state.has_ended = true;
                    reader_state.1.notify_all();
                    return;
                }
                state.raw.extend_from_slice(&bytes[..n]);
                waiting.extend_from_slice(&bytes[..n]);
                state.parser.process(&take_complete(&mut waiting));
                reader_state.1.notify_all();
            }
        });
        Screen {
            state,
            writer,
            master: pair.master,
            child,
        }
    }

    /// Returns the newest complete frame as text.
    pub fn text(&self) -> String {
        self.wait("a whole frame", |_| true)
    }

    /// Returns all bytes that the program has written so far.
    pub fn raw(&self) -> Vec<u8> {
        self.state.0.lock().unwrap().raw.clone()
    }

    /// Waits until the screen satisfies `wanted`, and returns its text. Panics with the text after [`TIMEOUT`]. Checks
    /// complete frames only: in the middle of a frame, an old line could satisfy `wanted` too early.
    pub fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.wait_frame(what, &wanted, vt100::Screen::contents)
    }

    /// Waits until the screen shows `text`, and returns the text of the whole screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until a complete frame satisfies `wanted`, and returns what `take` extracts from it.
    pub fn wait_frame<T>(
        &self,
        what: &str,
        wanted: impl Fn(&str) -> bool,
        take: impl FnOnce(&vt100::Screen) -> T,
    ) -> T {
        let until = Instant::now() + TIMEOUT;
        let mut state = self.state.0.lock().unwrap();
        loop {
            let screen = state.parser.screen();
            if (state.has_ended || is_frame_complete(&state.raw)) && wanted(&screen.contents()) {
                return take(screen);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || state.has_ended {
                let text = screen.contents();
                drop(state);
                panic!("timed out waiting for {what}; the screen:\n{text}");
            }
            state = self.state.1.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits until the bytes that the program has written so far satisfy `wanted`.
    pub fn wait_raw(&self, what: &str, wanted: impl Fn(&[u8]) -> bool) {
        let until = Instant::now() + TIMEOUT;
        let mut state = self.state.0.lock().unwrap();
        while !wanted(&state.raw) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !state.has_ended,
                "timed out waiting for {what}"
            );
            state = self.state.1.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Writes `keys` to the program's terminal. Special keys are escape sequences.
    pub fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Sends keys and waits until the screen shows `words`. Panics if the screen already shows them, because the wait
    /// would then end before the keys have an effect.
    pub fn send_and_wait_for(&mut self, keys: &str, words: &str) -> String {
        let before = self.text();
        assert!(
            !before.contains(words),
            "{words:?} is on the screen before:\n{before}"
        );
        self.send(keys);
        self.wait_for(words)
    }

    /// Sends keys and waits until the screen no longer shows `words`. Panics if it does not show them before.
    pub fn send_until_gone(&mut self, keys: &str, words: &str) -> String {
        let before = self.text();
        assert!(
            before.contains(words),
            "{words:?} is not on the screen before:\n{before}"
        );
        self.send(keys);
        self.wait(&format!("no {words}"), |text| !text.contains(words))
    }

    /// Returns whether the program has closed its terminal, as at its end.
    pub fn has_ended(&self) -> bool {
        self.state.0.lock().unwrap().has_ended
    }

    pub fn resize(&self, cols: u16, rows: u16) {
        self.state
            .0
            .lock()
            .unwrap()
            .parser
            .screen_mut()
            .set_size(size_of(rows), size_of(cols));
        self.master
            .resize(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Kills the program with SIGKILL, as in a crash, and waits for its end.
    pub fn kill(mut self) {
        let pid = self.pid().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-KILL", &pid])
            .status();
        assert!(killed.unwrap().success());
        self.child.wait().unwrap();
    }

    /// Waits for the end of the program. Returns its exit status, and whether it has restored the terminal: main
    /// screen, cursor shown, no bracketed paste, no mouse.
    pub fn wait_for_exit(mut self) -> (ExitStatus, bool) {
        let until = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < until,
                "the program did not end; the screen:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut state = self.state.0.lock().unwrap();
        while !state.has_ended {
            state = self.state.1.wait(state).unwrap();
        }
        let screen = state.parser.screen();
        let is_clean = !screen.alternate_screen()
            && !screen.hide_cursor()
            && !screen.bracketed_paste()
            && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None;
        (status, is_clean)
    }
}

fn size_of(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}

/// Returns whether the last frame (synchronized update, DEC mode 2026) in the output is complete.
fn is_frame_complete(raw: &[u8]) -> bool {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let newest = raw
        .windows(BEGIN.len())
        .rev()
        .find(|bytes| *bytes == BEGIN || *bytes == END);
    newest != Some(BEGIN)
}
