//! Tests of the log's filter, size limit and order.

pub mod keys;
mod others;
mod sentences;
mod story;

use pretty_assertions::assert_eq;

use crate::domain::timestamp::Timestamp;
use crate::ui::UiState;
use crate::ui::fixture::{NOON, started_screen};
use crate::ui::model::event_log::{
    About, EventLog, LINES_MAX, LogLine, LogSeverity, NewLogLine, Topic,
};
use crate::ui::popups::event_log::query::EventLogQuery;

fn line(topic: Topic, tone: LogSeverity, who: &str, words: &str) -> LogLine {
    LogLine {
        number: 0,
        at: Timestamp(NOON),
        topic,
        severity: tone,
        about: About::Nothing,
        who: vec![who.into()],
        words: words.into(),
    }
}

#[test]
fn filter_finds_the_expected_lines() {
    let lines = [
        line(
            Topic::Task,
            LogSeverity::Good,
            "alice",
            "alice completed #2 Parse",
        ),
        line(
            Topic::Mail,
            LogSeverity::Plain,
            "bob",
            "bob → lead: std::fmt or tokio?",
        ),
        line(
            Topic::Model,
            LogSeverity::Warn,
            "alice",
            "alice's call failed: rate limited",
        ),
    ];
    let cases: [(&str, &[usize]); 13] = [
        ("", &[0, 1, 2]),
        ("ALICE", &[0, 2]),
        ("who:@ali", &[0, 2]),
        ("!who:alice", &[1]),
        ("kind:task", &[0]),
        ("kind:m", &[1]),
        // The former name of the kind.
        ("kind:mail", &[1]),
        ("kind:mo", &[2]),
        ("message", &[1]),
        ("!", &[2]),
        ("! kind:task", &[]),
        ("who: kind:", &[0, 1, 2]),
        ("std::fmt", &[1]),
    ];
    for (text, expected) in cases {
        let query = EventLogQuery::new(text);
        let found = (0..lines.len()).filter(|at| query.matches(&lines[*at]));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        assert_eq!(query.errors(), [], "{text}");
    }
    let problems = |text: &str| -> Vec<String> {
        let query = EventLogQuery::new(text);
        query.errors().iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        problems("colour:red kind:x"),
        [
            "unknown key colour: use who: or kind:",
            "unknown kind x: use task, message, request, team, worktree, model, job, notice"
        ]
    );
}

#[test]
fn newest_lines_are_kept_in_order_of_time() {
    let mut log = EventLog::default();
    let says = |log: &mut EventLog, at: f64, words: &str| {
        log.push(Timestamp(at), NewLogLine::new(Topic::Task, words));
    };
    says(&mut log, 5.0, "later");
    says(&mut log, 2.0, "earlier");
    says(&mut log, 5.0, "last");
    let words = |log: &EventLog| log.lines().map(|l| l.words.clone()).collect::<Vec<_>>();
    assert_eq!(words(&log), ["earlier", "later", "last"]);
    assert!(!log.is_cut());
    for i in 0..LINES_MAX {
        says(&mut log, 6.0, &i.to_string());
    }
    assert_eq!(log.len(), LINES_MAX);
    assert_eq!(log.lines().next().unwrap().words, "0");
    assert!(log.is_cut());
}

#[test]
fn notices_are_kept_once_when_a_crew_is_read_again() {
    let mut state = started_screen(100, 30);
    state.model.event_log = EventLog::default();
    let at = state.now;
    let push_lines = |log: &mut EventLog| {
        log.push(at, NewLogLine::new(Topic::Task, "a task"));
        log.push(at, NewLogLine::new(Topic::Notice, "a notice"));
    };
    push_lines(&mut state.model.event_log);
    state.forget_crew();
    let words = |s: &UiState| {
        s.event_log
            .lines()
            .map(|l| l.words.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&state), ["a notice"]);
    push_lines(&mut state.model.event_log);
    assert_eq!(words(&state), ["a notice", "a task"]);
}
