//! The session of an external agent after its task is over, and after an interruption.

use serde_json::json;

use super::Crew;

/// A lead that creates a task and asks bob something when bob reports its end.
const ASK_AFTER: &str = r#"  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Part, description: "DESCRIPTION" } }
      - { tool: spawn_teammate, input: { name: bob, agent: fake, prompt: work } }
  - agent: lead
    when: all is done
    calls: [{ tool: send_message, input: { to: bob, content: "what did you do? QUESTION" } }]
  - agent: lead
    when: ^ask$
    calls: [{ tool: send_message, input: { to: bob, content: "what did you do? QUESTION" } }]
  - { times: 0, say: Done. }
"#;

fn rules(description: &str, question: &str) -> String {
    let description = description.replace('\\', "\\\\").replace('"', "\\\"");
    ASK_AFTER
        .replace("DESCRIPTION", &description.replace('\n', "\\n"))
        .replace("QUESTION", question)
}

/// Returns the line of the log with the prompt that contains the question.
fn question(log: &str) -> &str {
    let asked = |line: &&str| line.starts_with("prompt") && line.contains("what did you do?");
    log.lines().rfind(asked).unwrap_or_else(|| panic!("{log}"))
}

#[test]
fn message_after_the_task_continues_its_session() {
    let crew = Crew::new(&[]);
    let tell = json!({"to": "lead", "content": "all is done"}).to_string();
    // The lead must not find the text in the description of the task.
    let tell = tell.replace("all is", "all\\u0020is");
    let rules = rules(&format!("write b.txt\ntell {tell}"), "");
    crew.run_rules("go", &rules, &[]);
    let log = crew.log();
    let asked = question(&log);
    let worktree = crew.project.file(".worktrees/task-1");
    assert!(
        asked.ends_with(&format!("in {}]", worktree.display())),
        "{log}"
    );
    let sessions = log.lines().filter(|line| line.starts_with("session "));
    assert_eq!(sessions.count(), 2, "the first prompt and the task: {log}");
    assert!(!asked.contains("<earlier>"), "{log}");
}

#[test]
fn message_after_a_restart_loads_the_session_of_the_task() {
    let crew = Crew::new(&[]);
    let rules = rules("write b.txt", "");
    crew.run_rules("go", &rules, &[]);
    crew.run_rules("ask", &rules, &["--resume"]);
    let log = crew.log();
    let asked = question(&log);
    assert!(asked.contains(".worktrees/task-1]"), "{log}");
    assert!(log.contains("\nload session-"), "{log}");
    assert!(!asked.contains("<earlier>"), "{log}");
}

#[test]
fn message_after_the_worktree_is_gone_opens_a_session_that_asks_before_it_writes() {
    let crew = Crew::new(&[]);
    let question_text = "please edit x.txt; please ask touch y.txt; please ask cat a.txt";
    let rules = rules("write b.txt", question_text);
    crew.run_rules("go", &rules, &[]);
    std::fs::remove_dir_all(crew.project.file(".worktrees/task-1")).unwrap();
    let events = crew.run_rules("ask", &rules, &["--resume", "--tool", "deny"]);
    let log = crew.log();
    let asked = question(&log);
    let root = crew.project.path().canonicalize().unwrap();
    assert!(asked.ends_with(&format!("in {}]", root.display())), "{log}");
    assert!(asked.contains("<earlier>"), "{log}");
    let said = events.said().join("\n");
    assert!(said.contains("edit: n"), "{said}");
    assert_eq!(said.matches("permission: n").count(), 1, "{said}");
    assert_eq!(
        said.matches("permission: y").count(),
        1,
        "reading is allowed: {said}"
    );
    for file in ["x.txt", "y.txt"] {
        assert!(!crew.project.file(file).exists(), "{file}");
    }
}

#[test]
fn command_that_is_reported_as_reading_is_checked() {
    let crew = Crew::new(&[]);
    let rules = rules("look rm -rf ../outside\nlook echo hello", "");
    let events = crew.run_rules("go", &rules, &["--tool", "deny"]);
    let said = events.said().join("\n");
    assert_eq!(said.matches("permission: n").count(), 1, "{said}");
    assert_eq!(said.matches("permission: y").count(), 1, "{said}");
}

#[test]
fn approved_change_of_the_checkout_happens() {
    let crew = Crew::new(&[]);
    let rules = r#"  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, agent: fake, prompt: "please edit x.txt" } }]
  - { times: 0, say: Done. }
"#;
    let events = crew.run_rules("go", rules, &["--tool", "auto"]);
    assert!(events.said().join("\n").contains("edit: y"));
    assert!(crew.project.file("x.txt").exists());
}
