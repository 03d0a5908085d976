//! Costs, the preview and the printed conversation.

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::protocol::{Event, EventKind};
use crate::ui::app::popup::{Popup, Text};
use crate::ui::fixture::{
    apply_events, blank, busy, busy_events, cells, name, picture, press, started,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::popups::costs;
use crate::ui::shell::layout;
use crate::ui::tests::scenes::work;
use crate::ui::{Effect, Msg, Theme, UiState, update};

fn spending() -> Vec<EventKind> {
    let mut all = busy_events();
    all.extend(work::spending());
    all
}

#[test]
fn costs_from_journal_equal_live_costs() {
    let (mut live, mut read) = (blank(160, 45), blank(160, 45));
    for (seq, kind) in (1..).zip(spending()) {
        let event = Event {
            seq,
            at: crate::domain::timestamp::Timestamp(1.0),
            kind,
        };
        let line = serde_json::to_string(&event).unwrap();
        update(&mut live, Msg::Event(event));
        let event: Event = serde_json::from_str(&line).unwrap();
        update(&mut read, Msg::Event(event));
    }
    let text = costs::text(&live);
    assert_eq!(costs::text(&read), text);
    for words in [
        "lead and 2 subagents",
        "no price",
        "raised from $5.00",
        "#3 Read",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // Another crew starts with empty costs.
    read.forget_crew();
    assert!(costs::text(&read).contains("Nothing has been used yet"));
}

#[test]
fn older_journal_without_calls_is_readable() {
    let line = r#"{"seq":1,"at":1.0,"type":"usage_changed","agent":"lead","total":{"input":900,"output":100,
        "cache_read":0,"cache_write":0},"context":1000,"window":null,"cost":null}"#;
    let event: Event = serde_json::from_str(line).unwrap();
    let mut state = started(160, 45);
    update(&mut state, Msg::Event(event));
    let text = costs::text(&state);
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
fn cost_panel_opens_agent_and_task() {
    let mut state = busy(160, 45);
    apply_events(&mut state, work::spending());
    press(&mut state, "esc $ j enter");
    assert!(state.popups.is_empty());
    assert_eq!(
        (state.shown.as_str(), state.focus),
        ("alice", Focus::Pane(Pane::Lead))
    );
    press(&mut state, "$ G enter");
    let task = |state: &UiState| match state.popups.last() {
        Some(Popup::Pager(reader)) => reader.text.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(task(&state), Text::Task(_)));
    assert!(
        picture(&state).contains("spent       "),
        "{}",
        picture(&state)
    );
    press(&mut state, "esc");
    assert!(matches!(state.popups.last(), Some(Popup::Costs(_))));
    let done = press(&mut state, "y");
    assert_eq!(done, [Effect::Copy(costs::text(&state))]);
    press(&mut state, "$");
    assert!(state.popups.is_empty());
}

fn title(state: &UiState) -> String {
    let screen = picture(state);
    let words = [
        "╭ alice ",
        "╭ bob ",
        "╭ Task #2 ",
        "╭ Task #3 ",
        "╭ Request 1 ",
        "╭ Request 2 ",
        "╭ Message",
    ];
    let found = words.iter().filter(|w| screen.contains(**w));
    found.copied().collect()
}

#[test]
fn preview_follows_selection_and_opens_item() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut state = busy(width, height);
        press(&mut state, "esc 4 g space");
        assert_eq!(title(&state), "╭ alice ");
        press(&mut state, "j");
        assert_eq!(title(&state), "╭ bob ");
        press(&mut state, "space");
        assert_eq!(
            (title(&state).as_str(), state.focus),
            ("", Focus::Pane(Pane::Team))
        );
        press(&mut state, "space enter");
        assert!(state.popups.is_empty());
        assert_eq!(state.shown, name("bob"));
        let mut state = busy(width, height);
        press(&mut state, "esc 3 g space j enter");
        let is_page =
            matches!(state.popups.as_slice(), [Popup::Pager(r)] if matches!(r.text, Text::Task(_)));
        assert!(is_page, "{:?}", state.popups);
    }
}

/// A long plan in the preview, with another request behind it.
fn peeked_plan(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    let steps: Vec<String> = (1..=90).map(|n| format!("{n}. Step {n} ends.")).collect();
    let request = crate::ui::fixture::plan("r0", &steps.join("\n"));
    apply_events(&mut state, vec![EventKind::RequestChanged { request }]);
    press(&mut state, "alt+w");
    while !picture(&state).contains("Step 1 ends") {
        press(&mut state, "n");
    }
    press(&mut state, "space");
    state
}

/// Returns the rows of the preview without the scrollbar's column.
fn peeked(state: &UiState) -> Vec<String> {
    let area = layout::layout(state, state.size).peek.unwrap();
    let buffer = cells(state, &Theme::default());
    let row = |y| {
        (area.x..area.right() - 1)
            .map(|x| buffer[(x, y)].symbol())
            .collect()
    };
    (area.y + 1..area.bottom() - 1).map(row).collect()
}

fn wheel(state: &mut UiState, kind: MouseEventKind, here: Rect) {
    let event = MouseEvent {
        kind,
        column: here.x + 2,
        row: here.y + 1,
        modifiers: KeyModifiers::NONE,
    };
    update(state, Msg::Mouse(event));
}

#[test]
fn preview_scrolls_and_resets_for_next_item() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut state = peeked_plan(width, height);
        let begin = peeked(&state);
        let selected = state.panes.needs.selected.clone();
        assert!(picture(&state).contains("PgUp PgDn scroll"), "{width}");
        press(&mut state, "pgdn");
        let second = peeked(&state);
        // One row of the previous page stays visible.
        assert_eq!(Some(&second[0]), begin.last());
        press(&mut state, "pgup pgup");
        assert_eq!(peeked(&state), begin);
        press(&mut state, &"pgdn ".repeat(90));
        assert!(peeked(&state).concat().contains("Step 90 ends"), "{width}");
        assert_eq!(state.panes.needs.selected, selected);

        let area = layout::layout(&state, state.size).peek.unwrap();
        for _ in 0..99 {
            wheel(&mut state, MouseEventKind::ScrollUp, area);
        }
        assert_eq!(peeked(&state), begin);
        wheel(&mut state, MouseEventKind::ScrollDown, area);
        assert_eq!(peeked(&state)[0], begin[3]);
        assert_eq!(state.panes.needs.selected, selected);
        // Another request and back: both start at the beginning.
        press(&mut state, "k");
        assert_ne!(state.panes.needs.selected, selected);
        press(&mut state, "j");
        assert_eq!(peeked(&state), begin);
    }
}

/// A long permission request; its last line is `echo line 89`.
fn long_permission(id: &str) -> crate::domain::request::Request {
    let mut request = crate::ui::fixture::permission(id);
    let lines: Vec<String> = (0..90).map(|n| format!("echo line {n}")).collect();
    request.body = format!("bash\n$ {}", lines.join("\n"));
    request
}

#[test]
fn permission_read_to_end_in_preview_can_be_approved() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut state = crate::ui::fixture::started(width, height);
        let request = long_permission("r0");
        apply_events(&mut state, vec![EventKind::RequestChanged { request }]);
        assert_eq!(press(&mut state, "alt+w space a"), [], "{width}");
        assert!(picture(&state).contains("Not all of it was visible"));
        assert_eq!(press(&mut state, "pgdn a"), [], "{width}");
        assert_eq!(press(&mut state, &"pgdn ".repeat(90)), []);
        assert!(peeked(&state).concat().contains("echo line 89"), "{width}");
        assert_eq!(press(&mut state, "pgup a").len(), 1, "{width}");
    }
}

#[test]
fn previewed_conversation_scrolls_independently() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut state = busy(width, height);
        let alice = name("alice");
        apply_events(&mut state, work::conversation_of(&alice));
        press(&mut state, "esc 4 g space");
        let newest = peeked(&state);
        press(&mut state, "pgup");
        let older = peeked(&state);
        assert_ne!(older, newest);
        // New output does not scroll it.
        let said = EventKind::Said {
            agent: alice.clone(),
            text: "One more thing.".into(),
            thinking: String::new(),
            thought_ms: 0,
        };
        apply_events(&mut state, vec![said]);
        assert_eq!(older, peeked(&state), "{width}");
        let agent = state.model.agents.get(&alice).unwrap();
        assert!(agent.transcript.is_following());
        press(&mut state, &"pgdn ".repeat(40));
        assert!(peeked(&state).concat().contains("One more thing."));
        // The wheel over the list still moves the selection.
        press(&mut state, "pgup");
        let list = layout::layout(&state, state.size).pane(Pane::Team).unwrap();
        wheel(&mut state, MouseEventKind::ScrollDown, list);
        assert_eq!(title(&state), "╭ bob ");
    }
}

#[test]
fn preview_accepts_actions_and_closes_when_empty() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4 g space");
    let done = press(&mut state, "n");
    let nudged = matches!(done.as_slice(), [Effect::Command(crate::protocol::Command::Nudge { member })] if *member == name("alice"));
    assert!(nudged, "{done:?}");
    press(&mut state, "space alt+w space");
    assert_eq!(title(&state), "╭ Request 1 ");
    let id = state.model.requests.at(0).unwrap().id.clone();
    let request = crate::domain::request::Request {
        id,
        ..crate::ui::fixture::plan("r0", "")
    };
    apply_events(
        &mut state,
        vec![crate::ui::fixture::decided(request, "lead")],
    );
    assert!(state.popups.is_empty(), "{:?}", state.popups);
    // The same when another process's crew ends: no key may reach a hidden preview.
    let mut state = busy(160, 45);
    press(&mut state, "alt+w space");
    state.end_crew(state.now);
    assert!(state.popups.is_empty(), "{:?}", state.popups);
}

#[test]
fn pane_keys_work_during_preview() {
    // Follows the newest message.
    let mut state = busy(160, 45);
    press(&mut state, "esc 5 g space");
    assert!(state.panes.inbox.selected.is_some());
    press(&mut state, "f");
    assert_eq!(state.panes.inbox.selected, None);
    assert!(matches!(state.popups.as_slice(), [Popup::Peek(_)]));
    // A filter is typed in the pane, so the preview closes.
    for pane in [3, 4, 5] {
        let mut state = busy(160, 45);
        press(&mut state, &format!("esc {pane} g space / \"x\""));
        assert!(state.popups.is_empty(), "{pane}");
        let shown = Pane::ALL.into_iter().find(|p| p.number() == pane).unwrap();
        let filter = state.panes.get(shown).filter().unwrap();
        assert_eq!(filter.words(), "x", "{pane}");
    }
    // The worktree dialog opens over the preview.
    let mut state = crate::ui::panes::board::tests::merging::on(160, 45, 2);
    press(&mut state, "space");
    assert_eq!(press(&mut state, "W").len(), 1);
    let judged = crate::ui::panes::board::tests::hands::judged(
        2,
        crate::domain::worktree::Losses::default(),
    );
    apply_events(&mut state, vec![judged]);
    let asks = matches!(state.popups.as_slice(), [Popup::Peek(_), Popup::Confirm(_)]);
    assert!(asks, "{:?}", state.popups);
}

#[test]
fn empty_pane_has_no_preview() {
    for pane in [3, 4, 5, 6] {
        let mut state = started(160, 45);
        press(&mut state, &format!("esc {pane} space"));
        assert!(state.popups.is_empty(), "{pane}");
        assert!(
            picture(&state).contains("Nothing to preview here"),
            "{pane}"
        );
    }
}

#[test]
fn printed_conversation_is_complete_and_escaped() {
    let mut state = busy(160, 45);
    apply_events(&mut state, work::long_conversation());
    let evil = EventKind::Said {
        agent: Name::lead(),
        text: "a \u{1b}]0;title\u{7} b\u{9b}2J".into(),
        thinking: String::new(),
        thought_ms: 0,
    };
    apply_events(&mut state, vec![evil]);
    let done = press(&mut state, "esc 1 s");
    let [Effect::Print(text)] = done.as_slice() else {
        panic!("{done:?}");
    };
    assert_eq!(press(&mut state, "v"), [Effect::OpenInEditor(text.clone())]);
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
    let mut state = started(160, 45);
    assert_eq!(press(&mut state, "esc 1 s"), []);
}

#[test]
fn assumed_context_window_is_marked_in_usage() {
    for (assumed, header, row) in [(false, "ctx 41%", "ctx 41%"), (true, "ctx ~41%", "ctx~41%")] {
        let mut state = crate::ui::fixture::busy(160, 45);
        for agent in ["lead", "alice"] {
            let used = EventKind::UsageChanged {
                agent: name(agent),
                total: crate::domain::usage::Usage::default(),
                context: 82_000,
                window: Some(200_000),
                assumed,
                cost: None,
                calls: 1,
            };
            apply_events(&mut state, vec![used]);
        }
        let text = picture(&state);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains(header), "{text}");
        let alice = text
            .lines()
            .find(|l| l.contains("alice ") && l.contains("ctx"));
        assert!(alice.is_some_and(|l| l.contains(row)), "{text}");
    }
}
