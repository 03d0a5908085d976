//! Tests of the comparison of a work directory with what is known about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use pretty_assertions::assert_eq;

use super::super::files::open_top;
use super::super::known::{KnownContent, KnownFiles, StoredContent};
use super::super::rules::IgnoreRules;
use super::super::scan::{DirectoryScan, scan};
use super::Project;

/// What one scan is expected to find: changed, gone, ignored, unreadable and private paths, each list separated by
/// spaces.
#[derive(Debug, Default, PartialEq, Eq)]
struct ExpectedScan {
    changed: &'static str,
    gone: &'static str,
    ignored: &'static str,
    unreadable: &'static str,
    private: &'static str,
}

fn text<'a>(paths: impl IntoIterator<Item = &'a Vec<u8>>) -> String {
    let names = paths.into_iter().map(|path| String::from_utf8_lossy(path));
    names.collect::<Vec<_>>().join(" ")
}

fn scan_of(project: &Project, known: &KnownFiles) -> DirectoryScan {
    let top = open_top(&project.root).unwrap();
    scan(&top, known, IgnoreRules::new(&[]), None).unwrap()
}

/// Makes known what a scan has found, as a snapshot does.
pub(super) fn learn(known: &mut KnownFiles, found: &DirectoryScan) {
    for path in &found.gone {
        known.remove(path);
    }
    for (path, state) in &found.changed {
        let content = StoredContent {
            state: *state,
            is_recent: false,
            hash: None,
        };
        known.set(path, KnownContent::Stored(content));
    }
}

/// Compares two scans of the same files. Only a scan of all folders lists known files below unreadable folders as missing.
pub fn assert_equal_scans(found: &DirectoryScan, all: DirectoryScan) {
    let is_readable = |path: &&Vec<u8>| {
        let mut above = found.unreadable.iter();
        !above.any(|folder| path.starts_with(folder) && path.get(folder.len()) == Some(&b'/'))
    };
    let gone = |scan: &DirectoryScan| -> Vec<Vec<u8>> {
        scan.gone.iter().filter(is_readable).cloned().collect()
    };
    assert_eq!(gone(found), gone(&all));
    let all = DirectoryScan {
        gone: found.gone.clone(),
        is_unsteady: found.is_unsteady,
        ..all
    };
    assert_eq!(*found, all);
}

#[test]
#[allow(clippy::too_many_lines)] // one table of all steps
fn scan_finds_the_differences_after_each_step() {
    type Act = fn(&Project, &mut KnownFiles);
    let none = ExpectedScan::default;
    let steps: [(&str, Act, ExpectedScan); 20] = [
        (
            "first scan",
            |p, _| {
                for path in ["a", "a.b", "ab", "d/x", "d/e/y", "d/e/z", "d-/v"] {
                    p.write(path, "1");
                }
            },
            ExpectedScan {
                changed: "a a.b ab d-/v d/e/y d/e/z d/x",
                ..none()
            },
        ),
        ("nothing", |_, _| {}, none()),
        (
            "one change between other names",
            |p, _| p.write("a.b", "12"),
            ExpectedScan {
                changed: "a.b",
                ..none()
            },
        ),
        (
            "new names before, between and after known ones",
            |p, _| {
                for path in ["A", "aa", "z", "d/e/yy"] {
                    p.write(path, "1");
                }
            },
            ExpectedScan {
                changed: "A aa d/e/yy z",
                ..none()
            },
        ),
        (
            "first and last file of a folder deleted",
            |p, _| {
                fs::remove_file(p.path("d/e/y")).unwrap();
                fs::remove_file(p.path("d/e/z")).unwrap();
            },
            ExpectedScan {
                gone: "d/e/y d/e/z",
                ..none()
            },
        ),
        (
            "folders deleted",
            |p, _| fs::remove_dir_all(p.path("d")).unwrap(),
            ExpectedScan {
                gone: "d/e/yy d/x",
                ..none()
            },
        ),
        (
            "a file in the place of the folder",
            |p, _| p.write("d", "1"),
            ExpectedScan {
                changed: "d",
                ..none()
            },
        ),
        (
            "a folder in the place of the file",
            |p, _| {
                fs::remove_file(p.path("d")).unwrap();
                p.write("d/x", "1");
            },
            ExpectedScan {
                changed: "d/x",
                gone: "d",
                ..none()
            },
        ),
        (
            "an untracked file becomes ignored",
            |p, _| p.write(".gitignore", "/ab\n"),
            ExpectedScan {
                changed: ".gitignore",
                gone: "ab",
                ignored: "ab",
                ..none()
            },
        ),
        (
            "the ignored file becomes tracked",
            |_, known| known.track(b"ab"),
            ExpectedScan {
                changed: "ab",
                ..none()
            },
        ),
        (
            "the tracked file is deleted",
            |p, _| fs::remove_file(p.path("ab")).unwrap(),
            ExpectedScan {
                gone: "ab",
                ..none()
            },
        ),
        ("it is reported only once", |_, _| {}, none()),
        (
            "and returns although it is ignored",
            |p, _| p.write("ab", "1"),
            ExpectedScan {
                changed: "ab",
                ..none()
            },
        ),
        (
            "a socket in its place",
            |p, _| {
                fs::remove_file(p.path("ab")).unwrap();
                drop(UnixListener::bind(p.path("ab")).unwrap());
            },
            ExpectedScan {
                gone: "ab",
                ..none()
            },
        ),
        (
            "a tracked file in an ignored folder",
            |p, known| {
                p.write(".gitignore", "/ab\n/out/\n");
                p.write("out/in/kept", "1");
                p.write("out/in/other", "1");
                p.write("out/more/other", "1");
                known.track(b"out/in/kept");
            },
            ExpectedScan {
                changed: ".gitignore out/in/kept",
                ignored: "out out/in out/in/other out/more",
                ..none()
            },
        ),
        (
            "private files",
            |p, _| {
                let private = fs::Permissions::from_mode(0o600);
                fs::set_permissions(p.path("a"), private).unwrap();
                fs::remove_dir_all(p.path("out")).unwrap();
            },
            ExpectedScan {
                changed: "a",
                gone: "out/in/kept",
                private: "a",
                ..none()
            },
        ),
        (
            "deep folders",
            |p, _| {
                p.write("d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/f", "1");
                p.write("d1/d2/d3/d4/d5/d6/d7/d8/d9/g", "1");
            },
            ExpectedScan {
                changed: "d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/f d1/d2/d3/d4/d5/d6/d7/d8/d9/g",
                private: "a",
                ..none()
            },
        ),
        (
            "a change in a deep folder",
            |p, _| p.write("d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/f", "12"),
            ExpectedScan {
                changed: "d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11/f",
                private: "a",
                ..none()
            },
        ),
        (
            "a folder becomes a repository, with a name in capitals",
            |p, _| p.write("d/.GIT/HEAD", "ref: refs/heads/main\n"),
            ExpectedScan {
                gone: "d/x",
                unreadable: "d",
                private: "a",
                ..none()
            },
        ),
        (
            "a folder of crewdeck",
            |p, _| p.write(".tasks/t", "1"),
            ExpectedScan {
                unreadable: "d",
                private: "a",
                ..none()
            },
        ),
    ];
    let project = Project::new();
    let mut known = KnownFiles::default();
    for (what, act, expected) in steps {
        act(&project, &mut known);
        let found = scan_of(&project, &known);
        let actual = [
            text(found.changed.iter().map(|(path, _)| path)),
            text(&found.gone),
            text(&found.ignored),
            text(&found.unreadable),
            text(&found.private),
        ];
        let wanted = [
            expected.changed,
            expected.gone,
            expected.ignored,
            expected.unreadable,
            expected.private,
        ];
        assert_eq!(actual, wanted, "{what}");
        learn(&mut known, &found);
    }
}

#[test]
fn several_threads_find_what_one_finds() {
    let project = Project::new();
    let path = |n: usize| format!("f{}/g{}/h{}/file{n}", n % 7, n % 11, n % 13);
    for n in 0..400 {
        project.write(&path(n), "1");
    }
    let mut known = KnownFiles::default();
    let first = scan_of(&project, &known);
    assert_eq!(first.changed.len(), 400);
    learn(&mut known, &first);
    let mut expected: Vec<String> = (0..400).filter(|n| n % 9 == 0).map(path).collect();
    expected.sort();
    for path in &expected {
        project.write(path, "changed");
    }
    fs::remove_dir_all(project.path("f3")).unwrap();
    let found = scan_of(&project, &known);
    let is_in_f3 = |path: &String| path.starts_with("f3/");
    let gone = (0..400).map(path).filter(is_in_f3).count();
    expected.retain(|path| !is_in_f3(path));
    assert_eq!(
        text(found.changed.iter().map(|(path, _)| path)),
        expected.join(" ")
    );
    assert_eq!(found.gone.len(), gone);
    assert!(found.gone.is_sorted());
}
