//! What an external agent may do: its permission requests, decided by the rules of the crew.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use crewdeck::acp::{AskedPermission, PermissionAnswer};
use crewdeck::agent::external::{ExternalPermissions, OwnTools};
use crewdeck::agent::mailbox::AgentMailbox;
use crewdeck::agent::tool_runner::ToolRunner;
use crewdeck::domain::agent_update::{AgentToolCall, AgentToolKind, FileDiff, FileLocation};
use crewdeck::domain::ids::Name;
use crewdeck::domain::permission::PermissionScope;
use crewdeck::domain::redact::Redactor;
use crewdeck::domain::request::NewRequest;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Skills, Stores};
use crewdeck::tools::pending;
use crewdeck::tools::policy::{PermissionRules, PlanGate, PolicyContext};
use serde_json::{Value, json};

use crate::common::tool_fixture::{FakeHost, ToolFixture};

/// A project with the external agent bob, who works in the folder `work`.
struct Bob {
    fixture: ToolFixture,
    gate: PlanGate,
    own_tools: OwnTools,
}

/// What came of a permission request.
#[derive(Debug)]
struct Outcome {
    is_allowed: bool,
    /// The requests to the approver.
    asked: Vec<NewRequest>,
}

impl Outcome {
    fn is_asked(&self) -> bool {
        self.asked.len() == 1
    }

    /// Returns the text of the request to the approver.
    fn card(&self) -> &str {
        &self.asked[0].body
    }
}

impl Bob {
    fn new() -> Bob {
        let fixture = ToolFixture::new();
        std::fs::create_dir(fixture.root().join("work")).unwrap();
        Bob {
            fixture,
            gate: PlanGate::Open,
            own_tools: OwnTools {
                can_write: true,
                can_run: true,
            },
        }
    }

    fn workdir(&self) -> PathBuf {
        self.fixture.root().join("work")
    }

    fn permissions(&self, host: &Arc<FakeHost>) -> ExternalPermissions {
        let root = self.fixture.root();
        let runner = ToolRunner {
            tools: Arc::default(),
            rules: Arc::new(RwLock::new(rules())),
            mailbox: Arc::new(AgentMailbox::new(self.gate, None)),
            skills: Skills::open(&root, None),
            host: Arc::clone(host) as _,
            stores: Stores::open(&root),
            workdir: root.clone(),
            root,
            timeout: Duration::from_secs(1),
            redactor: Redactor::default(),
            supervisor: None,
            snapshots: Arc::default(),
            servers: None,
            hooks: None,
            is_external: true,
            clock: || Timestamp(1_000_000.0),
        };
        ExternalPermissions {
            agent: Name::party("bob").unwrap(),
            runner,
            own_tools: self.own_tools,
            servers: None,
        }
    }

    fn ask(&self, call: AgentToolCall) -> Outcome {
        let host = Arc::new(FakeHost::default());
        let offers_always = false;
        let asked = AskedPermission {
            call,
            offers_always,
        };
        let decided = self.permissions(&host).decide(self.workdir(), asked);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let answer = runtime.block_on(decided);
        Outcome {
            is_allowed: answer == PermissionAnswer::AllowOnce,
            asked: host.asked.lock().unwrap().clone(),
        }
    }
}

/// Rules with a session permission, as after the user has granted one.
fn rules() -> PermissionRules {
    PermissionRules {
        session: vec![PermissionScope::Begins {
            words: "make test".into(),
        }],
        allow: vec!["mcp__git__*".into()],
    }
}

fn call(kind: AgentToolKind, title: &str, raw_input: Value) -> AgentToolCall {
    AgentToolCall {
        title: title.into(),
        kind,
        raw_input: Some(raw_input).filter(|input| !input.is_null()),
        ..AgentToolCall::new("1")
    }
}

fn with_diff(mut call: AgentToolCall, path: &str) -> AgentToolCall {
    call.diffs.push(FileDiff {
        path: path.into(),
        old: Some("old line\n".into()),
        new: "new line\n".into(),
    });
    call
}

fn with_location(mut call: AgentToolCall, path: &str) -> AgentToolCall {
    let (path, line) = (path.into(), None);
    call.locations.push(FileLocation { path, line });
    call
}

#[test]
fn call_that_is_not_fully_known_is_never_approved_by_a_rule() {
    use AgentToolKind::{Execute, Other};
    let bob = Bob::new();
    for call in [
        call(Execute, "Runs the unit tests", Value::Null),
        call(Execute, "make test", json!({ "description": "tests" })),
        call(Other, "bash", json!({ "script": "x" })),
        call(Other, "mcp__git__push", json!({ "remote": "x" })),
    ] {
        let outcome = bob.ask(call.clone());
        assert!(outcome.is_asked(), "{call:?}");
        assert!(outcome.card().contains(&call.title), "{outcome:?}");
        let is_covered = outcome.asked[0].call.as_ref().is_some_and(|call| {
            let standing = PolicyContext {
                rules: &rules(),
                gate: PlanGate::Open,
                workdir: &bob.workdir(),
            };
            pending::is_allowed(call, &standing) || !call.scopes.is_empty()
        });
        assert!(!is_covered, "{outcome:?}");
    }
    // A command that the agent reports can be allowed for the session.
    let known = bob.ask(call(
        Execute,
        "git push",
        json!({ "command": "git push origin x" }),
    ));
    assert!(known.asked[0].call.is_some(), "{known:?}");
}

#[test]
fn what_a_call_does_follows_from_all_its_parts() {
    use AgentToolKind::{Edit, Read, Search, Think};
    let mut bob = Bob::new();
    let memory = || with_diff(call(Think, "Save memory", Value::Null), "/home/u/GEMINI.md");
    let push = json!({ "command": "git push", "path": "a.txt" });
    assert!(bob.ask(memory()).is_asked());
    for kind in [Think, Read, Search, Edit] {
        let outcome = bob.ask(call(kind, "Look", push.clone()));
        assert!(outcome.is_asked(), "{kind:?}: {outcome:?}");
    }
    assert!(bob.ask(call(Think, "Think", Value::Null)).is_allowed);
    let inside = with_diff(call(Read, "Look", Value::Null), "a.txt");
    assert!(bob.ask(inside.clone()).is_asked());
    bob.gate = PlanGate::Closed;
    let run = call(Read, "Look", json!({ "command": "touch a", "path": "a" }));
    for call in [memory(), inside, run] {
        let outcome = bob.ask(call);
        assert!(!outcome.is_allowed && outcome.asked.is_empty());
    }
    let read = call(Read, "Look", json!({ "path": "a.txt" }));
    assert!(bob.ask(read).is_allowed);
}

#[test]
fn limits_of_the_role_refuse_what_the_agent_may_not_do() {
    use AgentToolKind::{Delete, Edit, Execute, Move, Other, Read, SwitchMode, Think};
    let mut bob = Bob::new();
    bob.own_tools.can_write = false;
    bob.own_tools.can_run = false;
    let path = json!({ "path": "a.txt" });
    for call in [
        call(Edit, "Edit", path.clone()),
        call(Delete, "Delete", path.clone()),
        call(Move, "Move", path.clone()),
        call(Execute, "Run", json!({ "command": "make" })),
        call(Execute, "Run", Value::Null),
        call(Other, "Run", json!({ "command": "make" })),
        call(SwitchMode, "Exit plan mode", Value::Null),
        with_diff(call(Think, "Think", Value::Null), "a.txt"),
    ] {
        let outcome = bob.ask(call.clone());
        let is_refused = !outcome.is_allowed && outcome.asked.is_empty();
        assert!(is_refused, "{call:?}: {outcome:?}");
    }
    assert!(bob.ask(call(Read, "Look", path)).is_allowed);
}

#[test]
fn edit_is_checked_with_all_its_paths() {
    use AgentToolKind::Edit;
    let bob = Bob::new();
    let edit = |input| call(Edit, "Edit", input);
    assert!(bob.ask(edit(json!({ "path": "a.txt" }))).is_allowed);
    for outside in [
        json!({ "path": "a", "changes": [{ "path": "a", "kind": { "move_path": "/etc/x" } }] }),
        json!({ "path": "a", "changes": { "/etc/x": { "add": {} } } }),
        json!({ "path": "a", "paths": ["b", "/etc/x"] }),
        json!({ "path": "a", "grantRoot": "/etc" }),
        json!({ "path": "a", "edits": [{ "targetFile": "../x" }] }),
    ] {
        let outcome = bob.ask(edit(outside.clone()));
        assert!(outcome.is_asked(), "{outside}");
    }
    let mut cut = edit(json!({ "path": "a.txt" }));
    cut.has_more_files = true;
    assert!(bob.ask(cut).is_asked());
    let inside = json!({ "changes": [{ "path": "a", "kind": { "move_path": "b" } }] });
    assert!(bob.ask(edit(inside)).is_allowed);
}

#[test]
fn request_to_read_without_a_path_is_asked() {
    use AgentToolKind::{Read, Search};
    let bob = Bob::new();
    let title = "Allow access to absolute path: /etc/passwd";
    for kind in [Read, Search] {
        assert!(bob.ask(call(kind, title, Value::Null)).is_asked());
        let outside = json!({ "paths": ["a.txt", "/etc/passwd"] });
        assert!(bob.ask(call(kind, "Look", outside)).is_asked());
        let inside = with_location(call(kind, "Look", Value::Null), "a.txt");
        assert!(bob.ask(inside).is_allowed);
    }
}

#[test]
fn command_in_a_directory_outside_is_asked() {
    let bob = Bob::new();
    let run = |dir: &str| {
        let input = json!({ "command": "make", "cwd": dir });
        bob.ask(call(AgentToolKind::Execute, "make", input))
    };
    assert!(run(bob.workdir().join("src").to_str().unwrap()).is_allowed);
    assert!(run("/etc").is_asked());
}

#[test]
fn settings_of_agents_are_not_changed_without_a_decision() {
    use AgentToolKind::{Edit, Read};
    let bob = Bob::new();
    for path in [
        ".claude/settings.local.json",
        "sub/.claude/agents/a.md",
        ".Gemini/settings.json",
        ".qwen/settings.json",
        ".codex/config.toml",
        "opencode.json",
        "opencode.jsonc",
        ".opencode/plugin/x.js",
        ".goosehints",
        ".mcp.json",
        ".git/hooks/pre-commit",
        "sub/.git/config",
    ] {
        let edit = bob.ask(call(Edit, "Edit", json!({ "path": path })));
        assert!(edit.is_asked(), "{path}");
    }
    let skill = json!({ "path": ".claude/skills/a/SKILL.md" });
    assert!(bob.ask(call(Read, "Look", skill)).is_allowed);
    let edit = bob.ask(call(Edit, "Edit", json!({ "path": "docs/claude.md" })));
    assert!(edit.is_allowed);
}

#[test]
fn request_for_an_edit_outside_shows_all_paths_and_the_change() {
    let bob = Bob::new();
    let edit = call(AgentToolKind::Edit, "Edit 2 files", Value::Null);
    let edit = with_diff(with_diff(edit, "a.txt"), "/srv/b.txt");
    let outcome = bob.ask(edit);
    let card = outcome.card();
    for part in ["a.txt", "/srv/b.txt", "-old line", "+new line"] {
        assert!(card.contains(part), "{part}: {card}");
    }
}
