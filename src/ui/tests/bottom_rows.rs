//! Tests of what stays visible where there is little room: keys beside a status message, hints beside the buttons of a
//! card, requests that wait for the user, and the counts of tabs.

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;
use crate::protocol::{EventKind, TeamEvent};
use crate::ui::UiState;
use crate::ui::fixture::{
    after_events, apply_events, busy, permission, picture, plan, press, question, ready,
    request_event, started_screen, team_event,
};
use crate::ui::frame::layout::MIDDLE;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::shell::layout::layout;
use crate::ui::tests::scenes::scene_data::permission_request;
use crate::ui::{Msg, update};

const SIZES: [(u16, u16); 5] = [(60, 16), (70, 20), (80, 24), (100, 30), (160, 45)];

fn last_row(state: &UiState) -> String {
    let text = picture(state);
    text.lines().last().unwrap_or_default().to_string()
}

fn asks(state: &mut UiState, requests: &[Request]) {
    let event = |request: &Request| {
        let request = request.clone();
        EventKind::Team(TeamEvent::RequestChanged { request })
    };
    apply_events(state, requests.iter().map(event).collect());
}

#[test]
fn information_is_dropped_with_its_place_and_a_warning_is_not() {
    for keys in ["esc", "f1", "alt+3", "ctrl+p"] {
        let mut state = busy(100, 30);
        state.say("All tool output is open.");
        let now = state.now;
        update(&mut state, Msg::Tick { now });
        assert!(picture(&state).contains("All tool output is open."));
        press(&mut state, keys);
        assert!(state.status.is_none(), "{keys}: {:?}", state.status);

        state.warn("The journal cannot be written.");
        let now = Timestamp(state.now.0 + 0.5);
        update(&mut state, Msg::Tick { now });
        press(&mut state, "esc 4");
        assert!(state.status.is_some(), "{keys}");
    }
    // A key that moves the focus and says something keeps what it says.
    let mut state = busy(100, 30);
    press(&mut state, "\"half a thought\" ctrl+c");
    assert!(picture(&state).contains("Draft cleared."));
}

#[test]
fn message_does_not_displace_the_keys_that_end_a_popup() {
    for (width, height) in SIZES {
        let mut state = busy(width, height);
        press(&mut state, "\"/theme\" enter");
        let shown = last_row(&state);
        assert!(shown.contains("Enter") && shown.contains("Esc"), "{shown}");
        state.warn("All tool output is open; Ctrl+o folds it. ".repeat(3));
        let shown = last_row(&state);
        assert!(shown.contains("Enter") && shown.contains("Esc"), "{shown}");
        assert!(picture(&state).contains("All tool output"));
    }
}

#[test]
fn message_does_not_displace_the_keys_that_decide() {
    for (width, height) in SIZES {
        let mut state = started_screen(width, height);
        let mut asked = permission("p1");
        asked.from = Name::lead();
        asked.target = Name::lead();
        asks(&mut state, &[asked]);
        press(&mut state, "alt+1");
        state.warn("All tool output is open; Ctrl+o folds it. ".repeat(3));
        let shown = last_row(&state);
        assert!(
            shown.contains("approve") && shown.contains("reject"),
            "{shown}"
        );
    }
}

#[test]
fn long_message_is_in_one_piece_directly_above_the_keys() {
    const SETTINGS: &str = "Settings are in .crewdeck/config.toml of the project and in ~/.config/crewdeck/config.toml.";
    for (width, height) in SIZES {
        let mut state = started_screen(width, height);
        let before = picture(&state);
        state.say(SETTINGS);
        let after = picture(&state);
        let rows = layout(&state, state.size).message;
        let count = if usize::from(width) >= 2 * (SETTINGS.len() + 5) {
            0
        } else {
            SETTINGS.len().div_ceil(usize::from(width) - 5)
        };
        assert_eq!(usize::from(rows.map_or(0, |rows| rows.height)), count);
        let rows = after.lines().rev().skip(1).take(count);
        let rows: Vec<&str> = rows.map(|row| row.trim_matches('"')).collect();
        let shown: Vec<&str> = rows
            .iter()
            .rev()
            .flat_map(|row| row.split_whitespace())
            .collect();
        let expected = if count == 0 {
            String::new()
        } else {
            format!("· {SETTINGS}")
        };
        assert_eq!(shown.join(" "), expected, "{after}");
        // The keys and the border of the composer stay whole.
        if count > 0 {
            assert_eq!(after.lines().last(), before.lines().last());
        }
        let border = |text: &str| {
            text.lines()
                .rfind(|row| row.contains('╰'))
                .map(String::from)
        };
        assert_eq!(border(&after), border(&before), "{after}");
    }
}

#[test]
fn short_message_moves_no_row() {
    for (width, height) in SIZES {
        let mut state = started_screen(width, height);
        let before = layout(&state, state.size);
        state.say("Draft cleared.");
        assert_eq!(layout(&state, state.size), before);
        let shown = last_row(&state);
        assert!(
            shown.trim_matches('"').starts_with(" · Draft cleared."),
            "{shown}"
        );
    }
}

#[test]
fn waiting_requests_are_always_in_the_same_place_and_no_hint_repeats_them() {
    for (width, height) in SIZES {
        for keys in [
            "",
            "esc",
            "esc 3",
            "alt+w",
            "alt+w c",
            "f1",
            "esc 4 enter",
            "esc 3 z",
        ] {
            let mut state = busy(width, height);
            press(&mut state, keys);
            let text = picture(&state);
            let mut lines = text.lines();
            let status = lines.next().unwrap_or_default();
            let in_status = (width >= MIDDLE).then_some(12);
            assert_eq!(status.find("◆ 1 needs you"), in_status, "{keys}: {text}");
            let tabs = lines.next().unwrap_or_default();
            let has_tab = tabs.contains("6 Needs (1)");
            assert!(in_status.is_some() || has_tab, "{keys}: {text}");
            let hints = last_row(&state);
            assert!(!hints.contains("needs you"), "{keys}: {hints}");
        }
    }
}

#[test]
fn hints_begin_with_the_keys_of_the_card() {
    for (width, height) in SIZES {
        for (request, keys) in [
            (
                permission_request("r1", "alice", "git push", 0.0),
                "a approve  r reject  A for the team  c comment",
            ),
            (plan("r2", "1. go"), "a approve  r reject  c comment"),
            (
                question("q1", &["one", "two"]),
                "1-2 choose  r decline  c own answer",
            ),
        ] {
            let mut state = started_screen(width, height);
            asks(&mut state, std::slice::from_ref(&request));
            press(&mut state, "alt+w");
            let shown = last_row(&state);
            let begin = shown.trim_matches(['"', ' ']);
            assert!(begin.starts_with(keys), "{width}: {shown}");
            // Only the key that opens the agent is left out on the narrowest screens.
            let opens = shown.contains(&format!("{keys}  Enter open the agent"));
            assert!(opens || width < 80, "{width}: {shown}");
        }
    }
}

#[test]
fn view_of_a_teammate_begins_with_the_key_that_leaves_it() {
    for (width, height) in SIZES {
        let mut state = busy(width, height);
        press(&mut state, "alt+4 enter");
        let shown = last_row(&state);
        let first = shown.find("Esc back to lead");
        let others = ["tool calls", "search", "write", "help"].map(|word| shown.find(word));
        let is_first = others.into_iter().flatten().all(|at| Some(at) > first);
        assert!(first.is_some() && is_first, "{width}: {shown}");
        let text = picture(&state);
        let name = state.shown.to_string();
        if width < 100 {
            let tabs = text.lines().nth(1).unwrap_or_default();
            assert!(tabs.contains(&format!("▸1 {name}")), "{tabs}");
            assert!(!tabs.contains("Lead"), "{tabs}");
        }
    }
}

#[test]
fn needs_count_is_the_last_to_leave_the_tabs() {
    let mut counts = Vec::new();
    for width in [60, 64, 70, 80] {
        let mut state = busy(width, 16);
        asks(&mut state, &[permission("p1"), question("q1", &[])]);
        let text = picture(&state);
        let tabs = text.lines().nth(1).unwrap_or_default();
        assert!(tabs.contains("Needs ("), "{tabs}");
        counts.push(tabs.matches(['(', '/']).count());
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(counts[0] < counts[3], "{counts:?}");
}

#[test]
fn choices_and_buttons_follow_the_text() {
    for (width, height) in SIZES {
        let mut state = started_screen(width, height);
        asks(&mut state, &[question("q1", &["first", "second"])]);
        press(&mut state, "alt+w");
        let text = picture(&state);
        let row = |word: &str| text.lines().position(|line| line.contains(word)).unwrap();
        assert_eq!(row("2  second"), row("1  first") + 1, "{text}");
        assert_eq!(row("1-2 choose"), row("2  second") + 2, "{text}");
        let card = layout(&state, state.size).pane(Pane::Needs).unwrap();
        let body = row("1  first") - usize::from(card.y);
        assert!(body <= 6, "{text}");

        let mut state = started_screen(width, height);
        asks(&mut state, &[plan("r1", "1. the only step")]);
        press(&mut state, "alt+w");
        let text = picture(&state);
        let row = |word: &str| text.lines().position(|line| line.contains(word)).unwrap();
        assert_eq!(row("a approve"), row("the only step") + 2, "{text}");
    }
}

#[test]
fn no_card_above_the_composer_while_needs_you_has_the_focus() {
    let mut own = permission("p1");
    own.from = Name::lead();
    own.target = Name::lead();
    own.created_at.0 += 60.0;
    let events = vec![ready(), team_event(), request_event(&own)];
    let mut state = after_events(160, 45, events);
    asks(&mut state, &[plan("r1", "1. go")]);
    press(&mut state, "alt+w h h");
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    let areas = layout(&state, state.size);
    assert_eq!(areas.request, None);
    let text = picture(&state);
    assert!(!text.contains("Alt+a"), "{text}");
    // Back in the composer, the card and its keys are there again.
    press(&mut state, "i");
    assert!(layout(&state, state.size).request.is_some());
    assert!(picture(&state).contains("Alt+a"));
}
