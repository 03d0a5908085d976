//! Tasks that are not completed, and checks that are not green on the commits that are pushed.

use crewdeck::domain::checks::CheckOutcome;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{CheckStore, StoredCheck};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::RemoteFixture;

/// Stores crewdeck's own result of the check `make tests` on the content of the branch.
fn store_result(fixture: &RemoteFixture, outcome: CheckOutcome) {
    let stored = StoredCheck {
        run: "make tests".into(),
        tree: fixture.git(&["rev-parse", "wt/task-1^{tree}"]),
        outcome,
        at: Timestamp(1_790_000_000.0),
        seconds: 3.5,
        log: String::new(),
        excerpt: String::new(),
    };
    CheckStore::open(fixture.project.path())
        .save(&stored)
        .unwrap();
}

#[test]
fn open_task_is_not_pushed_without_being_asked() {
    let fixture = RemoteFixture::github();
    fixture.set_task(&json!({"status": "pending"}));
    let why = "task #1 is not completed: it is pending";
    assert_eq!(
        fixture.expect_refusal(&["1"]),
        format!(
            "crewdeck: {why} (open the request as a draft with --draft, or add --unfinished)\n"
        )
    );
    assert!(fixture.is_untouched() && !fixture.has_opened());
    let preview = fixture.run(&["1", "--dry-run"]);
    assert_eq!(preview.code(), 0);
    assert!(
        preview
            .err()
            .contains(&format!("it would be refused: {why}")),
        "{}",
        preview.err()
    );
    // What is known to the user is pushed, with a notice before the push.
    let ran = fixture.run(&["1", "--unfinished"]);
    assert_eq!((ran.code(), ran.err()), (0, format!("crewdeck: {why}\n")));
    // The request is open, and is no draft.
    fixture.commit("c.txt");
    assert_eq!(
        fixture.expect_refusal(&["1", "--draft"]),
        format!("crewdeck: {why} (to push it nevertheless, add --unfinished)\n")
    );
    fixture.list_request(&json!({"isDraft": true}));
    let ran = fixture.run(&["1"]);
    assert_eq!((ran.code(), ran.err()), (0, format!("crewdeck: {why}\n")));
}

#[test]
fn notice_about_an_unfinished_task_comes_before_the_push() {
    let fixture = RemoteFixture::github();
    fixture.set_task(&json!({"status": "pending"}));
    let hooks = fixture.remote.path().join("tool.git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    crate::common::fake_client::write_program(&hooks.join("pre-receive"), "exit 1");
    let ran = fixture.run(&["1", "--draft"]);
    let lines: Vec<String> = ran.err().lines().map(String::from).collect();
    assert_eq!((ran.code(), lines.len()), (1, 2), "{lines:?}");
    assert!(
        lines[0].contains("is not completed") && lines[1].contains("git push origin failed"),
        "{lines:?}"
    );
}

#[test]
fn only_results_of_crewdeck_make_a_check_green() {
    let fixture = RemoteFixture::github();
    fixture
        .project
        .write_user_settings("[[checks]]\nname = \"tests\"\nrun = \"make tests\"\n");
    let refused = |expected: &str| {
        let line = fixture.expect_refusal(&["1"]);
        let expected = format!("a check is not green on these commits: {expected}");
        assert!(line.contains(&expected), "{expected}: {line}");
        assert!(fixture.is_untouched() && !fixture.has_opened());
    };
    refused("tests: did not run");
    let tree = fixture.git(&["rev-parse", "wt/task-1^{tree}"]);
    let record =
        json!({"name": "tests", "outcome": "green", "seconds": 1, "by": "alice", "tree": tree});
    fixture.set_task(&json!({"checks": [record]}));
    refused("tests: green after 1.0 s, run by alice, not confirmed: crewdeck has no such result");
    store_result(&fixture, CheckOutcome::Red);
    refused("tests: red after 3.5 s, run by alice, 2026-09-21 14:13 UTC");
    store_result(&fixture, CheckOutcome::Green);
    // Later commits have no result yet.
    fixture.commit("c.txt");
    refused("tests: green after 1.0 s, run by alice, on other content than these commits");
    fixture.git(&[
        "-C",
        ".worktrees/task-1",
        "reset",
        "--quiet",
        "--hard",
        "HEAD~1",
    ]);
    let ran = fixture.run(&["1"]);
    assert_eq!((ran.code(), ran.err().as_str()), (0, ""));
    let body = fixture.client.read("body");
    let expected = "### Checks\n\n```text\ntests: green after 3.5 s, run by alice, 2026-09-21 14:13 UTC\n```\n";
    assert!(body.contains(expected), "{body}");
}
