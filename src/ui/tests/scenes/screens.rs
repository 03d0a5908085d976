//! Scenes of whole screens: every layout, every session role, and full-screen pages.

use std::time::Duration;

use crate::domain::ids::Name;
use crate::domain::request::Request;
use crate::domain::screen::{PaneLayout, ScreenSettings};
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::CheckedOut;
use crate::protocol::event::SessionInfo;
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};
use crate::ui::app::onboarding::{OfferedAction, PageSeverity};
use crate::ui::fixture::{
    NOON, after_events, apply_events, blank, busy, busy_events, onboarding_page, permission, plan,
    press, question, started_screen,
};
use crate::ui::keymap::Action;
use crate::ui::replay::Player;
use crate::ui::tests::scenes::{Scene, Shows, scene_data, work};
use crate::ui::{HubOutage, Msg, SessionRole, UiState, begin_replay, update};

/// Columns and rows of the smallest screen, of one screen of each size class, and of a large screen.
const LAYOUTS_AT: [(u16, u16); 5] = [(60, 16), (70, 20), (100, 30), (160, 45), (240, 60)];

/// Columns and rows of the screens on which the user answers a request from the composer.
const ANSWERS_AT: [(u16, u16); 4] = [(80, 24), (100, 30), (120, 35), (160, 45)];

fn laid_out(arrangement: PaneLayout, width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    state.set_screen(ScreenSettings {
        layout: arrangement,
        ..ScreenSettings::default()
    });
    match arrangement {
        // Shows the screen before the first key is pressed.
        PaneLayout::Wall => {}
        PaneLayout::Board | PaneLayout::Focus => {
            press(&mut state, "esc 3");
        }
    }
    state
}

fn first_run(width: u16, height: u16) -> UiState {
    let mut state = blank(width, height);
    state.show_onboarding(onboarding_page(PageSeverity::Missing));
    state
}

fn replay(width: u16, height: u16) -> UiState {
    let mut state = blank(width, height);
    let event = |(at, kind): (u64, EventKind)| Event {
        seq: at,
        at: Timestamp(NOON).after(Duration::from_secs(at)),
        kind,
    };
    let events = (1..).zip(busy_events()).map(event).collect();
    begin_replay(&mut state, Player::new(events, 1.0));
    update(
        &mut state,
        Msg::Tick {
            now: Timestamp(NOON),
        },
    );
    press(&mut state, "> . .");
    state
}

/// Returns a screen on which project settings wait for approval and the user has pressed `a`.
fn approve_settings(width: u16, height: u16) -> UiState {
    let mut state = started_screen(width, height);
    let mut page = onboarding_page(PageSeverity::Missing);
    page.offers = vec![OfferedAction::new(
        Action::ApproveSettings,
        "approve these settings",
    )];
    state.show_onboarding(page);
    press(&mut state, "esc a");
    state
}

/// Returns the first screen of crewdeck, before any event.
fn initial_screen(width: u16, height: u16) -> UiState {
    let mut state = blank(width, height);
    state.set_role(SessionRole::Starting);
    state
}

/// Returns the name of the scene that shows a session role.
pub fn seat_name(seat: &SessionRole) -> &'static str {
    match seat {
        SessionRole::Crew => "whole_wall",
        SessionRole::Starting => "whole_starting",
        SessionRole::Viewer(_) => "whole_viewer",
        SessionRole::HubViewer { .. } => "whole_hub_viewer",
        SessionRole::Taking => "whole_taking",
        SessionRole::Taken(_) => "whole_taken",
        SessionRole::NoCrew => "whole_left",
    }
}

fn role_scene(seat: SessionRole) -> Scene {
    Scene::new(seat_name(&seat), Shows::Screen, move |width, height| {
        let mut state = busy(width, height);
        state.set_role(seat.clone());
        state
    })
}

/// Returns a screen of the demo with the tips of its tour.
fn tour(width: u16, height: u16) -> UiState {
    let demo = busy_events().into_iter().map(|event| match event {
        EventKind::Crew(CrewEvent::Ready(setup)) => {
            EventKind::Crew(CrewEvent::Ready(SessionInfo {
                provider: "demo".into(),
                ..setup
            }))
        }
        other => other,
    });
    after_events(width, height, demo.collect())
}

/// Returns a screen with a request of the agent whose conversation is open, after the keys `keys`.
fn screen_with_request(request: &Request, width: u16, height: u16, keys: &str) -> UiState {
    let mut state = busy(width, height);
    let request = request.clone();
    state.open_conversation(&request.from);
    apply_events(
        &mut state,
        vec![EventKind::Team(TeamEvent::RequestChanged { request })],
    );
    press(&mut state, keys);
    state
}

/// Returns a screen after the keys `keys`, for example with the completion list of the composer.
fn screen_after_keys(width: u16, height: u16, keys: &str) -> UiState {
    let mut state = busy(width, height);
    press(&mut state, keys);
    state
}

/// Returns a screen on which the user is writing a message to a teammate.
fn writing_screen(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    press(
        &mut state,
        "esc 4 j enter i \"Use u64\" ctrl+j \"for the sizes\"",
    );
    state
}

/// Returns a screen with a draft that is longer than the composer and has the cursor in its middle. The status line
/// shows the branch.
fn long_words(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    let head = CheckedOut::Branch("team/format-v3".into());
    apply_events(
        &mut state,
        vec![EventKind::Board(BoardEvent::HeadChanged { head })],
    );
    let words = "Read the header of every version, refuse what is larger than the table says, \
        and write down in docs/format.md what each of the fields means. ";
    let path = "src/a_rather_long_folder_name/with_another_one_in_it/and_a_file_whose_name_says_all_of_what_is_in_it.rs";
    press(&mut state, &format!("\"{}\"", words.repeat(4)));
    press(
        &mut state,
        &format!("ctrl+j \"{path} 每个字段的意思都写下来，一个也不能少。\" up up"),
    );
    state
}

fn full(width: u16, height: u16) -> UiState {
    let mut state = busy(width, height);
    apply_events(&mut state, work::long_conversation());
    apply_events(&mut state, vec![scene_data::long_todo()]);
    apply_events(&mut state, scene_data::many_messages());
    apply_events(&mut state, scene_data::large_team());
    let agent = Name::lead();
    let activity = Activity::Thinking;
    apply_events(
        &mut state,
        vec![AgentEvent::ActivityChanged { activity }.of(agent)],
    );
    press(
        &mut state,
        "\"Wait for bob.\" enter \"Use u64 for the sizes,\" ctrl+j \"其他不变 👍\"",
    );
    state
}

pub fn scenes() -> Vec<Scene> {
    let mut all: Vec<Scene> = PaneLayout::ALL
        .into_iter()
        .map(|arrangement| {
            let name = format!("whole_{arrangement:?}").to_lowercase();
            let make = move |width, height| laid_out(arrangement, width, height);
            Scene::new(&name, Shows::Screen, make).at(&LAYOUTS_AT)
        })
        .collect();
    let whole = |name, make: fn(u16, u16) -> UiState| Scene::new(name, Shows::Screen, make);
    all.extend([
        whole(seat_name(&SessionRole::Starting), initial_screen),
        whole("whole_start", started_screen),
        whole("whole_full", full),
        whole("whole_todo_hidden", |w, h| {
            screen_after_keys(w, h, "ctrl+t")
        }),
        whole("whole_tour", tour).at(&[(60, 16), (70, 20), (100, 30), (160, 45)]),
        whole("whole_answer_question", |width, height| {
            let choices = ["The old one", "Version 2", "Ask the file's author"];
            screen_with_request(&question("q1", &choices), width, height, "")
        })
        .at(&ANSWERS_AT),
        whole("whole_answer_plan", |width, height| {
            let plan = plan("r1", "## Header\n\n1. Read it.\n2. Check it.\n3. Test it.");
            screen_with_request(&plan, width, height, "\"Mind the version\"")
        })
        .at(&ANSWERS_AT),
        whole("whole_answer_permission", |width, height| {
            screen_with_request(&permission("r2"), width, height, "")
        })
        .at(&ANSWERS_AT),
        whole("whole_writing", writing_screen),
        whole("whole_long_words", long_words),
        whole("whole_commands", |width, height| {
            screen_after_keys(width, height, "\"/\"")
        }),
        whole("whole_names", |width, height| {
            screen_after_keys(width, height, "\"@\"")
        }),
        whole("whole_all_done", |width, height| {
            let mut state = busy(width, height);
            apply_events(&mut state, vec![scene_data::done_todo()]);
            press(&mut state, "esc 3");
            state
        })
        .at(&[(160, 45)]),
        // A screen that is narrow, but high enough for two panes.
        whole("whole_tall", |width, height| {
            screen_after_keys(width, height, "esc 4")
        })
        .at(&[(80, 40)]),
        Scene::new("popup_approve_settings", Shows::Popup, approve_settings),
        whole("whole_first_run", first_run).at(&[(60, 16), (70, 20), (100, 30), (160, 45)]),
        whole("whole_replay", replay),
        whole("whole_too_small", busy).at(&[(59, 15), (12, 4)]),
        role_scene(SessionRole::Viewer(Some(4711))),
        role_scene(SessionRole::HubViewer {
            crew: "web".into(),
            host: Some("gpu-box".into()),
            outage: None,
        }),
        whole("whole_hub_outage", |width, height| {
            let mut state = busy(width, height);
            state.set_role(SessionRole::HubViewer {
                crew: "web".into(),
                host: Some("gpu-box".into()),
                outage: Some(HubOutage {
                    cause: "no answer within 3 s".into(),
                    since: Timestamp(NOON),
                }),
            });
            state
        }),
        role_scene(SessionRole::Taking),
        role_scene(SessionRole::Taken(Some(4711))),
        role_scene(SessionRole::NoCrew),
    ]);
    all
}
