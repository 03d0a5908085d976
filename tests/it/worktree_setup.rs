//! The setup and teardown commands of worktrees, and the cache folder of a worktree.

use std::fs;
use std::process::{Command, Stdio};

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::Name;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::worktree::MissingContent;
use crewdeck::store::Board;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::common::project::{Project, git};
use crate::common::repository::{NOW, Repository, name};
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
fn ignored_folder_is_cloned_before_setup_or_reason_is_shown() {
    let project = repository();
    project.write("made-deps/a.js", "a\n");
    project.write_user_settings(
        "[worktree]\nclone = ['made-deps', 'missing']\nsetup = 'cat made-deps/a.js 2>/dev/null || echo none'\n",
    );
    let events = work(&project, "setup command has run here", "true");
    let notices: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "notice")
        .filter_map(|event| event["text"].as_str())
        .filter(|text| text.contains("worktree.clone"))
        .collect();
    let [notice] = notices[..] else {
        panic!("{notices:?}");
    };
    let log = fs::read_to_string(project.file(".worktrees/.setup-task-1.log")).unwrap();
    let copy = project.file(".worktrees/task-1/made-deps/a.js");
    if shares_blocks(&project) {
        assert!(copy.exists());
        assert_eq!(
            notice,
            "Worktree task-1: made-deps copied (worktree.clone)."
        );
        assert_eq!(log, "a\n");
    } else {
        assert!(
            notice.starts_with("worktree.clone copies nothing"),
            "{notice}"
        );
        assert!(log.ends_with("none\n"), "{log}");
    }
    assert!(!project.file(".worktrees/.cloning-task-1").exists());
}

/// Returns whether the file system of the project shares blocks between files, as `cp` reports it.
fn shares_blocks(project: &Project) -> bool {
    let (from, to) = (project.write("probe", "text"), project.file("probe-copy"));
    let copied = Command::new("cp")
        .arg("--reflink=always")
        .args([&from, &to])
        .output();
    for path in [from, to] {
        let _ = fs::remove_file(path);
    }
    copied.unwrap().status.success()
}

#[test]
fn ignored_folder_is_copied_where_blocks_cannot_be_shared() {
    let project = repository();
    project.write("made-deps/a.js", "a\n");
    project.write_user_settings(
        "[worktree]\nclone = ['made-deps']\nclone_fallback = 'copy'\nsetup = 'cat made-deps/a.js; echo b > made-deps/a.js'\n",
    );
    let events = work(&project, "setup command has run here", "true");
    let notice = events
        .iter()
        .filter_map(|event| event["text"].as_str())
        .find(|text| text.contains("worktree.clone"));
    let space = if shares_blocks(&project) {
        ""
    } else {
        ", 4 KiB of disk space"
    };
    assert_eq!(
        notice,
        Some(&*format!(
            "Worktree task-1: made-deps copied (worktree.clone{space})."
        ))
    );
    let log = fs::read_to_string(project.file(".worktrees/.setup-task-1.log")).unwrap();
    assert_eq!(log, "a\n");
    let text = |path| fs::read_to_string(project.file(path)).unwrap();
    assert_eq!(text("made-deps/a.js"), "a\n", "the original is unchanged");
    assert_eq!(text(".worktrees/task-1/made-deps/a.js"), "b\n");
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

#[test]
fn user_is_warned_above_the_disk_limit() {
    let project = repository();
    project.write(".crewdeck/checks/trees/big", &"x".repeat(3_000_000));
    project.write_user_settings("[worktree]\ndisk_limit = '1 MiB'\n");
    let events = work(&project, "Write it", "true");
    let texts = events.iter().filter_map(|event| event["text"].as_str());
    let texts: Vec<&str> = texts.filter(|text| text.contains("disk_limit")).collect();
    let [text] = texts[..] else {
        panic!("{texts:?}");
    };
    assert!(
        text.starts_with("Worktrees and checks use 2.") && text.contains("(1.0 MiB)"),
        "{text}"
    );
    let list = project.run(&["worktree", "list", "--sizes"]).out();
    assert!(
        list.contains("\nCheckouts and cache of checks: 2."),
        "{list}"
    );
}

/// The commands of docs/worktrees.md that fetch submodules, in the sandbox.
#[test]
fn submodules_are_fetched_by_the_documented_commands() {
    for is_initialised in [true, false] {
        let project = repository();
        let lib = project.file("made-lib");
        fs::create_dir(&lib).unwrap();
        let in_lib = |args: &[&str]| {
            let lib = lib.to_str().unwrap();
            git(
                &project,
                &[
                    &["-C", lib, "-c", "user.name=Ada", "-c", "user.email=a@b.c"][..],
                    args,
                ]
                .concat(),
            )
        };
        in_lib(&["init", "--quiet"]);
        fs::write(lib.join("l.txt"), "lib\n").unwrap();
        in_lib(&["add", "--all"]);
        in_lib(&["commit", "--quiet", "--message", "lib"]);
        let commit = in_lib(&["rev-parse", "HEAD"]);
        let url = lib.display();
        project.write(
            ".gitmodules",
            &format!("[submodule \"lib\"]\n\tpath = lib\n\turl = {url}\n"),
        );
        let entry = format!("160000,{},lib", commit.trim());
        git(&project, &["update-index", "--add", "--cacheinfo", &entry]);
        git(&project, &["add", ".gitmodules"]);
        fs::create_dir(project.file("lib")).unwrap();
        git(&project, &["commit", "--quiet", "--message", "submodule"]);
        // Git allows local URLs of submodules only with this setting.
        let start = "git -c protocol.file.allow=always";
        let setup = if is_initialised {
            git(&project, &["submodule", "--quiet", "init"]);
            format!("{start} submodule update")
        } else {
            format!("{start} -c submodule.lib.url={url} submodule update")
        };
        project.write_user_settings(&format!("[worktree]\nsetup = '{setup}'\n"));
        let events = work(
            &project,
            "setup command has run here",
            "cat lib/l.txt; git status --porcelain",
        );
        assert_eq!(output_of_bob(&events).trim(), "lib", "{is_initialised}");
        let warned = events.iter().filter_map(|event| event["text"].as_str());
        assert!(
            !warned
                .into_iter()
                .any(|text| text.contains("empty submodules"))
        );
    }
}

#[test]
fn git_lfs_downloads_nothing_into_worktrees() {
    let r = Repository::new();
    // As the filter of Git LFS: writes the pointer if it is not to download.
    let smudge = "sh -c 'if test \"$GIT_LFS_SKIP_SMUDGE\" = 1; then cat; else cat >/dev/null; echo downloaded; fi'";
    for (key, value) in [("clean", "cat"), ("smudge", smudge), ("required", "true")] {
        r.git(&["config", &format!("filter.lfs.{key}"), value]);
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    fs::write(r.root().join(".gitattributes"), "*.bin filter=lfs -text\n").unwrap();
    r.git(&["add", ".gitattributes"]);
    r.commit("a.bin", pointer);
    r.create(1, &[]);
    let read = |tree: &str, file: &str| fs::read_to_string(r.worktree_path(tree).join(file));
    assert_eq!(read("task-1", "a.bin").unwrap(), pointer);
    let branch = r.worktree_path("task-1");
    fs::write(branch.join("b.bin"), pointer.replace("00", "11")).unwrap();
    let store = r.worktrees();
    store
        .commit_leftovers(&name("task-1"), "b")
        .unwrap()
        .unwrap();
    // A merge into a worktree checks out files too.
    r.create(2, &["wt/task-1"]);
    assert_eq!(
        read("task-2", "b.bin").unwrap(),
        pointer.replace("00", "11")
    );
    // The user's own checkout gets what the user's git writes.
    store.merge(&name("task-1"), NOW).unwrap();
    let merged = fs::read_to_string(r.root().join("b.bin")).unwrap();
    assert_eq!(merged, "downloaded\n");
}

#[test]
fn empty_submodules_and_lfs_pointers_are_found() {
    let r = Repository::new();
    for (key, value) in [
        ("clean", "cat"),
        ("smudge", "cat"),
        ("process", ""),
        ("required", "false"),
    ] {
        r.git(&["config", &format!("filter.lfs.{key}"), value]);
    }
    let nothing = |trees: &str| {
        let missing = r.worktrees().missing_content(&name(trees)).unwrap();
        assert_eq!(missing, MissingContent::default());
    };
    r.create(1, &[]);
    nothing("task-1");

    let commit = r.git(&["rev-parse", "HEAD"]);
    for path in ["lib", "third party"] {
        let entry = format!("160000,{commit},{path}");
        r.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }
    let modules = "[submodule \"a\"]\n\tpath = lib\n\turl = ../lib\n[submodule \"b\"]\n\tpath = third party\n\turl = ../b\n\
                   [submodule \"c\"]\n\tpath = ../..\n\turl = ../c\n";
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    for (path, text) in [
        (".gitmodules", modules),
        ("data/.gitattributes", "*.bin filter=lfs -text\n"),
        ("data/a.bin", pointer),
        ("data/b.bin", "fetched\n"),
        ("c.bin", pointer),
    ] {
        fs::create_dir_all(r.root().join("data")).unwrap();
        fs::write(r.root().join(path), text).unwrap();
        r.git(&["add", "--", path]);
    }
    r.git(&["commit", "--quiet", "--message", "modules"]);
    r.create(2, &[]);
    let missing = || r.worktrees().missing_content(&name("task-2")).unwrap();
    assert_eq!(missing().submodules.list(), "lib, third party");
    assert_eq!(missing().lfs_pointers.list(), "data/a.bin");
    assert_eq!(missing().warnings().len(), 2);

    let dir = r.worktree_path("task-2");
    for path in ["lib", "third party"] {
        fs::create_dir_all(dir.join(path)).unwrap();
        fs::write(dir.join(path).join("file"), "").unwrap();
    }
    fs::write(dir.join("data/a.bin"), "fetched\n").unwrap();
    nothing("task-2");
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

#[test]
fn failed_teardown_is_reported_and_the_worktree_is_removed() {
    let project = repository();
    let text = "[worktree]\nteardown = 'test -d \"$CREWDECK_CACHE\" && echo \"task $CREWDECK_TASK is down\"; exit 3'\n";
    project.write(".crewdeck/config.toml", text);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    work(&project, "Write it", "echo two > b.txt");
    let dir = project.file(".worktrees/task-1");
    // A removal that is refused does not run the command.
    let refusal = project.expect_refusal(&["worktree", "remove", "1"]);
    assert!(!refusal.contains("teardown"), "{refusal}");
    assert!(dir.exists());
    git(&project, &["merge", "--quiet", "wt/task-1"]);
    let removed = project.run(&["worktree", "remove", "1"]);
    assert_eq!(removed.code(), 0, "{}", removed.err());
    assert!(
        removed
            .err()
            .contains("The teardown of worktree task-1 failed (exit code 3: task 1 is down)")
            && removed
                .err()
                .contains("The worktree is removed nevertheless."),
        "{}",
        removed.err()
    );
    assert!(!dir.exists());
}

#[test]
fn worktree_claimed_during_its_teardown_stays_and_is_set_up_again() {
    let project = repository();
    let teardown = "touch \"$CREWDECK_CACHE/begun\"; until test -e made-go; do sleep 0.05; done";
    project.write_user_settings(&format!(
        "[worktree]\nsetup = 'echo run >> \"$CREWDECK_CACHE/runs\"'\nteardown = '{teardown}'\n"
    ));
    work(&project, "setup command has run here", "true");
    let removal = project
        .command(&["worktree", "remove", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cache = project.file(".worktrees/.cache-task-1");
    wait_until("the teardown command", || cache.join("begun").exists());
    let (board, now) = (Board::open(&project.file("")), Timestamp(1.0));
    let new = NewTask {
        subject: "Continue".into(),
        worktree: "task-1".into(),
        ..NewTask::default()
    };
    let id = board.create(new, now).unwrap().id;
    let claimer = Claimer {
        name: Name::user(),
        tags: Vec::new(),
    };
    board.claim(Some(id), &claimer, now).unwrap().unwrap();
    project.write(".worktrees/task-1/made-go", "");
    let ended = removal.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{error}");
    assert!(
        error.contains("user works on task #2 in it")
            && error.contains("Its teardown command has run; its setup runs again"),
        "{error}"
    );
    let entry = &registry(&project)[0];
    assert_eq!(entry["setup_pending"], true);
    assert_eq!(entry["phase"], "torn_down");
    assert!(project.file(".worktrees/task-1/a.txt").exists());

    // The next crew sets the worktree up again for the user.
    project.write("script.yaml", "rules:\n  - { times: 0, say: Done. }\n");
    let provider = format!("script:{}", project.file("script.yaml").display());
    let ran = project.run(&["run", "hello", "--json", "--provider", &provider]);
    let runs = fs::read_to_string(cache.join("runs")).unwrap();
    assert_eq!(runs, "run\nrun\n", "{}", ran.out());
    let entry = &registry(&project)[0];
    assert!(entry.get("phase").is_none(), "{entry}");
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
