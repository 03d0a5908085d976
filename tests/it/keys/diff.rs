//! The keys of the diff view.

use crate::common::repository::git;
use crate::keys::dashboard::{self, Dashboard, ESC};

/// In this script, a teammate changes three files in its worktree.
const SCRIPT: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Alpha } }
      - { tool: spawn_teammate, input: { name: alice, role: writer, prompt: Work } }
  - when: 'auto-claimed>Task #1'
    calls:
      - { tool: write_file, input: { path: base.txt, content: "one\nTWO\nthree\n" } }
      - { tool: write_file, input: { path: more.txt, content: "the needle\n" } }
      - { tool: bash, input: { command: "chmod +x run.sh; git add .; git commit -qm work" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - when: .
    times: 0
    say: fine
"#;

#[test]
fn diff_view_moves_file_by_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    git(at, &["init", "-q", "--template=", "-b", "main"]);
    git(at, &["config", "user.name", "t"]);
    git(at, &["config", "user.email", "t@t"]);
    std::fs::write(at.join("base.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(at.join("run.sh"), "true\n").unwrap();
    std::fs::write(at.join("script.yaml"), SCRIPT).unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-qm", "start"]);
    let screen = dashboard::start(at, &[], &["--tool", "auto"]);
    let mut dashboard = Dashboard { home, screen };
    dashboard.send("go\r");
    dashboard.wait_for("1/1 done");
    dashboard.press(ESC, "graph or list");
    let text = dashboard.press("D", "] next file");
    assert!(text.contains("3 files, +2 −1"), "{text}");
    for words in [
        "2 - two",
        "2 + TWO",
        "+1 −1  base.txt",
        "+1 −0  more.txt  new",
        "1/3 base.txt",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    assert!(!text.contains("diff --git"), "{text}");
    dashboard.press("]", "2/3 more.txt");
    dashboard.press("]", "3/3 run.sh");
    dashboard.press("]", "This is the last file.");
    dashboard.press("[", "2/3 more.txt");
    dashboard.press("/needle\r", "/needle 1/1");
    dashboard.press("q[", "1/3 base.txt");
    dashboard.press("\x1bOP", "go to the next file");
    dashboard.clear("q", "go to the next file");
    dashboard.clear("q", "Changes of task #1");
    dashboard.quit();
}

/// In this script, the lead edits a file, writes a long one, and fails to edit another.
const EDITS: &str = r#"
rules:
  - when: ^go$
    calls:
      - { tool: read_file, input: { path: a.rs } }
      - { tool: edit_file, input: { path: a.rs, old_text: "a - b", new_text: "a + b" } }
      - { tool: write_file, input: { path: long.txt, content: "LINES" } }
      - { tool: edit_file, input: { path: a.rs, old_text: "missing", new_text: "x" } }
  - when: .
    times: 0
    say: finished
"#;

#[test]
fn edits_are_diffs_in_the_conversation() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let script = EDITS.replace("LINES", &"line\\n".repeat(40));
    std::fs::write(at.join("script.yaml"), script).unwrap();
    let code = "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
    std::fs::write(at.join("a.rs"), code).unwrap();
    let screen = dashboard::start(at, &[], &["--tool", "auto"]);
    let mut dashboard = Dashboard { home, screen };
    dashboard.send("go\r");
    let text = dashboard.wait_for("finished");
    for words in [
        "✓ edit_file a.rs +1 −1",
        "2 -     a - b",
        "2 +     a + b",
        "✓ write_file long.txt +40 −0",
        "✗ edit_file a.rs",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    assert!(!text.contains("+ line"), "{text}");
    // The conversation is alone on the screen and has room for both versions.
    assert!(text.contains("│ 2 +     a + b"), "{text}");
    dashboard.press(ESC, "Tab next pane");
    dashboard.press("1", "tool calls");
    // The failed call, the long diff, then the short one.
    dashboard.press("KK\r", " 1 + line");
    dashboard.send("\r");
    dashboard.wait_until_gone(" 1 + line");
    dashboard.send("K\r");
    dashboard.wait_until_gone("a - b");
}
