//! The setup page: its keys, and when it opens and closes. No typed text is lost.

use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::protocol::event::TurnEnd;
use crate::protocol::{AgentEvent, CrewEvent, EventKind};
use crate::ui::app::onboarding::{OfferedAction, PageSeverity};
use crate::ui::fixture::{apply_events, picture, press, started_screen};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Focus;
use crate::ui::{Effect, Msg, SETTLE, SessionRole, UiState, fixture, keys, update};

#[test]
fn setup_page_runs_only_offered_actions() {
    let mut state = fixture::blank(100, 30);
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Missing));
    assert_eq!(press(&mut state, "enter g m x"), []);
    assert!(state.popups.is_empty());
    assert_eq!(press(&mut state, "d"), [Effect::StartDemo]);
    assert_eq!(press(&mut state, "r"), [Effect::Reload]);
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

#[test]
fn board_is_not_loading_behind_setup_page() {
    let mut state = fixture::blank(160, 45);
    state.set_role(SessionRole::Starting);
    assert!(picture(&state).contains("Loading the board"));
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Missing));
    let text = picture(&state);
    assert!(!text.contains("Loading"), "{text}");
    assert!(
        text.contains("The board is shown once the crew starts"),
        "{text}"
    );
}

#[test]
fn early_keys_on_approval_page_are_ignored() {
    let mut state = fixture::blank(100, 30);
    let approval = || {
        let mut page = fixture::onboarding_page(PageSeverity::Missing);
        let offer = |action| OfferedAction::new(action, "decide");
        page.offers = vec![offer(Action::ApproveSettings), offer(Action::SkipSettings)];
        page
    };
    let mut at = state.now;
    let mut key = |state: &mut UiState, after: Duration, name: &str| {
        at = at.after(after);
        update(state, Msg::Key(keys::parse(name).unwrap(), at))
    };
    let soon = SETTLE / 4;
    // Keys that were typed ahead or are repeated do not approve the page. Keys count again after a pause.
    let now = state.now;
    state.show_approval(approval(), now);
    for _ in 0..9 {
        assert_eq!(key(&mut state, soon, "a"), []);
        assert_eq!(key(&mut state, soon, "w"), []);
    }
    assert!(picture(&state).contains("Key ignored"));
    // The approval takes two keys: one key alone does not approve.
    assert_eq!(key(&mut state, SETTLE, "a"), []);
    assert_eq!(key(&mut state, SETTLE, "d"), []);
    assert_eq!(key(&mut state, SETTLE, "y"), [Effect::ApproveSettings]);
    // The page opens again after a settings file has changed.
    let now = state.now;
    state.show_approval(approval(), now);
    assert_eq!(key(&mut state, soon, "a"), []);
    assert_eq!(key(&mut state, SETTLE, "w"), [Effect::StartWithoutSettings]);
}

#[test]
fn text_typed_without_crew_stays_in_composer() {
    let mut state = fixture::blank(100, 30);
    assert_eq!(press(&mut state, "\"gre\""), []);
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Missing));
    assert_eq!(press(&mut state, "\"d dr\" enter"), []);
    assert_eq!(state.composer_text(), "gred dr");
    assert!(picture(&state).contains("your text stays in the composer. Esc r: check again"));
    assert_eq!(press(&mut state, "esc r"), [Effect::Reload]);
    // A text that was sent before the problem was known returns to the composer.
    let mut state = fixture::blank(100, 30);
    press(&mut state, "\"do it\" enter");
    assert_eq!(state.composer_text(), "");
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Missing));
    assert_eq!(
        (state.composer_text().as_str(), state.model.queued.len()),
        ("do it", 0)
    );
}

#[test]
fn form_sent_before_setup_page_returns_as_draft() {
    let mut state = fixture::blank(100, 30);
    press(&mut state, "esc 3 t \"Draw the map\" enter");
    assert!(!picture(&state).contains("Draw the map"));
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Missing));
    press(&mut state, "3 t");
    assert!(picture(&state).contains("Draw the map"));
}

#[test]
fn setup_page_closes_with_cause_and_hides_no_conversation() {
    let headline = "The server is not ready";
    for weight in [PageSeverity::Trouble, PageSeverity::Advice] {
        let mut state = started_screen(100, 30);
        state.show_onboarding(fixture::onboarding_page(weight));
        // The composer keeps the focus, because the user may be typing.
        assert_eq!(state.focus, Focus::Composer);
        assert!(picture(&state).contains(headline));
        assert!(state.is_at_the_beginning());
        press(&mut state, "\"hello\" enter");
        let agent = fixture::name("lead");
        let text = "hello";
        apply_events(&mut state, vec![AgentEvent::prompt(text).of(agent)]);
        assert!(!picture(&state).contains(headline));
        assert!(!state.is_at_the_beginning());
        assert_eq!(press(&mut state, "esc 1 d r"), []);
    }
    // If the user chooses another model, the page about the earlier model is removed. The page about git stays.
    let mut state = started_screen(100, 30);
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Advice));
    state.show_onboarding(fixture::onboarding_page(PageSeverity::Trouble));
    press(&mut state, "esc");
    let mut other = fixture::ready();
    if let EventKind::Crew(CrewEvent::Ready(setup)) = &mut other {
        setup.model = "another".into();
    }
    apply_events(&mut state, vec![other]);
    assert_eq!(
        state.onboarding_page().map(|p| p.severity),
        Some(PageSeverity::Advice)
    );
    assert_eq!(state.focus, Focus::Composer);
}

#[test]
fn unanswered_first_prompt_returns_to_composer() {
    let agent = || fixture::name("lead");
    let asked = || AgentEvent::prompt("build it").of(agent());
    let failed = || {
        AgentEvent::TurnEnded {
            end: TurnEnd::Failed {
                error: "the API key was refused".into(),
                hint: "Check it.".into(),
            },
        }
        .of(agent())
    };
    let said = || {
        AgentEvent::AnswerFinished {
            text: "Yes.".into(),
            thinking: String::new(),
            thought_ms: 0,
        }
        .of(agent())
    };
    for (events, typed, expected) in [
        (vec![asked(), failed()], "", "build it"),
        (vec![asked(), failed()], "\"other\"", "other"),
        (vec![asked(), said(), asked(), failed()], "", ""),
    ] {
        let mut state = started_screen(100, 30);
        press(&mut state, typed);
        apply_events(&mut state, events);
        assert_eq!(state.composer_text(), expected);
    }
}
