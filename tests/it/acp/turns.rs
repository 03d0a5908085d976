//! Sessions and turns that succeed.

use std::sync::Arc;

use crewdeck::acp::{
    PermissionAnswer, PromptEndReason, SessionChoice, SessionHandler, SessionSpec, StdioServer,
};
use crewdeck::domain::agent_update::{
    AgentToolKind, AgentToolStatus, AgentUpdate, ContextUsage, FileDiff,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Recorder, TestAgent, prompt, test_config, wait_until};

#[tokio::test]
async fn turn_has_texts_reports_and_usage() {
    let test = TestAgent::new(&[]);
    let script = "think hm\nsay hello\nreport\nnotify x/y\nnotify _auth/status_update\nusage";
    let (end, recorder) = test.run(script).await;
    let end = end.unwrap();
    assert_eq!(end.reason, PromptEndReason::EndTurn);
    assert_eq!(end.usage.unwrap().total(), 120);
    let updates = recorder.updates.lock().unwrap().clone();
    let titles =
        |update: &&AgentUpdate| matches!(update, AgentUpdate::Title(title) if title == "A title");
    assert_eq!(updates.iter().filter(titles).count(), 1);
    assert!(updates.contains(&AgentUpdate::Commands(vec!["init".into()])));
    let usage = ContextUsage {
        used: 120,
        size: 1000,
        cost: Some(0.25),
    };
    assert!(updates.contains(&AgentUpdate::Context(usage)));
    // The agent sent the first text before the answer to session/new.
    assert_eq!(recorder.text(), "earlyhello");
    test.agent.shut_down().await;
}

#[tokio::test]
async fn partial_reports_of_a_call_are_merged() {
    let test = TestAgent::new(&[]);
    let (end, recorder) = test
        .run("call 1 make it\ndiff 1 /p/a.txt\nask 1 make it")
        .await;
    end.unwrap();
    let call = recorder.call("1");
    assert_eq!(
        (call.title.as_str(), call.kind),
        ("make it", AgentToolKind::Execute)
    );
    assert_eq!(call.raw_input, Some(json!({ "command": "make it" })));
    assert_eq!(
        (call.status, call.text.as_str()),
        (AgentToolStatus::Completed, "p-once")
    );
    let diff = FileDiff {
        path: "/p/a.txt".into(),
        old: Some("old\n".into()),
        new: "new\n".into(),
    };
    assert_eq!(call.diffs, [diff]);
    test.agent.shut_down().await;
}

#[tokio::test]
async fn session_gets_directory_servers_mode_and_model() {
    let test = TestAgent::new(&[]);
    let recorder = Recorder::answering(PermissionAnswer::AllowOnce);
    let server = StdioServer {
        name: "crew".into(),
        command: "/bin/crew".into(),
        args: vec!["serve".into()],
        env: [("A".to_string(), "b".to_string())].into(),
    };
    let spec = SessionSpec {
        mcp_servers: vec![server],
        mode: Some("default".into()),
        model: Some("Large Model".into()),
        ..test.spec()
    };
    let handler = || Arc::clone(&recorder) as Arc<dyn SessionHandler>;
    let session = test.agent.open(&spec, handler()).await.unwrap();
    assert_eq!(session.unset(), []);
    session.set_mode("plan").await.unwrap();
    prompt(&session, "settings").await.unwrap();
    let text = recorder.text();
    let settings: Value = serde_json::from_str(text.strip_prefix("early").unwrap()).unwrap();
    assert_eq!(settings["cwd"], test.dir.path().to_str().unwrap());
    assert_eq!(
        (&settings["mode"], &settings["model"]),
        (&json!("plan"), &json!("large"))
    );
    assert_eq!(
        settings["servers"][0]["env"],
        json!([{ "name": "A", "value": "b" }])
    );
    assert!(
        session
            .set_mode("yolo")
            .await
            .unwrap_err()
            .to_string()
            .contains("auto, default, plan")
    );

    let spec = SessionSpec {
        mode: Some("yolo".into()),
        model: Some("huge".into()),
        effort: Some("high".into()),
        ..test.spec()
    };
    let session = test.agent.open(&spec, handler()).await.unwrap();
    let unset: Vec<SessionChoice> = session.unset().iter().map(|unset| unset.choice).collect();
    assert_eq!(
        unset,
        [
            SessionChoice::Model,
            SessionChoice::Effort,
            SessionChoice::Mode
        ]
    );
    assert!(
        session.unset()[0].why.contains("keeps 'small'"),
        "{:?}",
        session.unset()
    );
    test.agent.shut_down().await;
}

#[tokio::test]
async fn sessions_share_a_process_or_have_their_own() {
    for shares in [true, false] {
        let mut config = test_config(&["--log", "starts"]);
        if !shares {
            config.preset = None;
        }
        let test = TestAgent::with(config, |_| {});
        let recorder = Arc::new(Recorder::default());
        let (first, second) = tokio::join!(test.open(&recorder), test.open(&recorder));
        let both = tokio::join!(prompt(&first, "say a"), prompt(&second, "say b"));
        both.0.unwrap();
        both.1.unwrap();
        let starts = std::fs::read_to_string(test.dir.path().join("starts")).unwrap();
        assert_eq!(starts.lines().count(), if shares { 1 } else { 2 });
        test.agent.shut_down().await;
    }
}

#[tokio::test]
async fn loaded_session_does_not_repeat_the_conversation() {
    let test = TestAgent::new(&[]);
    let recorder = Arc::new(Recorder::default());
    let spec = SessionSpec {
        load: Some("earlier".into()),
        ..test.spec()
    };
    let handler = Arc::clone(&recorder) as Arc<dyn SessionHandler>;
    let session = test.agent.open(&spec, handler).await.unwrap();
    assert_eq!(session.id(), "earlier");
    prompt(&session, "say new").await.unwrap();
    assert_eq!(recorder.text(), "new");
    test.agent.shut_down().await;
}

#[tokio::test]
async fn cancelled_turn_ends_and_the_session_goes_on() {
    let test = TestAgent::new(&[]);
    let recorder = Arc::new(Recorder::default());
    let session = test.open(&recorder).await;
    for script in [
        "say waits\nthink .\nwait",
        "say waits\nthink .\nfail-when-cancelled",
    ] {
        recorder.updates.lock().unwrap().clear();
        let cancel = async {
            wait_until("the turn runs", || recorder.text().contains("waits")).await;
            session.cancel();
        };
        let (end, ()) = tokio::join!(prompt(&session, script), cancel);
        assert_eq!(end.unwrap().reason, PromptEndReason::Cancelled);
    }
    assert_eq!(
        prompt(&session, "say on").await.unwrap().reason,
        PromptEndReason::EndTurn
    );
    test.agent.shut_down().await;
}

#[tokio::test]
async fn dropped_prompt_cancels_the_turn() {
    let test = TestAgent::new(&[]);
    let recorder = Arc::new(Recorder::default());
    let session = test.open(&recorder).await;
    tokio::select! {
        end = prompt(&session, "say waits\nthink .\nwait") => panic!("{end:?}"),
        () = wait_until("the turn runs", || recorder.text().contains("waits")) => {}
    }
    // The next prompt waits for the end of the cancelled turn.
    let end = prompt(&session, "say next").await.unwrap();
    assert_eq!(end.reason, PromptEndReason::EndTurn);
    assert!(recorder.text().ends_with("next"));
    test.agent.shut_down().await;
}

#[tokio::test]
async fn reports_of_unknown_sessions_are_ignored() {
    let test = TestAgent::new(&[]);
    let (end, recorder) = test.run("foreign\nforeign-ask\nsay .").await;
    end.unwrap();
    assert_eq!(recorder.text(), "earlycancelled.");
    assert!(recorder.asked.lock().unwrap().is_empty());
    test.agent.shut_down().await;
}

#[tokio::test]
async fn other_requests_are_not_served() {
    let test = TestAgent::new(&[]);
    let (end, recorder) = test
        .run("request fs/write_text_file\nrequest craft/x")
        .await;
    end.unwrap();
    assert_eq!(recorder.text(), "early-32601-32601");
    test.agent.shut_down().await;
}
