//! What is merged and what is not, on the screen of a real program over a real repository: the marks, the question, all
//! in one go up to a conflict, and merges of other programs.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::project::{Project, git};
use crate::common::pty::Screen;
use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::stamp::Stamp;
use crewdeck::store::{Board, NewWorktree, Worktrees};

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
    screen.wait_for(&format!("Undo: git reset --keep {commit}"));
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

/// The same tasks; whoever solves a conflict waits for the test first.
fn held_repository() -> Project {
    let project = repository();
    let held = TASKS.replace(
        "git merge main; echo both",
        "until [ -e ../../go-on ]; do sleep 0.05; done; git merge main; echo both",
    );
    assert_ne!(held, TASKS);
    project.write("script.yaml", &held);
    project.write(".git/info/exclude", "go-on\n");
    project
}

/// Waits until as many branches are counted beside the board as git lists; none of an open task may be among them.
fn wait_until_board_agrees_with_git(screen: &Screen, root: &Path) {
    let listed = git_in(
        root,
        &["branch", "--no-merged", "main", "--format=%(refname:short)"],
    );
    let count = listed.lines().count();
    screen.wait(
        &format!("{count} to merge, as git lists:\n{listed}"),
        |text| match count {
            0 => !text.contains("to merge"),
            n => text.contains(&format!("⇡ {n} to merge")),
        },
    );
}

fn git_in(root: &Path, args: &[&str]) -> String {
    let out = std::process::Command::new("git")
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn board_and_commands_agree_with_git_through_a_conflict() {
    let project = held_repository();
    let agrees = |screen: &Screen| wait_until_board_agrees_with_git(screen, project.path());
    let mut screen = asked_for_all(&project);
    screen.wait_for("3 of 4 branches are merged; stopped at #4");
    // The conflict is on the board as a task, which is held: #4 is done, and not merged.
    screen.wait_for("#5 Merge main into wt/task-4");
    screen.wait_for("⇡ 1 to merge");
    agrees(&screen);
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
    // It cannot be merged now, and the words go when it can.
    screen.send("gjjjm");
    screen.wait_for("Not merged: #5 has to be completed first");
    // A merge that the user takes back in another terminal, and makes again.
    let merged = git(&project, &["rev-parse", "HEAD"]);
    git(&project, &["reset", "--quiet", "--keep", "HEAD~1"]);
    screen.wait_for("⇡ 2 to merge");
    agrees(&screen);
    git(&project, &["reset", "--quiet", "--keep", merged.trim()]);
    agrees(&screen);
    project.write("go-on", "");
    screen.wait_for("5/5 done");
    screen.wait("nothing to merge", |t| !t.contains("to merge"));
    agrees(&screen);
    assert!(!project.run(&["task", "list"]).out().contains("not merged"));
    leave(screen);
}

#[test]
fn the_demo_waits_for_the_plan_and_says_farewell_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tally");
    let root = root.to_str().unwrap();
    let args = ["--demo", "--speed", "40", "--dir", root];
    let mut screen = Screen::start(dir.path(), 160, 45, &args);
    let root = Path::new(root);
    // The user only reads: what does not need the plan is done, and then everyone waits.
    screen.wait_for("5/8 done");
    screen.wait_for("◆ 1 needs you  ○ 3 idle");
    let board = std::fs::read_dir(root.join(".tasks")).unwrap().flatten();
    let open: Vec<String> = board
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter(|task| task.contains("\"status\": \"pending\""))
        .collect();
    assert_eq!(open.len(), 3, "{open:?}");
    wait_until_board_agrees_with_git(&screen, root);
    // The user merges before the lead does: what bob does later conflicts with it.
    screen.send("\x1b");
    screen.wait_for("i to write");
    screen.send("3gm");
    screen.wait_for("5 tasks are done and not merged.");
    screen.send("A");
    screen.wait_for("5 of 5 branches are merged.");
    wait_until_board_agrees_with_git(&screen, root);
    screen.send("\x1bw");
    screen.wait_for("1. I take what is ready on the board");
    screen.send("a");
    screen.wait_for("lead wants carol to shut down");
    screen.wait_for("◆ 1 needs you  ○ 4 idle");
    wait_until_board_agrees_with_git(&screen, root);
    assert!(!has_said(root, "That was the demo"));
    screen.send("w");
    screen.wait("the card has the keys", |t| {
        t.contains("a approves, r rejects")
    });
    screen.send("a");
    screen.wait_for("That was the demo");
    screen.wait_for("○ 3 idle");
    assert!(has_said(root, "That was the demo"));
    leave(screen);
    // A restart does not end it a second time.
    let mut args = args.to_vec();
    args.push("--resume");
    let mut screen = Screen::start(dir.path(), 160, 45, &args);
    screen.wait_for("○ 3 idle");
    screen.send("\x1b1iAll 10 tasks on the board are completed and the team is idle\r");
    screen.wait_for("Nothing is left to do here.");
    assert!(has_said(root, "That was the demo"));
    let asked = std::fs::read_dir(root.join(".team/requests"))
        .unwrap()
        .flatten();
    let shutdowns = asked
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter(|request| request.contains("\"kind\": \"shutdown\""));
    assert_eq!(shutdowns.count(), 1);
    leave(screen);
}

#[test]
fn the_demo_asks_which_version_stays_where_the_user_has_changed_the_same_file() {
    for (choice, stays) in [("1", "My own words.\n"), ("2", "Rain on the roof")] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tally");
        let root = root.to_str().unwrap();
        let args = ["--demo", "--speed", "40", "--dir", root];
        let mut screen = Screen::start(dir.path(), 160, 45, &args);
        let root = Path::new(root);
        screen.wait_for("5/8 done");
        screen.wait_for("◆ 1 needs you  ○ 3 idle");
        wait_until_board_agrees_with_git(&screen, root);
        std::fs::create_dir_all(root.join("samples")).unwrap();
        let sample = root.join("samples/rain.txt");
        std::fs::write(&sample, "My own words.\n").unwrap();
        git_in(root, &["add", "samples"]);
        git_in(root, &["commit", "--quiet", "--message", "mine"]);
        screen.send("\x1b");
        screen.wait_for("i to write");
        screen.send("3gm");
        screen.wait_for("5 tasks are done and not merged.");
        screen.send("A");
        // The teammate says what it waits for, and goes on with the answer.
        screen.wait_for("asks about #9 Merge main into wt/task-6");
        screen.wait_for("◆ 2 need you  ○ 2 idle");
        screen.send("\x1bw");
        screen.wait_for("1. I take what is ready on the board");
        screen.send("a");
        screen.wait_for("1  The version in main");
        // Keys that follow the appearance of a card at once go nowhere.
        std::thread::sleep(crewdeck::ui::SETTLE * 2);
        screen.send(choice);
        screen.wait_for("lead wants carol to shut down");
        screen.wait_for("◆ 1 needs you  ○ 4 idle");
        // A branch that brings nothing is merged for crewdeck, where git still lists it.
        screen.wait("nothing to merge", |t| !t.contains("to merge"));
        let kept = std::fs::read_to_string(&sample).unwrap();
        assert!(kept.starts_with(stays), "{kept}");
        screen.send("w");
        screen.wait("the card has the keys", |t| {
            t.contains("a approves, r rejects")
        });
        screen.send("a");
        screen.wait_for("That was the demo");
        screen.wait_for("○ 3 idle");
        assert!(has_said(root, "That was the demo"));
        let text = journals(root);
        assert!(!text.contains("NEXT"));
        leave(screen);
    }
}

/// What the journals of all sessions hold.
fn journals(root: &Path) -> String {
    let sessions = std::fs::read_dir(root.join(".crewdeck/sessions")).unwrap();
    let journals = sessions
        .flatten()
        .map(|dir| dir.path().join("journal.jsonl"));
    journals
        .filter_map(|journal| std::fs::read_to_string(journal).ok())
        .collect()
}

/// Whether the lead has said that, by the journal; more than once is a failure.
fn has_said(root: &Path, words: &str) -> bool {
    let all = journals(root);
    let lines = all
        .lines()
        .filter(|l| l.contains("\"type\":\"said\"") && l.contains(words));
    let count = lines.count();
    assert!(count <= 1, "{words}: {count} times");
    count == 1
}

#[test]
fn a_merge_whose_hook_takes_its_time_holds_nothing_else_up() {
    use std::os::unix::fs::PermissionsExt;

    let project = repository();
    let hook = "#!/bin/sh\ntouch .git/asked\nfor i in $(seq 400); do [ -e .git/go-on ] && exit 0; sleep 0.05; done\n";
    let hook = project.write(".git/hooks/pre-merge-commit", hook);
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut screen = asked_for_all(&project);
    let until = Instant::now() + Duration::from_secs(60);
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
