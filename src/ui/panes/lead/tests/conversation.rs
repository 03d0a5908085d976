//! Actions on the conversation: search, moving between prompts, copying.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::protocol::AgentEvent;
use crate::ui::Effect;
use crate::ui::fixture::{apply_events, busy, picture, press};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::lead::working::working_teammates;
use crate::ui::theme::Theme;
use crate::ui::transcript::Portion;

#[test]
fn search_is_typed_navigated_and_ended() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 1 / \"t\"");
    let all = state
        .model
        .agents
        .get(&state.shown)
        .map(|a| a.transcript.match_position().1);
    let all = all.unwrap();
    assert!(all > 1);
    assert!(picture(&state).contains(&format!("/t 1/{all}")));
    // While the search text is typed, characters are text. After Enter, they are keys again.
    press(&mut state, "backspace \"nN\" ctrl+u \"t\" enter n");
    assert!(picture(&state).contains(&format!("/t 2/{all}")));
    press(&mut state, "N N");
    assert!(picture(&state).contains(&format!("/t {all}/{all}")));
    press(&mut state, "esc");
    assert!(!picture(&state).contains("/t "));
    assert_eq!(state.focus, Focus::Pane(Pane::Lead));
    press(&mut state, "/ \"no such words\"");
    assert!(picture(&state).contains("no match"));
    press(&mut state, "esc n");
    assert!(picture(&state).contains("Press / to search this conversation."));
}

#[test]
fn copy_takes_selection_or_menu_choice() {
    let answer = "I split this into five tasks and spawn three teammates.";
    let copy = |text: &str| vec![Effect::Copy(text.into())];
    let mut state = busy(160, 45);
    let prompt = state.model.agents.get(&state.shown).map(|a| {
        let whole = a.transcript.portion_text(&Portion::Whole).unwrap();
        whole.lines().next().unwrap()[2..].to_string()
    });
    let prompt = prompt.unwrap();
    press(&mut state, "esc 1");
    assert_eq!(press(&mut state, "y"), copy(answer));
    assert_eq!(press(&mut state, "[ y"), copy(&prompt));
    assert_eq!(press(&mut state, "Y enter"), copy(&prompt));
    assert_eq!(press(&mut state, "Y \"last answer\" enter"), copy(answer));
    assert!(state.popups.is_empty());
    // In a replay, the brackets change the speed, so moving between prompts has other keys too.
    assert_eq!(press(&mut state, "f ( y"), copy(&prompt));
    apply_events(
        &mut state,
        vec![
            AgentEvent::AnswerFinished {
                text: "Run\n\n```sh\ncargo test\n```\n\nand\n\n```rust\nfn main() {}\n```".into(),
                thinking: String::new(),
                thought_ms: 0,
            }
            .of(Name::lead()),
        ],
    );
    assert_eq!(
        press(&mut state, "Y \"code: sh\" enter"),
        copy("cargo test\n")
    );
    assert_eq!(
        press(&mut state, "Y \"code\" enter"),
        copy("fn main() {}\n")
    );
    let done = press(&mut state, "Y \"whole\" enter");
    let [Effect::Copy(whole)] = done.as_slice() else {
        panic!("{done:?}");
    };
    assert!(whole.starts_with(&format!("> {prompt}")) && whole.ends_with("fn main() {}\n```"));
}

#[test]
fn working_teammates_are_named_while_no_pane_shows_the_team() {
    for (width, height) in [(80, 24), (60, 16)] {
        let mut state = busy(width, height);
        assert!(picture(&state).contains("alice #3"), "{}", picture(&state));
        // The search is drawn in the same place.
        press(&mut state, "esc 1 / \"t\"");
        assert!(!picture(&state).contains("alice #3"));
    }
    let state = busy(160, 45);
    assert!(!picture(&state).contains("alice #3"));
    let named = |columns| -> String {
        let spans = working_teammates(&state, columns, &Theme::default());
        spans.iter().map(|span| span.content.as_ref()).collect()
    };
    // Bob waits for the user, and carol is idle.
    assert!(named(40).ends_with(" alice #3"), "{}", named(40));
    assert_eq!(named(6), "+1");
}
