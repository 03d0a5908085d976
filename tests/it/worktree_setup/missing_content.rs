//! Submodules and files of Git LFS in worktrees.

use std::fs;

use crewdeck::domain::worktree::MissingContent;
use pretty_assertions::assert_eq;

use super::{output_of_bob, repository, work};
use crate::common::project::git;
use crate::common::repository::{NOW, Repository, name};

/// The commands of docs/worktrees.md that fetch submodules, in the sandbox.
#[test]
fn submodules_are_fetched_by_the_documented_commands() {
    for is_initialised in [true, false] {
        let project = repository();
        let lib = project.file("made-lib");
        fs::create_dir(&lib).unwrap();
        let in_lib = |args: &[&str]| {
            let lib = lib.to_str().unwrap();
            git(
                &project,
                &[
                    &["-C", lib, "-c", "user.name=Ada", "-c", "user.email=a@b.c"][..],
                    args,
                ]
                .concat(),
            )
        };
        in_lib(&["init", "--quiet"]);
        fs::write(lib.join("l.txt"), "lib\n").unwrap();
        in_lib(&["add", "--all"]);
        in_lib(&["commit", "--quiet", "--message", "lib"]);
        let commit = in_lib(&["rev-parse", "HEAD"]);
        let url = lib.display();
        project.write(
            ".gitmodules",
            &format!("[submodule \"lib\"]\n\tpath = lib\n\turl = {url}\n"),
        );
        let entry = format!("160000,{},lib", commit.trim());
        git(&project, &["update-index", "--add", "--cacheinfo", &entry]);
        git(&project, &["add", ".gitmodules"]);
        fs::create_dir(project.file("lib")).unwrap();
        git(&project, &["commit", "--quiet", "--message", "submodule"]);
        // Git allows local URLs of submodules only with this setting.
        let start = "git -c protocol.file.allow=always";
        let setup = if is_initialised {
            git(&project, &["submodule", "--quiet", "init"]);
            format!("{start} submodule update")
        } else {
            format!("{start} -c submodule.lib.url={url} submodule update")
        };
        project.write_user_settings(&format!("[worktree]\nsetup = '{setup}'\n"));
        let events = work(
            &project,
            "setup command has run here",
            "cat lib/l.txt; git status --porcelain",
        );
        assert_eq!(output_of_bob(&events).trim(), "lib", "{is_initialised}");
        let warned = events.iter().filter_map(|event| event["text"].as_str());
        assert!(
            !warned
                .into_iter()
                .any(|text| text.contains("empty submodules"))
        );
    }
}

#[test]
fn git_lfs_downloads_nothing_into_worktrees() {
    let r = Repository::new();
    // As the filter of Git LFS: writes the pointer if it is not to download.
    let smudge = "sh -c 'if test \"$GIT_LFS_SKIP_SMUDGE\" = 1; then cat; else cat >/dev/null; echo downloaded; fi'";
    for (key, value) in [("clean", "cat"), ("smudge", smudge), ("required", "true")] {
        r.git(&["config", &format!("filter.lfs.{key}"), value]);
    }
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    fs::write(r.root().join(".gitattributes"), "*.bin filter=lfs -text\n").unwrap();
    r.git(&["add", ".gitattributes"]);
    r.commit("a.bin", pointer);
    r.create(1, &[]);
    let read = |tree: &str, file: &str| fs::read_to_string(r.worktree_path(tree).join(file));
    assert_eq!(read("task-1", "a.bin").unwrap(), pointer);
    let branch = r.worktree_path("task-1");
    fs::write(branch.join("b.bin"), pointer.replace("00", "11")).unwrap();
    let store = r.worktrees();
    store
        .commit_leftovers(&name("task-1"), "b")
        .unwrap()
        .unwrap();
    // A merge into a worktree checks out files too.
    r.create(2, &["wt/task-1"]);
    assert_eq!(
        read("task-2", "b.bin").unwrap(),
        pointer.replace("00", "11")
    );
    // The user's own checkout gets what the user's git writes.
    store.merge(&name("task-1"), NOW).unwrap();
    let merged = fs::read_to_string(r.root().join("b.bin")).unwrap();
    assert_eq!(merged, "downloaded\n");
}

#[test]
fn empty_submodules_and_lfs_pointers_are_found() {
    let r = Repository::new();
    for (key, value) in [
        ("clean", "cat"),
        ("smudge", "cat"),
        ("process", ""),
        ("required", "false"),
    ] {
        r.git(&["config", &format!("filter.lfs.{key}"), value]);
    }
    let nothing = |trees: &str| {
        let missing = r.worktrees().missing_content(&name(trees)).unwrap();
        assert_eq!(missing, MissingContent::default());
    };
    r.create(1, &[]);
    nothing("task-1");

    let commit = r.git(&["rev-parse", "HEAD"]);
    for path in ["lib", "third party"] {
        let entry = format!("160000,{commit},{path}");
        r.git(&["update-index", "--add", "--cacheinfo", &entry]);
    }
    let modules = "[submodule \"a\"]\n\tpath = lib\n\turl = ../lib\n[submodule \"b\"]\n\tpath = third party\n\turl = ../b\n\
                   [submodule \"c\"]\n\tpath = ../..\n\turl = ../c\n";
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n";
    for (path, text) in [
        (".gitmodules", modules),
        ("data/.gitattributes", "*.bin filter=lfs -text\n"),
        ("data/a.bin", pointer),
        ("data/b.bin", "fetched\n"),
        ("c.bin", pointer),
    ] {
        fs::create_dir_all(r.root().join("data")).unwrap();
        fs::write(r.root().join(path), text).unwrap();
        r.git(&["add", "--", path]);
    }
    r.git(&["commit", "--quiet", "--message", "modules"]);
    r.create(2, &[]);
    let missing = || r.worktrees().missing_content(&name("task-2")).unwrap();
    assert_eq!(missing().submodules.list(), "lib, third party");
    assert_eq!(missing().lfs_pointers.list(), "data/a.bin");
    assert_eq!(missing().warnings().len(), 2);

    let dir = r.worktree_path("task-2");
    for path in ["lib", "third party"] {
        fs::create_dir_all(dir.join(path)).unwrap();
        fs::write(dir.join(path).join("file"), "").unwrap();
    }
    fs::write(dir.join("data/a.bin"), "fetched\n").unwrap();
    nothing("task-2");
}
