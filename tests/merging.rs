//! What is merged and what is not, on the screen of a real program over a real repository: the marks, the question, all
//! in one go up to a conflict, and merges of other programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by them

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::time::{Duration, Instant};

use project::{Project, git};
use pty::Screen;

/// Two teammates do four tasks; the last two write the same file. Nobody merges but the person.
const TASKS: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write one } }
      - { tool: task_create, input: { subject: write two } }
      - { tool: task_create, input: { subject: write same } }
      - { tool: task_create, input: { subject: write same } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
  - when: '(?s)auto-claimed>Task #(\d+): write (\w+)'
    times: 0
    calls:
      - { tool: write_file, input: { path: "{{2}}", content: "by task {{1}}\n" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - when: 'auto-claimed>Task #(\d+): Merge main into'
    calls:
      - { tool: bash, input: { command: "git merge main; echo both > same; git add same; git commit --no-edit -q" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - agent: lead
    when: ^again$
    say: I hear you.
  - when: .
    times: 0
    say: fine
"#;

fn repository() -> Project {
    let ignored = "script.yaml\n.config/\n";
    let project = Project::repository(&[("base.txt", "base\n"), (".gitignore", ignored)]);
    project.write("script.yaml", TASKS);
    project
}

fn open(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    Screen::start(project.path(), 160, 45, &args)
}

/// Ends a dashboard, whatever it shows.
fn leave(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn the_person_sees_what_is_not_merged_is_asked_and_can_take_it_back() {
    let project = repository();
    let start = git(&project, &["rev-parse", "HEAD"]).trim().to_string();
    let at = || git(&project, &["rev-parse", "HEAD"]).trim().to_string();
    let mut screen = open(&project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 to merge");
    screen.wait_for("4/4 done");
    // Asked, and a no changes nothing.
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("Merge wt/task-1 (1 file, +1) into main?");
    screen.wait_for("4 tasks are done and not merged.");
    screen.send("\x03");
    screen.wait("no question", |t| !t.contains("into main?"));
    assert_eq!(at(), start);
    // A yes merges, and the way back is a command that works.
    screen.send("my");
    let commit: String = start.chars().take(10).collect();
    screen.wait_for(&format!("git reset --keep {commit} takes it back."));
    screen.wait_for("⇡ 3 to merge");
    assert!(project.file("one").exists());
    screen.send("\r");
    screen.wait_for("merged into main: commit");
    screen.send("\x1b");
    screen.wait("no page", |t| !t.contains("Task #1"));
    screen.send("m");
    screen.wait_for("#1 is merged already (commit");
    git(&project, &["reset", "--quiet", "--keep", &commit]);
    screen.wait_for("⇡ 4 to merge");
    // What others do is seen: the command line here, git itself there, and by a viewer too.
    let viewer = open(&project, &[]);
    viewer.wait_for("⇡ 4 to merge");
    project.run(&["worktree", "merge", "1"]);
    screen.wait_for("⇡ 3 to merge");
    viewer.wait_for("⇡ 3 to merge");
    leave(viewer);
    leave(screen);
    git(&project, &["merge", "--quiet", "--no-edit", "wt/task-2"]);
    let screen = open(&project, &["--resume"]);
    screen.wait_for("⇡ 2 to merge");
    leave(screen);
}

#[test]
fn all_are_merged_in_one_go_up_to_the_first_conflict() {
    let project = repository();
    let mut screen = open(&project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 to merge");
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("4 tasks are done and not merged.");
    screen.send("A");
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    for file in ["one", "two"] {
        assert!(project.file(file).exists(), "{file}");
    }
    // The conflict becomes a task; solved, it is merged without a word, as its maker meant it.
    screen.wait_for("5/5 done");
    screen.wait("nothing to merge", |t| !t.contains("to merge"));
    let same = std::fs::read_to_string(project.file("same")).unwrap();
    assert_eq!(same, "both\n");
    leave(screen);
}

#[test]
fn a_merge_whose_hook_takes_its_time_holds_nothing_else_up() {
    use std::os::unix::fs::PermissionsExt;

    let project = repository();
    let hook = "#!/bin/sh\ntouch .git/asked\nfor i in $(seq 400); do [ -e .git/go-on ] && exit 0; sleep 0.05; done\n";
    let hook = project.write(".git/hooks/pre-merge-commit", hook);
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut screen = open(&project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 to merge");
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("4 tasks are done and not merged.");
    screen.send("A");
    let until = Instant::now() + Duration::from_secs(20);
    while !project.file(".git/asked").exists() {
        assert!(Instant::now() < until, "the hook never ran");
        std::thread::sleep(Duration::from_millis(5));
    }
    screen.send("iagain\r");
    screen.wait_for("I hear you.");
    project.write(".git/go-on", "");
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    leave(screen);
}
