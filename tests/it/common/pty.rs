//! A real terminal for the real program: a pty, a screen model, and waiting for what the screen shows.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long a screen may take to show what is waited for. Only a failing test waits this long.
const WITHIN: Duration = Duration::from_secs(40);

struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
    over: bool,
}

/// The program in its terminal.
pub struct Screen {
    seen: Arc<(Mutex<Seen>, Condvar)>,
    writer: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

impl Screen {
    /// Starts crewdeck with `args` in `dir`, in a terminal of `cols` × `rows`, with a home of its own.
    pub fn start(dir: &Path, cols: u16, rows: u16, args: &[&str]) -> Screen {
        let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
        Screen::start_program(program, dir, cols, rows, args, &[])
    }

    /// Starts any program, with more environment.
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
        // What it leaves among the temporary files can be seen there.
        command.env("TMPDIR", dir);
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new(size_of(rows), size_of(cols), 0);
        let seen = Arc::new((
            Mutex::new(Seen {
                parser,
                raw: vec![],
                over: false,
            }),
            Condvar::new(),
        ));
        let feed = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            loop {
                let n = reader.read(&mut bytes).unwrap_or(0);
                let mut seen = feed.0.lock().unwrap();
                if n == 0 {
                    seen.over = true;
                    feed.1.notify_all();
                    return;
                }
                seen.parser.process(&bytes[..n]);
                seen.raw.extend_from_slice(&bytes[..n]);
                feed.1.notify_all();
            }
        });
        Screen {
            seen,
            writer,
            master: pair.master,
            child,
        }
    }

    /// The newest whole frame as text.
    pub fn text(&self) -> String {
        self.wait("a whole frame", |_| true)
    }

    /// Everything that the program wrote.
    pub fn raw(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().raw.clone()
    }

    /// Waits until the screen satisfies `wanted`; fails with the screen when it never does. Looks at whole frames only: in the
    /// middle of one, a line below may still be the old one and satisfy a test that then types too early.
    pub fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.wait_frame(what, &wanted, vt100::Screen::contents)
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// Waits until the screen satisfies `wanted` between two frames, and gives what `take` makes of it then.
    pub fn wait_frame<T>(
        &self,
        what: &str,
        wanted: impl Fn(&str) -> bool,
        take: impl FnOnce(&vt100::Screen) -> T,
    ) -> T {
        let until = Instant::now() + WITHIN;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let screen = seen.parser.screen();
            if (seen.over || is_whole(&seen.raw)) && wanted(&screen.contents()) {
                return take(screen);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.over {
                let text = screen.contents();
                drop(seen);
                panic!("never saw {what}; the screen:\n{text}");
            }
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits until all that the program wrote satisfies `wanted`.
    pub fn wait_raw(&self, what: &str, wanted: impl Fn(&[u8]) -> bool) {
        let until = Instant::now() + WITHIN;
        let mut seen = self.seen.0.lock().unwrap();
        while !wanted(&seen.raw) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.over, "never saw {what}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Types keys as they are.
    pub fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Types keys and waits until the screen shows `words`. They must not be on the screen before: a wait for what is already
    /// there returns before the keys have done anything.
    pub fn press(&mut self, keys: &str, words: &str) -> String {
        let before = self.text();
        assert!(
            !before.contains(words),
            "{words:?} is there before:\n{before}"
        );
        self.send(keys);
        self.wait_for(words)
    }

    /// Types keys and waits until the screen shows `words` no more. They must be on the screen before.
    pub fn clear(&mut self, keys: &str, words: &str) -> String {
        let before = self.text();
        assert!(
            before.contains(words),
            "{words:?} is not there before:\n{before}"
        );
        self.send(keys);
        self.wait(&format!("no {words}"), |text| !text.contains(words))
    }

    /// Gives the terminal another size.
    pub fn resize(&self, cols: u16, rows: u16) {
        self.seen
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

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Kills the program at once, as a crash would, and waits until it is gone.
    pub fn kill(mut self) {
        let pid = self.pid().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-KILL", &pid])
            .status();
        assert!(killed.unwrap().success());
        self.child.wait().unwrap();
    }

    /// Waits for the end; the status and whether the terminal is as it was: main screen, cursor shown,
    /// no bracketed paste, no mouse.
    pub fn end(mut self) -> (ExitStatus, bool) {
        let until = Instant::now() + WITHIN;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < until,
                "the program did not end; the screen:\n{}",
                self.text()
            );
            std::thread::yield_now();
        };
        let mut seen = self.seen.0.lock().unwrap();
        while !seen.over {
            seen = self.seen.1.wait(seen).unwrap();
        }
        let screen = seen.parser.screen();
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

/// Whether no frame has begun and not ended (synchronized updates, DEC mode 2026).
fn is_whole(raw: &[u8]) -> bool {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let newest = raw
        .windows(BEGIN.len())
        .rev()
        .find(|bytes| *bytes == BEGIN || *bytes == END);
    newest != Some(BEGIN)
}
