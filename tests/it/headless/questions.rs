//! `crewdeck run` in a terminal: what the user sees before an answer.

use std::path::Path;

use crate::common::pty::Screen;

/// Starts `crewdeck run` in a terminal of 100 × 30. The lead asks for permission to run `command`.
fn start(dir: &Path, command: &str) -> Screen {
    let command = serde_json::to_string(command).unwrap();
    let rules = format!(
        "rules:\n  - when: ^go\n    calls: [{{ tool: bash, input: {{ command: {command} }} }}]\n  - times: 0\n    say: Finished.\n"
    );
    std::fs::write(dir.join("script.yaml"), rules).unwrap();
    let args = ["run", "go", "--provider", "script:script.yaml"];
    Screen::start(dir, 100, 30, &args)
}

/// Creates the folder that the commands of these tests delete.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("gone")).unwrap();
    dir
}

#[test]
fn filler_does_not_scroll_the_dangerous_part_away() {
    let lines: Vec<String> = (0..100).map(|n| format!("echo line {n}")).collect();
    for filler in ["\n".repeat(300), format!("\n{}\n", lines.join("\n"))] {
        let dir = folder();
        let command = format!("echo hello\nrm -rf gone{filler}echo fine");
        let mut screen = start(dir.path(), &command);
        let text = screen.wait_for("Allow? [y/N]");
        assert!(text.contains("bash needs approval"), "{text}");
        assert!(text.contains("it runs: rm -rf gone"), "{text}");
        screen.send("y\n");
        screen.wait_for("Finished.");
        assert!(!dir.path().join("gone").exists());
        assert!(screen.wait_for_exit().0.success());
    }
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_an_answer() {
    let dir = folder();
    let mut screen = start(dir.path(), "rm -rf gone");
    screen.wait_for("Allow? [y/N]");
    screen.send("\u{3}");
    assert_eq!(screen.wait_for_exit().0.exit_code(), 130);
    assert!(dir.path().join("gone").exists());
}

#[test]
fn folded_comment_needs_a_second_answer() {
    for (answer, is_deleted) in [("y\n", true), ("\n", false)] {
        let dir = folder();
        let command = format!("echo hello # {}\nrm -rf gone", "x".repeat(3000));
        let mut screen = start(dir.path(), &command);
        let text = screen.wait_for("Allow? [y/N]");
        assert!(text.contains("more characters of a comment"), "{text}");
        screen.send("y\n");
        screen.wait_for("characters of comments are hidden");
        assert!(dir.path().join("gone").exists());
        screen.send(answer);
        screen.wait_for("Finished.");
        assert_eq!(dir.path().join("gone").exists(), !is_deleted);
    }
}
