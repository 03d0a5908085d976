//! Events of a session in which every free text is the same hostile text. Most kinds of events occur, some of them
//! several times.

use serde_json::{Value, json};

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;

/// Returns events that fill every pane of the dashboard. Every free text is `text` and every timestamp is `time`.
///
/// # Errors
/// Fails if an event in this file does not match the event format.
pub fn session_events(text: &str, time: f64) -> Result<Vec<Event>, String> {
    let values = event_values(text, time).into_iter().enumerate();
    let events = values.map(|(at, mut value)| {
        value["seq"] = at.into();
        value["at"] = 0.0.into();
        let mut event: Event =
            serde_json::from_value(value).map_err(|e| format!("event {at}: {e}"))?;
        // Set the time after parsing, because JSON cannot represent NaN.
        event.at = Timestamp(time);
        Ok(event)
    });
    events.collect()
}

#[allow(clippy::too_many_lines)] // one list of events
fn event_values(text: &str, time: f64) -> Vec<Value> {
    let task = |id: u64, status: &str, blocked_by: &[u64]| {
        json!({"id": id, "subject": text, "description": text, "status": status, "blockedBy": blocked_by,
               "owner": if id == 2 { "bob" } else { text }, "worktree": text, "tags": [text, text],
               "created_at": time, "updated_at": time, "attempts": u32::MAX, "other": text, "acceptance": text,
               "checks": [{"name": text, "by": text, "at": time, "seconds": time, "outcome": "red", "log": text,
                           "tree": text, "reds": u32::MAX, "override": text}]})
    };
    let request = |kind: &str, status: &str| {
        json!({"type": "request_changed", "request": {
            "id": format!("{kind}-{status}-{text}"), "kind": kind, "from": "bob", "target": "bob", "body": text,
            "status": status, "decided_by": text, "comment": text, "task": 2, "choices": [text, text],
            "workdir": text, "created_at": time, "decided_at": time, "call": {"tool": text, "input": text,
            "why": text, "scopes": [{"scope": "exact", "command": text}, {"scope": "begins", "words": text}]}}})
    };
    let message = |kind: &str, step: &str| {
        json!({"type": "letter_moved", "step": step, "letter": {
            "id": format!("{kind}{text}"), "type": kind, "from": text, "to": text, "content": text,
            "timestamp": time, "approve": true, "request_id": text, "plan": text}})
    };
    let activity = |agent: &str, activity: Value| json!({"type": "activity_changed", "agent": agent, "activity": activity});
    let said =
        |agent: &str| json!({"type": "said", "agent": agent, "text": text, "thinking": text});
    let notice =
        |level: &str| json!({"type": "notice", "level": level, "agent": "bob", "text": text});
    let mut all = vec![
        json!({"type": "crew_ready", "session": text, "root": text, "provider": text, "model": text,
               "scripted": true, "git": true, "window": u64::MAX, "tools": [text]}),
        json!({"type": "models_listed", "names": [text, text]}),
        json!({"type": "prompted", "agent": "lead", "text": text}),
        json!({"type": "turn_started", "agent": "lead"}),
        said("lead"),
        json!({"type": "injected", "agent": "lead", "what": text}),
        json!({"type": "board_changed", "changed": [
            task(1, "completed", &[]), task(2, "in_progress", &[1]), task(3, "pending", &[2]),
            task(9_007_199_254_740_991, "pending", &[2, 3])]}),
        json!({"type": "team_changed", "team": {"team_name": text, "members": [
            {"name": "alice", "role": text, "status": "idle", "tags": [text], "model": text, "session": text,
             "seen_at": time},
            {"name": "bob", "role": text, "status": "working"},
            {"name": "carol", "role": text, "status": "shutdown"}]}}),
        json!({"type": "todo_changed", "agent": "lead", "list": [
            {"id": text, "text": text, "status": "in_progress"}, {"id": text, "text": text, "status": "pending"}]}),
        json!({"type": "usage_changed", "agent": "bob", "total": {"input": u64::MAX, "output": u64::MAX,
               "cache_read": u64::MAX, "cache_write": 1}, "context": u64::MAX, "window": 0, "cost": time}),
        json!({"type": "subagent_started", "agent": "bob.1", "parent": "bob", "call": text, "kind": "explore",
               "prompt": text}),
        activity("bob", json!({"state": "tool", "tool": text, "on": text})),
        activity("bob.1", json!({"state": "tool", "tool": text, "on": text})),
        activity(
            "alice",
            json!({"state": "backoff", "cause": text, "until": time, "attempt": u32::MAX}),
        ),
        activity("carol", json!({"state": "failed", "why": text})),
        activity("lead", json!({"state": "stuck", "why": text})),
        json!({"type": "job_changed", "job": {"id": text, "agent": "lead", "command": text, "began": time,
               "ended": null, "tail": text}}),
        json!({"type": "job_output", "job": text, "chunk": text}),
        json!({"type": "job_changed", "job": {"id": format!("2{text}"), "agent": "bob", "command": text,
               "began": time, "ended": [time, {"how": "killed", "by": text}], "tail": text}}),
        json!({"type": "job_changed", "job": {"id": format!("3{text}"), "agent": "bob", "command": text,
               "began": time, "ended": [time, {"how": "not_started", "why": text}], "tail": text}}),
        json!({"type": "diff_shown", "task": 2, "stat": text, "text": text, "untracked": [text]}),
        json!({"type": "rules_changed", "rules": [
            {"number": 1, "scope": {"scope": "exact", "command": text}, "by": "user", "asked_by": "bob", "since": time},
            {"number": u64::MAX, "scope": {"scope": "begins", "words": text}, "by": "user", "asked_by": "bob",
             "since": time}]}),
        json!({"type": "skills_changed", "broken": [{"path": text, "why": text}], "skills": [
            {"name": text, "description": text, "tags": [text], "source": "project", "path": text}]}),
        json!({"type": "refused", "why": text}),
        json!({"type": "compacted", "agent": "lead", "how": "summary", "transcript": text, "before": u64::MAX,
               "after": 0}),
    ];
    all.extend(["info", "warn", "error"].map(notice));
    for kind in ["plan", "shutdown", "permission", "ceiling", "question"] {
        all.extend(["pending", "rejected"].map(|status| request(kind, status)));
    }
    for kind in [
        "message",
        "shutdown_response",
        "plan_response",
        "task_assignment",
        text,
    ] {
        all.extend(["sent", "acted_on", "blocked"].map(|step| message(kind, step)));
    }
    for (at, tool) in ["bash", "read_file", "edit_file", "task_create", text]
        .into_iter()
        .enumerate()
    {
        let call = format!("{at}{text}");
        all.push(
            json!({"type": "tool_started", "agent": "lead", "call": call, "tool": tool, "on": text,
            "input": {"command": text, "path": text, text: [text]}}),
        );
        all.push(json!({"type": "tool_output", "agent": "lead", "call": call, "chunk": text}));
        if at < 4 {
            all.push(json!({"type": "tool_finished", "agent": "lead", "call": call, "tool": tool,
                "outcome": if at == 1 { "error" } else { "ok" }, "output": text,
                "diff": format!("--- a/{text}\n+++ b/{text}\n@@ -1 +1 @@\n-{text}\n+{text}\n"), "took_ms": u64::MAX}));
        }
    }
    all.extend([
        json!({"type": "turn_ended", "agent": "bob", "reason": "failed", "error": text, "hint": text}),
        json!({"type": "turn_ended", "agent": "alice", "reason": "stopped", "why": text}),
        json!({"type": "thinking_delta", "agent": "lead", "text": text}),
        json!({"type": "text_delta", "agent": "lead", "text": text}),
        said("bob"),
    ]);
    all
}
