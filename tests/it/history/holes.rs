//! Ways around the private history: no view, a full git folder, links in the private folders, other formats of refs.

use super::*;

/// A guard on a machine that does not have one kind of namespaces.
fn without(guard: &Arc<Guard>, temp: &Path, kind: &str) -> Arc<Guard> {
    use std::os::unix::fs::PermissionsExt;
    let path = temp.join(format!("guard-{kind}"));
    let script = format!(
        "#!/bin/sh\nexec unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_{kind}_namespaces; exec \"$0\" \"$@\"' {} \"$@\"\n",
        program().display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Arc::new(Guard {
        program: path,
        ..Guard::clone(guard)
    })
}

/// Why a command is not started.
fn refusal(guard: &Arc<Guard>, dir: &Path, reach: process::Reach, command: &str) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = process::Job {
        reach,
        ..job(guard, dir, command)
    };
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    report.unwrap_err().to_string()
}

#[test]
fn without_a_view_commands_read_the_repository_and_cannot_write_it() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    // Landlock cannot except the git folder from the folder above it, which temporary files are in.
    let above = confined(crew.root(), &[crew.root().parent().unwrap().into()], &[]);
    std::os::unix::fs::symlink(".git", crew.root().join("link")).unwrap();
    for guard in [crew.guard(), above] {
        let guard = without(&guard, crew.temp.path(), "mnt");
        let before = crew.refs();
        for (n, dir) in [crew.tree(1), crew.root().to_path_buf()].iter().enumerate() {
            let report = ok(&guard, dir, "git log -1 && git status && git diff HEAD~1");
            let note = report.note.unwrap_or_default();
            assert_eq!(note.contains("only read from git work"), n == 0, "{note}");
            for attack in ATTACKS.iter().chain(&[
                "echo bad > link/config",
                "echo bad > $(git rev-parse --git-common-dir)/config",
                "git commit --allow-empty -m bad",
                "mkdir -p $(git rev-parse --git-dir)/crewdeck/refs/heads/x",
                "d=$(git rev-parse --git-common-dir); chmod 666 $d/HEAD; truncate -s 0 $d/HEAD",
            ]) {
                run(&guard, dir, attack);
                assert_eq!(crew.refs(), before, "{attack}");
            }
            let attack =
                "! git commit -q --allow-empty -m bad && ! touch $(git rev-parse --git-dir)/x";
            ok(&guard, dir, attack);
        }
        // In a worktree anything can be made, in the root what is there can be changed.
        ok(
            &guard,
            &crew.tree(1),
            "echo 1 > new && mkdir -p sub && echo 2 > sub/new",
        );
        ok(
            &guard,
            crew.root(),
            "echo more >> b.txt && ! touch new && ! touch .tasks/x",
        );
        crew.repository.git(&["checkout", "-q", "b.txt"]);
    }
    // crewdeck commits it.
    let message = "task 1: Subject 1";
    let name = repository::name("task-1");
    crew.repository
        .worktrees()
        .commit_leftovers(&name, message)
        .unwrap();
    let log = repository::git(&crew.tree(1), &["log", "-1", "--name-only", "--format=%s"]);
    assert_eq!(log, "task 1: Subject 1\n\nnew\nsub/new");
}

#[test]
fn without_protection_of_the_history_commands_commit_without_a_view() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    let given_up = Guard {
        confinement: guard.confinement.clone().map(Confinement::without_history),
        ..Guard::clone(&guard)
    };
    let given_up = Arc::new(given_up);
    let command =
        "date +%N > n && git add n && git commit -qm one && ! touch $OUTSIDE/x 2>/dev/null";
    let outside = tempfile::tempdir().unwrap();
    let command = command.replace("$OUTSIDE", &outside.path().display().to_string());
    for (n, guard) in [
        Arc::clone(&given_up),
        without(&given_up, crew.temp.path(), "mnt"),
    ]
    .iter()
    .enumerate()
    {
        for dir in [crew.root().to_path_buf(), crew.tree(1)] {
            let report = ok(guard, &dir, &command);
            let is_first = n == 0 && dir == crew.root();
            let note = report.note.unwrap_or_default();
            assert_eq!(note.contains("confine = \"files\""), is_first, "{note}");
            let log = repository::git(&dir, &["log", "-1", "--format=%s"]);
            assert_eq!(log, "one");
            repository::git(&dir, &["commit", "-q", "--allow-empty", "-m", "two"]);
        }
    }
}

#[test]
fn without_network_namespaces_a_command_without_network_does_not_start() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let plain = tempfile::tempdir().unwrap();
    let reach = process::Reach {
        network: process::NetworkReach::Off,
        ..process::Reach::default()
    };
    let dir = plain.path().canonicalize().unwrap();
    for guard in [crate::common::held::free(), confined(&dir, &[], &[])] {
        let guard = without(&guard, crew.temp.path(), "net");
        let why = refusal(&guard, &dir, reach, "touch ran");
        assert!(
            why.contains("was not run") && why.contains("'network'"),
            "{why}"
        );
        assert!(!dir.join("ran").exists());
    }
}

#[test]
fn many_files_in_the_git_folder_change_nothing() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    ok(
        &guard,
        crew.root(),
        "for n in $(seq 700); do : > .git/a$n; done; mkdir .git/reftable",
    );
    let before = crew.refs();
    for dir in [crew.root().to_path_buf(), crew.tree(2)] {
        run(&guard, &dir, "git update-ref refs/heads/main HEAD~1");
        assert_eq!(crew.refs(), before);
    }
    ok(
        &guard,
        &crew.tree(1),
        "echo 1 > n && git add n && git commit -qm one && git branch side && git branch -D side",
    );
    let log = repository::git(&crew.tree(1), &["log", "-1", "--format=%s"]);
    assert_eq!(log, "one");
}

#[test]
fn hooks_that_commands_can_write_do_not_run_with_an_approved_command() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    crew.repository.git(&["branch", "old"]);
    crew.repository
        .git(&["config", "core.hooksPath", "own-hooks"]);
    let hook = "mkdir -p own-hooks && printf '#!/bin/sh\\ntouch ran; rm -rf .git/refs/tags\\n' > own-hooks/reference-transaction \
                && chmod 755 own-hooks/reference-transaction";
    ok(&crew.guard(), crew.root(), hook);
    crew.repository
        .git(&["-c", "core.hooksPath=/dev/null", "tag", "v1"]);
    let report = asked(&crew.guard(), crew.root(), "git branch -D old");
    assert!(!crew.root().join("ran").exists());
    let note = report.note.unwrap_or_default();
    assert!(note.contains("git ran no hooks"), "{note}");
    let refs = crew.refs();
    assert!(
        refs.contains("refs/tags/v1") && !refs.contains("old"),
        "{refs}"
    );
}

/// What puts links to `$OUT` in place of what the transfer reads and writes.
const LINKS: &[&str] = &[
    "cd objects && for d in ??; do rm -rf $d; ln -s $OUT $d; done; for n in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do ln -s $OUT a$n; done",
    "rm -rf objects/pack; ln -s $OUT objects/pack",
    "rm -rf objects/info; ln -s $OUT objects/info",
    "rm -f objects/info/alternates; ln -s $OUT/kept objects/info/alternates",
    "ln -s $OUT/kept objects/pack/pack-1111111111111111111111111111111111111111.pack",
    "rm -rf refs/heads refs/tags; ln -s $OUT refs/heads; ln -s $OUT refs/tags",
    "rm -f refs/heads/main; ln -s $OUT/kept refs/heads/main; ln -s $OUT/kept refs/heads/main.lock",
    "rm -rf refs/heads/wt; ln -s $OUT refs/heads/wt",
    "rm -rf logs/refs; ln -s $OUT logs/refs",
    "mkdir -p logs/refs; rm -f logs/refs/stash; ln -s $OUT/kept logs/refs/stash",
];

#[test]
fn links_in_the_private_folders_lead_nowhere() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let guard = crew.guard();
    let outside = tempfile::tempdir().unwrap();
    let out = outside.path().canonicalize().unwrap();
    std::fs::write(out.join("kept"), "kept").unwrap();
    std::fs::write(
        out.join("main"),
        crew.repository.git(&["rev-parse", "HEAD~2"]),
    )
    .unwrap();
    let content = || {
        let files = std::fs::read_dir(&out).unwrap().map(|e| {
            let path = e.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        });
        files.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (before, refs) = (content(), crew.refs());
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        for attack in LINKS {
            // A loose object first, which the transfer has to copy.
            let command = format!(
                "echo $RANDOM | git hash-object -w --stdin; OUT='{}'; cd $(git rev-parse --git-common-dir); {attack}",
                out.display()
            );
            run(&guard, &dir, &command);
            assert_eq!(content(), before, "{attack} in {}", dir.display());
            assert_eq!(crew.refs(), refs, "{attack} in {}", dir.display());
            ok(&guard, &dir, "git status && git rev-parse main wt/task-2");
            assert_eq!(content(), before, "after {attack}");
        }
    }
    // And the work goes on.
    ok(
        &guard,
        &crew.tree(1),
        "echo 1 > n && git add n && git commit -qm one && git stash list",
    );
    let log = repository::git(&crew.tree(1), &["log", "-1", "--format=%s"]);
    assert_eq!(log, "one");
    assert_eq!(content(), before);
}

#[test]
fn alternates_that_are_no_regular_file_hold_nothing_up() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let alternates = crew.root().join(".git/objects/info/alternates");
    std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &alternates).unwrap();
    let confinement = crew.guard().confinement.clone().unwrap();
    let plan = confinement.plan(crew.root(), HistoryReach::Private);
    let why = plan.history.unwrap().prepare().unwrap_err().to_string();
    assert!(why.contains("objects/info/alternates"), "{why}");
}

#[test]
fn a_repository_with_tables_of_refs_is_warned_about_once() {
    if !can_be_tried() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let made = repository::git_output(&root, &["init", "-q", "--ref-format=reftable"]);
    if !made.status.success() {
        eprintln!("not tried here: git knows no reftable");
        return;
    }
    let guard = confined(&root, &[], &[]);
    let note = ok(&guard, &root, "git status").note.unwrap();
    assert!(
        note.contains("not protected") && note.contains("git refs migrate"),
        "{note}"
    );
    assert_eq!(ok(&guard, &root, "git status").note, None);
}

#[test]
fn a_script_cannot_push_to_a_repository_outside() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let outside = tempfile::tempdir().unwrap();
    let remote = outside.path().canonicalize().unwrap().join("remote.git");
    let path = remote.to_str().unwrap();
    crew.repository.git(&["clone", "-q", "--bare", ".", path]);
    crew.repository.git(&["remote", "add", "origin", path]);
    let theirs = || repository::git(&remote, &["for-each-ref"]);
    let (before, ours) = (theirs(), crew.refs());
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        for attack in [
            "git push -q --force origin HEAD~1:main".to_string(),
            format!(
                "git push -q --force file://{path} HEAD~1:refs/heads/main :refs/heads/wt/task-2"
            ),
            "git push -q --force . HEAD~1:refs/heads/main".into(),
            format!(
                "git push -q --force '{}/.git' HEAD~1:main",
                crew.root().display()
            ),
        ] {
            std::fs::write(dir.join("x.sh"), &attack).unwrap();
            run(&crew.guard(), &dir, "sh x.sh");
            std::fs::remove_file(dir.join("x.sh")).unwrap();
            assert_eq!(theirs(), before, "{attack}");
            assert_eq!(crew.refs(), ours, "{attack}");
        }
    }
}

/// Values of a ref that are options of git, for a file of the user. With `bad`, a damaged object lies beside them: the
/// objects that a value needs are looked for then.
fn option_attacks(file: &Path) -> Vec<String> {
    let damage = "f=$(echo $RANDOM | git hash-object -w --stdin | sed 's,..,&/,'); cd $(git rev-parse --git-common-dir); \
                  chmod 644 objects/$f; echo bad > objects/$f";
    let value = |name: &str, bad: &str| {
        format!(
            "{bad}; cd $(git rev-parse --git-common-dir); echo '--output={}' > refs/heads/{name}",
            file.display()
        )
    };
    let names = ["main", "wt/task-1", "wt/task-2", "new"];
    names
        .iter()
        .flat_map(|name| [value(name, ":"), value(name, damage)])
        .collect()
}

#[test]
fn ref_values_are_never_options_of_git() {
    if !can_be_tried() {
        return;
    }
    let crew = Crew::new();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().canonicalize().unwrap().join("profile");
    std::fs::write(&file, "the user's\n").unwrap();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        for attack in option_attacks(&file) {
            let before = crew.refs();
            let note = run(&crew.guard(), &dir, &attack).note.unwrap();
            assert_eq!(
                std::fs::read_to_string(&file).unwrap(),
                "the user's\n",
                "{attack}"
            );
            assert_eq!(crew.refs(), before, "{attack}");
            assert!(
                note.contains("not the hash of an object"),
                "{attack}: {note}"
            );
        }
    }
}
