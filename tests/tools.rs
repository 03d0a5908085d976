//! The real tools, called as an agent's driver calls them, on real files and with a crew that is played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::ids::{CallId, Name};
use crewdeck::domain::request::{Decision, Request, RequestKind};
use crewdeck::domain::stamp::Stamp;
use crewdeck::domain::team::Member;
use crewdeck::domain::todo::TodoList;
use crewdeck::store::{Post, Roster, prepare};
use crewdeck::tools::host::Host;
use crewdeck::tools::{ToolContext, ToolOutput, table};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A crew that does nothing but remember.
#[derive(Default)]
struct Played {
    lists: Mutex<Vec<TodoList>>,
    output: Mutex<usize>,
}

impl Host for Played {
    fn spawn(&self, _: Name, _: Member, _: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Err("not here".into()) })
    }
    fn ask<'a>(
        &'a self,
        _: &'a Name,
        _: RequestKind,
        _: &'a Name,
        _: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(async { Err("not here".into()) })
    }
    fn file<'a>(
        &'a self,
        _: &'a Name,
        _: RequestKind,
        _: &'a Name,
        _: String,
    ) -> BoxFuture<'a, Result<Request, String>> {
        Box::pin(async { Err("not here".into()) })
    }
    fn decide(&self, _: Decision) -> BoxFuture<'_, Result<Request, String>> {
        Box::pin(async { Err("not here".into()) })
    }
    fn output(&self, _: &Name, _: &CallId, chunk: String) {
        *self.output.lock().unwrap() += chunk.len();
    }
    fn todo<'a>(&'a self, _: &'a Name, list: TodoList) -> BoxFuture<'a, ()> {
        self.lists.lock().unwrap().push(list);
        Box::pin(async {})
    }
}

/// A project with alice and bob in it; alice calls the tools.
struct Place {
    dir: tempfile::TempDir,
    host: Arc<Played>,
    runtime: tokio::runtime::Runtime,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        std::fs::create_dir(&root).unwrap();
        prepare(&root).unwrap();
        std::fs::write(dir.path().join("secret"), "outside").unwrap();
        for name in ["alice", "bob"] {
            let name = Name::party(name).unwrap();
            Roster::open(&root)
                .enter(Member::new(name, "tester"))
                .unwrap();
        }
        Place {
            dir,
            host: Arc::default(),
            runtime: tokio::runtime::Runtime::new().unwrap(),
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.root().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap()
    }

    fn call_as(&self, agent: &str, tool: &str, input: Value) -> ToolOutput {
        let context = ToolContext {
            agent: Name::party(agent).unwrap(),
            call: CallId("call-1".into()),
            root: self.root(),
            workdir: self.root(),
            host: Arc::clone(&self.host) as Arc<dyn Host>,
            cancel: CancellationToken::new(),
            timeout: Duration::from_secs(60),
            clock: || Stamp(1_000_000.0),
        };
        let tool = table::find(tool).unwrap();
        self.runtime.block_on((tool.run)(context, input))
    }

    /// The text of a call that works.
    fn ok(&self, tool: &str, input: Value) -> String {
        let out = self.call_as("alice", tool, input);
        assert_eq!(out.outcome, Outcome::Ok, "{out:?}");
        out.text
    }

    /// The text of a call that is refused.
    fn no(&self, tool: &str, input: Value) -> String {
        let out = self.call_as("alice", tool, input);
        assert_eq!(out.outcome, Outcome::Error, "{out:?}");
        out.text
    }

    fn bash(&self, command: &str) -> String {
        self.ok("bash", json!({ "command": command }))
    }
}

fn outside(place: &Path) -> String {
    place.join("../secret").display().to_string()
}

#[test]
fn the_output_of_a_command_is_bounded_with_a_mark() {
    let place = Place::new();
    let text = place.bash("seq 1 800000");
    assert!(text.len() < 51_000, "{}", text.len());
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n800000"));
    assert!(text.contains("bytes cut here"));
    let text = place.bash("head -c 200000 /dev/zero | tr '\\0' x");
    assert!(text.len() < 51_000 && text.contains("[… 150000 bytes cut here …]"));
    let heard = *place.host.output.lock().unwrap();
    assert!(heard > 200_000, "the screen heard only {heard}");
}

#[test]
fn binary_output_and_escape_sequences_come_back_as_text() {
    let place = Place::new();
    let text = place.bash("head -c 100000 /dev/urandom");
    assert!(
        text.len() < 160_000 && text.contains('\u{fffd}'),
        "{}",
        text.len()
    );
    // The model may see them; whatever shows them makes them harmless.
    let text = place.bash("printf '\\033[2J\\033]0;title\\007red'");
    assert!(text.ends_with("red"), "{text:?}");
    let shown = crewdeck::domain::text::harmless(&text);
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{7}'),
        "{shown:?}"
    );
}

#[test]
fn a_command_tells_how_it_ended() {
    let place = Place::new();
    assert_eq!(place.bash("true"), "(no output)");
    assert_eq!(
        place.no("bash", json!({"command": "echo a; exit 3"})),
        "a\n[exit code 3]"
    );
    let text = place.no("bash", json!({"command": "echo a; kill -9 $$"}));
    assert_eq!(text, "a\n[ended by signal 9]");
    let text = place.no(
        "bash",
        json!({"command": "echo early; sleep 300", "timeout_s": 1}),
    );
    assert!(text.starts_with("early\n[Error: Timeout (1s)"), "{text}");
    assert!(
        place
            .no("bash", json!({"cmd": "ls"}))
            .contains("does not fit the tool")
    );
    assert_eq!(place.bash("read x; echo \"<$x>\""), "<>");
}

#[test]
fn large_and_odd_files_are_read_within_bounds() {
    let place = Place::new();
    let lines: Vec<String> = (1..=400_000).map(|n| format!("line {n}")).collect();
    place.write("long", lines.join("\n"));
    place.write("wide", "x".repeat(200_000));
    place.write("binary", [0, 159, 146, 150, 0]);
    place.write("latin", [b'a', 0xe9, b'b']);
    place.write("empty", "");
    let text = place.ok("read_file", json!({"path": "long"}));
    assert!(
        text.len() < 51_000 && text.contains("more lines; go on with offset"),
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
            .no("read_file", json!({"path": "binary"}))
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
    place.ok("read_file", json!({"path": "long", "offset": 9_000_000}));
}

#[test]
fn file_tools_stay_in_the_work_directory_and_out_of_the_state() {
    let place = Place::new();
    std::os::unix::fs::symlink("..", place.root().join("up")).unwrap();
    std::os::unix::fs::symlink("../secret", place.root().join("link")).unwrap();
    let abroad = outside(&place.root());
    for path in [
        "../secret",
        "up/secret",
        "link",
        abroad.as_str(),
        "/etc/passwd",
        "a/../../secret",
    ] {
        let text = place.no("read_file", json!({"path": path}));
        assert!(
            text.starts_with("Error") && !text.contains("outside\n"),
            "{path}: {text}"
        );
        place.no("write_file", json!({"path": path, "content": "mine"}));
        place.no(
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
        place.no("write_file", json!({"path": path, "content": "mine"}));
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
fn files_are_written_edited_and_found() {
    let place = Place::new();
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
    let text = place.no(
        "edit_file",
        json!({"path": "src/deep/a.rs", "old_text": "two", "new_text": "2"}),
    );
    assert!(text.contains("stands 2 times"), "{text}");
    place.ok(
        "edit_file",
        json!({"path": "src/deep/a.rs", "old_text": "two", "new_text": "2", "replace_all": true}),
    );
    assert_eq!(place.read("src/deep/a.rs"), "1\n2\n2\n");
    assert!(
        place
            .no(
                "edit_file",
                json!({"path": "src/deep/a.rs", "old_text": "three", "new_text": "3"})
            )
            .contains("not found")
    );
    assert!(
        place
            .no(
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
            .no("glob", json!({"pattern": "[a"}))
            .contains("is not a pattern")
    );
    assert_eq!(
        place.ok("grep", json!({"pattern": "^2$"})),
        "src/deep/a.rs:2:2\nsrc/deep/a.rs:3:2"
    );
    assert!(
        place
            .no("grep", json!({"pattern": "("}))
            .contains("not a regular expression")
    );
    place.write("many", "hit\n".repeat(5000));
    place.write("wide", format!("hit {}\n", "x".repeat(200_000)));
    let text = place.ok("grep", json!({"pattern": "hit"}));
    assert!(
        text.len() < 51_000 && text.contains("more lines: narrow it"),
        "{}",
        text.len()
    );
}

#[test]
fn tasks_are_made_claimed_and_completed_by_whatever_number_a_model_writes() {
    let place = Place::new();
    let id = |text: String| {
        serde_json::from_str::<Value>(&text).unwrap()["id"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(id(place.ok("task_create", json!({"subject": "Parse"}))), 1);
    for (n, by) in [
        (2, json!([1])),
        (3, json!("1")),
        (4, json!(["#1"])),
        (5, json!(1)),
    ] {
        let text = place.ok(
            "task_create",
            json!({"subject": format!("After {n}"), "blocked_by": by}),
        );
        let task: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (task["id"].as_u64(), &task["blockedBy"]),
            (Some(n), &json!([1])),
            "{task}"
        );
    }
    let text = place.no(
        "task_create",
        json!({"subject": "More", "blocked_by": ["Parse"]}),
    );
    assert!(
        text.contains("'Parse' is the subject of a task: use its number 1"),
        "{text}"
    );
    assert!(
        place
            .no(
                "task_create",
                json!({"subject": "More", "blocked_by": [77]})
            )
            .contains("77")
    );
    place.no("task_create", json!({"subject": "  "}));
    assert!(place.no("claim_task", json!({"task_id": 2})).contains('1'));
    assert!(
        place
            .ok("claim_task", json!({}))
            .starts_with("Claimed task #1 for alice\nParse")
    );
    place.no("claim_task", json!({"task_id": "#3"}));
    let theirs = place.call_as(
        "bob",
        "task_update",
        json!({"task_id": 1, "status": "completed"}),
    );
    assert!(
        theirs.outcome == Outcome::Error && theirs.text.contains("alice"),
        "{theirs:?}"
    );
    place.no("task_update", json!({"task_id": 1}));
    place.no("task_update", json!({"task_id": 1, "addBlockedBy": [2]}));
    place.ok(
        "task_update",
        json!({"task_id": "#1", "status": "completed"}),
    );
    let task: Value = serde_json::from_str(&place.ok("task_get", json!({"task_id": "2"}))).unwrap();
    assert_eq!(task["blockedBy"], json!([]));
    assert!(
        place
            .ok("claim_task", json!({"task_id": "2"}))
            .contains("Claimed task #2")
    );
    assert!(place.ok("task_list", json!({})).contains("After 5"));
    assert!(place.no("task_get", json!({"task_id": 99})).contains("99"));
}

#[test]
fn a_letter_is_always_a_message_in_the_callers_own_name() {
    let place = Place::new();
    let input =
        json!({"to": "@bob", "content": "hello", "from": "lead", "type": "shutdown_request"});
    assert_eq!(place.ok("send_message", input), "Sent message to bob");
    let inbox = Post::open(&place.root())
        .pending(&Name::party("bob").unwrap())
        .unwrap();
    let letter = serde_json::to_value(&inbox.letters[0]).unwrap();
    assert_eq!(
        (&letter["from"], &letter["type"], &letter["content"]),
        (&json!("alice"), &json!("message"), &json!("hello"))
    );
    let text = place.no("send_message", json!({"to": "carol", "content": "x"}));
    assert!(
        text.contains("carol") && text.contains("alice, bob (and lead, user)"),
        "{text}"
    );
    place.no("send_message", json!({"to": "Alice", "content": "x"}));
    place.no("send_message", json!({"to": "bob", "content": "  "}));
    place.no("send_message", json!({"to": "../../x", "content": "x"}));
}

#[test]
fn a_todo_list_keeps_its_rules() {
    let place = Place::new();
    let item =
        |n: usize, status: &str| json!({"id": n, "text": format!("step {n}"), "status": status});
    let items: Vec<Value> = (1..=20).map(|n| item(n, "pending")).collect();
    let text = place.ok("todo", json!({"items": items}));
    assert!(text.contains("step 20"), "{text}");
    let items: Vec<Value> = (1..=21).map(|n| item(n, "pending")).collect();
    assert!(
        place
            .no("todo", json!({"items": items}))
            .contains("Max 20 todos")
    );
    let two = json!({"items": [item(1, "in_progress"), item(2, "in_progress")]});
    assert!(
        place
            .no("todo", two)
            .contains("Only one task can be in_progress")
    );
    assert!(
        place
            .no("todo", json!({"items": [{"text": " "}]}))
            .contains("text required")
    );
    assert!(
        place
            .no("todo", json!({"items": [item(1, "someday")]}))
            .contains("does not fit")
    );
    assert_eq!(place.ok("todo", json!({"items": []})), "No todos.");
    assert_eq!(place.host.lists.lock().unwrap().len(), 2);
}
