//! Compares frame times of the lead's conversation with few cells and with the maximum number of cells.

use std::time::{Duration, Instant};

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::ids::{CallId, Name};
use crewdeck::domain::permission::SettingsPermissions;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::protocol::event::SessionInfo;
use crewdeck::protocol::{AgentEvent, CrewEvent, Event, EventKind};
use crewdeck::ui::transcript::CELLS_MAX;
use crewdeck::ui::{Msg, Theme, UiState, ViewCache, draw, keys, update};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::common::SIZE;

const FEW: usize = 100;
/// Frames per measurement.
const FRAMES: u32 = 60;
/// Number of measurements of each pane; the two panes take turns. The fastest one counts, because other load on the
/// machine only makes a measurement slower.
const TURNS: usize = 15;

/// A situation in which frame times are measured.
struct Case {
    name: &'static str,
    /// Keys to press before the measurement.
    before: &'static [&'static str],
    /// Called before each frame with the number of the frame in its measurement, from 0.
    each: fn(&mut Pane, u32),
    /// The goal for the frame time with many cells, divided by that with few cells.
    goal: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "nothing new",
        before: &[],
        each: |_, _| {},
        goal: "1",
    },
    Case {
        name: "a reply streams in at the end",
        before: &[],
        each: |pane, n| pane.delta(n),
        goal: "1",
    },
    Case {
        name: "a tool call starts and finishes",
        before: &[],
        each: |pane, n| pane.call(u64::from(n)),
        goal: "1",
    },
    Case {
        name: "page up, page down",
        before: &["esc", "1", "pgup", "pgup"],
        each: |pane, n| pane.key(if n % 2 == 0 { "pgup" } else { "pgdn" }),
        goal: "1",
    },
    Case {
        name: "to the top, to the end",
        before: &["esc", "1"],
        each: |pane, n| pane.key(if n % 2 == 0 { "g" } else { "G" }),
        goal: "1",
    },
    Case {
        name: "resize",
        before: &[],
        each: |pane, n| pane.resize(if n % 2 == 0 { 120 } else { 160 }),
        goal: "1",
    },
    Case {
        name: "resize, scrolled up",
        before: &["esc", "1", "pgup", "pgup"],
        each: |pane, n| pane.resize(if n % 2 == 0 { 120 } else { 160 }),
        goal: "1",
    },
    Case {
        name: "the next match of a search",
        before: &["esc", "1", "/", "f", "i", "l", "e", "enter"],
        each: |pane, _| pane.key("N"),
        goal: "1",
    },
    Case {
        name: "a reply streams in during a search",
        before: &["esc", "1", "/", "f", "i", "l", "e", "enter"],
        each: |pane, n| pane.delta(n),
        goal: "1",
    },
    Case {
        name: "typing a search",
        before: &["esc", "1", "/"],
        each: |pane, n| pane.key(if n % 2 == 0 { "e" } else { "backspace" }),
        goal: "none: searches all text",
    },
];

/// Lines of the shorter of the two unfinished blocks that are compared; the longer one has [`LONG`].
const SHORT: usize = 20;
const LONG: usize = 2000;

/// A block of a streamed response that grows at its end.
struct GrowingBlock {
    name: &'static str,
    begin: &'static str,
    /// The text of every line after `begin`.
    line: &'static str,
    kind: StreamKind,
}

#[derive(Clone, Copy)]
enum StreamKind {
    Text,
    Thinking,
}

const GROWING: &[GrowingBlock] = &[
    GrowingBlock {
        name: "a code block streams in",
        begin: "```rust\n",
        line: "    let value = table.get(\"key\").unwrap_or(&0) + 1; // counts\n",
        kind: StreamKind::Text,
    },
    GrowingBlock {
        name: "a list streams in",
        begin: "",
        line: "- an item of a **list** with `code` and some more words\n",
        kind: StreamKind::Text,
    },
    GrowingBlock {
        name: "a paragraph streams in",
        begin: "",
        line: "and more words of a paragraph that does not end, with `code` in it\n",
        kind: StreamKind::Text,
    },
    GrowingBlock {
        name: "thinking streams in",
        begin: "",
        line: "I should look at the parser first, and then at its callers.\n",
        kind: StreamKind::Thinking,
    },
];

pub fn print() {
    for case in CASES {
        let mut few = Pane::new(FEW);
        let mut many = Pane::new(CELLS_MAX);
        for pane in [&mut few, &mut many] {
            pane.draw();
            for key in case.before {
                pane.key(key);
            }
            pane.draw();
        }
        let micros = compare(&mut few, &mut many, case.each);
        println!(
            "{}: {:.0} µs with {FEW} cells, {:.0} µs with {CELLS_MAX}, ratio {:.2} (goal: {})",
            case.name,
            micros[0],
            micros[1],
            micros[1] / micros[0],
            case.goal
        );
    }
    for case in GROWING {
        let [mut short, mut long] = [SHORT, LONG].map(|lines| {
            let mut pane = Pane::new(FEW);
            pane.grow(case.kind, case.begin);
            pane.grow(case.kind, &case.line.repeat(lines));
            pane.draw();
            pane
        });
        let micros = compare(&mut short, &mut long, |pane, _| {
            // One character per frame, so that the block hardly grows during the measurement.
            pane.grow(case.kind, "x");
        });
        println!(
            "{}: {:.0} µs after {SHORT} lines, {:.0} µs after {LONG}, ratio {:.2} (goal: below 3)",
            case.name,
            micros[0],
            micros[1],
            micros[1] / micros[0],
        );
    }
}

/// Returns the time of a frame in each pane, in microseconds: the fastest of [`TURNS`] measurements.
fn compare(one: &mut Pane, other: &mut Pane, each: impl Fn(&mut Pane, u32)) -> [f64; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..TURNS {
        for (pane, best) in [&mut *one, &mut *other].into_iter().zip(&mut best) {
            let began = Instant::now();
            for n in 0..FRAMES {
                each(pane, n);
                pane.draw();
            }
            *best = (*best).min(began.elapsed() / FRAMES);
        }
    }
    best.map(|b| b.as_secs_f64() * 1e6)
}

/// A dashboard with a conversation, drawn to an in-memory terminal.
struct Pane {
    state: UiState,
    cache: ViewCache,
    theme: Theme,
    terminal: Terminal<TestBackend>,
    seq: u64,
}

impl Pane {
    fn new(cells: usize) -> Pane {
        let (width, height) = SIZE;
        let mut pane = Pane {
            state: UiState::new(width, height, TimeZone::UTC),
            cache: ViewCache::default(),
            theme: Theme::default(),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            seq: 0,
        };
        pane.apply(EventKind::Crew(CrewEvent::Ready(SessionInfo {
            session: "s".into(),
            root: "~/project".into(),
            provider: "script".into(),
            model: "script".into(),
            scripted: true,
            git: false,
            window: None,
            tools: vec![],
            earlier: false,
            allowed: SettingsPermissions::default(),
            checks: false,
        })));
        for n in 0..cells as u64 {
            match n % 4 {
                0 => pane.apply(AgentEvent::prompt(format!("what about file {n}?")).of(Name::lead())),
                1 => pane.apply(AgentEvent::AnswerFinished { text: format!(
                        "I look at **file {n}**:\n\n- one\n- two\n\n```rust\nfn f() -> u64 {{ {n} }}\n```\n\nThat is all that there is to say of it."
                    ), thinking: String::new(), thought_ms: 0 }.of(Name::lead())),
                _ => pane.call(n),
            }
        }
        pane
    }

    fn apply(&mut self, kind: EventKind) {
        self.seq += 1;
        let at = Timestamp(1_700_000_000.0);
        let seq = self.seq;
        update(&mut self.state, Msg::Event(Event { seq, at, kind }));
    }

    fn delta(&mut self, n: u32) {
        if n == 0 {
            // Ends the streamed response, so that the next text starts a new cell.
            self.call(0);
        }
        let end = if n % 12 == 11 { "\n\n" } else { " " };
        let text = format!("a few more words of a reply about file {n}{end}");
        let agent = Name::lead();
        self.apply(AgentEvent::TextDelta { text }.of(agent));
    }

    fn grow(&mut self, kind: StreamKind, text: &str) {
        let (agent, text) = (Name::lead(), text.to_string());
        self.apply(match kind {
            StreamKind::Text => AgentEvent::TextDelta { text }.of(agent),
            StreamKind::Thinking => AgentEvent::ThinkingDelta { text }.of(agent),
        });
    }

    fn call(&mut self, n: u64) {
        let (agent, call, tool) = (Name::lead(), CallId(n.to_string()), "read_file".to_string());
        self.apply(
            AgentEvent::ToolStarted {
                call: call.clone(),
                tool: tool.clone(),
                on: format!("src/file-{n}.rs"),
                input: serde_json::json!({ "path": format!("src/file-{n}.rs") }),
            }
            .of(agent.clone()),
        );
        self.apply(
            AgentEvent::ToolFinished {
                call,
                tool,
                outcome: Outcome::Ok,
                output: "fn main() {}\n".repeat(20),
                diff: String::new(),
                took_ms: 3,
            }
            .of(agent),
        );
    }

    fn key(&mut self, key: &str) {
        let key = keys::parse(key).unwrap();
        update(&mut self.state, Msg::Key(key, Timestamp(1_700_000_000.0)));
    }

    fn resize(&mut self, width: u16) {
        self.terminal.backend_mut().resize(width, SIZE.1);
        update(&mut self.state, Msg::Resize(width, SIZE.1));
    }

    fn draw(&mut self) {
        let (state, cache, theme) = (&self.state, &mut self.cache, &self.theme);
        self.terminal
            .draw(|frame| draw(state, cache, theme, frame))
            .unwrap();
    }
}
