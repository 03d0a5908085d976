//! Filters of the team and the inbox. Keys and mouse act on the visible rows.

use pretty_assertions::assert_eq;

use crate::domain::mail::MailKind;
use crate::protocol::event::DeliveryState;
use crate::protocol::{EventKind, TeamEvent};
use crate::ui::fixture::{apply_events, busy, mail_message, name, picture, press};
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::Action;
use crate::ui::popups::pager::Pager;
use crate::ui::popups::thread::ThreadPage;
use crate::ui::shell::hit_test;
use crate::ui::tests::scenes::scene_data;
use crate::ui::{Pane, UiState};

fn team(state: &UiState) -> Vec<String> {
    let rows = state.panes.team.rows(state);
    rows.iter().map(|row| row.name().to_string()).collect()
}

/// Returns the sender and the recipient of each message that matches the filter.
fn inbox_rows(state: &UiState) -> Vec<String> {
    let numbers = state.panes.inbox.message_numbers(state);
    let all = numbers.iter().filter_map(|n| state.model.messages.get(*n));
    all.map(|t| format!("{} {}", t.message.from, t.message.to))
        .collect()
}

#[test]
fn team_is_filtered_by_name_role_and_task() {
    // alice has the role decoder and owns #3; bob has the role parser and owns #2; carol is a writer; dave was a
    // reviewer.
    let cases: [(&str, &[&str]); 8] = [
        ("", &["alice", "bob", "carol", "dave"]),
        ("a", &["alice", "bob", "carol", "dave"]),
        ("ALI", &["alice"]),
        ("writer", &["carol"]),
        ("#3", &["alice"]),
        ("header", &["bob"]),
        ("!#", &["carol", "dave"]),
        ("zoe", &[]),
    ];
    for (words, expected) in cases {
        let mut state = busy(160, 45);
        press(&mut state, &format!("esc 4 / \"{words}\" enter"));
        assert_eq!(team(&state), expected, "{words}");
    }
}

#[test]
fn inbox_is_filtered_by_sender_recipient_and_text() {
    let mut state = busy(160, 45);
    for (id, from, to, words) in [
        ("x1", "carol", "dave", "Shall I wait?"),
        ("x2", "dave", "carol", "No: begin."),
    ] {
        let message = mail_message(id, MailKind::Message, from, to, words);
        let step = DeliveryState::Sent;
        apply_events(
            &mut state,
            vec![EventKind::Team(TeamEvent::MessageMoved { message, step })],
        );
    }
    let cases: [(&str, &[&str]); 5] = [
        ("carol", &["lead carol", "carol dave", "dave carol"]),
        ("from:carol", &["carol dave"]),
        ("carol BEGIN", &["dave carol"]),
        ("carol !wait", &["lead carol", "dave carol"]),
        ("zoe", &[]),
    ];
    for (words, expected) in cases {
        press(&mut state, &format!("esc 5 / \"{words}\" enter"));
        assert_eq!(inbox_rows(&state), expected, "{words}");
        press(&mut state, "esc");
    }
    let all = inbox_rows(&state).len();
    assert_eq!(all, state.model.messages.len());
}

#[test]
fn keys_act_on_filtered_rows_and_selection_is_kept() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4 / \"writer\" enter");
    assert_eq!(
        state.panes.team.selected_member(&state),
        Some((0, name("carol")))
    );
    assert!(picture(&state).contains("4 Team · 1 of 4"));
    press(&mut state, "j G");
    assert_eq!(
        state.panes.team.selected_member(&state),
        Some((0, name("carol")))
    );
    press(&mut state, "enter");
    assert_eq!(state.shown, name("carol"));
    press(&mut state, "esc esc");
    assert!(!picture(&state).contains("1 of 4"));
    assert_eq!(
        state.panes.team.selected_member(&state),
        Some((2, name("carol")))
    );

    apply_events(&mut state, scene_data::many_messages());
    press(&mut state, "5 / \"from:bob\" enter k");
    let (at, found) = state.panes.inbox.selected_message(&state).unwrap();
    let (number, from) = (found.number, found.message.from.clone());
    assert_eq!((at, from.as_str()), (inbox_rows(&state).len() - 2, "bob"));
    press(&mut state, "enter");
    let thread = state.popups.top::<Pager<ThreadPage>>();
    assert_eq!(thread.unwrap().page.number, number);
    press(&mut state, "esc esc");
    assert_eq!(inbox_rows(&state).len(), state.model.messages.len());
    assert_eq!(
        state.panes.inbox.selected_message(&state).unwrap().1.number,
        number
    );
}

#[test]
fn new_message_is_filtered_and_each_pane_keeps_its_filter() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 5 / \"from:carol\" enter 4 / \"bob\" enter");
    for from in ["alice", "carol"] {
        let message = mail_message(from, MailKind::Message, from, "dave", "news");
        let step = DeliveryState::Sent;
        apply_events(
            &mut state,
            vec![EventKind::Team(TeamEvent::MessageMoved { message, step })],
        );
    }
    assert_eq!(inbox_rows(&state), ["carol dave"]);
    assert_eq!(team(&state), ["bob"]);
    press(&mut state, "esc");
    assert_eq!((inbox_rows(&state).len(), team(&state).len()), (1, 4));
}

#[test]
fn filtered_row_is_hit_where_it_is_drawn() {
    for (size, pane, keys) in [
        ((160, 45), Pane::Team, "esc 4 / \"carol\""),
        ((70, 20), Pane::Inbox, "esc 5 / \"bob\" enter"),
    ] {
        let mut state = busy(size.0, size.1);
        press(&mut state, keys);
        let targets = hit_test::targets(&state);
        let rows = targets
            .iter()
            .filter(|t| matches!(t.what, Hit::Row(p, _) if p == pane));
        let first = rows.map(|t| t.at.y).min().unwrap();
        let row_of = |action| {
            let target = targets.iter().find(|t| t.what == Hit::In(pane, action));
            target.map(|t| t.at.y)
        };
        let filter = row_of(Action::Filter);
        let filter = filter.unwrap_or_else(|| panic!("{pane:?}: no filter to press"));
        // In the team pane, the headings of the columns are between the filter and the first row.
        let above = row_of(Action::Sort).unwrap_or(filter);
        assert_eq!(above + 1, first, "{pane:?}");
        assert_eq!(above - filter, u16::from(pane == Pane::Team), "{pane:?}");
    }
}
