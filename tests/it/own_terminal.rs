//! The terminal is crewdeck's: commands of agents neither write to it nor type into it, and have ones of their own.

use crate::common::held;
use crate::common::pty::Screen;
use crewdeck::process::Ended;
use crewdeck::process::confine::{Works, probe};

/// Whether commands get a view of their own on this machine.
fn has_views() -> bool {
    matches!(probe(Some(&held::program())).view, Works::Yes)
}

#[test]
fn a_command_can_not_reach_the_terminal_of_the_dashboard() {
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
    let text = screen.wait("the lead's word", |text| text.contains("It was "));
    assert!(text.contains("It was refused."), "{text}");
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    // The command itself is shown; what it prints would begin with the sequence.
    assert!(!raw.contains("\x1b[9;9HON-THE-TTY"), "{text}");
    if has_views() {
        assert!(!raw.contains("\x1b[9;9HON-THE-PTS"), "{text}");
    }
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn a_command_makes_terminals_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let guard = held::confined(dir.path(), &["/tmp".into()], &[]);
    let report = held::run(
        &guard,
        dir.path(),
        "script -qec 'tty; echo within' /dev/null",
    );
    assert_eq!(report.ended, Ended::Code(0), "{}", report.output);
    assert!(report.output.contains("within"), "{}", report.output);
    if has_views() {
        assert!(report.output.contains("/dev/pts/0"), "{}", report.output);
    }
}
