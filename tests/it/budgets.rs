//! Token and cost budgets, end to end: an agent that reaches one pauses until its request is decided.

mod kills;

use std::process::Stdio;

use serde_json::Value;

use crate::common::project::{Project, RunResult};
use crate::common::pty::Screen;

/// Runs `crewdeck run` with a scripted model. There is no terminal, so no one can be asked.
fn run(project: &Project, rules: &str, args: &[&str]) -> RunResult {
    let file = project.write("script.yaml", &format!("rules:\n{rules}"));
    let mut command = project.command(&["run"]);
    command.args(args).arg("--provider");
    command.arg(format!("script:{}", file.display()));
    RunResult(command.stdin(Stdio::null()).output().unwrap())
}

fn write_settings(project: &Project, text: &str) {
    project.write_user_settings(text);
}

/// Reads the request files of the project.
fn requests(project: &Project) -> Vec<Value> {
    let files = std::fs::read_dir(project.file(".team/requests")).unwrap();
    files
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .map(|p| serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap())
        .collect()
}

const ROUNDS: &str = "
  - when: ^(go|x)$
    calls: [{ tool: bash, input: { command: echo x } }]
    times: 4
    usage: { input: 80, output: 20 }
  - when: ^(x|more)$
    say: It is done.
    usage: { input: 80, output: 20 }
";

#[test]
fn reached_budget_ends_an_unattended_run() {
    let project = Project::new();
    write_settings(&project, "[budget]\nagent_tokens = 250\n");
    let ran = run(&project, ROUNDS, &["go", "--tool", "auto"]);
    let err = ran.err();
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{err}");
    let end = "crewdeck: lead has used 300 tokens, but the budget is 250 tokens \
               (setting budget.agent_tokens): no user was present to raise it";
    assert_eq!(err.trim_end().lines().last(), Some(end), "{err}");
    let requests = requests(&project);
    assert_eq!(requests.len(), 1, "{requests:?}");
    let (kind, status) = (&requests[0]["kind"], &requests[0]["status"]);
    assert_eq!((kind, status), (&"ceiling".into(), &"rejected".into()));
    // Earlier usage counts: the resumed session may not make a single call.
    let again = run(&project, ROUNDS, &["more", "--resume", "--tool", "auto"]);
    assert_eq!(again.code(), 1);
    assert!(
        again.err().contains("lead has used 300 tokens"),
        "{}",
        again.err()
    );
}

#[test]
fn subagent_usage_counts_towards_the_cost_budget() {
    let project = Project::new();
    write_settings(
        &project,
        "[budget]\nteam_cost = 0.5\n[prices.script]\ninput = 1000.0\noutput = 5000.0\n",
    );
    let rules = "
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: look, kind: explore } }]
    usage: { input: 100, output: 10 }
  - when: ^look$
    say: I saw it.
    usage: { input: 300, output: 10 }
  - agent: lead
    say: This costs too much.
";
    let ran = run(&project, rules, &["go"]);
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
    let why = "the team has used $0.50, but the budget is $0.50 (setting budget.team_cost)";
    assert!(ran.err().contains(why), "{}", ran.err());
}

#[test]
fn cost_budget_without_a_price_warns_it_has_no_effect() {
    let project = Project::new();
    write_settings(&project, "[budget]\nagent_cost = 0.5\n");
    let ran = run(&project, "  - say: Hello.\n", &["go"]);
    assert_eq!((ran.code(), ran.out().as_str()), (0, "Hello.\n"));
    let warning = "The setting budget.agent_cost has no effect: the price of script is not known.";
    assert!(ran.err().contains(warning), "{}", ran.err());
}

#[test]
fn team_over_budget_asks_once_per_agent() {
    let project = Project::new();
    write_settings(&project, "[budget]\nteam_tokens = 300\n");
    let rules = "
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: one } }
      - { tool: task_create, input: { subject: two } }
      - { tool: spawn_teammate, input: { name: ann, role: worker } }
      - { tool: spawn_teammate, input: { name: bob, role: worker } }
    usage: { input: 100, output: 0 }
  - agent: lead
    say: They are at work.
    usage: { input: 100, output: 0 }
  - calls: [{ tool: task_list }]
    usage: { input: 100, output: 0 }
    times: 0
";
    let ran = run(&project, rules, &["go"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    assert!(
        ran.err()
            .trim_end()
            .ends_with("no user was present to raise it"),
        "{}",
        ran.err()
    );
    for request in requests(&project) {
        assert_eq!(request["kind"], "ceiling", "{request}");
        assert_eq!(request["decided_by"], "policy", "{request}");
    }
    // About one request per agent, not one per call.
    assert!(requests(&project).len() <= 4, "{:?}", requests(&project));
}

#[test]
fn user_raises_a_budget_then_rejects_the_next_raise() {
    let project = Project::new();
    write_settings(&project, "tool = 'auto'\n[budget]\nagent_tokens = 200\n");
    let file = project.write("script.yaml", &format!("rules:\n{ROUNDS}"));
    let provider = format!("script:{}", file.display());
    let mut screen = Screen::start(project.path(), 120, 30, &["--provider", &provider]);
    screen.wait_for("Say what you want done");
    screen.send("go\r");
    screen.wait_for("lead has reached its budget and waits");
    screen.wait_for("lead has used 200 tokens");
    screen.send("\x1bw");
    screen.wait_for("a approve");
    screen.send("a");
    screen.wait_for("lead has used 400 tokens");
    screen.send("\x1bw");
    screen.wait_for("r reject");
    // The cost panel shows the raised budget.
    screen.send("$");
    screen.wait_for("closest is lead with 400 of 400 tokens, 100%");
    screen.send("$");
    screen.wait("the panel closed", |text| !text.contains("╭ Cost"));
    screen.send("r");
    screen.wait_for("stopped: lead has used 400 tokens");
    screen.wait("the card is gone", |text| {
        !text.contains("reached its budget")
    });
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn budget_of_the_day_counts_all_runs_and_warns() {
    let project = Project::new();
    let file = project.file(".local/state/crewdeck/spending.json");
    write_settings(&project, "[budget]\nteam_tokens = 10000\n");
    let rules = "
  - say: Hello.
    usage: { input: 80, output: 10 }
";
    assert_eq!(run(&project, rules, &["go"]).code(), 0);
    assert!(!file.exists(), "made without a budget for a period");
    write_settings(
        &project,
        "[budget]\nday_tokens = 100\nmonth_tokens = 1000\n",
    );
    let first = run(&project, rules, &["go"]);
    assert_eq!(first.code(), 0, "{}", first.err());
    let warning = "Today all crews have used 90% of the budget: 90 tokens of 100 tokens (setting budget.day_tokens).";
    assert!(first.err().contains(warning), "{}", first.err());
    let second = run(&project, rules, &["go"]);
    assert_eq!(second.code(), 0, "{}", second.err());
    let third = run(&project, rules, &["go"]);
    assert_eq!(third.code(), 1, "{}", third.err());
    let end = "today all crews have used 180 tokens, but the budget is 100 tokens \
               (setting budget.day_tokens): no user was present to raise it";
    assert!(third.err().contains(end), "{}", third.err());
    let doctor = RunResult(project.command(&["doctor"]).output().unwrap());
    let state = "today 180 tokens of 100 tokens (180%), this month 180 tokens of 1.0k tokens (18%)";
    let report = doctor
        .out()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(report.contains(state), "{report}");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("\"tokens\":180"), "{text}");
}

/// Runs the same two commands again and again, with `command` before each.
fn standstill(command: &str) -> String {
    format!(
        "
  - when: ^(go|a)$
    calls: [{{ tool: bash, input: {{ command: '{command}echo a' }} }}]
    times: 4
  - when: ^(a|b)$
    calls: [{{ tool: bash, input: {{ command: '{command}echo b' }} }}]
    times: 4
  - say: It is done.
"
    )
}

#[test]
fn agent_that_changes_nothing_is_stopped_without_a_user() {
    let project = Project::new();
    write_settings(&project, "calls_without_progress = 1\n");
    let ran = run(&project, &standstill(""), &["go", "--tool", "auto"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    let end = "it makes no progress, and no user was present to approve continuing";
    assert!(ran.err().contains(end), "{}", ran.err());
    let asked = requests(&project);
    assert_eq!(asked.len(), 1, "{asked:?}");
    let body = asked[0]["body"].as_str().unwrap();
    assert!(body.starts_with("lead has called its model"), "{body}");
    assert!(body.contains("- bash echo b"), "{body}");
}

#[test]
fn commands_that_change_files_are_progress() {
    let project = Project::new();
    write_settings(&project, "calls_without_progress = 1\n");
    let rules = standstill("date +%N >> log; ");
    let ran = run(&project, &rules, &["go", "--tool", "auto"]);
    assert_eq!(
        (ran.code(), ran.out().as_str()),
        (0, "It is done.\n"),
        "{}",
        ran.err()
    );
}
