//! What waits for the person: what each key does to each card, and how the cards look.

use pretty_assertions::assert_eq;

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decision, Request, Verdict};
use crate::protocol::{Command, EventKind};
use crate::ui::fixture::{picture, plan, press, question, started, tell};
use crate::ui::{Do, Msg, UiState, update};

fn waiting(width: u16, height: u16, requests: Vec<Request>) -> UiState {
    let mut state = started(width, height);
    let told = requests.into_iter();
    let told = told.map(|request| EventKind::RequestChanged { request });
    tell(&mut state, told.collect());
    state
}

fn decision(request: &Request, verdict: Verdict, comment: &str) -> Do {
    Do::Command(Command::Decide(Decision {
        id: request.id.clone(),
        kind: request.kind,
        target: request.target.clone(),
        verdict,
        by: Name::user(),
        comment: comment.into(),
    }))
}

#[test]
fn a_question_is_answered_by_number_in_words_or_not_at_all() {
    let (yes, no) = (Verdict::Approve, Verdict::Reject);
    let asked = question("q1", &["version 1", "version 2"]);
    let cases: Vec<(&str, Vec<Do>)> = vec![
        ("alt+w 2", vec![decision(&asked, yes, "version 2")]),
        ("alt+w 1 2", vec![decision(&asked, yes, "version 1")]),
        ("alt+w 3", vec![]),
        ("alt+w a", vec![]),
        ("alt+w r", vec![decision(&asked, no, "")]),
        (
            "alt+w c \"both 1 and 2\" enter",
            vec![decision(&asked, yes, "both 1 and 2")],
        ),
        ("alt+w c enter", vec![]),
        ("alt+w c \"both\" esc", vec![]),
        ("\"2\"", vec![]),
        ("esc 2", vec![]),
    ];
    for (keys, expected) in cases {
        let mut state = waiting(160, 45, vec![asked.clone()]);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
    }
}

#[test]
fn numbers_are_panes_where_there_is_nothing_to_choose() {
    let asked = question("q1", &[]);
    let mut state = waiting(160, 45, vec![asked.clone()]);
    assert_eq!(press(&mut state, "alt+w 3"), []);
    assert_eq!(state.focus.pane(), crate::ui::pane::Pane::Board);
    let answered = decision(&asked, Verdict::Approve, "the newest");
    assert_eq!(
        press(&mut state, "w c \"the newest\" enter"),
        [answered],
        "{}",
        picture(&state)
    );
}

#[test]
fn a_plan_goes_to_the_editor_and_comes_back_as_the_comment() {
    let asked = plan("r1", "1. read\n2. write");
    let mut state = waiting(100, 30, vec![asked.clone()]);
    assert_eq!(press(&mut state, "alt+w e"), [Do::EditComposer]);
    assert_eq!(
        state.composer_text(),
        "The plan as I want it:\n\n1. read\n2. write"
    );
    update(&mut state, Msg::Edited("1. write\n".into()));
    let expected = decision(&asked, Verdict::Reject, "1. write");
    assert_eq!(press(&mut state, "enter r"), [expected]);
    assert_eq!(state.composer_text(), "");
}

#[test]
fn a_question_does_not_take_the_answer_to_another() {
    let (one, mut two) = (question("q1", &["a", "b"]), question("q2", &["c", "d"]));
    two.created_at.0 += 60.0;
    let mut state = waiting(100, 30, vec![one.clone(), two.clone()]);
    press(&mut state, "alt+w 2");
    let mut done = one;
    done.status = crate::domain::request::RequestStatus::Approved;
    tell(
        &mut state,
        vec![EventKind::RequestChanged { request: done }],
    );
    let key = crate::ui::keys::parse("2").unwrap();
    let soon = crate::domain::stamp::Stamp(state.now.0 + 0.1);
    assert_eq!(update(&mut state, Msg::Key(key, soon)), []);
    assert_eq!(
        press(&mut state, "2"),
        [decision(&two, Verdict::Approve, "d")]
    );
    assert_eq!(state.selected.request, Some(RequestId("q2".into())));
}

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (60, 16)];

#[test]
fn cards_of_questions() {
    let six = [
        "Version 1, which every reader knows",
        "Version 2, with checksums",
        "Version 2 without checksums, which is faster to write and a little harder to debug when a disk goes bad",
        "Both, by an option",
        "四号格式 👍",
        "None of these",
    ];
    for (width, height) in SIZES {
        let mut state = waiting(width, height, vec![question("q1", &six)]);
        press(&mut state, "alt+w");
        insta::assert_snapshot!(format!("question_{width}x{height}"), picture(&state));
        let mut state = waiting(width, height, vec![question("q1", &[])]);
        press(&mut state, "alt+w c \"The second, please.\"");
        insta::assert_snapshot!(format!("question_words_{width}x{height}"), picture(&state));
    }
}
