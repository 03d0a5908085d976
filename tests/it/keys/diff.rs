//! The keys of the diff view.

use crate::common::repository::git;
use crate::keys::dashboard::{self, Dashboard, ESC};

/// A teammate changes three files in its worktree.
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
    git(at, &["init", "-q", "-b", "main"]);
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
