//! Reports when the hub cannot be reached, and why. Nothing asks for it: the client reports the end of its connection.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::host_store::ConnectionReport;
use super::connection::Hub;

/// Time without a connection after which an interruption is reported. The first attempt to connect again then has found
/// its cause.
const REPORTED_AFTER: Duration = Duration::from_secs(1);

/// Stops the reports when it is dropped.
struct RunningConnectionWatch(AbortHandle);

impl Drop for RunningConnectionWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls `report` with the cause of each interruption of the connection, with each other cause, and with `None` at its end,
/// until the returned value is dropped.
///
/// # Errors
/// When the connection cannot be made.
pub(super) fn start(hub: &Hub, report: ConnectionReport) -> Result<Box<dyn Send>, StoreError> {
    let following = hub.spawn(move |connection| follow(connection.outage(), report))?;
    Ok(Box::new(RunningConnectionWatch(following)))
}

/// Reports the changes of `outage`, the cause while there is no connection, until its sender is gone.
async fn follow(mut outage: watch::Receiver<Option<String>>, report: ConnectionReport) {
    let mut reported = None;
    loop {
        let is_interrupted = outage.borrow_and_update().is_some();
        if is_interrupted && reported.is_none() {
            tokio::time::sleep(REPORTED_AFTER).await;
        }
        let cause = outage.borrow_and_update().clone();
        if cause != reported {
            report(cause.clone());
            reported = cause;
        }
        if outage.changed().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use pretty_assertions::assert_eq;

    use super::super::connect_rules::INTERRUPTED;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn short_interruption_is_not_reported_and_a_long_one_ends() {
        let (sender, outage) = watch::channel(None);
        let reports = Arc::<Mutex<Vec<Option<String>>>>::default();
        let kept = Arc::clone(&reports);
        let report = move |cause| kept.lock().unwrap().push(cause);
        let following = tokio::spawn(follow(outage, Box::new(report)));
        let wait = || tokio::time::sleep(REPORTED_AFTER * 2);
        let second = || Some("no answer within 3 s".to_string());
        wait().await;
        sender.send_replace(Some(INTERRUPTED.into()));
        tokio::time::sleep(REPORTED_AFTER / 2).await;
        sender.send_replace(None);
        wait().await;
        assert_eq!(*reports.lock().unwrap(), Vec::<Option<String>>::new());
        sender.send_replace(Some(INTERRUPTED.into()));
        wait().await;
        sender.send_replace(second());
        wait().await;
        sender.send_replace(None);
        wait().await;
        let expected = [Some(INTERRUPTED.to_string()), second(), None];
        assert_eq!(*reports.lock().unwrap(), expected);
        drop(sender);
        following.await.unwrap();
    }
}
