//! Merging in the demo: the user merges before the lead, or has edited the same file.

use std::path::Path;

use serde_json::Value;

use super::{quit, wait_for_git_count};
use crate::common::pty::Screen;
use crate::common::repository;

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_waits_for_plan_approval_and_says_goodbye_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tally");
    let root = root.to_str().unwrap();
    let args = ["--demo", "--speed", "40", "--dir", root];
    let mut screen = Screen::start(dir.path(), 160, 45, &args);
    let root = Path::new(root);
    // Without user input, tasks that do not need the plan are done, and then all agents wait.
    screen.wait_for("5/8 done");
    wait_for_both(&screen, "◆ 1 needs you", "○ 3 idle");
    let board = std::fs::read_dir(root.join(".tasks")).unwrap().flatten();
    let pending: Vec<String> = board
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter(|task| task.contains("\"status\": \"pending\""))
        .collect();
    assert_eq!(pending.len(), 3, "{pending:?}");
    wait_for_git_count(&screen, root);
    // The user merges before the lead does: bob's later work conflicts with it.
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("5 completed tasks are unmerged.");
    screen.send("A");
    screen.wait_for("5 of 5 branches are merged.");
    wait_for_git_count(&screen, root);
    screen.send("\x1bw");
    screen.wait_for("1. I take what is ready on the board");
    screen.send("a");
    screen.wait_for("lead wants carol to shut down");
    wait_for_both(&screen, "◆ 1 needs you", "○ 4 idle");
    wait_for_git_count(&screen, root);
    assert!(!lead_has_said(root, "That was the demo"));
    check_no_plan_is_announced_early(root);
    // A card that has just appeared ignores keys for a moment.
    std::thread::sleep(crewdeck::ui::SETTLE * 2);
    screen.send("w");
    screen.wait("the card has the focus", |t| {
        t.contains("lead waits for your decision")
    });
    screen.send("a");
    screen.wait_for("That was the demo");
    screen.wait_for("○ 3 idle");
    assert!(lead_has_said(root, "That was the demo"));
    quit(screen);
    // After a restart the demo does not say goodbye again.
    let mut args = args.to_vec();
    args.push("--resume");
    let mut screen = Screen::start(dir.path(), 160, 45, &args);
    screen.wait_for("○ 3 idle");
    screen.send("\x1b1iAll 10 tasks on the board are completed and the team is idle\r");
    screen.wait_for("Nothing is left to do here.");
    assert!(lead_has_said(root, "That was the demo"));
    let requests = std::fs::read_dir(root.join(".team/requests"))
        .unwrap()
        .flatten();
    let shutdowns = requests
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter(|request| request.contains("\"kind\": \"shutdown\""));
    assert_eq!(shutdowns.count(), 1);
    quit(screen);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_asks_which_version_to_keep_when_the_user_edited_too() {
    for (choice, expected) in [("1", "My own words.\n"), ("2", "Rain on the roof")] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tally");
        let root = root.to_str().unwrap();
        let args = ["--demo", "--speed", "40", "--dir", root];
        let mut screen = Screen::start(dir.path(), 160, 45, &args);
        let root = Path::new(root);
        screen.wait_for("5/8 done");
        wait_for_both(&screen, "◆ 1 needs you", "○ 3 idle");
        wait_for_git_count(&screen, root);
        std::fs::create_dir_all(root.join("samples")).unwrap();
        let sample = root.join("samples/rain.txt");
        std::fs::write(&sample, "My own words.\n").unwrap();
        repository::git(root, &["add", "samples"]);
        repository::git(root, &["commit", "--quiet", "--message", "mine"]);
        screen.send("\x1b");
        screen.wait_for("i to write");
        screen.send("3gm");
        screen.wait_for("5 completed tasks are unmerged.");
        screen.send("A");
        // The teammate asks its question and continues with the answer.
        screen.wait_for("asks about #9 Merge main into wt/task-6");
        wait_for_both(&screen, "◆ 2 need you", "○ 2 idle");
        screen.send("\x1bw");
        screen.wait_for("1. I take what is ready on the board");
        screen.send("a");
        screen.wait_for("1  The version in main");
        // Keys are ignored for a moment after a card appears.
        std::thread::sleep(crewdeck::ui::SETTLE * 2);
        screen.send(choice);
        screen.wait_for("lead wants carol to shut down");
        wait_for_both(&screen, "◆ 1 needs you", "○ 4 idle");
        // A branch without changes counts as merged for crewdeck, although git still lists it.
        screen.wait("nothing to merge", |t| !t.contains("⇡"));
        let content = std::fs::read_to_string(&sample).unwrap();
        assert!(content.starts_with(expected), "{content}");
        std::thread::sleep(crewdeck::ui::SETTLE * 2);
        screen.send("w");
        screen.wait("the card has the focus", |t| {
            t.contains("lead waits for your decision")
        });
        screen.send("a");
        screen.wait_for("That was the demo");
        screen.wait_for("○ 3 idle");
        assert!(lead_has_said(root, "That was the demo"));
        let text = journals(root);
        assert!(!text.contains("NEXT"));
        quit(screen);
    }
}

/// Waits until the screen shows both texts.
fn wait_for_both(screen: &Screen, one: &str, other: &str) {
    screen.wait(&format!("{one} and {other}"), |text| {
        text.contains(one) && text.contains(other)
    });
}

/// Returns the concatenated journals of all sessions.
fn journals(root: &Path) -> String {
    let sessions = std::fs::read_dir(root.join(".crewdeck/sessions")).unwrap();
    let journals = sessions
        .flatten()
        .map(|dir| dir.path().join("journal.jsonl"));
    journals
        .filter_map(|journal| std::fs::read_to_string(journal).ok())
        .collect()
}

/// Checks that before bob's plan request, the lead speaks of a plan only as something to come.
fn check_no_plan_is_announced_early(root: &Path) {
    const TO_COME: [&str; 3] = ["will ask you", "needs an approved plan", "once you have"];
    let text = journals(root);
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let before: Vec<Value> = events
        .take_while(|event| event["request"]["kind"] != "plan")
        .collect();
    assert!(before.len() < text.lines().count(), "no plan request");
    let said = before
        .iter()
        .filter(|event| event["type"] == "said" && event["agent"] == "lead");
    let texts: Vec<&str> = said.filter_map(|event| event["text"].as_str()).collect();
    let sentences = texts.iter().flat_map(|text| text.split(['.', ';', '\n']));
    let about_plans: Vec<&str> = sentences.filter(|s| s.contains("plan")).collect();
    assert!(!about_plans.is_empty(), "{texts:?}");
    for sentence in about_plans {
        let is_to_come = TO_COME.iter().any(|words| sentence.contains(words));
        assert!(is_to_come, "announced before the request: {sentence}");
    }
}

/// Returns whether an agent has said something that contains `text`. Panics if this is more than once in the journals.
fn lead_has_said(root: &Path, text: &str) -> bool {
    let all = journals(root);
    let lines = all
        .lines()
        .filter(|l| l.contains("\"type\":\"said\"") && l.contains(text));
    let count = lines.count();
    assert!(count <= 1, "{text}: {count} times");
    count == 1
}
