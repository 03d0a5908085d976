//! Several dashboards in one directory: one runs the crew, the others look on, answer, write, and take over.

use std::path::Path;

use serde_json::Value;

use crate::common::project::Project;
use crate::common::pty::Screen;

const ALT_W: &str = "\x1bw";
/// To the conversation and into its composer, wherever the focus is and however short ago it moved by itself.
const COMPOSE: &str = "\x1b1i";

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
    has_started(&screen);
    screen
}

/// A dashboard whose lead waits for a yes.
fn asking(project: &Project) -> Screen {
    let mut crew = first(project, CLEAN);
    crew.press("go\r", "asks for permission");
    crew
}

/// Waits until the crew runs: the screen is there before it.
fn has_started(screen: &Screen) {
    screen.wait("the crew's own window", |t| {
        t.contains(" to lead ") && t.contains("scripted")
    });
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
    screen.press(ALT_W, "a approve");
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
    let mut crew = asking(&project);
    // What was there before, the mark, and what it can.
    let mut viewer = viewer(&project, crew.pid());
    viewer.wait("board, conversation, card and what it can", |t| {
        [
            "#1 Sweep the floor",
            "I clean up.",
            "lead asks for permission",
            "message to lead",
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
    viewer.send(COMPOSE);
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
    crew.press("go on then\r", "I see.");
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
        screen.press(ALT_W, "a approve");
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
    let crew = asking(&project);
    let mut screens = [viewer(&project, crew.pid()), viewer(&project, crew.pid())];
    for screen in &mut screens {
        screen.wait_for("lead asks for permission");
        screen.press("half a thought", "half a thought");
    }
    crew.kill();
    // Each is the crew's window or the viewer of the other one.
    let [a, b] = &screens;
    let (a_looks, b_looks) = (mark(b.pid()), mark(a.pid()));
    let runs = |text: &str| {
        text.contains("the crew runs in this window now") && !text.contains("viewer · ")
    };
    let of_a = a.wait("a seat", |t| runs(t) || t.contains(&a_looks));
    let of_b = b.wait("a seat", |t| runs(t) || t.contains(&b_looks));
    assert_ne!(runs(&of_a), runs(&of_b), "one of two:\n{of_a}\n{of_b}");
    let [a, b] = screens;
    let (mut crew, mut viewer) = if runs(&of_a) { (a, b) } else { (b, a) };
    for screen in [&crew, &viewer] {
        // Of the new run: what it tells first is in view.
        screen.wait("the card, and what was being written", |t| {
            t.contains("The lead continues its unfinished turn")
                && t.contains("lead asks for permission")
                && t.contains("half a thought")
        });
    }
    answer(&mut viewer, "a");
    crew.wait_for("All is clean.");
    viewer.wait_for("All is clean.");
    assert_eq!(count(&project), "cleaned\n");
    // What was typed before is a message now.
    crew.press("\r", "I see.");
    // The third in a row, after an end in good order.
    leave(crew);
    viewer.wait("the seat of the crew", runs);
    leave(viewer);
}

#[test]
fn without_a_model_it_stays_a_viewer_and_says_why() {
    let project = Project::new();
    let mut crew = first(&project, CLEAN);
    crew.press("hello\r", "I see.");
    let provider = "script:no-such-file.yaml";
    let viewer = Screen::start(project.path(), 160, 45, &["--provider", provider]);
    viewer.wait_for(&mark(crew.pid()));
    crew.kill();
    viewer.wait("why nobody runs the crew", |t| {
        t.contains("viewer · no crew runs")
            && t.contains("The crew cannot be taken over: the script no-such-file.yaml")
    });
    // When somebody else starts one, it is looked at again.
    let crew = open(&project, &["--resume"]);
    has_started(&crew);
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
        "watch it with crewdeck",
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

#[test]
fn while_the_first_writes_in_its_editor_the_others_see_on() {
    let project = Project::new();
    let script = r"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: 'while [ ! -e open ]; do sleep 0.05; done; echo it is open' } }]
  - when: it is open
    say: I went through.
";
    let file = project.write("script.yaml", script);
    let editor = "#!/bin/sh\ntouch editing\nwhile [ ! -e done ]; do sleep 0.05; done\necho written > \"$1\"\n";
    let editor = project.write("editor.sh", editor);
    let provider = format!("script:{}", file.display());
    let edit = format!("sh {}", editor.display());
    let mut crew = Screen::start_program(
        Path::new(env!("CARGO_BIN_EXE_crewdeck")),
        project.path(),
        160,
        45,
        &["--provider", &provider, "--tool", "auto"],
        &[("EDITOR", &edit)],
    );
    has_started(&crew);
    let viewer = viewer(&project, crew.pid());
    crew.send("go\r");
    viewer.wait_for("while [ ! -e open ]");
    crew.send("\x18e");
    until("the editor", || project.file("editing").exists());
    project.write("open", "");
    viewer.wait_for("I went through.");
    assert!(!crew.text().contains("I went through."), "{}", crew.text());
    project.write("done", "");
    crew.wait("the words of the editor", |t| {
        t.contains("written") && t.contains("I went through.")
    });
    leave(viewer);
    leave(crew);
}

#[test]
fn a_viewer_asks_a_teammate_to_shut_down_and_answers_a_question() {
    let project = Project::new();
    let script = r"
rules:
  - when: ^go$
    calls:
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: wait } }
      - { tool: ask_user, input: { question: Which colour?, choices: [red, green, blue] } }
  - when: 'The user answers: green'
    say: Green it is.
  - when: .
    times: 0
    say: fine
";
    let mut crew = first(&project, script);
    crew.send("go\r");
    crew.wait("bob rests", |t| t.contains("bob idle"));
    let mut viewer = viewer(&project, crew.pid());
    viewer.wait_for("lead asks you");
    viewer.press(ALT_W, "1-3 choose");
    viewer.send("2");
    crew.wait_for("Green it is.");
    viewer.wait_for("Green it is.");
    viewer.press("\x1b4", "x shut down");
    viewer.send("x");
    crew.wait("bob is gone", |t| t.contains("bob gone"));
    viewer.wait("bob is gone", |t| t.contains("bob gone"));
    leave(viewer);
    leave(crew);
}

#[test]
fn of_a_long_session_the_newest_part_is_seen_and_the_files_as_they_are() {
    let project = Project::new();
    let crew = asking(&project);
    let session = std::fs::read_to_string(project.file(".crewdeck/.lock")).unwrap();
    let session = session.split_whitespace().nth(1).unwrap().to_string();
    let journal = project.file(&format!(".crewdeck/sessions/{session}/journal.jsonl"));
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(journal)
        .unwrap();
    let long = format!("{}\n", "x".repeat(17 * 1024 * 1024));
    std::io::Write::write_all(&mut file, long.as_bytes()).unwrap();
    let mut viewer = viewer(&project, crew.pid());
    viewer.wait("the files, and that not all is shown", |t| {
        [
            "#1 Sweep the floor",
            "lead asks for permission",
            "only its newest part is shown",
        ]
        .iter()
        .all(|part| t.contains(part))
    });
    answer(&mut viewer, "a");
    viewer.wait_for("All is clean.");
    leave(viewer);
    leave(crew);
}

/// Waits until `wanted`.
fn until(what: &str, wanted: impl Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !wanted() {
        assert!(std::time::Instant::now() < end, "never saw {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
