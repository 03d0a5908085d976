//! Tests of roles on disk: precedence, rejected files and limits.

use std::fs;
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;
use crate::domain::role::ToolUse;

/// The names of the built-in tools, as far as the roles of these tests name tools.
const TOOLS: &[&str] = &[
    "bash",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "task",
    "load_skill",
];

fn write(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn role(dir: &Path, path: &str, name: &str) {
    let text = format!("---\nname: {name}\ndescription: from {path}\n---\nDo it.\n");
    write(dir, path, &text);
}

fn read(dir: &Path) -> RoleCatalog {
    Roles::open(&dir.join("root"), Some(dir.join("user")), TOOLS.to_vec()).read()
}

#[test]
fn built_in_roles_have_no_mistakes() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = read(dir.path());
    let names: Vec<&str> = catalog.roles.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["implementer", "reviewer", "tester"]);
    assert!(
        catalog.roles.iter().all(|r| r.notices.is_empty()),
        "{catalog:?}"
    );
    assert_eq!(
        (catalog.broken.len(), catalog.prompt_list()),
        (0, String::new())
    );
    let reviewer = catalog.find(" Reviewer ").unwrap();
    let writing = [
        "write_file",
        "edit_file",
        "bash",
        "background_run",
        "mcp__a__b",
    ];
    let permits = |tool, used_for| reviewer.tools.permits(tool, used_for);
    assert!(writing.iter().all(|tool| !permits(tool, ToolUse::Work)));
    assert!(permits("read_file", ToolUse::Work) && permits("send_message", ToolUse::Coordination));
}

#[test]
fn earlier_source_wins() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    role(dir, "root/.crewdeck/agents/a.md", "one");
    role(dir, "root/.claude/agents/deep/er/b.md", "ONE");
    role(dir, "root/.claude/agents/c.md", "two");
    role(dir, "user/d.md", "two");
    role(dir, "user/e.md", "three");
    role(dir, "user/f.md", "tester");
    let found = read(dir);
    let found: Vec<(&str, RoleSource)> = found
        .roles
        .iter()
        .map(|r| (r.name.as_str(), r.source))
        .collect();
    assert_eq!(
        found,
        [
            ("implementer", RoleSource::BuiltIn),
            ("one", RoleSource::Project),
            ("reviewer", RoleSource::BuiltIn),
            ("tester", RoleSource::User),
            ("three", RoleSource::User),
            ("two", RoleSource::User),
        ]
    );
}

#[test]
fn project_cannot_replace_a_role_of_the_user() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let limited = "---\nname: auditor\ndescription: mine\ntools: Read\n---\nLook.\n";
    write(dir, "user/auditor.md", limited);
    role(dir, "root/.claude/agents/a.md", "Auditor");
    role(dir, "root/.claude/agents/reviewer.md", "reviewer");
    role(dir, "user/tester.md", "tester");
    let catalog = read(dir);
    let auditor = catalog.resolve("auditor").unwrap().unwrap();
    assert_eq!(auditor.source, RoleSource::User);
    assert!(!auditor.tools.permits("bash", ToolUse::Work));
    let told: Vec<(&str, &str)> = catalog
        .broken
        .iter()
        .map(|b| (b.path.as_str(), b.why.as_str()))
        .collect();
    let [(path, why)] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(path, ".claude/agents/a.md");
    assert!(why.starts_with("your own role 'auditor' ("), "{why}");
    assert!(
        why.ends_with("is used instead: rename one to use both"),
        "{why}"
    );
    // A role of the project may replace a built-in one, with a notice.
    let notices = |name: &str| -> Vec<String> {
        let role = catalog.find(name).unwrap();
        role.notices.iter().map(|n| n.text.clone()).collect()
    };
    assert_eq!(
        notices("reviewer"),
        ["it replaces the built-in role 'reviewer'"]
    );
    assert_eq!(notices("tester"), [""; 0]);
}

#[test]
fn broken_files_leave_the_others_usable() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    role(dir, "root/.claude/agents/good.md", "good");
    role(dir, "root/.claude/agents/same.md", "good");
    role(dir, "root/.claude/agents/.hidden.md", "hidden");
    role(dir, "root/.claude/agents/note.txt", "text");
    role(dir, "outside.md", "outside");
    write(dir, "root/.claude/agents/README.md", "About these roles.");
    write(dir, "root/.claude/agents/plain.md", "No front matter.");
    write(dir, "root/.claude/agents/big.md", &"x".repeat(300 * 1024));
    fs::write(
        dir.join("root/.claude/agents/latin.md"),
        b"---\nname: \xe9\n---\n",
    )
    .unwrap();
    symlink(
        dir.join("outside.md"),
        dir.join("root/.claude/agents/link.md"),
    )
    .unwrap();
    symlink(dir.join("gone.md"), dir.join("root/.claude/agents/gone.md")).unwrap();
    fs::create_dir_all(dir.join("root/.claude/agents/folder.md")).unwrap();
    let catalog = read(dir);
    let own: Vec<&str> = catalog
        .roles
        .iter()
        .filter(|r| r.source == RoleSource::Claude)
        .map(|r| r.name.as_str())
        .collect();
    assert_eq!(own, ["good"]);
    let broken: Vec<(&str, &str)> = catalog
        .broken
        .iter()
        .map(|b| (b.path.as_str(), b.why.as_str()))
        .collect();
    let expected = [
        ("big.md", "it is larger than 256 KiB"),
        ("gone.md", "it is a "),
        ("latin.md", "line 2: the text is not UTF-8"),
        ("link.md", "it is a link that leads out"),
        ("plain.md", "line 1: there is no front matter"),
        (
            "same.md",
            "its name 'good' is used by .claude/agents/good.md",
        ),
    ];
    assert_eq!(broken.len(), expected.len(), "{broken:?}");
    for ((path, why), (name, start)) in broken.iter().zip(expected) {
        assert_eq!(*path, format!(".claude/agents/{name}"));
        assert!(why.starts_with(start), "{path}: {why}");
    }
}

#[test]
fn number_of_roles_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..ROLES_MAX + 10 {
        role(
            dir.path(),
            &format!("root/.claude/agents/r{n:03}.md"),
            &format!("r{n}"),
        );
    }
    let catalog = read(dir.path());
    assert_eq!(catalog.roles.len(), ROLES_MAX);
    assert!(!catalog.broken.is_empty());
}

#[test]
fn broken_file_keeps_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let broken = "---\nname: Careful\ndescription: x\nTools: Read\n---\nDo it.";
    write(dir, "root/.claude/agents/c.md", broken);
    // Another role of the project and a built-in role have the names of broken files. They must not replace these files,
    // because they have other limits.
    role(dir, "root/.claude/agents/careful.md", "careful");
    write(dir, "root/.claude/agents/reviewer.md", "No front matter.");
    let catalog = read(dir);
    for name in ["careful", " CAREFUL ", "c"] {
        let why = catalog.resolve(name).unwrap_err();
        assert!(
            why.starts_with(".claude/agents/c.md: line 4: "),
            "{name}: {why}"
        );
    }
    assert!(catalog.resolve("Reviewer").is_err());
    assert_eq!(catalog.resolve("tester").unwrap().unwrap().name, "tester");
    assert_eq!(catalog.resolve("careful reviewer").unwrap(), None);
    // A valid role from a source with higher precedence replaces a broken file.
    role(dir, "root/.crewdeck/agents/r.md", "reviewer");
    let catalog = read(dir);
    let found = catalog.resolve("reviewer").unwrap().unwrap();
    assert_eq!(found.source, RoleSource::Project);
}

#[test]
fn no_text_is_free_while_roles_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join(".claude")).unwrap();
    role(dir.path(), "outside/a.md", "a");
    symlink(dir.path().join("outside"), root.join(".claude/agents")).unwrap();
    let catalog = read(dir.path());
    let why = catalog.resolve("a").unwrap_err();
    assert!(
        why.starts_with("some roles cannot be read: .claude/agents: "),
        "{why}"
    );
    assert!(catalog.resolve("tester").unwrap().is_some());
    assert_eq!(catalog.resolve("teammate").unwrap(), None);
}
