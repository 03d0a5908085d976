//! Custom key bindings: no text on the screen names a key that the user has replaced.

use crate::protocol::AgentEvent;
use crate::protocol::event::TurnEnd;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::fixture::{
    apply_events, blank, name, onboarding_page, picture, press, started_screen,
};
use crate::ui::keymap::{KeyMap, KeyOverrides, TABLE};
use crate::ui::tests::click_targets::{LOOKS, SIZES, crew};
use crate::ui::{UiState, keys};

/// The keys whose name is a word, as the screen shows them.
const NAMED: &[&str] = &[
    "Enter", "Esc", "Tab", "Space", "PgUp", "PgDn", "F1", "F2", "F3",
];

/// Returns a key map in which the screen shows a new key for each action: Alt with a character without upper case. The
/// default keys still work, but are not shown.
fn own() -> KeyMap {
    let mut changes = KeyOverrides::new();
    for bound in KeyMap::default().lines() {
        let place = u32::try_from(changes.len()).unwrap();
        let character = char::from_u32(0x1401 + place).unwrap();
        let mut keys = vec![format!("alt+{character}")];
        keys.extend(bound.keys.iter().cloned());
        changes.entry(bound.name()).or_insert(keys);
    }
    KeyMap::with_overrides(&changes).unwrap()
}

/// Returns the words in `text` that name a default key, each with the word before it.
fn old_keys(text: &str) -> Vec<String> {
    let keys: Vec<&str> = TABLE
        .iter()
        .flat_map(|b| b.keys)
        .copied()
        .filter(|k| {
            k.chars()
                .all(|c| c.is_ascii_alphabetic() || "?@".contains(c))
                && k.len() == 1
        })
        .collect();
    // A text that a popup cuts off touches the border of the popup without a blank. It does not count as a word.
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c == '"')
        .filter(|word| !word.is_empty())
        .map(|word| word.trim_matches([',', '.', ':', ';', '(', ')']))
        .collect();
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let is_chord = word.starts_with("Ctrl+")
            || word.starts_with("Shift+") && *word != "Shift+drag"
            || word.strip_prefix("Alt+").is_some_and(str::is_ascii);
        // `a` and `A` are keys and also English articles.
        let is_article = word.eq_ignore_ascii_case("a") && !before.eq_ignore_ascii_case("press");
        let is_letter = keys.contains(word) && !is_article;
        let is_pane = word.len() == 1 && words.get(at + 1) == Some(&"then");
        if NAMED.contains(word) || is_chord || is_letter || is_pane {
            out.push(format!("{before} {word}"));
        }
    }
    out
}

fn check(state: &UiState, what: &str) {
    assert_eq!(
        old_keys(&picture(state)),
        Vec::<String>::new(),
        "{what}:\n{}",
        picture(state)
    );
}

#[test]
fn check_finds_old_keys() {
    let cases = [
        ("Press i to write, then paste.", vec!["Press i"]),
        ("3, then Enter shows it", vec![" 3", "then Enter"]),
        ("Alt+ḁ shows it; a plan, Shift+drag", vec![]),
        ("once: press a.", vec!["press a"]),
    ];
    for (text, expected) in cases {
        assert_eq!(old_keys(text), expected, "{text}");
    }
}

#[test]
fn no_screen_shows_rebound_key() {
    // The help and the hints for the second key of a sequence list all keys of an action, so they are left out.
    let lists = |look: &str| look.contains('?') || ["f1", "ctrl+x"].contains(&look);
    let looks = LOOKS.iter().filter(|look| !lists(look));
    let own = own();
    for look in looks {
        for size in SIZES {
            let mut state = crew(size, look);
            state.set_keymap(own.clone());
            check(&state, &format!("{size:?} {look}"));
        }
    }
    for keys in [
        "",
        "esc 2",
        "esc 3",
        "esc 4",
        "esc 5",
        "esc 6",
        "esc R",
        "esc b",
        "esc alt+m",
        "esc p",
    ] {
        let mut state = started_screen(160, 45);
        press(&mut state, keys);
        state.set_keymap(own.clone());
        check(&state, keys);
    }
    let mut first = blank(100, 30);
    first.set_keymap(own);
    first.show_onboarding(onboarding_page(PageSeverity::Missing));
    check(&first, "first run");
}

#[test]
fn no_message_shows_rebound_key() {
    let looks = [
        "",
        "esc 1",
        "esc 3",
        "esc 3 v",
        "esc 3 / \"own\" enter",
        "esc 4",
        "esc 5",
        "alt+w",
        "alt+w l l",
    ];
    let own = own();
    let mut said = 0;
    for look in looks {
        let contexts = crew(SIZES[0], look).contexts();
        for line in TABLE.iter().filter(|b| contexts.contains(&b.context)) {
            let Some(key) = line.keys.first() else {
                continue;
            };
            let mut state = crew(SIZES[0], look);
            state.set_keymap(own.clone());
            press(&mut state, key);
            if let Some(message) = &state.status {
                said += 1;
                // A status message may begin with the key that was pressed.
                let pressed = format!("{} ", keys::format_key(key));
                let words = message.text.strip_prefix(&pressed).unwrap_or(&message.text);
                assert_eq!(
                    old_keys(words),
                    Vec::<String>::new(),
                    "{look} {key}: {words}"
                );
            }
        }
    }
    assert!(said > 20, "{said}");
}

#[test]
fn unanswered_and_filter_messages_show_custom_keys() {
    let agent = || name("lead");
    let mut state = started_screen(100, 30);
    state.set_keymap(own());
    let text = "build it";
    let error = "the API key was refused".into();
    let hint = String::new();
    let events = vec![
        AgentEvent::prompt(text).of(agent()),
        AgentEvent::TurnEnded {
            end: TurnEnd::Failed { error, hint },
        }
        .of(agent()),
    ];
    apply_events(&mut state, events);
    let said = state.status.as_ref().map(|f| f.text.clone()).unwrap();
    assert!(said.starts_with("The lead did not answer"), "{said}");
    assert_eq!(old_keys(&said), Vec::<String>::new(), "{said}");
    let mut state = crew(SIZES[0], "esc @ / \"zzz\" enter");
    state.set_keymap(own());
    check(&state, "a filter that lets nothing through");
}
