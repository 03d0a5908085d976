//! The first page: its keys, when it comes and goes, and that nothing written gets lost.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::protocol::EventKind;
use crate::protocol::event::TurnEnd;
use crate::ui::app::onboarding::{Offer, Weight};
use crate::ui::fixture::{picture, press, started, tell};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Focus;
use crate::ui::{Do, Msg, SETTLE, Seat, UiState, fixture, keys, update};

#[test]
fn the_first_page_does_what_it_offers_and_nothing_else() {
    let mut state = fixture::blank(100, 30);
    state.show_first(fixture::first_page(Weight::Missing));
    assert_eq!(press(&mut state, "enter g m x"), []);
    assert!(state.popups.is_empty());
    assert_eq!(press(&mut state, "d"), [Do::StartDemo]);
    assert_eq!(press(&mut state, "r"), [Do::LookAgain]);
    assert_eq!(press(&mut state, "q"), [Do::Quit]);
}

#[test]
fn behind_a_page_without_a_crew_the_board_is_not_being_read() {
    let mut state = fixture::blank(160, 45);
    state.sit(Seat::Starting);
    assert!(picture(&state).contains("The board is being read"));
    state.show_first(fixture::first_page(Weight::Missing));
    let text = picture(&state);
    assert!(!text.contains("being read"), "{text}");
    assert!(
        text.contains("The board is shown once the crew starts"),
        "{text}"
    );
}

#[test]
fn keys_typed_before_the_approval_page_is_read_go_nowhere() {
    let mut state = fixture::blank(100, 30);
    let approval = || {
        let mut page = fixture::first_page(Weight::Missing);
        let offer = |action| Offer::new(action, "decide");
        page.offers = vec![
            offer(Action::ApproveSettings),
            offer(Action::WithoutSettings),
        ];
        page
    };
    let mut at = state.now;
    let mut key = |state: &mut UiState, after: Duration, name: &str| {
        at = at.after(after);
        update(state, Msg::Key(keys::parse(name).unwrap(), at))
    };
    let soon = SETTLE / 4;
    // What was typed ahead, and a key that repeats, keep the page from being approved until there is a pause.
    let now = state.now;
    state.show_approval(approval(), now);
    for _ in 0..9 {
        assert_eq!(key(&mut state, soon, "a"), []);
        assert_eq!(key(&mut state, soon, "w"), []);
    }
    assert!(picture(&state).contains("Key ignored"));
    // One letter alone approves nothing.
    assert_eq!(key(&mut state, SETTLE, "a"), []);
    assert_eq!(key(&mut state, SETTLE, "d"), []);
    assert_eq!(key(&mut state, SETTLE, "y"), [Do::ApproveSettings]);
    // It comes back, since the file has changed.
    let now = state.now;
    state.show_approval(approval(), now);
    assert_eq!(key(&mut state, soon, "a"), []);
    assert_eq!(key(&mut state, SETTLE, "w"), [Do::WithoutSettings]);
}

#[test]
fn what_is_written_without_a_crew_stays_and_is_no_row_of_keys() {
    let mut state = fixture::blank(100, 30);
    assert_eq!(press(&mut state, "\"gre\""), []);
    state.show_first(fixture::first_page(Weight::Missing));
    assert_eq!(press(&mut state, "\"d dr\" enter"), []);
    assert_eq!(state.composer_text(), "gred dr");
    assert!(picture(&state).contains("it stays here. Esc r: look again"));
    assert_eq!(press(&mut state, "esc r"), [Do::LookAgain]);
    // What was sent before anybody could say that there is no crew comes back.
    let mut state = fixture::blank(100, 30);
    press(&mut state, "\"do it\" enter");
    assert_eq!(state.composer_text(), "");
    state.show_first(fixture::first_page(Weight::Missing));
    assert_eq!(
        (state.composer_text().as_str(), state.model.queued.len()),
        ("do it", 0)
    );
}

#[test]
fn a_form_that_was_sent_before_anybody_could_say_that_there_is_no_crew_is_a_draft_again() {
    let mut state = fixture::blank(100, 30);
    press(&mut state, "esc 3 a \"Draw the map\" enter");
    assert!(!picture(&state).contains("Draw the map"));
    state.show_first(fixture::first_page(Weight::Missing));
    press(&mut state, "3 a");
    assert!(picture(&state).contains("Draw the map"));
}

#[test]
fn the_first_page_goes_with_its_cause_and_covers_no_conversation() {
    let headline = "Something is in the way";
    for weight in [Weight::Trouble, Weight::Advice] {
        let mut state = started(100, 30);
        state.show_first(fixture::first_page(weight));
        // The person may have begun to write: the keys stay where they are.
        assert_eq!(state.focus, Focus::Composer);
        assert!(picture(&state).contains(headline));
        assert!(state.is_at_the_beginning());
        press(&mut state, "\"hello\" enter");
        let agent = fixture::name("lead");
        let text = "hello".into();
        tell(&mut state, vec![EventKind::Prompted { agent, text }]);
        assert!(!picture(&state).contains(headline));
        assert!(!state.is_at_the_beginning());
        assert_eq!(press(&mut state, "esc 1 d r"), []);
    }
    // Another model: what was wrong with the one before is no matter, what git lacks still is.
    let mut state = started(100, 30);
    state.show_first(fixture::first_page(Weight::Advice));
    state.show_first(fixture::first_page(Weight::Trouble));
    press(&mut state, "esc");
    let mut other = fixture::ready();
    if let EventKind::CrewReady(setup) = &mut other {
        setup.model = "another".into();
    }
    tell(&mut state, vec![other]);
    assert_eq!(state.first_page().map(|p| p.weight), Some(Weight::Advice));
    assert_eq!(state.focus, Focus::Composer);
}

#[test]
fn a_first_prompt_that_nobody_answers_comes_back_into_the_composer() {
    let agent = || fixture::name("lead");
    let asked = || EventKind::Prompted {
        agent: agent(),
        text: "build it".into(),
    };
    let failed = || EventKind::TurnEnded {
        agent: agent(),
        end: TurnEnd::Failed {
            error: "the key was refused".into(),
            hint: "Check it.".into(),
        },
    };
    let said = || EventKind::Said {
        agent: agent(),
        text: "Yes.".into(),
        thinking: String::new(),
        thought_ms: 0,
    };
    for (events, typed, expected) in [
        (vec![asked(), failed()], "", "build it"),
        (vec![asked(), failed()], "\"other\"", "other"),
        (vec![asked(), said(), asked(), failed()], "", ""),
    ] {
        let mut state = started(100, 30);
        press(&mut state, typed);
        tell(&mut state, events);
        assert_eq!(state.composer_text(), expected);
    }
}
