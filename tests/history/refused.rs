//! Changes of refs that are refused: the result names them, and no commit is lost.

use super::*;

/// The ref in a note that keeps commits beside.
fn kept(note: &str) -> &str {
    let at = note.find("refs/crewdeck/beside/").expect(note);
    note[at..].split(':').next().unwrap()
}

#[test]
fn refused_refs_are_named_with_what_to_do() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let report = ok(
        &crew.guard(),
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
    // Nothing is kept of what the repository has anyway.
    assert_eq!(crew.repository.git(&["for-each-ref", "refs/crewdeck"]), "");
    let report = ok(&crew.guard(), crew.root(), "git reset -q --hard HEAD~1");
    let note = report.note.unwrap();
    assert!(
        note.contains("would lose commits") && note.contains("`git update-ref refs/heads/main "),
        "{note}"
    );
}

#[test]
fn an_amended_commit_in_the_root_is_kept_and_can_be_approved() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    std::fs::write(
        crew.root().join("x.sh"),
        "git commit -q --allow-empty --amend -m better",
    )
    .unwrap();
    let before = crew.repository.git(&["rev-parse", "main"]);
    let note = ok(&crew.guard(), crew.root(), "sh x.sh").note.unwrap();
    let subject = |name: &str| crew.repository.git(&["log", "-1", "--format=%s", name]);
    assert_eq!(crew.repository.git(&["rev-parse", "main"]), before);
    assert_eq!(subject(kept(&note)), "better", "{note}");
    // The agent sees the commit by the name in the note, and the command in the note takes it once it is approved.
    let hash = kept(&note).rsplit('/').next().unwrap();
    let seen = ok(
        &crew.guard(),
        crew.root(),
        &format!("git log -1 --format=%s {hash}"),
    );
    assert_eq!(seen.output, "better\n");
    let command = format!("git update-ref refs/heads/main {hash}");
    assert!(note.contains(&format!("`{command}`")), "{note}");
    // It leaves the user's files alone.
    std::fs::write(crew.root().join("a.txt"), "the user's\n").unwrap();
    asked(&crew.guard(), crew.root(), &command);
    assert_eq!(subject("main"), "better");
    let file = std::fs::read_to_string(crew.root().join("a.txt")).unwrap();
    assert_eq!(file, "the user's\n");
    crew.refs();
}

#[test]
fn commits_on_a_branch_of_another_worktree_are_kept() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let script =
        "git update-ref refs/heads/wt/task-2 $(git commit-tree -m lost -p HEAD HEAD^{tree})";
    let note = ok(&crew.guard(), &crew.tree(1), script).note.unwrap();
    let subject = crew
        .repository
        .git(&["log", "-1", "--format=%s", kept(&note)]);
    assert_eq!(subject, "lost", "{note}");
    // The same again has the same name.
    let again = ok(
        &crew.guard(),
        &crew.tree(1),
        &format!(
            "git update-ref refs/heads/wt/task-2 {}",
            kept(&note)[21..].to_owned()
        ),
    );
    assert_eq!(kept(&again.note.unwrap()), kept(&note));
}

#[test]
fn commits_on_a_locked_branch_are_kept() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let lock = crew.root().join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let note = ok(
        &crew.guard(),
        crew.root(),
        "git commit -q --allow-empty -m mine",
    )
    .note
    .unwrap();
    assert!(note.contains("git reported: "), "{note}");
    std::fs::remove_file(lock).unwrap();
    let hash = kept(&note).rsplit('/').next().unwrap();
    let take = format!("git merge -q --ff-only {hash}");
    assert_eq!(ok(&crew.guard(), crew.root(), &take).note, None);
    let subject = crew.repository.git(&["log", "-1", "--format=%s", "main"]);
    assert_eq!(subject, "mine");
}

#[test]
fn commits_on_a_branch_that_the_user_has_moved_are_kept() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    let script =
        "touch started; until [ -e go ]; do sleep 0.01; done; git commit -q --allow-empty -m mine";
    let note = std::thread::scope(|scope| {
        let command = scope.spawn(|| ok(&guard, crew.root(), script).note.unwrap());
        while !crew.root().join("started").exists() && !command.is_finished() {
            std::thread::yield_now();
        }
        let theirs =
            crew.repository
                .git(&["commit-tree", "-m", "theirs", "-p", "main", "main^{tree}"]);
        crew.repository
            .git(&["update-ref", "refs/heads/main", &theirs]);
        std::fs::write(crew.root().join("go"), "").unwrap();
        command.join().unwrap()
    });
    let subject = |name: &str| crew.repository.git(&["log", "-1", "--format=%s", name]);
    assert_eq!(subject("main"), "theirs");
    assert_eq!(subject(kept(&note)), "mine", "{note}");
    assert!(note.contains("Another process changed it"), "{note}");
}
