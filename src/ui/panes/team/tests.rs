//! Tests of the list of a crew on several hosts.

use std::sync::Arc;

use pretty_assertions::assert_eq;

use crate::domain::host::{HostKind, HostPresence};
use crate::domain::ids::TaskId;
use crate::domain::screen::TeamSort;
use crate::ui::fixture::{
    apply_events, board_event, board_on_hosts, busy, host, hosts, hosts_event, hosts_with_one_lost,
    long_host_name, many_hosts, name, picture, press, three_hosts, two_hosts_left,
};
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::PaneFeature;
use crate::ui::panes::team::TeamItem;
use crate::ui::{Effect, UiState};

/// Returns the names in the list from top to bottom. A host has the mark `▾` or `▸`; the selected row has the mark `›`.
fn list(state: &UiState) -> Vec<String> {
    let team = &state.panes.team;
    let rows = team.rows(state);
    let selected = team.selected_row(&rows);
    let line = |(at, row): (usize, &super::TeamRow<'_>)| {
        let selection = if selected == Some(at) { "›" } else { "" };
        let fold = row
            .is_open()
            .map_or("", |open| if open { "▾" } else { "▸" });
        format!("{selection}{fold}{}", row.name())
    };
    rows.iter().enumerate().map(line).collect()
}

fn three() -> UiState {
    let mut state = busy(160, 45);
    apply_events(&mut state, three_hosts());
    press(&mut state, "esc 4");
    state
}

#[test]
fn members_are_below_their_host_and_lead_host_is_first() {
    let state = three();
    let expected = [
        "▾laptop",
        "›alice",
        "▾gpu-box",
        "bob",
        "carol",
        "▾mini",
        "dave",
    ];
    assert_eq!(list(&state), expected);
}

#[test]
fn enter_on_a_host_collapses_and_expands_it() {
    let mut state = three();
    press(&mut state, "j enter");
    let expected = ["▾laptop", "alice", "›▸gpu-box", "▾mini", "dave"];
    assert_eq!(list(&state), expected);
    assert!(state.shown.is_lead());
    press(&mut state, "enter j");
    let expected = [
        "▾laptop",
        "alice",
        "▾gpu-box",
        "›bob",
        "carol",
        "▾mini",
        "dave",
    ];
    assert_eq!(list(&state), expected);
    press(&mut state, "enter");
    assert_eq!(state.shown, name("bob"));
}

#[test]
fn one_click_on_a_heading_is_enough() {
    let state = three();
    let team = &state.panes.team;
    assert!(team.opens(&state, 2, false));
    assert!(!team.opens(&state, 3, false), "bob is not selected");
    assert!(team.opens(&state, 1, false), "alice is selected");
}

#[test]
fn keys_for_an_agent_do_nothing_on_a_host() {
    let mut state = three();
    press(&mut state, "j");
    for key in ["x", "X", "!", "U"] {
        let done = press(&mut state, key);
        let is_command = |d: &Effect| matches!(d, Effect::Command(_));
        assert!(!done.iter().any(is_command), "{key} {done:?}");
        let said = state.status.as_ref().unwrap();
        assert_eq!(said.text, "gpu-box is a host. Select an agent first.");
    }
}

#[test]
fn selection_stays_when_hosts_change() {
    let mut state = three();
    press(&mut state, "j j");
    assert_eq!(list(&state)[3], "›bob");
    // Another host comes before that of the selected agent, and the host of the lead is lost.
    let mut after = hosts();
    after[1].presence = HostPresence::Lost;
    after.insert(0, host("a-box", HostKind::Worker));
    apply_events(&mut state, vec![hosts_event(after)]);
    assert!(list(&state).contains(&"›bob".to_string()));
    press(&mut state, "k");
    assert!(list(&state).contains(&"›▾gpu-box".to_string()));
    apply_events(&mut state, vec![hosts_event(hosts())]);
    assert!(list(&state).contains(&"›▾gpu-box".to_string()));
}

#[test]
fn large_hosts_begin_collapsed_except_that_of_the_selected_agent() {
    let mut state = busy(160, 45);
    apply_events(&mut state, many_hosts(50, 20));
    press(&mut state, "esc 4");
    assert_eq!(list(&state).len(), 51);
    state.panes.team.selected = Some(TeamItem::Agent(name("n07-02")));
    let rows = list(&state);
    assert_eq!(rows.len(), 51 + 20);
    assert_eq!(rows[7], "▾node-07");
    assert_eq!(rows[9], "›n07-02");
}

#[test]
fn host_of_an_agent_stays_expanded_until_the_user_collapses_it() {
    let mut state = busy(160, 45);
    apply_events(&mut state, many_hosts(50, 20));
    press(&mut state, "esc 4");
    state.panes.team.selected = Some(TeamItem::Agent(name("n07-01")));
    press(&mut state, "k");
    let rows = list(&state);
    assert_eq!((rows.len(), rows[7].as_str()), (51 + 20, "›▾node-07"));
    press(&mut state, "enter");
    let rows = list(&state);
    assert_eq!((rows.len(), rows[7].as_str()), (51, "›▸node-07"));
}

#[test]
fn filter_shows_matching_agents_of_collapsed_hosts() {
    let mut state = busy(160, 45);
    apply_events(&mut state, many_hosts(50, 20));
    press(&mut state, "esc 4 / \"node-07 !-02\" enter");
    let rows = list(&state);
    assert_eq!(rows.len(), 1 + 19, "{rows:?}");
    assert_eq!(rows[..3].to_vec(), ["▾node-07", "›n07-01", "n07-03"]);
    press(&mut state, "k enter");
    let said = state.status.as_ref().unwrap();
    assert!(said.text.contains("always expanded"), "{}", said.text);
    assert_eq!(list(&state).len(), 20);
}

#[test]
fn lost_host_is_marked_by_words_and_names_its_tasks() {
    let mut state = three();
    apply_events(&mut state, vec![hosts_event(hosts_with_one_lost())]);
    let seen = picture(&state);
    for words in ["▲ LOST", "held #5: not offered again yet", "▲ 1 host lost"] {
        assert!(seen.contains(words), "{words}\n{seen}");
    }
    // The task is released: the screen still says which task it was.
    let mut board = board_on_hosts();
    let mut task = board.get(TaskId(5)).unwrap().clone();
    task.claim = None;
    board.apply(&[Arc::new(task)], &[]);
    apply_events(&mut state, vec![board_event(&board)]);
    let seen = picture(&state);
    assert!(seen.contains("held #5: offered again"), "{seen}");
}

/// Returns a crew of which the hosts `gpu-box`, with `bob` and `carol`, and `mini`, with `dave`, have left. `dave` still has a
/// task.
fn two_left() -> UiState {
    let mut state = three();
    apply_events(&mut state, two_hosts_left());
    state
}

#[test]
fn hosts_that_have_left_are_below_one_heading_until_it_is_expanded() {
    let mut state = two_left();
    let folded = ["▾laptop", "›alice", "▸mini", "▸hosts that have left"];
    assert_eq!(list(&state), folded);
    assert!(picture(&state).contains("▸ 1 host has left"));
    press(&mut state, "G enter");
    let expanded = [
        "▾laptop",
        "alice",
        "▸mini",
        "›▾hosts that have left",
        "▸gpu-box",
    ];
    assert_eq!(list(&state), expanded);
    // The host stays in the list while one of its agents is selected.
    press(&mut state, "j enter j k k enter");
    assert_eq!(list(&state)[3..], ["›▸hosts that have left"]);
    state.panes.team.selected = Some(TeamItem::Agent(name("bob")));
    let rows = list(&state);
    assert_eq!(rows[3..6], ["▾hosts that have left", "▾gpu-box", "›bob"]);
    press(&mut state, "k k");
    assert_eq!(list(&state)[3], "›▾hosts that have left");
    for key in ["x", "space"] {
        press(&mut state, key);
        let said = state.status.as_ref().map(|said| said.text.clone());
        assert!(
            said.unwrap_or_default().contains("Select an agent"),
            "{key}"
        );
    }
}

#[test]
fn hosts_without_agents_are_counted_among_those_that_have_left() {
    let mut state = two_left();
    let mut after = hosts();
    after.push(host("old-box", HostKind::Worker));
    for host in &mut after {
        if host.info.kind == HostKind::Worker {
            host.presence = HostPresence::Left;
        }
    }
    apply_events(&mut state, vec![hosts_event(after)]);
    let seen = picture(&state);
    assert!(seen.contains("▸ 2 hosts have left"), "{seen}");
    press(&mut state, "G enter");
    assert_eq!(list(&state)[4..], ["▸gpu-box", "▸old-box"]);
}

#[test]
fn filter_finds_agents_of_hosts_that_have_left() {
    let mut state = two_left();
    press(&mut state, "/ \"gpu-box\" enter");
    assert_eq!(list(&state), ["▾gpu-box", "›bob", "carol"]);
}

#[test]
fn teammates_of_a_host_with_a_long_name_differ_in_a_narrow_pane() {
    let mut state = busy(80, 24);
    apply_events(&mut state, long_host_name());
    press(&mut state, "esc 4");
    let seen = picture(&state);
    for number in 1..=3 {
        assert!(seen.contains(&format!("d-{number} ")), "{number}\n{seen}");
    }
}

#[test]
fn order_by_state_begins_with_lost_hosts() {
    let mut state = three();
    apply_events(&mut state, vec![hosts_event(hosts_with_one_lost())]);
    press(&mut state, "s s");
    assert_eq!(state.panes.team.sort, TeamSort::State);
    assert_eq!(list(&state)[0], "▾mini");
}

#[test]
fn preview_skips_hosts() {
    let mut state = three();
    press(&mut state, "space j");
    assert_eq!(list(&state)[3], "›bob");
    press(&mut state, "esc k");
    assert_eq!(list(&state)[2], "›▾gpu-box");
    press(&mut state, "space");
    assert!(state.popups.is_empty());
    assert_eq!(state.focus.pane(), Pane::Team);
}
