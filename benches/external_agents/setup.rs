//! Projects whose teammates are external agents, crewdeck's own agents, or both.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::pty::Screen;
use crate::common::{SIZE, process, repository, turns};
use crate::{PACE, WITHIN};

/// A project whose lead spawns `own` agents of crewdeck and `external` agents when the user says `begin`, each with the
/// first prompt `prompt`.
pub struct Setup {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub log: PathBuf,
}

impl Setup {
    pub fn new(own: usize, external: usize, prompt: &str) -> Setup {
        let dir = tempfile::tempdir().unwrap();
        let root = repository(dir.path(), "project", 0);
        let log = root.join("agent.log");
        configure(&root, 1, &log);
        std::fs::write(root.join("rules.yaml"), rules(own, external, prompt)).unwrap();
        Setup {
            _dir: dir,
            root,
            log,
        }
    }

    /// Starts the dashboard and waits until all agents have been started and, if `turns` says so, have answered.
    pub fn start(&self, agents: usize, answered: usize) -> Screen {
        let mut screen = Screen::start(&self.root, SIZE.0, SIZE.1, ARGS);
        screen.wait_for("script");
        screen.send("begin\r");
        let until = Instant::now() + WITHIN;
        let prompts = || {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            log.lines()
                .filter(|line| line.starts_with("prompt "))
                .count()
        };
        while prompts() < agents || turns(&self.root) < answered {
            assert!(Instant::now() < until, "the screen:\n{}", screen.text());
            std::thread::sleep(Duration::from_millis(50));
        }
        screen
    }
}

pub const ARGS: &[&str] = &["--provider", "script:rules.yaml"];

/// Configures `count` external agents for a user whose home directory is `root`.
pub fn configure(root: &Path, count: usize, log: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/external/agent.py");
    let command = json!(["python3", script, format!("--log={}", log.display())]);
    let mut settings = "agents_max = 20\nidle_timeout_s = 0\ncalls_max = 20\n".to_string();
    for n in 0..count {
        let name = if n == 0 {
            "fake".to_string()
        } else {
            format!("fake{n}")
        };
        write!(
            settings,
            "[agents.{name}]\ncommand = {command}\nmode = 'default'\n"
        )
        .unwrap();
    }
    let folder = root.join(".config/crewdeck");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), settings).unwrap();
}

pub fn rules(own: usize, external: usize, prompt: &str) -> String {
    let mut out = format!("pace: {PACE}\nrules:\n  - agent: lead\n    when: ^begin$\n    calls:\n");
    for n in 0..own {
        let input = json!({"name": format!("own{n}"), "tags": ["own"], "prompt": prompt});
        writeln!(out, "      - {{ tool: spawn_teammate, input: {input} }}").unwrap();
    }
    for n in 0..external {
        let input = json!({"name": format!("ext{n}"), "tags": ["external"], "agent": "fake", "prompt": prompt});
        writeln!(out, "      - {{ tool: spawn_teammate, input: {input} }}").unwrap();
    }
    if own + external == 0 {
        out.push_str("      - { tool: task_list, input: {} }\n");
    }
    let mut text = String::new();
    for n in 0..5000 {
        write!(text, "{n:03} ").unwrap();
    }
    write!(
        out,
        "  - when: ^stream
    say: '{text}'
  - when: 'Task #(\\d+)'
    times: 0
    calls: [{{ tool: task_update, input: {{ task_id: \"{{{{1}}}}\", status: completed }} }}]
  - say: fine
    times: 0
"
    )
    .unwrap();
    out
}

/// The processes of a dashboard, by kind.
#[derive(Default)]
pub struct Family {
    pub supervisors: Vec<u32>,
    pub servers: Vec<u32>,
    pub agents: Vec<u32>,
}

impl Family {
    pub fn of(pid: u32) -> Family {
        let mut family = Family::default();
        for pid in process::family(pid) {
            let line = process::command_line(pid);
            if line.contains(" guard ") {
                family.supervisors.push(pid);
            } else if line.contains(" mcp-serve") {
                family.servers.push(pid);
            } else if line.contains("agent.py") {
                family.agents.push(pid);
            }
        }
        family
    }
}
