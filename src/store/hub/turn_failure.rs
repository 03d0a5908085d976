//! Lets callers that take turns fail together. Without this, each of many callers would wait as long as the hub does not
//! answer, one after another, and a host that is lost could not end its agents in time.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::connection::{FailedAttempt, shared_failure};
use super::error::HubError;

/// The last failed attempt of callers that take turns.
#[derive(Debug, Default)]
pub(super) struct TurnFailure(Mutex<FailedAttempt>);

impl TurnFailure {
    /// Runs `work` for a caller whose turn it is, and who has waited since `asked_at`. If another caller has failed in an
    /// attempt that began after that, returns its error.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn attempt<T>(
        &self,
        asked_at: Instant,
        work: impl FnOnce() -> Result<T, HubError>,
    ) -> Result<T, HubError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = shared_failure(last.as_ref(), asked_at) {
            return Err(error);
        }
        let began = Instant::now();
        work().inspect_err(|error| *last = Some((began, error.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_that_waited_gets_the_error_of_the_attempt_before() {
        let failure = TurnFailure::default();
        let asked_at = Instant::now();
        let failed = failure.attempt(asked_at, || Err::<(), _>(HubError::Closed));
        assert_eq!(failed, Err(HubError::Closed));
        let waited = failure.attempt(asked_at, || Ok(1));
        assert_eq!(waited, Err(HubError::Closed));
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!(failure.attempt(Instant::now(), || Ok(1)), Ok(1));
    }
}
