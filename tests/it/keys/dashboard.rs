//! A dashboard in a real terminal, over a crew that has done enough for every key to have something to do.

use std::path::Path;

use crate::common::pty::Screen;

pub const ESC: &str = "\x1b";
pub const ENTER: &str = "\r";
pub const CTRL_C: &str = "\x03";
pub const ALT_W: &str = "\x1bw";
/// To the conversation and into its composer, wherever the focus is and however short ago it moved by itself.
pub const COMPOSE: &str = "\x1b1i";
pub const UP: &str = "\x1b[A";
pub const DOWN: &str = "\x1b[B";

/// What the crew does: `go` fills every pane, `ask`, `clean` and `wait` are for the keys that answer and stop.
const SCRIPT: &str = r#"
rules:
  # What is sent while another answer is under way.
  - when: the second message
    times: 0
    say: The second message is answered.
  - agent: alice
    when: hold on
    times: 0
    fault: { hang: true }
  - agent: lead
    when: ^go$
    say: I begin with a list.
    calls:
      - tool: todo
        input:
          items:
            - { id: "1", text: Read it, status: completed }
            - { id: "2", text: Split it, status: in_progress }
            - { id: "3", text: Join it, status: pending }
      - { tool: task_create, input: { subject: Alpha, tags: [nobody] } }
      - { tool: task_create, input: { subject: Beta, tags: [nobody], blocked_by: [1] } }
      - { tool: task_create, input: { subject: Gamma, tags: [nobody], blocked_by: [1] } }
      - { tool: task_create, input: { subject: Delta, tags: [nobody], blocked_by: [2, 3] } }
      - { tool: background_run, input: { command: sleep 600 } }
      - { tool: spawn_teammate, input: { name: alice, role: writer, prompt: write to bob } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, plan: required, prompt: plan it } }
  - agent: lead
    when: Spawned 'bob'
    say: |
      LINES
      ```
      the code of it
      ```
      That was the needle in it.
  - agent: alice
    when: write to bob
    calls: [{ tool: send_message, input: { to: bob, content: Which way do we go? } }]
  # Bob may not be there yet.
  - agent: alice
    when: and lead, user
    times: 0
    delay_ms: 50
    calls: [{ tool: send_message, input: { to: bob, content: Which way do we go? } }]
  - agent: alice
    say: Alice rests.
  - agent: bob
    when: plan it
    calls: [{ tool: plan_approval, input: { plan: "1. Look at all of it." } }]
  - agent: lead
    when: ^ask$
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green, blue] } }]
  - when: 'The user answers: (\w+)'
    say: Then it is {{1}}.
  - agent: lead
    when: ^clean$
    times: 0
    calls: [{ tool: bash, input: { command: rm -rf gone } }]
  - agent: lead
    when: ^wait$
    times: 0
    fault: { hang: true }
  - when: .
    times: 0
    say: I see.
"#;

/// A dashboard, and the folder that is its home and its project.
pub struct Dashboard {
    pub home: tempfile::TempDir,
    pub screen: Screen,
}

impl Dashboard {
    /// A crew at rest whose panes all hold something, in a terminal of 160 × 45; the keys are the composer's.
    pub fn full() -> Dashboard {
        let mut dashboard = Dashboard::empty(&[]);
        dashboard.keys("go\r");
        dashboard.sees("That was the needle in it.");
        dashboard.sees("bob asks you to approve its plan");
        dashboard.sees("Which way do we go?");
        dashboard
    }

    /// A crew that has done nothing, with more environment.
    pub fn empty(environment: &[(&str, &str)]) -> Dashboard {
        let home = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (1..=80).map(|n| format!("line {n} of it\n")).collect();
        let script = SCRIPT.replace("LINES", &lines.join("\n      "));
        std::fs::write(home.path().join("script.yaml"), script).unwrap();
        let screen = start(home.path(), environment, &[]);
        Dashboard { home, screen }
    }

    /// The same folder after crewdeck was left, begun anew.
    pub fn again(self) -> Dashboard {
        let Dashboard { home, screen } = self;
        end(screen);
        let screen = start(home.path(), &[], &[]);
        Dashboard { home, screen }
    }

    /// Types keys as they are.
    pub fn keys(&mut self, keys: &str) {
        self.screen.send(keys);
    }

    /// Waits until the screen shows `words`.
    pub fn sees(&self, words: &str) -> String {
        self.screen.wait_for(words)
    }

    /// Waits until the screen shows `words` no more.
    pub fn loses(&self, words: &str) -> String {
        let is_gone = |text: &str| !text.contains(words);
        self.screen.wait(&format!("{words} go"), is_gone)
    }

    /// [`Screen::press`].
    pub fn press(&mut self, keys: &str, words: &str) -> String {
        self.screen.press(keys, words)
    }

    /// [`Screen::clear`].
    pub fn clear(&mut self, keys: &str, words: &str) -> String {
        self.screen.clear(keys, words)
    }

    /// All that was written to the terminal.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.screen.raw()).into_owned()
    }

    /// Waits until what was written to the terminal holds `sequence`.
    pub fn writes(&self, sequence: &str) {
        let what = format!("{sequence:?} in what was written");
        let screen = &self.screen;
        screen.wait_raw(&what, |raw| {
            raw.windows(sequence.len())
                .any(|bytes| bytes == sequence.as_bytes())
        });
    }

    /// Ends a test whose screen does not matter any more.
    pub fn leave(self) {
        end(self.screen);
    }
}

/// crewdeck in `home`, once its crew is there.
pub fn start(home: &Path, environment: &[(&str, &str)], more: &[&str]) -> Screen {
    let provider = format!("script:{}", home.join("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let screen = Screen::start_program(program, home, 160, 45, &args, environment);
    screen.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
    screen
}

fn end(mut screen: Screen) {
    // A popup, an agent at work, the hint, the end.
    screen.send(&CTRL_C.repeat(4));
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Whether one line of the screen holds all of `parts`.
pub fn has_line(text: &str, parts: &[&str]) -> bool {
    text.lines()
        .any(|line| parts.iter().all(|part| line.contains(part)))
}

/// The column and the row where `words` begin, counted from 1 as terminals do.
pub fn place(text: &str, words: &str) -> (usize, usize) {
    let mut lines = text.lines().enumerate();
    let found = lines.find_map(|(row, line)| Some((row, line.split_once(words)?.0)));
    let (row, before) = found.unwrap_or_else(|| panic!("{words} is not on the screen:\n{text}"));
    (before.chars().count() + 1, row + 1)
}

/// What a terminal sends when the mouse does `what` at a cell: 0 the left button, 32 a pull, 64 and 65 the wheel.
pub fn mouse(what: u8, (column, row): (usize, usize)) -> String {
    format!("\x1b[<{what};{column};{row}M")
}

/// A press and a release of the left button.
pub fn click(at: (usize, usize)) -> String {
    format!("{}\x1b[<0;{};{}m", mouse(0, at), at.0, at.1)
}
