//! Only approved hooks run: not before approval, not after a change, and never from a viewer.

use pretty_assertions::assert_eq;

use super::{answers, notices, project, received, results, run, unapproved};

const RULES: &str = r#"
  - when: begin
    calls: [{ tool: bash, input: { command: "echo 1" } }]
  - say: done
    times: 0
"#;

fn all_events() -> Vec<(&'static str, &'static str, String)> {
    [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "Notification",
        "SessionEnd",
    ]
    .map(|event| (event, "", answers(0, "")))
    .into()
}

#[test]
fn unapproved_hooks_do_not_run() {
    let project = unapproved(&all_events(), RULES);
    for more in [&[][..], &["--resume"]] {
        let ran = super::run_with(&project, more);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        assert!(
            ran.err()
                .contains("this project brings 7 hooks, which wait for your approval"),
            "{}",
            ran.err()
        );
        // No further notice for each hook.
        assert_eq!(notices(&super::lines(&ran.out()), "not approved"), [""; 0]);
        assert!(!project.file("events.jsonl").exists());
    }
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    run(&project, &["--resume"]);
    assert_eq!(received(&project, "SessionStart").len(), 1);
}

#[test]
fn own_hooks_of_the_user_need_no_approval() {
    let project = unapproved(&all_events(), RULES);
    let settings = std::fs::read_to_string(project.file(".claude/settings.json")).unwrap();
    project.write(".config/crewdeck/hooks.json", &settings);
    std::fs::remove_file(project.file(".claude/settings.json")).unwrap();
    run(&project, &[]);
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ] {
        assert_eq!(received(&project, event).len(), 1, "{event}");
    }
}

#[test]
fn agent_that_edits_a_hook_disables_it_with_one_notice() {
    let rules = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "echo 1" } }
      - { tool: bash, input: { command: "echo '#!/bin/sh' > .claude/hook.sh; echo 'touch \"$CLAUDE_PROJECT_DIR/evil\"' >> .claude/hook.sh" } }
      - { tool: bash, input: { command: "echo 2" } }
      - { tool: bash, input: { command: "echo 3" } }
  - say: done
    times: 0
"#;
    let project = project(&[("PreToolUse", "Bash", answers(0, ""))], rules);
    let events = run(&project, &["--tool", "auto"]);
    assert_eq!(results(&events, "bash").len(), 4);
    assert_eq!(
        received(&project, "PreToolUse").len(),
        2,
        "{:?}",
        results(&events, "bash")
    );
    let told = notices(
        &events,
        "has changed since you approved it, so it does not run",
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(!project.file("evil").exists());
}
