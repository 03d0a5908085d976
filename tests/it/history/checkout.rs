//! Damage by commands to `HEAD`, the index and the reflog of `HEAD` is repaired.

use super::*;

/// Shell commands that damage `HEAD`, the index or the reflog of `HEAD`.
const ATTACKS: &[&str] = &[
    ": > $(git rev-parse --git-dir)/HEAD",
    "rm $(git rev-parse --git-dir)/HEAD",
    "cd $(git rev-parse --git-dir) && rm HEAD && mkdir HEAD && touch HEAD/x",
    "cd $(git rev-parse --git-dir) && rm HEAD && ln -s /dev/zero HEAD",
    "echo 'ref: refs/heads/../../config' > $(git rev-parse --git-dir)/HEAD",
    "echo 1111111111111111111111111111111111111111 > $(git rev-parse --git-dir)/HEAD",
    "git symbolic-ref HEAD refs/heads/x",
    ": > $(git rev-parse --git-dir)/index",
    "rm $(git rev-parse --git-dir)/index",
    "echo bad > $(git rev-parse --git-dir)/index",
    "cd $(git rev-parse --git-dir) && rm index && mkfifo index",
    ": > $(git rev-parse --git-dir)/logs/HEAD",
    "rm $(git rev-parse --git-dir)/logs/HEAD",
    "rm -rf $(git rev-parse --git-dir)/logs",
    "rm -rf $(git rev-parse --git-dir)/logs; ln -s $TMPDIR $(git rev-parse --git-dir)/logs",
    "git reflog expire --expire=now --all",
    "cd $(git rev-parse --git-dir); rm -rf HEAD index logs/HEAD ORIG_HEAD",
    "git rev-parse HEAD > $(git rev-parse --git-dir)/shallow",
];

#[test]
fn damage_to_head_index_and_reflog_is_undone() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        // Content that exists only in the index.
        std::fs::write(dir.join("staged"), "staged\n").unwrap();
        repository::git(&dir, &["add", "staged"]);
        let state = || {
            [
                &["symbolic-ref", "HEAD"][..],
                &["status", "--porcelain"],
                &["log", "-g", "--format=%H %gs"],
                &["log", "--format=%H"],
                &["show", ":staged"],
            ]
            .map(|args| repository::git(&dir, args))
        };
        let before = state();
        for attack in ATTACKS {
            std::fs::write(crew.temp.path().join("x.sh"), attack).unwrap();
            let command = format!("export TMPDIR={0}; sh {0}/x.sh", crew.temp.path().display());
            let report = run(&supervisor, &dir, &command);
            assert_eq!(state(), before, "{attack} in {}", dir.display());
            let note = report.note.unwrap_or_default();
            assert!(
                note.contains("restored") || attack.ends_with("shallow"),
                "{attack}: {note}"
            );
        }
        assert!(!crew.temp.path().join("HEAD").exists());
    }
    crew.refs();
}

#[test]
fn removed_head_does_not_block_a_commit() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let script = "git commit -q --allow-empty -m mine; rm $(git rev-parse --git-dir)/HEAD";
        let note = expect_success(&crew.supervisor(), &dir, script)
            .note
            .unwrap();
        assert!(note.starts_with("[HEAD was restored to "), "{note}");
        assert_eq!(note.lines().count(), 1, "{note}");
        let subject = repository::git(&dir, &["log", "-1", "--format=%s"]);
        assert_eq!(subject, "mine");
    }
}

#[test]
fn orphan_branch_without_a_commit_keeps_the_index() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let start = repository::git(&dir, &["symbolic-ref", "--short", "HEAD"]);
        let files = || repository::git(&dir, &["ls-files"]);
        let before = files();
        let note = expect_success(&supervisor, &dir, "git switch -q --orphan new")
            .note
            .unwrap();
        assert!(note.contains("first commit in one command"), "{note}");
        assert_eq!(files(), before);
        assert!(note.contains("`git checkout-index --all`"), "{note}");
        expect_success(&supervisor, &dir, "git checkout-index --all && git add -A");
        assert_eq!(repository::git(&dir, &["status", "--porcelain"]), "");
        // With a first commit in the same command, the branch is kept.
        let name = format!("new-{}", start.replace('/', "-"));
        let script =
            format!("git switch -q --orphan {name} && git commit -q --allow-empty -m first");
        assert_eq!(expect_success(&supervisor, &dir, &script).note, None);
        assert_eq!(files(), "");
        expect_success(&supervisor, &dir, &format!("git switch -q {start}"));
        assert_eq!(files(), before);
    }
}

#[test]
fn unreadable_git_files_are_not_replaced() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    expect_success(&crew.supervisor(), crew.root(), "git status");
    let log = crew.root().join(".git/logs/HEAD");
    let script = "truncate -s 70000000 .git/logs/HEAD";
    let note = expect_success(&crew.supervisor(), crew.root(), script)
        .note
        .unwrap();
    assert!(
        note.contains("was not checked for damage: it is longer than"),
        "{note}"
    );
    assert_eq!(std::fs::metadata(log).unwrap().len(), 70_000_000);
}

#[test]
fn next_command_repairs_damage_of_a_killed_crew() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    let reflog = crew.repository.git(&["reflog"]);
    // The state that a command leaves if crewdeck is killed.
    let confinement = supervisor.sandbox.as_ref().unwrap();
    confinement.plan(crew.root(), HistoryReach::Private);
    let git = crew.root().join(".git");
    for name in ["HEAD", "index", "logs/HEAD"] {
        std::fs::write(git.join(name), "").unwrap();
    }
    expect_success(&supervisor, crew.root(), "git status && git rev-parse main");
    assert_eq!(crew.repository.git(&["reflog"]), reflog);
    assert_eq!(crew.repository.git(&["status", "--porcelain"]), "");
    // Changes by the user between two commands are kept.
    crew.repository
        .git(&["reflog", "expire", "--expire=now", "--all"]);
    crew.repository.git(&["checkout", "-q", "--orphan", "new"]);
    assert_eq!(
        expect_success(&supervisor, crew.root(), "git status").note,
        None
    );
    assert_eq!(
        crew.repository.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/new"
    );
    assert_eq!(crew.repository.git(&["reflog", "main"]), "");
}

#[test]
fn ordinary_checkout_changes_are_kept() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let start = repository::git(&dir, &["symbolic-ref", "--short", "HEAD"]);
        let name = format!("x-{}", start.replace('/', "-"));
        let head = || repository::git(&dir, &["rev-parse", "--abbrev-ref", "HEAD"]);
        let note_of = |command: &str| expect_success(&supervisor, &dir, command).note;
        assert_eq!(note_of(&format!("git checkout -q -b {name}")), None);
        assert_eq!(head(), name);
        assert_eq!(note_of("git commit -q --allow-empty -m side"), None);
        assert_eq!(note_of(&format!("git switch -q {start}")), None);
        assert_eq!(head(), start);
        assert_eq!(note_of("git switch -q --detach HEAD~1"), None);
        assert_eq!(head(), "HEAD");
        assert_eq!(note_of("git switch -q -"), None);
        assert_eq!(
            note_of(
                "echo 1 > n && git add n && git stash -q && git stash pop -q && git rm -q -f n"
            ),
            None
        );
        let rebase =
            format!("git switch -q {name} && git rebase -q {start} && git switch -q {start}");
        expect_success(&supervisor, &dir, &rebase);
        assert_eq!(note_of(&format!("git merge -q {name}")), None);
        assert_eq!(head(), start);
    }
    crew.refs();
}
