//! The context of a crew on a hub, for tests. Nothing is read from the hub, so no server is necessary.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::context::CrewContext;
use super::shared_parts::HostParts;
use super::test_support::TestCrew;
use crate::domain::host::{HostInfo, HostKind, HostName};
use crate::store::{FakeHostSession, Hub, HubAddress, HubSettings};

/// Returns the context of `crew` as one on a hub, which this process leads as the host `home`.
pub fn lead_on_hub(crew: &TestCrew) -> Arc<CrewContext> {
    lead_in_session(crew, FakeHostSession::new("home", "s"))
}

/// Returns the context of [`lead_on_hub`] with a session that the test can end.
pub fn lead_in_session(crew: &TestCrew, session: Arc<FakeHostSession>) -> Arc<CrewContext> {
    let address = HubAddress::parse("nats://127.0.0.1:1/web").unwrap();
    let hub = Hub::new(HubSettings::new(address));
    let info = HostInfo::new(HostName::parse("home").unwrap(), HostKind::Lead);
    Arc::new(CrewContext {
        root: crew.context.root.clone(),
        session: crew.context.session.clone(),
        event_sender: crew.context.event_sender.clone(),
        clock: crew.context.clock,
        new_id: crew.context.new_id,
        started: crew.context.started,
        tracker: TaskTracker::new(),
        stop: CancellationToken::new(),
        hooks: None,
        host: Some(HostParts {
            info,
            session,
            store: hub.stores(&crew.context.root).hosts.unwrap(),
            exchange: None,
        }),
    })
}
