//! Hooks with real programs: scripts for Claude Code run unchanged, and a script that hangs, forks, prints too much or
//! prints invalid JSON is limited and reported.

mod asynchronous;
mod http;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::project::Project;
use crate::common::supervised::{Sleep, unconfined_supervisor};
use crewdeck::config::extensions::parse_hooks;
use crewdeck::domain::hook::{
    HookCall, HookContext, HookInput, HookOutcome, HookSpec, PermissionVerdict,
};
use crewdeck::domain::mcp::ServerConfig;
use crewdeck::domain::trust::{ApprovalCheck, NotApproved};
use crewdeck::hooks::{HookHost, HookRunner};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Approves everything, or nothing.
#[derive(Debug)]
struct Approval(bool);

impl ApprovalCheck for Approval {
    fn check_server(&self, _: &ServerConfig) -> Result<ServerConfig, NotApproved> {
        unreachable!()
    }

    fn check_hook(&self, hook: &HookSpec, _: &Path) -> Result<(), NotApproved> {
        let why = format!("{} is not approved", hook.label());
        if self.0 {
            Ok(())
        } else {
            Err(NotApproved {
                why,
                has_changed: false,
            })
        }
    }
}

struct Setup {
    project: Project,
    runtime: tokio::runtime::Runtime,
    runner: HookRunner,
    stop: CancellationToken,
    /// The problems of hooks that nothing waits for.
    late: Arc<Mutex<Vec<String>>>,
}

impl Setup {
    /// Creates a runner for the approved hooks of `project`. `hooks` is the value of the field `hooks` in their file.
    fn new(project: Project, hooks: &Value) -> Setup {
        Setup::with(project, hooks, true)
    }

    fn with(project: Project, hooks: &Value, is_approved: bool) -> Setup {
        let text = json!({"hooks": hooks}).to_string();
        let parsed = parse_hooks(text.as_bytes(), "hooks.json", true);
        assert_eq!(parsed.problems, [""; 0]);
        let (stop, late) = (
            CancellationToken::new(),
            Arc::<Mutex<Vec<String>>>::default(),
        );
        let reported = Arc::clone(&late);
        let host = HookHost {
            project: project.path().to_owned(),
            supervisor: Some(unconfined_supervisor()),
            agents: None,
            scratch: project.file("state/hooks"),
            stop: stop.clone(),
            report: Box::new(move |problem| {
                reported.lock().unwrap().push(problem);
                Box::pin(std::future::ready(()))
            }),
        };
        let runner = HookRunner::new(parsed.hooks, Arc::new(Approval(is_approved)), host);
        Setup {
            project,
            runtime: tokio::runtime::Runtime::new().unwrap(),
            runner,
            stop,
            late,
        }
    }

    fn context(&self) -> HookContext {
        HookContext {
            session_id: "s1".into(),
            transcript_path: "/t".into(),
            dir: self.project.path().to_owned(),
            permission_mode: Some("default".into()),
            ..HookContext::default()
        }
    }

    fn run(&self, input: &HookInput) -> HookOutcome {
        let never = CancellationToken::new();
        self.runtime
            .block_on(self.runner.run(input, &self.context(), &never))
    }
}

fn bash(command: &str) -> HookInput {
    HookInput::PreToolUse(HookCall {
        name: "bash".into(),
        input: json!({"command": command}),
        id: "toolu_1".into(),
    })
}

fn stop() -> HookInput {
    HookInput::Stop {
        is_active: false,
        last_message: "done".into(),
    }
}

/// Returns one group of hooks without a matcher.
fn commands(commands: &[&str]) -> Value {
    let hooks: Vec<Value> = commands
        .iter()
        .map(|c| json!({"type": "command", "command": c}))
        .collect();
    json!([{"hooks": hooks}])
}

fn script(project: &Project, name: &str, text: &str) {
    let path = project.write(name, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A hook script for Claude Code in the style of published examples.
const CHECK_BASH: &str = r#"#!/usr/bin/env python3
import json, os, re, sys
try:
    data = json.load(sys.stdin)
except json.JSONDecodeError as e:
    print(f"Error: Invalid JSON input: {e}", file=sys.stderr)
    sys.exit(1)
if data.get("tool_name") != "Bash":
    sys.exit(1)
command = data["tool_input"].get("command", "")
assert os.environ["CLAUDE_PROJECT_DIR"] == data["cwd"], os.environ["CLAUDE_PROJECT_DIR"]
if re.search(r"^grep\b(?!.*\|)", command):
    print("Use 'rg' (ripgrep) instead of 'grep'", file=sys.stderr)
    sys.exit(2)
if command.startswith("ls"):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "permissionDecisionReason": "listing is fine", "updatedInput": {"command": command + " -la", "timeout": 5000}}}))
"#;

#[test]
fn published_scripts_run_unchanged() {
    let project = Project::new();
    script(&project, ".claude/hooks/check.py", CHECK_BASH);
    script(
        &project,
        ".claude/hooks/log.sh",
        "#!/bin/sh\ncat >> \"$CLAUDE_PROJECT_DIR/log.jsonl\"\n",
    );
    let setup = Setup::new(
        project,
        &json!({
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.py"}]}],
            "PostToolUse": [{"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": "${CLAUDE_PROJECT_DIR}/.claude/hooks/log.sh", "args": []}]}],
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "jq -r .prompt 2>/dev/null || echo context"}]}],
        }),
    );
    let denied = setup.run(&bash("grep -r x ."));
    let reason =
        "[\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.py]: Use 'rg' (ripgrep) instead of 'grep'";
    assert_eq!(
        denied.permission,
        Some((PermissionVerdict::Deny, reason.into()))
    );
    let allowed = setup.run(&bash("ls"));
    assert_eq!(
        allowed.permission,
        Some((PermissionVerdict::Allow, "listing is fine".into()))
    );
    assert_eq!(
        allowed.updated_input,
        Some(json!({"command": "ls -la", "timeout_s": 5}))
    );
    assert_eq!(setup.run(&bash("pwd")), HookOutcome::default());

    let edit = HookInput::PostToolUse {
        call: HookCall {
            name: "edit_file".into(),
            input: json!({"path": "src/a.rs", "old_text": "a", "new_text": "b"}),
            id: "toolu_2".into(),
        },
        response: json!("done"),
        duration_ms: 3,
    };
    assert_eq!(setup.run(&edit), HookOutcome::default());
    let log = std::fs::read_to_string(setup.project.file("log.jsonl")).unwrap();
    let logged: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(logged["tool_name"], "Edit");
    let path = setup.project.file("src/a.rs");
    assert_eq!(logged["tool_input"]["file_path"], path.to_str().unwrap());
    assert_eq!(logged["tool_input"]["old_string"], "a");

    let prompt = setup.run(&HookInput::UserPromptSubmit {
        prompt: "hello".into(),
    });
    assert!(
        ["hello", "context"].contains(&prompt.context[0].as_str()),
        "{prompt:?}"
    );
    // The files with the inputs of hooks are deleted.
    let left = std::fs::read_dir(setup.project.file("state/hooks"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
}

#[test]
fn failing_hooks_are_cut_and_reported_in_one_line() {
    let sleep = Sleep::new();
    let forks = format!(
        "(setsid {} >/dev/null 2>&1 &) ; {} & echo '{{\"systemMessage\": \"hi\"}}'",
        sleep.command(),
        sleep.command()
    );
    let hangs = sleep.command();
    let setup = Setup::new(
        Project::new(),
        &json!({"Stop": [{"hooks": [
            {"command": hangs, "timeout": 0.3},
            {"command": forks},
            {"command": "head -c 100000000 /dev/zero"},
            {"command": "head -c 2000000 /dev/zero | tr '\\0' x; exit 2"},
            {"command": "echo '{\"decision\": oops'"},
            {"command": "echo broken >&2; exit 1"},
            {"command": "/no/such/program", "args": []},
            {"command": "kill -9 $$"},
        ]}]}),
    );
    let began = Instant::now();
    let outcome = setup.run(&stop());
    assert!(began.elapsed() < Duration::from_secs(120));
    let found = |text: &str| {
        let lines = outcome.problems.iter().filter(|p| p.contains(text)).count();
        assert_eq!(lines, 1, "{text}: {:?}", outcome.problems);
    };
    found("ran longer than 0.3 s and was killed");
    found("left a program running, which was killed");
    found("printed more than 16 MiB and was killed");
    found("of which only the start was read");
    found("returned invalid JSON");
    found("exited with code 1: broken");
    found("was ended by signal 9");
    assert!(
        outcome
            .problems
            .iter()
            .all(|p| p.lines().count() == 1 && p.len() < 1000)
    );
    assert!(
        outcome
            .problems
            .iter()
            .any(|p| p.contains("/no/such/program")),
        "{:?}",
        outcome.problems
    );
    // The answers of the hooks that did not fail are used.
    assert_eq!(outcome.messages, ["hi"]);
    assert_eq!(outcome.blocks.len(), 1, "{:?}", outcome.blocks);
    assert_eq!(sleep.sleepers(), Vec::<i32>::new());
}

#[test]
fn hooks_run_in_parallel_and_identical_ones_once() {
    let project = Project::new();
    // Each hook waits until the other one runs.
    let meet = |own: &str, other: &str| {
        format!(
            "cat >/dev/null; echo x >> {own}; while [ ! -e {other} ]; do sleep 0.01; done; [ $(wc -l < {own}) = 1 ]"
        )
    };
    let (a, b) = (meet("a", "b"), meet("b", "a"));
    let setup = Setup::new(project, &json!({"Stop": commands(&[&a, &b, &a, &b])}));
    assert_eq!(setup.run(&stop()), HookOutcome::default());
    for name in ["a", "b"] {
        let text = std::fs::read_to_string(setup.project.file(name)).unwrap();
        assert_eq!(text, "x\n");
    }
}

#[test]
fn hook_has_no_terminal_and_knows_its_event() {
    let command = "cat >/dev/null; (true </dev/tty) 2>/dev/null && echo terminal; echo $CREWDECK_HOOK_EVENT $CLAUDE_CODE_SESSION_ID $CLAUDECODE $CLAUDE_PID";
    let setup = Setup::new(
        Project::new(),
        &json!({"UserPromptSubmit": commands(&[command])}),
    );
    let outcome = setup.run(&HookInput::UserPromptSubmit {
        prompt: String::new(),
    });
    let expected = format!("UserPromptSubmit s1 1 {}", std::process::id());
    assert_eq!(outcome.context, [expected], "{outcome:?}");
}

#[test]
fn third_block_of_the_same_thing_asks_the_user() {
    let setup = Setup::new(
        Project::new(),
        &json!({"Stop": commands(&["echo 'tests fail' >&2; exit 2"]), "PreToolUse": commands(&["[ ! -e deny ] || { echo no >&2; exit 2; }"])}),
    );
    let asked = |input: &HookInput| {
        let outcome = setup.run(input);
        (
            outcome.is_blocked(),
            outcome.ask_user.map(|asked| asked.text),
        )
    };
    assert_eq!(asked(&stop()), (true, None));
    assert_eq!(asked(&stop()), (true, None));
    let (is_blocked, question) = asked(&stop());
    let question = question.unwrap();
    assert!(
        is_blocked
            && question.starts_with(
                "The hook Stop of hooks.json has blocked the same action 3 times in a row: ["
            )
            && question.ends_with("tests fail"),
        "{question}"
    );
    assert_eq!(asked(&stop()), (true, None));

    // Blocks of other calls are counted separately, and a call that passes starts the count again.
    setup.project.write("deny", "");
    assert_eq!(asked(&bash("a")), (true, None));
    assert_eq!(asked(&bash("b")), (true, None));
    assert_eq!(asked(&bash("a")), (true, None));
    std::fs::remove_file(setup.project.file("deny")).unwrap();
    assert_eq!(asked(&bash("a")), (false, None));
    setup.project.write("deny", "");
    assert_eq!(asked(&bash("a")), (true, None));
    assert_eq!(asked(&bash("b")), (true, None));
    assert!(asked(&bash("b")).1.is_some());
}

#[test]
fn question_names_all_blocks_and_lifts_nothing_else() {
    let ask = r#"{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look"}}"#;
    let setup = Setup::new(
        Project::new(),
        &json!({"PreToolUse": commands(&[
            "echo never >&2; exit 2",
            "echo x >> count; [ $(wc -l < count) != 3 ] || { echo not now >&2; exit 2; }",
            &format!("echo '{ask}'"),
        ])}),
    );
    assert_eq!(setup.run(&bash("a")).ask_user, None);
    assert_eq!(setup.run(&bash("a")).ask_user, None);
    let outcome = setup.run(&bash("a"));
    assert!(outcome.is_blocked());
    let asked = outcome.ask_user.unwrap();
    let lines: Vec<&str> = asked.text.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].ends_with("never") && lines[1].ends_with("not now"),
        "{lines:?}"
    );
    assert!(lines[1].contains("also blocks this action"), "{lines:?}");
    let still = Some((PermissionVerdict::Ask, "look".to_string()));
    assert_eq!(asked.lifted.permission, still);
    assert_eq!(asked.lifted.blocks, [""; 0]);
}

#[test]
fn hooks_that_only_comment_are_not_counted() {
    let setup = Setup::new(
        Project::new(),
        &json!({"PostToolUse": commands(&["echo red >&2; exit 2"])}),
    );
    let input = HookInput::PostToolUse {
        call: HookCall {
            name: "bash".into(),
            input: json!({"command": "cargo test"}),
            id: "toolu_1".into(),
        },
        response: json!("failed"),
        duration_ms: 3,
    };
    for _ in 0..4 {
        let outcome = setup.run(&input);
        assert_eq!((outcome.blocks.len(), outcome.ask_user), (1, None));
    }
}

#[test]
fn texts_of_one_event_are_bounded_together() {
    let text = |c: char| format!("head -c 9000 /dev/zero | tr '\\0' {c}");
    let setup = Setup::new(
        Project::new(),
        &json!({"UserPromptSubmit": commands(&[&text('a'), &text('b'), &text('c')])}),
    );
    let outcome = setup.run(&HookInput::UserPromptSubmit {
        prompt: String::new(),
    });
    let all: String = outcome.context.concat();
    assert!(all.len() < 10_200, "{}", all.len());
    assert!(all.starts_with('a') && all.ends_with('c'));
}

#[test]
fn hook_that_is_not_approved_does_not_run_and_is_reported_once() {
    let setup = Setup::with(
        Project::new(),
        &json!({"Stop": commands(&["touch ran; exit 2"])}),
        false,
    );
    assert_eq!(setup.run(&stop()).problems, ["Stop is not approved"]);
    assert_eq!(setup.run(&stop()), HookOutcome::default());
    assert!(!setup.project.file("ran").exists());
}

#[test]
fn cancelled_hooks_end_and_decide_nothing() {
    let sleep = Sleep::new();
    let command = format!("touch started; {}", sleep.command());
    let setup = Setup::new(Project::new(), &json!({"Stop": commands(&[&command])}));
    let cancel = CancellationToken::new();
    let outcome = setup.runtime.block_on(async {
        let started = setup.project.file("started");
        let context = setup.context();
        let input = stop();
        let (outcome, ()) = tokio::join!(setup.runner.run(&input, &context, &cancel), async {
            while !started.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
        outcome
    });
    assert_eq!(outcome, HookOutcome::default());
    assert_eq!(sleep.sleepers(), Vec::<i32>::new());
}

#[test]
fn nothing_is_started_without_hooks() {
    let setup = Setup::new(
        Project::new(),
        &json!({"PreToolUse": [{"matcher": "Write", "hooks": [{"command": "touch ran"}]}]}),
    );
    assert_eq!(setup.run(&bash("ls")), HookOutcome::default());
    assert_eq!(setup.run(&stop()), HookOutcome::default());
    assert!(!setup.project.file("state").exists() && !setup.project.file("ran").exists());
}
