//! The repository of the played team, and its crew in a terminal, in which the user answers questions.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Play, tasks};
use crate::common::pty::Screen;
use crate::common::repository;
use crate::crash::state_check;

const SCRIPT: &str = include_str!("script.yaml");

/// The check of the project: each part is good, and no two use the same port.
pub const CHECK: &str = r#"set -eu
for part in parts/*.part; do
    grep -qx state=good "$part" || { echo "error: $part is not good"; exit 1; }
done
twice=$(sed -n 's/^port=//p' parts/*.part | sort | uniq -d)
[ -z "$twice" ] || { echo "error: two parts use port $twice"; exit 1; }
"#;

/// What the user answers when a task is red again and again.
const ADVICE: &str = "Write it well";
/// The end of each question in the terminal.
const PROMPT: &[u8] = b"Answer (empty: let the agent decide): ";
/// Maximum duration of a run that is not killed. Far longer than such a run takes.
const DEADLINE: Duration = Duration::from_secs(240);

/// Environment variable by which the programs of a crew are found. They inherit it; its value is the home.
pub const HOME_VARIABLE: &str = "CREWDECK_PROOF_TEAM";

/// A home with a project of 20 tasks.
pub struct Workspace {
    dir: tempfile::TempDir,
    pub project: PathBuf,
}

/// How a run has ended by itself.
#[derive(Debug, Default)]
pub struct RunEnd {
    /// The exit code; 255 if the run had to be killed after [`DEADLINE`].
    pub code: u32,
    /// The end of what it has written.
    pub text: String,
}

impl Workspace {
    pub fn new(prefix: &str) -> Workspace {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
        let project = dir.path().canonicalize().unwrap().join("project");
        let workspace = Workspace { dir, project };
        std::fs::create_dir_all(workspace.project.join("parts")).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(workspace.project.join(name), text).unwrap();
        };
        write("parts/base.part", "state=good\nport=8000\n");
        for args in [
            &["init", "--quiet", "--template=", "--initial-branch=main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.org"],
            &["config", "commit.gpgsign", "false"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "Begin"],
        ] {
            repository::git(&workspace.project, args);
        }
        std::fs::write(workspace.script(), SCRIPT).unwrap();
        std::fs::create_dir(workspace.project.join(".crewdeck")).unwrap();
        let settings = format!(
            "merge = \"auto\"\n\n[[checks]]\nname = \"parts\"\nrun = '''\n{CHECK}'''\ntimeout_s = 60\n"
        );
        write(".crewdeck/config.toml", &settings);
        workspace.crewdeck(&["trust", "--yes"]);
        for (id, play) in tasks() {
            let (subject, accept) = (play.subject(id), format!("test -s parts/{id}.part"));
            let mut args = vec!["task", "add", &subject];
            if play == Play::Claims {
                // The check alone would be green: nothing in the parts is wrong.
                args.extend(["--accept", &accept]);
            }
            workspace.crewdeck(&args);
        }
        workspace
    }

    pub fn home(&self) -> &std::path::Path {
        self.project.parent().unwrap()
    }

    fn script(&self) -> PathBuf {
        self.home().join("script.yaml")
    }

    /// Runs a command of the user. Panics if it fails.
    fn crewdeck(&self, args: &[&str]) {
        let output = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
            .args(args)
            .arg("--dir")
            .arg(&self.project)
            .current_dir(self.home())
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.home())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {error}");
    }

    /// Starts the crew in a terminal, or resumes its session if it has one.
    pub fn start(&self) -> RunningTeam {
        let has_session = state_check::files(&self.project.join(".transcripts"))
            .iter()
            .filter(|path| path.to_string_lossy().ends_with("-lead.jsonl"))
            // A log without a message was cut before the first prompt and cannot be resumed.
            .any(|path| std::fs::read_to_string(path).is_ok_and(|log| log.contains("\"role\"")));
        let provider = format!("script:{}", self.script().display());
        let dir = self.project.to_string_lossy();
        let mut args = vec!["run", "--dir", &dir, "--provider", &provider];
        args.extend(["--tool", "auto"]);
        if has_session {
            args.extend(["--resume", "Go on"]);
        } else {
            args.push("Build it");
        }
        let home = self.home().to_string_lossy();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_crewdeck"));
        let environment = [(HOME_VARIABLE, &*home)];
        let screen = Screen::start_program(&program, self.home(), 160, 45, &args, &environment);
        RunningTeam {
            screen,
            answered: 0,
        }
    }

    /// Keeps the folder for inspection unless `is_good`. Returns its path, empty if it is deleted.
    pub fn keep_unless(mut self, is_good: bool) -> String {
        if is_good {
            return String::new();
        }
        self.dir.disable_cleanup(true);
        self.dir.path().display().to_string()
    }
}

/// A crew in a terminal.
pub struct RunningTeam {
    screen: Screen,
    answered: usize,
}

impl RunningTeam {
    /// Answers questions as the user until the run ends by itself.
    pub fn run_to_end(mut self) -> RunEnd {
        let until = Instant::now() + DEADLINE;
        while Instant::now() < until {
            if self.screen.has_ended() {
                let raw = self.screen.raw();
                let text = String::from_utf8_lossy(&raw[raw.len().saturating_sub(4000)..]).into();
                let (status, _) = self.screen.wait_for_exit();
                let code = status.exit_code();
                return RunEnd { code, text };
            }
            self.answer();
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = self.screen.text();
        self.screen.kill();
        RunEnd { code: 255, text }
    }

    /// Answers questions as the user for `lifetime`, and kills the crew. Returns false if it has ended before.
    pub fn run_until(mut self, lifetime: Duration) -> bool {
        let until = Instant::now() + lifetime;
        while Instant::now() < until && !self.screen.has_ended() {
            self.answer();
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.screen.has_ended() {
            drop(self.screen.wait_for_exit());
            return false;
        }
        self.screen.kill();
        true
    }

    /// Answers the question in the terminal, if there is a new one.
    fn answer(&mut self) {
        let raw = self.screen.raw();
        let asked = raw.windows(PROMPT.len()).filter(|part| *part == PROMPT);
        if asked.count() > self.answered {
            self.answered += 1;
            self.screen.send(&format!("{ADVICE}\n"));
        }
    }
}
