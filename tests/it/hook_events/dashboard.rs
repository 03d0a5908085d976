//! Hooks in the dashboard: what the user sees and decides.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{answers, project, received, specific};
use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::supervised::Sleep;

const ALT_W: &str = "\x1bw";

fn start(project: &Project) -> Screen {
    let args = ["--provider", "script:rules.yaml"];
    Screen::start(project.path(), 120, 35, &args)
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

const RULES: &str = r#"
  - when: feedback
    say: went on
    times: 0
  - when: begin
    calls: [{ tool: bash, input: { command: "touch made" } }]
  - say: all finished
    times: 0
"#;

#[test]
fn card_shows_the_changed_input() {
    let changed = json!({"updatedInput": {"command": "touch changed"}, "permissionDecision": "ask", "permissionDecisionReason": "look twice"});
    let project = project(
        &[("PreToolUse", "Bash", specific("PreToolUse", changed))],
        RULES,
    );
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("begin\r");
    screen.wait("the card", |text| {
        text.contains("touch changed") && text.contains("look twice")
    });
    screen.send(ALT_W);
    screen.wait_for("a approve");
    assert!(!project.file("changed").exists());
    screen.send("a");
    screen.wait_for("all finished");
    assert!(project.file("changed").exists() && !project.file("made").exists());
    quit(screen);
    assert_eq!(received(&project, "SessionEnd").len(), 0);
}

#[test]
fn user_is_asked_about_a_stop_hook_that_always_blocks() {
    let project = project(&[("Stop", "", answers(2, "never enough"))], RULES);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("hello\r");
    screen.wait_for("Stop hook: [");
    screen.wait_for("blocked the same 3 times");
    assert_eq!(received(&project, "Stop").len(), 3);
    screen.send(ALT_W);
    screen.wait_for("Ignore the hook this time");
    screen.send("1");
    screen.wait("the question is answered", |text| {
        !text.contains("blocked the same 3 times")
    });
    quit(screen);
    assert_eq!(received(&project, "Stop").len(), 3);
}

#[test]
fn running_hook_is_shown_and_an_interrupt_ends_it() {
    let sleep = Sleep::new();
    let project = project(&[("PreToolUse", "Bash", sleep.command())], RULES);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("begin\r");
    sleep.wait_for_one();
    screen.wait_for("hook PreToolUse");
    screen.send("\x03");
    sleep.wait_for_none();
    assert!(!project.file("made").exists());
    quit(screen);
}

#[test]
fn blocked_prompt_is_reported_and_not_sent() {
    let project = project(
        &[("UserPromptSubmit", "", answers(2, "no secrets please"))],
        RULES,
    );
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("begin\r");
    screen.wait_for("no secrets please");
    quit(screen);
    assert!(!project.file("made").exists());
}

#[test]
fn hook_runs_before_a_worktree_is_removed() {
    let project = project(&[("WorktreeRemove", "", answers(2, "kept a copy"))], RULES);
    project.json(&["task", "add", "Dig the bed"]);
    let mut screen = start(&project);
    screen.wait_for("Dig the bed");
    screen.send_and_wait_for("\x1b", "i to write");
    screen.send_and_wait_for("3gC", "You claimed #1. Its worktree is .worktrees/task-1.");
    screen.send_and_wait_for("u", "W remove worktree");
    screen.send_and_wait_for("W", "Remove .worktrees/task-1");
    screen.send("y");
    screen.wait_for("C claim");
    quit(screen);
    let removed = received(&project, "WorktreeRemove");
    assert_eq!(removed.len(), 1);
    let path = removed[0]["worktree_path"].as_str().unwrap();
    assert!(path.ends_with(".worktrees/task-1"), "{path}");
    assert!(!project.file(".worktrees/task-1").exists());
}

#[test]
fn viewer_runs_no_hooks() {
    let hooks = [
        ("SessionStart", "", answers(0, "")),
        ("SessionEnd", "", answers(0, "")),
        ("UserPromptSubmit", "", answers(0, "")),
        ("TaskCreated", "", answers(2, "not like this")),
    ];
    let project = project(&hooks, RULES);
    let crew = start(&project);
    crew.wait_for("script");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while received(&project, "SessionStart").is_empty() {
        assert!(
            std::time::Instant::now() < until,
            "the session hook did not run"
        );
        std::thread::yield_now();
    }
    let viewer = start(&project);
    viewer.wait_for("script");
    quit(viewer);
    assert_eq!(received(&project, "SessionEnd").len(), 0);
    assert_eq!(received(&project, "SessionStart").len(), 1);
    quit(crew);
    assert_eq!(received(&project, "SessionEnd").len(), 1);
}
