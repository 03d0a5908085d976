//! Scenes of each pane: empty, with a usual amount of content, with more than fits, and with a filter or a search.

use crate::protocol::{EventKind, TeamEvent};
use crate::ui::fixture::{apply_events, board_event, busy, press, started_screen};
use crate::ui::panes::board::tests::{board, random};
use crate::ui::tests::scenes::{Scene, Shows, scene_data, work};
use crate::ui::{Pane, UiState};

/// The amount of content in a pane.
#[derive(Debug, Clone, Copy)]
enum Fill {
    Empty,
    Ordinary,
    /// More content than fits into the pane.
    Overfull,
}

/// Returns the events that give a pane this amount of content, in addition to those of the usual screen.
fn besides(pane: Pane, fill: Fill) -> Vec<EventKind> {
    match (fill, pane) {
        (Fill::Empty | Fill::Ordinary, _) => vec![],
        (Fill::Overfull, Pane::Lead) => work::long_conversation(),
        (Fill::Overfull, Pane::Todo) => vec![scene_data::long_todo()],
        (Fill::Overfull, Pane::Board) => vec![board_event(&board(200, &random(200), 20))],
        (Fill::Overfull, Pane::Team) => scene_data::large_team(),
        (Fill::Overfull, Pane::Inbox) => scene_data::many_messages(),
        (Fill::Overfull, Pane::Needs) => scene_data::many_requests(),
    }
}

fn pane(pane: Pane, fill: Fill, width: u16, height: u16) -> UiState {
    let mut state = match fill {
        Fill::Empty => started_screen(width, height),
        Fill::Ordinary | Fill::Overfull => busy(width, height),
    };
    apply_events(&mut state, besides(pane, fill));
    press(&mut state, &format!("esc {}", pane.number()));
    // Selects an item in the middle of a long list, so that the list continues above and below the visible part.
    let keys = match (fill, pane) {
        (Fill::Overfull, Pane::Team | Pane::Todo) => "j j j j j j",
        (Fill::Overfull, Pane::Inbox) => "k k k",
        (Fill::Overfull, Pane::Board) => "g j j",
        (Fill::Empty | Fill::Ordinary | Fill::Overfull, _) => "",
    };
    press(&mut state, keys);
    state
}

pub fn scenes() -> Vec<Scene> {
    let mut all = Vec::new();
    for of in Pane::ALL {
        for fill in [Fill::Empty, Fill::Ordinary, Fill::Overfull] {
            let name = format!("pane {of:?} {fill:?}")
                .to_lowercase()
                .replace(' ', "_");
            all.push(Scene::new(&name, Shows::Pane(of), move |w, h| {
                pane(of, fill, w, h)
            }));
        }
    }
    all.extend([
        with(
            "pane_lead_search",
            Pane::Lead,
            work::long_conversation,
            "esc 1 / \"block\"",
        ),
        with(
            "pane_lead_searched",
            Pane::Lead,
            work::long_conversation,
            "esc 1 / \"block\" enter N",
        ),
        with(
            "pane_lead_opened",
            Pane::Lead,
            work::long_conversation,
            "esc 1 K K K enter",
        ),
        with(
            "pane_lead_calls",
            Pane::Lead,
            work::written_tasks,
            "esc 1 K K K",
        ),
        with(
            "pane_lead_calls_opened",
            Pane::Lead,
            work::written_tasks,
            "esc 1 K K K enter J J enter",
        ),
        with("pane_lead_agent", Pane::Lead, Vec::new, "esc 4 j enter"),
        with(
            "pane_board_filter",
            Pane::Board,
            Vec::new,
            "esc 3 / \"owner:alice color:red\"",
        ),
        with(
            "pane_board_filtered",
            Pane::Board,
            Vec::new,
            "esc 3 / \"block\" enter",
        ),
        with("pane_board_list", Pane::Board, Vec::new, "esc 3 v j"),
        with(
            "pane_needs_question",
            Pane::Needs,
            || {
                vec![EventKind::Team(TeamEvent::RequestChanged {
                    request: scene_data::long_question(),
                })]
            },
            "alt+w",
        ),
        with(
            "pane_team_subagents",
            Pane::Team,
            scene_data::subagents,
            "esc 4 j",
        ),
        with(
            "pane_team_long_names",
            Pane::Team,
            scene_data::long_names,
            "esc 4",
        ),
        with(
            "pane_needs_plan",
            Pane::Needs,
            scene_data::written_plan,
            "alt+w n n",
        ),
        with(
            "pane_needs_leads",
            Pane::Needs,
            scene_data::the_leads,
            "esc 6 l",
        ),
        with(
            "pane_needs_permission",
            Pane::Needs,
            || scene_data::same_asked_by(&["alice", "bob", "carol"]),
            "alt+w",
        ),
    ]);
    all.extend(filter_scenes());
    all
}

/// Returns a scene of a pane after additional events and keys.
fn with(name: &'static str, of: Pane, events: fn() -> Vec<EventKind>, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Pane(of), move |width, height| {
        let mut state = busy(width, height);
        apply_events(&mut state, events());
        press(&mut state, keys);
        state
    })
}

/// Returns scenes of lists with a filter: while the filter is typed, and afterwards.
fn filter_scenes() -> Vec<Scene> {
    vec![
        with("pane_team_filter", Pane::Team, Vec::new, "esc 4 /"),
        with(
            "pane_team_filtered",
            Pane::Team,
            scene_data::large_team,
            "esc 4 / \"decoder !a\" enter j j",
        ),
        with(
            "pane_team_none_fits",
            Pane::Team,
            Vec::new,
            "esc 4 / \"zoe\" enter",
        ),
        with(
            "pane_inbox_filter",
            Pane::Inbox,
            Vec::new,
            "esc 5 / \"bob\"",
        ),
        with(
            "pane_inbox_filtered",
            Pane::Inbox,
            scene_data::many_messages,
            "esc 5 / \"from:bob\" enter k",
        ),
    ]
}
