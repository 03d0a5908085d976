//! What a check runs on: exactly the committed content of the task's branch, whatever is in the worktree.

use pretty_assertions::assert_eq;

use super::{CHECK, project, run, settings, task, updates, with_bob};
use crate::common::project::git;

#[test]
fn files_that_a_program_changes_while_the_check_runs_do_not_count() {
    // A program in the background makes the file good as long as the check runs.
    let forges = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: write_file, input: { path: a.txt, content: "bad\n" } }
      - { tool: background_run, input: { command: "is_running() { grep -q '\"running\"' ../../.tasks/task_1.json; }; until is_running; do sleep 0.02; done; echo good > a.txt; while is_running; do sleep 0.02; done; echo bad > a.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    let project = project(&with_bob(forges));
    project.write_user_settings(&settings(
        "n=0; until grep -q good a.txt || [ $n = 30 ]; do sleep 0.05; n=$((n+1)); done; grep -q good a.txt || { echo 'error: bad'; exit 1; }",
    ));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    assert_ne!(task(&project, 1)["status"], "completed");
    // The result that is kept for the content is the one of the committed file.
    assert_eq!(git(&project, &["show", "wt/task-1:a.txt"]), "bad\n");
    let files = std::fs::read_dir(project.file(".crewdeck/checks")).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let results = paths.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let results: Vec<String> = results
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(results.len(), 1);
    assert!(results[0].contains("\"red\""), "{results:?}");
}

#[test]
fn skipped_file_is_checked_as_committed() {
    let skips = r#"
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "echo bad > a.txt; git commit -qam bad; git update-index --skip-worktree a.txt; echo good > a.txt" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
"#;
    let project = project(&with_bob(skips));
    project.write_user_settings(&settings(CHECK));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    let updates = updates(&ran);
    assert!(updates[0].contains("a.txt is not good"), "{updates:?}");
    assert_eq!(task(&project, 1)["checks"][0]["outcome"], "red");
}

#[test]
fn check_that_writes_files_is_red_or_green_like_any_other() {
    let project = project(&with_bob(super::WRITES_BAD));
    project.write_user_settings(&settings("echo x > made-by-the-check; echo y >> a.txt"));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    assert_eq!(task(&project, 1)["status"], "completed");
    assert!(!project.file(".worktrees/task-1/made-by-the-check").exists());
    let listed = git(&project, &["worktree", "list"]);
    assert!(!listed.contains(".crewdeck"), "{listed}");
}

#[test]
fn lost_worktree_is_not_replaced_by_the_project_directory() {
    let project = project(&with_bob(super::WRITES_BAD));
    project.write_user_settings(&settings(CHECK));
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    std::fs::remove_dir_all(project.file(".worktrees/task-1")).unwrap();
    project.write("a.txt", "good\n");
    let done = ["task", "done", "1", "--as", "bob"];
    let refused = project.expect_refusal(&done);
    assert!(refused.contains("check test red"), "{refused}");
    git(&project, &["worktree", "prune"]);
    git(&project, &["branch", "-D", "wt/task-1"]);
    let refused = project.expect_refusal(&done);
    assert!(refused.contains("wt/task-1"), "{refused}");
    let by_user = ["task", "done", "1", "--as", "user", "--override", "lost"];
    let done = project.json(&by_user);
    assert_eq!(done["checks"][0]["override"], "lost");
}

#[test]
fn override_of_a_branch_without_changes_says_why() {
    let project = project(&with_bob(""));
    project.write_user_settings(&settings("true"));
    let ran = run(&project, &[]);
    assert_eq!(task(&project, 1)["worktree"], "task-1", "{}", ran.out());
    let done = [
        "task",
        "done",
        "1",
        "--as",
        "user",
        "--override",
        "not needed",
    ];
    let done = project.json(&done);
    let checks = done["checks"].as_array().unwrap();
    let find = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(find("changes")["override"], "not needed");
    assert_eq!(find("test")["outcome"], "green");
}

#[test]
fn task_completed_elsewhere_is_not_merged_without_its_checks() {
    let project = project(&with_bob(super::WRITES_BAD));
    let with_merge = format!("merge = \"auto\"\n{}", settings(CHECK));
    project.write_user_settings(&with_merge);
    let ran = run(&project, &[]);
    assert_eq!(ran.code(), 4, "{}{}", ran.out(), ran.err());
    // Another program writes the file; the owner is not a name that crewdeck accepts.
    let mut done = task(&project, 1);
    done["status"] = "completed".into();
    done["owner"] = "not a name!".into();
    project.write(".tasks/task_1.json", &done.to_string());
    let args = ["run", "again", "--provider", "script:script.yaml", "--json"];
    let ran = project.run(&args);
    assert!(
        ran.out().contains("its check test is not green")
            && ran.out().contains("is not merged automatically"),
        "{}",
        ran.out()
    );
    let merged = git(&project, &["log", "--oneline", "main", "--", "b.txt"]);
    assert_eq!(merged, "");
}
