//! Tests of the decision on ref changes, and of reading and writing refs.

use super::*;
use pretty_assertions::assert_eq;
use std::fs;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn change(name: &str, old: Option<&str>, new: Option<&str>) -> RefChange {
    RefChange {
        name: name.into(),
        old: old.map(String::from),
        new: new.map(String::from),
    }
}

#[test]
fn only_own_refs_can_be_changed_or_deleted() {
    let own = WritableBranch::of_worktree("a");
    let root = WritableBranch::ForwardOnly("refs/heads/main".into());
    let made = BTreeSet::from(["refs/heads/side".to_string()]);
    let is_refused = |change: &RefChange, branch: &WritableBranch| {
        matches!(verdict(change, branch, &made), RefVerdict::Refuse(_))
    };
    let moved = |name| change(name, Some(A), Some(B));
    let deleted = |name| change(name, Some(A), None);
    assert_eq!(
        verdict(&moved("refs/heads/wt/a"), &own, &made),
        RefVerdict::Accept
    );
    assert_eq!(
        verdict(&moved("refs/heads/main"), &root, &made),
        RefVerdict::AcceptForward
    );
    for (name, branch) in [
        ("refs/heads/main", &own),
        ("refs/heads/wt/b", &own),
        ("refs/heads/wt/a", &root),
        ("refs/heads/other", &root),
        ("refs/tags/v1", &own),
        ("refs/remotes/origin/main", &own),
        ("refs/crewdeck/stash/a/1", &own),
    ] {
        assert!(is_refused(&moved(name), branch), "{name}");
        assert!(is_refused(&deleted(name), branch), "{name}");
    }
    assert!(is_refused(&deleted("refs/heads/wt/a"), &own));
    assert!(is_refused(&deleted("refs/heads/main"), &root));
    assert!(is_refused(&change("refs/heads/wt/x", None, Some(A)), &own));
    assert!(is_refused(
        &change("refs/heads/s", None, Some("ref: refs/heads/main")),
        &own
    ));
    for bad in [
        "--output=/x",
        "0000000000000000000000000000000000000000",
        "main",
    ] {
        let bad = change("refs/heads/wt/a", Some(A), Some(bad));
        assert_eq!(
            verdict(&bad, &own, &made),
            RefVerdict::Refuse(RefusalReason::NoHash)
        );
    }
    for good in [
        change("refs/heads/new", None, Some(A)),
        change("refs/tags/t", None, Some(A)),
        moved("refs/heads/side"),
        deleted("refs/heads/side"),
    ] {
        assert_eq!(verdict(&good, &own, &made), RefVerdict::Accept, "{good:?}");
    }
    assert_eq!(
        verdict(&moved("refs/stash"), &own, &made),
        RefVerdict::Private
    );
}

#[test]
fn new_refs_are_accepted_only_below_known_prefixes() {
    let own = WritableBranch::of_worktree("a");
    let new = |name| verdict(&change(name, None, Some(A)), &own, &BTreeSet::new());
    for name in [
        "refs/heads/x",
        "refs/tags/x",
        "refs/notes/commits",
        "refs/remotes/origin/x",
    ] {
        assert_eq!(new(name), RefVerdict::Accept, "{name}");
    }
    for name in ["refs/replace/x", "refs/x"] {
        assert!(matches!(new(name), RefVerdict::Refuse(_)), "{name}");
    }
}

#[test]
fn symbolic_links_in_refs_are_not_followed() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(dir.path().join("refs")).unwrap();
    fs::write(out.path().join("main"), "theirs").unwrap();
    std::os::unix::fs::symlink(out.path(), dir.path().join("refs/heads")).unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    let read = read_loose(&folder.sub("refs").unwrap()).unwrap();
    assert_eq!(read, RefMap::new());
    let shown = RefMap::from(["main", "new"].map(|n| (format!("refs/heads/{n}"), A.into())));
    assert_eq!(update_loose(&folder, &read, &shown).unwrap(), shown);
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(out.path().join("main")).unwrap(),
        "theirs"
    );
    // An unreadable ref is not replaced.
    fs::write(dir.path().join("refs/heads/odd"), [0xff]).unwrap();
    let odd = RefMap::from([("refs/heads/odd".into(), A.into())]);
    update_loose(&folder, &RefMap::new(), &odd).unwrap();
    assert_eq!(fs::read(dir.path().join("refs/heads/odd")).unwrap(), [0xff]);
}

#[test]
fn packed_refs_are_read_without_peeled_values() {
    let text = format!("# pack-refs with: peeled\n{A} refs/heads/main\n{B} refs/tags/v1\n^{A}\n");
    let wanted = RefMap::from([
        ("refs/heads/main".into(), A.into()),
        ("refs/tags/v1".into(), B.into()),
    ]);
    assert_eq!(parse_list(&text), wanted);
    let packed = change("refs/heads/main", None, Some(B)).with_packed(&wanted);
    assert_eq!(packed, change("refs/heads/main", Some(A), Some(B)));
}

#[test]
fn changed_and_locked_refs_are_not_updated() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for name in ["refs/heads", "refs/tags"] {
        fs::create_dir_all(dir.join(name)).unwrap();
    }
    let before =
        RefMap::from(["one", "two", "gone"].map(|n| (format!("refs/heads/{n}"), A.into())));
    for name in before.keys() {
        fs::write(dir.join(name), format!("{A}\n")).unwrap();
    }
    fs::write(dir.join("refs/stash"), A).unwrap();
    let folder = Folder::open(dir).unwrap();
    let all = || read_loose(&folder.sub("refs").unwrap()).unwrap();
    let read = all();
    // After the read, one ref is locked.
    fs::write(dir.join("refs/heads/two.lock"), "").unwrap();
    let shown = RefMap::from([
        ("refs/heads/one".into(), B.into()),
        ("refs/heads/two".into(), B.into()),
        ("refs/heads/deep/new".into(), B.into()),
    ]);
    let now = update_loose(&folder, &read, &shown).unwrap();
    assert_eq!(now.get("refs/heads/two").map(String::as_str), Some(A));
    let mut read = all();
    assert_eq!(read.remove("refs/stash").as_deref(), Some(A));
    assert_eq!(read, now);
    assert_eq!(now.get("refs/heads/deep/new").map(String::as_str), Some(B));
    assert!(!now.contains_key("refs/heads/gone"));
}

#[test]
fn ref_that_cannot_be_written_is_not_recorded_as_shown() {
    let dir = tempfile::tempdir().unwrap();
    let heads = dir.path().join("refs/heads");
    fs::create_dir_all(&heads).unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    let shown = RefMap::from(["locked", "new"].map(|n| (format!("refs/heads/{n}"), A.into())));
    // A running command creates one of the refs.
    fs::write(heads.join("locked.lock"), "").unwrap();
    let now = update_loose(&folder, &RefMap::new(), &shown).unwrap();
    assert_eq!(now, read_loose(&folder.sub("refs").unwrap()).unwrap());
    assert_eq!(now.keys().collect::<Vec<_>>(), ["refs/heads/new"]);
}

#[test]
fn packed_refs_must_be_a_regular_file() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read_packed(dir.path()).unwrap(), RefMap::new());
    let packed = dir.path().join("packed-refs");
    // Reading this link to the end would exhaust memory.
    std::os::unix::fs::symlink("/dev/zero", &packed).unwrap();
    assert!(read_packed(dir.path()).is_err());
    fs::remove_file(&packed).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(&packed).status();
    assert!(pipe.unwrap().success());
    let why = read_packed(dir.path()).unwrap_err().to_string();
    assert!(
        why.contains("packed-refs: it is not a regular file"),
        "{why}"
    );
}
