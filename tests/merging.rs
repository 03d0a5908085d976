//! What is merged and what is not, on the screen of a real program over a real repository: the marks, the question, all
//! in one go up to a conflict, and merges of other programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by them

#[path = "common/project.rs"]
#[allow(dead_code)] // other tests use more of it
mod project;
#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::path::Path;
use std::time::{Duration, Instant};

use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::stamp::Stamp;
use crewdeck::store::{Board, NewWorktree, Worktrees};
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

#[test]
fn the_status_line_tells_the_branch_also_when_the_person_switches_in_another_terminal() {
    let project = repository();
    let screen = open(&project, &[]);
    screen.wait_for(" on main ");
    git(&project, &["switch", "--quiet", "-c", "team/next"]);
    screen.wait_for(" on team/next ");
    let commit = git(&project, &["rev-parse", "HEAD"]);
    git(&project, &["switch", "--quiet", "--detach"]);
    screen.wait_for(&format!(" at {} ", &commit[..7]));
    leave(screen);
}

/// Ends a dashboard, whatever it shows.
fn leave(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// The dashboard whose four tasks are done, told to merge all of them.
fn asked_for_all(project: &Project) -> Screen {
    let mut screen = open(project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 to merge");
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("4 tasks are done and not merged.");
    screen.send("A");
    screen
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
    let screen = asked_for_all(&project);
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
    let mut screen = asked_for_all(&project);
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

/// A board of completed tasks, each with a commit in its worktree, as a crew leaves it.
fn completed(project: &Project, tasks: u64) {
    let now = Stamp(7.0);
    let (board, trees) = (Board::open(project.path()), Worktrees::open(project.path()));
    crewdeck::store::prepare(project.path()).unwrap();
    let bob = Name::member("bob").unwrap();
    for task in (1..=tasks).map(TaskId) {
        let new = NewTask {
            subject: format!("write {}", task.0),
            description: String::new(),
            blocked_by: vec![],
            tags: vec![],
            worktree: String::new(),
        };
        assert_eq!(board.create(new, now).unwrap().id, task);
        let (name, tags) = (bob.clone(), vec![]);
        board
            .claim(Some(task), &Claimer { name, tags }, now)
            .unwrap();
        let new = NewWorktree {
            task,
            ..NewWorktree::default()
        };
        let tree = trees.create(&new, now).unwrap().worktree.name;
        board.bind(task, &tree, now).unwrap();
        project.write(&format!(".worktrees/{tree}/{}.txt", task.0), "done\n");
        trees.commit_leftovers(&tree, "work").unwrap();
        board.complete(task, &bob, now).unwrap();
    }
}

/// How many gits were started with one of these words, by what each of them wrote into `trace`; with none: all.
fn gits(trace: &Path, words: &[&str]) -> usize {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    let starts = text.lines().filter(|l| l.contains(r#""event":"start""#));
    let is_it = |line: &&str| words.is_empty() || words.iter().any(|word| line.contains(word));
    starts.filter(is_it).count()
}

#[test]
fn a_merge_of_all_counts_and_compares_nothing_anew() {
    const BRANCHES: usize = 20;
    const COUNT: &[&str] = &["--numstat", "--shortstat"];
    const COMPARE: &[&str] = &["\"cherry\"", "\"merge-tree\""];

    let project = repository();
    completed(&project, BRANCHES as u64);
    let trace = project.path().join(".git/trace");
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut screen = Screen::start_program(
        Path::new(env!("CARGO_BIN_EXE_crewdeck")),
        project.path(),
        160,
        45,
        &["--provider", &provider],
        &[("GIT_TRACE2_EVENT", trace.to_str().unwrap())],
    );
    screen.wait_for("⇡ 20 to merge");
    screen.send("\x1b");
    screen.wait_for("i to write");
    let all = [&[], COUNT, COMPARE];
    let before = all.map(|words| gits(&trace, words));
    screen.send("3gm");
    screen.wait_for("20 tasks are done and not merged.");
    screen.send("A");
    screen.wait_for("20 of 20 branches are merged.");
    screen.wait("nothing to merge", |t| !t.contains("to merge"));
    let after = all.map(|words| gits(&trace, words));
    let [started, counted, compared] = std::array::from_fn(|at| after[at] - before[at]);
    println!("{started} gits for {BRANCHES} branches");
    assert_eq!(counted, 0, "each was counted before");
    // By the merge of each branch itself.
    assert_eq!(compared, 2 * BRANCHES);
    leave(screen);
}

/// A teammate does one more task; the lead repeats what it hears of branches.
const ONE_MORE: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: write more } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Work } }
  - when: '(?s)auto-claimed>Task #(\d+): write (\w+)'
    calls:
      - { tool: write_file, input: { path: "{{2}}", content: "by task {{1}}\n" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - agent: lead
    when: 'Not merged yet: ([^.]*)\.'
    say: "waiting: {{1}}."
  - when: .
    times: 0
    say: fine
"#;

#[test]
fn the_lead_hears_of_the_branches_that_the_board_counts() {
    let project = repository();
    completed(&project, 3);
    // By hand, by hand under another commit, and not at all.
    git(&project, &["merge", "--quiet", "--no-edit", "wt/task-1"]);
    git(&project, &["merge", "--quiet", "--squash", "wt/task-2"]);
    git(&project, &["commit", "--quiet", "-m", "squashed"]);
    let script = project.write("more/script.yaml", ONE_MORE);
    let provider = format!("script:{}", script.display());
    let ran = project.run(&["run", "go", "--provider", &provider]);
    let out = ran.out();
    assert!(
        out.contains("waiting: wt/task-3 (#3), wt/task-4 (#4)."),
        "{out}{}",
        ran.err()
    );
    let screen = open(&project, &["--resume"]);
    screen.wait_for("⇡ 2 to merge");
    leave(screen);
}
