//! Tests of cloned folders: limits, links, copies, times.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use pretty_assertions::assert_eq;

struct CloneFixture {
    _dir: tempfile::TempDir,
    root: PathBuf,
    tree: PathBuf,
    cloner: FolderCloner,
}

fn fixture(share: ShareBlocks) -> CloneFixture {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["root", "tree", "scratch"].map(|name| dir.path().join(name));
    for path in &paths {
        fs::create_dir(path).unwrap();
    }
    let [root, tree, scratch] = paths;
    let cloner = FolderCloner::open(&root, &tree, &scratch, share).unwrap();
    CloneFixture {
        _dir: dir,
        root,
        tree,
        cloner,
    }
}

impl CloneFixture {
    fn run(&mut self, path: &str) -> Result<bool, String> {
        let cloned = self.cloner.clone_folder(Path::new(path));
        let scratch = Dir::read_from(&self.cloner.scratch).unwrap().count();
        assert_eq!(scratch, 2, "only . and .. are left");
        cloned.map_err(|error| match error {
            CloneError::Unsuitable(why) => why.to_string(),
            CloneError::Io(error) => error.to_string(),
        })
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn files_links_modes_and_times_are_cloned() {
    let mut f = fixture(copy_for_tests);
    let from = f.root.join("deps");
    fs::create_dir_all(from.join(".bin")).unwrap();
    fs::create_dir_all(from.join("pkg/.git")).unwrap();
    fs::write(from.join("pkg/run"), "#!/bin/sh\n").unwrap();
    let mode = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(from.join("pkg/run"), mode).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let file = File::options().write(true).open(from.join("pkg/run"));
    file.unwrap().set_modified(time).unwrap();
    symlink("../pkg/run", from.join(".bin/run")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(from.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    assert!(f.cloner.can_share());
    assert_eq!(f.run("deps"), Ok(true));
    let copy = f.tree.join("deps");
    let meta = fs::metadata(copy.join("pkg/run")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o7777, 0o755);
    assert_eq!(meta.modified().unwrap(), time);
    let link = fs::read_link(copy.join(".bin/run")).unwrap();
    assert_eq!(link, Path::new("../pkg/run"));
    assert!(!copy.join("pkg/.git").exists() && !copy.join("pipe").exists());
    assert_eq!(f.run("deps"), Ok(false), "nothing is replaced");
}

#[test]
fn nothing_is_cloned_through_links() {
    let mut f = fixture(copy_for_tests);
    let outside = f.root.with_file_name("outside");
    fs::create_dir_all(outside.join("deps")).unwrap();
    fs::write(outside.join("deps/secret"), "secret").unwrap();
    symlink(&outside, f.root.join("link")).unwrap();
    symlink(outside.join("deps"), f.root.join("deps")).unwrap();
    fs::create_dir_all(f.root.join("pkg/deps")).unwrap();
    symlink(&outside, f.tree.join("pkg")).unwrap();
    for path in ["link/deps", "deps", "pkg/deps", "../outside/deps", "/etc"] {
        assert!(f.run(path).is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&f.tree).unwrap().count(), 1);
}

#[test]
fn folder_above_a_limit_is_left_out_as_a_whole() {
    let mut f = fixture(copy_for_tests);
    for path in ["a/1", "a/2", "b/1"] {
        f.write(path, "12345");
    }
    f.cloner.left.entries = 1;
    assert_eq!(f.run("a"), Err(TOO_MANY.into()));
    f.cloner.left.entries = 10;
    f.cloner.left.bytes = 9;
    assert_eq!(f.run("a"), Err(TOO_LARGE.into()));
    f.cloner.left.bytes = 5;
    assert_eq!(f.run("b"), Ok(true));
    fs::create_dir_all(f.root.join("c").join("x/".repeat(DEPTH_MAX + 1))).unwrap();
    f.cloner.left.entries = 1000;
    assert_eq!(f.run("c"), Err(TOO_DEEP.into()));
    let cloned: Vec<_> = fs::read_dir(&f.tree).unwrap().flatten().collect();
    assert_eq!(cloned.len(), 1, "{cloned:?}");
}

#[test]
fn folder_that_is_left_out_uses_up_no_limit() {
    let mut f = fixture(|_, _| Err(Errno::NOTSUP));
    for path in ["large/1", "large/2", "large/3", "small/1", "small/2"] {
        f.write(path, "12345");
    }
    f.cloner.allow_copies(3 * BLOCK - 1);
    f.cloner.left.entries = 3;
    f.cloner.left.bytes = 12;
    assert_eq!(f.run("large"), Err(TOO_LARGE.into()));
    f.cloner.left.bytes = 100;
    assert_eq!(f.run("large"), Err(NO_SPACE.into()));
    assert_eq!(f.run("small"), Ok(true));
    assert_eq!(f.cloner.copies_left(), BLOCK - 1);
    assert_eq!((f.cloner.left.entries, f.cloner.left.bytes), (1, 90));
}

#[test]
fn files_are_copied_only_if_that_is_allowed() {
    let mut f = fixture(|_, _| Err(Errno::NOTSUP));
    f.write("a/1", "text");
    f.write("empty/1", "");
    assert!(!f.cloner.can_share());
    assert!(f.run("a").is_err());
    assert!(!f.tree.join("a").exists());
    f.cloner.allow_copies(0);
    assert_eq!(f.run("empty"), Ok(true));
    assert_eq!(f.run("a"), Err(NO_SPACE.into()));
    f.cloner.allow_copies(BLOCK);
    assert_eq!(f.run("a"), Ok(true));
    assert_eq!(fs::read_to_string(f.tree.join("a/1")).unwrap(), "text");
    // The copy is a file of its own.
    fs::write(f.tree.join("a/1"), "changed").unwrap();
    assert_eq!(fs::read_to_string(f.root.join("a/1")).unwrap(), "text");
}

#[test]
fn python_environment_is_left_out_with_the_reason() {
    let mut f = fixture(copy_for_tests);
    f.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    f.write("tools/env/pyvenv.cfg", "home = /usr/bin\n");
    f.write("tools/a", "");
    for folder in [".venv", "tools"] {
        assert_eq!(f.run(folder), Err(VIRTUAL_ENVIRONMENT.into()));
        assert!(!f.tree.join(folder).exists());
    }
}

#[test]
fn cloned_files_are_older_than_those_of_the_worktree() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["root/out", "tree", "scratch"].map(|name| dir.path().join(name));
    for path in &paths {
        fs::create_dir_all(path).unwrap();
    }
    let [from, tree, scratch] = paths;
    let time = |seconds| SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let write = |path: &Path, seconds| {
        let file = File::create(path).unwrap();
        file.set_modified(time(seconds)).unwrap();
    };
    write(&tree.join(".git"), 2000);
    write(&from.join("older"), 1000);
    write(&from.join("newer"), 3000);
    let root = from.parent().unwrap();
    let mut cloner = FolderCloner::open(root, &tree, &scratch, copy_for_tests).unwrap();
    assert!(matches!(cloner.clone_folder(Path::new("out")), Ok(true)));
    let modified = |name: &str| modified_at(&tree.join("out").join(name)).unwrap();
    assert_eq!(
        (modified("older"), modified("newer")),
        (time(1000), time(2000) - BEFORE_CHECKOUT)
    );
}
