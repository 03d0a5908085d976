//! Keys and commands that users of similar programs expect.

use pretty_assertions::assert_eq;

use crate::domain::ids::Name;
use crate::protocol::{AgentEvent, Command};
use crate::ui::fixture::{apply_events, busy, picture, press, started_screen, top_popup};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{KeyMap, SLASH, SLASH_ALIASES, SLASH_ELSEWHERE};
use crate::ui::{Effect, UiState};

fn said(state: &UiState) -> &str {
    state.status.as_ref().map_or("", |message| &message.text)
}

fn hint_line(state: &UiState) -> String {
    let picture = picture(state);
    picture.lines().last().unwrap_or_default().to_string()
}

/// Returns a screen on which the lead and a teammate are working.
fn working_screen(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    apply_events(&mut state, vec![AgentEvent::TurnStarted.of(Name::lead())]);
    state
}

#[test]
fn question_mark_is_help_only_in_an_empty_composer() {
    let mut state = started_screen(160, 45);
    assert!(hint_line(&state).contains("? help"), "{}", picture(&state));
    press(&mut state, "?");
    assert_eq!(top_popup(&state), "HelpPopup");
    assert!(picture(&state).contains("send; answers a pending question"));
    press(&mut state, "esc \"why\" ?");
    assert_eq!(top_popup(&state), "");
    assert_eq!(state.input.composer.text(), "why?");
    assert!(hint_line(&state).contains("F1 help"), "{}", picture(&state));
}

#[test]
fn backslash_before_enter_inserts_a_line_break() {
    let mut state = started_screen(160, 45);
    assert_eq!(press(&mut state, "\"one\\\" enter \"two\""), []);
    assert_eq!(state.input.composer.text(), "one\ntwo");
    // A backslash is kept as text if it is not directly before the cursor when Enter is pressed.
    let effects = press(&mut state, "\"\\ \" enter");
    let [Effect::Command(Command::Prompt { text, .. })] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(text, "one\ntwo\\");
}

#[test]
fn two_interrupts_on_a_draft_do_not_quit_while_agents_work() {
    // While a teammate works and the lead is idle, the first press clears the draft and the second one offers to quit.
    let mut state = busy(160, 45);
    assert_eq!(press(&mut state, "\"a draft\" ctrl+c ctrl+c"), []);
    assert!(said(&state).contains("again to quit"), "{}", said(&state));
    // While the lead works, the first press stops the lead and the second one clears the draft.
    let mut state = working_screen(160, 45);
    let agent = Name::lead();
    let stop = Effect::Command(Command::Interrupt { agent });
    assert_eq!(press(&mut state, "\"a draft\" ctrl+c ctrl+c"), [stop]);
    assert!(
        said(&state).starts_with("Draft cleared"),
        "{}",
        said(&state)
    );
}

#[test]
fn escape_while_the_agent_works_names_the_key_that_stops_it() {
    for (width, height) in [(160, 45), (80, 24)] {
        let mut state = working_screen(width, height);
        assert_eq!(press(&mut state, "esc"), []);
        let line = hint_line(&state);
        let hint = line.find("Ctrl+c stop lead");
        assert!(hint.is_some(), "{line}");
        press(&mut state, "esc");
        let line = hint_line(&state);
        assert!(line.contains("Ctrl+c stop lead"), "{line}");
    }
}

#[test]
fn keys_that_leave_the_composer_by_habit_say_where_they_lead() {
    let mut state = busy(160, 45);
    press(&mut state, "shift+tab");
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    assert!(said(&state).contains("A on a request"), "{}", said(&state));
    // The message is shown only once, and only if the composer had the focus.
    state.status = None;
    press(&mut state, "i shift+tab shift+tab");
    assert_eq!(said(&state), "");
    let mut state = busy(160, 45);
    press(&mut state, "left");
    assert_eq!(state.focus, Focus::Pane(Pane::Team));
    let mut state = busy(160, 45);
    press(&mut state, "\"ab\" left left left \"x\"");
    assert_eq!(state.input.composer.text(), "xab");
}

#[test]
fn output_of_all_tool_calls_opens_and_folds() {
    let mut state = busy(160, 45);
    let folded = picture(&state);
    press(&mut state, "ctrl+o");
    assert_eq!(said(&state), "All tool output is open; Ctrl+o folds it.");
    assert_ne!(picture(&state), folded);
    press(&mut state, "ctrl+o");
    assert_eq!(said(&state), "All tool output is folded; Ctrl+o opens it.");
    press(&mut state, "esc 1 ctrl+o");
    assert_eq!(said(&state), "All tool output is open; Ctrl+o folds it.");
    let mut state = started_screen(160, 45);
    press(&mut state, "ctrl+o");
    assert_eq!(said(&state), "This conversation has no tool output.");
}

#[test]
fn one_key_enlarges_and_restores_a_pane() {
    let mut state = busy(160, 45);
    for (keys, zoom) in [
        ("esc 4 z", Some(Pane::Team)),
        ("z", None),
        ("3 z", Some(Pane::Board)),
        // On the board, these keys zoom the graph and do not change the size of the pane.
        ("+ -", Some(Pane::Board)),
        ("z + -", None),
    ] {
        press(&mut state, keys);
        assert_eq!(state.arrangement.zoom, zoom, "{keys}");
    }
}

#[test]
fn alt_keys_of_the_composer_have_a_sequence() {
    for (keys, focus) in [
        ("ctrl+x 3", Focus::Pane(Pane::Board)),
        ("ctrl+x 5", Focus::Pane(Pane::Inbox)),
        ("esc ctrl+x 5", Focus::Pane(Pane::Inbox)),
        ("ctrl+x w", Focus::Pane(Pane::Needs)),
    ] {
        let mut state = busy(160, 45);
        press(&mut state, keys);
        assert_eq!(state.focus, focus, "{keys}");
    }
    for keys in ["alt+m", "ctrl+x m", "esc 3 alt+m", "esc 1 ctrl+x m"] {
        let mut state = busy(160, 45);
        let effects = press(&mut state, keys);
        assert_eq!(effects, [Effect::Command(Command::ListModels)], "{keys}");
    }
}

#[test]
fn commands_of_similar_programs_are_answered() {
    let tried = [
        "usage",
        "status",
        "copy",
        "diff",
        "agents",
        "tasks",
        "context",
        "permissions",
        "todos",
        "undo",
        "rewind",
        "sessions",
        "continue",
        "keys",
        "config",
        "memory",
        "approvals",
        "vim",
        "login",
        "stats",
        "add-dir ../other",
        "mcp",
        "plan the parser",
        "review",
        "security-review",
        "terminal-setup",
        "effort high",
        "summarize",
        "exit",
    ];
    for word in tried {
        let mut state = busy(160, 45);
        press(&mut state, &format!("\"/{word}\" enter"));
        assert!(
            !said(&state).contains("Unknown"),
            "/{word}: {}",
            said(&state)
        );
    }
    for (typed, expected) in [
        (
            "/contxt",
            "Unknown command /contxt. Type / to see all commands.",
        ),
        ("/modle", "Unknown command /modle. Did you mean /model?"),
        ("/usgae", "Unknown command /usgae. Did you mean /usage?"),
    ] {
        let mut state = busy(160, 45);
        press(&mut state, &format!("\"{typed}\" enter"));
        assert_eq!(said(&state), expected);
    }
}

#[test]
fn alias_runs_its_command_and_not_a_similar_one() {
    for (alias, word) in SLASH_ALIASES {
        let mut by_alias = started_screen(160, 45);
        let mut by_name = started_screen(160, 45);
        let effects = press(&mut by_alias, &format!("\"{alias}\" enter"));
        assert_eq!(
            effects,
            press(&mut by_name, &format!("\"{word}\" enter")),
            "{alias}"
        );
        assert_eq!(picture(&by_alias), picture(&by_name), "{alias}");
    }
}

#[test]
fn pointers_name_keys_that_exist() {
    let map = KeyMap::default();
    let aliases = SLASH_ALIASES.iter().map(|(alias, _)| *alias);
    let others = SLASH_ELSEWHERE
        .iter()
        .flat_map(|(words, _)| words.iter().copied());
    let mut words: Vec<&str> = SLASH.iter().map(|(word, ..)| *word).collect();
    words.extend(aliases.chain(others));
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all, "a command is listed twice");
    for (words, what) in SLASH_ELSEWHERE {
        let text = map.expand_keys(what);
        assert!(!text.contains("no key"), "{words:?}: {text}");
        // The text fits into two rows, the maximum for a status message.
        assert!(text.chars().count() <= 140, "{words:?}: {text}");
    }
}
