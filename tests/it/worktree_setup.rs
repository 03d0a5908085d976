//! The setup command of worktrees, and the cache folder of a worktree.

mod clone;
mod missing_content;
mod teardown;

use std::fs;
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::common::project::Project;
use crate::common::supervised::Sleep;
use crate::common::wait::wait_until;

/// The lead creates a task. If the prompt of its owner bob matches `WHEN`, bob runs `COMMAND` and completes the task.
const WORK: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: "WHEN"
    calls:
      - { tool: bash, input: { command: "COMMAND" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - { times: 0, say: Done. }
"#;

fn repository() -> Project {
    Project::repository(&[("a.txt", "one\n"), (".gitignore", "made*\n")])
}

/// Runs a crew with the script [`WORK`] and returns its events.
fn work(project: &Project, when: &str, command: &str) -> Vec<Value> {
    let script = WORK.replace("WHEN", when).replace("COMMAND", command);
    let file = project.write("script.yaml", &script);
    let provider = format!("script:{}", file.display());
    let ran = project.run(&[
        "run",
        "go",
        "--json",
        "--tool",
        "auto",
        "--provider",
        &provider,
    ]);
    assert_eq!(ran.code(), 0, "{}\n{}", ran.err(), ran.out());
    let lines = ran.out();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the notices about setup commands.
fn notices(events: &[Value]) -> Vec<&str> {
    let notices = events.iter().filter(|event| event["type"] == "notice");
    let texts = notices.filter_map(|event| event["text"].as_str());
    texts.filter(|text| text.contains("setup")).collect()
}

/// Returns the output of the first command of bob.
fn output_of_bob(events: &[Value]) -> &str {
    let finished = events.iter().find(|event| {
        event["type"] == "tool_finished" && event["tool"] == "bash" && event["agent"] == "bob"
    });
    finished.unwrap()["output"].as_str().unwrap()
}

fn registry(project: &Project) -> Value {
    let text = fs::read_to_string(project.file(".worktrees/index.json")).unwrap();
    let registry: Value = serde_json::from_str(&text).unwrap();
    registry["worktrees"].clone()
}

#[test]
fn setup_runs_before_first_turn_and_cache_goes_with_worktree() {
    let project = repository();
    project.write_user_settings(
        "[worktree]\nsetup = 'echo \"$CREWDECK_TASK of $PWD\" > made; test $CREWDECK_PORT -ge 20000 && echo cached > \"$CREWDECK_CACHE/file\"'\n",
    );
    let events = work(
        &project,
        "setup command has run here",
        "cat made; cat $CREWDECK_CACHE/file; echo more > $CREWDECK_CACHE/more; git status --porcelain",
    );
    let output = output_of_bob(&events);
    assert!(output.starts_with("1 of /"), "{output}");
    assert!(output.contains("/.worktrees/task-1\ncached"), "{output}");
    let notices = notices(&events);
    assert_eq!(notices[0], "Worktree task-1: the setup command is running.");
    assert!(
        notices[1].starts_with("Worktree task-1: the setup command ended after "),
        "{notices:?}"
    );
    assert_eq!(notices.len(), 2, "{notices:?}");
    let entry = &registry(&project)[0];
    assert!(entry.get("setup_pending").is_none(), "{entry}");
    let (cache, log) = (
        project.file(".worktrees/.cache-task-1"),
        project.file(".worktrees/.setup-task-1.log"),
    );
    assert_eq!(fs::read_to_string(cache.join("more")).unwrap(), "more\n");
    assert!(log.exists());
    assert_eq!(project.run(&["worktree", "remove", "1"]).code(), 0);
    assert!(!cache.exists() && !log.exists());
    let left: Vec<String> = fs::read_dir(project.file(".worktrees"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("task-1"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn failed_setup_is_shown_with_its_cause_and_work_goes_on() {
    let project = repository();
    project.write_user_settings("[worktree]\nsetup = 'seq 1 9; echo no such package; exit 7'\n");
    let when =
        "has failed in this worktree .exit code 7: no such package.(?s:.*)9\\\\nno such package";
    let events = work(&project, when, "true");
    let notices = notices(&events);
    let failure = notices.last().unwrap();
    assert_eq!(
        *failure,
        "Worktree task-1: the setup command failed (exit code 7: no such package). The work goes on without it. Log: .worktrees/.setup-task-1.log"
    );
    let log = fs::read_to_string(project.file(".worktrees/.setup-task-1.log")).unwrap();
    assert!(log.starts_with("1\n2\n") && log.ends_with("no such package\n"));
    let entry = &registry(&project)[0];
    assert_eq!(entry["setup_error"], "exit code 7: no such package");
}

#[test]
#[cfg(target_os = "linux")]
fn setup_that_hangs_or_leaves_programs_is_killed_and_reported() {
    let sleep = Sleep::new();
    let (project, command) = (repository(), sleep.command());
    project.write_user_settings(&format!(
        "[worktree]\nsetup_timeout = 1\nsetup = '(setsid {command} &); {command}'\n"
    ));
    let events = work(&project, "killed after 1 second", "true");
    assert!(
        notices(&events)
            .last()
            .unwrap()
            .contains("killed after 1 second, see the setting worktree.setup_timeout")
    );
    sleep.wait_for_none();

    let project = repository();
    project.write_user_settings(&format!(
        "[worktree]\nsetup = 'setsid {command} >/dev/null 2>&1 & echo started'\n"
    ));
    let events = work(
        &project,
        "It left a program running, which was killed",
        "true",
    );
    assert!(
        notices(&events)
            .last()
            .unwrap()
            .ends_with("left a program running, which was killed.")
    );
    sleep.wait_for_none();
}

#[test]
fn files_that_setup_leaves_are_named_and_its_command_is_not_quoted() {
    let project = repository();
    project.write_user_settings(
        "[worktree]\nsetup = 'VALUE=blue-parrot; echo x > lock; echo x >> a.txt; echo x > made'\n",
    );
    let events = work(
        &project,
        "has run here.(?s:.*)git does not ignore: a.txt, lock. They are no work of yours",
        "git status --porcelain",
    );
    let output = output_of_bob(&events);
    assert!(output.contains("M a.txt\n?? lock"), "{output}");
    let notices = notices(&events);
    let notice = notices.last().unwrap();
    assert!(
        notice.starts_with(
            "The setup command has changed or created files that git does not ignore: a.txt, lock. They become"
        ),
        "{notices:?}"
    );
    assert_eq!(notices.len(), 3, "{notices:?}");
    // The command may contain secrets: no model reads it.
    let conversations = fs::read_dir(project.file(".transcripts")).unwrap();
    let mut count = 0;
    for entry in conversations
        .flatten()
        .filter(|entry| entry.path().is_file())
    {
        let text = fs::read(entry.path()).unwrap();
        assert!(
            !String::from_utf8_lossy(&text).contains("blue-parrot"),
            "{entry:?}"
        );
        count += 1;
    }
    assert!(count > 0, "no conversation was read");
}

/// Two tasks of which the second builds on the branch of the first. The owner of the first adds a settings file to its
/// branch.
const ATTACK: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Attack } }
      - { tool: task_create, input: { subject: Build on it, blocked_by: [1] } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: "Task #1"
    calls:
      - { tool: bash, input: { command: "mkdir -p .crewdeck && printf '[worktree]\\nsetup = \"touch made-by-attack\"\\nteardown = \"echo by-attack; exit 9\"\\n' > .crewdeck/config.toml; git add --force .crewdeck/config.toml && git commit --quiet --message attack" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - agent: bob
    when: "Task #2"
    calls:
      - { tool: bash, input: { command: "cat .crewdeck/config.toml; ls made*" } }
      - { tool: task_update, input: { task_id: 2, status: completed } }
  - { times: 0, say: Done. }
"#;

#[test]
fn settings_on_a_branch_or_without_approval_run_nothing() {
    let project = repository();
    project.write_user_settings(
        "[worktree]\nsetup = 'echo good > made'\nteardown = 'echo by-user; exit 3'\n",
    );
    let file = project.write("script.yaml", ATTACK);
    let provider = format!("script:{}", file.display());
    let ran = project.run(&[
        "run",
        "go",
        "--json",
        "--tool",
        "auto",
        "--provider",
        &provider,
    ]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let second = project.file(".worktrees/task-2");
    assert!(second.join(".crewdeck/config.toml").exists());
    assert_eq!(fs::read_to_string(second.join("made")).unwrap(), "good\n");
    for path in [
        ".worktrees/task-1/made-by-attack",
        ".worktrees/task-2/made-by-attack",
        "made-by-attack",
    ] {
        assert!(!project.file(path).exists(), "{path}");
    }

    // Only the user's own teardown runs. The file on the branch would fail in another way.
    let removed = project.run(&["worktree", "remove", "2", "--force"]);
    assert_eq!(removed.code(), 0, "{}", removed.err());
    let shown = removed.err();
    assert!(
        shown.contains("(exit code 3: by-user)") && !shown.contains("attack"),
        "{shown}"
    );
    assert!(!second.exists());

    // The file in the user's checkout: without approval, nothing of it runs.
    project.write_user_settings("");
    let text = "[worktree]\nsetup = 'touch made-by-project'\nteardown = 'touch made-by-project'\n";
    project.write(".crewdeck/config.toml", text);
    let line = project.expect_refusal(&["run", "hello"]);
    assert!(
        line.contains("sets worktree, which needs your approval"),
        "{line}"
    );
    let removed = project.run(&["worktree", "remove", "1", "--force"]);
    assert_eq!(removed.code(), 0, "{}", removed.err());
    assert!(
        removed.err().contains(
            "teardown command (worktree.teardown) was not run, because it needs your approval"
        ),
        "{}",
        removed.err()
    );
    assert!(!project.file("made-by-project").exists());
}

/// Two tasks of which the second builds on the branch of the first, both by bob.
const BUILT_ON: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: First } }
      - { tool: task_create, input: { subject: Second, blocked_by: [1] } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: "Task #1"
    calls:
      - { tool: write_file, input: { path: b.txt, content: new } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - agent: bob
    when: "Task #2"
    calls:
      - { tool: task_update, input: { task_id: 2, status: completed } }
  - { times: 0, say: Done. }
"#;

#[test]
fn asked_network_is_withheld_where_agents_have_written_the_content() {
    let project = repository();
    project.write_user_settings(
        "network = \"ask\"\n[worktree]\nsetup = 'CREWDECK_NETWORK=on true'\nteardown = 'CREWDECK_NETWORK=on false'\n",
    );
    let file = project.write("script.yaml", BUILT_ON);
    let provider = format!("script:{}", file.display());
    let ran = project.run(&[
        "run",
        "go",
        "--json",
        "--tool",
        "auto",
        "--provider",
        &provider,
    ]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let text = ran.out();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let notices = notices(&events);
    let ends = |name: &str| {
        let of = |text: &&&str| text.contains(name) && !text.ends_with("is running.");
        *notices.iter().find(of).unwrap()
    };
    let withheld = "without network, because it runs content that agents may have written";
    assert!(
        ends("task-1").contains("the setup command ended after"),
        "{notices:?}"
    );
    assert!(!ends("task-1").contains(withheld), "{notices:?}");
    // Its worktree has the branch of the first task.
    assert!(ends("task-2").contains(withheld), "{notices:?}");
    let removed = project.run(&["worktree", "remove", "2", "--force"]);
    assert!(removed.err().contains(withheld), "{}", removed.err());
}

/// The lead waits for bob, whose worktree is set up while the crew is killed. After the restart, bob completes the task.
const KILLED: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: "setup command has run here"
    calls:
      - { tool: bash, input: { command: "cat made" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - { times: 0, say: Done. }
"#;

#[test]
fn setup_of_a_killed_crew_runs_again_on_resume() {
    let project = repository();
    let sleep = Sleep::new();
    project.write_user_settings(&format!(
        "[worktree]\nsetup = 'if test -e \"$CREWDECK_CACHE/first\"; then echo second > made; else touch \"$CREWDECK_CACHE/first\"; {}; fi'\n",
        sleep.command()
    ));
    let file = project.write("script.yaml", KILLED);
    let provider = format!("script:{}", file.display());
    let mut child = project
        .command(&["run", "go", "--tool", "auto", "--provider", &provider])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let first = project.file(".worktrees/.cache-task-1/first");
    wait_until("the setup command", || first.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    #[cfg(target_os = "linux")]
    sleep.wait_for_none();
    assert_eq!(registry(&project)[0]["setup_pending"], true);
    let ran = project
        .command(&[
            "run",
            "--resume",
            "go on",
            "--json",
            "--tool",
            "auto",
            "--provider",
            &provider,
        ])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(output_of_bob(&events).trim_end(), "second", "{text}");
    let entry = &registry(&project)[0];
    assert!(entry.get("setup_pending").is_none(), "{entry}");
    let tasks = project.json(&["task", "list"]);
    assert_eq!(tasks[0]["status"], "completed");
}
