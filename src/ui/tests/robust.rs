//! Robustness: the UI handles any size, any input and any events, and its memory use is bounded.

use crossterm::event::{KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;

use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::{AgentEvent, Event, EventKind, TeamEvent};
use crate::ui::app::popup::POPUPS_MAX;
use crate::ui::fixture::{
    after_events, apply_events, blank, busy, busy_events, name, odd_events, picture, press,
};
use crate::ui::model::QUEUED_MAX;
use crate::ui::model::event_log::LINES_MAX;
use crate::ui::model::messages::MESSAGES_MAX;
use crate::ui::shell::hit_test;
use crate::ui::tests::click_targets::{LOOKS, crew};
use crate::ui::widgets::composer::COMPOSER_MAX;
use crate::ui::{Msg, UiState, fixture, keymap, keys, next_tick, update};

#[test]
fn every_size_is_drawn() {
    let popups = [
        "",
        "esc ?",
        "ctrl+p",
        "alt+w c",
        "esc 3 enter",
        "esc q",
        "esc 3 3",
        "esc 6 j",
        "esc S",
    ];
    for keys in popups {
        let mut state = busy(160, 45);
        apply_events(&mut state, odd_events());
        press(&mut state, keys);
        for width in [1, 2, 9, 40, 59, 60, 61, 99, 100, 139, 140, 141, 200] {
            for height in [1, 2, 3, 5, 9, 15, 16, 17, 24, 45, 60] {
                update(&mut state, Msg::Resize(width, height));
                picture(&state);
            }
        }
    }
    let mut first = blank(1, 1);
    first.show_onboarding(crate::ui::fixture::onboarding_page(
        crate::ui::app::onboarding::PageSeverity::Missing,
    ));
    for width in 1..100 {
        update(&mut first, Msg::Resize(width, width / 3 + 1));
        picture(&first);
    }
}

#[test]
fn same_events_give_same_screen() {
    for (width, height) in [(160, 45), (100, 30), (60, 16)] {
        let one = after_events(width, height, odd_events());
        let two = after_events(width, height, odd_events());
        assert_eq!(picture(&one), picture(&two));
    }
}

#[test]
fn idle_screen_needs_no_redraw_or_tick() {
    let mut state = fixture::started_screen(160, 45);
    assert!(state.take_dirty());
    for second in 1..100 {
        update(
            &mut state,
            Msg::Tick {
                now: Timestamp(fixture::NOON + f64::from(second)),
            },
        );
        assert!(!state.take_dirty());
    }
    assert_eq!(next_tick(&state), None);
    let at_work = AgentEvent::ActivityChanged {
        activity: Activity::Thinking,
    }
    .of(name("lead"));
    apply_events(&mut state, vec![at_work]);
    state.take_dirty();
    assert!(next_tick(&state).is_some());
    let now = Timestamp(state.now.0 + 0.2);
    update(&mut state, Msg::Tick { now });
    assert!(state.take_dirty());
}

#[test]
fn status_message_expires() {
    let mut state = fixture::started_screen(160, 45);
    press(&mut state, "esc w");
    let wait = next_tick(&state).unwrap();
    state.take_dirty();
    let now = state.now.after(wait);
    update(&mut state, Msg::Tick { now });
    assert!(state.take_dirty());
    assert_eq!(next_tick(&state), None);
}

#[test]
fn hidden_text_needs_no_redraw() {
    let mut state = busy(160, 45);
    state.take_dirty();
    let delta = |agent: &str| AgentEvent::TextDelta { text: "x".into() }.of(name(agent));
    apply_events(&mut state, vec![delta("bob")]);
    assert!(!state.take_dirty());
    apply_events(&mut state, vec![delta("lead")]);
    assert!(state.take_dirty());
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let bound: Vec<KeyEvent> = keymap::TABLE
        .iter()
        .flat_map(|b| b.keys)
        .flat_map(|k| k.split(' '))
        .map(|k| keys::parse(k).unwrap())
        .collect();
    prop_oneof![
        3 => prop::sample::select(bound),
        1 => any::<char>().prop_map(|c| KeyEvent::new(
            crossterm::event::KeyCode::Char(c),
            KeyModifiers::NONE
        )),
    ]
}

/// Generates any mouse event, including drags without a press and cells outside the screen.
fn any_mouse() -> impl Strategy<Value = Msg> {
    let buttons = [MouseButton::Left, MouseButton::Right, MouseButton::Middle];
    let mut kinds = vec![
        MouseEventKind::ScrollUp,
        MouseEventKind::ScrollDown,
        MouseEventKind::ScrollLeft,
        MouseEventKind::ScrollRight,
        MouseEventKind::Moved,
    ];
    kinds.extend(buttons.map(MouseEventKind::Down));
    kinds.extend(buttons.map(MouseEventKind::Up));
    kinds.extend(buttons.map(MouseEventKind::Drag));
    // Makes the left button the most frequent one in presses and drags.
    kinds.extend([MouseEventKind::Down(MouseButton::Left); 6]);
    kinds.extend([MouseEventKind::Drag(MouseButton::Left); 4]);
    let modifiers = vec![
        KeyModifiers::NONE,
        KeyModifiers::SHIFT,
        KeyModifiers::CONTROL,
    ];
    let far = || prop_oneof![20 => 0u16..170, 1 => any::<u16>()];
    let kind = prop::sample::select(kinds);
    (kind, far(), far(), prop::sample::select(modifiers)).prop_map(
        |(kind, column, row, modifiers)| {
            Msg::Mouse(MouseEvent {
                kind,
                column,
                row: if row < 170 { row % 48 } else { row },
                modifiers,
            })
        },
    )
}

fn any_msg() -> impl Strategy<Value = Msg> {
    let events = odd_events();
    prop_oneof![
        8 => (any_key(), 0.0..9.0f64).prop_map(|(key, s)| Msg::Key(key, Timestamp(fixture::NOON + s))),
        6 => (prop::sample::select(events), 0.0..9.0f64).prop_map(|(kind, s)| Msg::Event(Event {
            seq: 1,
            at: Timestamp(fixture::NOON + s),
            kind,
        })),
        1 => ".{0,40}".prop_map(Msg::Paste),
        1 => ".{0,40}".prop_map(Msg::Edited),
        1 => (0u16..220, 0u16..70).prop_map(|(w, h)| Msg::Resize(w, h)),
        1 => any_mouse(),
        1 => any::<f64>().prop_map(|now| Msg::Tick { now: Timestamp(now) }),
    ]
}

fn assert_bounded(state: &UiState) {
    assert!(state.model.messages.len() <= MESSAGES_MAX);
    assert!(state.model.event_log.len() <= LINES_MAX);
    assert!(state.model.queued.len() <= QUEUED_MAX);
    assert!(state.popups.len() <= POPUPS_MAX);
    assert!(state.composer_text().len() <= COMPOSER_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_mouse_input_is_handled(
        size in prop::sample::select(vec![(160u16, 45u16), (100, 30), (70, 20), (60, 16), (20, 5)]),
        look in prop::sample::select(LOOKS.to_vec()),
        msgs in prop::collection::vec(any_mouse(), 0..60),
    ) {
        let mut state = crew((160, 45), look);
        update(&mut state, Msg::Resize(size.0, size.1));
        for msg in msgs {
            update(&mut state, msg);
        }
        assert_bounded(&state);
        picture(&state);
        for found in hit_test::targets(&state) {
            prop_assert_eq!(found.at.intersection(state.size), found.at);
        }
    }

    #[test]
    fn any_input_is_handled(msgs in prop::collection::vec(any_msg(), 0..120)) {
        let mut state = after_events(120, 40, busy_events());
        for msg in msgs {
            update(&mut state, msg);
        }
        assert_bounded(&state);
        if state.size.width > 0 && state.size.height > 0 {
            picture(&state);
        }
        next_tick(&state);
    }
}

#[test]
fn flood_of_events_is_bounded() {
    let mut state = blank(100, 30);
    for i in 0..2_000 {
        let kind = match i % 3 {
            0 => EventKind::notice(crate::protocol::event::NoticeLevel::Warn, "again"),
            1 => EventKind::Team(TeamEvent::MessageMoved {
                message: fixture::mail_message(
                    &i.to_string(),
                    crate::domain::mail::MailKind::Message,
                    "lead",
                    "bob",
                    "x",
                ),
                step: crate::protocol::event::DeliveryState::Sent,
            }),
            _ => EventKind::Team(TeamEvent::RequestChanged {
                request: fixture::plan(&i.to_string(), "p"),
            }),
        };
        apply_events(&mut state, vec![kind]);
    }
    assert_bounded(&state);
    assert!(state.model.requests.len() <= crate::ui::model::requests::WAITING_MAX);
}

#[test]
fn all_events_are_read_as_written() {
    for kind in odd_events() {
        let event = Event {
            seq: 7,
            at: Timestamp(1.5),
            kind,
        };
        let line = serde_json::to_string(&event).unwrap();
        let read: Event = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        let kind = serde_json::to_value(&event.kind).unwrap();
        let tag = &kind["type"];
        let mut head = format!(r#"{{"seq":7,"at":1.5,"type":{tag}"#);
        if let EventKind::Agent { agent, .. } = &event.kind {
            head.push_str(&format!(r#","agent":"{agent}""#));
        }
        assert!(line.starts_with(&head), "{line}");
        let read: EventKind = serde_json::from_value(kind.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), kind);
    }
}
