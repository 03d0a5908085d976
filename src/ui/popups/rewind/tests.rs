//! Tests of the checkpoint picker, the rewind dialog, and what the screen shows after a rewind.

use pretty_assertions::assert_eq;

use super::*;
use crate::domain::checkpoint::{ConversationChange, RewindPreview, RewindScope};
use crate::protocol::{AgentEvent, CommandId, EventKind};
use crate::ui::UiState;
use crate::ui::fixture::{
    apply_events, busy, checkpoints_listed, name, picture, popup_kinds, press, preview_event,
    rewind_preview, rewound, started_screen, top_popup,
};
use crate::ui::panes::team::TeamItem;

fn asks_for(agent: &str) -> Vec<Effect> {
    let agent = name(agent);
    vec![Effect::Command(Command::ListCheckpoints { agent })]
}

fn sends(agent: &str, scope: RewindScope) -> Vec<Effect> {
    vec![Effect::Command(Command::Rewind {
        agent: name(agent),
        checkpoint: CheckpointId(15),
        scope,
    })]
}

fn said(state: &UiState) -> &str {
    let message = state.status.as_ref();
    message.map_or("", |message| message.text.as_str())
}

/// A screen with the dialog of the checkpoint 15 of `agent`. The commands so far have the ids 1 and 2.
fn dialog_screen(agent: &str, preview: RewindPreview) -> UiState {
    let mut state = busy(120, 40);
    press(&mut state, &format!("\"/rewind @{agent}\" enter"));
    apply_events(&mut state, vec![checkpoints_listed(agent, "")]);
    let effects = press(&mut state, "enter");
    let show = Command::ShowCheckpoint {
        agent: name(agent),
        checkpoint: CheckpointId(15),
    };
    assert_eq!(effects, [Effect::Command(show)]);
    assert!(picture(&state).contains("Comparing files…"));
    apply_events(&mut state, vec![preview_event(agent, 15, preview)]);
    state
}

#[test]
fn commands_and_keys_ask_for_the_checkpoints() {
    for typed in ["/rewind", "/undo", "/checkpoints"] {
        let mut state = started_screen(120, 35);
        let effects = press(&mut state, &format!("\"{typed}\" enter"));
        assert_eq!(effects, asks_for("lead"), "{typed}");
        assert!(picture(&state).contains("Loading checkpoints…"), "{typed}");
    }
    let mut state = busy(120, 35);
    assert_eq!(
        press(&mut state, "\"/rewind @Alice\" enter"),
        asks_for("alice")
    );
    press(&mut state, "esc");
    assert_eq!(press(&mut state, "\"/rewind zzz\" enter"), []);
    assert_eq!(said(&state), "There is no agent zzz.");
    press(&mut state, "esc 1");
    assert_eq!(press(&mut state, "U"), asks_for("lead"));
    // In the team, the key is about the selected teammate, also while the preview is open.
    press(&mut state, "esc 4");
    state.panes.team.selected = Some(TeamItem::Agent(name("bob")));
    for keys in ["U", "esc space U"] {
        assert_eq!(press(&mut state, keys), asks_for("bob"), "{keys}");
    }
    let mut state = busy(120, 35);
    state.open_conversation(&name("bob"));
    assert_eq!(press(&mut state, "\"/rewind\" enter"), asks_for("bob"));
}

#[test]
fn picker_lists_turns_with_their_steps() {
    let mut state = busy(120, 40);
    press(&mut state, "\"/rewind @alice\" enter");
    // The checkpoints of another agent are not shown.
    apply_events(&mut state, vec![checkpoints_listed("bob", "")]);
    assert!(picture(&state).contains("Loading checkpoints…"));
    apply_events(&mut state, vec![checkpoints_listed("alice", "")]);
    let picker = state.popups.top::<Picker<CheckpointChoices>>().unwrap();
    let rows = picker.rows(&state);
    let rows: Vec<(u64, &str)> = rows
        .iter()
        .map(|row| (row.item.0, row.words.as_str()))
        .collect();
    let expected = [
        (15, "Fix the tests of the parser and run them"),
        (16, "  before edit_file src/header.rs"),
        (17, "  before bash cargo fix --allow-dirty"),
        (14, "before rewind to 9"),
        (9, "Write a parser with tests␛[2J"),
        (12, "  before write_file docs/格式.md"),
        (3, "no prompt"),
    ];
    assert_eq!(rows, expected);
    let effects = press(&mut state, "\"cargo\" enter");
    let checkpoint = CheckpointId(17);
    let agent = name("alice");
    assert_eq!(
        effects,
        [Effect::Command(Command::ShowCheckpoint {
            agent,
            checkpoint
        })]
    );
}

#[test]
fn dialog_sends_what_the_user_chooses() {
    for (key, scope) in [
        ("b", RewindScope::Both),
        ("f", RewindScope::Files),
        ("c", RewindScope::Conversation),
    ] {
        let mut state = dialog_screen("alice", rewind_preview());
        let shown = picture(&state);
        for part in [
            "Rewind alice to checkpoint 15",
            "3 files change:",
            "src/header.rs | 2 +-",
            "2 commits made since then stay on the branch.",
            "Not recorded, so left unchanged: data/big.bin, data/larger.bin,",
            "a␛.bin",
            "whose files change too: carol.",
            "The conversation loses its last 14 messages.",
            "You can undo this",
        ] {
            assert!(shown.contains(part), "no {part}:\n{shown}");
        }
        assert_eq!(press(&mut state, "y enter"), []);
        assert_eq!(press(&mut state, key), sends("alice", scope));
        // The rewind is sent once.
        assert!(picture(&state).contains("Rewinding…"));
        assert_eq!(press(&mut state, "b f c D"), []);
        assert_eq!(top_popup(&state), "RewindDialog");
    }
}

#[test]
fn dialog_offers_only_what_would_change() {
    let files = RewindPreview {
        conversation: None,
        ..rewind_preview()
    };
    let mut state = dialog_screen("alice", files);
    let shown = picture(&state);
    assert!(
        shown.contains("The conversation cannot be rewound"),
        "{shown}"
    );
    assert_eq!(press(&mut state, "b c"), []);
    assert_eq!(press(&mut state, "f"), sends("alice", RewindScope::Files));

    let conversation = RewindPreview {
        conversation: Some(ConversationChange::Removed(1)),
        ..RewindPreview::default()
    };
    let mut state = dialog_screen("alice", conversation);
    assert!(picture(&state).contains("loses its last message."));
    assert_eq!(press(&mut state, "b f D"), []);
    assert_eq!(top_popup(&state), "RewindDialog");
    assert_eq!(
        press(&mut state, "c"),
        sends("alice", RewindScope::Conversation)
    );

    let mut state = dialog_screen("alice", RewindPreview::default());
    assert!(picture(&state).contains("Nothing would change"));
    assert_eq!(press(&mut state, "b f c D"), []);
    press(&mut state, "esc");
    assert_eq!(top_popup(&state), "CheckpointChoices");
}

#[test]
fn diff_opens_above_the_dialog() {
    let mut state = dialog_screen("alice", rewind_preview());
    press(&mut state, "D");
    let kinds = ["CheckpointChoices", "RewindDialog", "DiffPage"];
    assert_eq!(popup_kinds(&state), kinds);
    let shown = picture(&state);
    assert!(
        shown.contains("Rewind of alice to checkpoint 15 · 1/3"),
        "{shown}"
    );
    press(&mut state, "esc");
    assert_eq!(press(&mut state, "f"), sends("alice", RewindScope::Files));
}

#[test]
fn rejections_are_shown_where_the_user_looks() {
    let why = "alice is working: stop it first.";
    let rejection = |id| vec![EventKind::rejection(CommandId(id), why)];
    let mut state = busy(120, 40);
    press(&mut state, "\"/rewind @alice\" enter");
    apply_events(&mut state, rejection(1));
    let shown = picture(&state);
    assert!(
        shown.contains("cannot be listed: alice is working"),
        "{shown}"
    );

    let mut state = busy(120, 40);
    press(&mut state, "\"/rewind @alice\" enter");
    apply_events(&mut state, vec![checkpoints_listed("alice", "")]);
    press(&mut state, "enter");
    apply_events(&mut state, rejection(2));
    let shown = picture(&state);
    assert!(
        shown.contains("cannot be compared: alice is working"),
        "{shown}"
    );

    let mut state = dialog_screen("alice", rewind_preview());
    press(&mut state, "b");
    apply_events(&mut state, rejection(3));
    let shown = picture(&state);
    assert!(
        shown.contains("Not rewound: alice is working: stop it first."),
        "{shown}"
    );
    assert_eq!(press(&mut state, "f"), sends("alice", RewindScope::Files));
}

#[test]
fn rewind_is_reported_and_its_prompt_becomes_a_draft() {
    let prompt = "Fix the tests";
    let mut state = dialog_screen("lead", rewind_preview());
    press(&mut state, "b");
    let prompted = AgentEvent::prompt(prompt).of(Name::lead());
    let done = rewound("lead", 15, RewindScope::Both, &[], prompt);
    apply_events(&mut state, vec![prompted, done]);
    assert_eq!(
        said(&state),
        "Rewound lead to checkpoint 15: 2 files, 9 messages in the conversation. Undo: /rewind, checkpoint 18. The prompt is back in the composer."
    );
    assert_eq!(popup_kinds(&state), Vec::<String>::new());
    assert_eq!(state.input.composer.text(), prompt);
    let lead = state.model.agents.get(&Name::lead()).unwrap();
    assert!(lead.transcript.ends_with("s1-alice.whole-1.jsonl"));
    assert_eq!(lead.last_answer, "");
    let line = state.model.event_log.lines().next_back().unwrap();
    assert_eq!(
        line.words,
        "lead: files and conversation rewound to checkpoint 15: 2 files changed, 9 messages in the conversation. \
         Undo: /rewind, checkpoint 18. Old conversation: .transcripts/s1-alice.whole-1.jsonl"
    );
}

#[test]
fn draft_is_not_replaced_by_a_removed_prompt() {
    let mut state = dialog_screen("lead", rewind_preview());
    press(&mut state, "c");
    state.input.composer.set("my draft");
    let done = rewound("lead", 15, RewindScope::Conversation, &[], "Fix the tests");
    apply_events(&mut state, vec![done]);
    assert_eq!(
        said(&state),
        "Rewound lead to checkpoint 15: 9 messages in the conversation."
    );
    assert_eq!(state.input.composer.text(), "my draft");
}

#[test]
fn skipped_files_stay_on_the_screen() {
    let skipped = ["data/big.bin: changed during the rewind"];
    // Also if the user has closed the dialog in the meantime.
    for keys in ["f", "f esc esc"] {
        let mut state = dialog_screen("alice", rewind_preview());
        press(&mut state, keys);
        let done = rewound("alice", 15, RewindScope::Files, &skipped, "");
        apply_events(&mut state, vec![done]);
        assert_eq!(popup_kinds(&state), ["RewindDialog"], "{keys}");
        let text = "Left unchanged by the rewind: data/big.bin: changed during the rewind";
        assert!(picture(&state).contains(text), "{keys}");
        let alice = state.model.agents.get(&name("alice")).unwrap();
        assert!(alice.transcript.ends_with(text), "{keys}");
        let line = state.model.event_log.lines().next_back().unwrap();
        assert!(
            line.severity.is_trouble() && line.words.contains(text),
            "{line:?}"
        );
        press(&mut state, "esc");
        assert_eq!(top_popup(&state), "", "{keys}");
    }
}

#[test]
fn rewind_of_another_screen_shows_the_restored_conversation() {
    let mut state = started_screen(120, 40);
    let prompt = "Fix the tests";
    let events = vec![
        AgentEvent::prompt("Write a parser").of(Name::lead()),
        AgentEvent::prompt(prompt).of(Name::lead()),
        rewound("lead", 15, RewindScope::Both, &["a: is open"], prompt),
    ];
    apply_events(&mut state, events);
    assert_eq!(said(&state), "");
    assert_eq!(state.input.composer.text(), "");
    assert_eq!(top_popup(&state), "");
    let shown = picture(&state);
    let place = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}\n{shown}"))
    };
    let end = place("files and conversation rewound to checkpoint 15");
    assert!(place("Write a parser") < end);
    assert!(!shown.contains(&format!("› {prompt}")), "{shown}");
}
