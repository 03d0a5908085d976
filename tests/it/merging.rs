//! Merging from the dashboard, in a real terminal and a real repository: counters, confirmation, merging all branches
//! up to a conflict, and merges by other programs.

mod demo;
mod train;

use std::path::Path;

use crate::common::project::{Project, git};
use crate::common::pty::Screen;
use crate::common::repository;
use crate::common::wait::wait_until;
use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Board, NewWorktree, Worktrees};

/// In this script, a teammate completes four tasks; the last two write the same file. Only the user merges.
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

fn open_dashboard(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    Screen::start(project.path(), 160, 45, &args)
}

#[test]
fn status_line_follows_branch_switches_in_other_terminals() {
    let project = repository();
    let screen = open_dashboard(&project, &[]);
    screen.wait_for(" on main ");
    git(&project, &["switch", "--quiet", "-c", "team/next"]);
    screen.wait_for(" on team/next ");
    let commit = git(&project, &["rev-parse", "HEAD"]);
    git(&project, &["switch", "--quiet", "--detach"]);
    screen.wait_for(&format!(" at {} ", &commit[..7]));
    quit(screen);
}

/// Quits the dashboard from any screen. Panics if it fails or does not restore the terminal.
fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Opens the dashboard, lets the crew complete four tasks and starts merging all of them.
fn start_merge_all(project: &Project) -> Screen {
    let mut screen = open_dashboard(project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 unmerged");
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("4 completed tasks are unmerged.");
    screen.send("A");
    screen
}

#[test]
fn merge_asks_first_can_be_undone_and_sees_other_merges() {
    let project = repository();
    let start = git(&project, &["rev-parse", "HEAD"]).trim().to_string();
    let head = || git(&project, &["rev-parse", "HEAD"]).trim().to_string();
    let mut screen = open_dashboard(&project, &[]);
    screen.wait_for("scripted");
    screen.send("go\r");
    screen.wait_for("⇡ 4 unmerged");
    screen.wait_for("4/4 done");
    // Cancelling the question changes nothing.
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("Merge wt/task-1 (1 file, +1) into main?");
    screen.wait_for("4 completed tasks are unmerged.");
    screen.send("\x03");
    screen.wait("no question", |t| !t.contains("into main?"));
    assert_eq!(head(), start);
    // Confirming merges, and the undo command that is shown works.
    screen.send("my");
    let commit: String = start.chars().take(10).collect();
    screen.wait_for(&format!("Undo: git reset --keep {commit}"));
    screen.wait_for("⇡ 3 unmerged");
    assert!(project.file("one").exists());
    screen.send("\r");
    screen.wait_for("merged into main: commit");
    screen.send("\x1b");
    screen.wait("no page", |t| !t.contains("Task #1"));
    screen.send("m");
    screen.wait_for("#1 is already merged (commit");
    git(&project, &["reset", "--quiet", "--keep", &commit]);
    screen.wait_for("⇡ 4 unmerged");
    // Merges by the command line and by git are noticed, also by a viewer.
    let viewer = open_dashboard(&project, &[]);
    viewer.wait_for("⇡ 4 unmerged");
    project.run(&["worktree", "merge", "1"]);
    screen.wait_for("⇡ 3 unmerged");
    viewer.wait_for("⇡ 3 unmerged");
    quit(viewer);
    quit(screen);
    git(&project, &["merge", "--quiet", "--no-edit", "wt/task-2"]);
    let screen = open_dashboard(&project, &["--resume"]);
    screen.wait_for("⇡ 2 unmerged");
    quit(screen);
}

#[test]
fn merge_all_stops_at_a_conflict_and_continues_when_solved() {
    let project = repository();
    let screen = start_merge_all(&project);
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    for file in ["one", "two"] {
        assert!(project.file(file).exists(), "{file}");
    }
    // The conflict becomes a task; when it is completed, the branch is merged without another question.
    screen.wait_for("5/5 done");
    screen.wait("nothing to merge", |t| !t.contains("⇡"));
    let same = std::fs::read_to_string(project.file("same")).unwrap();
    assert_eq!(same, "both\n");
    quit(screen);
}

/// Returns a repository like [`repository`], but the agent that resolves the conflict waits for the file `go-on` before
/// it starts.
fn repository_with_delayed_conflict() -> Project {
    let project = repository();
    let delayed = TASKS.replace(
        "git merge main; echo both",
        "until [ -e ../../go-on ]; do sleep 0.05; done; git merge main; echo both",
    );
    assert_ne!(delayed, TASKS);
    project.write("script.yaml", &delayed);
    project.write(".git/info/exclude", "go-on\n");
    project
}

/// Waits until the board shows as many unmerged branches as git lists. Call this only while no open task has commits,
/// because git lists the branches of open tasks, too.
fn wait_for_git_count(screen: &Screen, root: &Path) {
    let listed = repository::git(
        root,
        &["branch", "--no-merged", "main", "--format=%(refname:short)"],
    );
    let count = listed.lines().count();
    screen.wait(
        &format!("{count} to merge, as git lists:\n{listed}"),
        |text| match count {
            0 => !text.contains("⇡"),
            n => text.contains(&format!("⇡ {n} unmerged")),
        },
    );
}

#[test]
fn board_and_commands_agree_with_git_through_a_conflict() {
    let project = repository_with_delayed_conflict();
    let wait_for_agreement = |screen: &Screen| wait_for_git_count(screen, project.path());
    let mut screen = start_merge_all(&project);
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    // The conflict is a task on the board that waits for the test: #4 is done and not merged.
    screen.wait_for("#5 Merge main into wt/task-4");
    screen.wait_for("⇡ 1 unmerged");
    wait_for_agreement(&screen);
    let list = project.run(&["task", "list"]).out();
    assert!(
        list.contains("[x] #4: write same  @alice  (not merged into main)"),
        "{list}"
    );
    assert_eq!(list.matches("not merged").count(), 1, "{list}");
    let shown = project.run(&["task", "show", "4"]).out();
    assert!(shown.contains("\n    not merged into: main"), "{shown}");
    let trees = project.run(&["worktree", "list"]).out();
    assert_eq!(trees.matches("1 not merged").count(), 1, "{trees}");
    // #4 cannot be merged now; the message goes away when it can.
    screen.send("gjjjm");
    screen.wait_for("Not merged: complete #5 first");
    // The user undoes a merge in another terminal and redoes it.
    let merged = git(&project, &["rev-parse", "HEAD"]);
    git(&project, &["reset", "--quiet", "--keep", "HEAD~1"]);
    screen.wait_for("⇡ 2 unmerged");
    wait_for_agreement(&screen);
    git(&project, &["reset", "--quiet", "--keep", merged.trim()]);
    wait_for_agreement(&screen);
    project.write("go-on", "");
    screen.wait_for("5/5 done");
    screen.wait("nothing to merge", |t| !t.contains("⇡"));
    wait_for_agreement(&screen);
    assert!(!project.run(&["task", "list"]).out().contains("not merged"));
    quit(screen);
}

#[test]
fn slow_merge_hook_does_not_block_the_dashboard() {
    use std::os::unix::fs::PermissionsExt;

    let project = repository();
    let hook = "#!/bin/sh\ntouch .git/asked\nuntil [ -e .git/go-on ]; do sleep 0.05; done\n";
    let hook = project.write(".git/hooks/pre-merge-commit", hook);
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut screen = start_merge_all(&project);
    wait_until("the hook", || project.file(".git/asked").exists());
    screen.send("iagain\r");
    screen.wait_for("I hear you.");
    project.write(".git/go-on", "");
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    quit(screen);
}

/// Creates completed tasks, each with an unmerged commit in its worktree, as a crew leaves them.
fn create_completed_tasks(project: &Project, tasks: u64) {
    let now = Timestamp(7.0);
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

/// Counts the git processes in the file `trace` that were started with at least one of `arguments`. Counts all
/// processes if `arguments` is empty.
fn count_git_processes(trace: &Path, arguments: &[&str]) -> usize {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    let starts = text.lines().filter(|l| l.contains(r#""event":"start""#));
    let is_it = |line: &&str| {
        arguments.is_empty() || arguments.iter().any(|argument| line.contains(argument))
    };
    starts.filter(is_it).count()
}

#[test]
fn merge_all_does_not_recount_or_recompare_branches() {
    const BRANCHES: usize = 8;
    const COUNT: &[&str] = &["--numstat", "--shortstat"];
    const COMPARE: &[&str] = &["\"cherry\"", "\"merge-tree\""];

    let project = repository();
    create_completed_tasks(&project, BRANCHES as u64);
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
    screen.wait_for("⇡ 8 unmerged");
    screen.send("\x1b");
    screen.wait_for("i to write");
    let all = [&[], COUNT, COMPARE];
    let before = all.map(|arguments| count_git_processes(&trace, arguments));
    screen.send("3gm");
    screen.wait_for("8 completed tasks are unmerged.");
    screen.send("A");
    screen.wait_for("8 of 8 branches are merged.");
    screen.wait("nothing to merge", |t| !t.contains("⇡"));
    let after = all.map(|arguments| count_git_processes(&trace, arguments));
    let [started, counted, compared] = std::array::from_fn(|at| after[at] - before[at]);
    println!("{started} git processes for {BRANCHES} branches");
    assert_eq!(counted, 0, "the changes were counted before");
    // Two comparisons by the merge of each branch itself.
    assert_eq!(compared, 2 * BRANCHES);
    quit(screen);
}

/// In this script, a teammate completes one more task, and the lead repeats which branches are reported as not merged.
const ONE_MORE_TASK: &str = r#"
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
fn lead_is_notified_of_the_branches_that_the_board_counts() {
    let project = repository();
    create_completed_tasks(&project, 3);
    // Task 1 is merged, task 2 is merged as a squash commit, and task 3 is not merged.
    git(&project, &["merge", "--quiet", "--no-edit", "wt/task-1"]);
    git(&project, &["merge", "--quiet", "--squash", "wt/task-2"]);
    git(&project, &["commit", "--quiet", "-m", "squashed"]);
    let script = project.write("more/script.yaml", ONE_MORE_TASK);
    let provider = format!("script:{}", script.display());
    let ran = project.run(&["run", "go", "--provider", &provider]);
    let out = ran.out();
    assert!(
        out.contains("waiting: wt/task-3 (#3), wt/task-4 (#4)."),
        "{out}{}",
        ran.err()
    );
    let screen = open_dashboard(&project, &["--resume"]);
    screen.wait_for("⇡ 2 unmerged");
    quit(screen);
}
