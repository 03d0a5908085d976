//! Tests of what a checkpoint contains and what a rewind changes.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use pretty_assertions::assert_eq;

use super::Project;
use crate::domain::checkpoint::CheckpointReason;
use crate::store::git::Git;

#[test]
fn files_return_to_the_checkpoint_and_the_rewind_can_be_undone() {
    let project = Project::with_commit(&[("a.txt", "one\n"), ("src/b.rs", "fn b() {}\n")]);
    project.write("untracked.txt", "mine\n");
    let before = project.content();
    let id = project.record();

    project.write("a.txt", "two\n");
    fs::remove_file(project.path("src/b.rs")).unwrap();
    project.write("new/deep/c.txt", "c\n");
    symlink("a.txt", project.path("link")).unwrap();
    let changed = project.content();
    let preview = project.checkpoints.preview(id).unwrap();
    assert_eq!(preview.files, 4);
    assert!(preview.diff.contains("-two\n+one\n"), "{}", preview.diff);
    assert!(preview.stat.contains("4 files changed"), "{}", preview.stat);
    assert_eq!(project.content(), changed, "a preview changes nothing");

    let done = project.restore(id);
    assert_eq!(
        done.changed.paths,
        ["link", "new/deep/c.txt", "a.txt", "src/b.rs"]
    );
    assert_eq!(done.skipped.count, 0);
    assert_eq!(project.content(), before);
    assert!(!project.path("new").exists(), "empty folders are removed");

    project.restore(done.undo.unwrap());
    assert_eq!(project.content(), changed);
}

#[test]
fn checkpoints_are_not_in_the_repository() {
    let project = Project::with_commit(&[("a", "1")]);
    let refs = project.git(&["for-each-ref"]);
    let objects = project.git(&["count-objects"]);
    project.write("b", "2");
    let id = project.record();
    project.write("b", "3");
    project.restore(id);
    assert_eq!(project.git(&["for-each-ref"]), refs);
    assert_eq!(
        project.git(&["log", "--all", "--oneline"]).lines().count(),
        1
    );
    assert_eq!(project.git(&["count-objects"]), objects);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? b");
}

#[test]
fn ignored_files_are_neither_recorded_nor_touched() {
    let project =
        Project::with_commit(&[(".gitignore", "target/\n*.log\n"), ("kept.log.txt", "k")]);
    project.write("target/out", "1");
    project.write("a/x.log", "1");
    // A folder that ignores itself, as Python's venv creates it.
    project.write(".venv/.gitignore", "*\n");
    project.write(".venv/bin/python", "p");
    let id = project.record();
    project.write("target/out", "2");
    project.write("target/more", "2");
    project.write("a/x.log", "2");
    // The rules go, so that everything that was ignored would count as new.
    fs::remove_file(project.path(".gitignore")).unwrap();
    fs::remove_file(project.path(".venv/.gitignore")).unwrap();
    project.write("new.txt", "n");
    project.restore(id);
    assert_eq!(project.read("target/out"), "2");
    assert_eq!(project.read("target/more"), "2");
    assert_eq!(project.read("a/x.log"), "2");
    assert_eq!(project.read(".venv/bin/python"), "p");
    assert_eq!(project.read(".gitignore"), "target/\n*.log\n");
    assert!(!project.path("new.txt").exists());
}

#[test]
fn unrecorded_files_are_never_overwritten() {
    let project = Project::with_commit(&[("a", "1")]);
    project.write("notes.txt", "recorded");
    let id = project.record();
    fs::remove_file(project.path("notes.txt")).unwrap();
    project.record();
    project.write(".gitignore", "notes.txt\n");
    project.write("notes.txt", "secret of the user");
    let done = project.restore(id);
    assert_eq!(project.read("notes.txt"), "secret of the user");
    assert_eq!(
        done.skipped.paths,
        ["notes.txt: its present content is not recorded"]
    );
}

#[test]
fn file_and_folder_can_change_places() {
    let project = Project::with_commit(&[("thing", "file"), ("other/x", "1"), ("other/y/z", "2")]);
    let first = project.content();
    let id = project.record();
    fs::remove_file(project.path("thing")).unwrap();
    fs::create_dir(project.path("thing")).unwrap();
    let empty = project.record();
    project.write("thing/inner", "i");
    fs::remove_dir_all(project.path("other")).unwrap();
    project.write("other", "now a file");
    let second = project.content();
    let later = project.record();
    project.restore(id);
    assert_eq!(project.content(), first);
    project.restore(later);
    assert_eq!(project.content(), second);
    project.restore(empty);
    assert!(!project.path("thing").is_file());
}

#[test]
fn modes_links_and_unusual_names_are_restored() {
    let project = Project::with_commit(&[("run.sh", "#!/bin/sh\n")]);
    let unusual = std::ffi::OsString::from_vec(b"new\nline \"quoted\" \\ \xff\xfe".to_vec());
    fs::write(project.root.join(&unusual), "odd").unwrap();
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("secret", "s");
    fs::set_permissions(project.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("/etc/passwd", project.path("link")).unwrap();
    let before = project.content();
    let id = project.record();
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(project.root.join(&unusual)).unwrap();
    fs::remove_file(project.path("secret")).unwrap();
    fs::remove_file(project.path("link")).unwrap();
    project.write("link", "no link");
    project.restore(id);
    assert_eq!(project.content(), before);
    let mode = |path: &str| project.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("secret"), mode("run.sh")), (0o600, 0o755));
}

#[test]
fn write_through_a_hard_link_with_restored_time_is_recorded() {
    let project = Project::with_commit(&[("a", "one")]);
    let outside = tempfile::tempdir_in(project.dir.path().parent().unwrap()).unwrap();
    fs::hard_link(project.path("a"), outside.path().join("b")).unwrap();
    let old = project.path("a").metadata().unwrap().modified().unwrap();
    let first = project.record();
    let file = fs::File::options()
        .write(true)
        .open(outside.path().join("b"))
        .unwrap();
    std::io::Write::write_all(&mut &file, b"two").unwrap();
    file.set_modified(old).unwrap();
    drop(file);
    let second = project.record();
    project.restore(first);
    assert_eq!(project.read("a"), "one");
    project.restore(second);
    assert_eq!(project.read("a"), "two");
}

#[test]
fn converted_files_are_recorded_as_they_are_on_disk() {
    let project = Project::with_commit(&[
        (".gitattributes", "* text=auto\n"),
        ("dos.txt", "a\r\nb\r\n"),
    ]);
    project.write("new.txt", "c\r\nd\n");
    let before = project.content();
    let id = project.record();
    fs::remove_file(project.path("dos.txt")).unwrap();
    project.write("new.txt", "c\nd\n");
    project.restore(id);
    assert_eq!(project.content(), before);
}

#[test]
fn nested_repositories_and_state_folders_are_left_alone() {
    let project = Project::with_commit(&[("a", "1")]);
    project.write("vendor/lib/x", "1");
    Git::at(&project.path("vendor/lib"))
        .ok(&["init", "--quiet"])
        .unwrap();
    let id = project.record();
    project.write("vendor/lib/x", "2");
    project.write(".tasks/task_1.json", "{}");
    project.write("a", "2");
    let done = project.restore(id);
    assert_eq!(done.changed.paths, ["a"]);
    assert_eq!(project.read("vendor/lib/x"), "2");
    assert_eq!(project.read(".tasks/task_1.json"), "{}");
}

#[test]
fn later_calls_record_only_changes() {
    let project = Project::with_commit(&[("a", "1")]);
    let calls = || {
        let new = project.new_checkpoint(CheckpointReason::Calls);
        project.checkpoints.record(&new).unwrap()
    };
    let first = project.record();
    assert_eq!(calls(), None);
    project.write("a", "2");
    assert!(calls() > Some(first));
    // Written again with the same content.
    project.write("a", "2");
    assert_eq!(calls(), None);
    let listed = project.checkpoints.list().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].content.label, "do \"it\"\tnow");
}

#[test]
fn files_that_git_assumes_unchanged_are_read() {
    let project = Project::with_commit(&[("local.cfg", "port=3000"), ("skipped", "1")]);
    project.git(&["update-index", "--assume-unchanged", "local.cfg"]);
    project.git(&["update-index", "--skip-worktree", "skipped"]);
    project.write("local.cfg", "port=4000");
    project.write("skipped", "2");
    let before = project.content();
    let id = project.record();
    fs::remove_file(project.path("local.cfg")).unwrap();
    fs::remove_file(project.path("skipped")).unwrap();
    project.restore(id);
    assert_eq!(project.content(), before);
}

#[test]
fn preview_does_not_hide_changes_from_the_next_checkpoint() {
    let project = Project::with_commit(&[("a", "1")]);
    let first = project.record();
    project.write("a", "2");
    project.checkpoints.preview(first).unwrap();
    let new = project.new_checkpoint(CheckpointReason::Calls);
    let second = project.checkpoints.record(&new).unwrap().unwrap();
    project.write("a", "3");
    project.restore(second);
    assert_eq!(project.read("a"), "2");
}

#[test]
fn private_file_stays_private_when_its_content_changes() {
    let project = Project::with_commit(&[("a", "1")]);
    project.write("secret", "one");
    let mode = |mode| fs::set_permissions(project.path("secret"), fs::Permissions::from_mode(mode));
    mode(0o600).unwrap();
    let id = project.record();
    project.write("secret", "two");
    mode(0o644).unwrap();
    project.restore(id);
    let mode = |path: &str| project.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("secret"), 0o600);
    // Other users cannot read its content in the checkpoints either.
    assert_eq!(mode(".crewdeck/checkpoints"), 0o700);
}

#[test]
fn folder_that_becomes_a_repository_is_left_alone() {
    let project = Project::with_commit(&[("src/a", "1"), ("b", "1")]);
    fs::create_dir(project.path("src/.git")).unwrap();
    project.write("src/new", "n");
    // An empty folder of that name is no repository.
    let first = project.record();
    Git::at(&project.path("src"))
        .ok(&["init", "--quiet"])
        .unwrap();
    project.write("src/a", "2");
    let second = project.record();
    let preview = project.checkpoints.preview(second).unwrap();
    assert_eq!(preview.not_recorded.paths, ["src"]);
    fs::remove_dir_all(project.path("src/.git")).unwrap();
    project.restore(second);
    assert_eq!(
        (project.read("src/a"), project.read("src/new")),
        ("2".into(), "n".into())
    );
    project.restore(first);
    assert_eq!(project.read("src/a"), "1");
}

#[test]
fn contents_of_replaced_objects_are_not_recorded() {
    let project = Project::with_commit(&[("u", "1")]);
    project.write("u", "2");
    let tree = {
        project.git(&["add", "u"]);
        project.git(&["write-tree"])
    };
    let head = project.git(&["rev-parse", "HEAD^{tree}"]);
    project.git(&["replace", &head, &tree]);
    project.git(&["update-index", "--refresh"]);
    let id = project.record();
    project.write("u", "3");
    project.restore(id);
    assert_eq!(project.read("u"), "2");
}
