//! The mouse: each target is hit where it is drawn, and a click does what a key does.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::screen::{PaneLayout, SHARE_MAX, SHARE_MIN};
use crate::protocol::{AgentEvent, Command};
use crate::ui::fixture::{apply_events, busy, name, picture, press, top_popup};
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::popups::task_form::form::{FormField, TaskForm};
use crate::ui::shell::hit_test;
use crate::ui::{Effect, Msg, UiState, update};

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const PULL: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);
const UP: MouseEventKind = MouseEventKind::Up(MouseButton::Left);

fn mouse(state: &mut UiState, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Effect> {
    let modifiers = KeyModifiers::NONE;
    update(
        state,
        Msg::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        }),
    )
}

/// Returns the column and row on the screen at which `words` begin.
fn find(state: &UiState, words: &str) -> (u16, u16) {
    let picture = picture(state);
    let lines = picture.lines().map(|line| line.trim_matches('"'));
    for (y, line) in lines.enumerate() {
        if let Some(at) = line.find(words) {
            let x = unicode_width::UnicodeWidthStr::width(&line[..at]);
            return (u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
        }
    }
    panic!("{words} is not on the screen:\n{picture}");
}

fn click(state: &mut UiState, words: &str) -> Vec<Effect> {
    let at = find(state, words);
    mouse(state, DOWN, at)
}

#[test]
fn hit_test_matches_drawing() {
    for layout in PaneLayout::ALL {
        let mut state = busy(160, 45);
        state.arrangement.screen.layout = layout;
        press(&mut state, "esc 4");
        let cases = [
            ("carol", Some(Hit::Row(Pane::Team, 2))),
            ("help", None),
            ("quit", None),
        ];
        for (words, expected) in cases {
            let (x, y) = find(&state, words);
            let hit = hit_test::at(&state, x, y);
            match expected {
                Some(expected) => assert_eq!(hit, expected, "{layout:?} {words}"),
                None => assert!(matches!(hit, Hit::Button(_)), "{layout:?} {words} {hit:?}"),
            }
        }
    }
}

#[test]
fn click_selects_row_and_second_click_opens() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    click(&mut state, "carol");
    assert_eq!(
        state.panes.team.selected_member(&state),
        Some((2, name("carol")))
    );
    assert!(state.shown.is_lead());
    click(&mut state, "carol");
    assert_eq!(state.shown, name("carol"));

    let mut state = busy(160, 45);
    press(&mut state, "esc 3");
    click(&mut state, "● #3 Read");
    assert!(state.popups.is_empty());
    click(&mut state, "● #3 Read");
    assert_eq!(top_popup(&state), "TaskPage");
    mouse(&mut state, DOWN, (0, 10));
    assert!(state.popups.is_empty(), "a click beside it closes it");
}

#[test]
fn first_click_on_pane_only_focuses() {
    let mut state = busy(160, 45);
    let (_, first) = state.panes.team.selected_member(&state).unwrap();
    let at = find(&state, &format!("{first} "));
    let team = crate::ui::shell::layout::layout(&state, state.size)
        .pane(Pane::Team)
        .unwrap();
    // The first row of the list is below the headings of its columns.
    mouse(&mut state, DOWN, (team.x + 3, team.y + 2));
    assert_eq!(state.focus, Focus::Pane(Pane::Team), "{at:?}");
    assert!(state.shown.is_lead());
    mouse(&mut state, DOWN, (team.x + 3, team.y + 2));
    assert_eq!(state.shown, first);
}

#[test]
fn buttons_hints_tabs_and_banner_are_clickable() {
    let mut state = busy(160, 45);
    click(&mut state, "Alt+w review");
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    press(&mut state, "h");
    let done = click(&mut state, "a approve");
    let is_answer = |d: &Effect| matches!(d, Effect::Command(Command::Decide { .. }));
    assert!(done.iter().any(is_answer), "{done:?}");

    let mut state = busy(100, 30);
    press(&mut state, "esc 3");
    click(&mut state, "5 Inbox");
    assert_eq!(state.focus, Focus::Pane(Pane::Inbox));
    click(&mut state, "help");
    assert_eq!(state.popups.len(), 1);

    let mut state = busy(70, 20);
    press(&mut state, "esc 3");
    click(&mut state, "w shows it");
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
}

#[test]
fn second_click_accepts_popup_row() {
    let mut state = busy(160, 45);
    press(&mut state, "esc T");
    let taken = |done: &[Effect]| done.iter().any(|d| matches!(d, Effect::SaveTheme(_)));
    let first = click(&mut state, "white background");
    assert!(!taken(&first), "{first:?}");
    // After a key press between two clicks, the second one counts as a first click.
    press(&mut state, "down up");
    let again = click(&mut state, "white background");
    assert!(!taken(&again), "{again:?}");
    let second = click(&mut state, "white background");
    assert!(taken(&second), "{second:?}");
    assert!(state.popups.is_empty());
}

#[test]
fn column_border_follows_drag_and_is_saved() {
    let mut state = busy(160, 45);
    let border = |state: &UiState| {
        let layout = crate::ui::shell::layout::layout(state, state.size);
        layout.border.unwrap().x
    };
    let at = border(&state);
    assert_eq!(mouse(&mut state, DOWN, (at, 30)), []);
    assert_eq!(mouse(&mut state, PULL, (80, 30)), []);
    assert!(border(&state).abs_diff(80) <= 2, "{}", border(&state));
    mouse(&mut state, PULL, (0, 30));
    assert_eq!(state.arrangement.screen.wall_left, Some(SHARE_MIN));
    mouse(&mut state, PULL, (159, 30));
    assert_eq!(state.arrangement.screen.wall_left, Some(SHARE_MAX));
    let done = mouse(&mut state, UP, (159, 30));
    assert_eq!(done, [Effect::SaveScreen(state.arrangement.screen)]);
    let before = border(&state);
    assert_eq!(mouse(&mut state, PULL, (80, 30)), []);
    assert_eq!(border(&state), before, "let go is let go");
}

#[test]
fn click_opens_folded_call() {
    let mut state = busy(160, 45);
    let folded = picture(&state);
    click(&mut state, "✓ task_create");
    assert_ne!(picture(&state), folded);
    assert_eq!(state.focus, Focus::Pane(Pane::Lead));
}

#[test]
fn click_or_key_opens_folded_message() {
    let with_message = || {
        let message = AgentEvent::ContextAdded {
            what: "message from alice".into(),
            text: "The parser is finished.\n\nOnly the needle at the end is left.".into(),
        };
        let mut state = busy(160, 45);
        apply_events(&mut state, vec![message.of(Name::lead())]);
        state
    };
    let mut state = with_message();
    let is_open = |state: &UiState| picture(state).contains("Only the needle at the end is left.");
    assert!(!is_open(&state), "{}", picture(&state));
    click(&mut state, "✉ message from alice");
    assert!(is_open(&state), "{}", picture(&state));
    assert_eq!(state.focus, Focus::Pane(Pane::Lead));
    // The click has selected the message, so the key folds it, and opens it again.
    for (key, expected) in [("enter", false), ("enter", true), ("space", false)] {
        press(&mut state, key);
        assert_eq!(is_open(&state), expected, "{key}:\n{}", picture(&state));
    }
    // Without the mouse, the key opens the message that was selected with a key.
    let mut state = with_message();
    press(&mut state, "esc 1 K enter");
    assert!(is_open(&state), "{}", picture(&state));
}

/// A click in the composer places the cursor there, so that typed text is inserted at that place.
#[test]
fn click_in_text_places_cursor() {
    let mut state = busy(100, 30);
    let words = "the reader knows three of four versions and words stay whole at the end of a row";
    press(&mut state, &format!("\"{words}\""));
    click(&mut state, "stay");
    press(&mut state, "\"should \"");
    let expected = words.replace("stay", "should stay");
    assert_eq!(state.input.composer.text(), expected);
    // If another pane has the focus, a click in the composer also moves the focus there.
    press(&mut state, "esc 3");
    click(&mut state, "versions");
    press(&mut state, "\"old \"");
    assert_eq!(
        state.input.composer.text(),
        expected.replace("versions", "old versions")
    );

    press(
        &mut state,
        "esc 3 t \"Draw the plan\" tab \"once more\" tab \"3\"",
    );
    click(&mut state, "the plan");
    press(&mut state, "\"all of \"");
    click(&mut state, "more");
    press(&mut state, "\"and \"");
    click(&mut state, "Tags");
    press(&mut state, "\"rust\"");
    let form = state.popups.top::<TaskForm>().unwrap();
    let texts: Vec<String> = FormField::ALL.map(|field| form.input(field).text()).into();
    assert_eq!(
        texts,
        ["Draw all of the plan", "once and more", "3", "rust"]
    );
}
