//! Choices of a question that are not in view.

use pretty_assertions::assert_eq;

use super::tests::screen_with_requests;
use crate::domain::ids::Name;
use crate::domain::request::{Request, Verdict};
use crate::protocol::{EventKind, TeamEvent};
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::fixture::{apply_events, busy, decision, picture, press, question};
use crate::ui::keymap::pane::{Focus, Pane};

/// Returns a question of the lead with six long choices and a long text.
fn question_with_long_choices(lines: usize) -> Request {
    let choices: Vec<String> = (1..=6)
        .map(|n| {
            format!("plan {n}: {}", "a choice of many words ".repeat(8))
                .trim()
                .into()
        })
        .collect();
    let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
    let mut asked = question("q1", &choices);
    asked.from = Name::lead();
    asked.target = Name::lead();
    let text: Vec<String> = (1..=lines)
        .map(|n| format!("line {n} of the text"))
        .collect();
    asked.body = text.join("\n");
    asked
}

#[test]
fn six_choices_leave_room_for_the_text_of_the_question() {
    let mut asked = question_with_long_choices(6);
    asked.choices = (1..=6).map(|n| format!("plan {n}")).collect();
    let mut state = busy(100, 30);
    let id = asked.id.clone();
    let changed = TeamEvent::RequestChanged { request: asked };
    apply_events(&mut state, vec![EventKind::Team(changed)]);
    state.ask_panes(PaneRequest::SelectRequest(id));
    press(&mut state, "esc");
    let text = picture(&state);
    assert!(text.contains("line 4 of the text"), "{text}");
    assert!(text.contains("6  plan 6"), "{text}");
}

#[test]
fn digit_of_a_hidden_choice_scrolls_to_it_instead_of_choosing() {
    let asked = question_with_long_choices(30);
    let last = decision(&asked, Verdict::Approve, &asked.choices[5]);
    for (width, height) in [(100, 20), (80, 24)] {
        let mut state = screen_with_requests(width, height, vec![asked.clone()]);
        assert_eq!(press(&mut state, "alt+w 6"), [], "{width}x{height}");
        let text = picture(&state);
        assert!(text.contains("6  plan 6"), "{text}");
        assert!(text.contains("Choice 6 was not visible."), "{text}");
        assert_eq!(
            press(&mut state, "6"),
            std::slice::from_ref(&last),
            "{width}x{height}"
        );
    }
}

#[test]
fn typed_number_of_a_hidden_choice_shows_the_choice_first() {
    let asked = question_with_long_choices(30);
    let last = decision(&asked, Verdict::Approve, &asked.choices[5]);
    let mut state = screen_with_requests(80, 24, vec![asked]);
    assert!(!picture(&state).contains("6  plan 6"));
    assert_eq!(press(&mut state, "6 enter"), []);
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    assert_eq!(press(&mut state, "6"), []);
    assert_eq!(press(&mut state, "6"), [last]);
}

#[test]
fn card_of_a_question_uses_the_blank_rows_of_the_conversation() {
    for (width, height, lines) in [(120, 35, 16), (80, 24, 10)] {
        let mut asked = question_with_long_choices(lines);
        asked.choices = vec!["yes".into(), "no".into()];
        let state = screen_with_requests(width, height, vec![asked]);
        let text = picture(&state);
        assert!(
            text.contains(&format!("line {lines} of the text")),
            "{text}"
        );
        assert!(!text.contains("show all"), "{text}");
    }
}
