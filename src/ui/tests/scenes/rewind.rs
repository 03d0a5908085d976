//! Scenes of the checkpoint picker and the rewind dialog.

use crate::domain::checkpoint::{ConversationChange, RewindPreview, RewindScope};
use crate::protocol::{AgentEvent, CommandId, EventKind};
use crate::ui::UiState;
use crate::ui::fixture::{
    apply_events, busy, checkpoints_listed, name, press, preview_event, rewind_preview, rewound,
};
use crate::ui::tests::scenes::{SIZES, Scene, Shows};

/// The usual sizes and the smallest window.
const DIALOG_SIZES: [(u16, u16); 4] = [SIZES[0], SIZES[1], SIZES[2], (60, 16)];

/// Returns a screen on which the user has asked for the checkpoints of alice, after `events`.
fn asked(width: u16, height: u16, events: Vec<EventKind>) -> UiState {
    let mut state = busy(width, height);
    press(&mut state, "\"/rewind @alice\" enter");
    apply_events(&mut state, events);
    state
}

fn picker(name: &str, events: fn() -> Vec<EventKind>, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = asked(width, height, events());
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with the dialog of the checkpoint 15, after `preview` has arrived and `keys` were pressed.
fn dialog(name: &str, preview: fn() -> RewindPreview, keys: &'static str) -> Scene {
    dialog_after(name, preview, keys, Vec::new)
}

/// Like `dialog`, with `events` after the keys.
fn dialog_after(
    name: &str,
    preview: fn() -> RewindPreview,
    keys: &'static str,
    events: fn() -> Vec<EventKind>,
) -> Scene {
    let scene = Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = asked(width, height, vec![checkpoints_listed("alice", "")]);
        press(&mut state, "enter");
        apply_events(&mut state, vec![preview_event("alice", 15, preview())]);
        press(&mut state, keys);
        apply_events(&mut state, events());
        state
    });
    scene.at(&DIALOG_SIZES)
}

fn none_listed(off: &str) -> Vec<EventKind> {
    let (checkpoints, off) = (Vec::new(), off.into());
    vec![AgentEvent::CheckpointsListed { checkpoints, off }.of(name("alice"))]
}

/// A preview of many files, of which some have long names.
fn many_files() -> RewindPreview {
    let mut stat = String::new();
    for n in 1..=40 {
        let path = "a_long_name/".repeat(n % 9);
        stat.push_str(&format!(" {path}file_{n}.rs | {n} ++--\n"));
    }
    stat.push_str(" 40 files changed, 400 insertions(+), 420 deletions(-)\n");
    RewindPreview {
        stat,
        files: 40,
        ..rewind_preview()
    }
}

fn only_conversation() -> RewindPreview {
    RewindPreview {
        conversation: Some(ConversationChange::Removed(1)),
        ..RewindPreview::default()
    }
}

fn only_files() -> RewindPreview {
    RewindPreview {
        conversation: None,
        ..rewind_preview()
    }
}

fn rejected() -> Vec<EventKind> {
    let why = "alice is working: stop it first, or wait until it is idle.";
    vec![EventKind::rejection(CommandId(3), why)]
}

fn skipped() -> Vec<EventKind> {
    let skipped = [
        "data/big.bin: changed during the rewind",
        "docs: is a directory now",
    ];
    vec![rewound("alice", 15, RewindScope::Files, &skipped, "")]
}

pub fn scenes() -> Vec<Scene> {
    vec![
        picker("popup_rewind_loading", Vec::new, ""),
        picker(
            "popup_rewind",
            || vec![checkpoints_listed("alice", "")],
            "down",
        ),
        picker(
            "popup_rewind_search",
            || vec![checkpoints_listed("alice", "")],
            "\"fix\"",
        ),
        picker(
            "popup_rewind_off",
            || {
                vec![checkpoints_listed(
                    "alice",
                    "the setting checkpoints is off",
                )]
            },
            "",
        ),
        picker("popup_rewind_empty", || none_listed(""), ""),
        picker(
            "popup_rewind_empty_off",
            || none_listed("this folder is not in a git repository"),
            "",
        ),
        picker(
            "popup_rewind_comparing",
            || vec![checkpoints_listed("alice", "")],
            "enter",
        ),
        dialog("popup_rewind_dialog", rewind_preview, ""),
        dialog("popup_rewind_many_files", many_files, ""),
        dialog("popup_rewind_only_files", only_files, ""),
        dialog("popup_rewind_only_conversation", only_conversation, ""),
        dialog("popup_rewind_nothing", RewindPreview::default, ""),
        dialog("popup_rewind_diff", rewind_preview, "D"),
        dialog("popup_rewind_sent", rewind_preview, "b"),
        dialog_after("popup_rewind_rejected", rewind_preview, "b", rejected),
        dialog_after("popup_rewind_skipped", rewind_preview, "f", skipped),
    ]
}
