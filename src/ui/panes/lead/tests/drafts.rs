//! Each agent has its own draft, so that Enter never sends a draft to another agent.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::protocol::event::TurnEnd;
use crate::protocol::{AgentEvent, Command, CommandId, EventKind};
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::fixture::{apply_events, blank, busy, name, onboarding_page, picture, press, ready};
use crate::ui::{Effect, UiState};

fn message(to: &str, text: &str) -> Effect {
    Effect::Command(Command::prompt(name(to), text))
}

/// Returns the event in which the crew rejects the first command.
fn rejection_event() -> EventKind {
    EventKind::rejection(CommandId(1), "It has shut down.")
}

/// Keys that open the conversation of alice and focus the composer.
const ALICE: &str = "esc 4 g enter i ";

fn shown_draft(state: &UiState) -> (&str, String) {
    (state.shown.as_str(), state.input.composer.text())
}

#[test]
fn each_agent_has_its_own_draft() {
    let mut state = busy(160, 45);
    press(&mut state, "\"to the lead\"");
    press(&mut state, ALICE);
    assert_eq!(shown_draft(&state), ("alice", String::new()));
    assert!(
        picture(&state).contains("draft to lead"),
        "{}",
        picture(&state)
    );
    assert_eq!(press(&mut state, "enter"), []);
    press(&mut state, "\"to alice\" esc esc i");
    assert_eq!(shown_draft(&state), ("lead", "to the lead".into()));
    assert!(picture(&state).contains("draft to alice"));
    assert_eq!(press(&mut state, "enter"), [message("lead", "to the lead")]);
    press(&mut state, ALICE);
    assert_eq!(shown_draft(&state), ("alice", "to alice".into()));
    assert_eq!(press(&mut state, "enter"), [message("alice", "to alice")]);
    assert!(!picture(&state).contains("draft to"));
    // All agents share one history: a message to the lead can be recalled in the conversation of alice.
    press(&mut state, "up up");
    assert_eq!(shown_draft(&state), ("alice", "to the lead".into()));
}

#[test]
fn rejected_message_becomes_draft_of_recipient() {
    // The message is addressed to alice by name, or sent in her conversation.
    for keys in [
        "\"@alice hello\" enter",
        "esc 4 g enter i \"hello\" enter esc esc i",
    ] {
        let mut state = busy(160, 45);
        assert_eq!(press(&mut state, keys), [message("alice", "hello")]);
        apply_events(&mut state, vec![rejection_event()]);
        assert_eq!(shown_draft(&state), ("lead", String::new()), "{keys}");
        let text = picture(&state);
        assert!(
            text.contains("Your message is kept as a draft to alice."),
            "{text}"
        );
        assert_eq!(press(&mut state, "enter"), []);
        press(&mut state, ALICE);
        assert_eq!(shown_draft(&state), ("alice", "hello".into()));
    }
}

#[test]
fn rejected_message_does_not_replace_draft() {
    let mut state = busy(160, 45);
    press(&mut state, ALICE);
    press(&mut state, "\"one\" enter \"two\"");
    apply_events(&mut state, vec![rejection_event()]);
    assert_eq!(shown_draft(&state), ("alice", "two".into()));
    assert!(picture(&state).contains("composer's history"));
    press(&mut state, "up");
    assert_eq!(state.input.composer.text(), "one");
    press(&mut state, "down");
    assert_eq!(state.input.composer.text(), "two");
}

#[test]
fn messages_to_unstarted_crew_become_drafts() {
    let mut state = busy(160, 45);
    press(
        &mut state,
        "\"one\" enter \"@alice two\" enter \"three\" enter",
    );
    state.show_onboarding(onboarding_page(PageSeverity::Missing));
    assert_eq!(shown_draft(&state), ("lead", "one\nthree".into()));
    assert_eq!(state.draft_to(&name("alice")), "two");
    assert!(state.model.queued.is_empty());
}

#[test]
fn unanswered_prompt_becomes_draft_to_lead() {
    let mut state = blank(160, 45);
    apply_events(&mut state, vec![ready()]);
    press(&mut state, "\"build it\" enter");
    let agent = Name::lead();
    let text = "build it".to_string();
    apply_events(&mut state, vec![AgentEvent::prompt(text).of(agent.clone())]);
    state.remember_prompt(&agent, "build it");
    state.open_conversation(&name("alice"));
    let end = TurnEnd::Failed {
        error: "no".into(),
        hint: "try again".into(),
    };
    state.handle_turn_end(&agent, &end);
    assert_eq!(shown_draft(&state), ("alice", String::new()));
    assert_eq!(state.draft_to(&agent), "build it");
}
