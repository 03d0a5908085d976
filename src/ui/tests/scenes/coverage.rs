//! Every popup, key context, pane and layout has a scene. If one has none, a test fails or does not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::domain::screen::PaneLayout;
use crate::ui::fixture::{popup_kinds, top_popup};
use crate::ui::frame::layout::{SizeClass, class};
use crate::ui::keymap::{Context, KeyMap};
use crate::ui::tests::scenes::{SIZES, Shows, scenes, screens};
use crate::ui::{Pane, SessionRole};

/// Defines a function that returns the name of a value, and a constant with all names. The `match` in the function is
/// exhaustive, so a new variant does not compile until it is listed.
macro_rules! named {
    ($function:ident, $all:ident, $of:ty, $($pattern:pat => $name:literal),* $(,)?) => {
        fn $function(of: &$of) -> &'static str {
            match of { $($pattern => $name),* }
        }
        const $all: &[&str] = &[$($name),*];
    };
}

/// Returns the text of each source file in `src/ui`.
fn source_files() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui")];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                out.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    out
}

/// Returns the names of all types that are a popup or the content of a popup.
fn popup_types() -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for text in source_files() {
        for kind in ["Popup", "Page", "Choices", "Question"] {
            let start = format!("impl {kind} for ");
            let names = text.lines().filter_map(|line| line.strip_prefix(&start));
            out.extend(names.map(|name| name.trim_end_matches(" {").to_string()));
        }
    }
    out.remove("Placeholder");
    out
}

#[test]
fn every_key_placeholder_in_a_text_has_a_key() {
    let map = KeyMap::default();
    let is_word = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let mut names = BTreeSet::new();
    for text in source_files() {
        for part in text.split('{').skip(1) {
            let inside = part.split_once('}').map_or("", |(inside, _)| inside);
            if let Some((context, action)) = inside.split_once('.')
                && is_word(context)
                && is_word(action)
                && action != "no_such"
            {
                names.insert(format!("{{{inside}}}"));
            }
        }
    }
    assert!(names.contains("{board.merge}"), "{names:?}");
    let without: Vec<&String> = names
        .iter()
        .filter(|name| map.expand_keys(name) == map.expand_keys("{board.no_such}"))
        .collect();
    assert_eq!(without, Vec::<&String>::new());
}

named! { context, CONTEXTS, Context,
    Context::Everywhere => "everywhere",
    Context::FirstRun => "first run",
    Context::Composer => "composer",
    Context::EmptyComposer => "empty composer",
    Context::Completion => "completion",
    Context::Editing => "editing",
    Context::History => "history",
    Context::Panes => "panes",
    Context::In(Pane::Lead) => "lead",
    Context::In(Pane::Todo) => "todo",
    Context::In(Pane::Board) => "board",
    Context::In(Pane::Team) => "team",
    Context::In(Pane::Inbox) => "inbox",
    Context::In(Pane::Needs) => "needs",
    Context::Filter => "filter",
    Context::Search => "search",
    Context::Choices => "choices",
    Context::Reader => "reader",
    Context::Diff => "diff",
    Context::Picker => "picker",
    Context::Comment => "comment",
    Context::TaskForm => "task form",
    Context::CommentVerdict => "verdict",
    Context::EventLog => "event log",
    Context::Jobs => "jobs",
    Context::Servers => "servers",
    Context::Costs => "costs",
    Context::Peek => "peek",
    Context::Confirm => "confirm",
    Context::ConfirmMerge => "confirm merge",
    Context::ConfirmLoss => "confirm loss",
    Context::ConfirmRewind => "confirm rewind",
    Context::Leave => "leave",
    Context::Replay => "replay",
}

named! { width_class, CLASSES, SizeClass,
    SizeClass::Small => "small",
    SizeClass::Narrow => "narrow",
    SizeClass::Middle => "middle",
    SizeClass::Wide => "wide",
}

named! { arrangement, ARRANGEMENTS, PaneLayout,
    PaneLayout::Wall => "wall",
    PaneLayout::Board => "board",
    PaneLayout::Focus => "focus",
}

fn set(all: &[&'static str]) -> BTreeSet<&'static str> {
    all.iter().copied().collect()
}

#[test]
fn every_popup_and_key_context_has_a_scene() {
    let (mut popups, mut contexts) = (BTreeSet::new(), BTreeSet::new());
    for scene in scenes() {
        let (width, height) = scene.sizes[0];
        let state = (scene.make)(width, height);
        popups.extend(popup_kinds(&state).pop());
        contexts.extend(state.contexts().iter().map(context));
        // A preview is a popup beside its pane, so its scenes show the whole screen.
        let is_peek = top_popup(&state) == "Peek";
        let is_popup = scene.shows == Shows::Popup || is_peek;
        assert_eq!(
            is_popup,
            !state.popups.is_empty(),
            "{}: what does it show?",
            scene.name
        );
    }
    assert_eq!(popups, popup_types());
    assert_eq!(contexts, set(CONTEXTS));
}

#[test]
fn every_pane_layout_and_role_has_a_scene() {
    let names: BTreeSet<String> = scenes().into_iter().map(|scene| scene.name).collect();
    let panes = Pane::ALL.map(Context::In);
    for pane in panes.iter().map(context) {
        for fill in ["empty", "ordinary", "overfull"] {
            assert!(
                names.contains(&format!("pane_{pane}_{fill}")),
                "{pane} {fill}"
            );
        }
    }
    assert_eq!(
        set(&PaneLayout::ALL.map(|a| arrangement(&a))),
        set(ARRANGEMENTS)
    );
    for arrangement in ARRANGEMENTS {
        assert!(
            names.contains(&format!("whole_{arrangement}")),
            "{arrangement}"
        );
    }
    for seat in [
        SessionRole::Crew,
        SessionRole::Starting,
        SessionRole::Viewer(None),
        SessionRole::HubViewer {
            crew: String::new(),
            host: None,
            outage: None,
        },
        SessionRole::Taking,
        SessionRole::Taken(None),
        SessionRole::NoCrew,
    ] {
        assert!(names.contains(screens::seat_name(&seat)), "{seat:?}");
    }
    let area = |(width, height)| ratatui::layout::Rect::new(0, 0, width, height);
    let seen = scenes().into_iter().flat_map(|scene| scene.sizes);
    let seen: BTreeSet<_> = seen.map(|size| width_class(&class(area(size)))).collect();
    assert_eq!(seen, set(CLASSES));
    let usual: BTreeSet<_> = SIZES
        .iter()
        .map(|size| width_class(&class(area(*size))))
        .collect();
    assert_eq!(usual, set(&["narrow", "middle", "wide"]));
}

#[test]
fn scene_names_are_unique_and_snapshots_are_used() {
    let mut count = BTreeMap::new();
    for scene in scenes() {
        *count
            .entry(format!("crewdeck__ui__tests__scenes__{}.snap", scene.name))
            .or_insert(0) += 1;
    }
    let twice: Vec<_> = count.iter().filter(|(_, n)| **n > 1).collect();
    assert_eq!(twice, Vec::<(&String, &i32)>::new());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/tests/scenes/snapshots");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = files.filter(|f| !count.contains_key(f)).collect();
    assert_eq!(left, Vec::<String>::new());
}
