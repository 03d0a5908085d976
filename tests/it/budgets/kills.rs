//! Crews that add to the shared file with the usage of the day and the month, and are killed with `kill -9` meanwhile.
//!
//! `CREWDECK_ROUNDS=100 cargo test --test it budgets::kills -- --nocapture` kills crews in 100 rounds and prints how many
//! had added usage.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::project::{Project, RunResult};
use crate::common::random::Random;
use crate::crash::state_check;

/// Crews that run at once in each round. Each has two agents.
const CREWS: usize = 4;
/// Usage of each call, in tokens.
const CALL: u64 = 100;
/// Maximum time between the start of the crews and a kill.
const LIFETIME: Duration = Duration::from_millis(1500);

/// Number of files that an agent reads one after the other, and then again from the first. More than the loop detection
/// remembers, so that no agent counts as looping.
const STEPS: usize = 40;

/// Two agents that call their model again and again.
const RULES: &str = "
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: spawn_teammate, input: { name: bob, prompt: next 0 } }
      - { tool: read_file, input: { path: step-0 } }
    usage: { input: 80, output: 20 }
  - agent: lead
    when: ^report$
    say: Done.
    usage: { input: 80, output: 20 }
  - when: next ([0-9]+)
    times: 0
    calls: [{ tool: read_file, input: { path: 'step-{{1}}' } }]
    usage: { input: 80, output: 20 }
  - times: 0
    calls: [{ tool: read_file, input: { path: step-0 } }]
    usage: { input: 80, output: 20 }
";

/// A home with a budget for the day, in which several crews run, each in a folder of its own.
struct Home(Project);

impl Home {
    fn new() -> Home {
        let home = Project::new();
        home.write_user_settings(
            "calls_without_progress = 0\n[budget]\nday_tokens = 1000000000\nmonth_tokens = 1000000000\n",
        );
        home.write("script.yaml", RULES);
        for crew in 0..=CREWS {
            for step in 0..STEPS {
                let next = format!("next {}\n", (step + 1) % STEPS);
                home.write(&format!("crew-{crew}/step-{step}"), &next);
            }
        }
        Home(home)
    }

    fn folder(&self, crew: usize) -> PathBuf {
        self.0.file(&format!("crew-{crew}"))
    }

    fn command(&self, crew: usize, prompt: &str) -> std::process::Command {
        let provider = format!("script:{}", self.0.file("script.yaml").display());
        let args = ["run", prompt, "--json", "--provider", &provider];
        let mut command = self.0.command(&args);
        command.current_dir(self.folder(crew)).stdin(Stdio::null());
        command
    }

    fn start(&self, crew: usize) -> Child {
        let output = |name: &str| File::create(self.folder(crew).join(name)).unwrap();
        let mut command = self.command(crew, "go");
        command.stdout(output("out.jsonl")).stderr(output("stderr"));
        command.spawn().unwrap()
    }

    /// Returns the tokens of all days in the shared file. Panics if the file cannot be read.
    fn spent(&self) -> u64 {
        let path = self.0.file(".local/state/crewdeck/spending.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            return 0;
        };
        let record: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let days = record["days"].as_object().unwrap().values();
        days.map(|day| day["tokens"].as_u64().unwrap()).sum()
    }

    /// Returns what the agents of a crew have recorded as used, in tokens, and the number of agents.
    fn recorded(&self, crew: usize) -> (u64, u64) {
        let mut problems = Vec::new();
        let all = state_check::conversations(&self.folder(crew), &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        let tokens = all.values().map(|c| c.spent.input + c.spent.output).sum();
        (tokens, all.len() as u64)
    }

    /// Returns the usage of the agents of a crew that its events report, in tokens.
    fn reported(&self, crew: usize) -> u64 {
        let events = state_check::lines(&self.folder(crew).join("out.jsonl"));
        let total = |agent: &str| {
            let of_agent = |e: &&Value| e["type"] == "usage_changed" && e["agent"] == agent;
            let total = events.iter().rev().find(of_agent).map(|e| &e["total"]);
            let count = |key: &str| total.map_or(0, |total| total[key].as_u64().unwrap());
            count("input") + count("output")
        };
        total("lead") + total("bob")
    }
}

/// What a round has met.
#[derive(Debug, Default)]
struct Met {
    /// Crews that had added usage when they were killed.
    working: usize,
    /// Rounds in which the file had usage that no conversation had recorded yet.
    between: usize,
}

fn kill_crews(seed: u64, met: &mut Met) {
    let home = Home::new();
    let mut random = Random(seed);
    let began = Instant::now();
    let mut crews: Vec<(Duration, usize, Child)> = (0..CREWS)
        .map(|crew| (random.below(LIFETIME), crew, home.start(crew)))
        .collect();
    crews.sort_by_key(|(lifetime, ..)| *lifetime);
    if seed.is_multiple_of(2) {
        // Two at the same moment: one of them may hold the lock for which the other waits.
        crews[CREWS - 2].0 = crews[CREWS - 1].0;
    }
    for (lifetime, crew, child) in &mut crews {
        std::thread::sleep(lifetime.saturating_sub(began.elapsed()));
        assert!(
            child.try_wait().unwrap().is_none(),
            "seed {seed}: crew {crew} has ended"
        );
        child.kill().unwrap();
        // Readable at each moment.
        home.spent();
    }
    for (_, _, mut child) in crews {
        child.wait().unwrap();
    }
    let spent = home.spent();
    let (mut recorded, mut agents, mut reported) = (0, 0, 0);
    for crew in 0..CREWS {
        let (tokens, count) = home.recorded(crew);
        met.working += usize::from(tokens > 0);
        recorded += tokens;
        agents += count;
        reported += home.reported(crew);
        let stderr = std::fs::read_to_string(home.folder(crew).join("stderr")).unwrap();
        assert!(
            !stderr.contains("cannot be saved") && !stderr.contains("is damaged"),
            "seed {seed}: {stderr}"
        );
    }
    met.between += usize::from(spent > recorded);
    // Usage is added to the file before it is recorded and reported, in whole calls. An agent makes one call at a time.
    let text = format!(
        "seed {seed}: {spent} in the file, {recorded} recorded, {reported} reported, {agents} agents"
    );
    assert!(spent.is_multiple_of(CALL), "{text}");
    assert!(reported <= recorded, "{text}");
    assert!(recorded <= spent, "usage is lost: {text}");
    assert!(spent <= recorded + agents * CALL, "counted twice: {text}");
    // The killed crews left no lock: another crew adds its call at once.
    let before = Instant::now();
    let ran = RunResult(home.command(CREWS, "report").output().unwrap());
    assert_eq!(ran.code(), 0, "seed {seed}: {}", ran.err());
    assert!(before.elapsed() < Duration::from_secs(10), "seed {seed}");
    assert_eq!(home.spent(), spent + CALL, "{text}");
    let kept = std::fs::read_dir(home.0.file(".local/state/crewdeck")).unwrap();
    let names: Vec<String> = kept
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.contains("damaged")),
        "seed {seed}: {names:?}"
    );
}

#[test]
fn killed_crews_lose_and_repeat_no_usage_of_the_day() {
    let rounds = std::env::var("CREWDECK_ROUNDS").map_or(1, |text| text.parse().unwrap());
    let first = std::env::var("CREWDECK_SEED").map_or(1, |text| text.parse().unwrap());
    let mut met = Met::default();
    for seed in first..first + rounds {
        kill_crews(seed, &mut met);
    }
    let kills = usize::try_from(rounds).unwrap() * CREWS;
    println!(
        "{kills} crews killed, {} had added usage; in {} of {rounds} rounds, a kill came after an addition and before its record",
        met.working, met.between
    );
    assert!(
        rounds < 5 || met.working * 2 >= kills,
        "only {} of {kills} crews had added usage when they were killed",
        met.working
    );
}
