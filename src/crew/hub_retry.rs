//! Repeats what a host needs from the hub until it succeeds.

use std::time::Duration;

use super::context::CrewContext;
use crate::protocol::event::NoticeLevel;
use crate::store::StoreError;

/// The first and the longest pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Repeats `attempt` with growing pauses until it succeeds; returns `None` if the crew stops before. Reports the first error
/// to the user as one of `what`, such as "watching the other hosts", and the success after it.
pub async fn until_success<T, F>(
    context: &CrewContext,
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> Option<T>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut pause = PAUSE;
    let mut has_failed = false;
    loop {
        match attempt().await {
            Ok(value) => {
                if has_failed {
                    let text = format!("Hub: {what} works again.");
                    context.notice(NoticeLevel::Info, text).await;
                }
                return Some(value);
            }
            Err(error) => {
                if !std::mem::replace(&mut has_failed, true) {
                    let text = format!("Hub: {what} failed, and is tried again: {error}");
                    context.notice(NoticeLevel::Error, text).await;
                }
            }
        }
        tokio::select! {
            () = context.stop.cancelled() => return None,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::test_support::TestCrew;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn first_error_and_the_success_are_reported() {
        let mut crew = TestCrew::new();
        let mut attempts = 0;
        let done = until_success(&crew.context, "the watch", || {
            attempts += 1;
            let result = if attempts < 4 {
                Err(StoreError::HostLost("act"))
            } else {
                Ok(attempts)
            };
            std::future::ready(result)
        });
        assert_eq!(done.await, Some(4));
        let notices = crew.notices();
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].starts_with("Hub: the watch failed, and is tried again: "));
        assert_eq!(notices[1], "Hub: the watch works again.");
    }

    #[tokio::test]
    async fn stopped_crew_ends_the_attempts() {
        let crew = TestCrew::new();
        crew.context.stop.cancel();
        let failing = || std::future::ready(Err::<(), _>(StoreError::HostLost("act")));
        let done = until_success(&crew.context, "the watch", failing).await;
        assert_eq!(done, None);
    }
}
