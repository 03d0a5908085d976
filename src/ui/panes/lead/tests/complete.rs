//! Completion of the first word of a message, and the action palette.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;

use crate::domain::slash_command::SlashCommand;
use crate::protocol::Command;
use crate::ui::fixture::{busy, name, picture, press, started_screen, top_popup};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::lead::complete::{Completion, candidates, popup_layout, selected_completion};
use crate::ui::shell::hints::hints;
use crate::ui::shell::layout::layout;
use crate::ui::{Effect, Msg, UiState, update};

fn words(state: &UiState) -> Vec<String> {
    candidates(&state.panes.lead, state)
        .into_iter()
        .map(|o| o.words)
        .collect()
}

#[test]
fn completion_list_is_as_wide_as_the_composer() {
    for (width, height) in [(60, 16), (80, 24), (120, 35), (160, 45)] {
        let mut state = started_screen(width, height);
        press(&mut state, "\"/\"");
        let layout = layout(&state, state.size);
        let list = popup_layout(&state.panes.lead, &layout, 3).unwrap().area;
        let composer = layout.composer.unwrap();
        assert_eq!((list.x, list.width), (composer.x, composer.width));
        assert_eq!(list.bottom(), composer.y);
    }
}

#[test]
fn completion_list_opens_while_typing_and_closes_without_match() {
    let cases: &[(&str, &[&str])] = &[
        ("\"/com\"", &["/compact"]),
        ("\"/mdl\"", &["/model"]),
        // A command that matches exactly comes first.
        ("\"/theme\"", &["/theme"]),
        ("\"@\"", &["@alice", "@bob", "@carol"]),
        ("\"@ca\"", &["@carol"]),
        ("\"@zz\"", &[]),
        ("\"/tmp\"", &[]),
        ("\"/etc/hosts\"", &[]),
        ("\"@alice hello\"", &[]),
        ("\"see /mo\"", &[]),
        ("\"/co\" esc", &[]),
        // After Esc, the next character reopens the list.
        ("\"/co\" esc \"mp\"", &["/compact"]),
        ("\"/co\" esc esc", &[]),
        ("\"/co\" f1", &[]),
    ];
    for (keys, expected) in cases {
        let mut state = busy(160, 45);
        press(&mut state, keys);
        let known: Vec<String> = words(&state)
            .into_iter()
            .filter(|w| expected.len() < 3 || expected.contains(&w.as_str()))
            .collect();
        assert_eq!(known, *expected, "{keys}");
    }
}

#[test]
fn command_of_a_file_shows_its_arguments() {
    let mut state = started_screen(160, 45);
    let command = |name: &str| SlashCommand {
        name: name.into(),
        description: "Fixes it".into(),
        hint: "[issue] [priority]".into(),
        path: String::new(),
    };
    state.model.skills.commands = vec![command("fix"), command("team")];
    press(&mut state, "\"/fix\" tab");
    assert_eq!(state.input.composer.draft(), "/fix ");
    assert!(picture(&state).contains("/fix [issue] [priority] "));
    press(&mut state, "\"12\"");
    assert!(picture(&state).contains("/fix [issue] [priority] "));
    // A built-in command takes precedence over a command file of the same name.
    let mut other = started_screen(160, 45);
    other.model.skills = state.model.skills.clone();
    press(&mut other, "\"/team \"");
    assert!(!picture(&other).contains("[issue]"));
}

#[test]
fn accepting_runs_command_or_inserts_name() {
    let mut state = busy(160, 45);
    assert_eq!(press(&mut state, "\"/hel\" enter"), []);
    assert_eq!(top_popup(&state), "HelpPopup");
    assert!(state.input.composer.is_empty());

    let mut state = busy(160, 45);
    assert_eq!(press(&mut state, "\"/com\" tab"), []);
    assert_eq!(state.input.composer.text(), "/compact ");
    let asked = press(&mut state, "\"the tests\" enter");
    assert_eq!(
        asked,
        [Effect::Command(Command::Compact {
            agent: name("lead"),
            focus: "the tests".into(),
        })]
    );

    for take in ["enter", "tab"] {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, &format!("\"@b\" {take}")), []);
        assert_eq!(state.input.composer.text(), "@bob ");
        assert_eq!(
            press(&mut state, "\"go on\" enter"),
            [Effect::Command(Command::prompt(name("bob"), "go on"))]
        );
    }
}

#[test]
fn arrows_select_and_escape_hides_list() {
    let mut state = busy(160, 45);
    press(&mut state, "\"/\" down down");
    assert_eq!(
        selected_completion(&state.panes.lead, &state).map(|(row, _)| row),
        Some(2)
    );
    press(&mut state, "up");
    assert_eq!(state.panes.lead.completion, Completion::Selected(1));
    press(&mut state, "esc");
    assert_eq!(state.focus, Focus::Composer);
    assert_eq!(state.input.composer.text(), "/");
    press(&mut state, "esc");
    assert_ne!(state.focus, Focus::Composer);
}

#[test]
fn recalled_history_does_not_open_completion() {
    let mut state = started_screen(160, 45);
    press(&mut state, "\"/help\" enter esc i \"one\" enter up up");
    assert_eq!(state.input.composer.text(), "/help");
    assert_eq!(words(&state), Vec::<String>::new());
}

#[test]
fn click_accepts_completion() {
    let mut state = busy(100, 30);
    press(&mut state, "\"@\"");
    let shown = picture(&state);
    let row = shown.lines().position(|l| l.contains("@carol")).unwrap();
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 6,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    };
    assert_eq!(update(&mut state, Msg::Mouse(click)), []);
    assert_eq!(state.input.composer.text(), "@carol ");
}

#[test]
fn palette_runs_actions_of_other_panes() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 5 ctrl+p \"graph or list\"");
    assert!(picture(&state).contains("Board  v"), "{}", picture(&state));
    press(&mut state, "enter");
    assert_eq!(state.focus, Focus::Pane(Pane::Board));
}

#[test]
fn palette_starts_with_open_requests_and_omits_typing_keys() {
    let mut state = busy(160, 45);
    press(&mut state, "ctrl+p");
    let shown = picture(&state);
    let place = |words: &str| shown.lines().position(|l| l.contains(words));
    // A blank row is below the search.
    let first = place("type to search").map(|row| row + 2);
    assert_eq!(place("request that waits for you"), first, "{shown}");
    assert!(!shown.contains("insert a line break"), "{shown}");
}

#[test]
fn hint_line_shows_each_key_once() {
    for keys in ["\"/co\"", "\"@\"", "\"hello\"", "esc", "esc 3 /", "ctrl+p"] {
        let mut state = busy(160, 45);
        press(&mut state, keys);
        let key_hints: Vec<String> = hints(&state).into_iter().map(|h| h.key).collect();
        let mut once = key_hints.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), key_hints.len(), "{keys}: {key_hints:?}");
    }
}
