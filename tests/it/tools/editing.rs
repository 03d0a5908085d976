//! edit_file as models call it: nearly exact text, several edits in one call, files that changed meanwhile.

use serde_json::json;

use crate::common::tool_fixture::ToolFixture;

const PYTHON: &str = "class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n";

#[test]
fn edit_tolerates_missing_leading_spaces() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    let text = place.ok(
        "edit_file",
        json!({"path": "a.py", "old_text": "def f(self):\n    x = 1\n    return x", "new_text": "def f(self):\n    x = 1\n    if x:\n        x += 1\n    return x"}),
    );
    assert_eq!(
        place.read("a.py"),
        PYTHON.replace("x = 1\n", "x = 1\n        if x:\n            x += 1\n")
    );
    assert!(text.starts_with("Edited a.py"), "{text}");
    assert!(text.contains("did not match exactly"), "{text}");
    assert!(text.contains("indentation"), "{text}");
    assert!(text.contains("+            x += 1"), "{text}");
}

#[test]
fn exact_edit_has_a_short_result() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    let input = json!({"path": "a.py", "old_text": "return 2", "new_text": "return 3"});
    assert_eq!(place.ok("edit_file", input), "Edited a.py");
}

#[test]
fn failed_edit_shows_the_closest_lines_with_numbers() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    let text = place.expect_error(
        "edit_file",
        json!({"path": "a.py", "old_text": "    def f(self):\n        y = 17\n        yield y", "new_text": "x"}),
    );
    assert!(text.contains("Text not found"), "{text}");
    for line in [
        "2 |     def f(self):",
        "3 |         x = 1",
        "4 |         return x",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert_eq!(place.read("a.py"), PYTHON);
}

#[test]
fn edits_of_one_call_are_applied_in_order() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    let text = place.ok(
        "edit_file",
        json!({"path": "a.py", "edits": [
            {"old_text": "return 2", "new_text": "return 3"},
            {"old_text": "return 3", "new_text": "return 4"},
            {"old_text": "self", "new_text": "this", "replace_all": true},
        ]}),
    );
    assert!(text.starts_with("Edited a.py"), "{text}");
    assert_eq!(
        place.read("a.py"),
        PYTHON
            .replace("return 2", "return 4")
            .replace("self", "this")
    );
}

#[test]
fn one_failing_edit_leaves_the_file_unchanged() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    let text = place.expect_error(
        "edit_file",
        json!({"path": "a.py", "edits": [
            {"old_text": "return 2", "new_text": "return 3"},
            {"old_text": "import nothing at all", "new_text": ""},
        ]}),
    );
    assert!(text.contains("edit 2 of 2"), "{text}");
    assert!(text.contains("Nothing was changed"), "{text}");
    assert_eq!(place.read("a.py"), PYTHON);
    for input in [
        json!({"path": "a.py"}),
        json!({"path": "a.py", "edits": []}),
        json!({"path": "a.py", "old_text": "x = 1"}),
        json!({"path": "a.py", "old_text": "", "new_text": "x"}),
        json!({"path": "a.py", "edits": [{"old_text": "x = 1"}]}),
    ] {
        place.expect_error("edit_file", input);
    }
    assert_eq!(place.read("a.py"), PYTHON);
}

#[test]
fn malformed_edits_arguments_are_accepted() {
    for input in [
        json!({"path": "a.py", "edits": "[{\"old_text\": \"return 2\", \"new_text\": \"return 3\"}]"}),
        json!({"path": "a.py", "edits": {"old_text": "return 2", "new_text": "return 3"}}),
        json!({"path": "a.py", "old_text": null, "new_text": null, "edits": [{"old_text": "return 2", "new_text": "return 3", "replace_all": null}]}),
        json!({"path": "a.py", "old_text": "", "new_text": null, "edits": [{"old_text": "return 2", "new_text": "return 3"}]}),
        json!({"path": "a.py", "old_text": null, "new_text": "", "edits": [{"old_text": "return 2", "new_text": "return 3"}]}),
        json!({"path": "a.py", "old_text": "", "new_text": "", "edits": [{"old_text": "return 2", "new_text": "return 3"}]}),
        json!({"path": "a.py", "old_text": "return 2", "new_text": "return 3", "edits": []}),
        json!({"path": "a.py", "old_text": "return 2", "new_text": "return 3", "edits": null}),
    ] {
        let place = ToolFixture::new();
        place.write("a.py", PYTHON);
        place.ok("edit_file", input);
        assert_eq!(place.read("a.py"), PYTHON.replace("return 2", "return 3"));
    }
}

#[test]
fn file_changed_since_last_read_is_refused_once() {
    for tool in ["edit_file", "write_file"] {
        let place = ToolFixture::new();
        place.write("a.py", PYTHON);
        place.ok("read_file", json!({"path": "a.py"}));
        let theirs = PYTHON.replace("x = 1", "x = 99");
        place.write("a.py", &theirs);
        let input = match tool {
            "edit_file" => {
                json!({"path": "a.py", "old_text": "return 2", "new_text": "return 3"})
            }
            _ => json!({"path": "a.py", "content": "mine\n"}),
        };
        let text = place.expect_error(tool, input.clone());
        assert!(text.contains("changed since you last read it"), "{text}");
        assert!(text.contains("-        x = 1\n+        x = 99"), "{text}");
        assert_eq!(place.read("a.py"), theirs);
        // The refusal showed the change, so the same call is accepted now.
        place.ok(tool, input);
    }
}

#[test]
fn change_too_large_to_show_requires_a_new_read() {
    let place = ToolFixture::new();
    place.write("a.txt", "one\n");
    place.ok("read_file", json!({"path": "a.txt"}));
    place.write(
        "a.txt",
        "one\n".to_string() + &"another line\n".repeat(2000),
    );
    let input = json!({"path": "a.txt", "old_text": "one", "new_text": "1"});
    for _ in 0..2 {
        let text = place.expect_error("edit_file", input.clone());
        assert!(text.contains("read_file"), "{text}");
        assert!(text.len() < 6000, "{}", text.len());
    }
    place.ok("read_file", json!({"path": "a.txt"}));
    place.ok("edit_file", input);
}

#[test]
fn writing_identical_content_reports_no_change() {
    let place = ToolFixture::new();
    let write = json!({"path": "a.py", "content": PYTHON});
    assert!(place.ok("write_file", write.clone()).contains("Wrote"));
    let text = place.ok("write_file", write);
    assert!(text.contains("Nothing was changed"), "{text}");
}

#[test]
fn own_changes_and_unread_files_are_accepted() {
    let place = ToolFixture::new();
    place.write("a.py", PYTHON);
    // A file that was never read needs only an exact match.
    let edit = |old: &str, new: &str| json!({"path": "a.py", "old_text": old, "new_text": new});
    place.ok("edit_file", edit("return 2", "return 3"));
    place.ok("edit_file", edit("return 3", "return 4"));
    place.ok("write_file", json!({"path": "a.py", "content": PYTHON}));
    place.ok("edit_file", edit("return 2", "return 5"));
    // An edit by another agent counts as a change for this one.
    place.call_as("bob", "edit_file", edit("return 5", "return 6"));
    let text = place.expect_error("edit_file", edit("return 6", "return 7"));
    assert!(text.contains("changed since you last"), "{text}");
    // A deleted file can be written again.
    std::fs::remove_file(place.root().join("a.py")).unwrap();
    place.ok("write_file", json!({"path": "a.py", "content": PYTHON}));
}

#[test]
fn edit_preserves_line_endings_and_indentation() {
    let place = ToolFixture::new();
    place.write("a.txt", "one  \r\n\ttwo\r\nthree\nfour");
    place.ok(
        "edit_file",
        json!({"path": "a.txt", "old_text": "one\ntwo\n", "new_text": "one\ntwo\nmore\n"}),
    );
    assert_eq!(
        place.read("a.txt"),
        "one  \r\n\ttwo\r\n\tmore\r\nthree\nfour"
    );
}
