//! Folders that are cloned or copied into new worktrees.

use std::fs;
use std::process::Command;

use pretty_assertions::assert_eq;

use super::{repository, work};
use crate::common::project::Project;

#[test]
fn ignored_folder_is_cloned_before_setup_or_reason_is_shown() {
    let project = repository();
    project.write("made-deps/a.js", "a\n");
    project.write_user_settings(
        "[worktree]\nclone = ['made-deps', 'missing']\nsetup = 'cat made-deps/a.js 2>/dev/null || echo none'\n",
    );
    let events = work(&project, "setup command has run here", "true");
    let notices: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "notice")
        .filter_map(|event| event["text"].as_str())
        .filter(|text| text.contains("worktree.clone"))
        .collect();
    let [notice] = notices[..] else {
        panic!("{notices:?}");
    };
    let log = fs::read_to_string(project.file(".worktrees/.setup-task-1.log")).unwrap();
    let copy = project.file(".worktrees/task-1/made-deps/a.js");
    if shares_blocks(&project) {
        assert!(copy.exists());
        assert_eq!(
            notice,
            "Worktree task-1: made-deps copied (worktree.clone)."
        );
        assert_eq!(log, "a\n");
    } else {
        assert!(
            notice.starts_with("worktree.clone copies nothing"),
            "{notice}"
        );
        assert!(log.ends_with("none\n"), "{log}");
    }
    assert!(!project.file(".worktrees/.cloning-task-1").exists());
}

/// Returns whether the file system of the project shares blocks between files, as `cp` reports it.
fn shares_blocks(project: &Project) -> bool {
    let (from, to) = (project.write("probe", "text"), project.file("probe-copy"));
    let copied = Command::new("cp")
        .arg("--reflink=always")
        .args([&from, &to])
        .output();
    for path in [from, to] {
        let _ = fs::remove_file(path);
    }
    copied.unwrap().status.success()
}

#[test]
fn ignored_folder_is_copied_where_blocks_cannot_be_shared() {
    let project = repository();
    project.write("made-deps/a.js", "a\n");
    project.write_user_settings(
        "[worktree]\nclone = ['made-deps']\nclone_fallback = 'copy'\nsetup = 'cat made-deps/a.js; echo b > made-deps/a.js'\n",
    );
    let events = work(&project, "setup command has run here", "true");
    let notice = events
        .iter()
        .filter_map(|event| event["text"].as_str())
        .find(|text| text.contains("worktree.clone"));
    let space = if shares_blocks(&project) {
        ""
    } else {
        ", 4 KiB of disk space"
    };
    assert_eq!(
        notice,
        Some(&*format!(
            "Worktree task-1: made-deps copied (worktree.clone{space})."
        ))
    );
    let log = fs::read_to_string(project.file(".worktrees/.setup-task-1.log")).unwrap();
    assert_eq!(log, "a\n");
    let text = |path| fs::read_to_string(project.file(path)).unwrap();
    assert_eq!(text("made-deps/a.js"), "a\n", "the original is unchanged");
    assert_eq!(text(".worktrees/task-1/made-deps/a.js"), "b\n");
}
