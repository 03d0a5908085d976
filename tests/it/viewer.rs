//! Several dashboards in one directory: one runs the crew; the others are viewers that answer, write and take over.

use std::path::Path;

use serde_json::Value;

use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const ALT_W: &str = "\x1bw";
/// Keys that move the focus to the composer from anywhere.
const COMPOSE: &str = "\x1b1i";

/// In this script, the lead runs a command that needs permission, and runs it again when the session is resumed.
const CLEANUP_SCRIPT: &str = r"
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
    say: I have your message.
  - when: lead has cleaned
    times: 0
    say: All is clean.
  - when: .
    times: 0
    say: I see.
";

fn open_dashboard(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    Screen::start(project.path(), 160, 45, &args)
}

/// Starts a dashboard that runs a crew with `script` as the model.
fn start_crew(project: &Project, script: &str) -> Screen {
    project.write("script.yaml", script);
    let screen = open_dashboard(project, &[]);
    wait_until_started(&screen);
    screen
}

/// Starts a dashboard whose lead waits for permission to run a command.
fn start_crew_with_request(project: &Project) -> Screen {
    let mut crew = start_crew(project, CLEANUP_SCRIPT);
    crew.send_and_wait_for("go\r", "asks for permission");
    crew
}

/// Waits until the crew runs. The dashboard draws its first screen before that.
fn wait_until_started(screen: &Screen) {
    screen.wait("the crew's own window", |t| {
        t.contains(" to lead ") && t.contains("scripted")
    });
}

/// Opens another dashboard, and waits until it is a viewer of the crew that runs in process `pid`.
fn start_viewer(project: &Project, pid: u32) -> Screen {
    let screen = open_dashboard(project, &[]);
    screen.wait_for(&viewer_label(pid));
    screen
}

/// Returns the text by which a viewer's screen says whose crew it shows.
fn viewer_label(pid: u32) -> String {
    format!("viewer · crew runs in process {pid}")
}

/// Waits for a permission request, moves the focus to it and presses `key`.
fn answer_request(screen: &mut Screen, key: &str) {
    screen.wait_for("asks for permission");
    screen.send_and_wait_for(ALT_W, "╭ 6 Needs you");
    screen.send(key);
}

/// Quits the dashboard from any screen. Panics if it fails or does not restore the terminal.
fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Reads the request files of the project.
fn requests(root: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(root.join(".team/requests")).unwrap();
    files
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_str(&std::fs::read_to_string(p).unwrap()).unwrap())
        .collect()
}

fn read_count(project: &Project) -> String {
    std::fs::read_to_string(project.file("count")).unwrap_or_default()
}

#[test]
fn viewer_sees_everything_answers_and_sends_messages() {
    let project = Project::new();
    let mut crew = start_crew_with_request(&project);
    // The viewer shows earlier events, its label and what it can do.
    let mut viewer = start_viewer(&project, crew.pid());
    viewer.wait(
        "board, conversation, card and the viewer's abilities",
        |t| {
            [
                "#1 Sweep the floor",
                "I clean up.",
                "lead asks for permission",
                "message to lead",
            ]
            .iter()
            .all(|part| t.contains(part))
                && t.contains("When its process ends")
        },
    );
    answer_request(&mut viewer, "a");
    crew.wait_for("All is clean.");
    viewer.wait_for("All is clean.");
    assert_eq!(read_count(&project), "cleaned\n");
    // A message from the viewer, and the lead's answer.
    viewer.send(COMPOSE);
    viewer.send("hello from the viewer\r");
    crew.wait_for("I have your message.");
    viewer.wait("the answer and the message", |t| {
        t.contains("I have your message.") && t.contains("you → lead")
    });
    // A task that another program creates.
    project.json(&["task", "add", "Water the plants"]);
    viewer.wait_for("#2 Water the plants");
    // An action that only the crew's own window can do.
    viewer.send("/model\r");
    viewer.wait_for(&format!(
        "Only the crewdeck that runs this crew can do that: use its window (process {})",
        crew.pid()
    ));
    quit(viewer);
    crew.send_and_wait_for("go on then\r", "I see.");
    quit(crew);
}

#[test]
fn concurrent_answers_make_one_decision() {
    let project = Project::new();
    let mut crew = start_crew(&project, CLEANUP_SCRIPT);
    crew.send("go\r");
    let mut viewer = start_viewer(&project, crew.pid());
    for screen in [&mut crew, &mut viewer] {
        screen.wait_for("asks for permission");
        screen.send_and_wait_for(ALT_W, "a approve");
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
    assert_eq!(read_count(&project), "cleaned\n");
    quit(viewer);
    quit(crew);
}

#[test]
fn one_of_two_viewers_takes_over_a_killed_crew() {
    let project = Project::new();
    let crew = start_crew_with_request(&project);
    let mut screens = [
        start_viewer(&project, crew.pid()),
        start_viewer(&project, crew.pid()),
    ];
    for screen in &mut screens {
        screen.wait_for("lead asks for permission");
        screen.send_and_wait_for("half a thought", "half a thought");
    }
    crew.kill();
    // One of the two runs the crew now, the other is its viewer.
    let [a, b] = &screens;
    let (a_label, b_label) = (viewer_label(b.pid()), viewer_label(a.pid()));
    let runs_crew = |text: &str| {
        text.contains("The crew now runs in this window") && !text.contains("viewer · ")
    };
    let text_a = a.wait("a role", |t| runs_crew(t) || t.contains(&a_label));
    let text_b = b.wait("a role", |t| runs_crew(t) || t.contains(&b_label));
    assert_ne!(
        runs_crew(&text_a),
        runs_crew(&text_b),
        "one of two:\n{text_a}\n{text_b}"
    );
    let [a, b] = screens;
    let (mut crew, mut viewer) = if runs_crew(&text_a) { (a, b) } else { (b, a) };
    for screen in [&crew, &viewer] {
        // The first notice of the new run is visible.
        screen.wait("the card and the unsent draft", |t| {
            t.contains("The lead continues its unfinished turn")
                && t.contains("lead asks for permission")
                && t.contains("half a thought")
        });
    }
    answer_request(&mut viewer, "a");
    crew.wait_for("All is clean.");
    viewer.wait_for("All is clean.");
    assert_eq!(read_count(&project), "cleaned\n");
    // The draft can be sent as a message.
    crew.send_and_wait_for("\r", "I see.");
    // After a normal end the remaining viewer takes over as the third process.
    quit(crew);
    viewer.wait("the viewer runs the crew", runs_crew);
    quit(viewer);
}

#[test]
fn viewer_without_a_model_cannot_take_over_and_says_why() {
    let project = Project::new();
    let mut crew = start_crew(&project, CLEANUP_SCRIPT);
    crew.send_and_wait_for("hello\r", "I see.");
    let provider = "script:no-such-file.yaml";
    let viewer = Screen::start(project.path(), 160, 45, &["--provider", provider]);
    viewer.wait_for(&viewer_label(crew.pid()));
    crew.kill();
    viewer.wait("the reason why no crew runs", |t| {
        t.contains("viewer · no crew runs")
            && t.contains("The crew cannot be taken over: the script no-such-file.yaml")
    });
    // When another process starts a crew, the viewer shows it.
    let crew = open_dashboard(&project, &["--resume"]);
    wait_until_started(&crew);
    viewer.wait_for(&viewer_label(crew.pid()));
    quit(crew);
    viewer.wait_for("viewer · no crew runs");
    quit(viewer);
}

#[test]
fn run_beside_a_crew_is_refused_with_alternatives() {
    let project = Project::new();
    let crew = start_crew(&project, CLEANUP_SCRIPT);
    let provider = format!("script:{}", project.file("script.yaml").display());
    let refusal = project.expect_refusal(&["run", "hello", "--provider", &provider]);
    for part in [
        &format!("(process {})", crew.pid()),
        "crewdeck mail send lead",
        "watch it with crewdeck",
    ] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
    quit(crew);
}

#[test]
fn shutdown_approved_in_a_file_is_executed() {
    let project = Project::new();
    let script = r"
rules:
  - when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: coder, prompt: wait } }]
  - when: .
    times: 0
    say: fine
";
    let mut crew = start_crew(&project, script);
    crew.send("go\r");
    crew.wait("bob is idle", |t| t.contains("bob    idle"));
    project.write(
        ".team/requests/r1.json",
        r#"{"id":"r1","kind":"shutdown","from":"user","target":"bob","body":"Go.","status":"approved","decided_by":"user"}"#,
    );
    crew.wait("bob is gone", |t| {
        t.contains("0 teammates") || t.contains("bob    shut down")
    });
    quit(crew);
}

#[test]
fn viewer_is_updated_while_the_crew_window_is_in_an_editor() {
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
    wait_until_started(&crew);
    let viewer = start_viewer(&project, crew.pid());
    crew.send("go\r");
    viewer.wait_for("while [ ! -e open ]");
    crew.send("\x18e");
    wait_until("the editor", || project.file("editing").exists());
    project.write("open", "");
    viewer.wait_for("I went through.");
    assert!(!crew.text().contains("I went through."), "{}", crew.text());
    project.write("done", "");
    crew.wait("the text from the editor", |t| {
        t.contains("written") && t.contains("I went through.")
    });
    quit(viewer);
    quit(crew);
}

#[test]
fn viewer_can_request_a_shutdown_and_answer_a_question() {
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
    let mut crew = start_crew(&project, script);
    crew.send("go\r");
    crew.wait("bob is idle", |t| t.contains("bob    idle"));
    let mut viewer = start_viewer(&project, crew.pid());
    viewer.wait_for("lead asks you");
    viewer.send_and_wait_for(ALT_W, "r decline");
    viewer.send("2");
    crew.wait_for("Green it is.");
    viewer.wait_for("Green it is.");
    viewer.send_and_wait_for("\x1b4", "x shut down");
    viewer.send("x");
    crew.wait("bob is gone", |t| t.contains("bob    shut down"));
    viewer.wait("bob is gone", |t| t.contains("bob    shut down"));
    quit(viewer);
    quit(crew);
}

#[test]
fn viewer_of_a_long_session_shows_the_newest_part() {
    let project = Project::new();
    let crew = start_crew_with_request(&project);
    let session = std::fs::read_to_string(project.file(".crewdeck/.lock")).unwrap();
    let session = session.split_whitespace().nth(1).unwrap().to_string();
    let journal = project.file(&format!(".crewdeck/sessions/{session}/journal.jsonl"));
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(journal)
        .unwrap();
    let long = format!("{}\n", "x".repeat(17 * 1024 * 1024));
    std::io::Write::write_all(&mut file, long.as_bytes()).unwrap();
    let mut viewer = start_viewer(&project, crew.pid());
    viewer.wait("the files and the notice about older parts", |t| {
        [
            "#1 Sweep the floor",
            "lead asks for permission",
            "only its newest part is shown",
        ]
        .iter()
        .all(|part| t.contains(part))
    });
    answer_request(&mut viewer, "a");
    viewer.wait_for("All is clean.");
    quit(viewer);
    quit(crew);
}
