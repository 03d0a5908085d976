//! Several dashboards in one directory: one runs the crew, the others look on, answer, write, and take over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::path::Path;

use project::Project;
use pty::Screen;
use serde_json::Value;

const ALT_W: &str = "\x1bw";

/// The lead cleans up, which needs a yes, and goes on with it in a session that is gone on with.
const CLEAN: &str = r"
rules:
  - when: ^go$
    say: I clean up.
    calls:
      - { tool: task_create, input: { subject: Sweep the floor } }
      - { tool: bash, input: { command: 'rm -rf gone; echo cleaned >> count; echo lead has cleaned' } }
  - when: started again
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo cleaned >> count; echo lead has cleaned' } }]
  - when: hello from the viewer
    times: 0
    say: I have your letter.
  - when: lead has cleaned
    times: 0
    say: All is clean.
  - when: .
    times: 0
    say: I see.
";

fn open(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    Screen::start(project.path(), 160, 45, &args)
}

/// A dashboard that runs a crew by this script.
fn first(project: &Project, script: &str) -> Screen {
    project.write("script.yaml", script);
    let screen = open(project, &[]);
    screen.wait("the crew's own window", |t| {
        t.contains(" to lead ") && t.contains("script ")
    });
    screen
}

/// One more, which looks on.
fn viewer(project: &Project, of: u32) -> Screen {
    let screen = open(project, &[]);
    screen.wait_for(&mark(of));
    screen
}

/// What a viewer says of itself.
fn mark(of: u32) -> String {
    format!("viewer · crew runs in process {of}")
}

/// Goes to the card that waits and presses a key there.
fn answer(screen: &mut Screen, key: &str) {
    screen.wait_for("asks for permission");
    screen.send(ALT_W);
    screen.wait_for("a approve");
    screen.send(key);
}

/// Ends a test whose screen does not matter any more.
fn leave(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// The requests of the project.
fn requests(root: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(root.join(".team/requests")).unwrap();
    files
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap())
        .collect()
}

fn count(project: &Project) -> String {
    std::fs::read_to_string(project.file("count")).unwrap_or_default()
}

#[test]
fn a_second_one_sees_all_answers_writes_and_leaves_the_crew_alone() {
    let project = Project::new();
    let mut crew = first(&project, CLEAN);
    crew.send("go\r");
    crew.wait_for("asks for permission");
    // What was there before, the mark, and what it can.
    let mut viewer = viewer(&project, crew.pid());
    viewer.wait("board, conversation, card and what it can", |t| {
        [
            "#1 Sweep the floor",
            "I clean up.",
            "lead asks for permission",
            "letter to lead",
        ]
        .iter()
        .all(|part| t.contains(part))
            && t.contains("When that process ends, this window takes over")
    });
    answer(&mut viewer, "a");
    crew.wait_for("All is clean.");
    viewer.wait_for("All is clean.");
    assert_eq!(count(&project), "cleaned\n");
    // A letter, and what happens because of it.
    viewer.send("hello from the viewer\r");
    crew.wait_for("I have your letter.");
    viewer.wait("the answer and the letter", |t| {
        t.contains("I have your letter.") && t.contains("user → lead")
    });
    // A task that another program makes.
    project.json(&["task", "add", "Water the plants"]);
    viewer.wait_for("#2 Water the plants");
    // What the crew's own window alone can do.
    viewer.send("/model\r");
    viewer.wait_for(&format!(
        "Only the crew's own window can do that (process {})",
        crew.pid()
    ));
    leave(viewer);
    crew.send("go on then\r");
    crew.wait_for("I see.");
    leave(crew);
}

#[test]
fn two_answers_at_once_are_one_decision() {
    let project = Project::new();
    let mut crew = first(&project, CLEAN);
    crew.send("go\r");
    let mut viewer = viewer(&project, crew.pid());
    for screen in [&mut crew, &mut viewer] {
        screen.wait_for("asks for permission");
        screen.send(ALT_W);
        screen.wait_for("a approve");
    }
    viewer.send("a");
    crew.send("a");
    for screen in [&crew, &viewer] {
        screen.wait("the answer of the lead", |t| {
            t.contains("All is clean.") && !t.contains("asks for permission")
        });
    }
    let decided: Vec<Value> = requests(project.path());
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0]["status"], "approved");
    assert_eq!(decided[0]["decided_by"], "user");
    assert_eq!(count(&project), "cleaned\n");
    leave(viewer);
    leave(crew);
}

#[test]
fn when_the_first_is_killed_one_of_two_takes_over_and_finishes_the_work() {
    let project = Project::new();
    let mut crew = first(&project, CLEAN);
    crew.send("go\r");
    crew.wait_for("asks for permission");
    let mut screens = [viewer(&project, crew.pid()), viewer(&project, crew.pid())];
    for screen in &mut screens {
        screen.wait_for("lead asks for permission");
        screen.send("half a thought");
        screen.wait_for("half a thought");
    }
    crew.kill();
    // Each is the crew's window or the viewer of the other one.
    let [a, b] = &screens;
    let (a_looks, b_looks) = (mark(b.pid()), mark(a.pid()));
    let runs = |text: &str| text.contains("is gone: process") && !text.contains("viewer · ");
    let of_a = a.wait("a seat", |t| runs(t) || t.contains(&a_looks));
    let of_b = b.wait("a seat", |t| runs(t) || t.contains(&b_looks));
    assert_ne!(runs(&of_a), runs(&of_b), "one of two:\n{of_a}\n{of_b}");
    let [a, b] = screens;
    let (mut crew, mut viewer) = if runs(&of_a) { (a, b) } else { (b, a) };
    for screen in [&crew, &viewer] {
        screen.wait("the card, and what was being written", |t| {
            t.contains("lead asks for permission") && t.contains("half a thought")
        });
    }
    answer(&mut viewer, "a");
    crew.wait_for("All is clean.");
    viewer.wait_for("All is clean.");
    assert_eq!(count(&project), "cleaned\n");
    // What was typed before is a message now.
    crew.send("\r");
    crew.wait_for("I see.");
    // The third in a row, after an end in good order.
    leave(crew);
    viewer.wait("the seat of the crew", runs);
    leave(viewer);
}

#[test]
fn without_a_model_it_stays_a_viewer_and_says_why() {
    let project = Project::new();
    let mut crew = first(&project, CLEAN);
    crew.send("hello\r");
    crew.wait_for("I see.");
    let provider = "script:no-such-file.yaml";
    let viewer = Screen::start(project.path(), 160, 45, &["--provider", provider]);
    viewer.wait_for(&mark(crew.pid()));
    crew.kill();
    viewer.wait("why nobody runs the crew", |t| {
        t.contains("viewer · no crew runs")
            && t.contains("The crew can not be taken over: the script no-such-file.yaml")
    });
    // When somebody else starts one, it is looked at again.
    let crew = open(&project, &["--resume"]);
    crew.wait_for(" to lead ");
    viewer.wait_for(&mark(crew.pid()));
    leave(crew);
    viewer.wait_for("viewer · no crew runs");
    leave(viewer);
}

#[test]
fn a_run_beside_a_crew_is_refused_and_told_what_can_be_done() {
    let project = Project::new();
    let crew = first(&project, CLEAN);
    let provider = format!("script:{}", project.file("script.yaml").display());
    let refusal = project.refused(&["run", "hello", "--provider", &provider]);
    for part in [
        &format!("(process {})", crew.pid()),
        "crewdeck mail send lead",
        "look at it with crewdeck",
    ] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
    leave(crew);
}

#[test]
fn a_shutdown_that_was_decided_before_the_crew_read_of_it_is_carried_out() {
    let project = Project::new();
    let script = r"
rules:
  - when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: coder, prompt: wait } }]
  - when: .
    times: 0
    say: fine
";
    let mut crew = first(&project, script);
    crew.send("go\r");
    crew.wait("bob rests", |t| t.contains("bob idle"));
    project.write(
        ".team/requests/r1.json",
        r#"{"id":"r1","kind":"shutdown","from":"user","target":"bob","body":"Go.","status":"approved","decided_by":"user"}"#,
    );
    crew.wait("bob is gone", |t| {
        t.contains("0 here") || t.contains("bob gone")
    });
    leave(crew);
}
