//! Runs a dashboard with a lead and fifteen teammates that all stream at the same time, and measures their output.
//!
//! Each response is followed by a call of `read_file`, which leads to the next response. A teammate becomes idle after
//! the maximum rounds of a work phase; a message wakes it.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::SIZE;
use crate::common::pty::Screen;

pub const AGENTS: usize = 16;
/// Number of step files. An agent reads one after the other, and then again from the first. Larger than the window of
/// the loop detection, so that no agent counts as looping.
const STEPS: usize = 40;
const WAIT: Duration = Duration::from_millis(50);
/// Time without a response after which the benchmark fails.
const WITHIN: Duration = Duration::from_secs(60);
/// Characters per token in a script.
const TOKEN: u64 = 4;

/// What an agent answers to each message; `{{1}}` is the number in the message.
const ANSWER: &str = "\
## Step {{1}}: what I found

The parser reads the whole file **before** it looks at the first line, so a file of a gigabyte takes a gigabyte. \
I will read it line by line, as `reader.rs` does, and keep the line's number for the message.

- `parse` takes an iterator now, and no text
- errors name the *line*, counted from one
- a last line without its newline is a line too

```rust
pub fn parse<R: BufRead>(reader: R) -> Result<Vec<Entry>, ParseError> {
    let mut entries = Vec::new();
    for (number, line) in reader.lines().enumerate() {
        let line = line.map_err(|e| ParseError::read(number + 1, e))?;
        if line.trim().is_empty() || line.starts_with('#') {
            continue; // comments and blank lines
        }
        entries.push(Entry::from_line(&line).map_err(|e| e.at(number + 1))?);
    }
    Ok(entries)
}
```

| file | before | after |
|---|---|---|
| small.txt | 2 ms | 2 ms |
| large.txt | 940 ms | 610 ms |
| huge.txt | out of memory | 61 s |

Next I look at the callers: two of them hand over a text that they have read themselves, and those can stay as they \
are, since a slice of bytes is a reader as well. The third one, in `import.rs`, opens the file and reads it whole; it \
gets the reader instead. Its test writes a file of three lines and one that cannot be read, and expects the number \
of the line in the message. I also want to see what happens with a line of a hundred megabytes, which is legal, and \
which would still be held in memory whole: that deserves a bound and a word about it in the documentation.
";

/// A running dashboard and its journal.
pub struct StreamingCrew {
    screen: Screen,
    dir: tempfile::TempDir,
    journal: Journal,
    messages: u32,
}

impl StreamingCrew {
    /// Starts the dashboard and all agents, each at `pace` tokens per second.
    pub fn start(pace: u64) -> StreamingCrew {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir_all(root.join(".crewdeck")).unwrap();
        let settings = "calls_max = 32\nidle_timeout_s = 0\n";
        std::fs::write(root.join(".crewdeck/config.toml"), settings).unwrap();
        for step in 0..STEPS {
            let file = root.join(format!("step-{step}"));
            std::fs::write(file, format!("next {}\n", (step + 1) % STEPS)).unwrap();
        }
        let script = dir.path().join("script.yaml");
        std::fs::write(&script, rules(pace)).unwrap();
        let provider = format!("script:{}", script.display());
        let mut screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", &provider]);
        screen.wait_for("script");
        screen.send("go\r");
        let journal = Journal::find(&root);
        StreamingCrew {
            screen,
            dir,
            journal,
            messages: 0,
        }
    }

    pub fn pid(&self) -> u32 {
        self.screen.pid()
    }

    pub fn screen(&mut self) -> &mut Screen {
        &mut self.screen
    }

    /// Returns the number of frames so far, each of which is one synchronized update.
    pub fn frames(&self) -> usize {
        let raw = self.screen.raw();
        let begin = b"\x1b[?2026h";
        raw.windows(begin.len()).filter(|w| w == begin).count()
    }

    /// Waits until each agent has responded at least once.
    pub fn wait_until_all_stream(&mut self) {
        let until = Instant::now() + WITHIN;
        while self.journal.agents.len() < AGENTS {
            assert!(
                Instant::now() < until,
                "{} agents answered; the screen:\n{}",
                self.journal.agents.len(),
                self.screen.text()
            );
            self.step();
        }
    }

    /// Runs for `time`. Returns the tokens per second of each agent, lowest first.
    pub fn run_for(&mut self, time: Duration) -> Vec<f64> {
        self.journal.begin();
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.step();
        }
        self.journal.rates()
    }

    /// Runs until all agents together have streamed `tokens` since the start. Returns the exact number.
    pub fn run_until_tokens(&mut self, tokens: u64) -> u64 {
        let (mut before, mut since) = (0, Instant::now());
        while self.journal.tokens() < tokens {
            self.step();
            if self.journal.tokens() > before {
                (before, since) = (self.journal.tokens(), Instant::now());
            }
            assert!(
                since.elapsed() < WITHIN,
                "no agent responds after {before} tokens; the screen:\n{}",
                self.screen.text()
            );
        }
        self.journal.tokens()
    }

    /// Reads new journal lines and wakes idle teammates with a message.
    fn step(&mut self) {
        std::thread::sleep(WAIT);
        for agent in self.journal.read() {
            self.messages += 1;
            let message = serde_json::json!({
                "type": "message",
                "from": "lead",
                "content": format!("next {}", self.messages as usize % STEPS),
                "timestamp": 1.0,
            });
            let inbox = self.dir.path().join("project/.team/inbox");
            let inbox = inbox.join(format!("{agent}.jsonl"));
            let mut file = OpenOptions::new().append(true).create(true).open(inbox);
            file.as_mut()
                .unwrap()
                .write_all(format!("{message}\n").as_bytes())
                .unwrap();
        }
    }
}

fn rules(pace: u64) -> String {
    let answer = serde_json::to_string(ANSWER).unwrap();
    let read =
        |step: &str| format!("calls: [{{ tool: read_file, input: {{ path: 'step-{step}' }} }}]\n");
    let mut spawn = String::new();
    for n in 1..AGENTS {
        spawn.push_str(&format!(
            "      - {{ tool: spawn_teammate, input: {{ name: w{n}, role: coder, prompt: next {n} }} }}\n"
        ));
    }
    format!(
        "\
pace: {pace}
rules:
  - when: Write down the state of this work
    times: 0
    say: next 1
  - when: 'next (\\d+)'
    times: 0
    say: {answer}
    {}  - agent: lead
    when: ^go
    calls:
{spawn}  - agent: lead
    when: Spawned
    times: 0
    {}",
        read("{{1}}"),
        read("0"),
    )
}

/// How much text one agent has streamed. Times are in seconds.
#[derive(Default)]
struct AgentOutput {
    tokens: u64,
    /// Time of the first response since [`Journal::begin`].
    first: Option<f64>,
    /// Time of the latest response.
    last: f64,
    /// Tokens of all responses since [`Journal::begin`] except the first.
    between: u64,
}

/// A reader of a growing journal.
struct Journal {
    path: PathBuf,
    read: u64,
    rest: Vec<u8>,
    agents: HashMap<String, AgentOutput>,
}

impl Journal {
    fn find(root: &Path) -> Journal {
        let sessions = root.join(".crewdeck/sessions");
        let until = Instant::now() + WITHIN;
        loop {
            let found = std::fs::read_dir(&sessions).ok().and_then(|mut d| d.next());
            if let Some(session) = found {
                return Journal {
                    path: session.unwrap().path().join("journal.jsonl"),
                    read: 0,
                    rest: Vec::new(),
                    agents: HashMap::new(),
                };
            }
            assert!(Instant::now() < until, "there is no journal");
            std::thread::sleep(WAIT);
        }
    }

    /// Reads the new lines. Returns the teammates that have ended a turn and are idle now.
    fn read(&mut self) -> Vec<String> {
        let Ok(mut file) = std::fs::File::open(&self.path) else {
            return Vec::new();
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let count = file.read_to_end(&mut self.rest).unwrap();
        self.read += count as u64;
        let whole = self.rest.iter().rposition(|b| *b == b'\n');
        let Some(whole) = whole else {
            return Vec::new();
        };
        let rest = self.rest.split_off(whole + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let mut idle = Vec::new();
        for line in lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            let event: Value = serde_json::from_slice(line).unwrap();
            let agent = event["agent"].as_str().unwrap_or_default().to_string();
            match event["type"].as_str() {
                Some("said") => self.record(agent, &event),
                Some("turn_ended") if agent != "lead" => idle.push(agent),
                _ => {}
            }
        }
        idle
    }

    fn record(&mut self, agent: String, event: &Value) {
        let tokens = event["text"].as_str().unwrap_or_default().chars().count() as u64 / TOKEN;
        let streamed = self.agents.entry(agent).or_default();
        streamed.tokens += tokens;
        streamed.last = event["at"].as_f64().unwrap();
        match streamed.first {
            None => streamed.first = Some(streamed.last),
            Some(_) => streamed.between += tokens,
        }
    }

    fn begin(&mut self) {
        for streamed in self.agents.values_mut() {
            (streamed.first, streamed.between) = (None, 0);
        }
    }

    fn tokens(&self) -> u64 {
        self.agents.values().map(|s| s.tokens).sum()
    }

    /// Returns the tokens per second of each agent between its first and last response since [`Journal::begin`], lowest first.
    /// Omits agents without a response since then.
    #[allow(clippy::cast_precision_loss)] // far below 2^52
    fn rates(&self) -> Vec<f64> {
        let rate = |s: &AgentOutput| s.first.map(|first| s.between as f64 / (s.last - first));
        let mut rates: Vec<f64> = self.agents.values().filter_map(rate).collect();
        rates.sort_by(f64::total_cmp);
        rates
    }
}
