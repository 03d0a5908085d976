//! `HEAD`, the index and the reflog of `HEAD` survive what commands do to them.

use super::*;

/// What breaks them.
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
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        // What is staged and nowhere else.
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
            let report = run(&guard, &dir, &command);
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
fn damage_by_a_command_of_a_killed_crew_is_undone_by_the_next_one() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    let reflog = crew.repository.git(&["reflog"]);
    // As a command leaves it whose crewdeck was killed.
    let confinement = guard.confinement.as_ref().unwrap();
    confinement.plan(crew.root(), HistoryReach::Private);
    let git = crew.root().join(".git");
    for name in ["HEAD", "index", "logs/HEAD"] {
        std::fs::write(git.join(name), "").unwrap();
    }
    ok(&guard, crew.root(), "git status && git rev-parse main");
    assert_eq!(crew.repository.git(&["reflog"]), reflog);
    assert_eq!(crew.repository.git(&["status", "--porcelain"]), "");
    // What the user does between two commands is left alone.
    crew.repository
        .git(&["reflog", "expire", "--expire=now", "--all"]);
    crew.repository.git(&["checkout", "-q", "--orphan", "new"]);
    assert_eq!(ok(&guard, crew.root(), "git status").note, None);
    assert_eq!(
        crew.repository.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/new"
    );
    assert_eq!(crew.repository.git(&["reflog", "main"]), "");
}

#[test]
fn ordinary_changes_of_the_checkout_stay() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        let start = repository::git(&dir, &["symbolic-ref", "--short", "HEAD"]);
        let name = format!("x-{}", start.replace('/', "-"));
        let head = || repository::git(&dir, &["rev-parse", "--abbrev-ref", "HEAD"]);
        let noted = |command: &str| ok(&guard, &dir, command).note;
        assert_eq!(noted(&format!("git checkout -q -b {name}")), None);
        assert_eq!(head(), name);
        assert_eq!(noted("git commit -q --allow-empty -m side"), None);
        assert_eq!(noted(&format!("git switch -q {start}")), None);
        assert_eq!(head(), start);
        assert_eq!(noted("git switch -q --detach HEAD~1"), None);
        assert_eq!(head(), "HEAD");
        assert_eq!(noted("git switch -q -"), None);
        assert_eq!(
            noted("echo 1 > n && git add n && git stash -q && git stash pop -q && git rm -q -f n"),
            None
        );
        let rebase =
            format!("git switch -q {name} && git rebase -q {start} && git switch -q {start}");
        ok(&guard, &dir, &rebase);
        assert_eq!(noted(&format!("git merge -q {name}")), None);
        assert_eq!(head(), start);
    }
    crew.refs();
}
