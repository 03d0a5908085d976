//! The cost panel, and printing the conversation.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::protocol::event::CrewEvent;
use crate::protocol::{AgentEvent, Event, EventKind};
use crate::ui::fixture::{
    apply_events, blank, busy, busy_events, name, picture, press, ready, started_screen,
};
use crate::ui::popups::costs;
use crate::ui::popups::costs::sort::CostSort;
use crate::ui::tests::scenes::work;
use crate::ui::{Effect, Msg, UiState, update};

fn spending() -> Vec<EventKind> {
    let mut all = busy_events();
    all.extend(work::spending());
    all
}

#[test]
fn costs_from_journal_equal_live_costs() {
    let (mut live, mut read) = (blank(160, 45), blank(160, 45));
    for (seq, kind) in (1..).zip(spending()) {
        let at = crate::domain::timestamp::Timestamp(1.0);
        let event = Event { seq, at, kind };
        let line = serde_json::to_string(&event).unwrap();
        update(&mut live, Msg::Event(event));
        let event: Event = serde_json::from_str(&line).unwrap();
        update(&mut read, Msg::Event(event));
    }
    let text = costs::text(&live, CostSort::default());
    assert_eq!(costs::text(&read, CostSort::default()), text);
    for words in [
        "lead and 2 subagents",
        "no price",
        "raised from $5.00",
        "#3 Read",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // The costs of another crew start at zero.
    read.forget_crew();
    assert!(costs::text(&read, CostSort::default()).contains("No tokens used yet."));
}

#[test]
fn older_journal_without_calls_is_readable() {
    let line = r#"{"seq":1,"at":1.0,"type":"usage_changed","agent":"lead","total":{"input":900,"output":100,
        "cache_read":0,"cache_write":0},"context":1000,"window":null,"cost":null}"#;
    let event: Event = serde_json::from_str(line).unwrap();
    let mut state = started_screen(160, 45);
    update(&mut state, Msg::Event(event));
    let text = costs::text(&state, CostSort::default());
    let row = text.lines().find(|l| l.contains("lead")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    let expected = [
        "○",
        "lead",
        "–",
        "900",
        "0",
        "0",
        "100",
        "100%",
        "━━━━━━━━━━",
    ];
    assert_eq!(words, expected);
}

#[test]
fn printed_conversation_is_complete_and_escaped() {
    let mut state = busy(160, 45);
    apply_events(&mut state, work::long_conversation());
    let evil = AgentEvent::AnswerFinished {
        text: "a \u{1b}]0;title\u{7} b\u{9b}2J".into(),
        thinking: String::new(),
        thought_ms: 0,
    }
    .of(Name::lead());
    apply_events(&mut state, vec![evil]);
    let done = press(&mut state, "esc 1 P");
    let [Effect::Print(text)] = done.as_slice() else {
        panic!("{done:?}");
    };
    assert_eq!(press(&mut state, "e"), [Effect::OpenInEditor(text.clone())]);
    assert_eq!(
        press(&mut state, "Y \"whole\" enter"),
        [Effect::Copy(text.clone())]
    );
    for words in [
        "> And the others?",
        "∴ The table comes first",
        "error: 1 test failed",
        "+const MAGIC",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    let drives = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert_eq!(text.chars().find(|c| drives(*c)), None);
    let mut state = started_screen(160, 45);
    assert_eq!(press(&mut state, "esc 1 P"), []);
}

#[test]
fn assumed_context_window_is_marked_in_usage() {
    for (assumed, header, row) in [(false, "ctx 41%", " 41%"), (true, "ctx ~41%", "~41%")] {
        let mut state = crate::ui::fixture::busy(160, 45);
        for agent in ["lead", "alice"] {
            let used = AgentEvent::UsageChanged {
                total: crate::domain::usage::Usage::default(),
                context: 82_000,
                window: Some(200_000),
                assumed,
                cost: None,
                estimated: false,
                calls: 1,
            }
            .of(name(agent));
            apply_events(&mut state, vec![used]);
        }
        let text = picture(&state);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains(header), "{text}");
        let alice = text
            .lines()
            .find(|l| l.contains("alice ") && l.contains("41%"));
        assert!(alice.is_some_and(|l| l.contains(row)), "{text}");
    }
}

#[test]
fn usage_of_the_previous_models_window_is_not_shown() {
    let mut state = crate::ui::fixture::busy(160, 45);
    let header = |state: &UiState| picture(state).lines().next().unwrap().to_string();
    assert!(header(&state).contains("ctx "), "{}", header(&state));
    let EventKind::Crew(CrewEvent::Ready(mut setup)) = ready() else {
        panic!("not the event of a session");
    };
    setup.model = "another-model".into();
    setup.window = None;
    apply_events(&mut state, vec![EventKind::Crew(CrewEvent::Ready(setup))]);
    let header = header(&state);
    assert!(
        header.contains("another-model") && !header.contains("ctx "),
        "{header}"
    );
}
