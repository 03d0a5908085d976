//! The lead's conversation with few cells and with as many as are kept: what each frame costs beside the other.

use std::time::{Duration, Instant};

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::ids::{CallId, Name};
use crewdeck::domain::stamp::Stamp;
use crewdeck::protocol::event::Setup;
use crewdeck::protocol::{Event, EventKind};
use crewdeck::ui::transcript::CELLS_MAX;
use crewdeck::ui::{Motion, Msg, Theme, UiState, ViewCache, draw, keys, update};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::common::SIZE;

const FEW: usize = 100;
/// Frames of one measurement, and how many measurements are made in turns: the best of them counts, since what else
/// the machine does can only make one slower.
const FRAMES: u32 = 60;
const TURNS: usize = 15;

/// What is measured: a name, keys pressed before all of it, what happens before each frame, and whether a search goes
/// through all cells.
struct Case {
    name: &'static str,
    before: &'static [&'static str],
    each: fn(&mut Pane, u32),
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
        name: "a tool call comes in and is done",
        before: &[],
        each: |pane, n| pane.call(u64::from(n)),
        goal: "1",
    },
    Case {
        name: "a page up, a page down",
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
        name: "another width",
        before: &[],
        each: |pane, n| pane.resize(if n % 2 == 0 { 120 } else { 160 }),
        goal: "1",
    },
    Case {
        name: "another width, scrolled up",
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
        name: "a letter of a search is typed",
        before: &["esc", "1", "/"],
        each: |pane, n| pane.key(if n % 2 == 0 { "e" } else { "backspace" }),
        goal: "none: all words are looked through",
    },
];

/// Lines of the part of an answer that has not ended.
const SHORT: usize = 20;
const LONG: usize = 2000;

/// One part of an answer that grows at its end: what begins it, and each line of it.
struct Growing {
    name: &'static str,
    begin: &'static str,
    line: &'static str,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Words,
    Thoughts,
}

const GROWING: &[Growing] = &[
    Growing {
        name: "a code block streams in",
        begin: "```rust\n",
        line: "    let value = table.get(\"key\").unwrap_or(&0) + 1; // counts\n",
        what: What::Words,
    },
    Growing {
        name: "a list streams in",
        begin: "",
        line: "- an item of a **list** with `code` and some more words\n",
        what: What::Words,
    },
    Growing {
        name: "a paragraph streams in",
        begin: "",
        line: "and more words of a paragraph that does not end, with `code` in it\n",
        what: What::Words,
    },
    Growing {
        name: "thoughts stream in",
        begin: "",
        line: "I should look at the parser first, and then at its callers.\n",
        what: What::Thoughts,
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
        let micros = beside(&mut few, &mut many, case.each);
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
            pane.grow(case.what, case.begin);
            pane.grow(case.what, &case.line.repeat(lines));
            pane.draw();
            pane
        });
        let micros = beside(&mut short, &mut long, |pane, _| {
            // Half a word a frame: the part does not become much longer while it is measured.
            pane.grow(case.what, "x");
        });
        println!(
            "{}: {:.0} µs behind {SHORT} lines, {:.0} µs behind {LONG}, ratio {:.2} (goal: below 3)",
            case.name,
            micros[0],
            micros[1],
            micros[1] / micros[0],
        );
    }
}

/// What a frame costs in both, in microseconds.
fn beside(one: &mut Pane, other: &mut Pane, each: impl Fn(&mut Pane, u32)) -> [f64; 2] {
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

/// A screen with a conversation of so many cells, and a terminal in memory.
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
            state: UiState::new(width, height, TimeZone::UTC, Motion::Full),
            cache: ViewCache::default(),
            theme: Theme::default(),
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            seq: 0,
        };
        pane.tell(EventKind::CrewReady(Setup {
            session: "s".into(),
            root: "~/project".into(),
            provider: "script".into(),
            model: "script".into(),
            scripted: true,
            git: false,
            window: None,
            tools: vec![],
            earlier: false,
        }));
        for n in 0..cells as u64 {
            match n % 4 {
                0 => pane.tell(EventKind::Prompted {
                    agent: Name::lead(),
                    text: format!("what about file {n}?"),
                }),
                1 => pane.tell(EventKind::Said {
                    agent: Name::lead(),
                    text: format!(
                        "I look at **file {n}**:\n\n- one\n- two\n\n```rust\nfn f() -> u64 {{ {n} }}\n```\n\nThat is all that there is to say of it."
                    ),
                    thinking: String::new(),
                    thought_ms: 0,
                }),
                _ => pane.call(n),
            }
        }
        pane
    }

    fn tell(&mut self, kind: EventKind) {
        self.seq += 1;
        let at = Stamp(1_700_000_000.0);
        let seq = self.seq;
        update(&mut self.state, Msg::Event(Event { seq, at, kind }));
    }

    fn delta(&mut self, n: u32) {
        if n == 0 {
            // What was streamed is over: the next words begin a cell.
            self.call(0);
        }
        let end = if n % 12 == 11 { "\n\n" } else { " " };
        let text = format!("a few more words of a reply about file {n}{end}");
        let agent = Name::lead();
        self.tell(EventKind::TextDelta { agent, text });
    }

    fn grow(&mut self, what: What, text: &str) {
        let (agent, text) = (Name::lead(), text.to_string());
        self.tell(match what {
            What::Words => EventKind::TextDelta { agent, text },
            What::Thoughts => EventKind::ThinkingDelta { agent, text },
        });
    }

    fn call(&mut self, n: u64) {
        let (agent, call, tool) = (Name::lead(), CallId(n.to_string()), "read_file".to_string());
        self.tell(EventKind::ToolStarted {
            agent: agent.clone(),
            call: call.clone(),
            tool: tool.clone(),
            on: format!("src/file-{n}.rs"),
            input: serde_json::json!({ "path": format!("src/file-{n}.rs") }),
        });
        self.tell(EventKind::ToolFinished {
            agent,
            call,
            tool,
            outcome: Outcome::Ok,
            output: "fn main() {}\n".repeat(20),
            diff: String::new(),
            took_ms: 3,
        });
    }

    fn key(&mut self, key: &str) {
        let key = keys::parse(key).unwrap();
        update(&mut self.state, Msg::Key(key, Stamp(1_700_000_000.0)));
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
