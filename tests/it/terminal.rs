//! The dashboard in a real terminal, from end to end: the demo with a person at the keys.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::pty::Screen;

const ALT_W: &str = "\x1bw";

/// The demo in a terminal of 160 × 45; home and temporary files lie in `home`.
fn demo(home: &Path, more: &[&str]) -> Screen {
    let args: Vec<&str> = ["--demo", "--speed", "60"]
        .iter()
        .chain(more)
        .copied()
        .collect();
    Screen::start(home, 160, 45, &args)
}

/// Whether one line of the screen holds all of `parts`.
fn has_line(text: &str, parts: &[&str]) -> bool {
    text.lines().any(|l| parts.iter().all(|p| l.contains(p)))
}

/// Waits for the card, goes there and approves it.
fn approve(screen: &mut Screen, card: &str) {
    screen.wait_for(card);
    screen.send(ALT_W);
    screen.wait("its buttons", |text| {
        text.contains(card) && text.contains("a approve")
    });
    screen.send("a");
    screen.wait("the card is gone", |text| !text.contains(card));
}

/// Ends a test whose screen does not matter any more.
fn leave(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

fn entries(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap();
    names
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Who owns the tasks of the board.
fn owners(project: &Path) -> Vec<String> {
    let tasks = project.join(".tasks");
    let files = entries(&tasks).into_iter();
    files
        .filter(|n| n.starts_with("task_"))
        .map(|n| {
            let text = std::fs::read_to_string(tasks.join(n)).unwrap();
            let task: serde_json::Value = serde_json::from_str(&text).unwrap();
            task["owner"].as_str().unwrap().to_string()
        })
        .collect()
}

#[test]
fn the_demo_from_the_first_task_to_the_last_key() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(home.path(), 160, 45, &["--demo", "--speed", "40"]);
    for subject in [
        "Write lib/words.sh",
        "Write lib/top.sh",
        // In a card of the graph the subject takes two rows.
        "Add the",
        "Write the manual",
    ] {
        screen.wait_for(subject);
    }
    let made = entries(home.path());
    assert!(
        made.iter().any(|n| n.starts_with("crewdeck-demo-")),
        "{made:?}"
    );
    screen.wait_for("The plan of bob waits for you: Alt+w, then a");
    approve(&mut screen, "bob asks you to approve its plan");
    // The plan lets bob go on: he asks carol, and her answer becomes a task.
    screen.wait_for("#9 Check an");
    screen.wait_for("10/10 done");
    let name = made.iter().find(|n| n.starts_with("crewdeck-demo-"));
    let project = home.path().join(name.unwrap()).join("tally");
    let owners = owners(&project);
    assert!(
        owners.len() == 10 && owners.iter().all(|o| !o.is_empty()),
        "{owners:?}"
    );
    screen.wait_for("The shutdown of carol waits for you: Alt+w, then a");
    screen.clear("\x1bh", "Alt+h hides");
    approve(&mut screen, "lead wants carol to shut down");
    screen.wait("carol is gone", |text| has_line(text, &["carol", "gone"]));
    screen.wait_for("That was the demo");
    screen.wait("nobody works", |text| has_line(text, &["1 Lead", "idle"]));
    // To the conversation, however short ago the focus moved by itself.
    screen.send("\x1b1");
    screen.wait("the panes have the keys", |text| {
        text.contains("i to write")
    });
    screen.send("q");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    let left = entries(home.path());
    assert!(
        !left.iter().any(|n| n.starts_with("crewdeck-demo-")),
        "{left:?}"
    );
}

#[test]
fn a_plan_that_is_approved_late_still_leads_on() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = demo(home.path(), &[]);
    screen.wait_for("5/8 done");
    screen.wait("nobody works", |t| t.contains("3 idle"));
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("10/10 done");
    screen.wait_for("lead wants carol to shut down");
    leave(screen);
}

#[test]
fn a_shutdown_that_the_person_rejects_leaves_the_teammate_there() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = demo(home.path(), &[]);
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("lead wants carol to shut down");
    screen.press(ALT_W, "r reject");
    screen.press("r", "That was the demo");
    screen.wait("carol is there", |text| has_line(text, &["carol", "idle"]));
    leave(screen);
}

#[test]
fn a_rejection_with_a_comment_reaches_the_one_who_asked() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    let mut screen = demo(home.path(), &["--dir", project.to_str().unwrap()]);
    screen.wait_for("bob asks you to approve its plan");
    screen.press(ALT_W, "a approve");
    screen.send("c");
    screen.press("Smaller steps, please.", "Smaller steps, please.");
    screen.send("\r");
    screen.wait("the choice", |text| text.contains("r reject with it"));
    screen.press("r", "nothing else.");
    // The keys went back to the composer; bob's conversation is the second of the team.
    screen.press("\x1b4j\r", "I make the plan smaller.");
    let conversations = project.join(".transcripts");
    let names = entries(&conversations);
    let bobs = names.iter().find(|n| n.ends_with("-bob.jsonl")).unwrap();
    let text = std::fs::read_to_string(conversations.join(bobs)).unwrap();
    assert!(
        text.contains("Plan rejected by user: Smaller steps, please."),
        "{text}"
    );
    leave(screen);
}

#[test]
fn any_size_is_drawn_and_the_way_back_too() {
    let home = tempfile::tempdir().unwrap();
    let screen = demo(home.path(), &[]);
    screen.wait_for("bob asks you to approve its plan");
    for (cols, rows) in [(70, 20), (60, 16), (40, 10), (12, 4), (1, 1), (160, 45)] {
        screen.resize(cols, rows);
        if cols >= 60 {
            screen.wait("the frame of this size", |text| {
                text.lines().count() == usize::from(rows) && text.contains('╭')
            });
        } else if cols >= 12 {
            // Centred, on as many rows as the words need.
            screen.wait("a word about the size", |text| {
                let words: Vec<&str> = text.split_whitespace().collect();
                let said = words.join(" ");
                said.starts_with("crewdeck needs 60 columns and 16 rows.")
            });
        }
    }
    screen.wait_for("Write the manual");
    leave(screen);
}

#[test]
fn sigterm_gives_the_terminal_back() {
    let home = tempfile::tempdir().unwrap();
    let screen = demo(home.path(), &[]);
    screen.wait_for("Write lib/words.sh");
    let killed = Command::new("kill").arg(screen.pid().to_string()).status();
    assert!(killed.unwrap().success());
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    let left = entries(home.path());
    assert!(
        !left.iter().any(|n| n.starts_with("crewdeck-demo-")),
        "{left:?}"
    );
}

/// Adds a task from another process.
fn add(project: &Path, subject: &str) {
    let out = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["task", "add", subject, "--tag", "nobody", "--dir"])
        .arg(project)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
}

/// Looks at the board from another process.
fn look(project: &Path) {
    let out = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["task", "list", "--dir"])
        .arg(project)
        .output();
    assert!(out.unwrap().status.success());
}

#[test]
fn a_task_from_another_process_appears_and_a_dashboard_at_rest_is_quiet() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    let mut screen = demo(home.path(), &["--dir", project.to_str().unwrap()]);
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("10/10 done");
    approve(&mut screen, "lead wants carol to shut down");
    screen.wait_for("That was the demo");
    screen.wait("nobody works", |text| {
        has_line(text, &["alice", "idle"]) && has_line(text, &["1 Lead", "idle"])
    });
    add(&project, "Paint the fence");
    screen.wait_for("Paint the fence");
    // A notice may still go away by itself; then nothing moves, also while others read the state.
    let is_quiet = (0..30).any(|_| {
        let before = screen.raw().len();
        look(&project);
        // In this time a spinner or a clock would have moved.
        std::thread::sleep(Duration::from_millis(1100));
        screen.raw().len() == before
    });
    assert!(is_quiet, "the screen is drawn though nothing happens");
    leave(screen);
}

#[test]
fn a_paste_of_a_megabyte_is_bounded_and_the_keys_still_work() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = demo(home.path(), &[]);
    screen.wait_for("bob asks you to approve its plan");
    let line = "a line of the paste\n";
    screen.send(&format!(
        "\x1b[200~{}\x1b[201~",
        line.repeat(1_000_000 / line.len())
    ));
    screen.wait_for("Pasted 256 KiB of 976 KiB");
    screen.press(ALT_W, "a approve");
    leave(screen);
}

#[test]
fn waits_are_counted_down_and_an_interrupted_answer_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.yaml");
    let rules = "pace: 20
rules:
  - when: wait
    fault: { status: 429, retry_after: 5, message: too many }
  - when: talk
    say: These words take longer than anybody wants to wait for them, so they are interrupted.
  - when: again
    say: All is well.
";
    std::fs::write(&script, rules).unwrap();
    let provider = format!("script:{}", script.display());
    let mut screen = Screen::start(dir.path(), 120, 30, &["--provider", &provider]);
    screen.wait_for("Say what you want done");
    screen.press("wait\r", "rate limited (429): too many, retry in ");
    screen.press("\x03", "interrupted");
    screen.press("talk\r", "These words");
    screen.send("\x03");
    screen.wait("the second interrupt", |t| {
        t.matches("· interrupted").count() == 2
    });
    screen.send("again\r");
    let text = screen.wait_for("All is well.");
    assert!(
        text.contains("These words") && !text.contains("so they are interrupted"),
        "{text}"
    );
    leave(screen);
}

/// A script that plays the lead, and the options that choose it.
fn scripted(home: &Path, rules: &str) -> Vec<String> {
    let file = home.join("script.yaml");
    std::fs::write(&file, format!("rules:\n{rules}")).unwrap();
    vec!["--provider".into(), format!("script:{}", file.display())]
}

#[test]
fn after_a_kill_the_screen_and_the_lead_are_back_where_they_stood() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^count
    say: I count.
    calls:
      - { tool: todo, input: { items: [{ id: '1', text: count them all, status: in_progress }] } }
      - { tool: bash, input: { command: 'touch counting; sleep 600' } }
  - when: stopped in the middle of this turn
    say: I was cut off and look again.
  - when: ^and now
    say: Now I am done.
";
    let mut args = scripted(home.path(), rules);
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &plain);
    screen.wait_for("Say what you want done");
    screen.press("count the files\r", "count them all");
    screen.wait("the command runs", |_| {
        home.path().join("counting").exists()
    });
    screen.kill();

    args.push("--resume".into());
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &plain);
    screen.wait_for("I was cut off and look again.");
    let text = screen.text();
    for part in [
        "count the files",
        "I count.",
        "not finished",
        "count them all",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    screen.press("and now\r", "Now I am done.");
    leave(screen);
}

#[test]
fn a_background_job_is_watched_and_ended_by_key() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^serve
    calls: [{ tool: background_run, input: { command: 'echo listening; sleep 600' } }]
  - when: started
    say: It is up.
  - when: killed by user
    say: You ended it.
";
    let args = scripted(home.path(), rules);
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 100, 30, &plain);
    screen.wait_for("Say what you want done");
    screen.press("serve\r", "It is up.");
    screen.wait_for("1 job");
    screen.press("\x1b", "i to write");
    screen.send("b");
    screen.wait("the list with its tail", |text| {
        text.contains("Background jobs: 1 running") && text.contains("listening")
    });
    screen.press("x", "killed by user");
    screen.clear("\x1b", "Background jobs");
    screen.wait_for("You ended it.");
    leave(screen);
}

#[test]
fn a_subagent_is_stopped_by_key_and_the_one_who_sent_it_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - agent: lead
    when: ^look
    calls: [{ tool: task, input: { prompt: look for it, kind: general } }]
  - agent: lead
    when: the subagent was interrupted
    say: Then I look myself.
  - when: look for it
    calls: [{ tool: bash, input: { command: 'touch looking; sleep 600' } }]
";
    let args = scripted(home.path(), rules);
    let plain: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &plain);
    screen.wait_for("Say what you want done");
    screen.send("look\r");
    screen.wait("the subagent works", |_| {
        home.path().join("looking").exists()
    });
    screen.wait_for("└ lead.1");
    screen.press("\x1b", "i to write");
    // The team is the fourth pane; its first row is the lead's subagent.
    screen.press("4\r", "bash touch looking");
    screen.send("\x03");
    screen.wait("it is gone", |text| !text.contains("└ lead.1"));
    screen.send("\x1b");
    screen.wait_for("Then I look myself.");
    leave(screen);
}
