//! Subscribes to changes of an MCP server's lists, and subscribes again when the subscription ends. A subscription is
//! needed only in protocol versions without `initialize`. In versions with `initialize`, servers report changes without
//! a subscription.

use std::convert::Infallible;
use std::time::Duration;

use rmcp::model::{ErrorCode, ServerNotification, SubscriptionFilter};
use rmcp::service::ServiceError;
use tokio::time::Instant;

use crate::mcp::call::Link;
use crate::mcp::types::PoolOptions;

/// Maximum time to wait for a server's answer to a subscription. Then the subscription counts as ended.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// How a subscription ended.
enum SubscriptionEnd {
    /// The server does not support subscriptions, although its capabilities announce that it reports changes.
    Unsupported,
    /// The subscription failed or has ended. Another attempt may succeed.
    Ended,
}

/// Reports changes of the server's lists to `link.shared`. When a subscription ends, subscribes again after a wait,
/// which doubles with each consecutive failure. Never returns, even if the server reports no changes or needs no
/// subscription.
pub async fn watch_lists(link: &Link, options: &PoolOptions) -> Infallible {
    if let Some(filter) = subscription_filter(link) {
        let mut failures = 0;
        loop {
            let since = Instant::now();
            match follow(link, &filter).await {
                SubscriptionEnd::Unsupported => break,
                SubscriptionEnd::Ended => {}
            }
            let was_stable = since.elapsed() >= options.stable_after;
            failures = if was_stable { 1 } else { failures + 1 };
            tokio::time::sleep(options.delay_after(failures)).await;
        }
    }
    std::future::pending().await
}

/// Returns the changes to subscribe to: all that the server announces in its capabilities. Returns `None` if the server
/// announces none, or reports changes without a subscription.
fn subscription_filter(link: &Link) -> Option<SubscriptionFilter> {
    let info = link.peer.peer_info()?;
    if info.protocol_version.has_initialize() {
        return None;
    }
    let mut all = SubscriptionFilter::new();
    all.tools_list_changed = Some(true);
    all.resources_list_changed = Some(true);
    all.prompts_list_changed = Some(true);
    let filter = all.supported_by(&info.capabilities);
    (filter != SubscriptionFilter::new()).then_some(filter)
}

/// Subscribes, and reports changes until the subscription ends. When the subscription begins, reports that all
/// subscribed lists have changed, because earlier changes were not reported.
async fn follow(link: &Link, filter: &SubscriptionFilter) -> SubscriptionEnd {
    let listen = link.peer.listen(filter.clone());
    let mut subscription = match tokio::time::timeout(ANSWER_TIMEOUT, listen).await {
        Ok(Ok(subscription)) => subscription,
        Ok(Err(ServiceError::McpError(error))) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            return SubscriptionEnd::Unsupported;
        }
        Ok(Err(_)) | Err(_) => return SubscriptionEnd::Ended,
    };
    if filter.tools_list_changed == Some(true) {
        link.shared.tools_changed.notify_one();
    }
    if filter
        .resources_list_changed
        .or(filter.prompts_list_changed)
        == Some(true)
    {
        (link.shared.on_lists_changed)();
    }
    while let Ok(Some(change)) = subscription.next().await {
        match change {
            ServerNotification::ToolListChangedNotification(_) => {
                link.shared.tools_changed.notify_one();
            }
            _ => (link.shared.on_lists_changed)(),
        }
    }
    SubscriptionEnd::Ended
}
