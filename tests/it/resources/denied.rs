//! Rights that are missing: on the root, on a folder of state, on a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::narrow::{
    RUN, Ran, SmallDisk, crewdeck, crewdeck_by, is_root, ran, script, subjects,
};

/// Whom root becomes, because rights do not bind it.
const NOBODY: u32 = 65534;
const AS_NOBODY: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

const TEAM: &str = r##"
  - agent: lead
    # Alone or together with the message that waits.
    when: (?m)^go$
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

/// A project with a task and a letter for the lead, which belongs to whoever runs crewdeck in it.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = dir.path().canonicalize().unwrap().join("r");
        fs::create_dir(&root).unwrap();
        let place = Place { _dir: dir, root };
        script(&place.root, TEAM);
        Place::give_away(&place.root);
        for args in [
            &["task", "add", "one"][..],
            &["mail", "send", "lead", "hello"],
        ] {
            place.run(args).ok();
        }
        place
    }

    /// The project is a repository with a commit.
    fn repository() -> Place {
        let place = Place::new();
        let script = "git init --quiet && git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m a";
        let shell = ["sh", "-c", script];
        let words = if is_root() {
            [AS_NOBODY, &shell].concat()
        } else {
            shell.to_vec()
        };
        let made = Command::new(words[0])
            .args(&words[1..])
            .current_dir(&place.root)
            .env("HOME", &place.root)
            .status();
        assert!(made.unwrap().success());
        place
    }

    fn give_away(path: &Path) {
        if !is_root() {
            return;
        }
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                Place::give_away(&entry.unwrap().path());
            }
        }
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(if is_root() {
            crewdeck_by(AS_NOBODY, &self.root, args)
        } else {
            crewdeck(&self.root, args)
        })
    }

    fn set(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

impl Drop for Place {
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
                self.set(path, 0o755);
            }
        }
    }
}

const DENIED: &str = "permission denied: check the owner with ls -l";

#[test]
fn a_root_that_can_not_be_written_is_one_line() {
    let place = Place::new();
    for folder in [".tasks", ".team", ".crewdeck/sessions"] {
        fs::remove_dir_all(place.root.join(folder)).unwrap();
    }
    place.set("", 0o555);
    for args in [
        RUN,
        &["task", "list"],
        &["task", "add", "x"],
        &["team", "list"],
    ] {
        let refused = place.run(args).refused();
        assert!(
            refused.contains(".tasks: ") && refused.contains(DENIED),
            "{refused}"
        );
    }
}

#[test]
fn a_board_that_can_not_be_written_is_told_and_the_run_ends() {
    let place = Place::new();
    place.set(".tasks/.lock", 0o444);
    let refused = place.run(&["task", "add", "x"]).refused();
    assert!(refused.contains(DENIED), "{refused}");
    place.set(".tasks/.lock", 0o644);
    place.set(".tasks", 0o555);
    let run = place.run(RUN).ok();
    run.line(&["lead · task_create failed: Error: ", DENIED]);
    run.line(&["crewdeck: Task #1 cannot be claimed; retrying: ", DENIED]);
    assert_eq!(place.run(&["task", "list"]).ok().out.lines().count(), 1);
    let place = Place::new();
    place.set(".tasks", 0o000);
    let refused = place.run(RUN).refused();
    assert!(
        refused.contains(".tasks: ") && refused.contains(DENIED),
        "{refused}"
    );
}

#[test]
fn a_task_a_letter_or_a_log_that_is_not_ours_does_not_stop_the_others() {
    let place = Place::new();
    place.set(".tasks/task_1.json", 0o000);
    let run = place.run(RUN).ok();
    run.line(&[
        "warning: .tasks/task_1.json is left out: ",
        DENIED,
        "fix it or move it away",
    ]);
    run.line(&["bob · claimed task #2: two"]);
    place.set(".tasks/task_1.json", 0o644);
    assert_eq!(subjects(&place.root), ["one", "two"]);

    let place = Place::new();
    place.set(".team/inbox/lead.jsonl", 0o000);
    let run = place.run(RUN).ok();
    run.line(&["warning: The inbox of lead cannot be read: ", DENIED]);
    assert!(run.err.contains("bob · message from lead"), "{}", run.err);
    place.set(".team/inbox/lead.jsonl", 0o644);
    let again = place.run(RUN).ok();
    assert_eq!(
        again.err.matches("lead · message from user").count(),
        1,
        "{}",
        again.err
    );

    let place = Place::new();
    place.set(".team/inbox", 0o555);
    let run = place.run(RUN).ok();
    run.line(&["lead · send_message failed: Error: ", DENIED]);
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
        let place = Place::new();
        place.set(folder, 0o555);
        let run = place.run(RUN).ok();
        assert!(run.out.ends_with("Done.\n"), "{}", run.out);
        let what = match folder {
            ".transcripts" => {
                "crewdeck: The conversation cannot be saved; crewdeck retries at each step: "
            }
            _ => {
                "warning: The journal cannot be written, so --resume will not show current events: "
            }
        };
        let told = |l: &&str| l.starts_with(what) && l.contains(DENIED);
        assert!(run.err.lines().any(|l| told(&l)), "{folder}: {}", run.err);
        assert!(
            run.err.contains("bob · task_update #1 completed"),
            "{}",
            run.err
        );
        place.set(folder, 0o755);
    }
}

#[test]
fn a_repository_that_can_not_be_written_is_told() {
    let place = Place::repository();
    fs::write(place.root.join(".git/info/exclude"), "").unwrap();
    for (path, mode) in [(".git/info/exclude", 0o444), (".git/info", 0o555)] {
        place.set(path, mode);
    }
    let run = place.run(RUN).ok();
    run.line(&[
        "warning: git status will show the folders of crewdeck",
        DENIED,
    ]);
    assert!(
        run.err.contains("bob · task_update #1 completed"),
        "{}",
        run.err
    );

    let place = Place::repository();
    place.set(".worktrees", 0o555);
    let run = place.run(RUN).ok();
    run.line(&[
        "crewdeck: The worktree of task #1 cannot be created: ",
        DENIED,
    ]);
    run.line(&["Task #1 (one) of bob is offered again"]);
}

#[test]
fn a_file_system_that_is_read_only_is_one_line() {
    let mount = "mount -t tmpfs -o ro none \"$1\"";
    let Some(disk) = SmallDisk::mounted(mount) else {
        return;
    };
    for args in [RUN, &["task", "add", "x"]] {
        let refused = ran(disk.crewdeck(args)).refused();
        assert!(
            refused.contains("the file system is read-only"),
            "{refused}"
        );
    }
}
