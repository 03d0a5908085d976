//! The checkouts in which checks run are prepared like worktrees, and have a cache.

use pretty_assertions::assert_eq;

use super::{project, run, settings, task, with_bob};

/// Bob completes his task without a change in the folders that git ignores.
const COMPLETES: &str = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: write_file, input: { path: b.txt, content: "new\n" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;

#[test]
fn setup_prepares_a_checkout_and_the_cache_is_kept() {
    let again = r#"
  - agent: bob
    when: is not completed
    calls:
      - { tool: write_file, input: { path: b.txt, content: "newer\n" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    let project = project(&with_bob(&format!("{COMPLETES}{again}")));
    project.write(".gitignore", "script.yaml\n.config/\n.local/\ndeps/\n");
    // The second run finds in the cache what the first has written. There are ports for a server of the check.
    let check = "test -f deps/installed && test $CREWDECK_PORT -ge 16000 && echo run >> \"$CREWDECK_CACHE/runs\" && test $(wc -l < \"$CREWDECK_CACHE/runs\") = 2";
    let worktree = "[worktree]\nsetup = \"mkdir -p deps && touch deps/installed\"\n";
    project.write_user_settings(&format!("{}{worktree}", settings(check)));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    assert_eq!(task(&project, 1)["checks"][0]["outcome"], "green");
    assert_eq!(super::updates(&ran).len(), 2, "{}", ran.out());
    let checks = project.file(".crewdeck/checks");
    let left = std::fs::read_dir(checks.join("trees")).unwrap().count();
    assert_eq!(left, 0, "checkouts are deleted");
    let runs = std::fs::read_to_string(checks.join("cache/1/runs")).unwrap();
    assert_eq!(runs, "run\nrun\n");
}

#[test]
fn time_of_a_check_includes_the_setup_of_its_checkout() {
    let project = project(&with_bob(COMPLETES));
    let worktree = "[worktree]\nsetup = \"test ! -f b.txt || sleep 1.2\"\n";
    project.write_user_settings(&format!("{}{worktree}", settings("true")));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    let seconds = task(&project, 1)["checks"][0]["seconds"].as_f64().unwrap();
    assert!(seconds >= 1.2, "{seconds}");
}

#[test]
fn failed_setup_is_reported_with_its_output() {
    let project = project(&with_bob(COMPLETES));
    let worktree = "[worktree]\nsetup = \"test ! -f b.txt || { echo no-such-package; exit 7; }\"\n";
    project.write_user_settings(&format!("{}{worktree}", settings("true")));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let task = task(&project, 1);
    assert_ne!(task["status"], "completed");
    assert_eq!(task["checks"][0]["outcome"], "not_started");
    let told = super::updates(&ran).concat();
    for part in ["worktree.setup", "exit code 7", "no-such-package"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
