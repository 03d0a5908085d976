//! Approvals in a shell while a crew runs: they take effect without a restart, and only for exactly what was approved.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const RULES: &str = r#"
rules:
  - when: begin
    calls: [{ tool: bash, input: { command: "echo 1" } }]
    times: 0
  - when: edit
    calls: [{ tool: bash, input: { command: "echo exit 0 > tools/guard.txt" } }]
    times: 0
  - when: touch
    calls: [{ tool: bash, input: { command: "touch made" } }]
    times: 0
  - say: all finished
    times: 0
"#;

/// The script of a hook that blocks a command.
const GUARD: &str = "if grep -q 'touch made'; then echo no way >&2; exit 2; fi\n";

/// Returns a project with a server and hooks that write their names to the file `ran`.
fn project() -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("run.sh", "#!/bin/sh\necho \"$1\" >>\"$HOME/ran\"\n");
    let server = json!({"command": "sh", "args": ["./run.sh", "server"]});
    project.write(
        ".mcp.json",
        &json!({"mcpServers": {"late": server}}).to_string(),
    );
    write_hooks(&project, &["UserPromptSubmit", "PreToolUse", "Stop"]);
    project.write("rules.yaml", RULES);
    project
}

fn write_hooks(project: &Project, events: &[&str]) {
    let hooks: serde_json::Map<_, _> = events
        .iter()
        .map(|event| {
            let command = format!("sh \"$CLAUDE_PROJECT_DIR\"/run.sh {event}");
            let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
            ((*event).to_string(), hook)
        })
        .collect();
    project.write(
        ".claude/settings.json",
        &json!({"hooks": hooks}).to_string(),
    );
}

/// Returns whether a program has written its name: the file exists a moment before it has content.
fn has_run(project: &Project) -> bool {
    std::fs::metadata(project.file("ran")).is_ok_and(|file| file.len() > 0)
}

fn take_ran(project: &Project) -> BTreeSet<String> {
    let ran = std::fs::read_to_string(project.file("ran")).unwrap_or_default();
    let _ = std::fs::remove_file(project.file("ran"));
    ran.lines().map(String::from).collect()
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_string()).collect()
}

fn open(project: &Project) -> Screen {
    let args = ["--provider", "script:rules.yaml", "--tool", "auto"];
    // So high that the answers to all prompts of a test stay visible.
    Screen::start(project.path(), 120, 150, &args)
}

fn prompt(screen: &mut Screen, text: &str) {
    let answers = |text: &str| text.matches("all finished").count();
    let before = answers(&screen.text());
    screen.send(&format!("{text}\r"));
    screen.wait("the end of the turn", |text| {
        answers(text) > before && !text.contains("working")
    });
}

fn approve(project: &Project, args: &[&str]) -> String {
    let ran = project.run(&[args, &["--yes"]].concat());
    assert_eq!(ran.code(), 0, "{}", ran.err());
    ran.out()
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, _) = screen.wait_for_exit();
    assert!(status.success(), "{status:?}");
}

/// Opens the dashboard and continues without what waits for approval.
fn open_without(project: &Project) -> Screen {
    let mut screen = open(project);
    screen.wait_for("continue without");
    // A page that has just appeared ignores keys, and so does the composer after it.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send("w");
    wait_for_composer(&mut screen);
    screen
}

fn wait_for_composer(screen: &mut Screen) {
    screen.wait(" to lead ", |text| {
        text.contains(" to lead ") && text.contains("script")
    });
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
}

#[test]
fn server_is_approved_in_the_list_of_servers() {
    let project = project();
    let mut screen = open_without(&project);
    prompt(&mut screen, "begin");
    screen.send_and_wait_for("/mcp\r", "needs approval");
    screen.send_and_wait_for("a", "Approve exactly this");
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    assert_eq!(take_ran(&project), names(&[]));
    screen.send("y");
    wait_until("the server runs", || has_run(&project));
    assert_eq!(take_ran(&project), names(&["server"]));
    screen.send("\x1b");
    // The key that follows at once would be read together with Escape.
    wait_for_composer(&mut screen);
    quit(screen);
}

#[test]
fn approval_in_a_shell_takes_effect_in_a_running_crew() {
    let project = project();
    let mut screen = open_without(&project);
    prompt(&mut screen, "begin");
    assert_eq!(take_ran(&project), names(&[]));

    // The approval of the server decides nothing about the hooks.
    let told = approve(&project, &["mcp", "approve", "late"]);
    assert!(told.contains("with r in /mcp"), "{told}");
    prompt(&mut screen, "begin");
    // The turn does not wait for the server.
    wait_until("the server runs", || has_run(&project));
    assert_eq!(take_ran(&project), names(&["server"]));
    let told = approve(&project, &["trust"]);
    assert!(told.contains("run from now on"), "{told}");
    prompt(&mut screen, "begin");
    let all = ["UserPromptSubmit", "PreToolUse", "Stop"];
    assert!(take_ran(&project).is_superset(&names(&all)));

    // A hook that the user adds later runs too, but not before its approval. Until then, the change of the file also
    // stops the other hooks, so the prompt is blocked.
    write_hooks(&project, &["PreToolUse", "PostToolUse"]);
    approve(&project, &["trust"]);
    prompt(&mut screen, "begin");
    let ran = take_ran(&project);
    assert!(
        ran.is_superset(&names(&["PreToolUse", "PostToolUse"])),
        "{ran:?}"
    );
    assert!(
        ran.is_disjoint(&names(&["UserPromptSubmit", "Stop"])),
        "{ran:?}"
    );

    // So does the end of an approval.
    let ran = project.run(&["trust", "--forget", "--yes"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    prompt(&mut screen, "begin");
    assert!(take_ran(&project).is_disjoint(&names(&["PreToolUse", "PostToolUse"])));
    quit(screen);
}

#[test]
fn other_approval_does_not_free_an_agent_from_a_hook_that_it_edited() {
    let project = guarded_project();
    let mut screen = open(&project);
    wait_for_composer(&mut screen);
    prompt(&mut screen, "touch it");
    prompt(&mut screen, "edit it");
    let edited = std::fs::read_to_string(project.file("tools/guard.txt")).unwrap();
    assert_eq!(edited, "exit 0\n");
    prompt(&mut screen, "touch it");
    assert!(!project.file("made").exists());

    // The approval of the server makes the crew read all decisions again.
    assert_eq!(project.run(&["mcp", "list"]).code(), 0);
    let stored = || std::fs::read(project.file(".local/state/crewdeck/approved.json")).unwrap();
    let before = stored();
    project.write(
        ".mcp.json",
        &json!({"mcpServers": {"other": {"command": "true"}}}).to_string(),
    );
    approve(&project, &["mcp", "approve", "other"]);
    assert_ne!(stored(), before);
    prompt(&mut screen, "touch it");
    assert!(!project.file("made").exists());

    // Only the user's decision about the edit ends the block.
    approve(&project, &["trust"]);
    prompt(&mut screen, "touch it");
    assert!(project.file("made").exists());
    quit(screen);
}

/// Returns a project with an approved guard, which agents can edit, and an approved server.
fn guarded_project() -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    // No script by its place or mode, so agents can write it.
    project.write("tools/guard.txt", GUARD);
    let command = "sh \"$CLAUDE_PROJECT_DIR\"/tools/guard.txt";
    let hook = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]);
    project.write(
        ".claude/settings.json",
        &json!({"hooks": {"PreToolUse": hook}}).to_string(),
    );
    let server = json!({"command": "false"});
    project.write(
        ".mcp.json",
        &json!({"mcpServers": {"other": server}}).to_string(),
    );
    project.write("rules.yaml", RULES);
    approve(&project, &["trust"]);
    project
}

#[test]
fn edit_during_the_review_of_a_server_is_not_approved() {
    let project = project();
    let mut screen = open_without(&project);
    prompt(&mut screen, "begin");
    screen.send_and_wait_for("/mcp\r", "needs approval");
    screen.send_and_wait_for("a", "Approve exactly this");
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    project.write("run.sh", "#!/bin/sh\necho planted >>\"$HOME/ran\"\n");
    screen.send_and_wait_for("y", "has changed since it was shown: review it again");
    screen.send("\x1b");
    wait_for_composer(&mut screen);
    prompt(&mut screen, "begin");
    assert_eq!(take_ran(&project), names(&[]));
    quit(screen);
}

#[test]
fn other_approval_starts_nothing_that_was_planted() {
    let project = guarded_project();
    let mut screen = open(&project);
    wait_for_composer(&mut screen);
    prompt(&mut screen, "begin");
    // As an agent could write them where the sandbox does not protect them.
    project.write("run.sh", "#!/bin/sh\necho \"$1\" >>\"$HOME/ran\"\n");
    let hook = json!([{"hooks": [{"type": "command", "command": "sh run.sh hook"}]}]);
    let hooks = json!({"hooks": {"PreToolUse": hook, "UserPromptSubmit": hook, "Stop": hook}});
    for file in [".claude/settings.local.json", ".crewdeck/hooks.json"] {
        project.write(file, &hooks.to_string());
    }
    let server = json!({"command": "true"});
    project.write(
        ".mcp.json",
        &json!({"mcpServers": {"other": server}}).to_string(),
    );
    approve(&project, &["mcp", "approve", "other"]);
    prompt(&mut screen, "begin");
    let server = json!({"command": "sh", "args": ["run.sh", "server"]});
    project.write(
        ".mcp.json",
        &json!({"mcpServers": {"other": server, "new": server}}).to_string(),
    );
    assert_eq!(project.run(&["trust", "--forget", "--yes"]).code(), 0);
    prompt(&mut screen, "begin");
    screen.send_and_wait_for("/mcp\r", "MCP servers");
    screen.send("r");
    screen.wait_for("needs approval");
    screen.send("\x1b");
    wait_for_composer(&mut screen);
    prompt(&mut screen, "begin");
    assert_eq!(take_ran(&project), names(&[]));
    quit(screen);
}

#[test]
fn decisions_that_cannot_be_read_free_nothing() {
    let project = guarded_project();
    let mut screen = open(&project);
    wait_for_composer(&mut screen);
    prompt(&mut screen, "begin");
    let stored = project.file(".local/state/crewdeck/approved.json");
    let set_mode = |mode| {
        std::fs::set_permissions(&stored, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // A file that others can write does not count.
    set_mode(0o666);
    prompt(&mut screen, "touch it");
    assert!(!project.file("made").exists());
    set_mode(0o600);
    prompt(&mut screen, "touch it");
    assert!(!project.file("made").exists());
    quit(screen);
}
