//! Tests of the reports and requests of one session.

use super::*;
use futures::future::BoxFuture;
use pretty_assertions::assert_eq;

#[derive(Default)]
struct Recorder {
    updates: Mutex<Vec<AgentUpdate>>,
}

impl SessionHandler for Recorder {
    fn update(&self, update: AgentUpdate) {
        self.updates.lock().unwrap().push(update);
    }

    fn ask(&self, request: AskedPermission) -> BoxFuture<'static, PermissionAnswer> {
        let answer = match request.call.title.as_str() {
            "refuse" => PermissionAnswer::Reject,
            "hang" => return Box::pin(std::future::pending()),
            _ => PermissionAnswer::AllowOnce,
        };
        Box::pin(async move { answer })
    }
}

fn session(refusal: RefusalEffect, is_loading: bool) -> (Arc<Recorder>, SessionRoute) {
    let recorder = Arc::new(Recorder::default());
    let redactor = Redactor::new([("MY_KEY".to_string(), "hunter2-hunter2".to_string())]);
    let handler = Arc::clone(&recorder) as Arc<dyn SessionHandler>;
    let route = SessionRoute::new("s".into(), handler, &redactor, refusal, is_loading);
    (recorder, route)
}

fn text(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

fn options() -> Vec<Value> {
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    vec![
        option("always", "allow_always"),
        option("once", "allow_once"),
        option("no", "reject_once"),
    ]
}

#[test]
fn permission_is_answered_by_kind_and_never_widened() {
    let selected = |id: &str| json!({ "outcome": { "outcome": "selected", "optionId": id } });
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    let all = options();
    for (answer, options, expected) in [
        (PermissionAnswer::AllowOnce, &all[..], selected("once")),
        (PermissionAnswer::AllowAlways, &all[..], selected("always")),
        (PermissionAnswer::AllowAlways, &all[1..], selected("once")),
        (PermissionAnswer::AllowOnce, &all[..1], cancelled.clone()),
        (PermissionAnswer::Reject, &all[..], selected("no")),
        (PermissionAnswer::Reject, &all[..1], cancelled.clone()),
        (PermissionAnswer::Cancelled, &all[..], cancelled),
    ] {
        assert_eq!(permission_result(answer, options), expected, "{answer:?}");
    }
}

#[test]
fn secret_split_between_chunks_is_redacted() {
    let (recorder, route) = session(RefusalEffect::Unknown, false);
    route.update(&text("the key is hunter2-"));
    route.update(&text("hunter2 and more"));
    route.end_turn(None);
    let updates = recorder.updates.lock().unwrap();
    let texts = updates.iter().map(|update| match update {
        AgentUpdate::Text(text) => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        texts.collect::<String>(),
        "the key is [redacted: MY_KEY] and more"
    );
}

#[test]
fn repeated_conversation_of_a_loaded_session_is_dropped() {
    let (recorder, route) = session(RefusalEffect::Unknown, true);
    route.update(&text("old"));
    route.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "old" }));
    route.update(&json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    route.end_loading();
    route.update(&text("new"));
    route.end_turn(None);
    let updates = recorder.updates.lock().unwrap();
    assert_eq!(updates[0], AgentUpdate::Mode("plan".into()));
    // The end of a text may arrive later than its start, because it could belong to a secret.
    let texts = updates[1..].iter().map(|update| match update {
        AgentUpdate::Text(text) => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(texts.collect::<String>(), "new");
}

#[tokio::test]
async fn permission_request_announces_an_unknown_call() {
    let (recorder, route) = session(RefusalEffect::Unknown, false);
    assert!(route.begin_turn() && !route.begin_turn());
    let call = json!({ "toolCallId": "1", "title": "write a.txt" });
    let (request, cancel) = route.permission(&call, &options()).unwrap();
    assert!(request.offers_always);
    assert_eq!(recorder.updates.lock().unwrap().len(), 1);
    let answer = route.decide(request, &cancel).await;
    assert_eq!(answer, PermissionAnswer::AllowOnce);
}

#[tokio::test]
async fn requests_outside_of_a_turn_and_after_cancel_are_not_asked() {
    let (_, route) = session(RefusalEffect::Unknown, false);
    let call = json!({ "toolCallId": "1", "title": "hang" });
    assert!(route.permission(&call, &options()).is_none());
    route.begin_turn();
    let (request, cancel) = route.permission(&call, &options()).unwrap();
    assert!(route.cancel_turn() && !route.cancel_turn());
    assert_eq!(
        route.decide(request, &cancel).await,
        PermissionAnswer::Cancelled
    );
    assert!(route.permission(&call, &options()).is_none());
    let end = route.end_turn(None).unwrap();
    assert_eq!(end.reason, PromptEndReason::Cancelled);
    assert_eq!(route.end_turn(None), None);
}

#[tokio::test]
async fn refusals_that_the_agent_does_not_report_are_named() {
    for (refusal, text_after, expected) in [
        (RefusalEffect::TurnEnds, true, true),
        (RefusalEffect::ModelContinues, false, false),
        (RefusalEffect::Unknown, true, false),
        (RefusalEffect::Unknown, false, true),
    ] {
        let (_, route) = session(refusal, false);
        route.begin_turn();
        route.update(&text("before"));
        let call = json!({ "toolCallId": "1", "title": "refuse" });
        let (request, cancel) = route.permission(&call, &options()).unwrap();
        route.decide(request, &cancel).await;
        if text_after {
            route.update(&text("after"));
        }
        let end = route
            .end_turn(Some(&json!({ "stopReason": "end_turn" })))
            .unwrap();
        assert_eq!(
            (end.is_refusal_unreported, end.refused),
            (expected, vec!["refuse".into()])
        );
    }
}

#[test]
fn usage_comes_from_the_answer_or_from_the_texts() {
    let (_, route) = session(RefusalEffect::Unknown, false);
    let tokens = |end: Option<PromptEnd>| end.unwrap().usage.map(|usage| usage.total());
    let chunk = json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "" },
        "_meta": { "usage": { "inputTokens": 2, "outputTokens": 1 } },
    });
    for (answer, expected) in [
        (
            json!({ "usage": { "inputTokens": 10, "outputTokens": 5 } }),
            Some(15),
        ),
        (
            json!({ "_meta": { "quota": { "token_count": { "input_tokens": 7 } } } }),
            Some(7),
        ),
        (json!({}), Some(3)),
    ] {
        route.begin_turn();
        route.update(&chunk);
        assert_eq!(tokens(route.end_turn(Some(&answer))), expected, "{answer}");
    }
    route.begin_turn();
    assert_eq!(tokens(route.end_turn(Some(&json!({})))), None);
}

#[test]
fn running_calls_fail_when_the_program_ends() {
    let (recorder, route) = session(RefusalEffect::Unknown, false);
    route.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "a" }));
    route.end();
    let last = recorder.updates.lock().unwrap().pop();
    assert!(
        matches!(&last, Some(AgentUpdate::ToolCall(call)) if call.status == AgentToolStatus::Failed),
        "{last:?}"
    );
}
