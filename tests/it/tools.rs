//! bash and the file tools on real files: limits, truncation marks and refusals.

mod editing;

use std::path::Path;

use serde_json::json;

use crate::common::tool_fixture::ToolFixture;

fn outside(place: &Path) -> String {
    place.join("../secret").display().to_string()
}

#[test]
fn command_output_is_truncated_with_a_mark() {
    let place = ToolFixture::new();
    let text = place.bash("seq 1 800000");
    assert!(text.len() < 51_000, "{}", text.len());
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n800000"));
    assert!(text.contains("bytes cut here"));
    let text = place.bash("head -c 200000 /dev/zero | tr '\\0' x");
    assert!(text.len() < 51_000 && text.contains("[… 150000 bytes cut here …]"));
    let streamed = *place.host.output.lock().unwrap();
    assert!(
        streamed > 200_000,
        "only {streamed} bytes were streamed to the screen"
    );
}

#[test]
fn binary_output_and_escape_sequences_are_returned_as_text() {
    let place = ToolFixture::new();
    let text = place.bash("head -c 100000 /dev/urandom");
    assert!(
        text.len() < 160_000 && text.contains('\u{fffd}'),
        "{}",
        text.len()
    );
    // The model gets the raw text; control characters are escaped before display.
    let text = place.bash("printf '\\033[2J\\033]0;title\\007red'");
    assert!(text.ends_with("red"), "{text:?}");
    let shown = crewdeck::domain::text::escape_control_chars(&text);
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
}

#[test]
fn command_result_states_how_it_ended() {
    let place = ToolFixture::new();
    assert_eq!(place.bash("true"), "(no output)");
    assert_eq!(
        place.expect_error("bash", json!({"command": "echo a; exit 3"})),
        "a\n[exit code 3]"
    );
    let text = place.expect_error("bash", json!({"command": "echo a; kill -9 $$"}));
    assert_eq!(text, "a\n[ended by signal 9]");
    let text = place.expect_error(
        "bash",
        json!({"command": "echo early; sleep 300", "timeout_s": 5}),
    );
    assert!(text.starts_with("early\n[Error: Timeout (5s)"), "{text}");
    assert!(
        place
            .expect_error("bash", json!({"cmd": "ls"}))
            .contains("does not match the tool's schema")
    );
    assert_eq!(place.bash("read x; echo \"<$x>\""), "<>");
}

#[test]
fn cd_alone_is_answered_with_a_hint() {
    let place = ToolFixture::new();
    std::fs::create_dir(place.root().join("sub")).unwrap();
    for command in ["cd sub", " cd ./sub ;", "cd sub && cd ..", "pushd sub"] {
        let text = place.bash(command);
        assert!(
            text.contains("The next call starts in the work directory again"),
            "{command}: {text}"
        );
    }
    for command in ["cd sub && pwd", "true", "(cd sub; ls)"] {
        let text = place.bash(command);
        assert!(!text.contains("next call"), "{command}: {text}");
    }
    let text = place.expect_error("bash", json!({"command": "cd none"}));
    assert!(!text.contains("next call"), "{text}");
}

#[test]
fn large_and_unusual_files_are_read_within_limits() {
    let place = ToolFixture::new();
    let lines: Vec<String> = (1..=400_000).map(|n| format!("line {n}")).collect();
    place.write("long", lines.join("\n"));
    place.write("wide", "x".repeat(200_000));
    place.write("binary", [0, 159, 146, 150, 0]);
    place.write("latin", [b'a', 0xe9, b'b']);
    place.write("empty", "");
    let text = place.ok("read_file", json!({"path": "long"}));
    assert!(
        text.len() < 51_000 && text.contains("more lines; continue with offset"),
        "{}",
        text.len()
    );
    let text = place.ok(
        "read_file",
        json!({"path": "long", "offset": 399_999, "limit": 5}),
    );
    assert!(
        text.contains("line 399999") && text.contains("line 400000"),
        "{text}"
    );
    let text = place.ok("read_file", json!({"path": "wide"}));
    assert!(text.len() < 51_000 && text.contains("is cut"));
    assert!(
        place
            .expect_error("read_file", json!({"path": "binary"}))
            .contains("is a binary file of 5 bytes")
    );
    assert!(
        place
            .ok("read_file", json!({"path": "latin"}))
            .contains("a\u{fffd}b")
    );
    assert_eq!(
        place.ok("read_file", json!({"path": "empty"})),
        "(empty file)"
    );
    let past = json!({"path": "long", "offset": 9_000_000});
    let why = place.expect_error("read_file", past);
    assert!(why.contains("only 400000 lines"), "{why}");
}

#[test]
fn file_tools_cannot_reach_outside_or_state_folders() {
    let place = ToolFixture::new();
    std::os::unix::fs::symlink("..", place.root().join("up")).unwrap();
    std::os::unix::fs::symlink("../secret", place.root().join("link")).unwrap();
    let absolute = outside(&place.root());
    for path in [
        "../secret",
        "up/secret",
        "link",
        absolute.as_str(),
        "/etc/passwd",
        "a/../../secret",
    ] {
        let text = place.expect_error("read_file", json!({"path": path}));
        assert!(
            text.starts_with("Error") && !text.contains("outside\n"),
            "{path}: {text}"
        );
        place.expect_error("write_file", json!({"path": path, "content": "mine"}));
        place.expect_error(
            "edit_file",
            json!({"path": path, "old_text": "outside", "new_text": "mine"}),
        );
    }
    for path in [
        ".tasks/task_1.json",
        ".team/config.json",
        ".git/hooks/x",
        ".transcripts/x",
    ] {
        place.expect_error("write_file", json!({"path": path, "content": "mine"}));
    }
    assert_eq!(
        std::fs::read_to_string(place.dir.path().join("secret")).unwrap(),
        "outside"
    );
    for tool in ["glob", "grep"] {
        let out = place.call_as("alice", tool, json!({"pattern": "outside", "path": "../"}));
        assert!(!out.text.contains("secret"), "{tool}: {out:?}");
    }
}

#[test]
fn write_edit_glob_and_grep_work() {
    let place = ToolFixture::new();
    place.ok(
        "write_file",
        json!({"path": "src/deep/a.rs", "content": "one\ntwo\ntwo\n"}),
    );
    let out = place.call_as(
        "alice",
        "edit_file",
        json!({"path": "src/deep/a.rs", "old_text": "one", "new_text": "1"}),
    );
    assert!(out.diff.contains("-one\n+1"), "{out:?}");
    let text = place.expect_error(
        "edit_file",
        json!({"path": "src/deep/a.rs", "old_text": "two", "new_text": "2"}),
    );
    assert!(text.contains("occurs 2 times"), "{text}");
    place.ok(
        "edit_file",
        json!({"path": "src/deep/a.rs", "old_text": "two", "new_text": "2", "replace_all": true}),
    );
    assert_eq!(place.read("src/deep/a.rs"), "1\n2\n2\n");
    assert!(
        place
            .expect_error(
                "edit_file",
                json!({"path": "src/deep/a.rs", "old_text": "three", "new_text": "3"})
            )
            .contains("not found")
    );
    assert!(
        place
            .expect_error(
                "edit_file",
                json!({"path": "none", "old_text": "a", "new_text": "b"})
            )
            .contains("does not exist")
    );
    assert_eq!(
        place.ok("glob", json!({"pattern": "*.rs"})),
        "src/deep/a.rs"
    );
    assert!(
        place
            .ok("glob", json!({"pattern": "*.py"}))
            .starts_with("No files")
    );
    assert!(
        place
            .expect_error("glob", json!({"pattern": "[a"}))
            .contains("is not a valid glob pattern")
    );
    assert_eq!(
        place.ok("grep", json!({"pattern": "^2$"})),
        "src/deep/a.rs:2:2\nsrc/deep/a.rs:3:2"
    );
    assert!(
        place
            .expect_error("grep", json!({"pattern": "("}))
            .contains("not a valid regular expression")
    );
    place.write("many", "hit\n".repeat(5000));
    place.write("wide", format!("hit {}\n", "x".repeat(200_000)));
    let text = place.ok("grep", json!({"pattern": "hit"}));
    assert!(
        text.len() < 51_000 && text.contains("more lines: narrow the search"),
        "{}",
        text.len()
    );
}

#[test]
fn transcript_forms_name_existing_tools() {
    for (name, ..) in crewdeck::ui::transcript::TOOL_DISPLAYS {
        assert!(crewdeck::tools::table::find(name).is_some(), "{name}");
    }
}
