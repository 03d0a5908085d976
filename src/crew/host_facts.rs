//! Reports facts about this host to the hub.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::context::CrewContext;
use super::shared_parts::HostParts;
use crate::domain::host::HostInfo;
use crate::store::{HostSession, load_average};

/// Pause before a failed report is repeated.
const AGAIN: Duration = Duration::from_secs(5);
/// Interval at which the load of the machine is reported if it has changed.
const LOAD_INTERVAL: Duration = Duration::from_secs(15);
/// Difference from which on a change of the load is reported.
const LOAD_STEP: f32 = 0.5;

/// The facts that this host reports about itself until its crew stops. One task reports them, so that they arrive in order.
pub struct HostFacts(watch::Sender<HostInfo>);

impl HostFacts {
    pub fn start(context: &CrewContext, host: &HostParts) -> HostFacts {
        let (info, changes) = watch::channel(host.info.clone());
        let (session, stop) = (Arc::clone(&host.session), context.stop.clone());
        let facts = HostFacts(info.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = note_loads(&info) => {}
                () = report_changes(session, changes) => {}
            }
        });
        facts
    }

    pub fn set_draining(&self) {
        self.0.send_modify(|info| info.is_draining = true);
    }
}

/// Notes the load of the machine from time to time.
async fn note_loads(info: &watch::Sender<HostInfo>) {
    let mut ticks = tokio::time::interval(LOAD_INTERVAL);
    loop {
        ticks.tick().await;
        let load = load_average();
        info.send_if_modified(|info| {
            let has_changed = (load - info.load).abs() >= LOAD_STEP;
            if has_changed {
                info.load = load;
            }
            has_changed
        });
    }
}

/// Reports each change of the facts until the session is lost. Of several changes during a report, reports the last.
async fn report_changes(session: Arc<dyn HostSession>, mut changes: watch::Receiver<HostInfo>) {
    while changes.changed().await.is_ok() {
        loop {
            let (session, info) = (Arc::clone(&session), changes.borrow_and_update().clone());
            let reported = spawn_blocking(move || session.update(&info)).await;
            let Ok(Err(error)) = reported else { break };
            if error.is_lost_lease() {
                return;
            }
            tracing::warn!("the facts about this host are not reported: {error}");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::host::{HostKind, HostName};
    use crate::store::FakeHostSession;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn changes_are_reported_until_the_session_is_lost() {
        let session = FakeHostSession::new("gpu", "s");
        let info = HostInfo::new(HostName::parse("gpu").unwrap(), HostKind::Worker);
        let (changes, receiver) = watch::channel(info);
        let reporting = tokio::spawn(report_changes(session.clone(), receiver));
        changes.send_modify(|info| info.is_draining = true);
        while session.updates().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(session.updates()[0].is_draining);
        session.end();
        changes.send_modify(|info| info.load = 1.0);
        reporting.await.unwrap();
        assert_eq!(session.updates().len(), 1);
    }
}
