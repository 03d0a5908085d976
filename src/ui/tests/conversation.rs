//! The keys of the conversation: search, from prompt to prompt, copying.

use pretty_assertions::assert_eq;

use crate::ui::fixture::{busy, picture, press};
use crate::ui::pane::{Focus, Pane};

#[test]
fn a_search_is_written_kept_gone_through_and_ended() {
    let mut state = busy(160, 45);
    press(&mut state, "esc 1 / \"t\"");
    let all = state
        .agents
        .get(&state.shown)
        .map(|a| a.transcript.found().1);
    let all = all.unwrap();
    assert!(all > 1);
    assert!(picture(&state).contains(&format!("/t 1/{all}")));
    // Letters are text while it is written, and keys again behind Enter.
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
    assert!(picture(&state).contains("/ searches this conversation."));
}
