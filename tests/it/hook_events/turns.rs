//! Hooks of sessions, prompts, turn ends and compactions.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{
    GUARD, answers, answers_of, answers_once, notices, project, received, run, run_with, specific,
    transcripts, unapproved,
};

const SAY: &str = "
  - when: feedback
    say: went on
    times: 0
  - say: done
    times: 0
";

#[test]
fn stop_hook_keeps_the_agent_working() {
    let project = project(&[("Stop", "", answers_once(2, "run the tests"))], SAY);
    let events = run(&project, &[]);
    assert_eq!(answers_of(&events, "lead"), ["done", "went on"]);
    let stops = received(&project, "Stop");
    let seen: Vec<_> = stops
        .iter()
        .map(|i| (&i["stop_hook_active"], &i["last_assistant_message"]))
        .collect();
    assert_eq!(
        seen,
        [
            (&json!(false), &json!("done")),
            (&json!(true), &json!("went on"))
        ]
    );
    let ends = events.iter().filter(|e| e["type"] == "turn_ended").count();
    assert_eq!(ends, 1);
}

#[test]
fn stop_hook_that_always_blocks_is_capped() {
    let project = project(&[("Stop", "", answers(2, "never enough"))], SAY);
    let events = run(&project, &[]);
    assert_eq!(received(&project, "Stop").len(), 3);
    assert_eq!(answers_of(&events, "lead"), ["done", "went on", "went on"]);
    // The user is asked; here none is present, so the agent ends.
    let asked: Vec<&str> = events
        .iter()
        .filter(|e| e["request"]["kind"] == "question" && e["request"]["status"] == "pending")
        .filter_map(|e| e["request"]["body"].as_str())
        .collect();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].contains("has blocked the same action 3 times in a row")
            && asked[0].contains("never enough"),
        "{asked:?}"
    );
}

#[test]
fn agent_that_waits_for_a_decision_is_left_alone() {
    let rules = r#"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go, plan: required } }]
  - agent: bob
    when: ^go$
    calls: [{ tool: plan_approval, input: { plan: "first this, then that" } }]
  - agent: bob
    say: I wait for the decision
    times: 0
  - agent: lead
    say: done
    times: 0
"#;
    let hooks = [
        ("Stop", "", answers(0, "")),
        ("TeammateIdle", "", answers(0, "")),
    ];
    let project = project(&hooks, rules);
    let ran = run_with(&project, &["--plan", "lead"]);
    let filed = super::lines(&ran.out());
    let is_plan =
        |e: &serde_json::Value| e["request"]["kind"] == "plan" && e["request"]["from"] == "bob";
    assert!(filed.iter().any(is_plan), "{}", ran.err());
    let teammates = |event| {
        let all = received(&project, event).into_iter();
        all.filter(|i| i["teammate_name"] == "bob").count()
    };
    assert_eq!((teammates("Stop"), teammates("TeammateIdle")), (0, 0));
    assert!(
        !received(&project, "Stop").is_empty(),
        "the lead has ended its turn"
    );
}

#[test]
fn teammate_idle_hook_keeps_a_teammate_working() {
    let rules = r"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }]
  - agent: bob
    when: 'TeammateIdle hook feedback'
    say: looked again
  - say: done
    times: 0
";
    let project = project(
        &[("TeammateIdle", "", answers_once(2, "look again"))],
        rules,
    );
    let events = run(&project, &[]);
    assert_eq!(answers_of(&events, "bob"), ["done", "looked again"]);
    let idle = received(&project, "TeammateIdle");
    assert_eq!(idle.len(), 2);
    assert_eq!(
        (&idle[0]["teammate_name"], idle[0]["team_name"].is_string()),
        (&json!("bob"), true)
    );
}

#[test]
fn session_and_prompt_hooks_add_context() {
    let rules = r"
  - when: 'Hook SessionStart: the build is red'
    say: session
  - when: 'the branch is main'
    say: prompt
  - say: nothing
    times: 0
";
    let hooks = [
        (
            "SessionStart",
            "startup|resume",
            answers(0, "the build is red"),
        ),
        (
            "UserPromptSubmit",
            "",
            specific(
                "UserPromptSubmit",
                json!({"additionalContext": "the branch is main"}),
            ),
        ),
        ("SessionEnd", "", answers(0, "")),
    ];
    let project = project(&hooks, rules);
    assert_eq!(answers_of(&run(&project, &[]), "lead"), ["session"]);
    // The texts are in the conversation, which goes on.
    let events = run(&project, &["--resume"]);
    assert!(!answers_of(&events, "lead").is_empty());
    let sources: Vec<_> = received(&project, "SessionStart")
        .iter()
        .map(|i| i["source"].clone())
        .collect();
    assert_eq!(sources, ["startup", "resume"]);
    assert_eq!(received(&project, "UserPromptSubmit")[0]["prompt"], "begin");
    assert_eq!(received(&project, "SessionEnd").len(), 2);
    let said = transcripts(&project);
    assert!(said.contains("the build is red") && said.contains("the branch is main"));
}

#[test]
fn blocked_prompt_does_not_reach_the_lead() {
    let project = project(
        &[("UserPromptSubmit", "", answers(2, "no secrets please"))],
        SAY,
    );
    let ran = run_with(&project, &[]);
    assert_eq!(ran.code(), 2, "{}", ran.err());
    assert!(
        ran.err().contains("UserPromptSubmit hook") && ran.err().contains("no secrets please"),
        "{}",
        ran.err()
    );
    assert!(!ran.out().contains("turn_started"), "{}", ran.out());
}

#[test]
fn message_of_the_user_in_an_inbox_is_a_prompt_for_hooks() {
    let guard = "sh \"$CLAUDE_PROJECT_DIR\"/.claude/guard.sh";
    let rules = r"
  - when: 'Hook UserPromptSubmit: the branch is main'
    say: the lead knows it
    times: 0
  - say: all finished
    times: 0
";
    let project = unapproved(&[("UserPromptSubmit", "", guard.into())], rules);
    project.write(".claude/guard.sh", GUARD);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    project.run(&["mail", "send", "lead", "the s3cret"]);
    project.run(&["mail", "send", "lead", "of bob: s3cret", "--from", "bob"]);
    project.run(&["mail", "send", "lead", "go on"]);
    let events = run(&project, &[]);
    let mut prompts: Vec<_> = received(&project, "UserPromptSubmit")
        .iter()
        .map(|input| input["prompt"].as_str().unwrap().to_string())
        .collect();
    prompts.sort();
    assert_eq!(prompts, ["begin", "go on", "the s3cret"]);
    let said = transcripts(&project);
    assert!(!said.contains("the s3cret"), "{said}");
    assert!(
        said.contains("of bob: s3cret") && said.contains("go on"),
        "{said}"
    );
    let answers = answers_of(&events, "lead");
    assert!(
        answers.contains(&"the lead knows it"),
        "{answers:?}\n{said}"
    );
    let why = notices(&events, "Your message to lead was not delivered");
    assert_eq!(why.len(), 1, "{events:?}");
    assert!(why[0].contains("no secrets please"), "{why:?}");
    // All messages are marked as read, and the user has the reason.
    assert_eq!(project.json(&["mail", "list", "lead"]), json!([]));
    let answer = &project.json(&["mail", "list", "user"])[0];
    let text = answer["content"].as_str().unwrap();
    assert!(
        text.contains("the s3cret") && text.contains("no secrets please"),
        "{answer}"
    );
}

#[test]
fn hook_prevents_a_compaction() {
    let rules = r"
  - when: begin
    calls: [{ tool: compact, input: { focus: the end } }]
  - say: done
    times: 0
";
    let allowed = project(
        &[
            ("PreCompact", "auto", answers(0, "")),
            ("SessionStart", "compact", answers(0, "again")),
        ],
        rules,
    );
    let events = run(&allowed, &[]);
    assert_eq!(
        received(&allowed, "PreCompact")[0]["custom_instructions"],
        "the end"
    );
    assert!(notices(&events, "prevents the compaction").is_empty());
    let prevented = project(&[("PreCompact", "", answers(2, "keep it all"))], rules);
    let events = run(&prevented, &[]);
    assert_eq!(notices(&events, "prevents the compaction").len(), 1);
    assert_eq!(answers_of(&events, "lead"), ["done"]);
    assert!(!events.iter().any(|e| e["type"] == "compacted"));
}

#[test]
fn first_call_after_a_summary_has_the_texts_of_session_hooks() {
    let rules = r"
  - when: begin
    calls:
      - { tool: read_file, input: { path: long.txt } }
      - { tool: compact, input: { focus: the end } }
  - when: 'Hook SessionStart: the build is red'
    say: knows it
  - say: done
    times: 0
";
    let hook = ("SessionStart", "compact", answers(0, "the build is red"));
    let project = project(&[hook], rules);
    // A summary replaces a conversation only if it is shorter.
    project.write("long.txt", &"one line of many\n".repeat(1000));
    let events = run(&project, &[]);
    assert!(events.iter().any(|e| e["type"] == "compacted"));
    assert_eq!(answers_of(&events, "lead"), ["knows it"]);
}

#[test]
fn teammate_is_idle_after_its_slow_hook() {
    let rules = r"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }]
  - say: done
    times: 0
";
    // Much longer than the time after which hooks are shown.
    let project = project(&[("TeammateIdle", "", "sleep 3".into())], rules);
    let events = run(&project, &[]);
    let is_own = |e: &&serde_json::Value| e["type"] == "activity_changed" && e["agent"] == "bob";
    let mut all = events.iter().filter(is_own).map(|e| &e["activity"]);
    assert!(
        all.by_ref().any(|a| a["tool"] == "hook TeammateIdle"),
        "{events:?}"
    );
    let last = all.next_back().map(|a| a["state"].clone());
    assert_eq!(last, Some(json!("idle")));
}

#[test]
fn session_end_hook_gets_the_reason() {
    let hooks = [
        ("SessionEnd", "other", answers(0, "")),
        ("SessionEnd", "clear|prompt_input_exit", answers(2, "wrong")),
    ];
    let project = project(&hooks, SAY);
    run(&project, &[]);
    let reasons: Vec<_> = received(&project, "SessionEnd")
        .iter()
        .map(|i| i["reason"].clone())
        .collect();
    assert_eq!(reasons, ["other"]);
}

#[test]
fn notification_hook_gets_what_notifies_the_user() {
    let project = project(&[("Notification", "idle_prompt", answers(0, ""))], SAY);
    run(&project, &[]);
    // The run may end while the hook starts, so the lead waits for the hook.
    let failing = "
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }]
  - agent: lead
    calls: [{ tool: bash, input: { command: 'while [ ! -s events.jsonl ]; do sleep 0.01; done' } }]
  - agent: bob
    fault: { status: 401 }
  - say: done
    times: 0
";
    let project = super::project(&[("Notification", "agent_failed", answers(0, ""))], failing);
    run(&project, &[]);
    let seen = received(&project, "Notification");
    assert_eq!(seen.len(), 1);
    assert!(
        seen[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("bob failed"),
        "{seen:?}"
    );
}

#[test]
fn context_of_a_stop_hook_reaches_the_model_with_its_next_message() {
    // Bob writes to the lead after the lead's turn with the hook has ended.
    let rules = r#"
  - agent: lead
    when: begin
    calls: [{ tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }]
  - agent: lead
    when: 'Hook Stop: the build is red'
    say: knows it
  - agent: bob
    when: ^go$
    calls: [{ tool: bash, input: { command: "until grep -qs 'turn_ende[d].,.agent.:.lead' .crewdeck/sessions/*/journal.jsonl; do sleep 0.05; done" } }]
  - agent: bob
    when: '(no output)'
    calls: [{ tool: send_message, input: { to: lead, content: finished } }]
  - agent: bob
    when: 'Hook TeammateIdle'
    say: wrong
  - say: done
    times: 0
"#;
    let context = |event| specific(event, json!({"additionalContext": "the build is red"}));
    let hooks = [("Stop", "", context("Stop"))];
    let project = project(&hooks, rules);
    let events = run(&project, &[]);
    assert_eq!(answers_of(&events, "lead")[..2], ["done", "knows it"]);
}

#[test]
fn session_start_hook_can_stop_the_first_turn() {
    let stops = json!({"continue": false, "stopReason": "the branch is frozen"}).to_string();
    let project = project(&[("SessionStart", "startup", answers(0, &stops))], SAY);
    let ran = run_with(&project, &[]);
    let events = super::lines(&ran.out());
    assert_eq!(answers_of(&events, "lead"), [""; 0], "{}", ran.err());
    let ended: Vec<_> = events
        .iter()
        .filter(|e| e["type"] == "turn_ended")
        .collect();
    assert_eq!(ended.len(), 1);
    assert!(
        ended[0].to_string().contains("the branch is frozen"),
        "{ended:?}"
    );
    // Only the turn is stopped, not the session.
    let later = run(&project, &["--resume"]);
    assert!(answers_of(&later, "lead").contains(&"done"), "{later:?}");
}
