//! Tests of valid and invalid SKILL.md files.

use super::{BODY_MAX, DESCRIPTION_MAX, NAME_MAX, SkillFile, TAG_MAX, TAGS_MAX};
use crate::domain::text::clip;
use pretty_assertions::assert_eq;

fn parse_skill(text: &str) -> SkillFile {
    SkillFile::parse(text, "folder").unwrap()
}

fn file(name: &str, description: &str, tags: &[&str], body: &str) -> SkillFile {
    SkillFile {
        name: name.into(),
        description: description.into(),
        tags: tags.iter().map(|t| (*t).to_string()).collect(),
        body: body.into(),
    }
}

#[test]
fn valid_files_are_parsed() {
    let cases = [
        (
            "---\nname: pdf\ndescription: Reads PDF files\ntags: [a, b]\n---\n\n# Do\n\nthis\n",
            file("pdf", "Reads PDF files", &["a", "b"], "# Do\n\nthis"),
        ),
        (
            "\u{feff}---\r\nname: \"pdf\"\r\ndescription: |\r\n  Two\r\n  lines\r\ntags: a, b ,,\r\n---\r\nDo\r\nthis\r\n",
            file("pdf", "Two lines", &["a", "b"], "Do\nthis"),
        ),
        (
            "---\ndescription: >-\n  Folded\n  text: with a colon\nlicense: MIT\nmetadata: {version: 1}\nallowed-tools: Read, Grep\n---\nDo",
            file("folder", "Folded text: with a colon", &[], "Do"),
        ),
        ("Do", file("folder", "No description", &[], "Do")),
        ("---\n---\nDo", file("folder", "No description", &[], "Do")),
        (
            "\n\n---  \nname: PDF files 2.0\ntags:\n  - 1\n  - yes\n---\nDo\n---\nmore",
            file(
                "PDF files 2.0",
                "No description",
                &["1", "yes"],
                "Do\n---\nmore",
            ),
        ),
        (
            "---\nname: 12\ndescription:\ntags:\n---\nDo",
            file("12", "No description", &[], "Do"),
        ),
        (
            "---\nname: größe\ntags: one\n---\n\tDo",
            file("größe", "No description", &["one"], "Do"),
        ),
        (
            "--- not a fence\nDo",
            file("folder", "No description", &[], "--- not a fence\nDo"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(SkillFile::parse(text, "folder"), Ok(expected), "{text}");
    }
}

#[test]
fn errors_name_the_line_and_the_fix() {
    let long = format!("---\nname: a\nx: {}\n---\nDo", "y".repeat(16 * 1024));
    let cases = [
        (
            "---\nname: a\nDo this",
            "line 1: the front matter has no end: add a line --- below it",
        ),
        (
            "---\nname: a\ndescription: Use when: asked\n---\nDo",
            "line 3: mapping values are not allowed in this context: write lines of KEY: VALUE, and quote values that contain ': ' or '#'",
        ),
        (
            "---\nname: a\n\n---\n\n",
            "line 5: the skill has no text: write instructions below the front matter",
        ),
        (
            "",
            "line 1: the skill has no text: write instructions below the front matter",
        ),
        ("---\nname: 'a\n---\nDo", "line 3: "),
        (
            "\n---\nname: a/b\n---\nDo",
            "line 3: \"a/b\" is not a valid name: set `name` to 1 to 64 letters",
        ),
        ("---\ndescription: x\nname: ../../etc\n---\nDo", "line 3: "),
        (
            "---\nname: \"a\\u001b[2J\"\n---\nDo",
            "line 2: \"a␛[2J\" is not a valid name",
        ),
        (
            "---\nname: a\u{115f}b\n---\nDo",
            "line 2: \"a\u{fffd}b\" is not a valid name",
        ),
        ("---\nname: [a]\n---\nDo", "line 2: "),
        ("---\nname: a\nname: b\n---\nDo", "line 3: "),
        ("---\nname: a\ndescription: [x]\n---\nDo", "line 3: "),
        ("---\nname: a\ntags: {x: 1}\n---\nDo", "line 3: "),
        ("---\nname: a\ntags: [[x]]\n---\nDo", "line 3: "),
        ("---\n- a\n---\nDo", "line 2: "),
        ("---\nwords\n---\nDo", "line 2: "),
        ("---\nname: a\n\tx: 1\n---\nDo", "line 2: "),
        ("---\nname: *gone\n---\nDo", "line 2: "),
        (
            long.as_str(),
            "line 1: the front matter is longer than 16 KiB",
        ),
    ];
    for (text, expected) in cases {
        let why = SkillFile::parse(text, "folder").unwrap_err().to_string();
        assert!(why.starts_with(expected), "{text}\n{why}\n{expected}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    let why = SkillFile::parse("Do", "-odd-").unwrap_err().to_string();
    assert!(
        why.starts_with("line 1: \"-odd-\" is not a valid name: set `name` "),
        "{why}"
    );
}

#[test]
fn oversized_fields_are_cut_or_rejected() {
    let long = "é".repeat(3000);
    let name = "n".repeat(NAME_MAX + 1);
    assert!(SkillFile::parse(&format!("---\nname: {name}\n---\nDo"), "f").is_err());
    let tags = vec!["é".repeat(TAG_MAX + 5); 20].join(", ");
    let text = format!(
        "---\ndescription: {long}\ntags: t\n---\n{}",
        long.repeat(40)
    );
    let skill = parse_skill(&text);
    assert_eq!(skill.description.chars().count(), DESCRIPTION_MAX);
    assert!(skill.description.ends_with('…'));
    assert!(skill.body.len() < BODY_MAX + 60);
    assert!(skill.body.ends_with(" bytes cut here …]"));
    let text = format!("---\ntags: [{tags}]\n---\nDo");
    assert_eq!(
        parse_skill(&text).tags,
        vec![clip(&long, TAG_MAX); TAGS_MAX]
    );
}

#[test]
fn control_characters_are_escaped() {
    let text = "---\nname: a\ndescription: \"x\\u001b[2J\\ny\\u202e\"\ntags: [\"\\u0007\"]\n---\nall:\n\tcc \u{1b}]0;t\u{7}\n";
    let skill = parse_skill(text);
    assert_eq!(skill, file("a", "x␛[2J y�", &["␇"], "all:\n\tcc ␛]0;t␇"));
}

#[test]
fn yaml_alias_bomb_is_rejected_quickly() {
    let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let refs = vec![format!("*a{}", n - 1); 10].join(", ");
        yaml.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    let text = format!("---\nname: a\n{yaml}---\nDo");
    // Unused keys may be ignored without an error, but parsing must not hang.
    let _ = SkillFile::parse(&text, "a");
    let tags = format!("---\n{yaml}tags: *a11\n---\nDo");
    assert!(SkillFile::parse(&tags, "a").is_err());
}
