//! Branches and checks that try to get around the checks or to harm the machine: nothing escapes, nothing lands, and the
//! user sees why.

use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{IGNORED, WRITES_BAD, project, run, settings, task, updates, with_bob};
use crate::common::limited_resources::{SmallDisk, run_to_end};
use crate::common::process_tree::find_by_variable;
use crate::common::project::git;

/// Returns settings that merge completed tasks, with one check.
fn merging(command: &str) -> String {
    format!("merge = \"auto\"\n{}", settings(command))
}

/// Returns the texts of the notices to the user.
fn notices(out: &str) -> Vec<String> {
    let events = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let notices = events.filter(|event: &Value| event["type"] == "notice");
    notices
        .filter_map(|event| event["text"].as_str().map(String::from))
        .collect()
}

#[test]
fn green_branch_that_edits_the_settings_does_not_land() {
    let edits = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "mkdir -p .crewdeck && echo 'checks = []' > .crewdeck/config.toml && git add -f .crewdeck && git commit -qm none; echo new > b.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    // With a merge train, and without.
    for settings in [merging("true"), "merge = \"auto\"\n".into()] {
        let project = project(&with_bob(edits));
        project.write_user_settings(&settings);
        let before = git(&project, &["rev-parse", "main"]);
        let ran = run(&project, &[]);
        let shown = notices(&ran.out());
        let is_shown = shown.iter().any(|text| {
            text.contains("is not merged")
                && text.contains("state folders of crewdeck (.crewdeck/config.toml)")
        });
        assert!(is_shown, "{settings}: {shown:?}");
        assert_eq!(git(&project, &["rev-parse", "main"]), before);
        assert!(!project.file(".crewdeck/config.toml").exists());
    }
}

#[test]
fn check_that_follows_a_link_of_the_branch_writes_nothing_outside() {
    if !crate::sandbox::is_supported() {
        return;
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut targets = vec![
        ("../../..", ".crewdeck/config.toml"),
        ("../../../..", ".git/hooks/post-checkout"),
    ];
    // Checks can write temporary files. The build can be among them.
    let is_temporary = |temp: &Path| outside.path().starts_with(temp);
    if !is_temporary(Path::new("/tmp")) && !is_temporary(&std::env::temp_dir()) {
        targets.push((outside.path().to_str().unwrap(), ""));
    }
    for (target, victim) in targets {
        let links = format!(
            r#"
  - agent: bob
    when: Write it
    calls:
      - {{ tool: bash, input: {{ command: "ln -s {target} build" }} }}
      - {{ tool: task_update, input: {{ task_id: 1, status: completed }} }}
"#
        );
        let project = project(&with_bob(&links));
        // The names with which the link reaches a file that matters, and one that does not exist.
        let writes = "for file in config.toml .crewdeck/config.toml .git/hooks/post-checkout made; do echo escaped 2>/dev/null > build/$file; done; test -L build";
        project.write_user_settings(&merging(writes));
        let config = project.write(".crewdeck/config.toml", "# of the user\n");
        let ran = run(&project, &[]);
        let (out, err) = (ran.out(), ran.err());
        assert_eq!(task(&project, 1)["status"], "completed", "{out}{err}");
        let text = std::fs::read_to_string(config).unwrap();
        assert_eq!(text, "# of the user\n", "{target}");
        for file in [victim, "made", ".crewdeck/made"] {
            let path = project.file(file);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(!text.contains("escaped"), "{target}: {}", path.display());
        }
        let made: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
        assert_eq!(made.len(), 0, "{made:?}");
    }
}

#[test]
fn check_that_forks_without_end_is_killed_with_all_its_processes() {
    let project = project(&with_bob(WRITES_BAD));
    // Doubles eight times, so that a broken limit does not bring down the machine.
    let bomb = "echo 'test $1 -ge 8 && exec sleep 300; setsid sh b.sh $(($1+1)) & setsid sh b.sh $(($1+1)) & wait; sleep 300' > b.sh; sh b.sh 0";
    let text = format!("processes_max = 64\n{}", merging(bomb));
    project.write_user_settings(&text.replace("timeout_s = 60", "timeout_s = 20"));
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let mut command = project.command(&[&args[..], &["--tool", "auto"]].concat());
    let mark = project.path().display().to_string();
    let output = command.env("CHECKS_BOMB", &mark).output().unwrap();
    let ran = crate::common::project::RunResult(output);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert!(
        updates[0].contains("is not completed") && updates[0].contains("processes"),
        "{updates:?}"
    );
    assert_eq!(find_by_variable("CHECKS_BOMB", &mark), Vec::new());
    assert_ne!(task(&project, 1)["status"], "completed");
    let landed = git(&project, &["log", "--oneline", "main", "--", "b.txt"]);
    assert_eq!(landed, "");
    assert_eq!(checkouts(project.path()), 0);
}

/// Returns the number of checkouts that checks have left.
fn checkouts(project: &Path) -> usize {
    std::fs::read_dir(project.join(".crewdeck/checks/trees")).map_or(0, Iterator::count)
}

/// Runs a shell command on a small disk and returns its output. Panics if it fails.
fn run_inside(disk: &SmallDisk, command: &str) -> String {
    let (program, args) = disk.enter_command.split_first().unwrap();
    let mut entering = Command::new(program);
    let output = entering.args(args).args(["sh", "-c", command]);
    let output = output.env("HOME", &disk.dir).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn check_that_fills_the_disk_is_stopped_and_its_files_are_deleted() {
    // A small disk of 700 MiB, of which less than 512 MiB would be free.
    let Some(disk) = SmallDisk::new(700 * 1024) else {
        return;
    };
    let root = &disk.outside_path;
    let write = |file: &str, text: &str| {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("a.txt", "old\n");
    write(".gitignore", &format!("{IGNORED}.cache/\n"));
    let git = "git init --quiet --template= --initial-branch=main && git config user.name Ada && git config user.email ada@example.org && git add --all && git commit --quiet -m first";
    run_inside(&disk, git);
    write("script.yaml", &format!("rules:\n{}", with_bob(WRITES_BAD)));
    let fills = "head -c 250M /dev/zero > fill; until [ -e never ]; do sleep 0.05; done";
    write(".config/crewdeck/config.toml", &merging(fills));
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let ran = run_to_end(disk.crewdeck(&[&args[..], &["--tool", "auto"]].concat()));
    assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
    let text = "the disk is almost full: the command was killed";
    assert!(ran.out.contains(text), "{}", ran.out);
    let file = std::fs::read_to_string(root.join(".tasks/task_1.json")).unwrap();
    let task: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(task["checks"][0]["outcome"], "stopped");
    assert_ne!(task["status"], "completed");
    assert_eq!(checkouts(root), 0);
    let landed = run_inside(&disk, "git log --oneline main -- b.txt");
    assert_eq!(landed, "");
}
