//! Screens for the tests: the same crew at a given size, told by events as the crew would tell it.

use std::sync::Arc;

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Map, Value, json};

use super::{Do, Motion, Msg, Theme, UiState, ViewCache, draw, keys, update};
use crate::domain::chat::Outcome;
use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{CallId, LetterId, Name, RequestId, TaskId};
use crate::domain::mail::{Letter, LetterKind};
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::todo::{TodoItem, TodoList, TodoStatus};
use crate::domain::usage::Usage;
use crate::protocol::event::{LetterStep, Level, Setup, TurnEnd};
use crate::protocol::{Event, EventKind};

/// 12:00:00 in the zone of the tests.
pub const NOON: f64 = 1_700_049_600.0;

pub fn name(text: &str) -> Name {
    Name::party(text).unwrap()
}

/// A screen before anything has happened.
pub fn blank(width: u16, height: u16) -> UiState {
    let mut state = UiState::new(width, height, TimeZone::UTC, Motion::Full);
    update(&mut state, Msg::Tick { now: Stamp(NOON) });
    state
}

/// A crew that has just started.
pub fn started(width: u16, height: u16) -> UiState {
    told(width, height, vec![ready()])
}

/// A team at work, with a plan that waits for the person.
pub fn busy(width: u16, height: u16) -> UiState {
    told(width, height, busy_events())
}

/// The screen after some events, a second apart.
pub fn told(width: u16, height: u16, events: Vec<EventKind>) -> UiState {
    let mut state = blank(width, height);
    tell(&mut state, events);
    state
}

/// Tells events, a second apart.
pub fn tell(state: &mut UiState, events: Vec<EventKind>) -> Vec<Do> {
    let mut out = Vec::new();
    for (i, kind) in events.into_iter().enumerate() {
        let at = state.now.0 + 1.0;
        let event = Event {
            seq: i as u64 + 1,
            at: Stamp(at),
            kind,
        };
        out.extend(update(state, Msg::Event(event)));
    }
    out
}

/// Presses keys a second apart, as `j j enter`; a word in quotes is typed: `"hello" enter`.
pub fn press(state: &mut UiState, text: &str) -> Vec<Do> {
    let mut out = Vec::new();
    let mut at = state.now.0;
    for (i, part) in text.split('"').enumerate() {
        let presses = if i % 2 == 1 {
            let typed = |c: char| match c {
                ' ' => keys::parse("space"),
                c => keys::parse(&c.to_string()),
            };
            part.chars().map(typed).collect::<Result<Vec<_>, _>>()
        } else {
            keys::parse_all(part)
        };
        for key in presses.unwrap() {
            at += 1.0;
            out.extend(update(state, Msg::Key(key, Stamp(at))));
        }
    }
    out
}

/// The screen as text.
pub fn picture(state: &UiState) -> String {
    let (width, height) = (state.size.width, state.size.height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut cache = ViewCache::default();
    terminal
        .draw(|frame| draw(state, &mut cache, &Theme::default(), frame))
        .unwrap();
    terminal.backend().to_string()
}

pub fn ready() -> EventKind {
    EventKind::CrewReady(Setup {
        session: "s1".into(),
        root: "~/src/parser".into(),
        provider: "demo".into(),
        model: "scripted-demo".into(),
        scripted: true,
        git: true,
        window: Some(200_000),
        tools: vec!["bash".into()],
    })
}

pub fn board() -> TaskGraph {
    let mut board = TaskGraph::default();
    let mut add = |id: u64, subject: &str, blocked_by: &[u64]| {
        let new = NewTask {
            subject: subject.into(),
            description: format!(
                "{subject}: keep the public interface as it is.\n\n- add tests\n- run them"
            ),
            blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
            tags: vec![],
        };
        board.create(TaskId(id), new, Stamp(NOON)).unwrap();
    };
    add(1, "Write down the grammar", &[]);
    add(2, "Parse the header of the file", &[1]);
    add(3, "Read compressed blocks", &[1]);
    add(4, "Join header and blocks, 测试宽字符 👍", &[2, 3]);
    add(5, "Describe the format in the README", &[]);
    for (id, who) in [(1, "alice"), (2, "bob")] {
        let claimer = Claimer {
            name: name(who),
            tags: vec![],
        };
        board.claim(TaskId(id), &claimer, Stamp(NOON)).unwrap();
        if id == 1 {
            board
                .complete(TaskId(1), &name("alice"), Stamp(NOON))
                .unwrap();
        }
    }
    let claimer = Claimer {
        name: name("alice"),
        tags: vec![],
    };
    board.claim(TaskId(3), &claimer, Stamp(NOON)).unwrap();
    board
}

pub fn team() -> Team {
    let mut team = Team {
        team_name: "parser".into(),
        members: vec![],
        extra: Map::new(),
    };
    for (who, role, status) in [
        ("alice", "decoder", MemberStatus::Working),
        ("bob", "parser", MemberStatus::Working),
        ("carol", "writer", MemberStatus::Idle),
        ("dave", "reviewer", MemberStatus::Shutdown),
    ] {
        let mut member = Member::new(name(who), role);
        member.status = status;
        team.members.push(member);
    }
    team
}

pub fn plan(id: &str, body: &str) -> Request {
    let mut request = Request::new(
        RequestId(id.into()),
        RequestKind::Plan,
        name("bob"),
        name("bob"),
        body.into(),
        Stamp(NOON + 20.0),
    );
    request.task = Some(TaskId(2));
    request
}

pub fn permission(id: &str) -> Request {
    let body = "bash\ncargo publish --dry-run\n\nIt reaches the network.";
    let mut request = Request::new(
        RequestId(id.into()),
        RequestKind::Permission,
        name("alice"),
        name("alice"),
        body.into(),
        Stamp(NOON + 40.0),
    );
    request.task = Some(TaskId(3));
    request
}

pub fn decided(mut request: Request, by: &str) -> EventKind {
    request.status = RequestStatus::Approved;
    request.decided_by = by.into();
    EventKind::RequestChanged { request }
}

pub fn letter(id: &str, kind: LetterKind, from: &str, to: &str, content: &str) -> Letter {
    let id = LetterId(id.into());
    Letter::new(
        id,
        kind,
        &name(from),
        &name(to),
        content,
        Stamp(NOON + 30.0),
    )
}

const PLAN: &str = "1. Read the magic number and the version.\n2. Read the table of blocks; refuse more than 65536 of them.\n3. Tests for a short file, a wrong magic number and an unknown version.";

pub fn busy_events() -> Vec<EventKind> {
    let lead = Name::lead;
    let usage = |agent: &str, input: u64, context: u64, cost: f64| EventKind::UsageChanged {
        agent: name(agent),
        total: Usage {
            input,
            output: input / 10,
            ..Usage::default()
        },
        context,
        window: Some(200_000),
        cost: Some(cost),
    };
    let todo = |id: &str, text: &str, status| TodoItem {
        id: id.into(),
        text: text.into(),
        status,
    };
    let mut answer = letter(
        "m4",
        LetterKind::ShutdownResponse,
        "dave",
        "lead",
        "all reviewed",
    );
    answer.extra = Map::from_iter([("approve".to_string(), Value::Bool(true))]);
    let moved = |letter, step| EventKind::LetterMoved { letter, step };
    vec![
        ready(),
        EventKind::Prompted {
            agent: lead(),
            text: "Write a reader for the archive format.".into(),
        },
        EventKind::TurnStarted { agent: lead() },
        EventKind::Said {
            agent: lead(),
            text: "I split this into five tasks and spawn three teammates.".into(),
            thinking: String::new(),
        },
        EventKind::ToolStarted {
            agent: lead(),
            call: CallId("c1".into()),
            tool: "task_create".into(),
            on: "Write down the grammar".into(),
            input: json!({"subject": "Write down the grammar"}),
        },
        EventKind::ToolFinished {
            agent: lead(),
            call: CallId("c1".into()),
            tool: "task_create".into(),
            outcome: Outcome::Ok,
            output: "task #1".into(),
            diff: String::new(),
            took_ms: 3,
        },
        EventKind::BoardChanged {
            board: Arc::new(board()),
        },
        EventKind::TeamChanged {
            team: Arc::new(team()),
        },
        EventKind::TodoChanged {
            agent: lead(),
            list: TodoList::new(vec![
                todo("1", "Split the work", TodoStatus::Completed),
                todo("2", "Watch the plans", TodoStatus::InProgress),
                todo("3", "Merge and check", TodoStatus::Pending),
            ])
            .unwrap(),
        },
        EventKind::TurnEnded {
            agent: lead(),
            end: TurnEnd::Done,
        },
        EventKind::ActivityChanged {
            agent: lead(),
            activity: Activity::Idle,
        },
        EventKind::ActivityChanged {
            agent: name("alice"),
            activity: Activity::Tool {
                tool: "bash".into(),
                on: "cargo test blocks".into(),
            },
        },
        EventKind::ActivityChanged {
            agent: name("bob"),
            activity: Activity::NeedsYou {
                request: RequestKind::Plan,
            },
        },
        EventKind::ActivityChanged {
            agent: name("carol"),
            activity: Activity::Idle,
        },
        usage("lead", 8_200, 9_000, 0.05),
        usage("alice", 41_000, 82_000, 0.21),
        usage("bob", 11_000, 12_000, 0.06),
        moved(
            letter(
                "m1",
                LetterKind::Message,
                "lead",
                "alice",
                "The block table comes after the header.",
            ),
            LetterStep::ActedOn,
        ),
        moved(
            letter(
                "m2",
                LetterKind::Message,
                "alice",
                "bob",
                "Which byte order has the header?\nI guess little.",
            ),
            LetterStep::Delivered,
        ),
        moved(answer, LetterStep::Delivered),
        moved(
            letter(
                "m3",
                LetterKind::Broadcast,
                "lead",
                "carol",
                "Tests go into tests/, not beside the code.",
            ),
            LetterStep::Sent,
        ),
        EventKind::RequestChanged {
            request: plan("r1", PLAN),
        },
    ]
}

/// Events of every kind, in no order that makes sense.
pub fn odd_events() -> Vec<EventKind> {
    let bob = || name("bob");
    let mut events = busy_events();
    events.extend([
        EventKind::ModelsListed {
            names: (0..1500).map(|i| format!("model-{i}")).collect(),
        },
        EventKind::ModelsListed { names: vec![] },
        EventKind::Injected {
            agent: bob(),
            what: "a letter\u{1b}[2J".into(),
        },
        EventKind::TextDelta {
            agent: Name::lead(),
            text: "half a wo\u{202e}rd 测".into(),
        },
        EventKind::ThinkingDelta {
            agent: bob(),
            text: "hm".into(),
        },
        EventKind::StreamReset { agent: bob() },
        EventKind::ToolOutput {
            agent: bob(),
            call: CallId("zz".into()),
            chunk: "\r\n".repeat(50),
        },
        EventKind::TurnEnded {
            agent: bob(),
            end: TurnEnd::Failed {
                error: "no".into(),
                hint: "try again".into(),
            },
        },
        EventKind::ActivityChanged {
            agent: Name::lead(),
            activity: Activity::Backoff {
                cause: "rate limited".into(),
                until: Stamp(NOON + 1e9),
                attempt: 2,
            },
        },
        EventKind::ActivityChanged {
            agent: bob(),
            activity: Activity::Stuck {
                why: "it ended its turn\nwith its task open".into(),
            },
        },
        EventKind::ActivityChanged {
            agent: name("carol"),
            activity: Activity::Failed {
                why: "no such model".into(),
            },
        },
        EventKind::BoardChanged {
            board: Arc::default(),
        },
        EventKind::TeamChanged {
            team: Arc::default(),
        },
        EventKind::RequestChanged {
            request: permission("r2"),
        },
        EventKind::RequestChanged {
            request: plan("r3", &"a very long line of a plan ".repeat(400)),
        },
        decided(plan("r1", PLAN), "lead"),
        EventKind::notice(Level::Error, "task_3.json was damaged: set aside"),
        EventKind::Notice {
            level: Level::Warn,
            agent: Some(bob()),
            text: "repeats itself".into(),
        },
        EventKind::Refused {
            why: "bob has shut down".into(),
        },
        EventKind::CrewAtRest,
    ]);
    events
}
