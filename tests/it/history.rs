//! Commands without approval cannot destroy the history of a repository, while ordinary git works. The tests use real git and a real
//! supervisor in their own repositories.

mod bypasses;
mod checkout;
mod concurrent;
mod refused_refs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::repository;
use crate::common::repository::{NOW, Repository};
use crate::common::supervised::{check_available, job, program, run, sandboxed_supervisor};
use crewdeck::process::sandbox::{Availability, HistoryReach, Sandbox, probe};
use crewdeck::process::supervisor::Supervisor;
use crewdeck::process::{self, JobExit, JobReport};
use crewdeck::store::prepare;
use tokio_util::sync::CancellationToken;

struct Crew {
    repository: Repository,
    temp: tempfile::TempDir,
}

impl Crew {
    fn new() -> Crew {
        let repository = Repository::new();
        repository.commit("b.txt", "two\n");
        repository.commit("c.txt", "three\n");
        prepare(repository.root()).unwrap();
        for task in [1, 2] {
            repository.create(task, &[]);
        }
        Crew {
            repository,
            temp: tempfile::tempdir().unwrap(),
        }
    }

    fn root(&self) -> &Path {
        self.repository.root()
    }

    fn tree(&self, number: usize) -> PathBuf {
        self.repository.worktree_path(&format!("task-{number}"))
    }

    fn supervisor(&self) -> Arc<Supervisor> {
        sandboxed_supervisor(self.root(), &[self.temp.path().into()], &[])
    }

    /// Returns all refs except those that keep refused commits. Panics if `git fsck` finds an error.
    fn refs(&self) -> String {
        self.repository.git(&["fsck", "--strict", "--no-dangling"]);
        let all = self.repository.git(&["for-each-ref"]);
        let visible = all.lines().filter(|l| !l.contains("refs/crewdeck/beside/"));
        visible.collect::<Vec<_>>().join("\n")
    }
}

/// Returns whether this machine has mount namespaces and Landlock. If not, the tests are skipped.
fn is_supported() -> bool {
    let report = probe(Some(&program()));
    let has_all = report.landlock.is_some() && report.view == Availability::Yes;
    check_available((!has_all).then(|| report.describe_missing().unwrap_or_default()))
}

fn expect_success(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> JobReport {
    let report = run(supervisor, dir, command);
    assert_eq!(
        report.ended,
        JobExit::Code(0),
        "{command}: {}",
        report.output
    );
    report
}

/// Runs a git command as if the user had approved it, so that it may change the repository. Panics if it fails.
fn run_approved(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> JobReport {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = process::CommandSpec {
        reach: process::Reach {
            history: HistoryReach::Repository,
            ..process::Reach::default()
        },
        ..job(supervisor, dir, command)
    };
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    let report = report.unwrap();
    assert_eq!(
        report.ended,
        JobExit::Code(0),
        "{command}: {}",
        report.output
    );
    report
}

/// Shell commands with which a script could damage the repository or its history.
const ATTACKS: &[&str] = &[
    "rm -rf $(git rev-parse --git-common-dir)/objects/*",
    "rm -rf $(git rev-parse --git-common-dir)/refs/*",
    "rm -rf $(git rev-parse --git-common-dir)/crewdeck $(git rev-parse --git-dir)/crewdeck",
    "find $(git rev-parse --git-common-dir) -type f -path '*objects*' -exec sh -c 'chmod 644 \"$1\"; echo bad > \"$1\"' _ {} \\;",
    "git update-ref refs/heads/main HEAD~2",
    "git update-ref refs/heads/main $(git commit-tree -m bad HEAD^{tree})",
    "git update-ref -d refs/heads/main",
    "git branch -f main HEAD~2",
    "git branch -D main wt/task-1 wt/task-2 packed",
    "git tag -d v1; git update-ref -d refs/tags/v1",
    "echo bad > $(git rev-parse --git-common-dir)/packed-refs; rm -f $(git rev-parse --git-common-dir)/packed-refs",
    "git pack-refs --all --prune; git reflog expire --expire=now --all; git gc --prune=now --quiet",
    "git symbolic-ref refs/heads/main refs/heads/wt/task-2",
    "cd $(git rev-parse --git-common-dir) && echo 0000000000000000000000000000000000000000 > refs/heads/main",
    "cd $(git rev-parse --git-common-dir) && echo 0000000000000000000000000000000000000000 > refs/heads/wt/task-2",
];

#[test]
fn scripts_cannot_destroy_or_rewind_history() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    crew.repository.git(&["branch", "packed"]);
    crew.repository.git(&["pack-refs", "--all"]);
    crew.repository.git(&["tag", "v1"]);
    crew.repository.git(&["branch", "loose"]);
    expect_success(
        &crew.supervisor(),
        &crew.tree(1),
        "echo 1 > own && git add own && git commit -qm own",
    );
    for supervisor in [
        crew.supervisor(),
        sandboxed_supervisor(crew.root(), &["/tmp".into()], &[]),
    ] {
        // A worktree may rewrite its own branch, so attack from the second one.
        for dir in [crew.root().to_path_buf(), crew.tree(2)] {
            for attack in ATTACKS {
                let before = crew.refs();
                std::fs::write(dir.join("x.sh"), attack).unwrap();
                run(&supervisor, &dir, "sh x.sh");
                std::fs::remove_file(dir.join("x.sh")).unwrap();
                assert_eq!(crew.refs(), before, "{attack} in {}", dir.display());
            }
            // A later command finds everything unchanged.
            expect_success(
                &supervisor,
                &dir,
                "git fsck --no-dangling && git log --oneline main && git status",
            );
        }
    }
    assert_eq!(
        crew.repository
            .git(&["log", "--format=%s", "-1", "wt/task-1"]),
        "own"
    );
}

#[test]
fn commits_of_commands_reach_the_repository() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (supervisor, tree) = (crew.supervisor(), crew.tree(1));
    expect_success(
        &supervisor,
        &tree,
        "echo 1 > n && git add n && git commit -qm one && git commit -q --amend -m uno",
    );
    assert_eq!(
        repository::git(&tree, &["log", "-2", "--format=%s"]),
        "uno\nWrite c.txt"
    );
    // Staged content and packed objects are transferred too.
    expect_success(&supervisor, &tree, "echo staged > s && git add s");
    assert_eq!(repository::git(&tree, &["show", ":s"]), "staged");
    expect_success(
        &supervisor,
        &tree,
        "for n in $(seq 150); do echo $n > f$n; done; git add . && git commit -qm many && git repack -q -d",
    );
    assert_eq!(
        repository::git(&tree, &["ls-tree", "--name-only", "HEAD", "f150"]),
        "f150"
    );
    expect_success(
        &supervisor,
        &tree,
        "git reset -q --hard HEAD~2 && git rebase -q main && git tag t && git branch side",
    );
    expect_success(&supervisor, &tree, "git branch -D side && git tag -d t");
    expect_success(
        &supervisor,
        crew.root(),
        "echo lead > l && git add l && git commit -qm lead && git merge -q --no-edit wt/task-1",
    );
    assert_eq!(
        crew.repository.git(&["log", "-1", "--format=%s", "main"]),
        "lead"
    );
    assert!(!crew.refs().contains("side"), "{}", crew.refs());
    // The next command of the other teammate sees the commit.
    let seen = expect_success(&supervisor, &crew.tree(2), "git log -1 --format=%s main").output;
    assert_eq!(seen, "lead\n");
    assert!(
        std::fs::read_dir(tree.join("../../.git/worktrees/task-1/crewdeck/objects"))
            .unwrap()
            .count()
            <= 2
    );
}

#[test]
fn stash_belongs_to_its_work_directory() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    std::fs::write(crew.root().join("a.txt"), "the user's\n").unwrap();
    crew.repository.git(&["stash", "--quiet"]);
    let user_stash = crew.repository.git(&["rev-parse", "refs/stash"]);
    let supervisor = crew.supervisor();
    let tree = crew.tree(1);
    expect_success(
        &supervisor,
        &tree,
        "echo 1 >> a.txt && git stash -q && echo 2 >> a.txt && git stash -q",
    );
    let stashes = crew
        .repository
        .git(&["for-each-ref", "refs/crewdeck/stash/task-1"]);
    assert_eq!(stashes.lines().count(), 2, "{stashes}");
    assert_eq!(
        expect_success(&supervisor, &crew.tree(2), "git stash list").output,
        ""
    );
    expect_success(
        &supervisor,
        &tree,
        "git stash pop -q && git checkout -q . && git stash pop -q && grep -q 1 a.txt",
    );
    assert_eq!(crew.repository.git(&["for-each-ref", "refs/crewdeck"]), "");
    assert_eq!(
        crew.repository.git(&["rev-parse", "refs/stash"]),
        user_stash
    );
}

#[test]
fn approved_git_command_changes_the_repository() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    crew.repository.git(&["branch", "old"]);
    crew.repository.git(&["pack-refs", "--all"]);
    let tip = crew.repository.git(&["rev-parse", "main~1"]);
    run_approved(&crew.supervisor(), crew.root(), "git branch -D old");
    run_approved(
        &crew.supervisor(),
        crew.root(),
        "git reset -q --hard HEAD~1",
    );
    assert_eq!(crew.repository.git(&["rev-parse", "main"]), tip);
    assert!(!crew.refs().contains("old"));
    assert_eq!(
        expect_success(&crew.supervisor(), &crew.tree(1), "git rev-parse main")
            .output
            .trim(),
        tip
    );
}

#[test]
fn damaged_objects_block_no_later_work() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (supervisor, tree) = (crew.supervisor(), crew.tree(1));
    // No fsck here: the worktree's own index and reflog are damaged too.
    let refs = || crew.repository.git(&["for-each-ref"]);
    let before = refs();
    let damage = "echo 1 > n && git add n && git commit -qm bad && cd $(git rev-parse --git-common-dir)/objects && \
                  for f in ??/*; do chmod 644 $f; echo bad > $f; done";
    let note = run(&supervisor, &tree, damage).note.unwrap();
    assert!(note.contains("refs/heads/wt/task-1"), "{note}");
    assert_eq!(refs(), before);
    expect_success(
        &supervisor,
        &tree,
        "rm -f $(git rev-parse --git-dir)/index && git reset -q && echo 2 > n && git add n && git commit -qm good",
    );
    assert_eq!(
        repository::git(&tree, &["log", "-1", "--format=%s"]),
        "good"
    );
    crew.repository.git(&["rev-list", "--objects", "--all"]);
}

#[test]
fn commits_of_a_killed_crew_are_recovered() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let tree = crew.tree(1);
    let plan = crew
        .supervisor()
        .sandbox
        .as_ref()
        .unwrap()
        .plan(&tree, HistoryReach::Private);
    let private = plan.history.clone().unwrap();
    // The state that a command leaves if crewdeck is killed before it transfers the commits.
    let request = serde_json::json!({
        "argv": ["/bin/sh", "-c", "echo 1 > n && git add n && git commit -qm kept && echo 2 > m && git add m"],
        "dir": tree,
        "plan": plan,
        "mark": "none",
    });
    run_request(&request);
    assert!(private.is_pending());
    assert_ne!(
        repository::git(
            &crew.root().join(".git"),
            &["log", "-1", "--format=%s", "wt/task-1"]
        ),
        "kept"
    );
    // The next operation on the worktrees recovers the commits.
    let name = repository::name("task-1");
    let result = crew
        .repository
        .worktrees()
        .commit_leftovers(&name, "leftovers")
        .unwrap();
    assert!(result.is_some(), "{result:?}");
    let log = repository::git(&tree, &["log", "-2", "--format=%s"]);
    assert_eq!(log, "leftovers\nkept");
    crew.repository.worktrees().merge(&name, NOW).unwrap();
    assert_eq!(
        std::fs::read_to_string(crew.root().join("m")).unwrap(),
        "2\n"
    );
    assert!(!private.is_pending());
    crew.refs();
}

/// Sends a request to a supervisor process, as crewdeck does. Panics if the command in it fails.
fn run_request(request: &serde_json::Value) {
    use std::io::{Read, Write};
    let (mut local, remote) = std::os::unix::net::UnixStream::pair().unwrap();
    let child = std::process::Command::new(program())
        .args(["guard", "--for-crewdeck"])
        .stdin(std::os::fd::OwnedFd::from(remote))
        .spawn();
    writeln!(local, "{request}").unwrap();
    let mut reply = String::new();
    local.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(r#""code":0"#), "{reply}");
    assert!(child.unwrap().wait().unwrap().success());
}

#[test]
fn concurrent_commands_share_one_history() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    let script = "until mkdir busy 2>/dev/null; do :; done; date +%N%N > f$$ && git add f$$ && git commit -qm $$; rmdir busy";
    let reports: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| run(&supervisor, crew.root(), script)))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for report in reports {
        assert_eq!(
            (report.ended, report.note),
            (JobExit::Code(0), None),
            "{}",
            report.output
        );
    }
    assert_eq!(crew.repository.git(&["rev-list", "--count", "main"]), "7");
    assert_eq!(crew.repository.git(&["status", "--porcelain"]), "");
    crew.refs();
}

/// Prints the time that a sandboxed command takes. To run it: `cargo test --test it history::cost -- --ignored
/// --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_sandboxed_command() {
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (what, command, rounds) in [
        ("true", "true", 200),
        ("git status", "git status >/dev/null", 100),
        (
            "git commit",
            "date +%N%N > n; git add n; git commit -qm n",
            100,
        ),
    ] {
        for dir in [crew.root().to_path_buf(), crew.tree(1)] {
            let (cpu, wall) = (cpu(), std::time::Instant::now());
            for _ in 0..rounds {
                let job = job(&supervisor, &dir, command);
                runtime
                    .block_on(process::run(&job, &CancellationToken::new(), |_| {}))
                    .unwrap();
            }
            let used = (self::cpu() - cpu) * 1000.0 / f64::from(rounds);
            let wall = wall.elapsed().as_secs_f64() * 1000.0 / f64::from(rounds);
            let location = if dir == crew.root() {
                "root"
            } else {
                "worktree"
            };
            println!("{what:12} {location:9} {used:6.2} ms CPU {wall:6.2} ms");
        }
    }
}

/// Returns the CPU time of this process and its ended children, in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks = rest.split_whitespace().skip(11).take(4);
    ticks.map(|t| t.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}
