//! While a command runs, no other operation transfers its commits or restores the files it changes.

use super::*;
use crate::common::wait::wait_until;

/// Runs `command` in `dir` and calls `action` while the command waits at the word `hold` in it. Returns the note in the
/// command's result.
fn run_during(crew: &Crew, dir: &Path, command: &str, action: impl FnOnce()) -> Option<String> {
    let (supervisor, temp) = (crew.supervisor(), crew.temp.path());
    let hold = format!(
        "touch {0}/started; until [ -e {0}/go ]; do sleep 0.01; done",
        temp.display()
    );
    let command = command.replace("hold", &hold);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| expect_success(&supervisor, dir, &command).note);
        wait_until("the start of the command", || {
            temp.join("started").exists() || running.is_finished()
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(action));
        std::fs::write(temp.join("go"), "").unwrap();
        let note = running.join().unwrap();
        result.unwrap();
        note
    })
}

#[test]
fn worktree_list_does_not_disturb_a_running_command() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let all = || crew.repository.git(&["for-each-ref"]);
    let before = all();
    let script =
        "git commit -q --allow-empty --amend -m better; hold; git log -1 --format=%s main > seen";
    let note = run_during(&crew, crew.root(), script, || {
        crew.repository.worktrees().list().unwrap();
        assert_eq!(all(), before);
    });
    // The command still saw its own commit, and its note says where the commit is kept.
    let seen = std::fs::read_to_string(crew.root().join("seen")).unwrap();
    assert_eq!(seen, "better\n");
    assert!(note.unwrap().contains("refs/crewdeck/beside/"));
}

#[test]
fn shallow_file_made_by_the_user_is_not_lost() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let shallow = crew.root().join(".git/shallow");
    let content = crew.repository.git(&["rev-parse", "HEAD"]) + "\n";
    let make = || std::fs::write(&shallow, &content).unwrap();
    // A command in a worktree cannot create the real file.
    let script = "git rev-parse HEAD > $(git rev-parse --git-common-dir)/shallow; hold";
    assert_eq!(run_during(&crew, &crew.tree(1), script, make), None);
    assert_eq!(std::fs::read_to_string(&shallow).unwrap(), content);
    std::fs::remove_file(&shallow).unwrap();
    for name in ["started", "go"] {
        std::fs::remove_file(crew.temp.path().join(name)).unwrap();
    }
    let note = run_during(&crew, crew.root(), "hold", make).unwrap();
    assert!(!shallow.exists());
    let set_aside = crew.root().join(".git/crewdeck/aside/shallow");
    assert!(note.contains(set_aside.to_str().unwrap()), "{note}");
    assert_eq!(std::fs::read_to_string(set_aside).unwrap(), content);
    assert_eq!(
        expect_success(&crew.supervisor(), crew.root(), "git status").note,
        None
    );
}

#[test]
fn next_command_reports_refusals_of_a_killed_crew() {
    if !is_supported() {
        return;
    }
    for is_listed_first in [true, false] {
        let crew = Crew::new();
        let supervisor = crew.supervisor();
        let confinement = supervisor.sandbox.as_ref().unwrap();
        let plan = confinement.plan(crew.root(), HistoryReach::Private);
        run_request(&serde_json::json!({
            "argv": ["/bin/sh", "-c", "git commit -q --allow-empty --amend -m better; rm .git/HEAD"],
            "dir": crew.root(),
            "plan": plan,
            "mark": "none",
        }));
        if is_listed_first {
            // Git needs HEAD to recognize the repository.
            std::fs::write(crew.root().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            crew.repository.worktrees().list().unwrap();
        }
        let note = expect_success(&supervisor, crew.root(), "true")
            .note
            .unwrap();
        assert!(note.starts_with("[Earlier commands "), "{note}");
        assert!(note.contains("refs/crewdeck/beside/"), "{note}");
        assert_eq!(
            note.contains("HEAD was restored"),
            !is_listed_first,
            "{note}"
        );
        assert_eq!(expect_success(&supervisor, crew.root(), "true").note, None);
    }
}

#[test]
fn checkout_is_restored_after_the_last_command() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let head = || repository::git(&dir, &["symbolic-ref", "HEAD"]);
        let before = head();
        let script = "git symbolic-ref HEAD refs/heads/x; hold";
        let note = run_during(&crew, &dir, script, || {
            assert_eq!(
                expect_success(&crew.supervisor(), &dir, "git status").note,
                None
            );
            assert_eq!(head(), "refs/heads/x");
        });
        assert!(note.unwrap().contains("HEAD was restored"));
        assert_eq!(head(), before);
        // An approved git command can run at the same time, too.
        for name in ["started", "go"] {
            std::fs::remove_file(crew.temp.path().join(name)).unwrap();
        }
        let note = run_during(&crew, &dir, script, || {
            assert_eq!(
                run_approved(&crew.supervisor(), &dir, "git status").note,
                None
            );
            assert_eq!(head(), "refs/heads/x");
        });
        assert!(note.unwrap().contains("HEAD was restored"));
        for name in ["started", "go"] {
            std::fs::remove_file(crew.temp.path().join(name)).unwrap();
        }
    }
}
