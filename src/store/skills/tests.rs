//! Tests of skills on disk: precedence, rejected files and detection of changes.

use std::fs;
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;

struct Disk {
    dir: tempfile::TempDir,
}

impl Disk {
    fn new() -> Disk {
        let disk = Disk {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(disk.root()).unwrap();
        disk
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, path: &str, name: &str) {
        let text = format!("---\nname: {name}\ndescription: from {path}\n---\nDo {path}.\n");
        self.write(&format!("{path}/SKILL.md"), text);
    }

    fn skills(&self) -> Skills {
        Skills::open(&self.root(), Some(self.dir.path().join("user")))
    }

    /// Returns the names and descriptions of all skills that are not built in.
    fn names(&self) -> Vec<(String, String)> {
        let book = self.skills().read();
        let own = book.skills.into_iter();
        own.filter(|s| s.source != SkillSource::BuiltIn)
            .map(|s| (s.name, s.description))
            .collect()
    }

    fn broken_skills(&self) -> Vec<(String, String)> {
        let broken = self.skills().read().broken.into_iter();
        broken.map(|b| (b.path, b.why)).collect()
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(a, b)| ((*a).into(), (*b).into()))
        .collect()
}

#[test]
fn built_in_skills_exist_without_any_folder() {
    let disk = Disk::new();
    let book = disk.skills().read();
    let names: Vec<&str> = book.skills.iter().map(|s| s.name.as_str()).collect();
    let folders: Vec<&str> = BUILT_IN.iter().map(|(folder, _)| *folder).collect();
    assert_eq!(
        names, folders,
        "each skill has the name of its folder, and the list is sorted"
    );
    assert_eq!(book.broken, vec![]);
    assert!(book.skills.iter().all(|s| s.path.is_empty()));
}

#[test]
fn first_source_of_a_name_wins() {
    let disk = Disk::new();
    for (path, name) in [
        ("root/skills/a", "Alpha"),
        ("root/.claude/skills/a", "alpha"),
        ("root/.claude/skills/deep/er/b", "beta"),
        ("user/b", "BETA"),
        ("user/c", "gamma"),
        ("user/review", "Code-Review"),
    ] {
        disk.skill(path, name);
    }
    assert_eq!(
        disk.names(),
        pairs(&[
            ("Alpha", "from root/skills/a"),
            ("beta", "from root/.claude/skills/deep/er/b"),
            ("Code-Review", "from user/review"),
            ("gamma", "from user/c"),
        ])
    );
    let book = disk.skills().read();
    assert_eq!(book.broken, vec![]);
    assert_eq!(book.skills.len(), 4 + BUILT_IN.len() - 1);
    let found = |name: &str| {
        let skill = book.find(name).unwrap();
        (skill.source, skill.path.clone())
    };
    assert_eq!(
        found("ALPHA"),
        (SkillSource::Project, "skills/a/SKILL.md".into())
    );
    assert_eq!(
        found("beta"),
        (
            SkillSource::Claude,
            ".claude/skills/deep/er/b/SKILL.md".into()
        )
    );
    let gamma = disk.dir.path().join("user/c/SKILL.md");
    assert_eq!(
        found("gamma"),
        (SkillSource::User, gamma.display().to_string())
    );
}

#[test]
fn unusable_skills_are_reported_and_the_others_work() {
    let disk = Disk::new();
    disk.skill("root/skills/good", "good");
    disk.skill("root/skills/twice", "Good");
    disk.skill("root/skills/1/2/3/4", "deep");
    disk.skill("root/skills/1/2/3/4/5", "too-deep");
    disk.skill("root/skills/.hidden", "hidden");
    disk.skill("root/skills/node_modules/x", "packaged");
    disk.write("root/skills/yaml/SKILL.md", "---\nname: [\n---\nDo");
    disk.write("root/skills/bytes/SKILL.md", b"Do\nthis \xff");
    disk.write("root/skills/large/SKILL.md", "x".repeat(256 * 1024 + 1));
    disk.write("root/skills/empty/SKILL.md", "");
    disk.write("root/skills/other.md", "no skill");
    fs::create_dir_all(disk.root().join("skills/dir/SKILL.md")).unwrap();
    assert_eq!(
        disk.names(),
        pairs(&[
            ("deep", "from root/skills/1/2/3/4"),
            ("good", "from root/skills/good")
        ])
    );
    let broken = disk.broken_skills();
    let begins = [
        ("skills/bytes/SKILL.md", "line 2: the text is not UTF-8"),
        ("skills/empty/SKILL.md", "line 1: the skill has no text"),
        ("skills/large/SKILL.md", "it is larger than 256 KiB"),
        (
            "skills/twice/SKILL.md",
            "its name 'Good' is used by skills/good/SKILL.md: choose another name",
        ),
        ("skills/yaml/SKILL.md", "line "),
    ];
    assert_eq!(broken.len(), begins.len(), "{broken:?}");
    for ((path, why), (its_path, begin)) in broken.iter().zip(begins) {
        assert!(path == its_path && why.starts_with(begin), "{path}: {why}");
    }
}

#[test]
fn links_are_followed_inside_the_folder_only() {
    let disk = Disk::new();
    disk.skill("outside/secret", "secret");
    disk.skill("root/elsewhere/near", "near");
    disk.skill("root/skills/real", "real");
    let root = disk.root();
    symlink("../../outside/secret", root.join("skills/out")).unwrap();
    symlink("../elsewhere/near", root.join("skills/sideways")).unwrap();
    symlink("nowhere", root.join("skills/dangling")).unwrap();
    symlink("..", root.join("skills/real/loop")).unwrap();
    symlink("/dev/zero", root.join("skills/real/device")).unwrap();
    fs::create_dir_all(root.join("skills/file")).unwrap();
    symlink(
        disk.dir.path().join("outside/secret/SKILL.md"),
        root.join("skills/file/SKILL.md"),
    )
    .unwrap();
    let out =
        "it is a link that leads out of its folder and is not read: copy the file into the folder";
    let nothing = "it is a broken link: fix or remove it";
    let links = pairs(&[
        ("skills/dangling", nothing),
        ("skills/file/SKILL.md", out),
        ("skills/out", out),
        ("skills/sideways", out),
    ]);
    assert_eq!(disk.broken_skills(), links);
    assert_eq!(disk.names(), pairs(&[("real", "from root/skills/real")]));

    // The skills folder itself may be a link within the project (.claude/skills -> ../skills), but not out of it.
    fs::create_dir_all(root.join(".claude")).unwrap();
    symlink("../elsewhere", root.join(".claude/skills")).unwrap();
    assert_eq!(disk.names()[0].0, "near");
    fs::remove_file(root.join(".claude/skills")).unwrap();
    symlink("../../outside", root.join(".claude/skills")).unwrap();
    assert!(disk.names().iter().all(|(name, _)| name != "secret"));
    assert!(
        disk.broken_skills()
            .contains(&pairs(&[(".claude/skills", out)])[0])
    );
}

#[test]
fn pipe_does_not_block() {
    let disk = Disk::new();
    fs::create_dir_all(disk.root().join("skills/pipe")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(disk.root().join("skills/pipe/SKILL.md"))
        .status();
    assert!(made.unwrap().success());
    assert_eq!(
        disk.broken_skills(),
        pairs(&[("skills/pipe/SKILL.md", "it is not a regular file")])
    );
}

#[test]
fn skills_beyond_the_limit_are_left_out_and_reported() {
    let disk = Disk::new();
    for n in 10..10 + SKILLS_MAX + 2 {
        disk.skill(&format!("root/skills/s{n}"), &format!("s{n}"));
    }
    let book = disk.skills().read();
    assert_eq!(book.skills.len(), SKILLS_MAX);
    assert_eq!(book.broken.len(), 2 + BUILT_IN.len());
    assert!(book.broken.iter().all(|b| b.why.contains("more than ")));
    for n in 10..10 + SKILLS_MAX {
        disk.write(&format!("root/.claude/skills/s{n}/SKILL.md"), "---\n");
    }
    let book = disk.skills().read();
    assert_eq!(book.broken.len(), SKILLS_MAX);
    let last = book.broken.last().unwrap();
    let more = 2 + BUILT_IN.len() + 1;
    assert_eq!(
        (last.path.as_str(), last.why.clone()),
        (
            "…",
            format!("{more} more skills cannot be used: fix the listed ones first")
        )
    );
}

#[test]
fn fingerprint_changes_and_load_reads_the_current_text() {
    let disk = Disk::new();
    disk.skill("root/skills/a", "alpha");
    let skills = disk.skills();
    let first = skills.fingerprint();
    assert_eq!(first, skills.fingerprint());
    let before = skills.read();
    let loaded = skills.load("ALPHA").unwrap();
    assert_eq!(
        (loaded.body.as_str(), loaded.folder.as_deref()),
        ("Do root/skills/a.", None)
    );

    disk.write(
        "root/skills/a/SKILL.md",
        "---\nname: alpha\ndescription: from root/skills/a\n---\nDo otherwise.",
    );
    let second = skills.fingerprint();
    assert_ne!(first, second);
    assert_eq!(skills.load("alpha").unwrap().body, "Do otherwise.");
    assert_eq!(
        skills.read().changes_since(&before).as_deref(),
        Some("skills have changed: changed: alpha")
    );

    disk.write("root/skills/a/reference.md", "more");
    assert_eq!(
        skills.load("alpha").unwrap().folder,
        Some(PathBuf::from("skills/a"))
    );
    disk.skill("user/b", "beta");
    disk.write("user/b/more.md", "more");
    let third = skills.fingerprint();
    assert_ne!(second, third);
    assert_eq!(
        skills.load("beta").unwrap().folder,
        None,
        "file tools cannot reach it"
    );

    fs::remove_dir_all(disk.root().join("skills")).unwrap();
    assert_ne!(third, skills.fingerprint());
    let there = skills.load("alpha").unwrap_err();
    assert!(there.find("beta").is_some() && there.find("alpha").is_none());
}
