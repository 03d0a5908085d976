//! Answering a question from the composer.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::domain::request::{Request, RequestStatus, Verdict};
use crate::domain::team::MemberStatus;
use crate::domain::timestamp::Timestamp;
use crate::protocol::{Command, CommandId, EventKind};
use crate::ui::fixture::{
    after_events, apply_events, busy, decision, name, picture, press, question, ready,
    request_event, started_screen, team_event,
};
use crate::ui::{Effect, Msg, SessionRole, UiState, keys, update};

/// Returns a question from the lead.
fn lead_question(id: &str, choices: &[&str]) -> Request {
    let mut request = question(id, choices);
    request.from = Name::lead();
    request.target = Name::lead();
    request.task = None;
    request.body = "Which database shall it use?".into();
    request
}

fn decision_event(request: &Request, status: RequestStatus, by: &str, comment: &str) -> EventKind {
    let mut request = request.clone();
    request.status = status;
    request.decided_by = by.into();
    request.comment = comment.into();
    request_event(&request)
}

/// Returns a screen with a team, on which the pane "Needs you" shows the first of `requests`.
fn screen_with_requests(requests: &[Request]) -> UiState {
    let mut state = after_events(160, 45, vec![ready(), team_event()]);
    apply_events(&mut state, requests.iter().map(request_event).collect());
    state
}

fn answers(request: &Request, words: &str) -> Effect {
    decision(request, Verdict::Approve, words)
}

fn message(to: &str, text: &str) -> Effect {
    Effect::Command(Command::prompt(name(to), text))
}

#[test]
fn enter_answers_open_question() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    let text = picture(&state);
    assert!(
        text.contains("answer to lead: Which database shall it use?"),
        "{text}"
    );
    assert!(text.contains("@lead … sends a message"), "{text}");
    assert_eq!(
        press(&mut state, "\"SQLite it is\" enter"),
        [answers(&asked, "SQLite it is")]
    );
    assert_eq!(state.input.composer.text(), "");
    assert!(state.model.queued.is_empty());
    let approved = decision_event(&asked, RequestStatus::Approved, "user", "SQLite it is");
    apply_events(&mut state, vec![approved]);
    let text = picture(&state);
    assert!(
        text.contains("lead received your answer: SQLite it is"),
        "{text}"
    );
    assert!(!text.contains("answer to lead"), "{text}");
    // After the answer, the next text is sent as a message.
    assert_eq!(
        press(&mut state, "\"thanks\" enter"),
        [message("lead", "thanks")]
    );
}

#[test]
fn number_in_composer_answers_with_that_choice() {
    for (keys, expected) in [
        ("2 enter", "Postgres"),
        ("\"Postgres\" enter", "Postgres"),
        ("3 enter", "3"),
        ("0 enter", "0"),
        ("space 2 enter", "Postgres"),
        ("\" 2 of them\" enter", "2 of them"),
        (
            "\"2 replicas with failover\" enter",
            "2 replicas with failover",
        ),
        ("\"2pm\" enter", "2pm"),
        ("\"02\" enter", "02"),
        ("\"+2\" enter", "+2"),
    ] {
        let asked = lead_question("q1", &["SQLite", "Postgres"]);
        let mut state = screen_with_requests(std::slice::from_ref(&asked));
        let text = picture(&state);
        assert!(text.contains("1 SQLite · 2 Postgres"), "{text}");
        assert_eq!(
            press(&mut state, keys),
            [answers(&asked, expected)],
            "{keys}"
        );
        assert_eq!(state.input.composer.text(), "", "{keys}");
    }
}

#[test]
fn own_answer_can_begin_with_the_number_of_a_choice() {
    let asked = lead_question("q1", &["SQLite", "Postgres"]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    assert_eq!(press(&mut state, "2"), []);
    assert_eq!(state.input.composer.text(), "2");
    assert_eq!(
        press(&mut state, "\" files\" enter"),
        [answers(&asked, "2 files")]
    );
}

#[test]
fn text_addressed_by_name_is_a_message_not_an_answer() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    assert_eq!(
        press(&mut state, "\"@lead wait a moment\" enter"),
        [message("lead", "wait a moment")]
    );
    let text = picture(&state);
    assert!(text.contains("Its question is still open"), "{text}");
    assert!(text.contains("answer to lead"), "{text}");
}

#[test]
fn slash_commands_work_while_question_is_open() {
    let mut state = screen_with_requests(&[lead_question("q1", &[])]);
    assert_eq!(press(&mut state, "\"/help\" enter"), []);
    assert!(picture(&state).contains("Keys"), "{}", picture(&state));
    assert!(!state.model.requests.is_empty());
}

#[test]
fn open_questions_are_answered_oldest_first() {
    let (one, mut two) = (lead_question("q1", &[]), lead_question("q2", &[]));
    two.created_at.0 += 60.0;
    two.body = "And which port?".into();
    let mut state = screen_with_requests(&[two.clone(), one.clone()]);
    // The pane "Needs you" still shows the other question, so the card above the composer shows this one.
    let text = picture(&state);
    for words in [
        "answer 1 of 2 to lead ──",
        "◆ lead asks you ──",
        "  Which database shall it",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(
        press(&mut state, "\"SQLite\" enter"),
        [answers(&one, "SQLite")]
    );
    assert!(picture(&state).contains("answer to lead: And which port?"));
    assert_eq!(press(&mut state, "\"80\" enter"), [answers(&two, "80")]);
}

#[test]
fn message_to_shown_agent_does_not_answer_other_agent() {
    let alices = question("q1", &[]);
    let mut state = busy(160, 45);
    apply_events(&mut state, vec![request_event(&alices)]);
    assert_eq!(
        press(&mut state, "\"go on\" enter"),
        [message("lead", "go on")]
    );
    // After a message to the agent by name, the status message says that its question is still open.
    assert_eq!(
        press(&mut state, "\"@alice hello\" enter"),
        [message("alice", "hello")]
    );
    assert!(picture(&state).contains("Its question is still open"));
    // In the conversation of the agent that asks, text without a name is the answer.
    press(&mut state, "esc 4 enter i");
    assert_eq!(state.shown, name("alice"));
    assert_eq!(
        press(&mut state, "\"version 2\" enter"),
        [answers(&alices, "version 2")]
    );
    let status = state.model.team.find(&name("alice")).map(|m| m.status);
    assert_eq!(status, Some(MemberStatus::Working));
}

#[test]
fn draft_started_before_question_is_not_sent_as_answer() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(&[]);
    press(&mut state, "\"add a test\"");
    apply_events(&mut state, vec![request_event(&asked)]);
    assert_eq!(press(&mut state, "enter"), []);
    let text = picture(&state);
    assert!(
        text.contains("Not sent yet: lead now asks a question."),
        "{text}"
    );
    assert_eq!(state.input.composer.text(), "add a test");
    // The second press of a double press sends nothing.
    let soon = Timestamp(state.now.0 + 0.2);
    let enter = keys::parse("enter").unwrap();
    assert_eq!(update(&mut state, Msg::Key(enter, soon)), []);
    assert_eq!(press(&mut state, "enter"), [answers(&asked, "add a test")]);
}

#[test]
fn withdrawn_question_keeps_typed_answer_as_draft() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    press(&mut state, "\"SQLite\"");
    let withdrawn = decision_event(&asked, RequestStatus::Withdrawn, "lead", "");
    apply_events(&mut state, vec![withdrawn]);
    let text = picture(&state);
    assert!(text.contains("lead's question was withdrawn"), "{text}");
    assert_eq!(state.input.composer.text(), "SQLite");
    assert_eq!(press(&mut state, "enter"), []);
    assert!(picture(&state).contains("lead's question is closed."));
    assert_eq!(press(&mut state, "enter"), [message("lead", "SQLite")]);
}

#[test]
fn late_answer_returns_as_draft() {
    let asked = lead_question("q1", &[]);
    let others = decision_event(&asked, RequestStatus::Rejected, "lead", "");
    let own_window = decision_event(&asked, RequestStatus::Approved, "user", "Postgres");
    let refused = EventKind::rejection(
        CommandId(1),
        "request q1 was already approved by user: nothing changed",
    );
    let orders = [
        vec![refused.clone()],
        vec![others.clone()],
        vec![others, refused.clone()],
        vec![own_window.clone(), refused.clone()],
        vec![refused, own_window],
    ];
    for events in orders {
        let mut state = screen_with_requests(std::slice::from_ref(&asked));
        press(&mut state, "\"SQLite\" enter");
        assert_eq!(state.input.composer.text(), "");
        apply_events(&mut state, events.clone());
        assert_eq!(state.input.composer.text(), "SQLite", "{events:?}");
        let text = picture(&state);
        assert!(!text.contains("received your answer"), "{text}");
    }
}

#[test]
fn answer_in_popup_survives_closed_question() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    press(&mut state, "alt+w c \"SQLite\"");
    let withdrawn = decision_event(&asked, RequestStatus::Withdrawn, "lead", "");
    apply_events(&mut state, vec![withdrawn.clone()]);
    assert!(state.popups.is_empty());
    assert_eq!(state.input.composer.text(), "SQLite");
    assert!(picture(&state).contains("What you wrote is back in the composer."));
    // The text is also restored if the question is withdrawn while the text is open in an editor.
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    press(&mut state, "alt+w e");
    apply_events(&mut state, vec![withdrawn]);
    update(&mut state, Msg::Edited("Postgres\n".into()));
    assert_eq!(state.input.composer.text(), "Postgres");
    assert!(picture(&state).contains("What you wrote is back in the composer."));
}

#[test]
fn viewer_answers_from_composer_while_crew_runs() {
    let asked = lead_question("q1", &[]);
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    state.set_role(SessionRole::Viewer(Some(4711)));
    assert_eq!(
        press(&mut state, "\"SQLite\" enter"),
        [answers(&asked, "SQLite")]
    );
    // Without a crew, text is not an answer: it can only be sent to the inbox.
    let mut state = screen_with_requests(std::slice::from_ref(&asked));
    state.set_role(SessionRole::NoCrew);
    assert!(!picture(&state).contains("answer to lead"));
    press(&mut state, "x backspace");
    assert_eq!(
        press(&mut state, "\"SQLite\" enter"),
        [message("lead", "SQLite")]
    );
}

#[test]
fn answering_title_fits_every_width() {
    for (width, height) in [(160, 45), (120, 30), (80, 24), (60, 16)] {
        let mut state = started_screen(width, height);
        let mut asked = lead_question("q1", &["SQLite", "Postgres"]);
        asked.body = "Which database shall it use? ".repeat(20);
        apply_events(&mut state, vec![request_event(&asked)]);
        let text = picture(&state);
        // The question is in the title of the composer or on the card above it.
        let shown = ["answer to lead: Which data", "◆ lead asks you ──"];
        let title = text.lines().find(|l| shown.iter().any(|s| l.contains(s)));
        assert!(title.is_some(), "{width}x{height}: {text}");
        assert!(text.contains("own answer"), "{text}");
    }
}
