//! A dashboard in a real terminal, with a scripted crew that gives every key something to act on.

use std::path::Path;

use crate::common::pty::Screen;

pub const ESC: &str = "\x1b";
pub const ENTER: &str = "\r";
pub const CTRL_C: &str = "\x03";
pub const ALT_W: &str = "\x1bw";
/// Keys that move the focus to the composer from anywhere.
pub const COMPOSE: &str = "\x1b1i";
pub const UP: &str = "\x1b[A";
pub const DOWN: &str = "\x1b[B";

/// The crew's script. `go` fills every pane, `ask` asks a question, `clean` needs permission, and `wait` never ends.
const SCRIPT: &str = r#"
rules:
  # A message that is queued during another answer.
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
  # Alice waits until bob is spawned.
  - agent: alice
    when: write to bob
    calls:
      - { tool: bash, input: { command: "until grep -q bob .team/config.json; do sleep 0.05; done" } }
      - { tool: send_message, input: { to: bob, content: Which way do we go? } }
  - agent: alice
    say: Alice rests.
  - agent: bob
    when: plan it
    calls: [{ tool: plan_approval, input: { plan: "1. Look at all of it." } }]
  - agent: lead
    when: ^ask$
    times: 0
    calls: [{ tool: ask_user, input: { question: Which colour?, choices: [red, green, blue] } }]
  - when: 'The user answers: (\w+)'
    times: 0
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

/// A running dashboard. Its home is also its project.
pub struct Dashboard {
    pub home: tempfile::TempDir,
    pub screen: Screen,
}

impl Dashboard {
    /// Starts a crew, runs `go`, and waits until it is idle and every pane has content. The focus is on the composer.
    pub fn with_busy_crew() -> Dashboard {
        let mut dashboard = Dashboard::with_new_crew(&[]);
        dashboard.send("go\r");
        dashboard.wait_for("That was the needle in it.");
        dashboard.wait_for("bob asks you to approve its plan");
        dashboard.wait_for("Which way do we go?");
        dashboard
    }

    /// Starts a new crew, with additional environment variables.
    pub fn with_new_crew(environment: &[(&str, &str)]) -> Dashboard {
        let home = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (1..=80).map(|n| format!("line {n} of it\n")).collect();
        let script = SCRIPT.replace("LINES", &lines.join("\n      "));
        std::fs::write(home.path().join("script.yaml"), script).unwrap();
        let screen = start(home.path(), environment, &[]);
        Dashboard { home, screen }
    }

    /// Quits crewdeck and starts it again in the same folder.
    pub fn restart(self) -> Dashboard {
        let Dashboard { home, screen } = self;
        quit_screen(screen);
        let screen = start(home.path(), &[], &[]);
        Dashboard { home, screen }
    }

    pub fn send(&mut self, keys: &str) {
        self.screen.send(keys);
    }

    /// Waits until the screen shows `words`, and returns the text of the whole screen.
    pub fn wait_for(&self, words: &str) -> String {
        self.screen.wait_for(words)
    }

    /// Waits until the screen no longer shows `words`, and returns the text of the whole screen.
    pub fn wait_until_gone(&self, words: &str) -> String {
        let is_gone = |text: &str| !text.contains(words);
        self.screen.wait(&format!("no {words}"), is_gone)
    }

    /// See [`Screen::send_and_wait_for`].
    pub fn press(&mut self, keys: &str, words: &str) -> String {
        self.screen.send_and_wait_for(keys, words)
    }

    /// See [`Screen::send_until_gone`].
    pub fn clear(&mut self, keys: &str, words: &str) -> String {
        self.screen.send_until_gone(keys, words)
    }

    /// Returns everything that crewdeck has written to the terminal so far.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.screen.raw()).into_owned()
    }

    /// Waits until crewdeck has written `sequence` to the terminal.
    pub fn wait_for_output(&self, sequence: &str) {
        let what = format!("{sequence:?} in the output");
        let screen = &self.screen;
        screen.wait_raw(&what, |raw| {
            raw.windows(sequence.len())
                .any(|bytes| bytes == sequence.as_bytes())
        });
    }

    /// Quits crewdeck from any state. Panics if it fails or does not restore the terminal.
    pub fn quit(self) {
        quit_screen(self.screen);
    }
}

/// Starts crewdeck with the script in `home` and waits until the crew runs.
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

fn quit_screen(mut screen: Screen) {
    // Closes a popup, stops an agent, arms quit, quits.
    screen.send(&CTRL_C.repeat(4));
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Returns whether one line of the screen contains all of `parts`.
pub fn has_line(text: &str, parts: &[&str]) -> bool {
    text.lines()
        .any(|line| parts.iter().all(|part| line.contains(part)))
}

/// Returns the column and row at which `words` starts on the screen, counted from 1.
pub fn position(text: &str, words: &str) -> (usize, usize) {
    let mut lines = text.lines().enumerate();
    let found = lines.find_map(|(row, line)| Some((row, line.split_once(words)?.0)));
    let (row, before) = found.unwrap_or_else(|| panic!("{words} is not on the screen:\n{text}"));
    (before.chars().count() + 1, row + 1)
}

/// Returns the escape sequence of a mouse event at a cell. `what` is 0 for a press of the left button, 32 for a drag,
/// 64 and 65 for the wheel.
pub fn mouse(what: u8, (column, row): (usize, usize)) -> String {
    format!("\x1b[<{what};{column};{row}M")
}

/// Returns the escape sequences for a press and release of the left mouse button.
pub fn click(at: (usize, usize)) -> String {
    format!("{}\x1b[<0;{};{}m", mouse(0, at), at.0, at.1)
}
