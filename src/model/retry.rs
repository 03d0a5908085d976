//! Decides whether a failed call is retried, and how long to wait before the retry. Does no I/O.

use std::time::Duration;

use super::{ErrorKind, ModelError};

/// Maximum number of tries of one call, including the first. With the default back-off, all tries together take about
/// five minutes, so that a server outage of that length does not stop an unattended team.
pub const TRIES_MAX: u32 = 8;
/// Maximum time that one call waits between its tries in total, including waits that the server asks for. If the next
/// wait would exceed it, the call fails.
pub const WAITS_MAX: Duration = Duration::from_secs(15 * 60);
/// The wait after the first failure. Each further wait is [`GROWTH`] times as long as the previous one, up to
/// [`WAIT_MAX`].
const FIRST_WAIT: Duration = Duration::from_millis(500);
const GROWTH: u32 = 3;
/// Maximum wait before a retry if the server does not ask for a specific wait.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Maximum wait that a server may ask for. If it asks for more, the call fails with the server's message.
pub const SERVER_WAIT_MAX: Duration = Duration::from_secs(600);

/// The tries of one call that have failed so far. They decide whether the call is tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedTries {
    /// The kind of error of each try, in order; at most [`TRIES_MAX`].
    error_kinds: Vec<ErrorKind>,
    waited: Duration,
}

impl FailedTries {
    pub fn count(&self) -> u32 {
        u32::try_from(self.error_kinds.len()).unwrap_or(u32::MAX)
    }

    fn count_of(&self, fault: ErrorKind) -> u32 {
        let same = self.error_kinds.iter().filter(|f| **f == fault);
        u32::try_from(same.count()).unwrap_or(u32::MAX)
    }

    /// Adds a failed try. `wait` is the wait before the next try; `None` if the call is not tried again.
    pub fn add(&mut self, fault: ErrorKind, wait: Option<Duration>) {
        self.error_kinds.push(fault);
        self.waited = self.waited.saturating_add(wait.unwrap_or_default());
    }

    pub fn total_wait(&self) -> Duration {
        self.waited
    }
}

/// Returns the wait before the next try of a call that has failed with `error`. Returns `None` if the call must not be
/// tried again: the error is not transient, the server asks for more than [`SERVER_WAIT_MAX`], there were too many
/// tries in total or with this kind of error, or the waits would exceed [`WAITS_MAX`] in total.
///
/// `failed` holds the earlier failed tries of the call, without this one. `jitter` in 0..1 spreads the retries of many
/// agents over the last quarter of the wait, unless the server asks for a wait.
pub fn wait(error: &ModelError, failed: &FailedTries, jitter: f64) -> Option<Duration> {
    if failed.count_of(error.kind) + 1 >= max_tries_per_kind(error)
        || failed.count() + 1 >= TRIES_MAX
    {
        return None;
    }
    let pause = pause(error, failed.count(), jitter)?;
    let wait = match error.wait {
        // This is the shared back-off of the rate limiter. It already takes earlier failures into account.
        Some(shared) if is_server_wide(error) && !shared.is_zero() => shared,
        Some(_) | None => pause,
    };
    (failed.waited + wait <= WAITS_MAX).then_some(wait)
}

/// Returns the number of tries of a call, including the first, if every try fails with this error.
pub fn max_tries(error: &ModelError) -> u32 {
    max_tries_per_kind(error).min(TRIES_MAX)
}

/// Returns the wait after a failure. `failed` is the number of failures before it, and `jitter` has the same meaning as
/// in [`wait`]. Returns `None` if the error is not transient or the server asks for more than [`SERVER_WAIT_MAX`].
///
/// The wait is never shorter than the server asks for. Repeated failures make it longer, so that a server that asks for
/// short waits is not called in a tight loop.
pub fn pause(error: &ModelError, failed: u32, jitter: f64) -> Option<Duration> {
    if !error.retry.unwrap_or_else(|| is_transient(error.kind)) {
        return None;
    }
    let backoff = |failed: u32| {
        FIRST_WAIT
            .saturating_mul(GROWTH.saturating_pow(failed))
            .min(WAIT_MAX)
    };
    let spread = backoff(failed).mul_f64(0.75 + 0.25 * jitter.clamp(0.0, 1.0));
    match error.wait {
        Some(asked) if asked > SERVER_WAIT_MAX => None,
        Some(Duration::ZERO) | None => Some(spread),
        Some(asked) => Some(match failed.checked_sub(1) {
            Some(before) => asked.max(backoff(before)),
            None => asked,
        }),
    }
}

/// Returns whether a failure affects all calls to the server. If the header `x-should-retry` is present, it decides.
/// Otherwise the failure affects all calls if the server limits the rate (429), has failed (5xx) or is no longer
/// reachable.
pub fn is_server_wide(error: &ModelError) -> bool {
    let is_usually = matches!(
        (error.kind, error.server_has_answered),
        (ErrorKind::RateLimited | ErrorKind::Server, _) | (ErrorKind::Unreachable, true)
    );
    error.retry.unwrap_or(is_usually)
}

fn is_transient(fault: ErrorKind) -> bool {
    match fault {
        ErrorKind::RateLimited
        | ErrorKind::Server
        | ErrorKind::Timeout
        | ErrorKind::Truncated
        | ErrorKind::Unreachable
        | ErrorKind::InvalidResponse => true,
        ErrorKind::NoKey
        | ErrorKind::Auth
        | ErrorKind::UnknownModel
        | ErrorKind::ContextTooLong
        | ErrorKind::BadRequest
        | ErrorKind::Redirected
        | ErrorKind::Script => false,
    }
}

/// Returns how many tries of one call may fail with this kind of error, including the first.
fn max_tries_per_kind(error: &ModelError) -> u32 {
    match (error.kind, error.server_has_answered) {
        // The server has never answered; that rarely changes within minutes.
        (ErrorKind::Unreachable, false) => 3,
        (ErrorKind::InvalidResponse, false) => 2,
        // Each of these tries may cost as much as a complete response.
        (ErrorKind::InvalidResponse, true) | (ErrorKind::Truncated | ErrorKind::Timeout, _) => 5,
        (ErrorKind::Unreachable, true)
        | (
            ErrorKind::RateLimited
            | ErrorKind::Server
            | ErrorKind::NoKey
            | ErrorKind::Auth
            | ErrorKind::UnknownModel
            | ErrorKind::ContextTooLong
            | ErrorKind::BadRequest
            | ErrorKind::Redirected
            | ErrorKind::Script,
            _,
        ) => TRIES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn error(fault: ErrorKind) -> ModelError {
        ModelError::new(fault, "x", "")
    }

    fn error_after_answer(fault: ErrorKind) -> ModelError {
        ModelError {
            server_has_answered: true,
            ..error(fault)
        }
    }

    /// Returns the waits, in seconds, of a call whose tries fail with these errors in order.
    fn waits(errors: impl IntoIterator<Item = ModelError>) -> Vec<f64> {
        let mut tries = FailedTries::default();
        let waits = errors.into_iter().map_while(|error| {
            let wait = wait(&error, &tries, 1.0);
            tries.add(error.kind, wait);
            wait
        });
        waits.map(|w| w.as_secs_f64()).collect()
    }

    fn after(faults: &[ErrorKind]) -> FailedTries {
        FailedTries {
            error_kinds: faults.to_vec(),
            waited: Duration::ZERO,
        }
    }

    #[test]
    fn waits_grow_and_end_after_eight_tries() {
        let expected = [0.5, 1.5, 4.5, 13.5, 40.5, 120.0, 120.0];
        assert!(expected.iter().sum::<f64>() < 301.0);
        for error in [
            error(ErrorKind::RateLimited),
            error(ErrorKind::Server),
            error_after_answer(ErrorKind::Unreachable),
        ] {
            assert_eq!(waits(vec![error; 30]), expected);
        }
        assert_eq!(max_tries(&error(ErrorKind::Server)), 8);
        let early = wait(&error(ErrorKind::Server), &FailedTries::default(), 0.0).unwrap();
        assert_eq!(early, Duration::from_millis(375));
    }

    #[test]
    fn sum_of_server_requested_waits_is_bounded() {
        let asks = ModelError {
            wait: Some(Duration::from_secs(240)),
            ..error(ErrorKind::Server)
        };
        assert_eq!(waits(vec![asks; 30]), [240.0; 3]);
    }

    #[test]
    fn number_of_tries_depends_on_fault_and_server() {
        for (error, repeats) in [
            (error(ErrorKind::Unreachable), 2),
            (error(ErrorKind::InvalidResponse), 1),
            (error_after_answer(ErrorKind::InvalidResponse), 4),
            (error_after_answer(ErrorKind::Truncated), 4),
            (error(ErrorKind::Timeout), 4),
        ] {
            assert_eq!(waits(vec![error.clone(); 30]).len(), repeats, "{error:?}");
        }
        let mixed = [
            ErrorKind::RateLimited,
            ErrorKind::Server,
            ErrorKind::Unreachable,
            ErrorKind::Truncated,
            ErrorKind::InvalidResponse,
        ];
        assert_eq!(waits(mixed.map(error)), [0.5, 1.5, 4.5, 13.5, 40.5]);
        let many = mixed.map(error_after_answer).into_iter().cycle().take(100);
        assert_eq!(waits(many).len(), 7, "total number of tries is bounded");
    }

    #[test]
    fn server_instructions_override_own_rules() {
        let none = FailedTries::default();
        let mut limited = error(ErrorKind::RateLimited);
        limited.wait = Some(Duration::from_secs(42));
        assert_eq!(wait(&limited, &none, 0.3), Some(Duration::from_secs(42)));
        limited.wait = Some(Duration::from_secs(3600));
        assert_eq!(wait(&limited, &none, 0.3), None);
        let mut never = error(ErrorKind::Server);
        never.retry = Some(false);
        assert_eq!(wait(&never, &none, 0.3), None);
        let mut again = error(ErrorKind::BadRequest);
        again.retry = Some(true);
        assert!(wait(&again, &none, 0.3).is_some());
    }

    #[test]
    fn repeated_short_server_waits_are_lengthened() {
        let asks = |ms: u64| ModelError {
            wait: Some(Duration::from_millis(ms)),
            ..error(ErrorKind::RateLimited)
        };
        let pauses = |ms: u64| -> Vec<u128> {
            let all = (0..9).filter_map(|failed| pause(&asks(ms), failed, 1.0));
            all.map(|w| w.as_millis()).collect()
        };
        assert_eq!(
            pauses(30),
            [
                30, 500, 1500, 4500, 13_500, 40_500, 120_000, 120_000, 120_000
            ]
        );
        assert_eq!(
            pauses(5000),
            [
                5000, 5000, 5000, 5000, 13_500, 40_500, 120_000, 120_000, 120_000
            ]
        );
        assert_eq!(
            pauses(0)[..3],
            [500, 1500, 4500],
            "zero counts as no requested wait"
        );
    }

    #[test]
    fn only_server_failures_are_server_wide() {
        let error_with = |fault, retry| ModelError {
            retry,
            ..error(fault)
        };
        for (fault, retry, expected) in [
            (ErrorKind::RateLimited, None, true),
            (ErrorKind::Server, None, true),
            (ErrorKind::BadRequest, Some(true), true),
            (ErrorKind::RateLimited, Some(false), false),
            (ErrorKind::BadRequest, None, false),
            (ErrorKind::Truncated, None, false),
            (ErrorKind::Timeout, None, false),
            (ErrorKind::Unreachable, None, false),
        ] {
            assert_eq!(
                is_server_wide(&error_with(fault, retry)),
                expected,
                "{fault:?} {retry:?}"
            );
        }
        assert!(is_server_wide(&error_after_answer(ErrorKind::Unreachable)));
        assert!(!is_server_wide(&error_after_answer(ErrorKind::Truncated)));
    }

    #[test]
    fn permanent_failures_are_not_retried() {
        for fault in [
            ErrorKind::NoKey,
            ErrorKind::Auth,
            ErrorKind::UnknownModel,
            ErrorKind::BadRequest,
            ErrorKind::Redirected,
            ErrorKind::Script,
        ] {
            assert_eq!(
                wait(&error(fault), &FailedTries::default(), 0.5),
                None,
                "{fault:?}"
            );
        }
        let twice = after(&[ErrorKind::Unreachable; 2]);
        assert_eq!(wait(&error(ErrorKind::Unreachable), &twice, 0.5), None);
    }
}
