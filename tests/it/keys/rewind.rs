//! The keys of the rewind dialog.

use crate::common::repository::git;
use crate::keys::dashboard::{self, Dashboard, ENTER};

/// In this script, the lead changes a file and creates another one.
const SCRIPT: &str = r#"
rules:
  - when: ^go$
    calls:
      - { tool: write_file, input: { path: base.txt, content: "one\nTWO\n" } }
      - { tool: write_file, input: { path: more.txt, content: "new\n" } }
  - when: .
    times: 0
    say: finished
"#;

#[test]
fn rewind_shows_changes_and_restores_files() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().to_path_buf();
    git(&at, &["init", "-q", "--template=", "-b", "main"]);
    git(&at, &["config", "user.name", "t"]);
    git(&at, &["config", "user.email", "t@t"]);
    std::fs::write(at.join("base.txt"), "one\ntwo\n").unwrap();
    std::fs::write(at.join("script.yaml"), SCRIPT).unwrap();
    git(&at, &["add", "."]);
    git(&at, &["commit", "-qm", "start"]);
    let screen = dashboard::start(&at, &[], &["--tool", "auto"]);
    let mut dashboard = Dashboard { home, screen };
    dashboard.send("go\r");
    dashboard.wait_for("finished");
    dashboard.wait_until_gone("Ctrl+c stop lead");

    dashboard.press("/rewind\r", "Rewind lead to a checkpoint");
    dashboard.wait_until_gone("Loading checkpoints…");
    let text = dashboard.press(ENTER, " files change:");
    assert!(text.contains("base.txt"), "{text}");
    dashboard.press("D", "Rewind of lead to checkpoint");
    dashboard.clear("q", "Rewind of lead to checkpoint");
    dashboard.press("f", "files rewound to checkpoint");
    let base = std::fs::read_to_string(at.join("base.txt")).unwrap();
    assert_eq!(base, "one\ntwo\n");
    assert!(!at.join("more.txt").exists());
    dashboard.quit();
}
