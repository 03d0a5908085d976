//! The layouts of the panes: a key cycles through them, and the focused pane stays visible.

use pretty_assertions::assert_eq;

use crate::domain::request::RequestStatus;
use crate::domain::screen::{PaneLayout, ScreenSettings};
use crate::ui::fixture::{
    apply_events, board_event, busy, lead_permission, picture, press, request_event,
    started_screen, todo,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::board::tests::board;
use crate::ui::shell::layout::layout;
use crate::ui::tests::scenes::scene_data;
use crate::ui::{Effect, UiState};

fn with(arrangement: PaneLayout, width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    state.set_screen(ScreenSettings {
        layout: arrangement,
        ..ScreenSettings::default()
    });
    state
}

#[test]
fn layout_key_cycles_and_saves() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    for expected in [PaneLayout::Board, PaneLayout::Focus, PaneLayout::Wall] {
        let done = press(&mut state, "=");
        assert_eq!(state.arrangement.screen.layout, expected);
        assert_eq!(done, [Effect::SaveScreen(state.arrangement.screen)]);
        let seen = layout(&state, state.size).pane(Pane::Board);
        assert!(seen.is_some(), "{expected:?} loses the pane with the keys");
    }
}

#[test]
fn focused_pane_is_visible_in_every_layout() {
    for arrangement in PaneLayout::ALL {
        for (width, height) in [(160, 45), (100, 30), (70, 20), (60, 16)] {
            let mut state = with(arrangement, width, height);
            press(&mut state, "esc 1");
            for pane in Pane::ALL {
                press(&mut state, &pane.number().to_string());
                assert_eq!(state.focus, Focus::Pane(pane));
                let seen = layout(&state, state.size).pane(pane);
                assert!(seen.is_some(), "{arrangement:?} {width}x{height} {pane:?}");
            }
            press(&mut state, "i");
            let composer = layout(&state, state.size).composer;
            assert!(composer.is_some(), "{arrangement:?} {width}x{height}");
        }
    }
}

#[test]
fn board_layout_gives_room_to_board() {
    for (width, height) in [(240, 60), (160, 45), (100, 30), (100, 16)] {
        let mut state = with(PaneLayout::Board, width, height);
        press(&mut state, "esc 3");
        let room = |state: &UiState| layout(state, state.size).pane(Pane::Board);
        let before = room(&state);
        let area = before.unwrap().area();
        for pane in [Pane::Lead, Pane::Todo, Pane::Team, Pane::Inbox] {
            press(&mut state, &pane.number().to_string());
            assert_eq!(room(&state), before, "{width}x{height} {pane:?}");
            for (other, place) in layout(&state, state.size).panes {
                let is_small = other == Pane::Board || place.area() < area;
                assert!(is_small, "{width}x{height} {other:?}");
            }
        }
    }
}

#[test]
fn small_screen_alternates_two_layouts() {
    for (width, height) in [(60, 16), (70, 20)] {
        let mut state = busy(width, height);
        press(&mut state, "esc 1");
        let rows = |state: &UiState| {
            let layout = layout(state, state.size);
            (
                layout.pane(Pane::Lead).unwrap().height,
                layout.tabs.is_some(),
            )
        };
        let (wall, has_tabs) = rows(&state);
        assert!(has_tabs);
        press(&mut state, "=");
        // The message about the layout takes a row on such a screen.
        state.status = None;
        assert_eq!(state.arrangement.screen.layout, PaneLayout::Focus);
        assert_eq!(rows(&state), (wall + 1, false));
        press(&mut state, "=");
        state.status = None;
        assert_eq!(state.arrangement.screen.layout, PaneLayout::Wall);
        assert_eq!(rows(&state), (wall, true));
        // The composer is shown in full while it has the focus or contains a draft.
        let composer = |state: &UiState| layout(state, state.size).composer.unwrap().height;
        assert_eq!(composer(&state), 1);
        press(&mut state, "i");
        assert_eq!(composer(&state), 3);
        press(&mut state, "\"a word\" esc");
        assert_eq!(composer(&state), 3);
    }
}

#[test]
fn narrow_tall_screen_shows_two_panes_or_one() {
    let mut state = busy(80, 40);
    press(&mut state, "esc 4");
    let seen = |state: &UiState| -> Vec<Pane> {
        let layout = layout(state, state.size);
        layout.panes.iter().map(|(pane, _)| *pane).collect()
    };
    assert_eq!(seen(&state), [Pane::Needs, Pane::Lead, Pane::Team]);
    press(&mut state, "4");
    assert_eq!(seen(&state), [Pane::Team]);
    press(&mut state, "4 =");
    assert_eq!(seen(&state), [Pane::Needs, Pane::Team, Pane::Lead]);
    press(&mut state, "=");
    assert_eq!(seen(&state), [Pane::Team]);
}

#[test]
fn row_layout_changes_by_keys_not_by_events() {
    let places = |state: &UiState| layout(state, state.size).panes;
    for arrangement in [PaneLayout::Wall, PaneLayout::Board] {
        let mut state = with(arrangement, 160, 45);
        press(&mut state, "esc 3");
        let before = places(&state);
        apply_events(&mut state, scene_data::many_messages());
        assert_eq!(places(&state), before, "messages: {arrangement:?}");
        if arrangement == PaneLayout::Board {
            apply_events(&mut state, vec![board_event(&board(30, &[], 3))]);
            assert_eq!(places(&state), before, "tasks: {arrangement:?}");
        }
    }
    // In the layout with the board beside the conversation, the board takes rows from the inbox when tasks are added;
    // the team keeps its rows.
    let mut state = busy(160, 45);
    let heights = |state: &UiState| {
        let height = |pane| layout(state, state.size).pane(pane).unwrap().height;
        [Pane::Board, Pane::Team, Pane::Inbox].map(height)
    };
    let before = heights(&state);
    apply_events(&mut state, vec![board_event(&board(30, &[], 3))]);
    let after = heights(&state);
    assert_eq!(after[1], before[1]);
    assert!(after[0] > before[0], "{before:?} {after:?}");
    assert_eq!(after[0] + after[2], before[0] + before[2]);
    // A list with more rows than its pane gets a higher pane when the user focuses it, and a lower one when another
    // pane gets the focus.
    let mut state = busy(160, 45);
    apply_events(&mut state, vec![board_event(&board(30, &[], 3))]);
    apply_events(&mut state, scene_data::many_messages());
    press(&mut state, "esc 3");
    let inbox = |state: &UiState| layout(state, state.size).pane(Pane::Inbox).unwrap().height;
    let before = inbox(&state);
    press(&mut state, "5");
    assert!(inbox(&state) > before);
    press(&mut state, "3");
    assert_eq!(inbox(&state), before);
}

#[test]
fn completed_todo_list_collapses_unless_focused() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    let todo = |state: &UiState| layout(state, state.size).pane(Pane::Todo).unwrap().height;
    assert_eq!(todo(&state), 5);
    apply_events(&mut state, vec![scene_data::done_todo()]);
    assert_eq!(todo(&state), 1);
    assert!(
        picture(&state).contains(" 2 Todo ──"),
        "{}",
        picture(&state)
    );
    assert!(picture(&state).contains(" 3/3 "));
    press(&mut state, "2");
    assert_eq!(todo(&state), 5);
}

#[test]
fn panes_without_content_are_lines_below_the_conversation() {
    for (width, height) in [(200, 60), (160, 45), (120, 35), (100, 30), (80, 40)] {
        let mut state = started_screen(width, height);
        let panes = |state: &UiState| layout(state, state.size).panes;
        let lines = |state: &UiState| -> Vec<(Pane, u16, u16)> {
            let all = panes(state).into_iter();
            let lines = all.filter(|(_, area)| area.height == 1);
            lines
                .map(|(pane, area)| (pane, area.width, area.height))
                .collect()
        };
        let expected = [Pane::Todo, Pane::Board, Pane::Team, Pane::Inbox];
        let expected = expected.map(|pane| (pane, width, 1));
        assert_eq!(lines(&state), expected, "{width}x{height}");
        let picture = picture(&state);
        for words in [
            "No todo list yet.",
            "No tasks yet.",
            "No teammates yet.",
            "No messages yet.",
        ] {
            assert!(
                picture.contains(words),
                "{width}x{height}: {words}\n{picture}"
            );
        }
        // Moving the focus between the empty panes does not change their areas.
        press(&mut state, "esc 3");
        let before = panes(&state);
        for key in ["4", "5", "2"] {
            press(&mut state, key);
            assert_eq!(panes(&state), before, "{width}x{height}: {key}");
        }
        // The board gets more rows when the first task is created.
        apply_events(&mut state, vec![board_event(&board(3, &[], 1))]);
        let board = layout(&state, state.size).pane(Pane::Board);
        let rows = board.map(|area| area.height);
        assert!(
            rows.is_none_or(|rows| rows > 1),
            "{width}x{height}: {rows:?}"
        );
    }
}

/// The layout of a session in which only the lead works: the conversation keeps its width while the todo list and
/// requests appear and disappear, and no area is blank.
#[test]
fn todo_and_requests_of_a_lone_lead_leave_the_width() {
    let request = lead_permission("p1");
    let mut decided = request.clone();
    decided.status = RequestStatus::Approved;
    for (width, height) in [(200, 60), (160, 45), (120, 35), (100, 30), (80, 40)] {
        let mut state = started_screen(width, height);
        let places = |state: &UiState| layout(state, state.size);
        let lead = |state: &UiState| places(state).pane(Pane::Lead).unwrap();
        let start = lead(&state);
        apply_events(&mut state, vec![todo()]);
        let with_todo = places(&state);
        assert_eq!(lead(&state).width, width);
        let list = with_todo.pane(Pane::Todo).unwrap();
        assert_eq!((list.width, list.height), (width, 5), "{width}x{height}");
        assert_eq!(lead(&state).height + 4, start.height, "{width}x{height}");
        for pane in [Pane::Board, Pane::Team, Pane::Inbox] {
            assert_eq!(with_todo.pane(pane).unwrap().height, 1, "{pane:?}");
        }
        // The card above the composer shows the request.
        apply_events(&mut state, vec![request_event(&request)]);
        let with_card = places(&state);
        assert!(with_card.request.is_some(), "{width}x{height}");
        assert_eq!(with_card.pane(Pane::Needs), None);
        assert_eq!(lead(&state).width, width);
        // The request is decided, and the crew confirms it.
        let mut answered = started_screen(width, height);
        apply_events(&mut answered, vec![todo(), request_event(&request)]);
        press(&mut answered, "alt+a");
        assert_eq!(places(&answered), with_todo, "{width}x{height}");
        apply_events(&mut answered, vec![request_event(&decided)]);
        assert_eq!(places(&answered), with_todo, "{width}x{height}");
        // With the focus, the pane "Needs you" shows the whole request above the conversation.
        press(&mut state, "alt+w");
        let needs = places(&state).pane(Pane::Needs).unwrap();
        assert_eq!((needs.y, needs.width), (1, width));
        assert_eq!((lead(&state).width, places(&state).request), (width, None));
    }
}

#[test]
fn pane_below_its_tab_does_not_repeat_the_name() {
    for (size, keys, name) in [
        ((100, 30), "esc 4", "4 Team"),
        ((80, 24), "esc 3", "3 Board"),
        ((80, 24), "esc 1", "1 Lead"),
    ] {
        let mut state = busy(size.0, size.1);
        press(&mut state, keys);
        let text = picture(&state);
        assert_eq!(text.matches(name).count(), 1, "{text}");
    }
    // What the tab does not say stays in the title.
    let mut state = busy(80, 24);
    press(&mut state, "esc 3 / \"zzz\"");
    assert!(picture(&state).contains("╭ 0 of "), "{}", picture(&state));
}
