//! The help as a list: an entry is selected, seen and done; and the frames of what is read.

use pretty_assertions::assert_eq;
use ratatui::layout::Rect;

use crate::domain::stamp::Stamp;
use crate::ui::app::popup::{Popup, Reader, Text};
use crate::ui::fixture::{NOON, busy, picture, press, started};
use crate::ui::popups::reader;
use crate::ui::theme::Theme;
use crate::ui::{Msg, UiState, update};

fn after(size: (u16, u16), keys: &str) -> UiState {
    let mut state = busy(size.0, size.1);
    press(&mut state, keys);
    state
}

/// The screen a while after `keys`, and what was said.
fn later(keys: &str) -> (String, Option<String>) {
    let mut state = after((160, 45), keys);
    let said = state.flash.take().map(|flash| flash.text);
    let now = Stamp(NOON + 120.0);
    update(&mut state, Msg::Tick { now });
    (picture(&state), said)
}

fn help(state: &UiState) -> &Reader {
    match state.popups.last() {
        Some(Popup::Reader(reader)) if matches!(reader.text, Text::Help(_)) => reader,
        other => panic!("{other:?}"),
    }
}

#[test]
fn enter_does_what_the_selected_entry_does_where_the_help_was_opened() {
    let cases = [
        ("esc 3 ? enter", "esc 3 enter"),
        ("esc 3 ? down down enter", "esc 3 v"),
        ("esc 3 ? j j k enter", "esc 3 space"),
        ("esc 4 ? / \"another lay\" enter enter", "esc 4 ="),
        ("esc 4 ? / \"/skills\" enter enter", "esc 4 S"),
        ("f1 / \"next pane\" enter enter", "tab"),
        // Over another popup it is that popup's.
        ("esc p f1 / \"end the search\" enter enter", "esc p esc"),
        ("esc ? enter", "esc enter"),
    ];
    for (keys, expected) in cases {
        assert_eq!(later(keys), later(expected), "{keys}");
    }
}

#[test]
fn what_means_nothing_there_says_where_it_counts_and_the_help_stays() {
    let cases = [
        (
            "esc 3 ? / \"by force\" enter enter",
            "Not here. In Team (4): end the teammate by force.",
        ),
        (
            "esc 3 ? / \"older message\" enter enter",
            "Not here. It counts in: While writing.",
        ),
        (
            "esc 3 ? / \"@name\" enter enter",
            "That is written, not pressed.",
        ),
    ];
    for (keys, expected) in cases {
        let (screen, said) = later(keys);
        assert_eq!(said.as_deref(), Some(expected), "{keys}");
        assert!(screen.contains("╭ Keys"), "{keys}:\n{screen}");
    }
    // Nothing is selected where nothing is left.
    let (screen, said) = later("esc 3 ? / \"no such key\" enter enter");
    assert_eq!(said, None);
    assert!(screen.contains("No key does that."));
}

#[test]
fn the_selected_entry_is_always_in_view() {
    for size in [(160, 45), (100, 30), (60, 16)] {
        let mut state = after(size, "esc 3 ?");
        let mut seen = Vec::new();
        for key in [
            "j", "pgdn", "ctrl+d", "G", "k", "pgup", "ctrl+u", "up", "g", "k",
        ] {
            for _ in 0..3 {
                press(&mut state, key);
                let reader = help(&state);
                let rows = reader::rows(&state, reader, &Theme::default());
                let place = reader::place(state.size, reader, rows.len());
                let (list, first) = reader::list(reader, place, rows.len());
                let lines = rows.iter().skip(first).take(list.height.into());
                let is_in_view = lines
                    .filter_map(|row| row.entry)
                    .any(|entry| entry.at == reader.row);
                assert!(is_in_view, "{size:?} {key} {}", reader.row);
                seen.push(reader.row);
            }
        }
        let top = help(&state);
        assert_eq!((top.row, top.scroll), (0, 0));
        let (first, last) = (seen[0], seen.iter().max().copied());
        assert_eq!(first, 1, "{seen:?}");
        assert_eq!(last, seen.get(9).copied(), "{size:?} {seen:?}");
        assert!(
            seen[3] > seen[2] + 2,
            "a page is more than a line: {seen:?}"
        );
    }
}

/// The frame of the text that is read.
fn frame(state: &UiState) -> Rect {
    let Some(Popup::Reader(reader)) = state.popups.last() else {
        panic!("{:?}", state.popups);
    };
    let rows = reader::rows(state, reader, &Theme::default());
    reader::place(state.size, reader, rows.len())
}

#[test]
fn the_frame_of_the_help_stays_and_a_short_text_is_no_strip() {
    for size in [(160, 45), (100, 30), (60, 16)] {
        let open = frame(&after(size, "esc 3 ?"));
        for filtered in [
            "/",
            "/ \"by force\"",
            "/ \"by force\" enter",
            "/ \"zzz\" enter",
        ] {
            let state = after(size, &format!("esc 3 ? {filtered}"));
            assert_eq!(frame(&state), open, "{size:?} {filtered}");
        }
        let mut state = started(size.0, size.1);
        press(&mut state, "esc p");
        assert_eq!(frame(&state).height, 7, "{size:?}");
    }
}
