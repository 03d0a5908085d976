//! Scenes of popups.

use std::time::Duration;

use crate::domain::memory::MemoryReport;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Losses;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{AgentEvent, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{
    apply_events, busy, memory, name, press, question, ready_with_checks, servers, skills,
    started_screen, train_event,
};
use crate::ui::panes::board::tests::merging::on;
use crate::ui::panes::board::tests::user_actions::{at, inspection_event, losses};
use crate::ui::popups::event_log::tests::keys::eventful;
use crate::ui::popups::thread::tests::thread_screen;
use crate::ui::tests::scenes::{Scene, Shows, scene_data, work};
use crate::ui::{DoctorResult, Msg, Pane, ServerReview, SessionSummary, update};

/// The sizes of scenes with a merge train.
const TRAIN_SIZES: [(u16, u16); 3] = [(160, 45), (80, 24), (60, 16)];

/// Returns the list of servers after the user has pressed `a` on a server that needs approval.
fn server_review() -> Scene {
    Scene::new("popup_server_review", Shows::Popup, |width, height| {
        let mut state = busy(width, height);
        apply_events(&mut state, vec![servers()]);
        press(&mut state, "\"/mcp\" enter G a");
        let review = ServerReview {
            server: "web".into(),
            runs: "Server web of .mcp.json: uvx mcp-server-web --repository .".into(),
            effect: "runs a program with your rights, outside of the sandbox".into(),
        };
        let now = state.now;
        // In a small window, the dialog does not open.
        let _ = state.show_server_review(review, now);
        state
    })
}

fn none() -> Vec<EventKind> {
    vec![]
}

fn memory_events() -> Vec<EventKind> {
    vec![EventKind::Crew(CrewEvent::MemoryShown(memory()))]
}

fn nothing_remembered() -> Vec<EventKind> {
    vec![EventKind::Crew(CrewEvent::MemoryShown(
        MemoryReport::default(),
    ))]
}

fn request_events() -> Vec<EventKind> {
    let request = scene_data::permission_request("r0", "alice", "git push origin main", -60.0);
    vec![EventKind::Team(TeamEvent::RequestChanged { request })]
}

fn asked_openly() -> Vec<EventKind> {
    vec![EventKind::Team(TeamEvent::RequestChanged {
        request: question("r0", &[]),
    })]
}

fn troubles() -> Vec<EventKind> {
    let mut all = scene_data::large_team();
    all.extend(request_events());
    all
}

fn happenings() -> Vec<EventKind> {
    let notice = |level, text: &str| EventKind::notice(level, text);
    let mut all = vec![
        notice(NoticeLevel::Info, "Started in ~/src/parser."),
        notice(
            NoticeLevel::Warn,
            "The model of carol is not on the list of the server: scripted-dmeo. It is asked all the same.",
        ),
        notice(
            NoticeLevel::Error,
            "task_3.json was damaged: set aside as task_3.json.damaged-1",
        ),
    ];
    all.extend((0..40).map(|n| {
        EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Info,
            agent: Some(name("bob")),
            text: format!("claims task #{n}"),
        })
    }));
    all
}

fn models() -> Vec<EventKind> {
    let names = (0..60).map(|i| format!("model-{i}")).collect();
    vec![EventKind::Crew(CrewEvent::ModelsListed { names })]
}

/// Returns the events for a full cost panel: more agents and tasks than fit, budgets that are almost used up, and
/// queued calls.
fn costs() -> Vec<EventKind> {
    let mut all = scene_data::large_team();
    all.extend(work::spending());
    all
}

/// Returns the events of a teammate that is working and has written output.
fn working_events() -> Vec<EventKind> {
    work::conversation_of(&name("alice"))
}

/// Returns the event of a plan that is longer than the preview.
fn long_request() -> Vec<EventKind> {
    let steps: Vec<String> = (1..=60)
        .map(|n| format!("{n}. Step {n} of the plan."))
        .collect();
    let request = crate::ui::fixture::plan("r0", &steps.join("\n"));
    vec![EventKind::Team(TeamEvent::RequestChanged { request })]
}

/// Returns a scene with the preview of a pane's selected item.
fn peek(name: &'static str, events: fn() -> Vec<EventKind>, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Screen, move |width, height| {
        let mut state = busy(width, height);
        apply_events(&mut state, events());
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with a popup over the panes of a working team.
fn popup_scene(name: &'static str, events: fn() -> Vec<EventKind>, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = busy(width, height);
        apply_events(&mut state, events());
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with a popup over a screen without tasks, messages and requests.
fn without(name: &'static str, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = started_screen(width, height);
        press(&mut state, keys);
        state
    })
}

#[allow(clippy::too_many_lines)] // every popup, once
pub fn scenes() -> Vec<Scene> {
    vec![
        popup_scene("popup_help", none, "esc 3 ?"),
        popup_scene("popup_help_search", none, "esc 3 ? / \"scroll\""),
        popup_scene("popup_help_writing", none, "f1"),
        popup_scene("popup_task", none, "esc 3 j j enter"),
        changes("popup_diff", work::diff, ""),
        changes("popup_diff_files", work::diff_of_files, ""),
        changes("popup_diff_next_file", work::diff_of_files, "] ]"),
        changes(
            "popup_diff_search",
            work::diff_of_files,
            "/ \"block\" enter n n",
        ),
        popup_scene(
            "popup_task_search",
            none,
            "esc 3 j j enter / \"the\" enter n",
        ),
        popup_scene("popup_task_searching", none, "esc 3 j j enter / \"the\""),
        thread("popup_letter", "esc 5 k enter"),
        popup_scene("popup_letter_short", none, "esc 5 k k k enter"),
        popup_scene("popup_todo", none, "esc 2 enter"),
        log("popup_event_log", "esc @"),
        log("popup_event_log_filter", "esc @ k / \"kind:m\""),
        popup_scene("popup_event_log_overfull", happenings, "esc @"),
        without("popup_event_log_empty", "esc @"),
        popup_scene("popup_problems", troubles, "esc p"),
        long_waiting(),
        without("popup_problems_empty", "esc p"),
        popup_scene(
            "popup_skills",
            || vec![EventKind::Crew(CrewEvent::SkillsChanged(skills()))],
            "\"/skills\" enter",
        ),
        without("popup_skills_empty", "\"/skills\" enter"),
        popup_scene("popup_servers", || vec![servers()], "\"/mcp\" enter"),
        without("popup_servers_empty", "\"/mcp\" enter"),
        server_review(),
        popup_scene("popup_memory", memory_events, "down"),
        popup_scene("popup_memory_file", memory_events, "down enter"),
        popup_scene("popup_memory_empty", nothing_remembered, ""),
        popup_scene("popup_palette", none, "esc 4 :"),
        popup_scene("popup_palette_search", none, "esc 4 : \"sh\""),
        popup_scene("popup_palette_nothing", none, "esc 4 : \"zzz\""),
        popup_scene("popup_models", models, "\"/model\" enter \"1\""),
        without("popup_models_asked", "\"/model\" enter"),
        popup_scene("popup_scopes", request_events, "alt+w A"),
        popup_scene("popup_copy", work::long_conversation, "esc 1 [ Y"),
        popup_scene("popup_rules", || vec![scene_data::rules()], "esc R down"),
        without("popup_rules_empty", "esc R"),
        popup_scene("popup_themes", none, "esc T down"),
        popup_scene(
            "popup_comment",
            none,
            "alt+w c \"The version is two bytes.\"",
        ),
        popup_scene(
            "popup_comment_verdict",
            none,
            "alt+w c \"The version is two bytes, 两个字节.\" enter",
        ),
        popup_scene(
            "popup_answer",
            asked_openly,
            "alt+w c \"The second, please.\"",
        ),
        popup_scene("popup_costs", costs, "esc $"),
        popup_scene("popup_costs_task", costs, "esc $ G"),
        popup_scene("popup_costs_ordinary", none, "esc $ j"),
        popup_scene("popup_costs_estimates", work::estimated_spending, "esc $"),
        without("popup_costs_empty", "esc $"),
        peek("popup_peek_team", working_events, "esc 4 space"),
        peek("popup_peek_scrolled", working_events, "esc 4 space pgup"),
        peek("popup_peek_long", long_request, "alt+w l space pgdn"),
        peek("popup_peek_board", none, "esc 3 j j space"),
        peek("popup_peek_inbox", none, "esc 5 k space"),
        peek(
            "popup_peek_plan",
            scene_data::written_plan,
            "alt+w n n space",
        ),
        peek(
            "popup_peek_needs",
            scene_data::many_requests,
            "alt+w l space",
        ),
        popup_scene("popup_jobs", work::jobs, "esc b"),
        without("popup_jobs_empty", "esc b"),
        popup_scene("popup_quit", none, "esc q"),
        popup_scene("popup_clear", wait_of_lead, "\"/clear\" enter"),
        popup_scene("popup_new_session", none, "\"/new\" enter"),
        sessions("popup_sessions", ""),
        sessions("popup_sessions_search", "\"pars\""),
        popup_scene("popup_sessions_loading", none, "\"/resume\" enter"),
        history("popup_history", ""),
        history("popup_history_search", "\"TEST\" ctrl+r"),
        without("popup_history_loading", "ctrl+r"),
        doctor(),
        popup_scene("popup_doctor_checking", none, "\"/doctor\" enter"),
        popup_scene("popup_force", none, "esc 4 j X"),
        merge_scene("popup_merge", Shows::Popup, "m"),
        merge_scene("popup_merge_task", Shows::Popup, "enter"),
        by_hand("popup_release", Shows::Popup, 2, None, "u"),
        by_hand("popup_complete", Shows::Popup, 6, None, "d"),
        removal("popup_remove_worktree", false, ""),
        removal("popup_remove_worktree_losses", true, ""),
        removal("popup_lose_work", true, "y"),
        by_hand("popup_task_new", Shows::Popup, 6, None, "t"),
        by_hand(
            "popup_task_new_refused",
            Shows::Popup,
            4,
            None,
            "t \"Measure 两个字节\" tab \"First line\" ctrl+j \"second line\" tab \"2\" space \"99\" enter",
        ),
        by_hand(
            "popup_task_new_long",
            Shows::Popup,
            4,
            None,
            "t \"Measure how long the reader takes for each of the four versions of the format\" tab \
             \"Read every file below tests/data ten times and write the mean and the spread into docs/speed.md, \
             with the machine and the date. What takes longer than a second is a bug: say so.\" up home",
        ),
        by_hand("popup_task_edit", Shows::Popup, 4, None, "e tab tab"),
        by_hand("pane_board_by_hand", Shows::Screen, 6, Some(6), ""),
        merge_scene("pane_board_merging", Shows::Screen, ""),
        merge_scene("pane_board_merging_list", Shows::Screen, "v 3"),
        train_scene("popup_merge_checked", Shows::Popup, "m"),
        train_scene("pane_board_train", Shows::Pane(Pane::Board), "").at(&TRAIN_SIZES),
        train_scene("pane_board_train_list", Shows::Pane(Pane::Board), "v 3").at(&TRAIN_SIZES),
    ]
}

fn wait_of_lead() -> Vec<EventKind> {
    vec![AgentEvent::TurnStarted.of(name("lead"))]
}

/// Returns a scene with the picker of sessions: one session with many tasks, one without tasks, and one with a long
/// first prompt.
fn sessions(name: &'static str, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = busy(width, height);
        press(&mut state, "\"/resume\" enter");
        let now = state.now;
        let session = |id: &str, ago: f64, prompt: &str, tasks| SessionSummary {
            id: id.into(),
            prompt: prompt.into(),
            last: Some(Timestamp(now.0 - ago)),
            tasks,
        };
        state.show_sessions(vec![
            session("s1", 1.0, "the open session is not listed", None),
            session("s2", 300.0, "Write a parser\nwith tests", Some((5, 8))),
            session("s3", 9000.0, "What does src/main.rs do?", Some((0, 0))),
            session(
                "s4",
                400_000.0,
                &"Fix the reader of archives ".repeat(9),
                Some((12, 12)),
            ),
            session("s5", 4_000_000.0, "", None),
        ]);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with the search in the user's earlier messages, two of which are from earlier sessions.
fn history(name: &'static str, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = busy(width, height);
        press(
            &mut state,
            "\"fix the tests of the parser\" enter \"a draft\" ctrl+r",
        );
        let saved = ["Run the tests again", "Write a parser\nwith tests"];
        update(&mut state, Msg::History(saved.map(String::from).to_vec()));
        press(&mut state, keys);
        state
    })
}

fn doctor() -> Scene {
    Scene::new("popup_doctor", Shows::Popup, |width, height| {
        let mut state = busy(width, height);
        press(&mut state, "\"/doctor\" enter");
        let result = |level, check: &str, text: &str, remedy: &str| DoctorResult {
            level,
            check: check.into(),
            text: text.into(),
            remedy: remedy.into(),
        };
        state.show_findings(vec![
            result(NoticeLevel::Info, "git", "2.51.0, with a commit", ""),
            result(
                NoticeLevel::Warn,
                "sandbox",
                "commands of agents can write outside of the project, because this kernel has no Landlock",
                "use a newer kernel, or set sandbox = \"off\" to hide this warning",
            ),
            result(
                NoticeLevel::Error,
                "model",
                "the server does not answer",
                "start it\ncheck the address: crewdeck --base-url http://127.0.0.1:11434/v1",
            ),
        ]);
        state
    })
}

/// Returns a scene with the diff of a task's branch.
fn changes(name: &'static str, diff: fn() -> EventKind, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = busy(width, height);
        press(&mut state, "esc 3");
        apply_events(&mut state, vec![diff()]);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with the event log after events of several kinds.
fn log(name: &'static str, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = eventful(width, height);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with several problems at once: a failed agent, a stalled agent, unread messages, and a damaged file.
fn long_waiting() -> Scene {
    Scene::new("popup_problems_many", Shows::Popup, |width, height| {
        let mut state = busy(width, height);
        let does = |agent: &str, activity| AgentEvent::ActivityChanged { activity }.of(name(agent));
        let why = "the server said no".to_string();
        let damaged = ".tasks/task_9.json was damaged and is left out";
        let happened = vec![
            does("carol", Activity::Failed { why }),
            does("alice", Activity::Thinking),
            EventKind::notice(NoticeLevel::Error, damaged),
        ];
        apply_events(&mut state, happened);
        let now = state.now.after(Duration::from_secs(400));
        update(&mut state, Msg::Tick { now });
        press(&mut state, "esc p");
        state
    })
}

/// Returns a scene with a message in its thread. Messages of another thread were sent in between.
fn thread(name: &'static str, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = thread_screen(width, height, 4);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with a board on which the task `id` is selected and the user owns the task `own`.
fn by_hand(
    name: &'static str,
    shows: Shows,
    id: u64,
    own: Option<u64>,
    keys: &'static str,
) -> Scene {
    Scene::new(name, shows, move |width, height| {
        let mut state = at(width, height, own, id);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with the dialog that confirms the removal of a worktree. `is_lost` says whether work would be lost.
fn removal(name: &'static str, is_lost: bool, keys: &'static str) -> Scene {
    Scene::new(name, Shows::Popup, move |width, height| {
        let mut state = on(width, height, 2);
        let losses = if is_lost { losses() } else { Losses::default() };
        apply_events(&mut state, vec![inspection_event(2, losses)]);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene of a crew with checks, in which a merge train runs.
fn train_scene(name: &'static str, shows: Shows, keys: &'static str) -> Scene {
    Scene::new(name, shows, move |width, height| {
        let mut state = on(width, height, 2);
        let events = vec![ready_with_checks(), train_event("main")];
        apply_events(&mut state, events);
        press(&mut state, keys);
        state
    })
}

/// Returns a scene with merged and unmerged tasks, one of which is selected.
fn merge_scene(name: &'static str, shows: Shows, keys: &'static str) -> Scene {
    Scene::new(name, shows, move |width, height| {
        let mut state = on(width, height, 2);
        press(&mut state, keys);
        state
    })
}
