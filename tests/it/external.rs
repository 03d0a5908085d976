//! External agents as teammates of a whole crew, played by a scripted agent (`external/agent.py`).

mod hooks;
#[cfg(target_os = "linux")]
mod kills;
mod lifecycle;
mod servers;
mod sessions;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::project::{Project, git};
use crate::common::wait::wait_until;

/// A project whose settings name the scripted agent `fake`.
struct Crew {
    project: Project,
    log: PathBuf,
}

impl Crew {
    fn new(options: &[&str]) -> Crew {
        Crew::with_settings(options, "")
    }

    /// `settings` are further settings of the agent.
    fn with_settings(options: &[&str], settings: &str) -> Crew {
        let project = Project::repository(&[("a.txt", "one\n")]);
        let log = project.file("agent.log");
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/external/agent.py");
        let mut argv = vec![
            "python3".to_string(),
            agent.display().to_string(),
            format!("--log={}", log.display()),
        ];
        argv.extend(options.iter().map(ToString::to_string));
        let argv = Value::from(argv);
        project.write_user_settings(&format!(
            "[agents.fake]\ncommand = {argv}\nmode = 'default'\n{settings}"
        ));
        Crew { project, log }
    }

    /// Runs `crewdeck run` with a scripted model, whose rules are those of `rules`.
    fn run_rules(&self, prompt: &str, rules: &str, options: &[&str]) -> Events {
        let file = self
            .project
            .write("script.yaml", &format!("rules:\n{rules}"));
        let provider = format!("script:{}", file.display());
        let base = ["run", prompt, "--json", "--provider", &provider];
        let ran = self.project.run(&[&base[..], options].concat());
        let out = ran.out();
        let event = |line: &str| serde_json::from_str(line).unwrap();
        Events(out.lines().map(event).collect())
    }

    /// Runs a lead that creates one task for each description and spawns bob, who is the scripted agent.
    fn run(&self, tasks: &[&str], spawn: &str, options: &[&str]) -> Events {
        let mut calls = String::new();
        for (at, task) in tasks.iter().enumerate() {
            let input = serde_json::json!({ "subject": format!("Part {at}"), "description": task });
            calls.push_str(&format!(
                "      - {{ tool: task_create, input: {input} }}\n"
            ));
        }
        let rules = format!(
            "  - agent: lead\n    when: ^go$\n    calls:\n{calls}      - {{ tool: spawn_teammate, input: {{ name: bob, agent: fake, prompt: work{spawn} }} }}\n  - {{ times: 0, say: Done. }}\n"
        );
        self.run_rules("go", &rules, options)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns the statuses and owners of all tasks.
    fn tasks(&self) -> Vec<(String, String)> {
        let tasks = self.project.json(&["task", "list"]);
        let text = |task: &Value, key: &str| task[key].as_str().unwrap().to_string();
        let tasks = tasks.as_array().unwrap().iter();
        tasks
            .map(|t| (text(t, "status"), text(t, "owner")))
            .collect()
    }
}

struct Events(Vec<Value>);

impl Events {
    fn of_bob(&self, kind: &str) -> Vec<&Value> {
        let own = |e: &&Value| e["type"] == kind && e["agent"] == "bob";
        self.0.iter().filter(own).collect()
    }

    fn said(&self) -> Vec<&str> {
        let said = self.of_bob("said");
        said.iter().map(|e| e["text"].as_str().unwrap()).collect()
    }

    fn text(&self) -> String {
        self.0.iter().map(Value::to_string).collect()
    }

    fn notices(&self) -> String {
        let notices = self.0.iter().filter(|e| e["type"] == "notice");
        let texts: Vec<&str> = notices.map(|e| e["text"].as_str().unwrap()).collect();
        texts.join("\n")
    }
}

#[test]
fn external_agent_claims_tasks_works_in_its_worktrees_and_completes_them() {
    let crew = Crew::new(&[]);
    let events = crew.run(&["write b.txt", "write c.txt"], "", &[]);
    let done = ("completed".to_string(), "bob".to_string());
    assert_eq!(crew.tasks(), [done.clone(), done], "{}", events.notices());
    for (branch, file) in [("wt/task-1", "b.txt"), ("wt/task-2", "c.txt")] {
        let shown = git(&crew.project, &["show", &format!("{branch}:{file}")]);
        assert_eq!(shown.trim(), "written", "{branch}");
    }
    assert!(
        !crew.project.file("b.txt").exists(),
        "the checkout is untouched"
    );
    // The text before the tool call and the text after it are two answers, in this order.
    let said = events.said();
    let first = said.iter().position(|text| *text == "I start with task 1.");
    let second = said.iter().position(|text| text.contains("completed"));
    assert!(first.is_some() && first < second, "{said:?}");
    let edits = events.of_bob("tool_finished");
    let edit = edits.iter().find(|e| e["tool"] == "edit_file").unwrap();
    assert!(
        edit["diff"].as_str().unwrap().contains("+written"),
        "{edit}"
    );
    let usage = events.of_bob("usage_changed");
    assert_eq!(
        usage.last().unwrap()["total"]["input"],
        210,
        "three prompts"
    );
    assert_eq!(events.of_bob("model_changed")[0]["model"], "fake");
    // Each worktree has a session of its own, and without a preset each session has a program of its own.
    let log = crew.log();
    let starts = log.lines().filter(|line| line.starts_with("start "));
    assert_eq!(starts.count(), 3, "{log}");
    assert!(
        log.contains(".worktrees/task-1") && log.contains(".worktrees/task-2"),
        "{log}"
    );
    assert!(log.contains("mode default"), "{log}");
}

#[test]
fn permission_requests_follow_the_rules_of_the_crew() {
    let crew = Crew::new(&[]);
    // `echo` stays inside and is allowed; `git push` reaches outside and is decided by the approver.
    let events = crew.run(&["ask echo hello", "ask git push"], "", &["--tool", "deny"]);
    let said = events.said().join("\n");
    assert_eq!(said.matches("permission: y").count(), 1, "{said}");
    assert_eq!(said.matches("permission: n").count(), 1, "{said}");
    let finished = events.of_bob("tool_finished");
    let outputs: Vec<&str> = finished
        .iter()
        .filter(|e| e["tool"] == "bash")
        .map(|e| e["output"].as_str().unwrap().trim())
        .collect();
    assert_eq!(outputs, ["hello", "refused"]);
}

#[test]
fn plan_is_required_before_anything_changes() {
    let crew = Crew::with_settings(&[], "plan_mode = 'plan'\n");
    let spawn = ", plan: required";
    let events = crew.run(
        &["ask echo early\nplan 1. Write d.txt.\nask echo late\nwrite d.txt"],
        spawn,
        &["--plan", "auto"],
    );
    let said = events.said().join("\n");
    let early = said.find("permission: n").unwrap();
    let plan = said.find("plan: ").unwrap();
    let late = said.find("permission: y").unwrap();
    assert!(early < plan && plan < late, "{said}");
    assert_eq!(crew.tasks(), [("completed".into(), "bob".into())]);
}

#[test]
fn agent_is_refused_if_no_mode_keeps_its_limits() {
    for (spawn, why) in [
        (", plan: required", "in which the agent 'fake' only plans"),
        (
            ", role: reviewer",
            "in which the agent 'fake' changes no file",
        ),
    ] {
        let crew = Crew::new(&[]);
        let events = crew.run(&["write b.txt"], spawn, &[]);
        assert!(events.text().contains(why), "{}", events.text());
        assert!(!crew.log().contains("prompt"), "{}", crew.log());
    }
}

#[test]
fn agent_that_only_reads_runs_and_writes_nothing() {
    let crew = Crew::with_settings(&[], "plan_mode = 'plan'\n");
    let events = crew.run(
        &["ask echo hello\nedit b.txt"],
        ", role: reviewer",
        &["--tool", "auto"],
    );
    let said = events.said().join("\n");
    assert!(said.contains("permission: n"), "{said}");
    assert!(said.contains("edit: n"), "{said}");
    assert!(crew.log().contains("mode plan"), "{}", crew.log());
    assert!(!crew.log().contains("mode default"), "{}", crew.log());
}

#[test]
fn agent_that_leaves_its_mode_is_set_back() {
    let crew = Crew::new(&[]);
    crew.run(&["mode auto"], "", &[]);
    let log = crew.log();
    let modes: Vec<&str> = log.lines().filter(|line| line.contains("mode ")).collect();
    let left = modes.iter().position(|line| *line == "left to mode auto");
    let left = left.unwrap_or_else(|| panic!("{log}"));
    assert_eq!(modes.get(left + 1), Some(&"mode default"), "{log}");
}

#[test]
fn agent_without_a_known_mode_is_announced() {
    let crew = Crew::new(&[]);
    let file = crew.project.file(".config/crewdeck/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, settings.replace("mode = 'default'\n", "")).unwrap();
    let events = crew.run(&["write b.txt"], "", &[]);
    assert!(
        events.notices().contains("Set mode in [agents.fake]"),
        "{}",
        events.notices()
    );
}

#[test]
fn urgent_message_interrupts_a_running_prompt() {
    let crew = Crew::new(&[]);
    let rules = "  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Part, description: beg } }
      - { tool: spawn_teammate, input: { name: bob, agent: fake, prompt: work } }
  - agent: lead
    when: I am stuck
    calls:
      - { tool: send_message, input: { to: bob, content: go on, urgent: true } }
  - { times: 0, say: Done. }
";
    let events = crew.run_rules("go", rules, &[]);
    let log = crew.log();
    let prompts = log.lines().filter(|line| line.starts_with("prompt "));
    let urgent = prompts.filter(|line| line.contains("(Urgent.") && line.contains("go on"));
    assert_eq!(urgent.count(), 1, "{log}");
    let done = ("completed".to_string(), "bob".to_string());
    assert_eq!(crew.tasks(), [done], "{}", events.notices());
}

#[test]
fn crash_is_reported_and_the_task_is_offered_again() {
    let crew = Crew::new(&[]);
    let events = crew.run(&["crash"], "", &[]);
    let notices = events.notices();
    let failed = events.of_bob("turn_ended");
    let failed = failed
        .iter()
        .find(|e| e["reason"] == "failed" || e["error"].is_string());
    let error = failed.map(ToString::to_string).unwrap_or_default();
    assert!(
        error.contains("the test agent crashes"),
        "{error}\n{notices}"
    );
    assert_eq!(crew.tasks(), [("pending".into(), String::new())]);
}

/// Returns the process ids of the agent's programs that still run.
fn running(log: &str) -> Vec<i32> {
    let started = log.lines().filter_map(|line| line.strip_prefix("start "));
    let ids = started.map(|id| id.parse::<i32>().unwrap());
    ids.filter(|id| Path::new(&format!("/proc/{id}")).exists())
        .collect()
}

#[test]
fn killed_crew_leaves_no_agent_and_continues_its_session_when_resumed() {
    let crew = Crew::new(&[]);
    let script = "rules:\n  - agent: lead\n    when: ^go$\n    calls:\n      - { tool: task_create, input: { subject: Part, description: wait } }\n      - { tool: spawn_teammate, input: { name: bob, agent: fake, prompt: work } }\n  - { times: 0, say: Done. }\n";
    let file = crew.project.write("script.yaml", script);
    let provider = format!("script:{}", file.display());
    let mut first = crew
        .project
        .command(&["run", "go", "--json", "--provider", &provider]);
    let mut first = first.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the task is at work", || {
        crew.log()
            .lines()
            .any(|l| l.starts_with("prompt") && l.contains("Task #1: "))
    });
    first.kill().unwrap();
    first.wait().unwrap();
    wait_until("no agent runs", || running(&crew.log()).is_empty());
    let sessions = crew.log();
    let session = sessions
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix("session "))
        .unwrap();
    let session = session.split(' ').next().unwrap();
    let ran = crew.project.run(&[
        "run",
        "go on",
        "--resume",
        "--json",
        "--provider",
        &provider,
    ]);
    ran.out();
    let log = crew.log();
    assert!(log.contains(&format!("load {session}")), "{log}");
    // The prompt that was interrupted is sent again, and begins with what the agent must check first.
    let again = log
        .lines()
        .rfind(|line| line.contains("Task #1: ") && line.contains("interrupted"));
    let again = again.unwrap_or_else(|| panic!("{log}"));
    assert!(
        again.starts_with("prompt <crew>Your last turn was interrupted"),
        "{again}"
    );
    assert!(again.contains("check what is already done"), "{again}");
    assert_eq!(crew.tasks(), [("completed".into(), "bob".into())], "{log}");
    wait_until("no agent runs", || running(&crew.log()).is_empty());
}

#[test]
fn unknown_or_missing_agents_are_reported_with_the_remedy() {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write_user_settings("[agents.mine]\ncommand = 'no-such-program'\n");
    for (agent, expected) in [
        ("nobody", "there is no external agent 'nobody': use one of"),
        (
            "mine",
            "the program no-such-program of the agent 'mine' is not on the path",
        ),
    ] {
        let script = format!(
            "rules:\n  - agent: lead\n    when: ^go$\n    calls:\n      - {{ tool: spawn_teammate, input: {{ name: bob, agent: {agent} }} }}\n  - {{ times: 0, say: Done. }}\n"
        );
        let file = project.write("script.yaml", &script);
        let provider = format!("script:{}", file.display());
        let out = project
            .run(&["run", "go", "--json", "--provider", &provider])
            .out();
        assert!(out.contains(expected), "{agent}\n{out}");
    }
}
