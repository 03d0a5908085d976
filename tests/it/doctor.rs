//! `crewdeck doctor` on what a crew leaves behind when it is killed: everything is found, what loses nothing is mended,
//! and what could lose something stays.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::project::{Project, Ran, git};
use crate::common::pty::Screen;

/// A repository with one commit and a script as its model, so that nothing fails for the lack of one.
fn repository() -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("script.yaml", "rules: [{ say: fine }]\n");
    project.own_settings("provider = 'script:script.yaml'\nplan = 'ask'\n");
    project
}

/// The findings of `crewdeck doctor --json MORE`.
fn examine(project: &Project, more: &[&str]) -> Vec<Value> {
    let ran = doctor(project, more, &["--json"]);
    let value: Value =
        serde_json::from_str(&ran.out()).unwrap_or_else(|e| panic!("{e}: {}", ran.out()));
    value.as_array().unwrap().clone()
}

fn doctor(project: &Project, more: &[&str], form: &[&str]) -> Ran {
    let mut command = project.command(&["doctor"]);
    command.args(more).args(form).env("LANG", "C.UTF-8");
    Ran(command.stdin(Stdio::null()).output().unwrap())
}

/// `check: text` of all that are not well.
fn troubles(findings: &[Value]) -> Vec<String> {
    let is_trouble = |f: &&Value| f["level"] != "ok";
    let line = |f: &Value| {
        format!(
            "{}: {}",
            f["check"].as_str().unwrap(),
            f["text"].as_str().unwrap()
        )
    };
    findings.iter().filter(is_trouble).map(line).collect()
}

/// Waits until `is_so`.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// alice works on a task and has written; bob has a plan that waits; the lead waits. Killed in the midst of it.
fn killed_crew(project: &Project) {
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
    wait("alice's work", || {
        project.file(".worktrees/task-1/begun").exists()
    });
    wait("bob's plan", || {
        std::fs::read_dir(project.file(".team/requests"))
            .unwrap()
            .any(|e| e.unwrap().path().extension().is_some_and(|e| e == "json"))
    });
    let found = examine(project, &[]);
    let crew = found.iter().find(|f| f["check"] == "crew").unwrap();
    let text = crew["text"].as_str().unwrap();
    assert!(text.contains(&format!("process {}", child.id())), "{text}");
    // What runs is left to the crew.
    assert!(found.iter().all(|f| f.get("mend").is_none()), "{found:#?}");
    let told = doctor(project, &["--mend", "--yes"], &[]);
    assert!(
        told.err()
            .contains("nothing is fixed while a crew runs here"),
        "{}",
        told.err()
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_killed_gits_left_is_named_and_repaired() {
    let project = repository();
    killed_crew(&project);
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
    let left = |args: &[&str]| -> Vec<String> {
        let found = troubles(&examine(&project, args));
        let is_left = |line: &String| line.starts_with("leftovers:");
        found.into_iter().filter(is_left).collect()
    };
    let found = left(&[]);
    for words in [
        "packed-refs.lock",
        "task-1/index.lock",
        "merge of wt/task-1",
    ] {
        assert!(
            found.iter().any(|t| t.contains(words)),
            "{words} in {found:#?}"
        );
    }
    assert_eq!(left(&["--mend", "--yes"]), Vec::<String>::new());
    assert!(!project.file(".git/packed-refs.lock").exists());
}

#[test]
fn what_a_killed_crew_left_is_found_and_mended_and_its_work_stays() {
    let project = repository();
    killed_crew(&project);
    let found = troubles(&examine(&project, &[]));
    let has = |found: &[String], words: &str| found.iter().any(|t| t.contains(words));
    for words in [
        "team: alice is listed as working",
        "team: bob is listed as working",
        "tasks: task #1 (Write it) is owned by alice, who is gone",
        "requests: bob asked",
    ] {
        assert!(has(&found, words), "{words} in {found:#?}");
    }
    // The worktree of an open task is needed.
    assert!(!has(&found, "task-1"), "{found:#?}");

    // Nobody is there to ask: nothing changes.
    let told = doctor(&project, &["--mend"], &[]);
    assert!(
        told.err().contains("without a terminal to ask on"),
        "{}",
        told.err()
    );
    assert_eq!(troubles(&examine(&project, &[])).len(), found.len());

    let mended = examine(&project, &["--mend", "--yes"]);
    let done: Vec<&str> = mended
        .iter()
        .filter(|f| f["check"] == "mend")
        .map(|f| f["text"].as_str().unwrap())
        .collect();
    assert!(done.contains(&"task #1 was released"), "{done:?}");
    assert!(done.contains(&"alice is marked as shut down"), "{done:?}");
    let rest = troubles(&examine(&project, &[]));
    for check in ["team:", "tasks:", "requests:", "worktrees:"] {
        assert!(
            !rest.iter().any(|t| t.starts_with(check)),
            "{check} in {rest:#?}"
        );
    }
    let task = project.json(&["task", "show", "1"]);
    assert_eq!(
        (task["status"].as_str(), task["owner"].as_str()),
        (Some("pending"), Some(""))
    );
    let work = std::fs::read_to_string(project.file(".worktrees/task-1/work.txt")).unwrap();
    assert_eq!(work, "work\n");

    // The task leaves the board: its worktree with uncommitted work is told of, and never removed.
    project.json(&["task", "rm", "1"]);
    let found = examine(&project, &["--mend", "--yes"]);
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
fn worktrees_and_files_that_nobody_needs_are_cleared_and_those_with_content_stay() {
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
    git(
        &project,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "wt/gone",
            ".worktrees/gone",
        ],
    );
    git(
        &project,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "wt/done",
            ".worktrees/done",
        ],
    );
    git(
        &project,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "wt/work",
            ".worktrees/work",
        ],
    );
    project.write(".worktrees/work/new.txt", "new");
    std::fs::remove_dir_all(project.file(".worktrees/gone")).unwrap();

    let before = examine(&project, &["--mend", "--yes"]);
    let done = before.iter().filter(|f| f["check"] == "mend").count();
    assert_eq!(done, 4, "{before:#?}");
    let rest = troubles(&examine(&project, &[]));
    assert_eq!(rest.len(), 4, "{rest:#?}");
    for (at, words) in [
        "mail: 1 message for ghost",
        "worktrees: work, which has no task, uses",
        "worktrees: .worktrees/notes uses",
        "files: .tasks/task_9.json.damaged-1",
    ]
    .iter()
    .enumerate()
    {
        assert!(rest[at].starts_with(words), "{words} in {rest:#?}");
    }
    assert!(
        rest[1].contains("contains unmerged work: 1 uncommitted file (new.txt)"),
        "{rest:#?}"
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
    // What was committed there would be on this branch.
    assert!(git(&project, &["branch", "--list", "wt/gone"]).contains("wt/gone"));
}

#[test]
fn what_fails_ends_with_one_line_and_says_what_to_do() {
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
    assert!(!project.file(".crewdeck").exists(), "it leaves no trace");
    assert!(!project.file(".worktrees").exists(), "it leaves no trace");

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
fn a_server_is_asked_for_its_models_and_no_key_is_shown() {
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
    let asked = |url: &str, more: &[&str]| {
        let mut command =
            project.command(&["doctor", "--provider", "anthropic", "--base-url", url]);
        Ran(command
            .args(more)
            .env("ANTHROPIC_API_KEY", key)
            .output()
            .unwrap())
    };
    let ran = asked(&server.uri(), &[]);
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
    let out = asked(&server.uri(), &["--model", "huge"]).out();
    assert!(
        out.contains("! warn model") && out.contains("huge is not among its 2 models"),
        "{out}"
    );
    let ran = asked("http://127.0.0.1:9", &[]);
    assert_eq!(ran.code(), 1);
    assert!(ran.out().contains("✗ fail model"), "{}", ran.out());
}

#[test]
fn at_a_terminal_each_is_asked_about() {
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
    screen.end();
    assert!(!project.file(".worktrees/one").exists());
    assert!(project.file(".worktrees/two").exists());
}
