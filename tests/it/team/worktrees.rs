//! A team in a git repository: worktrees, merges and conflicts.

use super::{notices, run};
use crate::common::project::{Project, git};

/// Returns a git repository with one commit.
fn repository() -> Project {
    let ignored = "script.yaml\n.config/\n";
    Project::repository(&[("base.txt", "base\n"), (".gitignore", ignored)])
}

#[test]
fn s12_tasks_use_worktrees_and_dependents_get_blockers_work() {
    let project = repository();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write a } }
      - { tool: task_create, input: { subject: write b } }
      - { tool: task_create, input: { subject: join them, blocked_by: [1, 2] } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: Not merged yet
    calls: [{ tool: merge_worktree, input: { task_id: 3 } }, { tool: merge_worktree, input: { task_id: 1 } }, { tool: bash, input: { command: cat ab } }]
  # No task is done before both teammates have started.
  - when: '(?s)auto-claimed>Task #(\d+): write (\w).*You work in (\S+), your own git worktree'
    times: 0
    calls:
      - { tool: write_file, input: { path: "{{2}}", content: "{{2}}\n" } }
      - { tool: bash, input: { command: "pwd; until ls ../*/a ../*/b >/dev/null 2>&1; do sleep 0.02; done; ls" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: 'auto-claimed>Task .3: join them'
    calls:
      - { tool: bash, input: { command: "cat a b > ab && git log --oneline" } }
      - { tool: task_update, input: { task_id: 3, status: completed } }
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    // While they work, neither teammate sees the other's files.
    let listings: Vec<&str> = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "bash")
        .map(|e| e["output"].as_str().unwrap())
        .collect();
    let is_isolated = |l: &&&str| l.contains("/.worktrees/task-") && l.lines().count() == 3;
    assert_eq!(
        listings.iter().filter(is_isolated).count(),
        2,
        "{listings:?}"
    );
    // Merging the last task brings its blockers' work into the main worktree too.
    let all = std::fs::read_to_string(project.file("ab")).unwrap();
    assert_eq!(all, "a\nb\n");
    assert!(project.file("a").exists() && project.file("b").exists());
    let merged = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "merge_worktree");
    let results: Vec<&str> = merged.map(|e| e["output"].as_str().unwrap()).collect();
    assert!(
        results[0].starts_with("wt/task-3 is merged into "),
        "{results:?}"
    );
    assert!(
        results[1].contains("wt/task-1 is already merged into"),
        "{results:?}"
    );
    let history = git(&project, &["log", "--oneline"]);
    assert!(history.contains("task #1: write a"), "{history}");
    let trees = project.json(&["worktree", "list"]);
    assert_eq!(trees.as_array().unwrap().len(), 3);
    assert!(git(&project, &["status", "--short"]).is_empty());
}

#[test]
fn task_claimed_by_tool_is_worked_on_in_its_worktree() {
    for claim in [
        "{ tool: claim_task, input: { task_id: 1 } }",
        "{ tool: task_update, input: { task_id: 1, status: in_progress } }",
    ] {
        let project = repository();
        // Alice is kept busy, so that the task is not assigned to her automatically.
        let script = format!(
            r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - {{ tool: spawn_teammate, input: {{ name: alice, role: coder, prompt: Take it }} }}
      - {{ tool: task_create, input: {{ subject: write a }} }}
  - agent: alice
    when: Take it
    calls:
      - {{ tool: bash, input: {{ command: 'while ! test -e .tasks/task_1.json; do sleep 0.01; done' }} }}
      - {claim}
      - {{ tool: bash, input: {{ command: 'pwd; echo done > work.txt' }} }}
      - {{ tool: write_file, input: {{ path: more.txt, content: more }} }}
      - {{ tool: task_update, input: {{ task_id: 1, status: completed }} }}
  - when: .
    times: 0
    say: fine
"
        );
        let (ran, events) = run(&project, &script, &["go"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        assert!(!project.file("work.txt").exists() && !project.file("more.txt").exists());
        let files = git(&project, &["ls-tree", "--name-only", "wt/task-1"]);
        assert!(
            files.contains("work.txt") && files.contains("more.txt"),
            "{files}"
        );
        let output_of = |tool: &str| {
            let mut ended = events
                .iter()
                .filter(|e| e["type"] == "tool_finished" && e["agent"] == "alice");
            let found = ended.find(|e| claim.contains(tool) && e["tool"] == tool);
            found.map(|e| e["output"].as_str().unwrap().to_string())
        };
        let output = output_of("claim_task")
            .or(output_of("task_update"))
            .unwrap();
        assert!(output.contains("You work in "), "{output}");
    }
}

#[test]
fn merge_conflict_becomes_a_task_in_the_same_worktree() {
    let project = repository();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: say one } }
      - { tool: task_create, input: { subject: say two } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
      - { tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }
  - agent: lead
    when: Not merged yet
    calls: [{ tool: merge_worktree, input: { task_id: 1 } }, { tool: merge_worktree, input: { task_id: 2 } }]
  # No task is done before both teammates have started.
  - when: '(?s)auto-claimed>Task #(\d+): say (\w+)'
    times: 0
    calls:
      - { tool: write_file, input: { path: base.txt, content: "{{2}}\n" } }
      - { tool: bash, input: { command: "until grep -qx one ../*/base.txt && grep -qx two ../*/base.txt; do sleep 0.02; done" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: '(?s)auto-claimed>Task #(\d+): Merge (\w+) into .*A previous owner left 1 commit and 0 uncommitted files'
    calls:
      - { tool: bash, input: { command: "git merge {{2}}; printf 'one\\ntwo\\n' > base.txt; git add -A; git commit -qm both" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: .
    times: 0
    say: fine
"#;
    let (ran, events) = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    // A call that merged nothing has an error as its outcome.
    let merges = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == "merge_worktree");
    for call in merges {
        let is_merged = !call["output"]
            .as_str()
            .unwrap()
            .contains("does not merge into");
        assert_eq!(call["outcome"] == "ok", is_merged, "{call}");
    }
    let texts = notices(&events);
    assert!(
        texts
            .iter()
            .any(|t| t.contains("does not merge into") && t.contains("base.txt")),
        "{texts:?}"
    );
    assert_eq!(
        std::fs::read_to_string(project.file("base.txt")).unwrap(),
        "one\ntwo\n",
        "{}",
        ran.out()
    );
    let tasks = project.json(&["task", "list"]);
    assert_eq!(tasks.as_array().unwrap().len(), 3);
    assert_eq!(tasks[2]["worktree"], tasks[1]["worktree"]);
    assert!(git(&project, &["status", "--short"]).is_empty());
}

#[test]
fn owner_is_notified_if_the_blockers_work_cannot_be_merged() {
    let project = repository();
    let begin = r"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }]
  - when: '(?s)auto-claimed>Task #1'
    calls: [{ tool: write_file, input: { path: draft, content: x } }]
  - when: .
    times: 0
    say: fine
";
    project.json(&["task", "add", "use a"]);
    let (ran, _) = run(&project, begin, &["go"]);
    assert_ne!(ran.code(), 0, "one task is open");
    project.json(&["task", "release", "1", "--as", "alice"]);
    project.json(&["task", "add", "write a"]);
    project.json(&["task", "edit", "1", "--blocked-by", "2"]);

    let go_on = r"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: coder, prompt: Work } }]
  - when: '(?s)auto-claimed>Task #2'
    calls:
      - { tool: write_file, input: { path: a, content: x } }
      - { tool: task_update, input: { task_id: 2, status: completed } }
  - when: '(?s)auto-claimed>Task #1.*not merged into your worktree: .*uncommitted files \(draft\).*`git merge` for each of: wt/task-2'
    calls:
      - { tool: bash, input: { command: git add -A && git commit -qm draft && git merge -q wt/task-2 } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - when: .
    times: 0
    say: fine
";
    let (ran, events) = run(&project, go_on, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(project.file(".worktrees/task-1/a").exists(), "{events:?}");
}

#[test]
fn without_worktrees_agents_share_the_directory_with_a_notice() {
    let script = r"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write a } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
  - when: auto-claimed
    calls: [{ tool: write_file, input: { path: a, content: x } }, { tool: task_update, input: { task_id: 1, status: completed } }]
  - when: .
    times: 0
    say: fine
";
    let outside = Project::new();
    let (ran, events) = run(&outside, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(outside.file("a").exists());
    let texts = notices(&events);
    assert!(
        texts
            .iter()
            .any(|t| t.starts_with("All agents work in the project directory")),
        "{texts:?}"
    );
    let off = repository();
    off.write(".crewdeck/config.toml", "worktrees = false\n");
    assert_eq!(off.run(&["trust", "--yes"]).code(), 0);
    let (ran, _) = run(&off, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(off.file("a").exists() && !off.file(".worktrees/task-1").exists());
}
