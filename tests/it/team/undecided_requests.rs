//! Requests that the lead must decide and ignores: it is reminded, then the run ends with an error.

use std::time::Duration;

use super::{Value, notices, provider, run};
use crate::common::project::Project;
use crate::common::pty::Screen;

/// Returns a script in which bob asks for plan approval and the lead does not decide. `lead` adds rules for the lead.
fn plan_script(lead: &str) -> String {
    format!(
        r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - {{ tool: task_create, input: {{ subject: Paint the fence }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: painter, prompt: Plan first, plan: required }} }}
{lead}
  - agent: lead
    when: .
    times: 0
    say: Nice weather.
  - agent: bob
    when: auto-claimed
    calls: [{{ tool: plan_approval, input: {{ plan: Green paint. }} }}]
  - agent: bob
    when: Plan approved
    calls: [{{ tool: task_update, input: {{ task_id: 1, status: completed }} }}]
  - agent: bob
    when: .
    times: 0
    say: fine
"
    )
}

/// Returns how often the lead's conversation log reminds it of a decision.
fn reminders(project: &Project) -> usize {
    let files = std::fs::read_dir(project.file(".transcripts")).unwrap();
    let logs = files.map(|e| e.unwrap().path());
    let log = logs
        .filter(|p| p.to_string_lossy().ends_with("-lead.jsonl"))
        .map(|p| std::fs::read_to_string(p).unwrap());
    let log: String = log.collect();
    log.matches("The team waits for your decision").count()
}

fn requests(project: &Project) -> impl Iterator<Item = std::path::PathBuf> {
    let files = std::fs::read_dir(project.file(".team/requests")).unwrap();
    let paths = files.map(|e| e.unwrap().path());
    paths.filter(|p| p.extension().is_some_and(|e| e == "json"))
}

fn request(project: &Project) -> Value {
    let path = requests(project).next().unwrap();
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn undecided_plan_ends_the_run_and_is_kept() {
    let project = Project::new();
    let (ran, events) = run(&project, &plan_script(""), &["go", "--plan", "lead"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    let plan = request(&project);
    let id = plan["id"].as_str().unwrap();
    let stderr = ran.err();
    let end = stderr.lines().last().unwrap();
    assert_eq!(
        end,
        format!(
            "crewdeck: the plan of bob on task #1 is undecided: the lead did not decide it, though it was reminded 3 times. It is saved in .team/requests/{id}.json: decide it yourself with crewdeck --resume, or run with --plan auto"
        )
    );
    assert_eq!(plan["body"], "Green paint.");
    assert_eq!(reminders(&project), 3);
    let texts = notices(&events).join("\n");
    assert!(
        texts.contains("No decision on the plan of bob on task #1"),
        "{texts}"
    );
    assert_eq!(
        (&plan["status"], &plan["decided_by"]),
        (&"pending".into(), &"".into())
    );
    // With an approver the work continues.
    let provider = provider(&project, &plan_script(""));
    let resume = ["run", "--resume", "--plan", "auto", "--provider", &provider];
    let ran = project.run(&resume);
    // The scripted bob says that it is done and leaves its task open.
    assert_eq!(ran.code(), 4, "{}", ran.err());
    let decided = request(&project);
    assert_eq!(
        (&decided["id"], &decided["status"]),
        (&plan["id"], &"approved".into())
    );
}

#[test]
fn lead_that_decides_after_a_reminder_gets_no_more() {
    let project = Project::new();
    let lead = r#"
  - agent: lead
    when: plan_request
    say: Later.
  - agent: lead
    when: 'waits for your decision on the plan of bob on task #1 \(request_id (\w+)\)'
    calls: [{ tool: decide_request, input: { request_id: "{{1}}", approve: true } }]"#;
    let (ran, events) = run(&project, &plan_script(lead), &["go", "--plan", "lead"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(request(&project)["decided_by"], "lead");
    assert_eq!(reminders(&project), 1);
    assert_eq!(project.json(&["task", "show", "1"])["status"], "completed");
    let texts = notices(&events).join("\n");
    assert!(!texts.contains("No decision on"), "{texts}");
}

#[test]
fn reminders_also_cover_permissions_of_subagents() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: painter, prompt: Delegate it } }]
  - agent: bob
    when: Delegate it
    calls: [{ tool: task, input: { prompt: Push it, agent_type: general } }]
  - when: Push it
    calls: [{ tool: bash, input: { command: git push } }]
  - when: .
    times: 0
    say: fine
";
    let (ran, _) = run(&project, script, &["go", "--tool", "lead"]);
    assert_eq!(ran.code(), 1, "{}", ran.err());
    let stderr = ran.err();
    assert!(
        stderr.contains("a permission for bob is undecided") && stderr.contains("reminded 3 times"),
        "{stderr}"
    );
}

#[test]
fn requests_decided_at_once_cause_no_reminders() {
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: painter, prompt: Wash the brushes } }]
  - agent: lead
    when: '"type": "permission_request",[^}]*"request_id": "(\w+)"'
    times: 0
    calls: [{ tool: decide_request, input: { request_id: "{{1}}", approve: true } }]
  - agent: bob
    when: Wash the brushes
    calls: [CALLS]
  - when: .
    times: 0
    say: fine
"#;
    // Each call runs another command, because identical requests share one decision.
    let call = |n: u32| {
        format!(r#"{{ tool: bash, input: {{ command: "git reset --quiet --hard; echo {n}" }} }}"#)
    };
    for (approver, count) in [("auto", 25), ("lead", 8)] {
        let project = Project::repository(&[("a.txt", "a\n")]);
        let calls: Vec<String> = (0..count).map(call).collect();
        let script = script.replace("CALLS", &calls.join(", "));
        let (ran, _) = run(&project, &script, &["go", "--tool", approver]);
        assert_eq!(ran.code(), 0, "{approver}: {}", ran.err());
        assert_eq!(reminders(&project), 0, "{approver}");
        assert_eq!(requests(&project).count(), count as usize);
    }
}

#[test]
fn user_can_decide_a_plan_that_the_lead_ignored() {
    let project = Project::new();
    let provider = provider(&project, &plan_script(""));
    let args = ["--plan", "lead", "--provider", &provider];
    let mut screen = Screen::start(project.path(), 160, 45, &args);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait("the last reminder", |_| {
        let logs = std::fs::read_dir(project.file(".transcripts"));
        logs.is_ok_and(|mut l| l.next().is_some()) && reminders(&project) == 3
    });
    screen.wait_for("Green paint.");
    let is_open = request(&project)["status"] == "pending";
    assert!(is_open);
    screen.send("\x1bw");
    screen.wait_for("c comment");
    screen.send("a");
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while project.json(&["task", "show", "1"])["status"] != "completed" {
        assert!(std::time::Instant::now() < until, "{}", screen.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(request(&project)["decided_by"], "user");
    screen.send("\x03\x03\x03\x03");
    screen.wait_for_exit();
}
