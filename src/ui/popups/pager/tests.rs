//! Pagers: search and diff navigation.

use crate::domain::ids::TaskId;
use crate::protocol::{BoardEvent, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{apply_events, busy, cells, mail_message, picture, press, skills};
use crate::ui::popups::diff::DiffPage;
use crate::ui::popups::pager::{Page, Pager};
use crate::ui::popups::skills::SkillsPage;
use crate::ui::popups::task_page::TaskPage;
use crate::ui::tests::scenes::work::diff_of_files;
use crate::ui::{ColorDepth, Effect, Msg, Theme, ThemeName, UiState, update};

/// Returns a screen with a long diff, in which "word" is in the lines 9, 19, … 59, counted from 0.
fn diff(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    press(&mut state, "esc 3");
    let line = |n: usize| match n % 10 {
        9 => format!("+Word {n}"),
        _ => format!(" line {n}"),
    };
    let lines: Vec<String> = (0..60).map(line).collect();
    let shown = EventKind::Board(BoardEvent::DiffShown {
        task: TaskId(1),
        stat: String::new(),
        text: lines.join("\n"),
        untracked: vec![],
    });
    apply_events(&mut state, vec![shown]);
    state
}

/// Returns the index of the first visible row.
fn scroll(state: &UiState) -> usize {
    fn of<P: Page>(state: &UiState) -> Option<usize> {
        Some(state.popups.top::<Pager<P>>()?.scroll)
    }
    let scroll = of::<DiffPage>(state).or_else(|| of::<SkillsPage>(state));
    scroll.or_else(|| of::<TaskPage>(state)).unwrap()
}

fn shows(state: &UiState, words: &str) {
    let screen = picture(state);
    assert!(screen.contains(words), "{words}:\n{screen}");
}

#[test]
fn diff_search_goes_through_matches() {
    let mut state = diff(70, 20);
    press(&mut state, "/ \"word\"");
    shows(&state, "/word 1/6");
    assert_eq!(scroll(&state), 0);
    // While the search text is typed, characters are text. After Enter, they are keys again.
    press(&mut state, "\"n\"");
    shows(&state, "/wordn no match");
    press(&mut state, "backspace enter n n");
    shows(&state, "/word 3/6");
    shows(&state, "+Word 29");
    press(&mut state, "N N N");
    shows(&state, "/word 6/6");
    shows(&state, "+Word 59");
    shows(&state, "wrapped to the last match");
    press(&mut state, "n");
    shows(&state, "/word 1/6");
    shows(&state, "+Word 9 ");
}

#[test]
fn search_starts_at_view_and_returns_on_end() {
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
    // The current match is the first one below the top of the visible part.
    shows(&state, "/word 3/6");
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 1, "the search ends first");
    assert!(!picture(&state).contains("/word"));
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 0);
}

#[test]
fn missing_match_and_missing_search_are_reported() {
    let mut state = diff(100, 30);
    press(&mut state, "n");
    shows(&state, "Press / to search.");
    press(&mut state, "/ \"nowhere\" enter");
    shows(&state, "No matches in this text.");
    press(&mut state, "esc / enter");
    assert!(!picture(&state).contains("no match"));
    press(&mut state, "esc");
    assert_eq!(state.popups.len(), 0);
}

#[test]
fn current_match_is_highlighted_differently() {
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
        // Returns three styles: of the sign before the word, and of the first and the last character of the word.
        [x, x + 1, x + 4].map(|x| buffer[(u16::try_from(x).unwrap(), y)].style())
    };
    for (text, found) in [("Word 9", theme.found), ("Word 19", theme.found_here)] {
        let [before, first, last] = look(text);
        assert_eq!([first, last], [before.patch(found); 2], "{text}");
        assert_ne!(first, before, "{text}");
    }
}

#[test]
fn every_pager_is_searchable() {
    let mut messages = busy(100, 30);
    let kind = crate::domain::mail::MailKind::Message;
    let moved = EventKind::Team(TeamEvent::MessageMoved {
        message: mail_message("x", kind, "bob", "alice", "the needle is here"),
        step: crate::protocol::event::DeliveryState::Sent,
    });
    apply_events(&mut messages, vec![moved]);
    press(&mut messages, "esc 5 G enter");
    let at = |keys: &str| {
        let mut state = busy(100, 30);
        apply_events(
            &mut state,
            vec![EventKind::Crew(CrewEvent::SkillsChanged(skills()))],
        );
        press(&mut state, keys);
        state
    };
    // The screens are on the heap, because five of them are too large for the stack.
    let cases = vec![
        ("message", messages, "needle"),
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

/// Returns the file that the title of the diff names.
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
    apply_events(&mut state, vec![diff_of_files()]);
    state
}

#[test]
fn diff_is_navigated_by_file() {
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
    // At the start of the text, the first file is the current one; at its end, the last file.
    press(&mut state, "g");
    assert_eq!(file(&state), "1/6 src/header.rs");
    press(&mut state, "G");
    assert_eq!(file(&state), all[4]);
    // The file that contains the current match becomes the current file.
    press(&mut state, "/ \"fn old\" enter");
    assert_eq!(file(&state), all[3]);
    press(&mut state, "]");
    assert_eq!(file(&state), all[4]);
}

#[test]
fn file_list_line_jumps_to_file() {
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
fn diff_is_copied_as_plain_git_output() {
    let mut state = files(100, 30);
    let done = press(&mut state, "y");
    let Some(Effect::Copy(text)) = done.last() else {
        panic!("{done:?}");
    };
    assert!(text.starts_with(
        "diff --git a/src/header.rs b/src/header.rs\nindex 1..2 100644\n--- a/src/header.rs\n"
    ));
    assert!(text.contains("\n+# The format ␛[31m块\n"), "{text}");
}

#[test]
fn diff_without_files_has_no_next_file() {
    let mut state = diff(100, 30);
    press(&mut state, "]");
    shows(&state, "No other file.");
    assert!(!picture(&state).contains("next file"));
}
