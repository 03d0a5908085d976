//! Commands of agents cannot write to the terminal of the dashboard or type into it; they can create their own.

use crate::common::pty::Screen;
use crate::common::supervised;
use crewdeck::process::JobExit;
use crewdeck::process::sandbox::{Availability, probe};

/// Returns whether commands get a private mount namespace on this machine.
fn has_private_view() -> bool {
    matches!(probe(Some(&supervised::program())).view, Availability::Yes)
}

#[test]
fn command_cannot_reach_the_terminal_of_the_dashboard() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"
rules:
  - when: go
    calls:
      - tool: bash
        input:
          command: |
            { printf '\033[9;9HON-THE-TTY' > /dev/tty; } 2>/dev/null && echo tty-written
            for name in /dev/pts/[0-9]*; do { printf '\033[9;9HON-THE-PTS' > "$name"; } 2>/dev/null; done
            tty < /dev/tty || echo no terminal here
  - when: no terminal here
    say: It was refused.
  - when: .
    times: 0
    say: It was reached.
"#;
    let file = home.path().join("script.yaml");
    std::fs::write(&file, script).unwrap();
    let provider = format!("script:{}", file.display());
    let args = ["--tool", "auto", "--provider", &provider];
    let mut screen = Screen::start(home.path(), 120, 40, &args);
    screen.wait_for("to lead");
    screen.send("go\r");
    let text = screen.wait("the lead's answer", |text| text.contains("It was "));
    assert!(text.contains("It was refused."), "{text}");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    // The command text is shown too; only its output would begin with the escape sequence.
    assert!(!raw.contains("\x1b[9;9HON-THE-TTY"), "{text}");
    if has_private_view() {
        assert!(!raw.contains("\x1b[9;9HON-THE-PTS"), "{text}");
    }
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn command_can_create_its_own_terminals() {
    let dir = tempfile::tempdir().unwrap();
    let supervisor = supervised::sandboxed_supervisor(dir.path(), &["/tmp".into()], &[]);
    let report = supervised::run(
        &supervisor,
        dir.path(),
        "script -qec 'tty; echo within' /dev/null",
    );
    assert_eq!(report.ended, JobExit::Code(0), "{}", report.output);
    assert!(report.output.contains("within"), "{}", report.output);
    if has_private_view() {
        assert!(report.output.contains("/dev/pts/0"), "{}", report.output);
    }
}
