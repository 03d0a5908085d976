//! Changes of a server's lists in protocol versions in which they are reported only to subscriptions.

use crewdeck::mcp::PoolEvent;
use serde_json::json;

use super::{TestPool, test_config, wait_until};

fn has(test: &TestPool, name: &str) -> bool {
    test.pool.tools().tools.iter().any(|t| t.tool == name)
}

#[tokio::test]
async fn subscription_that_ended_is_opened_again() {
    let test = TestPool::new(vec![test_config("s", &["--stateless"])]);
    test.start().await;
    for round in 0..3 {
        test.call("mcp__s__end_subscriptions", json!({}))
            .await
            .unwrap();
        let name = format!("extra{round}");
        test.call("mcp__s__add", json!({"name": name}))
            .await
            .unwrap();
        wait_until("the new tool is listed", || has(&test, &name)).await;
    }
    test.pool.shutdown().await;
}

#[tokio::test]
async fn changes_before_a_subscription_are_not_lost() {
    let options = ["--stateless", "--add-before-listen", "early"];
    let test = TestPool::new(vec![test_config("s", &options)]);
    test.start().await;
    wait_until("the tool is listed", || has(&test, "early")).await;
    test.pool.shutdown().await;
}

#[tokio::test]
async fn changed_prompts_are_reported_to_a_subscription() {
    let test = TestPool::new(vec![test_config("s", &["--stateless"])]);
    test.start().await;
    let reports = || {
        let events = test.events.lock().unwrap();
        let is_report = |event: &&PoolEvent| matches!(event, PoolEvent::ListsChanged { .. });
        events.iter().filter(is_report).count()
    };
    // The first report says that the subscription began.
    wait_until("the subscription begins", || reports() == 1).await;
    test.call("mcp__s__add_prompt", json!({"name": "new"}))
        .await
        .unwrap();
    wait_until("the change is reported", || reports() == 2).await;
    let prompts = test.pool.prompts("s").await.unwrap();
    assert!(prompts.iter().any(|prompt| prompt.name == "new"));
    test.pool.shutdown().await;
}
