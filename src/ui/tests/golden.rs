//! A journal that an older version has recorded: `tests/golden/events/journal-96f7d978.jsonl` is the demo's script in
//! `crewdeck run` at commit 96f7d978, with other paths.

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::ui::fixture::{blank, picture};
use crate::ui::replay::Player;
use crate::ui::{Msg, UiState, begin_replay, update};

const JOURNAL: &str = include_str!("../../../tests/golden/events/journal-96f7d978.jsonl");

fn events() -> Vec<Event> {
    let event = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}\n{e}"));
    JOURNAL.lines().map(event).collect()
}

/// Returns the screen of a replay at `share` percent of the recording.
fn replay_screen(width: u16, height: u16, share: usize) -> UiState {
    let mut events = events();
    events.truncate(events.len() * share / 100);
    let end = events.last().map(|event| event.at.0).unwrap_or_default();
    let mut state = blank(width, height);
    begin_replay(&mut state, Player::new(events, 1.0));
    for now in [0.0, 9e5].map(|s| Timestamp(end + s)) {
        update(&mut state, Msg::Tick { now });
    }
    state
}

#[test]
fn journal_of_an_older_version_is_replayed() {
    for (share, name) in [(50, "half"), (100, "end")] {
        insta::assert_snapshot!(
            format!("older_journal_{name}"),
            picture(&replay_screen(160, 45, share))
        );
    }
}
