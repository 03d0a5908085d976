//! The help as a list of selectable entries, and the size of pagers.

use crossterm::event::{KeyModifiers, MouseEvent, MouseEventKind};
use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::domain::timestamp::Timestamp;
use crate::ui::fixture::{NOON, busy, picture, press, started_screen};
use crate::ui::popups::help::{HelpPopup, VisibleHelp};
use crate::ui::{Msg, UiState, update};

fn after(size: (u16, u16), keys: &str) -> UiState {
    let mut state = busy(size.0, size.1);
    press(&mut state, keys);
    state
}

/// Returns the screen two minutes after `keys`, and the status message directly after them.
fn later(keys: &str) -> (String, Option<String>) {
    let mut state = after((160, 45), keys);
    let said = state.status.take().map(|message| message.text);
    let now = Timestamp(NOON + 120.0);
    update(&mut state, Msg::Tick { now });
    (picture(&state), said)
}

fn help(state: &UiState) -> &HelpPopup {
    state.popups.top().unwrap()
}

#[test]
fn enter_runs_selected_entry_in_original_context() {
    let cases = [
        ("esc 3 ? enter", "esc 3 enter"),
        ("esc 3 ? down down enter", "esc 3 v"),
        ("esc 3 ? j j k enter", "esc 3 space"),
        ("esc 4 ? / \"next lay\" enter enter", "esc 4 ="),
        ("esc 4 ? / \"/skills\" enter enter", "esc 4 S"),
        ("f1 / \"next pane\" enter enter", "tab"),
        // If the help is open over another popup, the action is run in that popup.
        ("esc p f1 / \"end the search\" enter enter", "esc p esc"),
        ("esc ? enter", "esc enter"),
    ];
    for (keys, expected) in cases {
        assert_eq!(later(keys), later(expected), "{keys}");
    }
}

#[test]
fn help_begins_with_the_keys_for_everyday_use() {
    let panes = ["1", "2", "3", "4", "5", "6"].map(|pane| ((100, 30), pane));
    for (size, pane) in panes.into_iter().chain([((80, 24), "1")]) {
        let state = after(size, &format!("esc {pane} ?"));
        let VisibleHelp { rows, height, .. } = help(&state).visible(&state);
        let first: Vec<String> = rows
            .iter()
            .take(height)
            .map(|row| row.line.to_string())
            .collect();
        assert_eq!(first[0], "Most used here");
        assert!(first[1].starts_with("  Enter") || first[1].starts_with("  a "));
        for key in ["w", "i", "Tab", "1,", "2,", "3,", "4,", "5,", "6,"] {
            let is_shown = first
                .iter()
                .any(|row| row.starts_with(&format!("  {key} ")));
            assert!(is_shown, "{pane} {key}: {first:#?}");
        }
        let all: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        let count = |words: &str| all.iter().filter(|row| row.contains(words)).count();
        assert_eq!(count("write to the shown agent"), 1);
    }
    // The selection moves with j.
    let text = picture(&after((80, 24), "esc 1 ?"));
    let hints = text.lines().last().unwrap_or_default();
    assert!(hints.contains("j select"), "{hints}");
}

#[test]
fn entry_of_other_context_says_where_it_works() {
    let cases = [
        (
            "esc 3 ? / \"kill the team\" enter enter",
            "Not available here. Works in Team (4): kill the teammate.",
        ),
        (
            "esc 3 ? / \"older message\" enter enter",
            "Not available here. Works in: Composer.",
        ),
        (
            "esc 3 ? / \"to that agent\" enter enter",
            "Type this in the composer; it is not a key.",
        ),
    ];
    for (keys, expected) in cases {
        let (screen, said) = later(keys);
        assert_eq!(said.as_deref(), Some(expected), "{keys}");
        assert!(screen.contains("╭ Keys"), "{keys}:\n{screen}");
    }
    // If no entry matches the filter, Enter does nothing.
    let (screen, said) = later("esc 3 ? / \"no such key\" enter enter");
    assert_eq!(said, None);
    assert!(screen.contains("No matches"));
}

#[test]
fn selected_help_entry_is_always_visible() {
    for size in [(160, 45), (100, 30), (60, 16)] {
        let mut state = after(size, "esc 3 ?");
        let mut seen = Vec::new();
        for key in [
            "j", "pgdn", "ctrl+d", "G", "k", "pgup", "ctrl+u", "up", "g", "k",
        ] {
            for _ in 0..3 {
                press(&mut state, key);
                let open = help(&state);
                let VisibleHelp {
                    rows,
                    first,
                    height,
                } = open.visible(&state);
                let lines = rows.iter().skip(first).take(height);
                let is_in_view = lines
                    .filter_map(|row| row.entry)
                    .any(|entry| entry.at == open.selected);
                assert!(is_in_view, "{size:?} {key} {}", open.selected);
                seen.push(open.selected);
            }
        }
        let top = help(&state);
        assert_eq!((top.selected, top.scroll), (0, 0));
        let (first, last) = (seen[0], seen.iter().max().copied());
        assert_eq!(first, 1, "{seen:?}");
        assert_eq!(last, seen.get(9).copied(), "{size:?} {seen:?}");
        assert!(
            seen[3] > seen[2] + 2,
            "a page is more than a line: {seen:?}"
        );
    }
}

#[test]
fn last_help_row_is_reached_while_the_filter_is_typed() {
    let mut state = after((100, 30), "esc 3 ? /");
    for _ in 0..400 {
        let wheel = MouseEvent {
            kind: MouseEventKind::ScrollDown,
            column: 50,
            row: 15,
            modifiers: KeyModifiers::NONE,
        };
        update(&mut state, Msg::Mouse(wheel));
    }
    let VisibleHelp {
        rows,
        first,
        height,
    } = help(&state).visible(&state);
    assert!(
        rows.len() > height && first + height >= rows.len(),
        "{first} + {height} of {}",
        rows.len()
    );
}

/// Returns the area of the open pager.
fn frame(state: &UiState) -> Rect {
    state.popups.last().unwrap().targets(state).area
}

#[test]
fn help_keeps_its_size_and_short_text_has_minimum_height() {
    for size in [(160, 45), (100, 30), (60, 16)] {
        let open = frame(&after(size, "esc 3 ?"));
        for filtered in [
            "/",
            "/ \"kill the\"",
            "/ \"kill the\" enter",
            "/ \"zzz\" enter",
        ] {
            let state = after(size, &format!("esc 3 ? {filtered}"));
            assert_eq!(frame(&state), open, "{size:?} {filtered}");
        }
        let mut state = started_screen(size.0, size.1);
        press(&mut state, "esc p");
        assert_eq!(frame(&state).height, 7, "{size:?}");
    }
}
