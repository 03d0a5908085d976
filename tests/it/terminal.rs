//! The dashboard end to end in a real terminal: the demo with a user at the keyboard, resizing, pasting, kills.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const ALT_W: &str = "\x1bw";

/// Starts the demo in a terminal of 160 × 45. `home` is the home and the directory for temporary files.
fn start_demo(home: &Path, more: &[&str]) -> Screen {
    let args: Vec<&str> = ["--demo", "--speed", "60"]
        .iter()
        .chain(more)
        .copied()
        .collect();
    Screen::start(home, 160, 45, &args)
}

/// Returns whether one line of the screen contains all of `parts`.
fn has_line(text: &str, parts: &[&str]) -> bool {
    text.lines().any(|l| parts.iter().all(|p| l.contains(p)))
}

/// Waits for the request with the title `card`, and approves it.
fn approve(screen: &mut Screen, card: &str) {
    screen.wait_for(card);
    screen.send(ALT_W);
    screen.wait("the card's buttons", |text| {
        text.contains(card) && text.contains("a approve")
    });
    screen.send("a");
    screen.wait("the card is gone", |text| !text.contains(card));
    // Keys are ignored for a moment after the card has changed.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send("\x1b");
    // Read together with the next key, Escape would be taken for Alt.
    std::thread::sleep(crewdeck::ui::SETTLE);
}

/// Quits the dashboard from any screen. Panics if it fails or does not restore the terminal.
fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

fn entries(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap();
    names
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns the owner of each task.
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
fn demo_runs_from_the_first_task_to_quitting() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = Screen::start(home.path(), 160, 45, &["--demo", "--speed", "40"]);
    for subject in [
        "Write lib/words.sh",
        "Write lib/top.sh",
        // In the task graph this subject is wrapped to two rows.
        "Add the",
        "Write the manual",
    ] {
        screen.wait_for(subject);
    }
    let before = entries(home.path());
    assert!(
        before.iter().any(|n| n.starts_with("crewdeck-demo-")),
        "{before:?}"
    );
    screen.wait_for("bob's plan needs approval: Alt+w (F2), then a");
    approve(&mut screen, "bob asks you to approve its plan");
    // With an approved plan bob continues: he asks carol, and her answer becomes a task.
    screen.wait_for("#9 Check an");
    screen.wait_for("10/10 done");
    let name = before.iter().find(|n| n.starts_with("crewdeck-demo-"));
    let project = home.path().join(name.unwrap()).join("tally");
    let owners = owners(&project);
    assert!(
        owners.len() == 10 && owners.iter().all(|o| !o.is_empty()),
        "{owners:?}"
    );
    screen.wait_for("Alt+a or /approve");
    // A notice covers the tip for some seconds.
    screen.wait_for("Alt+h hide");
    screen.send_until_gone("\x1bh", "Alt+h hide");
    approve(&mut screen, "lead wants carol to shut down");
    screen.wait("carol is gone", |text| {
        has_line(text, &["· carol", "shut down"])
    });
    screen.wait_for("That was the demo");
    screen.wait("all agents are idle", |text| {
        has_line(text, &["1 Lead", "idle"])
    });
    // Focuses the conversation.
    screen.send("\x1b1");
    screen.wait("a pane has the focus", |text| text.contains("i to write"));
    screen.send("q");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    let after = entries(home.path());
    assert!(
        !after.iter().any(|n| n.starts_with("crewdeck-demo-")),
        "{after:?}"
    );
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_continues_after_a_late_plan_approval() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_demo(home.path(), &[]);
    screen.wait_for("5/8 done");
    screen.wait("all agents are idle", |t| t.contains("3 idle"));
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("10/10 done");
    screen.wait_for("lead wants carol to shut down");
    quit(screen);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn rejected_shutdown_keeps_the_teammate() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_demo(home.path(), &[]);
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("lead wants carol to shut down");
    screen.send_and_wait_for(ALT_W, "r reject");
    screen.send_and_wait_for("r", "That was the demo");
    screen.wait("carol is there", |text| has_line(text, &["carol", "idle"]));
    quit(screen);
}

#[test]
fn rejection_comment_reaches_the_requester() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    let mut screen = start_demo(home.path(), &["--dir", project.to_str().unwrap()]);
    screen.wait_for("bob asks you to approve its plan");
    screen.send_and_wait_for(ALT_W, "a approve");
    screen.send("c");
    screen.send_and_wait_for("Smaller steps, please.", "Smaller steps, please.");
    screen.send("\r");
    screen.wait("the choice", |text| text.contains("r reject with comment"));
    screen.send_and_wait_for("r", "nothing else.");
    // The focus is back in the composer; bob is the second row of the team pane.
    screen.send_and_wait_for("\x1b4j\r", "I make the plan smaller.");
    let conversations = project.join(".transcripts");
    let names = entries(&conversations);
    let bobs = names.iter().find(|n| n.ends_with("-bob.jsonl")).unwrap();
    let text = std::fs::read_to_string(conversations.join(bobs)).unwrap();
    assert!(
        text.contains("Plan rejected by user: Smaller steps, please."),
        "{text}"
    );
    quit(screen);
}

#[test]
fn any_terminal_size_is_drawn_and_restored() {
    let home = tempfile::tempdir().unwrap();
    let screen = start_demo(home.path(), &[]);
    screen.wait_for("bob asks you to approve its plan");
    for (cols, rows) in [(70, 20), (60, 16), (40, 10), (12, 4), (1, 1), (160, 45)] {
        screen.resize(cols, rows);
        if cols >= 60 {
            screen.wait("the frame of this size", |text| {
                text.lines().count() == usize::from(rows) && text.contains('╭')
            });
        } else if cols >= 12 {
            // The message is centred and wrapped.
            screen.wait("the message about the size", |text| {
                let words: Vec<&str> = text.split_whitespace().collect();
                let message = words.join(" ");
                message.starts_with("crewdeck needs 60 columns and 16 rows.")
            });
        }
    }
    screen.wait_for("Write the manual");
    quit(screen);
}

#[test]
fn sigterm_restores_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let screen = start_demo(home.path(), &[]);
    screen.wait_for("Write lib/words.sh");
    let killed = Command::new("kill").arg(screen.pid().to_string()).status();
    assert!(killed.unwrap().success());
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    let entries_after = entries(home.path());
    assert!(
        !entries_after
            .iter()
            .any(|n| n.starts_with("crewdeck-demo-")),
        "{entries_after:?}"
    );
}

/// Starts the program given as arguments in a terminal that does not control it, prints its process id once the lead is
/// idle and nothing more is drawn, and closes the terminal.
const LOSE_TERMINAL: &str = r#"
import fcntl, os, pty, select, struct, subprocess, sys, termios
terminal, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 35, 120, 0, 0))
program = subprocess.Popen(sys.argv[1:], stdin=side, stdout=side, stderr=side, start_new_session=True)
os.close(side)
shown = b""
while b"idle" not in shown:
    shown += os.read(terminal, 4096)
while select.select([terminal], [], [], 1)[0]:
    os.read(terminal, 4096)
print(program.pid, flush=True)
"#;

#[test]
fn lost_terminal_ends_the_dashboard_without_a_signal() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", LOSE_TERMINAL, env!("CARGO_BIN_EXE_crewdeck")]);
    command.args(script_args(home.path(), "  - say: hello\n"));
    command.current_dir(home.path()).env("HOME", home.path());
    command
        .env("TERM", "xterm-256color")
        .env("TMPDIR", home.path());
    let out = command.output().unwrap();
    let pid = String::from_utf8(out.stdout).unwrap().trim().to_string();
    assert!(!pid.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    let stat = Path::new("/proc").join(pid).join("stat");
    // An ended process whose new parent has not asked for its status has the state Z.
    wait_until("the end of the dashboard", || {
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}

/// Adds a task that no teammate can claim, from another process.
fn add_task(project: &Path, subject: &str) {
    let out = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["task", "add", subject, "--tag", "unmatched", "--dir"])
        .arg(project)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
}

/// Reads the board from another process.
fn list_tasks(project: &Path) {
    let out = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["task", "list", "--dir"])
        .arg(project)
        .output();
    assert!(out.unwrap().status.success());
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn external_task_appears_and_an_idle_dashboard_is_quiet() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    let mut screen = start_demo(home.path(), &["--dir", project.to_str().unwrap()]);
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("10/10 done");
    approve(&mut screen, "lead wants carol to shut down");
    screen.wait_for("That was the demo");
    screen.wait("all agents are idle", |text| {
        has_line(text, &["alice", "idle"]) && has_line(text, &["1 Lead", "idle"])
    });
    add_task(&project, "Paint the fence");
    screen.wait_for("Paint the fence");
    // A notice may still disappear; after that nothing is drawn, even while other processes read the state.
    let is_quiet = (0..30).any(|_| {
        let before = screen.raw().len();
        list_tasks(&project);
        // Long enough for a spinner or a clock to change.
        std::thread::sleep(Duration::from_millis(1100));
        screen.raw().len() == before
    });
    assert!(is_quiet, "the screen is redrawn although nothing changes");
    quit(screen);
}

#[test]
fn one_megabyte_paste_is_truncated_and_keys_still_work() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_demo(home.path(), &[]);
    screen.wait_for("bob asks you to approve its plan");
    let line = "a line of the paste\n";
    screen.send(&format!(
        "\x1b[200~{}\x1b[201~",
        line.repeat(1_000_000 / line.len())
    ));
    screen.wait_for("Pasted 248 KiB of 976 KiB");
    screen.send_and_wait_for(ALT_W, "a approve");
    quit(screen);
}

#[test]
fn retry_countdown_is_shown_and_interrupted_text_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.yaml");
    let rules = "pace: 20
rules:
  - when: wait
    fault: { status: 429, retry_after: 5, message: too many }
  - when: talk
    say: These words take longer than any user wants to wait for them, so they are interrupted.
  - when: again
    say: All is well.
";
    std::fs::write(&script, rules).unwrap();
    let provider = format!("script:{}", script.display());
    let mut screen = Screen::start(dir.path(), 120, 30, &["--provider", &provider]);
    screen.wait_for("Say what you want done");
    screen.send_and_wait_for("wait\r", "rate limited (429): too many, retry in ");
    screen.send_and_wait_for("\x03", "interrupted");
    screen.send_and_wait_for("talk\r", "These words");
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
    quit(screen);
}

/// Writes a script for the lead and returns the options that make it the model.
fn script_args(home: &Path, rules: &str) -> Vec<String> {
    let file = home.join("script.yaml");
    std::fs::write(&file, format!("rules:\n{rules}")).unwrap();
    vec!["--provider".into(), format!("script:{}", file.display())]
}

#[test]
fn resume_after_kill_restores_screen_and_conversation() {
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
    let mut args = script_args(home.path(), rules);
    let options: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &options);
    screen.wait_for("Say what you want done");
    screen.send_and_wait_for("count the files\r", "count them all");
    screen.wait("the command runs", |_| {
        home.path().join("counting").exists()
    });
    screen.kill();

    args.push("--resume".into());
    let options: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &options);
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
    screen.send_and_wait_for("and now\r", "Now I am done.");
    quit(screen);
}

#[test]
fn background_job_is_shown_and_killed_by_key() {
    let home = tempfile::tempdir().unwrap();
    let rules = r"
  - when: ^serve
    calls: [{ tool: background_run, input: { command: 'echo listening; sleep 600' } }]
  - when: started
    say: It is up.
  - when: killed by user
    say: You ended it.
";
    let args = script_args(home.path(), rules);
    let options: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 100, 30, &options);
    screen.wait_for("Say what you want done");
    screen.send_and_wait_for("serve\r", "It is up.");
    screen.wait_for("1 job");
    screen.send_and_wait_for("\x1b", "i to write");
    screen.send("b");
    screen.wait("the list with its tail", |text| {
        text.contains("Background jobs: 1 running") && text.contains("listening")
    });
    screen.send_and_wait_for("x", "killed by user");
    screen.send_until_gone("\x1b", "Background jobs");
    screen.wait_for("You ended it.");
    quit(screen);
}

#[test]
fn subagent_is_interrupted_by_key_and_its_parent_continues() {
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
    let args = script_args(home.path(), rules);
    let options: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(home.path(), 160, 45, &options);
    screen.wait_for("Say what you want done");
    screen.send("look\r");
    screen.wait("the subagent works", |_| {
        home.path().join("looking").exists()
    });
    screen.wait_for("└ lead.1");
    screen.send_and_wait_for("\x1b", "i to write");
    // The team is the fourth pane; its first row is the lead's subagent now.
    screen.send_and_wait_for("4\r", "bash touch looking");
    screen.send("\x03");
    screen.wait("it is gone", |text| !text.contains("└ lead.1"));
    screen.send("\x1b");
    screen.wait_for("Then I look myself.");
    quit(screen);
}
