//! Hooks in the dashboard: what the user sees and decides.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{GUARD, answers, project, received, specific, transcripts, unapproved};
use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::supervised::Sleep;
use crate::common::wait::wait_until;

const ALT_W: &str = "\x1bw";
/// Keys that move the focus to the composer from anywhere.
const COMPOSE: &str = "\x1b1i";

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
    screen.wait_for("blocked the same action 3 times");
    assert_eq!(received(&project, "Stop").len(), 3);
    screen.send(ALT_W);
    screen.wait_for("Ignore the hook this time");
    screen.send("1");
    screen.wait("the question is answered", |text| {
        !text.contains("blocked the same action 3 times")
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
    wait_until("the worktree is removed", || {
        !project.file(".worktrees/task-1").exists()
    });
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
    wait_until("the hook has run", || {
        !received(&project, "SessionStart").is_empty()
    });
    let viewer = start(&project);
    viewer.wait_for("script");
    quit(viewer);
    assert_eq!(received(&project, "SessionEnd").len(), 0);
    assert_eq!(received(&project, "SessionStart").len(), 1);
    quit(crew);
    assert_eq!(received(&project, "SessionEnd").len(), 1);
}

#[test]
fn hook_of_a_board_change_delays_no_command_and_can_be_interrupted() {
    let sleeps = [Sleep::new(), Sleep::new()];
    let [created, completed] = sleeps.each_ref();
    let hooks = [
        ("TaskCreated", "", created.command()),
        ("TaskCompleted", "", completed.command()),
    ];
    let project = project(&hooks, RULES);
    project.json(&["task", "add", "Dig the bed"]);
    let mut screen = start(&project);
    screen.wait_for("Dig the bed");
    screen.send_and_wait_for("\x1b", "i to write");
    screen.send_and_wait_for("3gt", "╭ New task");
    screen.send("Water it\r");
    created.wait_for_one();
    screen.wait_for("hook TaskCreated");
    screen.send("\x03");
    screen.wait_for("its TaskCreated hooks were interrupted");
    created.wait_for_none();
    // The form returns and can be sent again.
    screen.send_and_wait_for("\r", "hook TaskCreated");
    // The lead takes a prompt while the hook runs.
    screen.send("i");
    screen.send_and_wait_for("hello\r", "all finished");
    assert!(!created.sleepers().is_empty());
    quit(screen);
    sleeps.iter().for_each(Sleep::wait_for_none);
    assert_eq!(project.json(&["task", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn result_of_a_finished_tool_survives_an_interrupt_of_its_hooks() {
    let sleep = Sleep::new();
    let project = project(&[("PostToolUse", "Bash", sleep.command())], RULES);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("begin\r");
    sleep.wait_for_one();
    screen.wait_for("hook PostToolUse");
    screen.send("\x03");
    sleep.wait_for_none();
    screen.send_and_wait_for("hello\r", "all finished");
    quit(screen);
    assert!(project.file("made").exists());
    let said = transcripts(&project);
    assert!(
        said.contains("The PostToolUse hooks of this call were interrupted")
            && !said.contains("before this call finished"),
        "{said}"
    );
}

#[test]
fn clearing_ends_and_starts_the_session_for_hooks() {
    let sleep = Sleep::new();
    let hooks = [
        ("SessionEnd", "clear", answers(0, "")),
        ("SessionEnd", "prompt_input_exit", answers(0, "")),
        ("SessionStart", "clear", sleep.command()),
    ];
    let project = project(&hooks, RULES);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send_and_wait_for("hello\r", "all finished");
    screen.wait_for("○ idle");
    screen.send("/clear\r");
    sleep.wait_for_one();
    screen.wait_for("hook SessionStart");
    screen.send("\x03");
    sleep.wait_for_none();
    screen.wait("the lead is idle", |text| {
        !text.contains("hook SessionStart")
    });
    screen.send_and_wait_for("hello again\r", "all finished");
    quit(screen);
    let reasons: Vec<_> = received(&project, "SessionEnd")
        .iter()
        .map(|i| i["reason"].clone())
        .collect();
    assert_eq!(reasons, ["clear", "prompt_input_exit"]);
}

#[test]
fn interrupt_of_session_hooks_after_a_summary_ends_the_turn() {
    let sleep = Sleep::new();
    let rules = r"
  - when: begin
    calls:
      - { tool: read_file, input: { path: long.txt } }
      - { tool: compact, input: { focus: the end } }
  - when: and now
    say: went on
  - say: all finished
    times: 0
";
    let project = project(&[("SessionStart", "compact", sleep.command())], rules);
    project.write("long.txt", &"one line of many\n".repeat(1000));
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send("begin\r");
    sleep.wait_for_one();
    screen.wait_for("hook SessionStart");
    screen.send("\x03");
    sleep.wait_for_none();
    let text = screen.wait("the lead is idle", |text| {
        !text.contains("hook SessionStart") && !text.contains("working")
    });
    assert!(!text.contains("all finished"), "{text}");
    screen.send_and_wait_for("and now\r", "went on");
    quit(screen);
}

const BOB: &str = r"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: coder, prompt: go } }]
  - agent: bob
    when: 'Hook UserPromptSubmit: the branch is main'
    say: bob knows it
    times: 0
  - say: all finished
    times: 0
";

#[test]
fn message_to_a_teammate_is_a_prompt_for_hooks() {
    let guard = "sh \"$CLAUDE_PROJECT_DIR\"/.claude/guard.sh";
    let project = unapproved(&[("UserPromptSubmit", "", guard.into())], BOB);
    project.write(".claude/guard.sh", GUARD);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send_and_wait_for("begin\r", "all finished");
    screen.send_and_wait_for("@bob the s3cret\r", "no secrets please");
    let said = || transcripts(&project);
    assert!(!said().contains("s3cret"));
    screen.wait_for("draft to bob");
    screen.send("@bob go on\r");
    wait_until("the answer of bob", || said().contains("bob knows it"));
    quit(screen);
    let prompts = received(&project, "UserPromptSubmit");
    let names: Vec<_> = prompts
        .iter()
        .map(|input| &input["teammate_name"])
        .collect();
    assert_eq!(names, [&json!(null), &json!("bob"), &json!("bob")]);
    let kinds: Vec<_> = prompts.iter().map(|input| &input["agent_type"]).collect();
    let general = json!("general-purpose");
    assert_eq!(kinds, [&json!(null), &general, &general]);
}

#[test]
fn message_from_a_viewer_is_a_prompt_for_hooks() {
    let guard = "sh \"$CLAUDE_PROJECT_DIR\"/.claude/guard.sh";
    let project = unapproved(&[("UserPromptSubmit", "", guard.into())], RULES);
    project.write(".claude/guard.sh", GUARD);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    // The reason is long.
    let open = || {
        Screen::start(
            project.path(),
            200,
            45,
            &["--provider", "script:rules.yaml"],
        )
    };
    let crew = open();
    crew.wait("the crew's own window", |text| {
        text.contains(" to lead ") && text.contains("scripted")
    });
    let mut viewer = open();
    viewer.wait_for("viewer · crew runs in process");
    viewer.send(COMPOSE);
    viewer.send("the s3cret\r");
    viewer.wait_for("no secrets please");
    crew.wait_for("no secrets please");
    assert!(!transcripts(&project).contains("the s3cret"));
    viewer.send("hello\r");
    crew.wait_for("all finished");
    assert!(transcripts(&project).contains("the branch is main"));
    quit(viewer);
    quit(crew);
    let prompts = received(&project, "UserPromptSubmit");
    let texts: Vec<_> = prompts.iter().map(|input| &input["prompt"]).collect();
    assert_eq!(texts, [&json!("the s3cret"), &json!("hello")]);
}

#[test]
fn user_is_asked_about_a_hook_that_always_blocks_a_new_task() {
    let count = "sh \"$CLAUDE_PROJECT_DIR\"/.claude/count.sh";
    let project = unapproved(&[("TaskCreated", "", count.into())], RULES);
    project.write(
        ".claude/count.sh",
        "cd \"$CLAUDE_PROJECT_DIR\"; cat >>events.jsonl; echo \"attempt $(wc -l <events.jsonl)\" >&2; exit 2\n",
    );
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let mut screen = start(&project);
    screen.wait_for("script");
    screen.send_and_wait_for("\x1b", "i to write");
    screen.send_and_wait_for("3gt", "╭ New task");
    screen.send("Water it");
    for attempt in ["attempt 1", "attempt 2"] {
        screen.send_and_wait_for("\r", attempt);
        screen.wait_for("╭ New task");
    }
    screen.send("\r");
    screen.wait_for("blocked the same action 3 times");
    screen.send(ALT_W);
    screen.send_and_wait_for("1", "Water it");
    wait_until("one task", || {
        project.json(&["task", "list"]).as_array().unwrap().len() == 1
    });
    quit(screen);
}
