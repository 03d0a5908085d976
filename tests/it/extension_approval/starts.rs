//! Every way in which a crew starts in a project that the user has not approved: nothing of the project runs.

use std::collections::BTreeSet;

use serde_json::json;

use crate::common::project::Project;
use crate::common::pty::Screen;

/// The prompt `begin` makes the lead call a tool and spawn a teammate whose role describes a server.
const RULES: &str = r#"
rules:
  - agent: lead
    when: begin
    calls:
      - { tool: bash, input: { command: "echo 1" } }
      - { tool: spawn_teammate, input: { name: bob, role: evil, prompt: go } }
  - say: all finished
    times: 0
"#;

/// The events of the hooks, each of which happens after the prompt.
const EVENTS: &[&str] = &["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"];

/// Returns a project with a server that starts with the crew, one that starts when it is needed, one that a role
/// describes, hooks, and a command with a shell command. Each of them writes its name to the file `ran`.
fn project() -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("run.sh", "#!/bin/sh\necho \"$1\" >>\"$HOME/ran\"\n");
    let server = |name: &str, is_early: bool| json!({"command": "sh", "args": ["./run.sh", name], "alwaysLoad": is_early});
    let servers =
        json!({"mcpServers": {"early": server("early", true), "lazy": server("lazy", false)}});
    project.write(".mcp.json", &servers.to_string());
    let hooks: serde_json::Map<_, _> = EVENTS
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
    project.write(
        ".claude/agents/evil.md",
        "---\nname: evil\ndescription: Helps\nmcpServers:\n  - inline:\n      command: sh\n      args: [./run.sh, inline]\n---\nHelp.\n",
    );
    project.write(
        ".claude/commands/evil.md",
        "Look at !`sh run.sh command` now.\n",
    );
    project.write("rules.yaml", RULES);
    project
}

/// Returns what has run, and forgets it.
fn take_ran(project: &Project) -> BTreeSet<String> {
    let ran = std::fs::read_to_string(project.file("ran")).unwrap_or_default();
    let _ = std::fs::remove_file(project.file("ran"));
    ran.lines().map(String::from).collect()
}

fn open(project: &Project, more: &[&str]) -> Screen {
    let args = [&["--provider", "script:rules.yaml"], more].concat();
    Screen::start(project.path(), 120, 35, &args)
}

/// Continues without what waits for approval.
fn open_without(project: &Project, more: &[&str]) -> Screen {
    let mut screen = open(project, more);
    screen.wait_for("continue without");
    // A page that has just appeared ignores keys.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send("w");
    screen.wait(" to lead ", |text| {
        text.contains(" to lead ") && text.contains("script")
    });
    // So does a composer that has just become active.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen
}

/// Sends the prompt and waits for the end of the turn. A resumed crew also shows the answers of earlier turns.
fn prompt(screen: &mut Screen) {
    let answers = |text: &str| text.matches("all finished").count();
    let before = answers(&screen.text());
    screen.send("begin\r");
    screen.wait("the end of the turns", |text| {
        answers(text) > before && !text.contains("working")
    });
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, _) = screen.wait_for_exit();
    assert!(status.success(), "{status:?}");
}

/// A way in which a crew starts and works.
type Start = (&'static str, fn(&Project));

const STARTS: &[Start] = &[
    ("run", |project| {
        run(project, &[]);
    }),
    ("run --resume", |project| run(project, &["--resume"])),
    ("dashboard", |project| {
        let mut screen = open_without(project, &[]);
        prompt(&mut screen);
        screen.send_and_wait_for("/evil now\r", "crewdeck does not run them");
        quit(screen);
    }),
    ("dashboard --resume", |project| {
        let mut screen = open_without(project, &["--resume"]);
        prompt(&mut screen);
        quit(screen);
    }),
    ("viewer that takes over", |project| {
        let crew = open_without(project, &[]);
        let mut viewer = open(project, &[]);
        viewer.wait_for("viewer · ");
        crew.kill();
        viewer.wait_for("The crew now runs in this window");
        prompt(&mut viewer);
        quit(viewer);
    }),
];

fn run(project: &Project, more: &[&str]) {
    let args = ["run", "begin", "--provider", "script:rules.yaml"];
    let ran = project.run(&[&args[..], more].concat());
    assert!([0, 4].contains(&ran.code()), "{}", ran.err());
}

#[test]
fn nothing_of_a_project_runs_however_the_crew_starts() {
    let project = project();
    for (name, start) in STARTS {
        start(&project);
        assert_eq!(take_ran(&project), BTreeSet::new(), "{name}");
    }
    // After approval all of it runs, except the shell command in a prompt.
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    run(&project, &[]);
    let all = EVENTS.iter().chain(&["early", "lazy", "inline"]);
    let all: BTreeSet<String> = all.map(|name| (*name).to_string()).collect();
    assert_eq!(take_ran(&project), all);
}
