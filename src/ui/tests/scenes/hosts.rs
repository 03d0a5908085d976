//! Scenes of a crew on several hosts.

use crate::ui::fixture::{
    apply_events, busy, hosts_event, hosts_with_one_lost, long_host_name, many_hosts, press,
    three_hosts, two_hosts_left,
};
use crate::ui::tests::scenes::{Scene, Shows};
use crate::ui::{Pane, UiState};

/// Columns and rows of the screens that show the whole crew.
const HOSTS_AT: [(u16, u16); 4] = [(160, 45), (120, 35), (100, 30), (80, 24)];

/// Returns a screen of a crew on three hosts, one of which is lost, after the keys `keys`.
fn three(width: u16, height: u16, keys: &str) -> UiState {
    let mut state = busy(width, height);
    apply_events(&mut state, three_hosts());
    apply_events(&mut state, vec![hosts_event(hosts_with_one_lost())]);
    press(&mut state, keys);
    state
}

/// Returns a screen of a crew with 1,000 agents on 50 workers, after the keys `keys`.
fn fifty(width: u16, height: u16, keys: &str) -> UiState {
    let mut state = busy(width, height);
    apply_events(&mut state, many_hosts(50, 20));
    press(&mut state, keys);
    state
}

pub fn scenes() -> Vec<Scene> {
    let team = Shows::Pane(Pane::Team);
    vec![
        Scene::new("whole_hosts", Shows::Screen, |w, h| three(w, h, "esc 4")).at(&HOSTS_AT),
        Scene::new("whole_hosts_board", Shows::Screen, |w, h| {
            three(w, h, "esc 3 v")
        })
        .at(&HOSTS_AT),
        Scene::new("pane_hosts_collapsed", team, |w, h| {
            three(w, h, "esc 4 g j j enter")
        })
        .at(&HOSTS_AT),
        Scene::new("whole_hosts_long_names", Shows::Screen, |w, h| {
            let mut state = busy(w, h);
            apply_events(&mut state, long_host_name());
            press(&mut state, "esc 4");
            state
        })
        .at(&HOSTS_AT),
        Scene::new("pane_hosts_left", team, |w, h| {
            let mut state = busy(w, h);
            apply_events(&mut state, three_hosts());
            apply_events(&mut state, two_hosts_left());
            press(&mut state, "esc 4 G enter");
            state
        })
        .at(&HOSTS_AT),
        Scene::new("pane_hosts_many", team, |w, h| fifty(w, h, "esc 4 j j")).at(&HOSTS_AT),
        Scene::new("pane_hosts_many_expanded", team, |w, h| {
            fifty(w, h, "esc 4 j j enter j j j")
        })
        .at(&HOSTS_AT),
        Scene::new("pane_hosts_filtered", team, |w, h| {
            fifty(w, h, "esc 4 / \"node-07 !-03\" enter j j")
        })
        .at(&HOSTS_AT),
        Scene::new("popup_hosts_problems", Shows::Popup, |w, h| {
            three(w, h, "esc p")
        })
        .at(&HOSTS_AT),
        Scene::new("popup_hosts_events", Shows::Popup, |w, h| {
            three(w, h, "esc @")
        })
        .at(&HOSTS_AT),
    ]
}
