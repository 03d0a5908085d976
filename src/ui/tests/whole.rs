//! What a whole screen tells beside its pictures in `scenes`: without colour, and while somebody waits.

use ratatui::buffer::Cell;
use ratatui::style::Modifier;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::protocol::EventKind;
use crate::ui::fixture::{busy, cells, picture, press, tell};
use crate::ui::{ColorDepth, Msg, Theme, ThemeName, update};

#[test]
fn without_colour_nothing_is_coloured_and_the_bar_is_there() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    let cells = cells(&state, &Theme::new(ThemeName::Terminal, ColorDepth::None));
    let blank = Cell::default();
    let plain = |c: &Cell| (c.fg, c.bg) == (blank.fg, blank.bg);
    assert!(cells.content.iter().all(plain));
    let barred: Vec<u16> = cells
        .area
        .rows()
        .filter(|row| {
            // Titles and what waits are reversed in part; the bar from end to end of its row.
            let mut last = (row.right() - 12..row.right() - 1).map(|x| &cells[(x, row.y)]);
            last.all(|cell| cell.modifier.contains(Modifier::REVERSED))
        })
        .map(|row| row.y)
        .collect();
    assert_eq!(barred.len(), 1, "one row has the keys: {barred:?}");
}

#[test]
fn what_holds_everybody_up_is_counted_down() {
    let mut state = busy(160, 45);
    let activity = Activity::Backoff {
        cause: "rate limited".into(),
        until: Stamp(state.now.0 + 43.0),
        attempt: 1,
    };
    let agent = Name::lead();
    tell(
        &mut state,
        vec![EventKind::ActivityChanged { agent, activity }],
    );
    assert!(picture(&state).contains("rate limited, retry in 42 s"));
    let now = Stamp(state.now.0 + 2.0);
    update(&mut state, Msg::Tick { now });
    assert!(picture(&state).contains("rate limited, retry in 40 s"));
}

#[test]
fn who_waits_in_line_shows_its_place() {
    let mut state = busy(160, 45);
    let agent = Name::party("alice").unwrap();
    let activity = Activity::Queued { place: 2 };
    tell(
        &mut state,
        vec![EventKind::ActivityChanged { agent, activity }],
    );
    let picture = picture(&state);
    let row = picture.lines().find(|l| l.contains("◔ alice"));
    assert!(row.is_some_and(|r| r.contains("queued 2")), "{picture}");
}
