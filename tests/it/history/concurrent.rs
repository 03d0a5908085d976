//! While a command runs, nobody else transfers what it is about to make or restores what it is about to change.

use super::*;

/// Runs `command` in `dir` and calls `during` while it waits. The command waits by `hold`. Returns its note.
fn during(crew: &Crew, dir: &Path, command: &str, during: impl FnOnce()) -> Option<String> {
    let (guard, temp) = (crew.guard(), crew.temp.path());
    let hold = format!(
        "touch {0}/started; until [ -e {0}/go ]; do sleep 0.01; done",
        temp.display()
    );
    let command = command.replace("hold", &hold);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| ok(&guard, dir, &command).note);
        while !temp.join("started").exists() && !running.is_finished() {
            std::thread::yield_now();
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(during));
        std::fs::write(temp.join("go"), "").unwrap();
        let note = running.join().unwrap();
        done.unwrap();
        note
    })
}

#[test]
fn worktree_list_does_not_disturb_a_running_command() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let all = || crew.repository.git(&["for-each-ref"]);
    let before = all();
    let script =
        "git commit -q --allow-empty --amend -m better; hold; git log -1 --format=%s main > seen";
    let note = during(&crew, crew.root(), script, || {
        crew.repository.worktrees().list().unwrap();
        assert_eq!(all(), before);
    });
    // The command still saw its own commit, and is told where it is.
    let seen = std::fs::read_to_string(crew.root().join("seen")).unwrap();
    assert_eq!(seen, "better\n");
    assert!(note.unwrap().contains("refs/crewdeck/beside/"));
}

#[test]
fn shallow_file_made_by_the_user_is_not_lost() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let shallow = crew.root().join(".git/shallow");
    let content = crew.repository.git(&["rev-parse", "HEAD"]) + "\n";
    let make = || std::fs::write(&shallow, &content).unwrap();
    // In a worktree a command has no way to make it.
    let script = "git rev-parse HEAD > $(git rev-parse --git-common-dir)/shallow; hold";
    assert_eq!(during(&crew, &crew.tree(1), script, make), None);
    assert_eq!(std::fs::read_to_string(&shallow).unwrap(), content);
    std::fs::remove_file(&shallow).unwrap();
    for name in ["started", "go"] {
        std::fs::remove_file(crew.temp.path().join(name)).unwrap();
    }
    let note = during(&crew, crew.root(), "hold", make).unwrap();
    assert!(!shallow.exists());
    let aside = crew.root().join(".git/crewdeck/aside/shallow");
    assert!(note.contains(aside.to_str().unwrap()), "{note}");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), content);
    assert_eq!(ok(&crew.guard(), crew.root(), "git status").note, None);
}

#[test]
fn next_command_reports_refusals_of_a_killed_crew() {
    if !can_be_tried() {
        return;
    }
    for is_looked_at in [true, false] {
        let crew = Crew::new();
        let guard = crew.guard();
        let confinement = guard.confinement.as_ref().unwrap();
        let plan = confinement.plan(crew.root(), HistoryReach::Private);
        guarded(&serde_json::json!({
            "argv": ["/bin/sh", "-c", "git commit -q --allow-empty --amend -m better; rm .git/HEAD"],
            "dir": crew.root(),
            "plan": plan,
            "mark": "none",
        }));
        if is_looked_at {
            // Git needs it to be asked at all.
            std::fs::write(crew.root().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            crew.repository.worktrees().list().unwrap();
        }
        let note = ok(&guard, crew.root(), "true").note.unwrap();
        assert!(note.starts_with("[Earlier commands "), "{note}");
        assert!(note.contains("refs/crewdeck/beside/"), "{note}");
        assert_eq!(note.contains("HEAD was restored"), !is_looked_at, "{note}");
        assert_eq!(ok(&guard, crew.root(), "true").note, None);
    }
}

#[test]
fn checkout_is_restored_after_the_last_command() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let head = || repository::git(&dir, &["symbolic-ref", "HEAD"]);
        let before = head();
        let script = "git symbolic-ref HEAD refs/heads/x; hold";
        let note = during(&crew, &dir, script, || {
            assert_eq!(ok(&crew.guard(), &dir, "git status").note, None);
            assert_eq!(head(), "refs/heads/x");
        });
        assert!(note.unwrap().contains("HEAD was restored"));
        assert_eq!(head(), before);
        // A git command that the user was asked about runs beside it too.
        for name in ["started", "go"] {
            std::fs::remove_file(crew.temp.path().join(name)).unwrap();
        }
        let note = during(&crew, &dir, script, || {
            assert_eq!(asked(&crew.guard(), &dir, "git status").note, None);
            assert_eq!(head(), "refs/heads/x");
        });
        assert!(note.unwrap().contains("HEAD was restored"));
        for name in ["started", "go"] {
            std::fs::remove_file(crew.temp.path().join(name)).unwrap();
        }
    }
}
