//! Tests of the preview: its content, its keys, and when it closes.

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::protocol::{AgentEvent, EventKind, TeamEvent};
use crate::ui::fixture::{
    apply_events, busy, cells, name, picture, popup_kinds, press, started_screen,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::shell::layout;
use crate::ui::shell::peek::beside;
use crate::ui::tests::scenes::work;
use crate::ui::{Effect, Msg, Theme, UiState, update};

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
        assert_eq!(popup_kinds(&state), ["TaskPage"]);
    }
}

/// Returns a state in which a long plan is previewed and another request is open.
fn peeked_plan(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    let steps: Vec<String> = (1..=90).map(|n| format!("{n}. Step {n} ends.")).collect();
    let request = crate::ui::fixture::plan("r0", &steps.join("\n"));
    let asked = EventKind::Team(TeamEvent::RequestChanged { request });
    apply_events(&mut state, vec![asked]);
    press(&mut state, "alt+w");
    while !picture(&state).contains("Step 1 ends") {
        press(&mut state, "n");
    }
    press(&mut state, "space");
    state
}

/// Returns the rows of the preview, without the column of the scrollbar.
fn preview_rows(state: &UiState) -> Vec<String> {
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
        let begin = preview_rows(&state);
        let selected = state.panes.needs.selected.clone();
        assert!(picture(&state).contains("PgUp PgDn scroll"), "{width}");
        press(&mut state, "pgdn");
        let second = preview_rows(&state);
        // One row of the previous page stays visible.
        assert_eq!(Some(&second[0]), begin.last());
        press(&mut state, "pgup pgup");
        assert_eq!(preview_rows(&state), begin);
        press(&mut state, &"pgdn ".repeat(90));
        assert!(
            preview_rows(&state).concat().contains("Step 90 ends"),
            "{width}"
        );
        assert_eq!(state.panes.needs.selected, selected);

        let area = layout::layout(&state, state.size).peek.unwrap();
        for _ in 0..99 {
            wheel(&mut state, MouseEventKind::ScrollUp, area);
        }
        assert_eq!(preview_rows(&state), begin);
        wheel(&mut state, MouseEventKind::ScrollDown, area);
        assert_eq!(preview_rows(&state)[0], begin[3]);
        assert_eq!(state.panes.needs.selected, selected);
        // Selects another request and then the first one again. Each preview starts at its beginning.
        press(&mut state, "k");
        assert_ne!(state.panes.needs.selected, selected);
        press(&mut state, "j");
        assert_eq!(preview_rows(&state), begin);
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
        let mut state = crate::ui::fixture::started_screen(width, height);
        let request = long_permission("r0");
        let asked = EventKind::Team(TeamEvent::RequestChanged { request });
        apply_events(&mut state, vec![asked]);
        assert_eq!(press(&mut state, "alt+w space a"), [], "{width}");
        assert!(picture(&state).contains("Part of the request was hidden"));
        assert_eq!(press(&mut state, "pgdn a"), [], "{width}");
        assert_eq!(press(&mut state, &"pgdn ".repeat(90)), []);
        assert!(
            preview_rows(&state).concat().contains("echo line 89"),
            "{width}"
        );
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
        let newest = preview_rows(&state);
        press(&mut state, "pgup");
        let older = preview_rows(&state);
        assert_ne!(older, newest);
        // New output does not scroll the preview.
        let said = AgentEvent::AnswerFinished {
            text: "One more thing.".into(),
            thinking: String::new(),
            thought_ms: 0,
        }
        .of(alice.clone());
        apply_events(&mut state, vec![said]);
        assert_eq!(older, preview_rows(&state), "{width}");
        let agent = state.model.agents.get(&alice).unwrap();
        assert!(agent.transcript.is_following());
        press(&mut state, &"pgdn ".repeat(40));
        assert!(preview_rows(&state).concat().contains("One more thing."));
        // The mouse wheel over the list still moves the selection.
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
    let done = press(&mut state, "!");
    let nudged = matches!(done.as_slice(), [Effect::Command(crate::protocol::Command::Nudge { member })] if *member == name("alice"));
    assert!(nudged, "{done:?}");
    let previewed = || {
        let mut state = started_screen(160, 45);
        let request = long_permission("r0");
        let asked = EventKind::Team(TeamEvent::RequestChanged { request });
        apply_events(&mut state, vec![asked]);
        press(&mut state, "alt+w space");
        assert_eq!(title(&state), "╭ Request 1 ");
        state
    };
    let mut state = previewed();
    let decided = crate::ui::fixture::approval_event(long_permission("r0"), "lead");
    apply_events(&mut state, vec![decided]);
    assert!(state.popups.is_empty(), "{:?}", state.popups);
    // When the crew of another process ends, the preview closes too, because no key may reach a hidden preview.
    let mut state = previewed();
    state.end_crew(state.now);
    assert!(state.popups.is_empty(), "{:?}", state.popups);
}

#[test]
fn pane_keys_work_during_preview() {
    // `f` follows the newest message.
    let mut state = busy(160, 45);
    press(&mut state, "esc 5 g space");
    assert!(state.panes.inbox.selected.is_some());
    press(&mut state, "f");
    assert_eq!(state.panes.inbox.selected, None);
    assert_eq!(popup_kinds(&state), ["Peek"]);
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
    let judged = crate::ui::panes::board::tests::user_actions::inspection_event(
        2,
        crate::domain::worktree::Losses::default(),
    );
    apply_events(&mut state, vec![judged]);
    assert_eq!(popup_kinds(&state), ["Peek", "RemoveWorktree"]);
}

#[test]
fn empty_pane_has_no_preview() {
    for pane in [3, 4, 5, 6] {
        let mut state = started_screen(160, 45);
        press(&mut state, &format!("esc {pane} space"));
        assert!(state.popups.is_empty(), "{pane}");
        assert!(picture(&state).contains("nothing to preview yet"), "{pane}");
    }
}

#[test]
fn preview_lies_beside_list_and_never_covers_it() {
    let body = Rect::new(0, 1, 160, 40);
    let cases = [
        // The list is in the right column: the preview takes the left column, in the rows next to the list.
        (Rect::new(100, 21, 60, 10), Some(Rect::new(0, 17, 100, 24))),
        // The list is in the left column, and the right one is wide enough.
        (Rect::new(0, 1, 90, 40), Some(Rect::new(90, 1, 70, 40))),
        // Both sides are too narrow: the preview is above the list.
        (Rect::new(30, 31, 100, 10), Some(Rect::new(30, 7, 100, 24))),
        // The preview is below the list.
        (Rect::new(30, 1, 100, 10), Some(Rect::new(30, 11, 100, 24))),
        // No area outside the list is large enough.
        (body, None),
    ];
    for (list, expected) in cases {
        assert_eq!(beside(body, list, |_| 0), expected, "{list}");
    }
}

#[test]
fn preview_is_as_high_as_its_text_if_there_is_room() {
    let height = |height| {
        let state = peeked_plan(160, height);
        layout::layout(&state, state.size).peek.unwrap().height
    };
    // The plan has 90 steps.
    assert!(height(60) > 50 && height(120) > 90);
    // In a small screen, the preview takes the whole pane of the request but its title.
    let state = peeked_plan(60, 16);
    let layout = layout::layout(&state, state.size);
    assert_eq!(layout.pane(Pane::Needs).unwrap().height, 1);
}

#[test]
fn request_that_is_shown_whole_has_no_preview() {
    for (width, height) in [(160, 45), (100, 30), (70, 20)] {
        let mut state = started_screen(width, height);
        let request = crate::ui::fixture::plan("r0", "1. One step.");
        let asked = EventKind::Team(TeamEvent::RequestChanged { request });
        apply_events(&mut state, vec![asked]);
        press(&mut state, "alt+w");
        let hints = |state: &UiState| picture(state).lines().last().unwrap().to_string();
        assert!(!hints(&state).contains("preview"), "{}", hints(&state));
        press(&mut state, "space");
        assert!(state.popups.is_empty());
        let text = picture(&state);
        assert!(text.contains("already shows the whole request"), "{text}");
        let mut state = peeked_plan(width, height);
        press(&mut state, "esc");
        // On a narrow screen, the keys of the card leave no room for this hint.
        let is_named = hints(&state).contains("preview");
        assert!(is_named || width < 100, "{}", hints(&state));
    }
}
