//! Messages that are sent while an agent works: shown as queued, taken up behind its answer, sent next after an interrupt,
//! and there again after a kill. The answer that is under way hangs until the test stops it.

use crate::keys::dashboard::{CTRL_C, Dashboard, ESC, has_line, start};

const SECOND: &str = "the second message";
const ANSWER: &str = "The second message is answered.";

fn row(text: &str, words: &str) -> usize {
    let row = text.lines().position(|line| line.contains(words));
    row.unwrap_or_else(|| panic!("{words} is not on the screen:\n{text}"))
}

#[test]
fn interrupt_sends_the_queued_message_to_the_lead() {
    let mut dashboard = Dashboard::empty(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    dashboard.press(CTRL_C, ANSWER);
    let text = dashboard.loses("queued: ");
    let first = row(&text, "› wait");
    let stopped = row(&text, "· interrupted");
    let second = row(&text, &format!("› {SECOND}"));
    assert!(
        first < stopped && stopped < second && second < row(&text, ANSWER),
        "{text}"
    );
    dashboard.leave();
}

#[test]
fn interrupt_sends_the_queued_message_to_a_teammate() {
    let mut dashboard = Dashboard::full();
    dashboard.press(ESC, "? help");
    dashboard.press("4g\r", " to alice ");
    dashboard.press("ihold on\r", "Ctrl+c stop alice");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    dashboard.press(CTRL_C, ANSWER);
    let text = dashboard.loses("queued: ");
    let second = row(&text, &format!("› {SECOND}"));
    assert!(
        row(&text, "› hold on") < row(&text, "· interrupted"),
        "{text}"
    );
    assert!(
        row(&text, "· interrupted") < second && second < row(&text, ANSWER),
        "{text}"
    );
    dashboard.leave();
}

#[test]
fn resumed_crew_answers_a_queued_message() {
    let mut dashboard = Dashboard::empty(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(&format!("{SECOND}\r"), &format!("queued: {SECOND}"));
    // It is shown at once, and written by the crew: wait until it is on disk.
    let Dashboard { home, screen } = dashboard;
    let sessions = home.path().join(".crewdeck/sessions");
    let is_written = || {
        let all = std::fs::read_dir(&sessions).unwrap().flatten();
        let texts = all.filter_map(|s| std::fs::read_to_string(s.path().join("prompts.json")).ok());
        texts.into_iter().any(|text| text.contains(SECOND))
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_written() {
        assert!(std::time::Instant::now() < until, "never written");
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill")
        .args(["-KILL", &screen.pid().to_string()])
        .status();
    assert!(killed.unwrap().success());
    drop(screen);
    let screen = start(home.path(), &[], &["--resume"]);
    let dashboard = Dashboard { home, screen };
    dashboard.sees(ANSWER);
    let text = dashboard
        .screen
        .wait("an idle lead", |t| has_line(t, &["1 Lead", "idle"]));
    assert_eq!(text.matches(&format!("› {SECOND}")).count(), 1, "{text}");
    assert!(!text.contains("queued: "), "{text}");
    dashboard.leave();
}
