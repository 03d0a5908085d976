//! edit_file as models call it: text that is nearly right, several edits at once, files that changed meanwhile.

use serde_json::json;

use crate::place::Place;

const PYTHON: &str = "class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n";

#[test]
fn leading_blanks_that_are_missing_do_not_stop_an_edit() {
    let place = Place::new();
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
    assert!(text.contains("not exact"), "{text}");
    assert!(text.contains("indentation"), "{text}");
    assert!(text.contains("+            x += 1"), "{text}");
}

#[test]
fn the_result_of_an_exact_edit_stays_short() {
    let place = Place::new();
    place.write("a.py", PYTHON);
    let input = json!({"path": "a.py", "old_text": "return 2", "new_text": "return 3"});
    assert_eq!(place.ok("edit_file", input), "Edited a.py");
}

#[test]
fn a_failed_edit_shows_the_nearest_lines_with_numbers() {
    let place = Place::new();
    place.write("a.py", PYTHON);
    let text = place.no(
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
fn several_edits_of_one_call_are_made_in_order() {
    let place = Place::new();
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
fn one_edit_that_fails_leaves_the_file_as_it_was() {
    let place = Place::new();
    place.write("a.py", PYTHON);
    let text = place.no(
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
        place.no("edit_file", input);
    }
    assert_eq!(place.read("a.py"), PYTHON);
}

#[test]
fn what_some_models_send_around_the_array_is_understood() {
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
        let place = Place::new();
        place.write("a.py", PYTHON);
        place.ok("edit_file", input);
        assert_eq!(place.read("a.py"), PYTHON.replace("return 2", "return 3"));
    }
}

#[test]
fn a_file_that_changed_since_it_was_read_is_refused_once() {
    for tool in ["edit_file", "write_file"] {
        let place = Place::new();
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
        let text = place.no(tool, input.clone());
        assert!(text.contains("changed since you last read it"), "{text}");
        assert!(text.contains("-        x = 1\n+        x = 99"), "{text}");
        assert_eq!(place.read("a.py"), theirs);
        // What changed was shown: the same call is made knowingly now.
        place.ok(tool, input);
    }
}

#[test]
fn a_change_too_large_to_show_asks_for_another_read() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.ok("read_file", json!({"path": "a.txt"}));
    place.write(
        "a.txt",
        "one\n".to_string() + &"another line\n".repeat(2000),
    );
    let input = json!({"path": "a.txt", "old_text": "one", "new_text": "1"});
    for _ in 0..2 {
        let text = place.no("edit_file", input.clone());
        assert!(text.contains("read_file"), "{text}");
        assert!(text.len() < 6000, "{}", text.len());
    }
    place.ok("read_file", json!({"path": "a.txt"}));
    place.ok("edit_file", input);
}

#[test]
fn writing_the_same_content_again_says_that_nothing_changed() {
    let place = Place::new();
    let write = json!({"path": "a.py", "content": PYTHON});
    assert!(place.ok("write_file", write.clone()).contains("Wrote"));
    let text = place.ok("write_file", write);
    assert!(text.contains("Nothing was changed"), "{text}");
}

#[test]
fn own_changes_and_unread_files_are_not_refused() {
    let place = Place::new();
    place.write("a.py", PYTHON);
    // Never read: an exact match is enough.
    let edit = |old: &str, new: &str| json!({"path": "a.py", "old_text": old, "new_text": new});
    place.ok("edit_file", edit("return 2", "return 3"));
    place.ok("edit_file", edit("return 3", "return 4"));
    place.ok("write_file", json!({"path": "a.py", "content": PYTHON}));
    place.ok("edit_file", edit("return 2", "return 5"));
    // What another agent did with its own tools counts as a change for this one.
    place.call_as("bob", "edit_file", edit("return 5", "return 6"));
    let text = place.no("edit_file", edit("return 6", "return 7"));
    assert!(text.contains("changed since you last"), "{text}");
    // A file that is gone is written anew.
    std::fs::remove_file(place.root().join("a.py")).unwrap();
    place.ok("write_file", json!({"path": "a.py", "content": PYTHON}));
}

#[test]
fn line_ends_and_the_rest_of_the_file_stay_as_they_are() {
    let place = Place::new();
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
