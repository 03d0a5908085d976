//! Refused changes of refs are named in the result, and their commits are kept.

use super::*;
use crate::common::wait::wait_until;

/// Extracts from a note the ref under which refused commits are kept.
fn kept_ref(note: &str) -> &str {
    let at = note.find("refs/crewdeck/beside/").expect(note);
    note[at..].split(':').next().unwrap()
}

#[test]
fn refused_refs_are_named_with_a_remedy() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let report = expect_success(
        &crew.supervisor(),
        &crew.tree(1),
        "git update-ref refs/heads/main HEAD~1",
    );
    let note = report.note.unwrap();
    let command = format!(
        "git update-ref refs/heads/main {}",
        crew.repository.git(&["rev-parse", "--short=12", "HEAD~1"])
    );
    assert!(
        note.starts_with("[Ref not updated: refs/heads/main. ") && note.contains(&command),
        "{note}"
    );
    // Commits that the repository already has are not kept again.
    assert_eq!(crew.repository.git(&["for-each-ref", "refs/crewdeck"]), "");
    let report = expect_success(
        &crew.supervisor(),
        crew.root(),
        "git reset -q --hard HEAD~1",
    );
    let note = report.note.unwrap();
    assert!(
        note.contains("would lose commits") && note.contains("`git update-ref refs/heads/main "),
        "{note}"
    );
}

/// A worktree does not move `main` either when `main` would lose no commit: only a merge publishes its work.
#[test]
fn worktree_cannot_fast_forward_main() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (supervisor, tree) = (crew.supervisor(), crew.tree(1));
    let commit = "echo 1 > own && git add own && git commit -qm own";
    expect_success(&supervisor, &tree, commit);
    let before = crew.refs();
    let short = repository::git(&tree, &["rev-parse", "--short=12", "HEAD"]);
    // Git itself refuses a plain push to a branch that is checked out, but an option lifts that.
    run(&supervisor, &tree, "git push -q . HEAD:main");
    assert_eq!(crew.refs(), before);
    for attack in [
        "git update-ref refs/heads/main HEAD",
        "git push -q --receive-pack='git -c receive.denyCurrentBranch=ignore receive-pack' . HEAD:main",
        "git fetch -q --update-head-ok . HEAD:main",
    ] {
        let note = expect_success(&supervisor, &tree, attack).note;
        assert_eq!(crew.refs(), before, "{attack}");
        let note = note.expect(attack);
        assert!(
            note.starts_with("[Ref not updated: refs/heads/main. ") && note.contains(&short),
            "{attack}: {note}"
        );
    }
    // The commit itself is still on the branch of the worktree.
    let subject = ["log", "-1", "--format=%s", "wt/task-1"];
    assert_eq!(crew.repository.git(&subject), "own");
}

#[test]
fn amended_commit_in_the_root_can_be_approved() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    std::fs::write(
        crew.root().join("x.sh"),
        "git commit -q --allow-empty --amend -m better",
    )
    .unwrap();
    let before = crew.repository.git(&["rev-parse", "main"]);
    let note = expect_success(&crew.supervisor(), crew.root(), "sh x.sh")
        .note
        .unwrap();
    let subject = |name: &str| crew.repository.git(&["log", "-1", "--format=%s", name]);
    assert_eq!(crew.repository.git(&["rev-parse", "main"]), before);
    assert_eq!(subject(kept_ref(&note)), "better", "{note}");
    // The agent can read the commit by the hash in the note, and the command in the note applies it once approved.
    let hash = kept_ref(&note).rsplit('/').next().unwrap();
    let seen = expect_success(
        &crew.supervisor(),
        crew.root(),
        &format!("git log -1 --format=%s {hash}"),
    );
    assert_eq!(seen.output, "better\n");
    let command = format!("git update-ref refs/heads/main {hash}");
    assert!(note.contains(&format!("`{command}`")), "{note}");
    // Files of the user are not changed.
    std::fs::write(crew.root().join("a.txt"), "the user's\n").unwrap();
    run_approved(&crew.supervisor(), crew.root(), &command);
    assert_eq!(subject("main"), "better");
    let file = std::fs::read_to_string(crew.root().join("a.txt")).unwrap();
    assert_eq!(file, "the user's\n");
    crew.refs();
}

#[test]
fn commits_on_a_branch_of_another_worktree_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let script =
        "git update-ref refs/heads/wt/task-2 $(git commit-tree -m lost -p HEAD HEAD^{tree})";
    let note = expect_success(&crew.supervisor(), &crew.tree(1), script)
        .note
        .unwrap();
    let subject = crew
        .repository
        .git(&["log", "-1", "--format=%s", kept_ref(&note)]);
    assert_eq!(subject, "lost", "{note}");
    // The same commit is kept under the same ref.
    let again = expect_success(
        &crew.supervisor(),
        &crew.tree(1),
        &format!(
            "git update-ref refs/heads/wt/task-2 {}",
            kept_ref(&note)[21..].to_owned()
        ),
    );
    assert_eq!(kept_ref(&again.note.unwrap()), kept_ref(&note));
}

#[test]
fn commits_dropped_by_accepted_changes_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (supervisor, tree) = (crew.supervisor(), crew.tree(1));
    let kept_subjects = || {
        let format = [
            "for-each-ref",
            "--format=%(subject)",
            "refs/crewdeck/beside",
        ];
        crew.repository.git(&format)
    };
    let commit = |name: &str| format!("git commit -q --allow-empty -m {name}");
    // A fast-forward, and commits that another ref has, are not kept.
    expect_success(
        &supervisor,
        &tree,
        &format!("{}; git branch side", commit("one")),
    );
    expect_success(&supervisor, &tree, &commit("two"));
    expect_success(&supervisor, &tree, "git branch -D side");
    assert_eq!(kept_subjects(), "");
    expect_success(&supervisor, &tree, "git reset -q --hard HEAD~1");
    assert_eq!(kept_subjects(), "two");
    let script = format!(
        "git switch -q -c side && {} && git switch -q -",
        commit("three")
    );
    expect_success(&supervisor, &tree, &script);
    expect_success(&supervisor, &tree, "git branch -D side");
    let kept = kept_subjects();
    let mut kept: Vec<&str> = kept.lines().collect();
    kept.sort_unstable();
    assert_eq!(kept, ["three", "two"]);
}

#[test]
fn branch_can_replace_a_branch_folder() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let (supervisor, tree) = (crew.supervisor(), crew.tree(1));
    for script in [
        "git branch a",
        "git branch -d a && git branch a/b",
        "git branch -d a/b && git branch a",
    ] {
        assert_eq!(
            expect_success(&supervisor, &tree, script).note,
            None,
            "{script}"
        );
    }
    assert!(
        crew.refs().ends_with("refs/heads/wt/task-2") && crew.refs().contains("refs/heads/a\n")
    );
}

#[test]
fn only_branch_of_the_root_cannot_be_deleted() {
    if !is_supported() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    repository::git(&root, &["init", "-q", "--template=", "-b", "main"]);
    for (name, value) in [("user.name", "A"), ("user.email", "a@b")] {
        repository::git(&root, &["config", name, value]);
    }
    let supervisor = sandboxed_supervisor(&root, &[], &[]);
    expect_success(&supervisor, &root, "git commit -q --allow-empty -m one");
    let note = expect_success(&supervisor, &root, "git update-ref -d refs/heads/main")
        .note
        .unwrap();
    assert!(
        note.contains("[Ref not updated: refs/heads/main."),
        "{note}"
    );
    assert_eq!(
        repository::git(&root, &["log", "-1", "--format=%s", "main"]),
        "one"
    );
}

#[test]
fn only_the_newest_refused_commits_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let script = "for n in $(seq 60); do \
                  git update-ref refs/heads/wt/x$n $(git commit-tree -m $n -p HEAD HEAD^{tree}); done";
    let count = || {
        let all = crew
            .repository
            .git(&["for-each-ref", "refs/crewdeck/beside"]);
        all.lines().count()
    };
    expect_success(&crew.supervisor(), &crew.tree(1), script);
    assert_eq!(count(), 60);
    crew.repository.git(&["pack-refs", "--all"]);
    let script = script.replace("-m $n", "-m more$n").replace("wt/x", "wt/y");
    let note = expect_success(&crew.supervisor(), &crew.tree(1), &script)
        .note
        .unwrap();
    assert_eq!(count(), 100);
    assert!(note.contains("more refs were not updated"), "{note}");
    let newest = crew.repository.git(&[
        "for-each-ref",
        "--format=%(subject)",
        "refs/crewdeck/beside",
    ]);
    assert_eq!(
        newest
            .lines()
            .filter(|line| line.starts_with("more"))
            .count(),
        60
    );
}

#[test]
fn commits_on_a_locked_branch_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let lock = crew.root().join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let note = expect_success(
        &crew.supervisor(),
        crew.root(),
        "git commit -q --allow-empty -m mine",
    )
    .note
    .unwrap();
    assert!(note.contains("git reported: "), "{note}");
    std::fs::remove_file(lock).unwrap();
    let hash = kept_ref(&note).rsplit('/').next().unwrap();
    let take = format!("git merge -q --ff-only {hash}");
    assert_eq!(
        expect_success(&crew.supervisor(), crew.root(), &take).note,
        None
    );
    let subject = crew.repository.git(&["log", "-1", "--format=%s", "main"]);
    assert_eq!(subject, "mine");
}

#[test]
fn commits_on_a_branch_moved_by_the_user_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    let script =
        "touch started; until [ -e go ]; do sleep 0.01; done; git commit -q --allow-empty -m mine";
    let note = std::thread::scope(|scope| {
        let command = scope.spawn(|| {
            expect_success(&supervisor, crew.root(), script)
                .note
                .unwrap()
        });
        wait_until("the start of the command", || {
            crew.root().join("started").exists() || command.is_finished()
        });
        let user_commit =
            crew.repository
                .git(&["commit-tree", "-m", "theirs", "-p", "main", "main^{tree}"]);
        crew.repository
            .git(&["update-ref", "refs/heads/main", &user_commit]);
        std::fs::write(crew.root().join("go"), "").unwrap();
        command.join().unwrap()
    });
    let subject = |name: &str| crew.repository.git(&["log", "-1", "--format=%s", name]);
    assert_eq!(subject("main"), "theirs");
    assert_eq!(subject(kept_ref(&note)), "mine", "{note}");
    assert!(note.contains("Another process changed the ref"), "{note}");
}
