//! Tests of accepted edits, refused edits and the texts of refusals.

use pretty_assertions::assert_eq;

use super::cases::{CASES, JS, PY};
use super::*;

#[test]
fn known_model_mistakes_are_tolerated() {
    for case in CASES {
        let (from, to) = case.want;
        assert_eq!(
            case.file.matches(from).count(),
            1,
            "{}: {from:?}",
            case.name
        );
        let edit = Edit {
            old: case.old,
            new: case.new,
            occurrences: Occurrences::One,
        };
        let done = replace(case.file, &edit).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
        assert_eq!(done.text, case.file.replace(from, to), "{}", case.name);
        let ignored = done.ignored.join("; ");
        assert_eq!(
            ignored.is_empty(),
            case.ignored.is_empty(),
            "{}: {ignored}",
            case.name
        );
        assert!(ignored.contains(case.ignored), "{}: {ignored}", case.name);
    }
}

fn refusal_text(file: &str, old: &str, new: &str) -> String {
    let edit = Edit {
        old,
        new,
        occurrences: Occurrences::One,
    };
    match replace(file, &edit) {
        Ok(done) => panic!("{old:?}: {done:?}"),
        Err(refusal) => format!("{}. {}", refusal.why, refusal.help),
    }
}

#[test]
fn ambiguous_edit_is_refused() {
    let twins = "fn make_user(a: u8) {\n    check(a);\n    store(a);\n    log(a);\n}\n\nfn make_admin(a: u8) {\n    check(a);\n    store(a);\n    log(a);\n}\n";
    for (name, file, old, says) in [
        ("twice", PY, "self", "2 times (lines 2, 6)"),
        (
            "twice, but for indentation",
            "a:\n  x = 1\nb:\n    x = 1\n",
            "   x = 1 ",
            "2 times (lines 2, 4)",
        ),
        ("overlapping", "}\n}\n}\n", " }\n}", "2 times"),
        (
            "one line with another name",
            "const RETRIES_A: usize = 300;\n",
            "const RETRIES_B: usize = 300;",
            "not found",
        ),
        (
            "another number",
            "timeout = 60\nretries = 3\n",
            "timeout = 30",
            "not found",
        ),
        (
            "an operator",
            "if a < b {\n    x();\n}\n",
            "if a > b {",
            "not found",
        ),
        (
            "nearly two functions",
            twins,
            "fn make_usre(a: u8) {\n    check(a);\n    store(a);\n    log(a);\n}",
            "not found",
        ),
        (
            "only brackets are the same",
            "fn a() {\n    one();\n    two();\n}\n",
            "fn b(x: u8) {\n    three(x);\n    two();\n}",
            "not found",
        ),
        (
            "a block that was made up around its ends",
            JS,
            "function a() {\n  let sum = 0;\n  for (;;) {}\n}",
            "not found",
        ),
        (
            "a line in the middle that the text does not have",
            PY,
            "    def f(self):\n        return x",
            "not found",
        ),
        (
            "more omitted than in the new text",
            JS,
            "function a() {\n  ...\n}",
            "not found",
        ),
        ("blank", "a\n\n\nb\n", " \n\t\n", "not found"),
        ("nothing", PY, "", "empty"),
    ] {
        let text = refusal_text(file, old, "new");
        assert!(text.contains(says), "{name}: {text}");
    }
    assert!(refusal_text(PY, "x", "x").contains("the same"));
    let already = refusal_text(PY, "x  =  1", "x = 1");
    assert!(already.contains("already"), "{already}");
    let dots = refusal_text(JS, "function a() {\n  ...\n}", "x");
    assert!(dots.contains("A line such as ..."), "{dots}");
}

#[test]
fn replace_all_replaces_every_occurrence() {
    for (file, old, new, want, count) in [
        ("b = 1\nb = 1\n", "= 1", "= 2", "b = 2\nb = 2\n", 2),
        (
            "a:\n  x = 1\nb:\n    x = 1\n",
            "   x = 1 ",
            "   x = 2",
            "a:\n  x = 2\nb:\n    x = 2\n",
            2,
        ),
        ("}\n}\n}\n", " }\n}", "x", "x\n}\n", 1),
    ] {
        let edit = Edit {
            old,
            new,
            occurrences: Occurrences::All,
        };
        let done = replace(file, &edit).unwrap();
        assert_eq!((done.text.as_str(), done.count), (want, count), "{old:?}");
    }
}

#[test]
fn refusal_names_an_edit_that_was_made_before() {
    let file = "limit = 20\nname = 'long enough'\n";
    let text = refusal_text(file, "an entirely different line", "name = 'long enough'");
    assert!(text.contains("already contains new_text"), "{text}");
    let text = refusal_text(file, "an entirely different line", "name = 'another one'");
    assert!(!text.contains("already contains"), "{text}");
}

#[test]
fn refusal_shows_most_similar_lines_within_bounds() {
    let text = refusal_text(PY, "    def g(this):\n        return 22\n        pass", "x");
    assert!(text.contains("    6 |     def g(self):"), "{text}");
    assert!(text.contains("    7 |         return 2"), "{text}");
    let text = refusal_text(PY, "import os, sys, re, json", "x");
    assert!(text.contains("No line of the file is similar"), "{text}");

    let line = |end: &str| format!("let table = [{}{end}", "1, ".repeat(100_000));
    let text = refusal_text(&line("2]"), &line("3]"), "x");
    assert!(text.contains("    1 | let table"), "{text}");
    assert!(text.len() < 600, "{}", text.len());
    let many = "fn a() { one(); two(); three(); }\n".repeat(5000);
    let text = refusal_text(
        &many,
        &"fn a() { one(); two(); four(); }\n".repeat(300),
        "x",
    );
    assert!(text.len() < 4000, "{}", text.len());
}
