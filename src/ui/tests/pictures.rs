//! Whole screens, to be looked at. A change of one is a change that people see.

use ratatui::buffer::Cell;
use ratatui::style::Modifier;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::protocol::EventKind;
use crate::ui::fixture::{busy, cells, permission, picture, press, skills, started, tell};
use crate::ui::{ColorDepth, Msg, Theme, ThemeName, update};

const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (70, 20), (60, 16)];

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

#[test]
fn start() {
    for (width, height) in SIZES {
        let name = format!("start_{width}x{height}");
        insta::assert_snapshot!(name, picture(&started(width, height)));
    }
}

#[test]
fn a_team_at_work() {
    for (width, height) in SIZES {
        let name = format!("busy_{width}x{height}");
        insta::assert_snapshot!(name, picture(&busy(width, height)));
    }
}

#[test]
fn help() {
    for (width, height) in SIZES {
        let mut state = busy(width, height);
        press(&mut state, "esc 3 ?");
        insta::assert_snapshot!(format!("help_{width}x{height}"), picture(&state));
    }
}

#[test]
fn without_room() {
    insta::assert_snapshot!("small_59x15", picture(&busy(59, 15)));
    insta::assert_snapshot!("small_12x4", picture(&busy(12, 4)));
}

#[test]
fn what_waits() {
    for (width, height) in [(160, 45), (60, 16)] {
        let mut state = busy(width, height);
        let request = permission("r2");
        tell(&mut state, vec![EventKind::RequestChanged { request }]);
        press(&mut state, "alt+w");
        insta::assert_snapshot!(format!("needs_{width}x{height}"), picture(&state));
    }
    let mut state = busy(100, 30);
    press(&mut state, "alt+w c \"The version is two bytes.\" enter");
    insta::assert_snapshot!("comment_100x30", picture(&state));
}

#[test]
fn panes_on_a_narrow_screen() {
    for (key, name) in [("3", "board"), ("4", "team"), ("5", "inbox"), ("2", "todo")] {
        let mut state = busy(70, 20);
        press(&mut state, &format!("esc {key}"));
        insta::assert_snapshot!(format!("narrow_{name}"), picture(&state));
    }
}

#[test]
fn a_teammate_is_opened() {
    let mut state = busy(160, 45);
    press(
        &mut state,
        "esc 4 j enter i \"Use u64\" ctrl+j \"for the sizes\"",
    );
    insta::assert_snapshot!("teammate_160x45", picture(&state));
}

#[test]
fn a_task_is_opened() {
    let mut state = busy(100, 30);
    press(&mut state, "esc 3 j j enter");
    insta::assert_snapshot!("task_100x30", picture(&state));
}

#[test]
fn what_agents_can_load() {
    for (width, height) in SIZES {
        let mut state = busy(width, height);
        tell(&mut state, vec![EventKind::SkillsChanged(skills())]);
        press(&mut state, "\"/skills\" enter");
        insta::assert_snapshot!(format!("skills_{width}x{height}"), picture(&state));
    }
}

#[test]
fn the_palette_and_leaving() {
    let mut state = busy(100, 30);
    press(&mut state, "esc 4 : \"sh\"");
    insta::assert_snapshot!("palette_100x30", picture(&state));
    press(&mut state, "esc q");
    insta::assert_snapshot!("quit_100x30", picture(&state));
}
