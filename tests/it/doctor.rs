//! `crewdeck doctor` on the state of a killed crew: all problems are found, safe ones are fixed, and nothing with content is
//! removed.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::project::{Project, RunResult, git};
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

/// Creates a repository with one commit and a script as the model, so that the model check passes.
fn repository() -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("script.yaml", "rules: [{ say: fine }]\n");
    project.write_user_settings("provider = 'script:script.yaml'\nplan = 'ask'\n");
    project
}

/// Returns the findings of `crewdeck doctor --json` with the arguments `more`.
fn findings_as_json(project: &Project, more: &[&str]) -> Vec<Value> {
    let ran = doctor(project, more, &["--json"]);
    let value: Value =
        serde_json::from_str(&ran.out()).unwrap_or_else(|e| panic!("{e}: {}", ran.out()));
    value.as_array().unwrap().clone()
}

fn doctor(project: &Project, more: &[&str], format: &[&str]) -> RunResult {
    let mut command = project.command(&["doctor"]);
    command.args(more).args(format).env("LANG", "C.UTF-8");
    RunResult(command.stdin(Stdio::null()).output().unwrap())
}

/// Adds a worktree with git only, as crewdeck names its folder and branch.
fn add_worktree(project: &Project, name: &str) {
    let (branch, path) = (format!("wt/{name}"), format!(".worktrees/{name}"));
    git(
        project,
        &["worktree", "add", "--quiet", "-b", &branch, &path],
    );
}

/// Returns `check: text` for each finding whose level is not `ok`.
fn problem_lines(findings: &[Value]) -> Vec<String> {
    let is_problem = |f: &&Value| f["level"] != "ok";
    let line = |f: &Value| {
        format!(
            "{}: {}",
            f["check"].as_str().unwrap(),
            f["text"].as_str().unwrap()
        )
    };
    findings.iter().filter(is_problem).map(line).collect()
}

/// Starts a crew and kills it when alice works on a task and bob's plan waits for approval.
fn kill_crew_at_work(project: &Project) {
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: alice, role: writer, prompt: take task 1 } }
      - { tool: spawn_teammate, input: { name: bob, role: planner, prompt: plan it, plan: required } }
      - { tool: send_message, input: { to: bob, content: hurry up } }
  - agent: lead
    times: 0
    say: I wait.
  - agent: alice
    when: take task 1
    say: I am ready.
  - agent: alice
    when: auto-claimed
    calls: [{ tool: bash, input: { command: "echo work > work.txt; touch begun; sleep 600" } }]
  - agent: bob
    when: plan it
    calls: [{ tool: plan_approval, input: { plan: First this then that } }]
"#;
    let file = project.write("crew.yaml", script);
    let mut command = project.command(&["run", "go", "--plan", "lead"]);
    command
        .arg("--provider")
        .arg(format!("script:{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child: Child = command.spawn().unwrap();
    wait_until("alice's work", || {
        project.file(".worktrees/task-1/begun").exists()
    });
    wait_until("bob's plan", || {
        std::fs::read_dir(project.file(".team/requests"))
            .unwrap()
            .any(|e| e.unwrap().path().extension().is_some_and(|e| e == "json"))
    });
    let found = findings_as_json(project, &[]);
    let crew = found.iter().find(|f| f["check"] == "crew").unwrap();
    let text = crew["text"].as_str().unwrap();
    assert!(text.contains(&format!("process {}", child.id())), "{text}");
    // The doctor offers no fixes while the crew runs.
    assert!(found.iter().all(|f| f.get("mend").is_none()), "{found:#?}");
    let fixed = doctor(project, &["--mend", "--yes"], &[]);
    assert!(
        fixed.err().contains("a crew is running in this directory"),
        "{}",
        fixed.err()
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn debris_of_killed_git_processes_is_found_and_repaired() {
    let project = repository();
    kill_crew_at_work(&project);
    let log = project.file(".worktrees/events.jsonl");
    let cut = json!({"event": "worktree.merge.before", "worktree": {"name": "task-1"}});
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{text}{cut}\n")).unwrap();
    for lock in [".git/packed-refs.lock", ".git/worktrees/task-1/index.lock"] {
        let path = project.write(lock, "");
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        file.set_modified(then).unwrap();
    }
    // As git leaves a worktree if it is killed while it writes the files.
    add_worktree(&project, "task-9");
    project.write(".git/worktrees/task-9/locked", "initializing\n");
    std::fs::remove_file(project.file(".worktrees/task-9/a.txt")).unwrap();
    let leftovers = |args: &[&str]| -> Vec<String> {
        let found = problem_lines(&findings_as_json(&project, args));
        let is_leftover = |line: &String| line.starts_with("leftovers:");
        found.into_iter().filter(is_leftover).collect()
    };
    let found = leftovers(&[]);
    for words in [
        "packed-refs.lock",
        "task-1/index.lock",
        "merge of wt/task-1",
        ".worktrees/task-9 is incomplete",
    ] {
        assert!(
            found.iter().any(|t| t.contains(words)),
            "{words} in {found:#?}"
        );
    }
    assert_eq!(leftovers(&["--mend", "--yes"]), Vec::<String>::new());
    assert!(!project.file(".git/packed-refs.lock").exists());
    assert!(!project.file(".worktrees/task-9").exists());
    let listed = git(&project, &["worktree", "list"]);
    assert!(!listed.contains("task-9"), "{listed}");
}

#[test]
fn state_of_a_killed_crew_is_repaired_and_work_kept() {
    let project = repository();
    kill_crew_at_work(&project);
    let found = problem_lines(&findings_as_json(&project, &[]));
    let has = |found: &[String], words: &str| found.iter().any(|t| t.contains(words));
    for words in [
        "team: alice is listed as working",
        "team: bob is listed as working",
        "tasks: task #1 (Write it) is owned by alice, who is no longer running",
        "requests: bob asked",
    ] {
        assert!(has(&found, words), "{words} in {found:#?}");
    }
    // The worktree of an open task is not a leftover.
    assert!(!has(&found, "task-1"), "{found:#?}");

    // Without a terminal and --yes, nothing changes.
    let fixed = doctor(&project, &["--mend"], &[]);
    assert!(
        fixed
            .err()
            .contains("needs a terminal to ask before each fix"),
        "{}",
        fixed.err()
    );
    assert_eq!(
        problem_lines(&findings_as_json(&project, &[])).len(),
        found.len()
    );

    let mended = findings_as_json(&project, &["--mend", "--yes"]);
    let done: Vec<&str> = mended
        .iter()
        .filter(|f| f["check"] == "mend")
        .map(|f| f["text"].as_str().unwrap())
        .collect();
    assert!(done.contains(&"task #1 was released"), "{done:?}");
    assert!(done.contains(&"alice is marked as shut down"), "{done:?}");
    let remaining = problem_lines(&findings_as_json(&project, &[]));
    for check in ["team:", "tasks:", "requests:", "worktrees:"] {
        assert!(
            !remaining.iter().any(|t| t.starts_with(check)),
            "{check} in {remaining:#?}"
        );
    }
    let task = project.json(&["task", "show", "1"]);
    assert_eq!(
        (task["status"].as_str(), task["owner"].as_str()),
        (Some("pending"), Some(""))
    );
    let work = std::fs::read_to_string(project.file(".worktrees/task-1/work.txt")).unwrap();
    assert_eq!(work, "work\n");

    // Without its task, the worktree with uncommitted work is reported and never removed.
    project.json(&["task", "rm", "1"]);
    let found = findings_as_json(&project, &["--mend", "--yes"]);
    let tree = found.iter().find(|f| f["check"] == "worktrees").unwrap();
    let text = tree["text"].as_str().unwrap();
    assert!(
        text.contains("task-1 of task #1, which is not on the board")
            && text.contains("2 uncommitted files (begun, work.txt)"),
        "{text}"
    );
    assert!(
        tree["remedy"]
            .as_str()
            .unwrap()
            .contains("worktree remove task-1 --force")
    );
    assert!(project.file(".worktrees/task-1/work.txt").exists());
}

#[test]
fn unneeded_files_are_cleared_and_content_is_kept() {
    let project = repository();
    project.json(&["task", "list"]);
    let old = std::time::SystemTime::now() - Duration::from_secs(600);
    let temporary = project.write(".tasks/.tmp-Ab12Cd", "half");
    std::fs::File::options()
        .write(true)
        .open(&temporary)
        .unwrap()
        .set_modified(old)
        .unwrap();
    project.write(".tasks/task_9.json.damaged-1", "{");
    project.write(
        ".team/inbox/ghost.jsonl",
        "{\"from\":\"lead\",\"content\":\"boo\",\"timestamp\":1.0}\n",
    );
    std::fs::create_dir(project.file(".worktrees/empty")).unwrap();
    project.write(".worktrees/notes/n.txt", "mine");
    add_worktree(&project, "gone");
    add_worktree(&project, "done");
    add_worktree(&project, "work");
    project.write(".worktrees/work/new.txt", "new");
    std::fs::remove_dir_all(project.file(".worktrees/gone")).unwrap();

    let before = findings_as_json(&project, &["--mend", "--yes"]);
    let done = before.iter().filter(|f| f["check"] == "mend").count();
    assert_eq!(done, 4, "{before:#?}");
    let remaining = problem_lines(&findings_as_json(&project, &[]));
    assert_eq!(remaining.len(), 4, "{remaining:#?}");
    for (at, words) in [
        "mail: 1 message for ghost",
        "worktrees: work, which has no task, uses",
        "worktrees: .worktrees/notes uses",
        "files: .tasks/task_9.json.damaged-1",
    ]
    .iter()
    .enumerate()
    {
        assert!(
            remaining[at].starts_with(words),
            "{words} in {remaining:#?}"
        );
    }
    assert!(
        remaining[1].contains("contains unmerged work: 1 uncommitted file (new.txt)"),
        "{remaining:#?}"
    );
    for (name, stays) in [
        (".worktrees/work/new.txt", true),
        (".worktrees/notes/n.txt", true),
        (".tasks/task_9.json.damaged-1", true),
        (".team/inbox/ghost.jsonl", true),
        (".worktrees/done", false),
        (".worktrees/empty", false),
        (".tasks/.tmp-Ab12Cd", false),
    ] {
        assert_eq!(project.file(name).exists(), stays, "{name}");
    }
    assert!(!git(&project, &["worktree", "list"]).contains("worktrees/gone"));
    // The branch is kept, because it may hold commits.
    assert!(git(&project, &["branch", "--list", "wt/gone"]).contains("wt/gone"));
}

#[test]
fn failures_end_with_one_line_and_a_remedy() {
    let project = Project::git();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code(), 1);
    assert_eq!(ran.err(), "crewdeck: model check failed (see above)\n");
    let out = ran.out();
    assert!(
        out.contains("✗ fail model     No model is configured"),
        "{out}"
    );
    assert!(
        out.contains("→ Set a key and restart crewdeck: export ANTHROPIC_API_KEY"),
        "{out}"
    );
    assert!(out.contains("the repository has no commit yet"), "{out}");
    assert!(
        !project.file(".crewdeck").exists(),
        "doctor writes no files"
    );
    assert!(
        !project.file(".worktrees").exists(),
        "doctor writes no files"
    );

    project.write(".crewdeck/config.toml", "modle = 'x'\n");
    let ran = project.run(&["doctor"]);
    assert_eq!(
        ran.err(),
        "crewdeck: settings, model checks failed (see above)\n"
    );
    assert!(
        ran.out()
            .contains("unknown setting 'modle': did you mean 'model'?"),
        "{}",
        ran.out()
    );

    let clean = repository();
    let ran = doctor(&clean, &[], &[]);
    assert_eq!((ran.code(), ran.err().as_str()), (0, ""), "{}", ran.out());
    assert!(ran.out().ends_with("No problems.\n"), "{}", ran.out());
}

#[test]
fn model_check_lists_models_and_hides_the_key() {
    use wiremock::matchers::{header, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let key = "sk-ant-api03-0123456789abcdefghij";
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let list = serde_json::json!({"data": [{"id": "small"}, {"id": "large"}]});
        Mock::given(path("/v1/models"))
            .and(header("x-api-key", key))
            .respond_with(ResponseTemplate::new(200).set_body_json(list))
            .mount(&server)
            .await;
        server
    });
    let project = Project::git();
    let run_doctor = |url: &str, more: &[&str]| {
        let mut command =
            project.command(&["doctor", "--provider", "anthropic", "--base-url", url]);
        RunResult(
            command
                .args(more)
                .env("ANTHROPIC_API_KEY", key)
                .output()
                .unwrap(),
        )
    };
    let ran = run_doctor(&server.uri(), &[]);
    assert_eq!(ran.code(), 0, "{}", ran.out());
    let out = ran.out();
    assert!(
        out.contains("small, anthropic at http://127.0.0.1") && out.contains("the first of 2"),
        "{out}"
    );
    assert!(
        out.contains("✓ ok   key       ANTHROPIC_API_KEY is set"),
        "{out}"
    );
    assert!(!out.contains("0123456789"), "{out}");
    let out = run_doctor(&server.uri(), &["--model", "huge"]).out();
    assert!(
        out.contains("! warn model") && out.contains("huge is not among its 2 models"),
        "{out}"
    );
    let ran = run_doctor("http://127.0.0.1:9", &[]);
    assert_eq!(ran.code(), 1);
    assert!(ran.out().contains("✗ fail model"), "{}", ran.out());
}

#[test]
fn each_fix_is_confirmed_at_a_terminal() {
    let project = repository();
    project.json(&["task", "list"]);
    std::fs::create_dir(project.file(".worktrees/one")).unwrap();
    std::fs::create_dir(project.file(".worktrees/two")).unwrap();
    let mut screen = Screen::start(project.path(), 160, 45, &["doctor", "--mend"]);
    screen.wait_for("Clean up .worktrees/one? [y/N]");
    screen.send("y\r");
    screen.wait_for("Clean up .worktrees/two? [y/N]");
    screen.send("\r");
    screen.wait_for("fixed: .worktrees/one was cleaned up");
    screen.wait_for_exit();
    assert!(!project.file(".worktrees/one").exists());
    assert!(project.file(".worktrees/two").exists());
}
