//! The texts that are read in a popup: the search in them.

use crate::domain::ids::TaskId;
use crate::protocol::EventKind;
use crate::ui::app::popup::Popup;
use crate::ui::fixture::{busy, cells, letter, picture, press, skills, tell};
use crate::ui::tests::scenes::work::diff_of_files;
use crate::ui::{ColorDepth, Do, Msg, Theme, ThemeName, UiState, update};

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
    // On the heap: five screens are large.
    let cases = vec![
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

/// The file that the title of the diff names.
fn file(state: &UiState) -> String {
    let screen = picture(state);
    let title = screen.lines().find(|l| l.contains("Changes of task #1"));
    let title = title.unwrap_or_else(|| panic!("{screen}"));
    let (_, file) = title.split_once(" · ").unwrap_or_default();
    file.split(" ─").next().unwrap_or_default().into()
}

fn files(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    press(&mut state, "esc 3");
    tell(&mut state, vec![diff_of_files()]);
    state
}

#[test]
fn a_diff_is_read_file_by_file() {
    let mut state = files(100, 30);
    assert_eq!(file(&state), "1/6 src/header.rs");
    press(&mut state, "[");
    shows(&state, "This is the first file.");
    let all = [
        "2/6 docs/format.md",
        "3/6 check.sh",
        "4/6 logo.png",
        "5/6 src/old.rs",
        "6/6 src/blocks.rs",
    ];
    for name in all {
        press(&mut state, "]");
        assert_eq!(file(&state), name);
    }
    let from = scroll(&state);
    press(&mut state, "]");
    shows(&state, "This is the last file.");
    assert_eq!(scroll(&state), from);
    press(&mut state, "[");
    assert_eq!(file(&state), all[3]);
    // Scrolled, the file at the top counts; at the end the last one, at the beginning the first.
    press(&mut state, "g");
    assert_eq!(file(&state), "1/6 src/header.rs");
    press(&mut state, "G");
    assert_eq!(file(&state), all[4]);
    // A match takes the reader to its file.
    press(&mut state, "/ \"fn old\" enter");
    assert_eq!(file(&state), all[3]);
    press(&mut state, "]");
    assert_eq!(file(&state), all[4]);
}

#[test]
fn a_line_of_the_list_of_files_leads_to_the_file() {
    let mut state = files(100, 30);
    let screen = picture(&state);
    let row = screen
        .lines()
        .position(|l| l.contains("+30 −0  src/blocks.rs"));
    let row = u16::try_from(row.unwrap_or_else(|| panic!("{screen}"))).unwrap();
    let event = crossterm::event::MouseEvent {
        kind: crossterm::event::MouseEventKind::Down(crossterm::event::MouseButton::Left),
        column: 20,
        row,
        modifiers: crossterm::event::KeyModifiers::NONE,
    };
    update(&mut state, Msg::Mouse(event));
    assert_eq!(file(&state), "6/6 src/blocks.rs");
}

#[test]
fn a_diff_is_copied_as_git_wrote_it() {
    let mut state = files(100, 30);
    let done = press(&mut state, "y");
    let Some(Do::Copy(text)) = done.last() else {
        panic!("{done:?}");
    };
    assert!(text.starts_with(
        "diff --git a/src/header.rs b/src/header.rs\nindex 1..2 100644\n--- a/src/header.rs\n"
    ));
    assert!(text.contains("\n+# The format ␛[31m块\n"), "{text}");
}

#[test]
fn a_diff_without_a_file_has_no_file_to_go_to() {
    let mut state = diff(100, 30);
    press(&mut state, "]");
    shows(&state, "There is no other file.");
    assert!(!picture(&state).contains("next file"));
}
