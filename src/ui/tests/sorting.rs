//! Sorting of the list of the team and of the cost panel.

use pretty_assertions::assert_eq;

use crate::domain::screen::{BoardShape, TeamSort};
use crate::ui::fixture::{busy, picture, press};
use crate::ui::{Effect, Msg, UiState, update};

/// Returns the names in the team pane from top to bottom. The selected one has the mark `›`.
fn team(state: &UiState) -> Vec<String> {
    let selected = state.panes.team.selected_member(state).map(|(at, _)| at);
    let rows = state.panes.team.rows(state);
    let row = |(at, row): (usize, &crate::ui::panes::team::TeamRow<'_>)| {
        let mark = if selected == Some(at) { "›" } else { "" };
        format!("{mark}{}", row.name())
    };
    rows.iter().enumerate().map(row).collect()
}

#[test]
fn team_is_sorted_by_each_column_and_keeps_the_selected_agent() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4 j");
    // dave has shut down and is therefore last in every order.
    let orders: [(TeamSort, &[&str]); 6] = [
        (TeamSort::Joined, &["alice", "›bob", "carol", "dave"]),
        (TeamSort::Name, &["alice", "›bob", "carol", "dave"]),
        (TeamSort::State, &["›bob", "alice", "carol", "dave"]),
        (TeamSort::Context, &["alice", "›bob", "carol", "dave"]),
        (TeamSort::Tokens, &["alice", "›bob", "carol", "dave"]),
        (TeamSort::Cost, &["alice", "›bob", "carol", "dave"]),
    ];
    for (sort, expected) in orders {
        assert_eq!(state.panes.team.sort, sort);
        assert_eq!(team(&state), expected, "{sort:?}");
        press(&mut state, "s");
    }
    assert_eq!(state.panes.team.sort, TeamSort::Joined);
}

#[test]
fn order_of_the_team_and_form_of_the_board_are_saved_and_restored() {
    let mut state = busy(160, 45);
    let done = press(&mut state, "esc 4 s s 3 v");
    let Some(Effect::SaveScreen(screen)) = done.last() else {
        panic!("nothing is saved: {done:?}");
    };
    assert_eq!(
        (screen.team_sort, screen.board),
        (TeamSort::State, BoardShape::List)
    );
    let mut next = busy(160, 45);
    next.set_screen(*screen);
    let now = next.now;
    update(&mut next, Msg::Tick { now });
    assert_eq!(team(&next), ["›bob", "alice", "carol", "dave"]);
    assert_eq!(next.panes.board.shape, BoardShape::List);
    // A graph that fits is the usual form again, which needs no setting.
    let done = press(&mut next, "esc 3 v");
    let Some(Effect::SaveScreen(screen)) = done.last() else {
        panic!("nothing is saved: {done:?}");
    };
    assert_eq!(screen.board, BoardShape::Fitting);
}

#[test]
fn headings_mark_the_order() {
    let mut state = busy(200, 45);
    press(&mut state, "esc 4");
    for (keys, expected) in [
        ("", " agent "),
        ("s", "▾agent "),
        ("s", " ▾state "),
        ("s", " ▾ctx "),
        ("s", "▾tokens "),
    ] {
        press(&mut state, keys);
        let picture = picture(&state);
        assert!(picture.contains(expected), "{expected}:\n{picture}");
    }
    press(&mut state, "$");
    for expected in ["▾share", "▾agent", "▾calls", "▾output", "▾share"] {
        let picture = picture(&state);
        assert!(picture.contains(expected), "{expected}:\n{picture}");
        press(&mut state, "s");
    }
}
