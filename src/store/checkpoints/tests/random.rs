//! Random sequences of changes, checkpoints and rewinds, compared with git and with copies of the files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::{Content, Project};
use crate::domain::checkpoint::CheckpointId;
use crate::store::Checkpoints;
use crate::store::git::Git;

/// One step of a random sequence.
#[derive(Debug, Clone)]
enum Act {
    Write(usize, u8),
    Remove(usize),
    Link(usize, usize),
    Run(usize),
    /// Renames a folder.
    Move,
    Rules(u8),
    Commit,
    Record,
    /// Rewinds to one of the checkpoints so far.
    Restore(prop::sample::Index),
    /// Goes on as another process that knows nothing.
    Restart,
}

const PATHS: [&str; 8] = ["a", "b", "d", "d/x", "d/y", "d/e/z", "n.log", "out/o"];

fn act() -> impl Strategy<Value = Act> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), any::<u8>()).prop_map(|(p, n)| Act::Write(p, n % 4)),
        3 => path.clone().prop_map(Act::Remove),
        1 => (path.clone(), path.clone()).prop_map(|(p, to)| Act::Link(p, to)),
        1 => path.prop_map(Act::Run),
        1 => Just(Act::Move),
        1 => any::<u8>().prop_map(|n| Act::Rules(n % 3)),
        1 => Just(Act::Commit),
        5 => Just(Act::Record),
        4 => any::<prop::sample::Index>().prop_map(Act::Restore),
        1 => Just(Act::Restart),
    ]
}

/// Removes what is in the way of a file at `path`.
fn make_room(project: &Project, path: &str) {
    let full = project.path(path);
    for above in full
        .ancestors()
        .skip(1)
        .take_while(|dir| *dir != project.root)
    {
        if above.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
    }
    match full.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&full).unwrap(),
        Ok(_) => fs::remove_file(&full).unwrap(),
        Err(_) => {}
    }
    fs::create_dir_all(full.parent().unwrap()).unwrap();
}

/// Returns the content without the files that git ignores and does not track.
fn recorded_content(project: &Project) -> Content {
    let listed = Git::at(&project.root)
        .run_bytes(
            &[
                "ls-files",
                "-z",
                "--others",
                "--ignored",
                "--exclude-standard",
            ],
            1 << 20,
        )
        .unwrap();
    let ignored: Vec<&[u8]> = listed.out.split(|byte| *byte == 0).collect();
    let mut all = project.content();
    all.retain(|path, _| !ignored.contains(&path.as_slice()));
    all
}

fn rounds() -> u32 {
    let rounds = std::env::var("CREWDECK_ROUNDS").ok();
    rounds.and_then(|n| n.parse().ok()).unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), ..ProptestConfig::default() })]

    // git itself says what is ignored, and the recorded contents are compared with copies in memory.
    #[test]
    fn contents_always_equal_a_recorded_state(acts in prop::collection::vec(act(), 1..40)) {
        let mut project = Project::with_commit(&[("a", "0"), ("d/x", "0"), ("out/o", "0")]);
        // The recorded files and all files, by checkpoint.
        let mut states: Vec<(CheckpointId, Content, Content)> = Vec::new();
        for act in acts {
            match act {
                Act::Write(path, n) => {
                    make_room(&project, PATHS[path]);
                    project.write(PATHS[path], [b'0' + n]);
                }
                Act::Remove(path) => {
                    let path = project.path(PATHS[path]);
                    match path.symlink_metadata() {
                        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
                        Ok(_) => fs::remove_file(path).unwrap(),
                        Err(_) => {}
                    }
                }
                Act::Link(path, to) => {
                    make_room(&project, PATHS[path]);
                    symlink(PATHS[to], project.path(PATHS[path])).unwrap();
                }
                Act::Run(path) => {
                    let path = project.path(PATHS[path]);
                    if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                    }
                }
                Act::Move => {
                    let (one, other) = (project.path("d"), project.path("moved"));
                    let (from, to) = if one.is_dir() { (one, other) } else { (other, one) };
                    if from.is_dir() && to.symlink_metadata().is_err() {
                        fs::rename(from, to).unwrap();
                    }
                }
                Act::Rules(n) => {
                    let rules = ["", "*.log\n", "/out/\n*.log\n"][usize::from(n)];
                    project.write(".git/info/exclude", rules);
                    for folder in crate::domain::folders::STATE {
                        use std::io::Write;
                        let exclude = project.path(".git/info/exclude");
                        let mut file = fs::File::options().append(true).open(exclude).unwrap();
                        writeln!(file, "/{folder}/").unwrap();
                    }
                }
                Act::Commit => {
                    project.git(&["add", "-A"]);
                    project.git(&["commit", "--quiet", "--allow-empty", "-m", "next"]);
                }
                Act::Record => {
                    let id = project.record();
                    states.push((id, recorded_content(&project), project.content()));
                }
                Act::Restore(which) => {
                    if states.is_empty() {
                        continue;
                    }
                    let (id, state, whole) = states[which.index(states.len())].clone();
                    let present = recorded_content(&project);
                    let before = project.content();
                    let ignored = project.content().into_iter().filter(|(p, _)| !present.contains_key(p));
                    let ignored: Content = ignored.collect();
                    let done = project.restore(id);
                    let after = project.content();
                    let left_alone = |path: &Vec<u8>| {
                        ignored.contains_key(path) || done.skipped.paths.iter().any(|line| {
                            line.as_bytes().starts_with(path)
                        })
                    };
                    // What was ignored stays, unless the file was recorded before git began to ignore it. All other files
                    // are those of the checkpoint.
                    for (path, content) in &ignored {
                        let is_kept = after.get(path) == Some(content);
                        prop_assert!(is_kept || after.get(path) == whole.get(path), "{}", String::from_utf8_lossy(path));
                    }
                    for (path, content) in &state {
                        if !left_alone(path) {
                            prop_assert_eq!(after.get(path), Some(content), "{}", String::from_utf8_lossy(path));
                        }
                    }
                    for path in after.keys() {
                        let is_known = whole.contains_key(path) || left_alone(path);
                        prop_assert!(is_known, "{}", String::from_utf8_lossy(path));
                    }
                    states.push((done.undo.unwrap(), present, before));
                }
                Act::Restart => project.checkpoints = Checkpoints::open(&project.root),
            }
        }
    }
}
