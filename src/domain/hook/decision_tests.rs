//! Tests of the answers of hooks: exit codes, plain text, JSON, and how several are merged.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::super::matcher::Matcher;
use super::super::outcome::{CONTEXT_MAX, limit_length, merge};
use super::super::spec::{HookHandler, HookSource};
use super::*;

fn hook(event: HookEvent) -> HookSpec {
    HookSpec {
        source: HookSource {
            file: "hooks.json".into(),
            is_project: false,
            index: 0,
        },
        event,
        matcher: Matcher::All,
        condition: None,
        handler: HookHandler::Command {
            command: "check.sh".into(),
            args: None,
        },
        timeout: None,
        is_async: false,
        blocks_on_failure: false,
    }
}

#[test]
fn changed_hook_blocks_what_a_block_prevents() {
    for event in HookEvent::ALL {
        let decision = decide_changed(&hook(*event), "its files changed");
        let denied = decision.permission.map(|(verdict, reason)| {
            assert_eq!(verdict, PermissionVerdict::Deny);
            reason
        });
        let reason = decision.block.or(denied);
        let prevents = event.block_effect().prevents();
        assert_eq!(reason.is_some(), prevents, "{event:?}");
        assert!(reason.is_none_or(|why| why.contains("its files changed")));
    }
}

fn decide_on_exit(event: HookEvent, code: i32, stdout: &str, stderr: &str) -> HookDecision {
    decide(
        &hook(event),
        HookResult::Exited {
            code,
            stdout: stdout.into(),
            stderr: stderr.into(),
        },
    )
}

fn decide_on_answer(event: HookEvent, answer: &Value) -> HookDecision {
    decide_on_exit(event, 0, &answer.to_string(), "")
}

#[test]
fn exit_codes_have_the_meaning_of_the_contract() {
    use HookEvent::{
        PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit, WorktreeCreate,
    };
    let none = HookDecision::default();
    assert_eq!(decide_on_exit(PreToolUse, 0, "", ""), none);
    assert_eq!(decide_on_exit(PreToolUse, 0, "some text", "noise"), none);
    for event in [SessionStart, UserPromptSubmit] {
        let context = decide_on_exit(event, 0, " some text\n", "").context;
        assert_eq!(context.as_deref(), Some("some text"));
    }
    let denied = decide_on_exit(PreToolUse, 2, "{\"continue\": false}", "not this one\n");
    let reason = "[check.sh]: not this one".to_string();
    assert_eq!(
        denied.permission,
        Some((PermissionVerdict::Deny, reason.clone()))
    );
    assert_eq!((denied.stop, denied.block), (None, None));
    for event in [Stop, PostToolUse, UserPromptSubmit] {
        assert_eq!(
            decide_on_exit(event, 2, "", "not this one").block,
            Some(reason.clone())
        );
    }
    let silent = decide_on_exit(Stop, 2, "", " \n").block.unwrap();
    assert_eq!(silent, "[check.sh]: no reason given on stderr");
    for event in [PreToolUse, Stop] {
        let failed = decide_on_exit(event, 1, "", "\nTraceback\u{1b}[2J\nmore");
        let problem = failed.problem.clone().unwrap();
        assert!(
            problem.contains("of hooks.json (check.sh) exited with code 1: Traceback"),
            "{problem}"
        );
        assert!(!problem.contains('\u{1b}'));
        assert_eq!(
            HookDecision {
                problem: None,
                ..failed
            },
            none
        );
    }
    // Any failure of the hook prevents the creation of a worktree.
    assert!(decide_on_exit(WorktreeCreate, 1, "", "x").block.is_some());
    assert!(decide_on_exit(WorktreeCreate, 0, " \n", "").block.is_some());
    let made = decide_on_exit(WorktreeCreate, 0, "making\n/tmp/w\n\n", "");
    assert_eq!(made.worktree.as_deref(), Some("/tmp/w"));
}

#[test]
fn json_answers_are_read() {
    use HookEvent::{
        PermissionRequest, PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit,
        WorktreeCreate,
    };
    let specific = |event: HookEvent, mut fields: Value| {
        fields["hookEventName"] = event.name().into();
        decide_on_answer(event, &json!({"hookSpecificOutput": fields}))
    };
    for (word, verdict) in [
        ("allow", PermissionVerdict::Allow),
        ("ask", PermissionVerdict::Ask),
        ("defer", PermissionVerdict::Defer),
        ("deny", PermissionVerdict::Deny),
    ] {
        let found = specific(
            PreToolUse,
            json!({"permissionDecision": word, "permissionDecisionReason": "r"}),
        );
        assert_eq!(found.permission, Some((verdict, "r".into())));
    }
    let changed = specific(
        PreToolUse,
        json!({"updatedInput": {"command": "ls"}, "additionalContext": "c"}),
    );
    assert_eq!(changed.updated_input, Some(json!({"command": "ls"})));
    assert_eq!(changed.context.as_deref(), Some("c"));
    let allowed = specific(
        PermissionRequest,
        json!({"decision": {"behavior": "allow", "updatedInput": {"a": 1}}}),
    );
    assert_eq!(
        allowed.permission,
        Some((PermissionVerdict::Allow, String::new()))
    );
    assert_eq!(allowed.updated_input, Some(json!({"a": 1})));
    let denied = specific(
        PermissionRequest,
        json!({"decision": {"behavior": "deny", "message": "no", "interrupt": true}}),
    );
    assert_eq!(
        (denied.permission, denied.stop),
        (
            Some((PermissionVerdict::Deny, "no".into())),
            Some("no".into())
        )
    );
    for event in [SessionStart, UserPromptSubmit, PostToolUse] {
        let found = specific(event, json!({"additionalContext": "c"}));
        assert_eq!(found.context.as_deref(), Some("c"));
    }
    let made = specific(WorktreeCreate, json!({"worktreePath": "/w"}));
    assert_eq!(made.worktree.as_deref(), Some("/w"));

    let blocked = decide_on_answer(Stop, &json!({"decision": "block", "reason": "tests fail"}));
    assert_eq!(blocked.block.as_deref(), Some("tests fail"));
    let old = decide_on_answer(PreToolUse, &json!({"decision": "approve"}));
    assert_eq!(
        old.permission,
        Some((PermissionVerdict::Allow, String::new()))
    );
    let both = decide_on_answer(
        PreToolUse,
        &json!({"decision": "block", "reason": "no", "hookSpecificOutput": {"permissionDecision": "allow"}}),
    );
    assert_eq!(
        both.permission,
        Some((PermissionVerdict::Deny, "no".into()))
    );
    let stopped = decide_on_answer(
        PostToolUse,
        &json!({"continue": false, "stopReason": "enough", "systemMessage": "m", "suppressOutput": true}),
    );
    assert_eq!(stopped.stop.as_deref(), Some("enough"));
    assert_eq!(stopped.message.as_deref(), Some("m"));
    assert_eq!(stopped.problem, None);
}

#[test]
fn invalid_answers_change_nothing_and_are_reported() {
    for (answer, problem) in [
        (
            "{not json",
            "returned invalid JSON, which is ignored: line 1, column 2",
        ),
        ("{\"decision\": \"perhaps\"}", "unknown decision 'perhaps'"),
        ("{\"decision\": 1}", "a decision that is not a string"),
        (
            "{\"continue\": \"no\"}",
            "a value for continue that is not true or false",
        ),
        (
            "{\"systemMessage\": []}",
            "a value for systemMessage that is not a string",
        ),
        (
            "{\"hookSpecificOutput\": 1}",
            "a hookSpecificOutput that is not an object",
        ),
        (
            "{\"hookSpecificOutput\": {\"hookEventName\": \"Stop\", \"permissionDecision\": \"allow\"}}",
            "the hookEventName 'Stop' instead of PreToolUse",
        ),
        (
            "{\"hookSpecificOutput\": {\"permissionDecision\": \"maybe\"}}",
            "unknown permission 'maybe'",
        ),
        (
            "{\"hookSpecificOutput\": {\"updatedInput\": \"ls\"}}",
            "an updatedInput that is not an object",
        ),
    ] {
        let found = decide_on_exit(HookEvent::PreToolUse, 0, answer, "");
        assert!(
            found.problem.as_ref().is_some_and(|p| p.contains(problem)),
            "{answer}: {found:?}"
        );
        assert_eq!(
            HookDecision {
                problem: None,
                ..found
            },
            HookDecision::default(),
            "{answer}"
        );
    }
    let strict = HookSpec {
        blocks_on_failure: true,
        ..hook(HookEvent::PreToolUse)
    };
    let failed = decide(
        &strict,
        HookResult::Failed {
            why: "timed out after 5 s".into(),
        },
    );
    let reason = "[check.sh]: timed out after 5 s".to_string();
    assert_eq!(failed.permission, Some((PermissionVerdict::Deny, reason)));
}

#[test]
fn responses_are_read_like_output() {
    let responded = |body: &str| {
        decide(
            &hook(HookEvent::UserPromptSubmit),
            HookResult::Responded { body: body.into() },
        )
    };
    assert_eq!(responded(" \n"), HookDecision::default());
    assert_eq!(
        responded("{\"decision\": \"block\", \"reason\": \"r\"}")
            .block
            .as_deref(),
        Some("r")
    );
    assert!(
        responded("<html>")
            .problem
            .unwrap()
            .contains("not a JSON object")
    );
}

#[test]
fn strictest_decision_wins() {
    use PermissionVerdict::{Allow, Ask, Defer, Deny};
    let with = |verdict, reason: &str| HookDecision {
        permission: Some((verdict, reason.into())),
        ..HookDecision::default()
    };
    for (verdicts, expected) in [
        (vec![], None),
        (vec![Allow], Some(Allow)),
        (vec![Allow, Ask], Some(Ask)),
        (vec![Ask, Defer, Allow], Some(Defer)),
        (vec![Deny, Defer, Allow], Some(Deny)),
    ] {
        let merged = merge(verdicts.iter().map(|v| with(*v, "r")).collect());
        assert_eq!(merged.permission.map(|(v, _)| v), expected, "{verdicts:?}");
    }
    let merged = merge(vec![
        with(Deny, "a"),
        with(Allow, "b"),
        with(Deny, "c"),
        with(Deny, "a"),
    ]);
    assert_eq!(merged.permission, Some((Deny, "a\nc".into())));
    assert!(merged.is_blocked());
    assert_eq!(merged.reason(), "a\nc");

    let input = |n: i32| HookDecision {
        updated_input: Some(json!({"n": n})),
        ..HookDecision::default()
    };
    let merged = merge(vec![input(1), input(2), input(1)]);
    assert_eq!(merged.updated_input, Some(json!({"n": 1})));
    assert_eq!(merged.problems.len(), 1);
    assert_eq!(merge(vec![input(1), with(Deny, "a")]).updated_input, None);
}

#[test]
fn long_texts_are_cut_with_a_mark() {
    let long = "ä".repeat(CONTEXT_MAX + 1);
    let cut = limit_length(&long);
    assert!(cut.chars().count() < CONTEXT_MAX && crate::domain::text::bytes_cut(&cut) > 0);
    let exact = "ä".repeat(CONTEXT_MAX);
    assert_eq!(limit_length(&exact), exact);
    let found = decide_on_exit(HookEvent::UserPromptSubmit, 0, &long, "");
    assert_eq!(merge(vec![found]).context, [cut]);
}
