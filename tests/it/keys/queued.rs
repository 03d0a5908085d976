//! Messages sent while an agent works: they are shown as queued, sent after its answer or an interrupt, and survive a kill. The
//! running answer hangs until the test stops it.

use crate::common::wait::wait_until;
use crate::keys::dashboard::{CTRL_C, DOWN, Dashboard, ENTER, ESC, UP, has_line, start};

const SECOND: &str = "the second message";
const ANSWER: &str = "The second message is answered.";

fn row(text: &str, words: &str) -> usize {
    let row = text.lines().position(|line| line.contains(words));
    row.unwrap_or_else(|| panic!("{words} is not on the screen:\n{text}"))
}

#[test]
fn interrupt_sends_the_queued_message_to_the_lead() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    dashboard.press(CTRL_C, ANSWER);
    let text = dashboard.wait_until_gone("queued: ");
    let first = row(&text, "› wait");
    let stopped = row(&text, "· interrupted");
    let second = row(&text, &format!("› {SECOND}"));
    assert!(
        first < stopped && stopped < second && second < row(&text, ANSWER),
        "{text}"
    );
    dashboard.quit();
}

#[test]
fn interrupt_sends_the_queued_message_to_a_teammate() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("4g\r", " to alice ");
    dashboard.press("ihold on\r", "Ctrl+c stop alice");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    dashboard.press(CTRL_C, ANSWER);
    let text = dashboard.wait_until_gone("queued: ");
    let second = row(&text, &format!("› {SECOND}"));
    assert!(
        row(&text, "› hold on") < row(&text, "· interrupted"),
        "{text}"
    );
    assert!(
        row(&text, "· interrupted") < second && second < row(&text, ANSWER),
        "{text}"
    );
    dashboard.quit();
}

#[test]
fn queued_message_is_edited_and_two_interrupts_on_a_draft_do_not_quit() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(
        "the secnd message\r",
        "queued: the secnd message · ↑ edits it",
    );
    dashboard.clear(UP, "queued: ");
    dashboard.wait_for("│ the secnd message");
    // Up goes on to the message before it, Down returns.
    dashboard.press(UP, "│ wait");
    dashboard.press(DOWN, "│ the secnd message");
    dashboard.press(&format!("\x15{SECOND}"), &format!("│ {SECOND}"));
    dashboard.press(ENTER, &format!("queued: {SECOND}"));
    let text = dashboard.press(CTRL_C, ANSWER);
    assert!(!text.contains("secnd"), "{text}");
    dashboard.screen.resize(80, 24);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press("a draft", "│ a draft");
    // The first stops the lead, the second clears the draft, and only the third offers to quit.
    dashboard.press(&CTRL_C.repeat(2), "Draft cleared.");
    dashboard.wait_until_gone("Ctrl+c stop lead");
    dashboard.press(CTRL_C, "Press Ctrl+c again to quit.");
    dashboard.quit();
}

#[test]
fn resumed_crew_answers_a_queued_message() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    let dashboard = kill_and_resume(dashboard, "prompts.json", SECOND);
    dashboard.wait_for(ANSWER);
    let text = dashboard
        .screen
        .wait("an idle lead", |t| has_line(t, &["1 Lead", "idle"]));
    assert_eq!(text.matches(&format!("› {SECOND}")).count(), 1, "{text}");
    assert!(!text.contains("queued: "), "{text}");
    dashboard.quit();
}

#[test]
fn resumed_lead_reads_the_output_of_an_earlier_command_once() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("first\r", "I see.");
    dashboard.press("!echo kept-$((40 + 2))\r", "kept-42");
    let mut dashboard = kill_and_resume(dashboard, "commands-lead.json", "kept-42");
    dashboard.wait_for("I see.");
    dashboard.send("second\r");
    dashboard
        .screen
        .wait("two answers", |t| t.matches("I see.").count() == 2);
    let folder = std::fs::read_dir(dashboard.home.path().join(".transcripts")).unwrap();
    let logs = folder.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let logs: String = logs.collect();
    assert_eq!(logs.matches("kept-42").count(), 1, "{logs}");
    assert_eq!(logs.matches("<user-command").count(), 1, "{logs}");
    dashboard.quit();
}

/// Kills the dashboard as soon as the file `name` of the session contains `text`, and resumes the session. The dashboard
/// shows what the user sends before the crew saves it.
fn kill_and_resume(dashboard: Dashboard, name: &str, text: &str) -> Dashboard {
    let Dashboard { home, screen } = dashboard;
    let sessions = home.path().join(".crewdeck/sessions");
    let is_written = || {
        let all = std::fs::read_dir(&sessions).unwrap().flatten();
        let mut texts = all.filter_map(|s| std::fs::read_to_string(s.path().join(name)).ok());
        texts.any(|written| written.contains(text))
    };
    wait_until(&format!("{text} in {name}"), is_written);
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &screen.pid().to_string()])
        .status();
    assert!(killed.unwrap().success());
    drop(screen);
    let screen = start(home.path(), &[], &["--resume"]);
    Dashboard { home, screen }
}
