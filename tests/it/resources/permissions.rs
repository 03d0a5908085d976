//! Missing permissions on the root, on a state folder or on a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::limited_resources::{
    CommandResult, RUN_ARGS, SmallDisk, crewdeck, crewdeck_through, is_root, run_to_end, subjects,
    write_script,
};

/// The user id to which tests switch if they run as root, because permission bits do not restrict root.
const UNPRIVILEGED_UID: u32 = 65534;
const AS_UNPRIVILEGED: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

const TEAM: &str = r##"
  - agent: lead
    # The prompt, the waiting message, or both.
    calls:
      - { tool: task_create, input: { subject: two } }
      - { tool: spawn_teammate, input: { name: bob, role: worker } }
      - { tool: send_message, input: { to: bob, content: hello } }
  - agent: lead
    say: Done.
    times: 0
  - agent: bob
    when: "#1"
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - agent: bob
    when: "#2"
    calls: [{ tool: task_update, input: { task_id: 2, status: completed } }]
  - agent: bob
    say: It is done.
    times: 0
"##;

/// A project with a task and a message for the lead. Its owner is the user that runs crewdeck in it, who is never root.
struct DeniedProject {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl DeniedProject {
    fn new() -> DeniedProject {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().canonicalize().unwrap().join("r");
        fs::create_dir(&root).unwrap();
        let project = DeniedProject { _dir: dir, root };
        write_script(&project.root, TEAM);
        DeniedProject::make_unprivileged_owner(&project.root);
        for args in [
            &["task", "add", "one"][..],
            &["mail", "send", "lead", "hello"],
        ] {
            project.run(args).ok();
        }
        project
    }

    /// Creates a project that is a repository with one commit.
    fn repository() -> DeniedProject {
        let project = DeniedProject::new();
        let script = "git init --quiet && git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m a";
        let shell = ["sh", "-c", script];
        let argv = if is_root() {
            [AS_UNPRIVILEGED, &shell].concat()
        } else {
            shell.to_vec()
        };
        let made = Command::new(argv[0])
            .args(&argv[1..])
            .current_dir(&project.root)
            .env("HOME", &project.root)
            .status();
        assert!(made.unwrap().success());
        project
    }

    fn make_unprivileged_owner(path: &Path) {
        if !is_root() {
            return;
        }
        chown(path, Some(UNPRIVILEGED_UID), Some(UNPRIVILEGED_UID)).unwrap();
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                DeniedProject::make_unprivileged_owner(&entry.unwrap().path());
            }
        }
    }

    fn run(&self, args: &[&str]) -> CommandResult {
        run_to_end(if is_root() {
            crewdeck_through(AS_UNPRIVILEGED, &self.root, args)
        } else {
            crewdeck(&self.root, args)
        })
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

impl Drop for DeniedProject {
    fn drop(&mut self) {
        for path in [
            "",
            ".tasks",
            ".team",
            ".team/inbox",
            ".transcripts",
            ".worktrees",
            ".git/info",
        ] {
            if self.root.join(path).exists() {
                self.set_mode(path, 0o755);
            }
        }
    }
}

const DENIED: &str = "permission denied: check the owner with ls -l";

#[test]
fn unwritable_root_is_reported_in_one_line() {
    let project = DeniedProject::new();
    for folder in [".tasks", ".team", ".crewdeck/sessions"] {
        fs::remove_dir_all(project.root.join(folder)).unwrap();
    }
    project.set_mode("", 0o555);
    for args in [
        RUN_ARGS,
        &["task", "list"],
        &["task", "add", "x"],
        &["team", "list"],
    ] {
        let refused = project.run(args).expect_refusal();
        assert!(
            refused.contains(".tasks: ") && refused.contains(DENIED),
            "{refused}"
        );
    }
}

#[test]
fn unwritable_board_is_reported_and_the_run_ends() {
    let project = DeniedProject::new();
    project.set_mode(".tasks/.lock", 0o444);
    let refused = project.run(&["task", "add", "x"]).expect_refusal();
    assert!(refused.contains(DENIED), "{refused}");
    project.set_mode(".tasks/.lock", 0o644);
    project.set_mode(".tasks", 0o555);
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&["lead · task_create failed: Error: ", DENIED]);
    run.only_line_with(&["crewdeck: Task #1 cannot be claimed; retrying: ", DENIED]);
    assert_eq!(project.run(&["task", "list"]).ok().out.lines().count(), 1);
    let project = DeniedProject::new();
    project.set_mode(".tasks", 0o000);
    let refused = project.run(RUN_ARGS).expect_refusal();
    assert!(
        refused.contains(".tasks: ") && refused.contains(DENIED),
        "{refused}"
    );
}

#[test]
fn unreadable_task_inbox_or_log_does_not_stop_other_work() {
    let project = DeniedProject::new();
    project.set_mode(".tasks/task_1.json", 0o000);
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&[
        "warning: .tasks/task_1.json is ignored: ",
        DENIED,
        "fix it or move it away",
    ]);
    run.only_line_with(&["bob · claimed task #2: two"]);
    project.set_mode(".tasks/task_1.json", 0o644);
    assert_eq!(subjects(&project.root), ["one", "two"]);

    let project = DeniedProject::new();
    project.set_mode(".team/inbox/lead.jsonl", 0o000);
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&["warning: The inbox of lead cannot be read: ", DENIED]);
    assert!(run.err.contains("bob · message from lead"), "{}", run.err);
    project.set_mode(".team/inbox/lead.jsonl", 0o644);
    let again = project.run(RUN_ARGS).ok();
    assert_eq!(
        again.err.matches("lead · message from user").count(),
        1,
        "{}",
        again.err
    );

    let project = DeniedProject::new();
    project.set_mode(".team/inbox", 0o555);
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&["lead · send_message failed: Error: ", DENIED]);
    assert!(
        run.err.contains("crewdeck: The inbox cannot be read: "),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("bob · claimed task #1: one"),
        "{}",
        run.err
    );

    for folder in [".transcripts", ".crewdeck/sessions"] {
        let project = DeniedProject::new();
        project.set_mode(folder, 0o555);
        let run = project.run(RUN_ARGS).ok();
        assert!(run.out.ends_with("Done.\n"), "{}", run.out);
        let what = match folder {
            ".transcripts" => "crewdeck: The conversation cannot be saved; crewdeck keeps trying: ",
            _ => {
                "warning: The journal cannot be written, so --resume will not show current events: "
            }
        };
        let has_line = |l: &&str| l.starts_with(what) && l.contains(DENIED);
        assert!(
            run.err.lines().any(|l| has_line(&l)),
            "{folder}: {}",
            run.err
        );
        assert!(
            run.err.contains("bob · task_update #1 completed"),
            "{}",
            run.err
        );
        project.set_mode(folder, 0o755);
    }
}

#[test]
fn unwritable_repository_is_reported() {
    let project = DeniedProject::repository();
    fs::write(project.root.join(".git/info/exclude"), "").unwrap();
    for (path, mode) in [(".git/info/exclude", 0o444), (".git/info", 0o555)] {
        project.set_mode(path, mode);
    }
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&[
        "warning: git status will show the folders of crewdeck",
        DENIED,
    ]);
    assert!(
        run.err.contains("bob · task_update #1 completed"),
        "{}",
        run.err
    );

    let project = DeniedProject::repository();
    project.set_mode(".worktrees", 0o555);
    let run = project.run(RUN_ARGS).ok();
    run.only_line_with(&[
        "crewdeck: The worktree of task #1 cannot be created: ",
        DENIED,
    ]);
    run.only_line_with(&["Task #1 (one) is back on the board: bob stopped"]);
}

#[test]
fn read_only_file_system_is_reported_in_one_line() {
    let mount = "mount -t tmpfs -o ro none \"$1\"";
    let Some(disk) = SmallDisk::mounted(mount) else {
        return;
    };
    for args in [RUN_ARGS, &["task", "add", "x"]] {
        let refused = run_to_end(disk.crewdeck(args)).expect_refusal();
        assert!(
            refused.contains("the file system is read-only"),
            "{refused}"
        );
    }
}
