//! One round: a crew is started, killed at random moments, gone on with, and at last left to end its work.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{books, debris};

const SCRIPT: &str = include_str!("script.yaml");
const LOOK: &str = include_str!("look.sh");
/// How long a run may take that nobody kills; far more than it needs.
const DEADLINE: Duration = Duration::from_secs(180);
/// How soon early kills come.
const EARLY: Duration = Duration::from_millis(60);

/// A variable that all programs of a crew inherit; it names the place where it plays.
pub const MARK: &str = "CREWDECK_CRASH_PLACE";

/// What is played, and how it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Play {
    /// The crew of the script, killed over its whole life.
    Crew,
    /// The same, killed most often while it comes back.
    CrewEarly,
    /// The crew of the script, killed together with every process that it has started.
    CrewTree,
    /// The demo.
    Demo,
}

/// What happens in a round.
pub struct Plan {
    play: Play,
    /// How long each run lives before it is killed.
    lives: Vec<Duration>,
    seed: u64,
}

/// How a crew ends that nobody kills.
pub struct Calm {
    /// The files of the base branch.
    pub tree: String,
    /// How long it took.
    pub took: Duration,
}

/// What came of a round.
pub struct Ended {
    pub kills: u32,
    pub findings: Vec<String>,
    pub dir: String,
}

/// Random numbers that a seed gives (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap().max(1);
        Duration::from_micros(self.next() % most)
    }
}

impl Plan {
    /// The plan that `seed` gives for a crew which needs `whole` for its work.
    pub fn of(play: Play, seed: u64, whole: Duration) -> Plan {
        let mut random = Random(seed);
        let kills = 2 + random.next() % 4;
        let lives = match play {
            Play::Crew | Play::CrewTree | Play::Demo => {
                (0..kills).map(|_| random.below(whole / 2)).collect()
            }
            Play::CrewEarly => {
                // Each life is long enough to get somewhere; then it is cut while it comes back.
                let mut lives = Vec::new();
                for _ in 0..kills {
                    lives.push(random.below(whole / 2));
                    lives.push(random.below(EARLY));
                    lives.push(random.below(EARLY * 3));
                }
                lives
            }
        };
        Plan { play, lives, seed }
    }
}

/// Plays a crew that nobody kills.
pub fn undisturbed(play: Play) -> Calm {
    let dir = tempfile::tempdir().unwrap();
    let stage = Stage::new(play, dir.path());
    let began = Instant::now();
    let (status, said) = ended(stage.start(), &stage);
    let took = began.elapsed();
    assert!(status.is_some_and(|s| s.success()), "undisturbed: {said}");
    let findings = books::check(&stage.project, None);
    assert_eq!(findings, Vec::<String>::new(), "undisturbed");
    Calm {
        tree: books::tree(&stage.project),
        took,
    }
}

/// Plays a round.
pub fn play(plan: &Plan, calm: &Calm) -> Ended {
    let dir = tempfile::Builder::new()
        .prefix(&format!("crash-{}-", plan.seed))
        .tempdir()
        .unwrap();
    let stage = Stage::new(plan.play, dir.path());
    let mut kills = 0;
    let mut early = None;
    for life in &plan.lives {
        let mut child = stage.start();
        std::thread::sleep(*life);
        if let Some(status) = child.try_wait().unwrap() {
            early = Some(status);
            break;
        }
        if plan.play == Play::CrewTree {
            debris::kill_crew(child, MARK, &stage.home);
        } else {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        kills += 1;
    }
    let mut findings = Vec::new();
    let (status, said) = match early {
        Some(status) => (Some(status), stage.said()),
        None => ended(stage.start(), &stage),
    };
    match status {
        None => findings.push(format!("the last run hangs: {said}")),
        // All was done before the last kill: there is nothing to go on with.
        Some(_) if said.contains("that session has no unfinished turn") => {}
        Some(status) if status.success() => {}
        Some(status) => findings.push(format!("the last run ended with {status}: {said}")),
    }
    findings.extend(books::check(&stage.project, Some(&calm.tree)));
    findings.extend(books::orphans(MARK, &stage.home));
    if plan.play == Play::CrewTree {
        findings.extend(debris::check(&stage.project));
    }
    if plan.play == Play::Demo && books::lacks_a_number(&stage.project) {
        // A number that was given and not used is never given again; the demo's lead knows its tasks by their numbers.
        eprintln!(
            "seed {}: passed over, a task's number was lost with a kill",
            plan.seed
        );
        findings.clear();
    }
    let mut place = dir.path().display().to_string();
    if findings.is_empty() {
        place.clear();
    } else {
        // To be looked at.
        let _ = dir.keep();
    }
    Ended {
        kills,
        findings,
        dir: place,
    }
}

/// Kills a crew while a command and a background job of it run; both must be gone within the deadline.
pub fn outlived() {
    let dir = tempfile::tempdir().unwrap();
    let stage = Stage::new(Play::Crew, dir.path());
    let script = r#"
rules:
  - calls:
      - { tool: background_run, input: { command: "touch one; sleep 600" } }
      - { tool: bash, input: { command: "touch two; sleep 600" } }
"#;
    std::fs::write(stage.home.join("script.yaml"), script).unwrap();
    let mut child = stage.start();
    let until = Instant::now() + DEADLINE;
    let has = |file: &str| stage.project.join(file).exists();
    while !(has("one") && has("two")) {
        assert!(Instant::now() < until, "{}", stage.said());
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut left = books::orphans(MARK, &stage.home);
    while !left.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        left = books::orphans(MARK, &stage.home);
    }
    for process in &left {
        let id = process.split(' ').nth(1).unwrap_or_default();
        let _ = Command::new("kill").args(["-9", id]).status();
    }
    assert_eq!(left, Vec::<String>::new());
}

/// The program that is killed; a long run may name another one, as that of a release build.
fn program() -> PathBuf {
    let named = std::env::var_os("CREWDECK_PROGRAM");
    named.map_or_else(|| env!("CARGO_BIN_EXE_crewdeck").into(), PathBuf::from)
}

/// Where a crew plays.
struct Stage {
    play: Play,
    home: PathBuf,
    project: PathBuf,
}

impl Stage {
    fn new(play: Play, dir: &Path) -> Stage {
        let stage = Stage {
            play,
            home: dir.to_owned(),
            project: dir.join("project"),
        };
        if play != Play::Demo {
            stage.repository();
        }
        stage
    }

    fn repository(&self) {
        std::fs::create_dir(&self.project).unwrap();
        std::fs::write(self.home.join("script.yaml"), SCRIPT).unwrap();
        std::fs::write(self.project.join("look.sh"), LOOK).unwrap();
        std::fs::write(self.project.join("shared.txt"), "word: none\n").unwrap();
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.org"],
            &["config", "commit.gpgsign", "false"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "Begin"],
        ] {
            books::git(&self.project, args);
        }
    }

    /// Starts the crew, or goes on with it where it has a session.
    fn start(&self) -> Child {
        let has_session = books::files(&self.project.join(".transcripts"))
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("-lead.jsonl"))
            // A log without a message: it was killed before the lead had heard its first words.
            .any(|path| std::fs::read_to_string(path).is_ok_and(|log| log.contains("\"role\"")));
        let mut command = Command::new(program());
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env(MARK, &self.home)
            .current_dir(&self.home)
            .args(["run", "--json", "--dir"])
            .arg(&self.project);
        match self.play {
            Play::Demo => {
                command.args(["--demo", "--speed", "100"]);
                if !has_session && self.project.exists() {
                    // Killed before the lead had heard its first words.
                    // A git of the killed run may still write there.
                    while self.project.exists() {
                        let _ = std::fs::remove_dir_all(&self.project);
                    }
                }
            }
            Play::Crew | Play::CrewEarly | Play::CrewTree => {
                let script = format!("script:{}", self.home.join("script.yaml").display());
                command.args(["--provider", &script]);
                command.args(["--plan", "lead", "--shutdown", "auto", "--tool", "auto"]);
                if !has_session {
                    command.arg("Build it");
                }
            }
        }
        if has_session {
            command.arg("--resume");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.home.join("said")).unwrap())
            .spawn()
            .unwrap()
    }

    /// What the last run said.
    fn said(&self) -> String {
        std::fs::read_to_string(self.home.join("said")).unwrap_or_default()
    }
}

/// Waits for the end of a run. `None`: it did not come.
fn ended(mut child: Child, stage: &Stage) -> (Option<ExitStatus>, String) {
    let until = Instant::now() + DEADLINE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > until => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    (status, stage.said())
}
