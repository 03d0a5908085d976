//! Checks of tasks in a whole crew: a task is completed only when its checks are green, red goes back to its owner, the
//! user is asked after three reds, nothing runs twice on the same content, and a killed crew runs unfinished checks again.

#[cfg(target_os = "linux")]
mod attacks;
mod command_line;
mod content;
mod crash;
mod override_by_user;
mod preparation;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::common::project::{Project, RunResult, git};

/// The check wants `a.txt` to be good.
const CHECK: &str = "grep -q good a.txt || { echo 'error: a.txt is not good'; exit 1; }";

const IGNORED: &str = "script.yaml\n.config/\n.local/\n";

/// Returns a project with a script of the model.
fn project(rules: &str) -> Project {
    let project = Project::repository(&[("a.txt", "old\n"), (".gitignore", IGNORED)]);
    project.write("script.yaml", &format!("rules:\n{rules}"));
    project
}

/// Returns a settings file with one check.
fn settings(command: &str) -> String {
    format!("[[checks]]\nname = \"test\"\nrun = {command:?}\ntimeout_s = 60\n")
}

/// A folder outside of the project that checks can write to, and in which the runs of a check are counted.
struct Counter(tempfile::TempDir);

impl Counter {
    fn new() -> Counter {
        Counter(tempfile::tempdir().unwrap())
    }

    /// Returns a settings file with one check, whose runs are counted.
    fn settings(&self, command: &str) -> String {
        let dir = self.0.path().display().to_string();
        let counting = format!("echo run >> {dir}/runs; {command}");
        format!("write = [{dir:?}]\n{}", settings(&counting))
    }

    /// Returns how often the check ran.
    fn runs(&self) -> usize {
        let text = std::fs::read_to_string(self.0.path().join("runs"));
        text.unwrap_or_default().lines().count()
    }
}

/// Returns a project whose user has one check in the settings, and the number of its runs.
fn counted_project(rules: &str) -> (Project, Counter) {
    let (project, counter) = (project(rules), Counter::new());
    project.write_user_settings(&counter.settings(CHECK));
    (project, counter)
}

/// A script in which the lead creates a task and bob claims it; `more` are bob's rules.
fn with_bob(more: &str) -> String {
    format!(
        r"
  - agent: lead
    when: begin
    calls:
      - {{ tool: task_create, input: {{ subject: Write it }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: coder, prompt: go }} }}
{more}
  - say: done
    times: 0
"
    )
}

const WRITES_BAD: &str = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: write_file, input: { path: b.txt, content: "bad\n" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;

fn run(project: &Project, more: &[&str]) -> RunResult {
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let args = [&args[..], &["--tool", "auto"], more].concat();
    project.run(&args)
}

fn task(project: &Project, id: u64) -> Value {
    project.json(&["task", "show", &id.to_string()])
}

/// Returns the outputs of the finished calls of `task_update`.
fn updates(ran: &RunResult) -> Vec<String> {
    let events = ran.out();
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let finished =
        events.filter(|e: &Value| e["type"] == "tool_finished" && e["tool"] == "task_update");
    finished
        .map(|e| e["output"].as_str().unwrap().to_string())
        .collect()
}

#[test]
fn red_check_goes_back_and_its_owner_fixes_it() {
    let fixes = r#"
  - agent: bob
    when: is not completed
    calls:
      - { tool: bash, input: { command: "echo good > a.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    let (project, counter) = counted_project(&with_bob(&format!("{WRITES_BAD}{fixes}")));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert!(
        updates[0].contains("task #1 is not completed, because 1 check failed")
            && updates[0].contains("error: a.txt is not good")
            && updates[0].contains("2 attempts left"),
        "{updates:?}"
    );
    let task = task(&project, 1);
    assert_eq!(task["status"], "completed");
    let check = &task["checks"][0];
    assert_eq!(
        (&check["name"], &check["by"], &check["outcome"]),
        (&"test".into(), &"bob".into(), &"green".into())
    );
    assert_eq!(check["reds"], Value::Null);
    let tree = git(&project, &["rev-parse", "wt/task-1^{tree}"]);
    assert_eq!(check["tree"], tree.trim());
    assert!(project.file(check["log"].as_str().unwrap()).is_file());
    assert_eq!(counter.runs(), 2);
    let shown = project.run(&["task", "show", "1"]).out();
    assert!(shown.contains("check test by bob: green"), "{shown}");
    // The results go through the journal too.
    assert!(ran.out().contains("\"outcome\":\"green\""));
}

#[test]
fn liar_is_caught_and_nothing_runs_twice_on_the_same_content() {
    let lies = r"
  - agent: bob
    when: is not completed
    times: 2
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
";
    let (project, counter) = counted_project(&with_bob(&format!("{WRITES_BAD}{lies}")));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert_eq!(updates.len(), 3, "{updates:?}");
    assert!(updates[1].contains("1 attempt left"), "{updates:?}");
    assert!(updates[2].contains("no user is present"), "{updates:?}");
    let task = task(&project, 1);
    assert_ne!(task["status"], "completed");
    assert_eq!(task["checks"][0]["outcome"], "red");
    assert_eq!(task["checks"][0]["reds"], 3);
    assert_eq!(counter.runs(), 1);
    let listed = project.run(&["task", "list"]).out();
    assert!(listed.contains("(checks red: test)"), "{listed}");
}

#[test]
fn edit_of_the_checks_on_a_branch_has_no_effect() {
    let edits = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "mkdir -p .crewdeck && echo 'checks = []' > .crewdeck/config.toml && git add -f .crewdeck && git commit -qm none; echo bad > b.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    let project = project(&with_bob(edits));
    project.write(".crewdeck/config.toml", &settings(CHECK));
    // Without approval, the checks of the project do not run, and the crew does not start.
    let refused = project.expect_refusal(&["run", "begin"]);
    assert!(
        refused.contains("sets checks, which needs your approval"),
        "{refused}"
    );
    let trusted = project.run(&["trust", "--yes"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.err());
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    assert!(updates(&ran)[0].contains("error: a.txt is not good"));
}

#[test]
fn task_without_a_change_is_questioned_once() {
    let lazy = r"
  - agent: bob
    when: Write it
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - agent: bob
    when: no change of its own
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
";
    let project = project(&with_bob(lazy));
    project.write_user_settings(&settings("true"));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert_eq!(updates.len(), 2, "{updates:?}");
    let task = task(&project, 1);
    assert_eq!(task["status"], "completed");
    let checks = task["checks"].as_array().unwrap();
    let changes = checks.iter().find(|c| c["name"] == "changes").unwrap();
    assert_eq!(changes["outcome"], "no_changes");
    let listed = project.run(&["task", "list"]).out();
    assert!(listed.contains("no changes"), "{listed}");
}

#[test]
fn new_subject_does_not_avoid_the_question_about_changes() {
    let renames = r"
  - agent: bob
    when: Write it
    calls:
      - { tool: task_update, input: { task_id: 1, subject: Review it, status: completed } }
";
    let project = project(&with_bob(renames));
    project.write_user_settings(&settings("true"));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert!(updates[0].contains("no change of its own"), "{updates:?}");
    assert_eq!(task(&project, 1)["subject"], "Review it");
    assert_ne!(task(&project, 1)["status"], "completed");
}

#[test]
fn check_that_forks_and_writes_forever_ends_at_its_time_limit() {
    let project = project(&with_bob(WRITES_BAD));
    let command = "(while :; do sleep 0.2; sleep 100 & done) & yes 'error: endless output'";
    let text = settings(command).replace("timeout_s = 60", "timeout_s = 2");
    project.write_user_settings(&text);
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert!(updates[0].contains("time limit of 2 s"), "{updates:?}");
    assert!(updates[0].len() < 8000, "{}", updates[0].len());
    let task = task(&project, 1);
    assert_eq!(task["checks"][0]["outcome"], "timed_out");
    let log = project.file(task["checks"][0]["log"].as_str().unwrap());
    assert!(std::fs::metadata(log).unwrap().len() < 600 * 1024);
}
