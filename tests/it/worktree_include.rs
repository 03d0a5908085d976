//! Files that `.worktreeinclude` copies into new worktrees, and the environment of commands in worktrees.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{Created, RemovalMode};
use crewdeck::process::supervisor::Supervisor;
use crewdeck::process::{self, CommandSpec, JobExit};
use crewdeck::store::{Debris, NewWorktree, Worktrees};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::common::project::Project;
use crate::common::repository::{NOW, Repository, commit, git, name};
use crate::common::supervised;
use crate::common::wait::wait_until;

const ROOT: &str = "CREWDECK_INCLUDE_ROOT";

fn write(r: &Repository, path: &str, text: &str) {
    let path = r.root().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the content of a file in a worktree; `None` if it does not exist.
fn read(r: &Repository, tree: &str, path: &str) -> Option<String> {
    fs::read_to_string(r.worktree_path(tree).join(path)).ok()
}

/// Creates a repository with ignored and other untracked files.
fn repository(include: &str) -> Repository {
    let r = Repository::new();
    r.commit(".gitignore", ".env*\nlocal/\n");
    write(&r, ".env.local", "KEY=1\n");
    write(&r, "notes/plan.local", "plan\n");
    write(&r, "local/deep/key", "key\n");
    write(&r, "other.txt", "other\n");
    write(&r, ".worktreeinclude", include);
    r
}

fn create(r: &Repository, task: u64) -> Created {
    r.try_create(task, &[]).unwrap()
}

#[test]
fn listed_untracked_files_are_copied_and_stay_out_of_commits() {
    let r = repository(".env.local\n*.local\nlocal/\na.txt\n.git\n.tasks/\n.worktrees/\n/.crew*\n");
    let secret = r.root().join(".env.local");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    write(&r, "a.txt", "changed by the user\n");
    write(&r, ".tasks/task_9.json", "{}");
    let created = create(&r, 1);
    let summary = created.included.summary();
    assert_eq!(
        summary.as_deref(),
        Some("3 files copied (.worktreeinclude)")
    );
    assert_eq!(created.included.warnings(), Vec::<String>::new());
    for (path, text) in [
        (".env.local", Some("KEY=1\n")),
        ("notes/plan.local", Some("plan\n")),
        ("local/deep/key", Some("key\n")),
        ("a.txt", Some("one\n")),
        ("other.txt", None),
        (".tasks/task_9.json", None),
    ] {
        assert_eq!(read(&r, "task-1", path).as_deref(), text, "{path}");
    }
    let dir = r.worktree_path("task-1");
    let mode = fs::metadata(dir.join(".env.local")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);

    let (trees, task) = (r.worktrees(), name("task-1"));
    assert_eq!(trees.state(&task).unwrap().dirty, 0);
    fs::write(dir.join("b.txt"), "work\n").unwrap();
    let diff = trees.diff(&task).unwrap();
    assert_eq!(diff.untracked, ["b.txt"]);
    assert!(!diff.text.contains("plan"), "{}", diff.text);
    trees.commit_leftovers(&task, "work").unwrap().unwrap();
    let committed = git(&dir, &["show", "--name-only", "--format="]);
    assert_eq!(committed, "b.txt");
    // Without crewdeck's settings, git shows what it does not ignore by itself.
    assert_eq!(git(&dir, &["status", "--porcelain"]), "?? notes/");
    let in_root = r.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(in_root.contains("?? notes/plan.local"), "{in_root}");

    r.git(&["checkout", "--quiet", "a.txt"]);
    trees.merge(&task, NOW).unwrap();
    let excludes = r.root().join(".worktrees/.excludes-task-1");
    assert!(excludes.exists());
    trees.remove(&task, RemovalMode::OnlyIfSafe, NOW).unwrap();
    assert!(!excludes.exists() && !dir.exists());
}

#[test]
fn without_the_file_nothing_is_copied_or_recorded() {
    let r = repository("");
    fs::remove_file(r.root().join(".worktreeinclude")).unwrap();
    let created = create(&r, 1);
    assert_eq!(
        created.included,
        crewdeck::domain::worktree::IncludedFiles::default()
    );
    assert_eq!(read(&r, "task-1", ".env.local"), None);
    assert_eq!(
        r.events(),
        ["worktree.create.before", "worktree.create.after"]
    );
    let registry = fs::read_to_string(r.root().join(".worktrees/index.json")).unwrap();
    assert!(!registry.contains("include"), "{registry}");
    assert!(!r.root().join(".worktrees/.excludes-task-1").exists());
}

/// A branch that lists more files would otherwise get files of the user that the user has not listed.
#[test]
fn file_in_a_worktree_or_on_a_branch_does_not_count() {
    let r = repository("nothing\n");
    r.git(&["add", ".worktreeinclude"]);
    r.git(&["commit", "--quiet", "-m", "include"]);
    create(&r, 1);
    commit(&r.worktree_path("task-1"), ".worktreeinclude", ".env*\n");
    let second = r.try_create(2, &["wt/task-1"]).unwrap();
    assert_eq!(
        read(&r, "task-2", ".worktreeinclude").as_deref(),
        Some(".env*\n")
    );
    assert_eq!(second.included.count, 0);
    assert_eq!(read(&r, "task-2", ".env.local"), None);
    // Merged by the user, it is the file of the user's own checkout.
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert_eq!(create(&r, 3).included.count, 1);
    assert_eq!(read(&r, "task-3", ".env.local").as_deref(), Some("KEY=1\n"));
}

#[test]
fn file_or_link_of_the_branch_is_never_replaced_or_followed() {
    let r = repository("*.local\nlinked/\n");
    create(&r, 1);
    let dir = r.worktree_path("task-1");
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), dir.join("linked")).unwrap();
    fs::remove_dir_all(dir.join("notes")).unwrap();
    fs::create_dir(dir.join("notes")).unwrap();
    commit(&dir, "notes/plan.local", "of the branch\n");
    write(&r, "linked/file", "of the user\n");
    let second = r.try_create(2, &["wt/task-1"]).unwrap();
    assert_eq!(
        read(&r, "task-2", "notes/plan.local").as_deref(),
        Some("of the branch\n")
    );
    assert_eq!(second.included.names, [".env.local"]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let dir = r.worktree_path("task-2");
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
}

#[test]
fn what_cannot_be_copied_is_named_once() {
    let r = repository(".env*\n*.local\nvendor/\n../../.ssh\n/etc/passwd\n");
    symlink("/etc/hostname", r.root().join(".env.link")).unwrap();
    fs::create_dir(r.root().join("vendor")).unwrap();
    git(&r.root().join("vendor"), &["init", "--quiet"]);
    write(&r, "vendor/file", "nested\n");
    let big = fs::File::create(r.root().join("big.local")).unwrap();
    big.set_len(600 * 1024 * 1024).unwrap();
    let created = create(&r, 1);
    assert_eq!(created.included.names, [".env.local", "notes/plan.local"]);
    let warnings = created.included.warnings();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].contains("../../.ssh leads out of the project"));
    assert!(warnings[1].contains("/etc/passwd is an absolute path"));
    for part in [
        "vendor (a git repository of its own)",
        ".env.link (symbolic links are not copied)",
        "big.local (more than 512 MiB in total)",
    ] {
        assert!(warnings[2].contains(part), "{warnings:?}");
    }
    let tree = r.worktree_path("task-1");
    for path in [".env.link", "vendor", "big.local"] {
        assert!(tree.join(path).symlink_metadata().is_err(), "{path}");
    }
}

#[test]
fn large_ignored_folder_is_searched_only_if_a_pattern_names_it() {
    let r = Repository::new();
    r.commit(".gitignore", "node_modules/\nconfig/\n");
    for n in 0..1100 {
        write(&r, &format!("node_modules/p{n}/index.js"), "");
    }
    write(&r, "node_modules/p7/.env", "of a package\n");
    write(&r, "config/dev/.env", "dev\n");
    write(&r, ".worktreeinclude", ".env\n");
    assert_eq!(create(&r, 1).included.names, ["config/dev/.env"]);
    write(&r, ".worktreeinclude", "node_modules/*/.env\n");
    let second = create(&r, 2);
    assert_eq!(second.included.names, ["node_modules/p7/.env"]);
    assert_eq!(second.included.warnings(), Vec::<String>::new());
}

/// Changes the entry of `task-1` in the registry.
fn change_registry(r: &Repository, change: impl FnOnce(&mut Value)) {
    let path = r.root().join(".worktrees/index.json");
    let mut registry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut registry["worktrees"]);
    fs::write(&path, registry.to_string()).unwrap();
}

#[test]
fn interrupted_copy_is_completed_by_the_repair() {
    let r = repository(".env.local\n*.local\nlocal/\n");
    create(&r, 1);
    let dir = r.worktree_path("task-1");
    // Killed while it copied the last file. The agent's changes of other copies are kept.
    fs::remove_dir_all(dir.join("local")).unwrap();
    fs::write(dir.join(".env.local"), "changed\n").unwrap();
    let unfinished = r.root().join(".worktrees/.unfinished-copy");
    fs::write(&unfinished, "ke").unwrap();
    change_registry(&r, |trees| trees[0]["include_pending"] = json!(true));
    let trees = r.worktrees();
    let debris = trees.debris().unwrap();
    assert_eq!(debris, [Debris::MissingFiles(name("task-1"))]);
    assert!(debris[0].to_string().contains(".worktreeinclude"));
    assert_eq!(
        trees.repair(NOW).unwrap(),
        ["completed worktree task-1: 1 file copied (.worktreeinclude)"]
    );
    assert_eq!(
        read(&r, "task-1", "local/deep/key").as_deref(),
        Some("key\n")
    );
    assert_eq!(
        read(&r, "task-1", ".env.local").as_deref(),
        Some("changed\n")
    );
    assert!(!unfinished.exists());
    assert_eq!(trees.state(&name("task-1")).unwrap().dirty, 0);
    assert_eq!(trees.debris().unwrap(), []);
    assert_eq!(trees.repair(NOW).unwrap(), Vec::<String>::new());

    // Killed after git had created the worktree, before it was registered.
    for path in [".env.local", "notes", "local"] {
        let path = dir.join(path);
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        removed.unwrap();
    }
    fs::remove_file(r.root().join(".worktrees/.excludes-task-1")).unwrap();
    change_registry(&r, |trees| *trees = json!([]));
    let log = r.root().join(".worktrees/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.lines().next().unwrap()).unwrap();
    assert_eq!(
        trees.debris().unwrap(),
        [Debris::MissingWork(name("task-1"))]
    );
    assert_eq!(
        trees.repair(NOW).unwrap(),
        ["completed worktree task-1: 3 files copied (.worktreeinclude)"]
    );
    assert_eq!(trees.state(&name("task-1")).unwrap().dirty, 0);
    assert_eq!(trees.debris().unwrap(), []);
}

const FILES: usize = 1500;

/// What the child process of the next test runs. In the test process itself it does nothing.
#[test]
fn role() {
    let Ok(root) = std::env::var(ROOT) else {
        return;
    };
    let new = NewWorktree {
        task: TaskId(1),
        ..NewWorktree::default()
    };
    Worktrees::open(root.as_ref()).create(&new, NOW).unwrap();
}

#[test]
fn copy_that_is_killed_is_completed_at_the_next_start() {
    let r = repository("*.data\n");
    let text = "0123456789".repeat(2000);
    for n in 0..FILES {
        write(&r, &format!("data/{n}.data"), &text);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worktree_include::role", "--nocapture"])
        .env(ROOT, r.root())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let data = r.worktree_path("task-1").join("data");
    wait_until("the first copy", || {
        fs::read_dir(&data).is_ok_and(|mut all| all.next().is_some())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let is_complete = |path: &Path| fs::read_to_string(path).is_ok_and(|now| now == text);
    for entry in fs::read_dir(&data).unwrap().flatten() {
        assert!(is_complete(&entry.path()), "{}", entry.path().display());
    }
    let trees = r.worktrees();
    trees.repair(NOW).unwrap();
    for n in 0..FILES {
        assert!(is_complete(&data.join(format!("{n}.data"))), "{n}");
    }
    assert_eq!(trees.debris().unwrap(), []);
    let state = trees.state(&name("task-1")).unwrap();
    assert_eq!(state.dirty, 0, "{:?}", state.files);
    assert!(!r.root().join(".worktrees/.unfinished-copy").exists());
}

fn run(supervisor: Option<Arc<Supervisor>>, r: &Repository, tree: &str, command: &str) -> String {
    let (_, added) = r.worktrees().command_environment(&name(tree)).unwrap();
    let unsupervised = supervised::unconfined_supervisor();
    let job = CommandSpec {
        supervisor,
        added,
        ..supervised::job(&unsupervised, &r.worktree_path(tree), command)
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    let report = report.unwrap();
    assert_eq!(report.ended, JobExit::Code(0), "{}", report.output);
    report.output
}

#[test]
fn commands_in_a_worktree_get_its_task_and_ports_and_do_not_add_copies() {
    let r = repository("*.local\n");
    let mut ports = BTreeSet::new();
    let supervisors = [None, Some(supervised::unconfined_supervisor())];
    for (task, supervisor) in (1..).zip(supervisors) {
        let tree = r.create(task, &[]);
        let port = r.worktrees().find(&tree).unwrap().port.unwrap();
        ports.insert(port / 10);
        assert_eq!(port % 10, 0);
        let command = "echo $CREWDECK_TASK $CREWDECK_PORT; echo x > new; git add --all; git status --porcelain";
        let output = run(supervisor, &r, &tree, command);
        assert_eq!(output, format!("{task} {port}\nA  new\n"));
    }
    assert_eq!(ports.len(), 2);

    // The ports of a worktree without ports, and those of a removed one.
    change_registry(&r, |trees| trees[0]["port"] = json!("unknown"));
    let (port, _) = r.worktrees().command_environment(&name("task-1")).unwrap();
    assert!(ports.contains(&(port.unwrap() / 10)));
    assert_eq!(
        r.worktrees().find("task-1").unwrap().port,
        port,
        "the registry keeps the ports"
    );
    let (trees, removed) = (r.worktrees(), name("task-2"));
    trees.remove(&removed, RemovalMode::Confirmed, NOW).unwrap();
    assert!(trees.command_environment(&removed).is_err());
    let reused = create(&r, 3).worktree.port.unwrap();
    assert!(ports.contains(&(reused / 10)), "{reused}: {ports:?}");
}

#[test]
fn sandboxed_command_uses_the_file_of_excluded_copies() {
    let report = process::sandbox::probe(Some(&supervised::program()));
    if !supervised::check_available(report.describe_missing()) {
        return;
    }
    let r = repository("*.local\n");
    let tree = r.create(1, &[]);
    let supervisor = supervised::sandboxed_supervisor(r.root(), &[], &[]);
    let command = "echo x > new; git add --all && git commit -qm work && git status --porcelain; \
                   { echo >> ../.excludes-task-1; } 2> refusal || cat refusal notes/plan.local";
    let output = run(Some(supervisor), &r, &tree, command);
    assert!(output.ends_with("plan\n"), "{output}");
    let dir = r.worktree_path(&tree);
    let committed = git(&dir, &["show", "--name-only", "--format="]);
    assert_eq!(committed, "new");
}

/// Returns the output of the first command of bob.
fn output_of_bob(events: &[Value]) -> &str {
    let finished = events.iter().find(|event| {
        event["type"] == "tool_finished" && event["tool"] == "bash" && event["agent"] == "bob"
    });
    finished.unwrap()["output"].as_str().unwrap()
}

const CLAIM: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "cat .env.local; echo $CREWDECK_TASK; test $CREWDECK_PORT -ge 20000 && echo ports; git add --all; git status --porcelain; echo two > b.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - { times: 0, say: Done. }
"#;

#[test]
fn teammate_works_with_the_copied_files_and_commits_none_of_them() {
    let project = Project::repository(&[("a.txt", "one\n"), (".gitignore", ".env*\n")]);
    project.write(".env.local", "PORT=3000\n");
    project.write("notes/plan.local", "plan\n");
    project.write(".worktreeinclude", "*.local\n../../.ssh\n");
    let file = project.write("script.yaml", CLAIM);
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
    let out = ran.out();
    let events: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let notices: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "notice")
        .filter_map(|event| event["text"].as_str())
        .filter(|text| text.contains(".worktreeinclude"))
        .collect();
    assert_eq!(
        notices,
        [
            "Worktree task-1: 2 files copied (.worktreeinclude).",
            ".worktreeinclude, line 2: ../../.ssh leads out of the project, so it matches nothing.",
        ],
        "{out}"
    );
    let output = output_of_bob(&events);
    assert!(output.starts_with("PORT=3000\n1\nports"), "{output}");
    assert!(!output.contains("notes"), "{output}");
    let files =
        crate::common::project::git(&project, &["ls-tree", "-r", "--name-only", "wt/task-1"]);
    assert_eq!(files, ".gitignore\na.txt\nb.txt\n");
}

const READ_SETTINGS: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: begin } }
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "git config crew.color; git config http.extraHeader || echo withheld; git config core.excludesFile" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - { times: 0, say: Done. }
"#;

/// Git fails if the environment has the number of its settings, but not all of them.
#[test]
fn git_settings_in_the_environment_of_the_user_stay_complete() {
    let project = Project::repository(&[("a.txt", "one\n")]);
    project.write("notes/plan.local", "plan\n");
    project.write(".worktreeinclude", "*.local\n");
    let file = project.write("script.yaml", READ_SETTINGS);
    let provider = format!("script:{}", file.display());
    let header = "Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let output = project
        .command(&["run", "go", "--json", "--tool", "auto", "--provider"])
        .arg(provider)
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "http.extraHeader")
        .env("GIT_CONFIG_VALUE_0", header)
        .env("GIT_CONFIG_KEY_1", "crew.color")
        .env("GIT_CONFIG_VALUE_1", "teal")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let output = output_of_bob(&events);
    assert!(output.starts_with("teal\nwithheld\n"), "{output}");
    assert!(output.contains("/.worktrees/.excludes-task-1"), "{output}");
}
