//! Where commands of agents can write: real commands, builds and git in the sandbox of a real supervisor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::repository;
use crate::common::repository::Repository;
use crate::common::supervised::{check_available, program, run, sandboxed_supervisor};
use crewdeck::process::JobExit;
use crewdeck::process::sandbox::{Availability, HistoryReach, cache_folders, probe};
use crewdeck::process::supervisor::Supervisor;
use crewdeck::store::prepare;

/// The repository of a crew with two worktrees, a folder outside of it, and a folder for temporary files.
struct Crew {
    repository: Repository,
    outside: tempfile::TempDir,
    temp: tempfile::TempDir,
}

impl Crew {
    fn new() -> Crew {
        Crew::in_repository(Repository::new())
    }

    fn in_repository(repository: Repository) -> Crew {
        prepare(repository.root()).unwrap();
        for task in [1, 2] {
            repository.create(task, &[]);
        }
        std::fs::write(repository.root().join(".tasks/task_1.json"), "{}").unwrap();
        std::fs::write(repository.root().join(".team/config.json"), "{}").unwrap();
        Crew {
            repository,
            outside: tempfile::tempdir().unwrap(),
            temp: tempfile::tempdir().unwrap(),
        }
    }

    fn root(&self) -> &Path {
        self.repository.root()
    }

    fn tree(&self, number: usize) -> PathBuf {
        let mut all: Vec<PathBuf> = std::fs::read_dir(self.root().join(".worktrees"))
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.is_dir())
            .collect();
        all.sort();
        all.swap_remove(number - 1)
    }

    /// Returns a supervisor whose temporary folder is outside the root, as on most machines.
    fn supervisor(&self) -> Arc<Supervisor> {
        sandboxed_supervisor(self.root(), &[self.temp.path().into()], &[])
    }

    /// Returns `command`, preceded by one that sets `TMPDIR` to the temporary folder of [`Crew::supervisor`].
    fn with_temp_dir(&self, command: &str) -> String {
        format!("export TMPDIR='{}'; {command}", self.temp.path().display())
    }

    /// Returns a supervisor whose temporary folder contains the root, as in the demo.
    fn supervisor_in_temp(&self) -> Arc<Supervisor> {
        sandboxed_supervisor(self.root(), &["/tmp".into(), std::env::temp_dir()], &[])
    }
}

/// Returns whether this machine supports the sandbox. If not, the tests are skipped.
fn is_supported() -> bool {
    let report = probe(Some(&program()));
    let has_all = report.guard == Availability::Yes
        && report.landlock.is_some()
        && report.view == Availability::Yes;
    check_available((!has_all).then(|| report.describe_missing().unwrap_or_default()))
}

fn expect_success(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> String {
    let report = run(supervisor, dir, command);
    assert_eq!(
        report.ended,
        JobExit::Code(0),
        "{command}: {}",
        report.output
    );
    report.output
}

/// Runs a command and returns the note for the model. Panics unless the command fails.
fn expect_failure(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> String {
    let report = run(supervisor, dir, command);
    assert_ne!(
        report.ended,
        JobExit::Code(0),
        "{command}: {}",
        report.output
    );
    report.note.unwrap_or_default()
}

/// Runs each of `commands` in a subshell of one shell. Panics unless all of them fail.
fn expect_all_fail(supervisor: &Arc<Supervisor>, dir: &Path, commands: &[String]) {
    let script: Vec<String> = commands
        .iter()
        .enumerate()
        .map(|(at, command)| format!("( {command} ) >/dev/null 2>&1 && echo {at}\n"))
        .collect();
    let report = run(supervisor, dir, &(script.concat() + "true"));
    assert_eq!(report.ended, JobExit::Code(0), "{}", report.output);
    let succeeded = report
        .output
        .lines()
        .map(|at| &commands[at.parse::<usize>().unwrap()]);
    assert_eq!(succeeded.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn commands_cannot_change_metadata_of_outside_files() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let file = crew.outside.path().join("theirs");
    std::fs::write(&file, "theirs").unwrap();
    let path = file.display();
    let commands = [
        format!("chmod 777 '{path}'"),
        format!("chmod 700 '{}'", crew.outside.path().display()),
        format!("chown \"$(id -u)\" '{path}'"),
        format!("touch -d 2001-01-01 '{path}'"),
    ];
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        expect_all_fail(&crew.supervisor(), &dir, &commands);
        // Its own files can be changed.
        expect_success(
            &crew.supervisor(),
            &dir,
            "echo a > own.sh && chmod 755 own.sh && touch -d 2001-01-01 own.sh",
        );
    }
}

/// Returns shell commands that try to change `path` in different ways.
fn write_attempts(path: &Path) -> Vec<String> {
    let path = path.display();
    vec![
        format!("echo evil >> '{path}'"),
        format!("echo evil > '{path}'"),
        format!("rm -rf '{path}'"),
        format!("mv '{path}' '{path}.away'"),
        format!("touch '{path}/new' 2>&1 || touch '{path}'"),
        format!("echo evil > x && mv -f x '{path}'"),
        format!("echo evil > y; ln -f y '{path}' 2>&1 || cp -f y '{path}'"),
        format!("mount --bind . '{path}' 2>&1 || umount '{path}'"),
        format!("chmod 777 '{path}' && echo evil > '{path}'"),
    ]
}

#[test]
fn root_commands_cannot_write_state_or_git_hooks() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let root = crew.root();
    for supervisor in [crew.supervisor(), crew.supervisor_in_temp()] {
        for name in [
            ".tasks",
            ".tasks/task_1.json",
            ".team/config.json",
            ".team/inbox",
            ".transcripts",
            ".crewdeck",
            ".worktrees/index.json",
            ".worktrees/events.jsonl",
            ".git/hooks",
            ".git/config",
            ".git/info",
            ".git/worktrees",
        ] {
            expect_all_fail(&supervisor, root, &write_attempts(&root.join(name)));
        }
        for command in [
            "mv .git .git2",
            "rm -rf .git/hooks .tasks .team",
            "git config core.hooksPath /tmp",
            "git config --worktree core.fsmonitor evil",
            "printf 'x' > .git/hooks/pre-commit",
        ] {
            expect_failure(&supervisor, root, command);
        }
        // A file that would redirect git is removed after the command.
        expect_success(&supervisor, root, "echo /tmp > .git/commondir");
        assert!(!root.join(".git/commondir").exists());
        expect_success(
            &supervisor,
            root,
            "date +%N > own.txt && git add own.txt && git commit -qm own && git branch b && git branch -d b && \
             rm own.txt && git checkout -q -- own.txt && mkdir -p src/x && mv own.txt src/x/ && git stash -q",
        );
        expect_success(
            &supervisor,
            root,
            "git merge -q --no-edit wt/1-subject-1 || git merge -q --no-edit HEAD",
        );
        expect_success(
            &supervisor,
            root,
            &format!("touch '{}/lead-was-here'", crew.tree(1).display()),
        );
        expect_success(&supervisor, root, "git reset -q --hard && git clean -fdq");
    }
    assert_eq!(
        std::fs::read_to_string(root.join(".tasks/task_1.json")).unwrap(),
        "{}"
    );
    let hooks = std::fs::read_dir(root.join(".git/hooks")).unwrap();
    assert!(
        hooks
            .flatten()
            .all(|e| e.path().extension().is_some_and(|e| e == "sample"))
    );
}

#[test]
fn teammate_writes_only_in_its_worktree() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (root, tree, other) = (crew.root(), crew.tree(1), crew.tree(2));
    let name = tree.file_name().unwrap().to_str().unwrap();
    let own = root.join(".git/worktrees").join(name);
    std::fs::write(root.join("ours.txt"), "the user's").unwrap();
    let before = crew.repository.git(&["status", "--porcelain", "--branch"]);
    for supervisor in [crew.supervisor(), crew.supervisor_in_temp()] {
        let paths = [
            root.join("ours.txt"),
            root.join("a.txt"),
            other.join("a.txt"),
            root.join(".tasks/task_1.json"),
            root.join(".team"),
            root.join(".worktrees/index.json"),
            root.join(".git/config"),
            root.join(".git/hooks"),
            root.join(".git/HEAD"),
            root.join(".git/index"),
            own.join("commondir"),
            own.join("gitdir"),
            tree.join(".git"),
        ];
        for path in &paths {
            expect_all_fail(&supervisor, &tree, &write_attempts(path));
        }
        for command in [
            "echo evil > ../../new.txt",
            "cd ../.. && echo evil > new.txt",
            "cd .. && mkdir more",
            "ln -s ../../ours.txt link; echo evil > link",
            "git config core.hooksPath /tmp",
            "git -C ../.. commit --allow-empty -m mine",
        ] {
            expect_failure(&supervisor, &tree, command);
        }
    }
    let supervisor = crew.supervisor();
    let note = expect_failure(&supervisor, &tree, "touch ../../new.txt");
    assert!(note.starts_with("[Commands may write only below"), "{note}");
    let outside = crew.outside.path().display();
    expect_failure(&supervisor, &tree, &format!("echo evil > {outside}/x"));
    expect_failure(&supervisor, &tree, "touch \"$HOME/.crewdeck-was-here\"");
    let with_outside = sandboxed_supervisor(root, &[], &[crew.outside.path().into()]);
    expect_success(&with_outside, &tree, &format!("echo fine > {outside}/x"));
    let temp = crew.temp.path().display();
    expect_success(
        &supervisor,
        &tree,
        &format!("echo t > {temp}/t; echo n > /dev/null; ls > /dev/null 2>&1"),
    );
    assert_eq!(
        crew.repository.git(&["status", "--porcelain", "--branch"]),
        before
    );
}

#[test]
fn git_works_in_a_worktree_and_leaves_no_state() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let tree = crew.tree(1);
    crew.repository.git(&["pack-refs", "--all"]);
    for supervisor in [crew.supervisor(), crew.supervisor_in_temp()] {
        let text = expect_success(
            &supervisor,
            &tree,
            "set -e
             echo 1 >> b; git add b; git commit -qm one; git branch side; git tag -f t HEAD
             git checkout -q -b other HEAD~1; echo 2 > c; git add c; git commit -qm two
             git merge -q --no-edit side; git checkout -q -; git branch -D other side
             echo 3 >> b; git stash -q; git stash pop -q; git commit -qam three
             git revert --no-edit HEAD >/dev/null; git reset -q --soft HEAD~1; git commit -qm again
             echo 4 >> b; git commit -qam four; git rebase -q HEAD~1
             git checkout -q -b conflict HEAD~1; echo 5 >> b; git commit -qam five; git checkout -q -
             git cherry-pick conflict >/dev/null 2>&1 || { echo 6 > b; git add b; git commit -qm six; }
             git branch -D conflict; git gc --auto --quiet; git log --oneline | wc -l",
        );
        // When git deletes a branch, it tries to remove settings of the branch and cannot write the configuration.
        let is_expected =
            |l: &&str| l.contains(".git/config: ") || l.contains("update of config-file");
        for line in text.lines().filter(|l| !is_expected(l)) {
            for sign in ["error", "warning", "fatal", "denied"] {
                assert!(!line.contains(sign), "{text}");
            }
        }
        let state = expect_success(&supervisor, &tree, "git status");
        assert!(
            !state.contains("cherry-picking") && state.contains("clean"),
            "{state}"
        );
    }
    // Outside the sandbox the result is the same.
    let log = repository::git(&tree, &["log", "-1", "--format=%s"]);
    assert_eq!(log, "six");
    assert_eq!(repository::git(&tree, &["status", "--porcelain"]), "");
    crew.repository.git(&["fsck", "--strict"]);
}

#[test]
fn only_the_project_is_visible_in_shared_memory() {
    let shared = Path::new("/dev/shm");
    if !is_supported() || !shared.is_dir() {
        return;
    }
    let crew = Crew::in_repository(Repository::new_in(shared));
    let other_dir = tempfile::tempdir_in(shared).unwrap();
    std::fs::write(other_dir.path().join("theirs"), "theirs").unwrap();
    let state = crew.root().join(".tasks/task_1.json");
    let (root, tree) = (crew.root().to_path_buf(), crew.tree(1));
    let temp = [crew.temp.path().to_path_buf(), shared.to_path_buf()];
    let supervisor = sandboxed_supervisor(&root, &temp, &[]);
    for dir in [&root, &tree] {
        // The work directory, git, and a private shared memory are writable.
        expect_success(
            &supervisor,
            dir,
            "cat a.txt && echo new > new.txt && git add new.txt && git commit --quiet -m new && echo x > /dev/shm/own",
        );
        assert!(dir.join("new.txt").is_file());
        expect_failure(
            &supervisor,
            dir,
            &format!("cat '{}/theirs'", other_dir.path().display()),
        );
        expect_all_fail(&supervisor, dir, &write_attempts(&state));
    }
    assert!(!shared.join("own").exists());
    expect_all_fail(&supervisor, &tree, &write_attempts(&root.join("a.txt")));
}

#[test]
fn builds_work_in_a_worktree() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let tree = crew.tree(1);
    let home = PathBuf::from(std::env::var("HOME").unwrap());
    let caches = crewdeck::process::sandbox::writable_folders(Some(&home), &[]);
    let supervisor = sandboxed_supervisor(crew.root(), &[crew.temp.path().into()], &caches);
    let cargo = "mkdir -p src && printf '[package]\\nname = \"tiny\"\\nedition = \"2021\"\\n' > Cargo.toml && \
         echo 'fn main() { println!(\"built\"); }' > src/main.rs && \
         export CARGO_TARGET_DIR=target && cargo build -q --offline && test \"$(./target/debug/tiny)\" = built";
    expect_success(&supervisor, &tree, &crew.with_temp_dir(cargo));
    let make = "printf 'all: hi\\nhi: hi.c\\n\\tcc -o hi hi.c\\n' > Makefile && \
                echo 'int main(void) { return 0; }' > hi.c && make && ./hi";
    expect_success(&supervisor, &tree, &crew.with_temp_dir(make));
}

#[test]
fn missing_caches_are_created_and_writable() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let outside = crew.outside.path().canonicalize().unwrap();
    let (home, moved) = (outside.join("home"), outside.join("moved"));
    let variable = |name: &str| (name == "XDG_CACHE_HOME").then(|| moved.clone().into_os_string());
    let caches = cache_folders(Some(&home), crew.root(), variable);
    let without = sandboxed_supervisor(crew.root(), &[crew.temp.path().into()], &[]);
    let sandbox = without.sandbox.clone().unwrap().with_caches(caches);
    let supervisor = Arc::new(Supervisor {
        sandbox: Some(sandbox),
        ..Supervisor::clone(&without)
    });
    let tree = crew.tree(1);
    let attempts = |folder: &Path| format!("mkdir -p '{}/a/b'", folder.display());
    for folder in [&home.join(".cache"), &moved] {
        expect_failure(&without, &tree, &attempts(folder));
        assert!(!folder.exists());
    }
    for folder in [&home.join(".cache"), &moved] {
        expect_success(&supervisor, &tree, &attempts(folder));
        assert!(folder.join("a/b").is_dir());
    }
    expect_failure(&supervisor, &tree, &attempts(&home.join("other")));
}

#[test]
fn commands_cannot_inspect_or_signal_crewdeck() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let tree = crew.tree(1);
    let crewdeck = std::process::id();
    for dir in [crew.root(), &tree] {
        let supervisor = crew.supervisor();
        for command in [
            format!("cat /proc/{crewdeck}/environ"),
            "cat /proc/$PPID/environ".into(),
            format!("readlink /proc/{crewdeck}/fd/0"),
            format!("cat /proc/{crewdeck}/mem"),
            format!("kill -0 {crewdeck}"),
            format!("kill -CONT {crewdeck}"),
            "kill -CONT $PPID".into(),
            format!(
                "echo > /proc/{crewdeck}/root/{}/x",
                crew.outside.path().display()
            ),
        ] {
            let report = run(&supervisor, dir, &format!("({command}) 2>&1 >/dev/null"));
            assert_ne!(report.ended, JobExit::Code(0), "{command}");
        }
        expect_success(&supervisor, dir, "sleep 100 & kill $!; wait; kill -0 $$");
    }
}

/// Without namespaces, only Landlock confines an approved git command. Git then warns that it cannot take a lock, but
/// works.
#[test]
fn landlock_alone_confines_a_teammate() {
    use std::io::{Read, Write};
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let tree = crew.tree(1);
    let supervisor = crew.supervisor();
    let mut plan = supervisor
        .sandbox
        .as_ref()
        .unwrap()
        .plan(&tree, HistoryReach::Repository);
    plan.view.clear();
    let command = "echo 1 > b && git add b && git commit -qm one && ! echo 1 > ../../x && ! echo 1 > ../../.git/config \
                   && ! echo 1 > ../../.git/hooks/x && ! echo 1 > ../../.git/x";
    let order = serde_json::json!({
        "argv": ["/bin/bash", "-c", format!("({command}) 2>/dev/null")],
        "dir": tree,
        "plan": plan,
        "mark": "none",
    });
    let (mut local, remote) = std::os::unix::net::UnixStream::pair().unwrap();
    let child = std::process::Command::new(program())
        .args(["guard", "--for-crewdeck"])
        .stdin(std::os::fd::OwnedFd::from(remote))
        .spawn();
    writeln!(local, "{order}").unwrap();
    let mut reply = String::new();
    local.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(r#""code":0"#), "{reply}");
    assert!(child.unwrap().wait().unwrap().success());
}
