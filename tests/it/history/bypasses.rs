//! Ways around the private history: missing namespaces, a full git folder, links in the private folders, other ref formats, hooks,
//! pushes.

use super::*;
use crate::common::supervised;

/// Returns a supervisor that cannot create namespaces of one kind, such as `mnt`.
fn without_namespaces(supervisor: &Arc<Supervisor>, temp: &Path, kind: &str) -> Arc<Supervisor> {
    use std::os::unix::fs::PermissionsExt;
    let path = temp.join(format!("guard-{kind}"));
    let script = format!(
        "#!/bin/sh\nexec unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_{kind}_namespaces; exec \"$0\" \"$@\"' {} \"$@\"\n",
        program().display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Arc::new(Supervisor {
        program: path,
        ..Supervisor::clone(supervisor)
    })
}

/// Returns the error for a command that the supervisor does not start. Panics if it starts the command.
fn start_error(
    supervisor: &Arc<Supervisor>,
    dir: &Path,
    reach: process::Reach,
    command: &str,
) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = process::CommandSpec {
        reach,
        ..job(supervisor, dir, command)
    };
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    report.unwrap_err().to_string()
}

#[test]
fn repository_is_read_only_without_mount_namespaces() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    // Landlock cannot exclude the git folder if a folder above it is writable.
    let in_parent = sandboxed_supervisor(crew.root(), &[crew.root().parent().unwrap().into()], &[]);
    std::os::unix::fs::symlink(".git", crew.root().join("link")).unwrap();
    for supervisor in [crew.supervisor(), in_parent] {
        let supervisor = without_namespaces(&supervisor, crew.temp.path(), "mnt");
        let before = crew.refs();
        for (n, dir) in [crew.tree(1), crew.root().to_path_buf()].iter().enumerate() {
            let report = expect_success(
                &supervisor,
                dir,
                "git log -1 && git status && git diff HEAD~1",
            );
            let note = report.note.unwrap_or_default();
            assert_eq!(
                note.contains("Read-only git commands work"),
                n == 0,
                "{note}"
            );
            for attack in ATTACKS.iter().chain(&[
                "echo bad > link/config",
                "echo bad > $(git rev-parse --git-common-dir)/config",
                "git commit --allow-empty -m bad",
                "mkdir -p $(git rev-parse --git-dir)/crewdeck/refs/heads/x",
                "d=$(git rev-parse --git-common-dir); chmod 666 $d/HEAD; truncate -s 0 $d/HEAD",
            ]) {
                run(&supervisor, dir, attack);
                assert_eq!(crew.refs(), before, "{attack}");
            }
            let attack =
                "! git commit -q --allow-empty -m bad && ! touch $(git rev-parse --git-dir)/x";
            expect_success(&supervisor, dir, attack);
        }
        // In a worktree new files can be created; in the root only existing files can be changed.
        expect_success(
            &supervisor,
            &crew.tree(1),
            "echo 1 > new && mkdir -p sub && echo 2 > sub/new",
        );
        expect_success(
            &supervisor,
            crew.root(),
            "echo more >> b.txt && ! touch new && ! touch .tasks/x",
        );
        crew.repository.git(&["checkout", "-q", "b.txt"]);
    }
    // crewdeck commits the changes.
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
fn unprotected_history_allows_commits() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    let without_history = Supervisor {
        sandbox: supervisor.sandbox.clone().map(Sandbox::without_history),
        ..Supervisor::clone(&supervisor)
    };
    let without_history = Arc::new(without_history);
    let command =
        "date +%N > n && git add n && git commit -qm one && ! touch $OUTSIDE/x 2>/dev/null";
    let outside = tempfile::tempdir().unwrap();
    let command = command.replace("$OUTSIDE", &outside.path().display().to_string());
    for (n, supervisor) in [
        Arc::clone(&without_history),
        without_namespaces(&without_history, crew.temp.path(), "mnt"),
    ]
    .iter()
    .enumerate()
    {
        for dir in [crew.root().to_path_buf(), crew.tree(1)] {
            let report = expect_success(supervisor, &dir, &command);
            let is_first = n == 0 && dir == crew.root();
            let note = report.note.unwrap_or_default();
            assert_eq!(note.contains("sandbox = \"files\""), is_first, "{note}");
            let log = repository::git(&dir, &["log", "-1", "--format=%s"]);
            assert_eq!(log, "one");
            repository::git(&dir, &["commit", "-q", "--allow-empty", "-m", "two"]);
        }
    }
}

#[test]
fn offline_command_needs_network_namespaces() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let plain = tempfile::tempdir().unwrap();
    let reach = process::Reach {
        network: process::NetworkReach::Off,
        ..process::Reach::default()
    };
    let dir = plain.path().canonicalize().unwrap();
    for supervisor in [
        supervised::unconfined_supervisor(),
        sandboxed_supervisor(&dir, &[], &[]),
    ] {
        let supervisor = without_namespaces(&supervisor, crew.temp.path(), "net");
        let why = start_error(&supervisor, &dir, reach, "touch ran");
        assert!(
            why.contains("was not run") && why.contains("'network'"),
            "{why}"
        );
        assert!(!dir.join("ran").exists());
    }
}

#[test]
fn many_files_in_the_git_folder_keep_the_protection() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
    expect_success(
        &supervisor,
        crew.root(),
        "for n in $(seq 700); do : > .git/a$n; done; mkdir .git/reftable",
    );
    let before = crew.refs();
    for dir in [crew.root().to_path_buf(), crew.tree(2)] {
        run(&supervisor, &dir, "git update-ref refs/heads/main HEAD~1");
        assert_eq!(crew.refs(), before);
    }
    expect_success(
        &supervisor,
        &crew.tree(1),
        "echo 1 > n && git add n && git commit -qm one && git branch side && git branch -D side",
    );
    let log = repository::git(&crew.tree(1), &["log", "-1", "--format=%s"]);
    assert_eq!(log, "one");
}

#[test]
fn writable_hooks_do_not_run_with_approved_commands() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    crew.repository.git(&["branch", "old"]);
    crew.repository
        .git(&["config", "core.hooksPath", "own-hooks"]);
    let hook = "mkdir -p own-hooks && printf '#!/bin/sh\\ntouch ran; rm -rf .git/refs/tags\\n' > own-hooks/reference-transaction \
                && chmod 755 own-hooks/reference-transaction";
    expect_success(&crew.supervisor(), crew.root(), hook);
    crew.repository
        .git(&["-c", "core.hooksPath=/dev/null", "tag", "v1"]);
    let report = run_approved(&crew.supervisor(), crew.root(), "git branch -D old");
    assert!(!crew.root().join("ran").exists());
    let note = report.note.unwrap_or_default();
    assert!(note.contains("git ran no hooks"), "{note}");
    let refs = crew.refs();
    assert!(
        refs.contains("refs/tags/v1") && !refs.contains("old"),
        "{refs}"
    );
}

/// Shell commands that replace files and folders of the private history, from which commits are transferred, by links
/// to `$OUT`.
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
fn links_in_private_folders_are_not_followed() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let supervisor = crew.supervisor();
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
            // Create a loose object first, so that the transfer has something to copy.
            let command = format!(
                "echo $RANDOM | git hash-object -w --stdin; OUT='{}'; cd $(git rev-parse --git-common-dir); {attack}",
                out.display()
            );
            run(&supervisor, &dir, &command);
            assert_eq!(content(), before, "{attack} in {}", dir.display());
            assert_eq!(crew.refs(), refs, "{attack} in {}", dir.display());
            expect_success(
                &supervisor,
                &dir,
                "git status && git rev-parse main wt/task-2",
            );
            assert_eq!(content(), before, "after {attack}");
        }
    }
    // Work can continue.
    expect_success(
        &supervisor,
        &crew.tree(1),
        "echo 1 > n && git add n && git commit -qm one && git stash list",
    );
    let log = repository::git(&crew.tree(1), &["log", "-1", "--format=%s"]);
    assert_eq!(log, "one");
    assert_eq!(content(), before);
}

#[test]
fn irregular_alternates_file_is_an_error_not_a_hang() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let alternates = crew.root().join(".git/objects/info/alternates");
    std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &alternates).unwrap();
    let confinement = crew.supervisor().sandbox.clone().unwrap();
    let plan = confinement.plan(crew.root(), HistoryReach::Private);
    let why = plan.history.unwrap().prepare().unwrap_err().to_string();
    assert!(why.contains("objects/info/alternates"), "{why}");
}

#[test]
fn reftable_repository_is_warned_about_once() {
    if !is_supported() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let init = repository::git_output(&root, &["init", "-q", "--ref-format=reftable"]);
    if !init.status.success() {
        eprintln!("skipped: this git does not support reftable");
        return;
    }
    let supervisor = sandboxed_supervisor(&root, &[], &[]);
    let note = expect_success(&supervisor, &root, "git status")
        .note
        .unwrap();
    assert!(
        note.contains("not protected") && note.contains("git refs migrate"),
        "{note}"
    );
    assert_eq!(expect_success(&supervisor, &root, "git status").note, None);
}

#[test]
fn scripts_cannot_push_to_an_outside_repository() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let outside = tempfile::tempdir().unwrap();
    let remote = outside.path().canonicalize().unwrap().join("remote.git");
    let path = remote.to_str().unwrap();
    crew.repository.git(&["clone", "-q", "--bare", ".", path]);
    crew.repository.git(&["remote", "add", "origin", path]);
    let remote_refs = || repository::git(&remote, &["for-each-ref"]);
    let (before, local_refs) = (remote_refs(), crew.refs());
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
            run(&crew.supervisor(), &dir, "sh x.sh");
            std::fs::remove_file(dir.join("x.sh")).unwrap();
            assert_eq!(remote_refs(), before, "{attack}");
            assert_eq!(crew.refs(), local_refs, "{attack}");
        }
    }
}

/// Returns shell commands that write a git option with the path `file` into a ref. Half of them also damage an object,
/// so that crewdeck searches for the objects that the ref needs.
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
fn ref_values_are_never_passed_as_git_options() {
    if !is_supported() {
        return;
    }
    let crew = Crew::new();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().canonicalize().unwrap().join("profile");
    std::fs::write(&file, "the user's\n").unwrap();
    for dir in [crew.root().to_path_buf(), crew.tree(1)] {
        for attack in option_attacks(&file) {
            let before = crew.refs();
            let note = run(&crew.supervisor(), &dir, &attack).note.unwrap();
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
