//! Background jobs, subagents and compaction.

use pretty_assertions::assert_eq;

use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, JobId, Name};
use crate::domain::job::{Job, JobEnd};
use crate::domain::subagent::SubagentKind;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{Compaction, CompactionMethod};
use crate::protocol::{AgentEvent, Command, CrewEvent, EventKind};
use crate::ui::fixture::{apply_events, name, picture, press, started_screen};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::{Effect, UiState};

fn job(id: &str, command: &str, ended: Option<JobEnd>) -> EventKind {
    EventKind::Crew(CrewEvent::JobChanged {
        job: Job {
            id: JobId(id.into()),
            agent: Name::lead(),
            command: command.into(),
            began: Timestamp(100.0),
            ended: ended.map(|end| (Timestamp(163.0), end)),
            tail: String::new(),
        },
    })
}

fn heard(id: &str, chunk: &str) -> EventKind {
    EventKind::Crew(CrewEvent::JobOutput {
        job: JobId(id.into()),
        chunk: chunk.into(),
    })
}

fn with_jobs(width: u16, height: u16) -> UiState {
    let mut state = started_screen(width, height);
    state.now = Timestamp(190.0);
    apply_events(
        &mut state,
        vec![
            job("j1", "cargo test --workspace", None),
            job("j2", "npm run build", Some(JobEnd::Exited { code: 1 })),
            job(
                "j3",
                "sleep 600",
                Some(JobEnd::Killed { by: "user".into() }),
            ),
            heard("j1", "running 250 tests\ntest parser::中文 ... ok\n"),
            heard("j1", "\u{1b}[2Jtest evil ... ok\n"),
        ],
    );
    state.now = Timestamp(190.0);
    state
}

#[test]
fn jobs_are_listed_with_output_of_selected_one() {
    for (width, height) in [(160, 45), (100, 30), (60, 16)] {
        let mut state = with_jobs(width, height);
        assert_eq!(press(&mut state, "esc b"), []);
        assert!(!picture(&state).contains('\u{1b}'));
    }
}

#[test]
fn selected_job_is_killed_by_key() {
    let mut state = with_jobs(100, 30);
    let kill = |id: &str| {
        Effect::Command(Command::KillJob {
            job: JobId(id.into()),
        })
    };
    assert_eq!(press(&mut state, "esc b x"), [kill("j1")]);
    assert_eq!(press(&mut state, "j x"), [], "it has ended");
    assert_eq!(press(&mut state, "G x"), []);
    assert_eq!(press(&mut state, "g y").len(), 1, "what it wrote is copied");
    // The popup with the list of jobs keeps the focus when a job ends.
    apply_events(
        &mut state,
        vec![job("j1", "cargo test", Some(JobEnd::Exited { code: 0 }))],
    );
    assert_eq!(press(&mut state, "x"), []);
    press(&mut state, "enter");
    assert_eq!(
        (state.focus, state.shown.as_str()),
        (Focus::Pane(Pane::Lead), "lead")
    );
}

#[test]
fn job_selection_is_kept_when_others_start_and_end() {
    let mut state = started_screen(100, 30);
    let running = |id| job(id, "make", None);
    apply_events(&mut state, ["a", "b", "c"].map(running).to_vec());
    press(&mut state, "esc b j");
    let ended = job("a", "make", Some(JobEnd::Exited { code: 0 }));
    apply_events(&mut state, vec![ended, running("d")]);
    let kill = Command::KillJob {
        job: JobId("b".into()),
    };
    assert_eq!(press(&mut state, "x"), [Effect::Command(kill)]);
}

pub fn sent(agent: &Name, call: &str, kind: SubagentKind, prompt: &str) -> Vec<EventKind> {
    vec![
        AgentEvent::ToolStarted {
            call: CallId(call.into()),
            tool: "task".into(),
            on: prompt.into(),
            input: serde_json::json!({}),
        }
        .of(Name::lead()),
        AgentEvent::SubagentStarted {
            parent: Name::lead(),
            call: CallId(call.into()),
            kind,
            prompt: prompt.into(),
            color: None,
        }
        .of(agent.clone()),
        AgentEvent::TurnStarted.of(agent.clone()),
        AgentEvent::ActivityChanged {
            activity: Activity::Thinking,
        }
        .of(agent.clone()),
    ]
}

#[test]
fn subagent_is_listed_below_parent_and_can_be_opened() {
    let mut state = started_screen(100, 30);
    let (one, two) = (
        Name::subagent(&Name::lead(), 1),
        Name::subagent(&Name::lead(), 2),
    );
    apply_events(
        &mut state,
        sent(&one, "c1", SubagentKind::Explore, "find the tests"),
    );
    apply_events(
        &mut state,
        sent(&two, "c2", SubagentKind::General, "count the lines"),
    );
    press(&mut state, "esc 4");
    press(&mut state, "j enter");
    assert_eq!(state.shown, two);
    press(&mut state, "esc");
    assert_eq!(state.shown, Name::lead());
    // The tool call that started a subagent opens the conversation of this subagent.
    press(&mut state, "1 K K o");
    assert_eq!(state.shown, one);
    // A subagent accepts no messages.
    assert_eq!(press(&mut state, "i \"hello\" enter"), []);
    assert_eq!(press(&mut state, "ctrl+u \"@lead hello\" enter").len(), 1);
    // When a subagent has ended, it leaves the team, but its conversation can still be read.
    apply_events(
        &mut state,
        vec![
            AgentEvent::ActivityChanged {
                activity: Activity::Gone,
            }
            .of(one.clone()),
            AgentEvent::ToolFinished {
                call: CallId("c1".into()),
                tool: "task".into(),
                outcome: Outcome::Ok,
                output: "in tests/".into(),
                diff: String::new(),
                took_ms: 2500,
            }
            .of(Name::lead()),
        ],
    );
    press(&mut state, "esc esc esc 4");
    assert!(!picture(&state).contains("└ lead.1"));
    press(&mut state, "1 K K o");
    assert_eq!(state.shown, one);
}

#[test]
fn compact_command_takes_optional_focus() {
    let compact = |agent: &str, focus: &str| {
        Effect::Command(Command::Compact {
            agent: name(agent),
            focus: focus.into(),
        })
    };
    let mut state = started_screen(100, 30);
    assert_eq!(
        press(&mut state, "\"/compact\" enter"),
        [compact("lead", "")]
    );
    assert_eq!(
        press(&mut state, "\"/compact the parser \" enter"),
        [compact("lead", "the parser")]
    );
    let compacted = |how, before, after| {
        AgentEvent::Compacted {
            compaction: Compaction { how, before, after },
        }
        .of(Name::lead())
    };
    let transcript = ".transcripts/s-lead.whole-1.jsonl".to_string();
    apply_events(
        &mut state,
        vec![
            compacted(CompactionMethod::Results { count: 12 }, 160_000, 90_400),
            compacted(CompactionMethod::Summary { transcript }, 161_000, 5_200),
        ],
    );
    let shown = picture(&state);
    for part in [
        "12 old tool results pruned: 160k → 90.4k",
        "conversation compacted: 161k → 5.2k",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
}

#[test]
fn restart_ends_everything_in_progress() {
    let mut state = with_jobs(100, 30);
    let one = Name::subagent(&Name::lead(), 1);
    apply_events(
        &mut state,
        sent(&one, "c1", SubagentKind::Explore, "find the tests"),
    );
    state.end_of_session(Timestamp(500.0));
    assert_eq!(state.model.jobs.running_count(), 0);
    assert_eq!(state.busy(), 0);
    press(&mut state, "esc 1");
    let shown = picture(&state);
    assert!(shown.contains("not finished"), "{shown}");
    assert!(!shown.contains("working"), "{shown}");
}
