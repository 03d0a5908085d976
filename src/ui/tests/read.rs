//! The texts that are read in a popup: the search in them.

use crate::domain::ids::TaskId;
use crate::protocol::EventKind;
use crate::ui::fixture::{busy, cells, letter, picture, press, skills, tell};
use crate::ui::popup::Popup;
use crate::ui::state::UiState;
use crate::ui::{ColorDepth, Theme, ThemeName};

/// A long diff is read: "word" is in its lines 9, 19, … 59, where the first one is 0.
fn diff(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    press(&mut state, "esc 3");
    let line = |n: usize| match n % 10 {
        9 => format!("+Word {n}"),
        _ => format!(" line {n}"),
    };
    let lines: Vec<String> = (0..60).map(line).collect();
    let shown = EventKind::DiffShown {
        task: TaskId(1),
        stat: String::new(),
        text: lines.join("\n"),
        untracked: vec![],
    };
    tell(&mut state, vec![shown]);
    state
}

/// The first line in view.
fn scroll(state: &UiState) -> usize {
    match state.popups.last() {
        Some(Popup::Reader(reader)) => reader.scroll,
        other => panic!("{other:?}"),
    }
}

fn shows(state: &UiState, words: &str) {
    let screen = picture(state);
    assert!(screen.contains(words), "{words}:\n{screen}");
}

#[test]
fn a_diff_is_searched_and_gone_through_from_match_to_match() {
    let mut state = diff(70, 20);
    press(&mut state, "/ \"word\"");
    shows(&state, "/word 1/6");
    assert_eq!(scroll(&state), 0);
    // Letters are text while it is written, and keys again behind Enter.
    press(&mut state, "\"n\"");
    shows(&state, "/wordn no match");
    press(&mut state, "backspace enter n n");
    shows(&state, "/word 3/6");
    shows(&state, "+Word 29");
    press(&mut state, "N N N");
    shows(&state, "/word 6/6");
    shows(&state, "+Word 59");
    shows(&state, "on from the last");
    press(&mut state, "n");
    shows(&state, "/word 1/6");
    shows(&state, "+Word 9 ");
}

#[test]
fn a_search_begins_where_the_text_is_read_and_its_end_goes_back_there() {
    let mut state = diff(70, 20);
    press(&mut state, "ctrl+d ctrl+d ctrl+d");
    let from = scroll(&state);
    assert!(from > 10, "{from}");
    press(&mut state, "/ \"wORD 5\"");
    shows(&state, "/wORD 5 1/1");
    assert!(scroll(&state) > from);
    press(&mut state, "esc");
    assert_eq!((scroll(&state), state.popups.len()), (from, 1));
    press(&mut state, "/ \"word\" enter");
    // The nearest one below the first line in view.
    shows(&state, "/word 3/6");
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 1, "the search ends first");
    assert!(!picture(&state).contains("/word"));
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 0);
}

#[test]
fn nothing_found_and_nothing_searched_for_say_so() {
    let mut state = diff(100, 30);
    press(&mut state, "n");
    shows(&state, "/ searches.");
    press(&mut state, "/ \"nowhere\" enter");
    shows(&state, "Nothing in this text has these words.");
    press(&mut state, "esc / enter");
    assert!(!picture(&state).contains("no match"));
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 0);
}

#[test]
fn matches_are_highlighted_and_the_one_here_has_its_own_look() {
    let mut state = diff(100, 30);
    press(&mut state, "/ \"WORD\" enter n");
    let theme = Theme::new(ThemeName::Dark, ColorDepth::True);
    let buffer = cells(&state, &theme);
    let look = |text: &str| {
        let area = buffer.area;
        let row = |y: u16| -> String {
            let cells = (0..area.width).map(|x| buffer[(x, y)].symbol());
            cells.collect()
        };
        let y = (0..area.height).find(|y| row(*y).contains(text)).unwrap();
        let x = row(y).chars().position(|c| c == '+').unwrap();
        // The sign before the word, and its first and last letter.
        [x, x + 1, x + 4].map(|x| buffer[(u16::try_from(x).unwrap(), y)].style())
    };
    for (text, found) in [("Word 9", theme.found), ("Word 19", theme.found_here)] {
        let [before, first, last] = look(text);
        assert_eq!([first, last], [before.patch(found); 2], "{text}");
        assert_ne!(first, before, "{text}");
    }
}

#[test]
fn every_text_is_searched() {
    let mut letters = busy(100, 30);
    let kind = crate::domain::mail::LetterKind::Message;
    let moved = EventKind::LetterMoved {
        letter: letter("x", kind, "bob", "alice", "the needle is here"),
        step: crate::protocol::event::LetterStep::Sent,
    };
    tell(&mut letters, vec![moved]);
    press(&mut letters, "esc 5 G enter");
    let at = |keys: &str| {
        let mut state = busy(100, 30);
        tell(&mut state, vec![EventKind::SkillsChanged(skills())]);
        press(&mut state, keys);
        state
    };
    let cases = [
        ("letter", letters, "needle"),
        ("task", at("esc 3 enter"), "header"),
        ("problems", at("esc p"), "e"),
        ("skills", at("esc S"), "e"),
        ("todo", at("esc 2 enter"), "e"),
    ];
    for (what, mut state, words) in cases {
        assert_eq!(state.popups.len(), 1, "{what}");
        press(&mut state, &format!("/ \"{words}\" enter"));
        let screen = picture(&state);
        assert!(
            screen.contains(&format!("/{words} 1/")),
            "{what}:\n{screen}"
        );
        press(&mut state, "q q");
        assert_eq!(state.popups.len(), 0, "{what}");
    }
}
