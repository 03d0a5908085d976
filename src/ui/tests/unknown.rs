//! Keys that have no binding where the focus is.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, ModifierKeyCode};
use pretty_assertions::assert_eq;

use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{AgentEvent, EventKind};
use crate::ui::fixture::{apply_events, busy, name, press};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{KeyMap, KeyOverrides};
use crate::ui::{Msg, UiState, update};

/// Returns the status message after `keys`, on a screen with a running crew.
fn said(keys: &str) -> Option<String> {
    let mut state = busy(160, 45);
    press(&mut state, keys);
    state.app.status.map(|message| message.text)
}

#[test]
fn unbound_key_says_where_it_works() {
    let cases = [
        ("esc 4 Z", "Z does nothing here; ? shows the keys."),
        ("esc 4 f7", "F7 does nothing here; ? shows the keys."),
        (
            "esc 4 D",
            "D works in Board (3): show the diff of the task's branch.",
        ),
        ("esc 3 X", "X works in Team (4): kill the teammate."),
        (
            "esc 2 /",
            "/ works in Lead (1), Board (3), Team (4), Inbox (5).",
        ),
        // In a popup, the message does not name panes in which the key works, because their keys do not work now.
        ("esc 3 enter Z", "Z does nothing here; F1 shows the keys."),
        // A text input takes characters as text, so only combinations and function keys can be unknown.
        ("f7", "F7 does nothing here; ? shows the keys."),
        ("z f7", "F7 does nothing here; F1 shows the keys."),
        ("z ctrl+s", "Ctrl+s does nothing here; F1 shows the keys."),
        ("ctrl+x z", "Ctrl+x z does nothing here; ? shows the keys."),
        (
            "alt+p",
            "Alt+p does nothing here: /model chooses another model.",
        ),
        ("ctrl+d", "Ctrl+d does nothing here: /quit quits."),
        ("esc q z", "z does nothing here; F1 shows the keys."),
        ("esc @ z", "z does nothing here; F1 shows the keys."),
    ];
    for (keys, expected) in cases {
        assert_eq!(said(keys).as_deref(), Some(expected), "{keys}");
    }
}

#[test]
fn text_sequences_and_modifiers_are_silent() {
    for keys in [
        "z ctrl+a ctrl+e ctrl+d",
        "ctrl+a alt+b",
        "ctrl+x",
        "esc 3 / f7 z",
        "esc 1 / f7 z",
        "esc 3 enter / f7 z",
        "esc ? / f7 z",
        "esc : f7 z",
        "alt+w c f7 z",
    ] {
        assert_eq!(said(keys), None, "{keys}");
    }
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    let shift = KeyCode::Modifier(ModifierKeyCode::LeftShift);
    let mut release = KeyEvent::new(KeyCode::Char('z'), KeyModifiers::NONE);
    release.kind = KeyEventKind::Release;
    for key in [KeyEvent::new(shift, KeyModifiers::SHIFT), release] {
        let now = Timestamp(state.now.0 + 1.0);
        update(&mut state, Msg::Key(key, now));
        assert_eq!(state.status.as_ref().map(|f| &f.text), None, "{key:?}");
    }
}

#[test]
fn option_symbol_names_the_other_key_once() {
    let mut state = busy(160, 45);
    for (keys, expected) in [
        ("∑", "If Option typed ∑: F2 does the same as Alt+w."),
        ("esc £", "If Option typed £: 3 does the same as Alt+3."),
        (
            "esc i £",
            "If Option typed £: Ctrl+x 3 does the same as Alt+3.",
        ),
    ] {
        let mut state = busy(160, 45);
        press(&mut state, keys);
        let text = state.status.as_ref().map(|f| f.text.clone());
        let text = text.unwrap_or_default();
        assert!(text.starts_with(expected), "{keys}: {text}");
        state.status = None;
        press(&mut state, "ctrl+c ∑");
        let text = state.status.as_ref().map(|f| f.text.clone());
        assert!(text.is_none_or(|t| !t.contains("Option")), "{keys}");
    }
    // The symbol is also typed as text. It is not explained if there is other text before it.
    press(&mut state, "x ∑");
    assert_eq!(state.status.as_ref().map(|f| &f.text), None);
    assert_eq!(state.input.composer.text(), "x∑");
    // A message can begin with one of these characters, so they are explained only if there is a request to decide.
    assert_eq!(said("å"), None);
    assert_eq!(said("¥"), None);
    for (symbol, expected) in [
        ("å", "If Option typed å: /approve does the same as Alt+a."),
        ("®", "If Option typed ®: /reject does the same as Alt+r."),
    ] {
        // Opens the conversation of the agent that waits for the decision.
        let mut state = busy(160, 45);
        press(&mut state, "alt+w o i");
        press(&mut state, symbol);
        let text = state.status.as_ref().map(|f| f.text.clone());
        let text = text.unwrap_or_default();
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(state.input.composer.text(), symbol);
    }
}

#[test]
fn unread_warning_is_kept() {
    let text = |state: &UiState| state.status.as_ref().map(|f| f.text.clone());
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    apply_events(
        &mut state,
        vec![EventKind::notice(NoticeLevel::Warn, "the disk is full")],
    );
    press(&mut state, "z");
    assert_eq!(text(&state).as_deref(), Some("the disk is full"));
    // A less severe notice does not replace this one before the user can have read it.
    let less = || vec![EventKind::notice(NoticeLevel::Info, "alice has shut down")];
    apply_events(&mut state, less());
    assert_eq!(text(&state).as_deref(), Some("the disk is full"));
    let now = Timestamp(state.now.0 + 4.6);
    update(&mut state, Msg::Tick { now });
    apply_events(&mut state, less());
    assert_eq!(text(&state).as_deref(), Some("alice has shut down"));
    let more = EventKind::notice(NoticeLevel::Error, "the key is wrong");
    apply_events(&mut state, vec![more]);
    assert_eq!(text(&state).as_deref(), Some("the key is wrong"));
}

#[test]
fn message_shows_custom_keys() {
    let mut changes = KeyOverrides::new();
    for (name, key) in [
        ("panes.help", "f9"),
        ("panes.focus_board", "b"),
        ("panes.jobs", "f8"),
        ("board.diff", "Z"),
    ] {
        changes.insert(name.into(), vec![key.to_string()]);
    }
    let mut state = busy(160, 45);
    press(&mut state, "esc 4");
    state.set_keymap(KeyMap::with_overrides(&changes).unwrap());
    for (key, expected) in [
        (
            "Z",
            "Z works in Board (b): show the diff of the task's branch.",
        ),
        ("D", "D does nothing here; F9 shows the keys."),
    ] {
        state.status = None;
        press(&mut state, key);
        let text = state.status.as_ref().map(|f| f.text.as_str());
        assert_eq!(text, Some(expected));
    }
}

#[test]
fn keys_recommended_by_problems_page_work_there() {
    let mut state = busy(70, 20);
    apply_events(
        &mut state,
        vec![
            AgentEvent::ActivityChanged {
                activity: Activity::Stuck {
                    why: "ended its turn".into(),
                },
            }
            .of(name("alice")),
        ],
    );
    let cases = [
        ("esc 3 p w", Focus::Pane(Pane::Needs)),
        ("esc 3 p 4", Focus::Pane(Pane::Team)),
        // The pane already has the focus. The key must not make it fill the screen.
        ("esc 4 p 4", Focus::Pane(Pane::Team)),
        ("esc 3 p i", Focus::Composer),
    ];
    for (keys, focus) in cases {
        press(&mut state, keys);
        let now = (state.popups.len(), state.arrangement.zoom, state.focus);
        assert_eq!(now, (0, None, focus), "{keys}");
    }
    // The keys of the pager take precedence. While a search is typed, keys are text.
    press(&mut state, "esc 3 p n");
    assert_eq!(state.popups.len(), 1);
    press(&mut state, "/ \"w4\"");
    assert_eq!(state.popups.len(), 1);
}
