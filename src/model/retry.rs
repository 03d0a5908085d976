//! When a failed call is tried again, and after how long. Pure.

use std::time::Duration;

use super::{Fault, ModelError};

/// Most tries of one call, the first included.
pub const TRIES_MAX: u32 = 8;
/// The first wait; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest wait that a server may ask for; past it the call fails with the server's words.
const SERVER_LONGEST: Duration = Duration::from_secs(600);

/// The wait before the next try of one call, or `None` when the call has failed for good.
///
/// `failed` is how many tries have failed before this one; `jitter` in 0..1 spreads the repeats of many
/// agents over the last quarter of the wait. What the server asks for is never cut short.
pub fn wait(error: &ModelError, failed: u32, jitter: f64) -> Option<Duration> {
    if failed + 1 >= tries(error.fault) {
        return None;
    }
    pause(error, failed, jitter)
}

/// The wait after a failure, however often there has been one: `failed` times before this one. `None`: it
/// will not pass by waiting, or the server asks for longer than anybody should wait.
pub fn pause(error: &ModelError, failed: u32, jitter: f64) -> Option<Duration> {
    if !error.retry.unwrap_or_else(|| is_passing(error.fault)) {
        return None;
    }
    let doubled = FIRST
        .saturating_mul(2u32.saturating_pow(failed))
        .min(LONGEST);
    match error.wait {
        Some(asked) if asked > SERVER_LONGEST => None,
        Some(asked) => Some(asked),
        None => Some(doubled.mul_f64(0.75 + 0.25 * jitter.clamp(0.0, 1.0))),
    }
}

/// Whether a failure concerns all calls to its server and not only the one that failed: it has too much to
/// do (429, 529), is broken (5xx), or says so itself (`x-should-retry`).
pub fn concerns_all(error: &ModelError) -> bool {
    error
        .retry
        .unwrap_or(matches!(error.fault, Fault::RateLimited | Fault::Server))
}

/// Whether a fault may be gone at the next try.
fn is_passing(fault: Fault) -> bool {
    match fault {
        Fault::RateLimited
        | Fault::Server
        | Fault::Timeout
        | Fault::Cut
        | Fault::Unreachable
        | Fault::Garbled => true,
        Fault::NoKey
        | Fault::Auth
        | Fault::UnknownModel
        | Fault::ContextTooLong
        | Fault::BadRequest
        | Fault::Script => false,
    }
}

fn tries(fault: Fault) -> u32 {
    match fault {
        // Nothing listens there: that rarely changes while somebody waits.
        Fault::Unreachable => 3,
        Fault::Garbled => 2,
        Fault::Cut | Fault::Timeout => 4,
        Fault::RateLimited
        | Fault::Server
        | Fault::NoKey
        | Fault::Auth
        | Fault::UnknownModel
        | Fault::ContextTooLong
        | Fault::BadRequest
        | Fault::Script => TRIES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(fault: Fault) -> ModelError {
        ModelError::new(fault, "x", "")
    }

    #[test]
    fn waits_double_up_to_a_minute_and_end() {
        let waits: Vec<_> = (0..10)
            .map_while(|n| wait(&error(Fault::RateLimited), n, 1.0))
            .collect();
        let seconds: Vec<f64> = waits.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        let early = wait(&error(Fault::Server), 0, 0.0).unwrap();
        assert_eq!(early, Duration::from_millis(375));
    }

    #[test]
    fn the_server_has_the_last_word() {
        let mut limited = error(Fault::RateLimited);
        limited.wait = Some(Duration::from_secs(42));
        assert_eq!(wait(&limited, 0, 0.3), Some(Duration::from_secs(42)));
        limited.wait = Some(Duration::from_secs(3600));
        assert_eq!(wait(&limited, 0, 0.3), None);
        let mut never = error(Fault::Server);
        never.retry = Some(false);
        assert_eq!(wait(&never, 0, 0.3), None);
        let mut again = error(Fault::BadRequest);
        again.retry = Some(true);
        assert!(wait(&again, 0, 0.3).is_some());
    }

    #[test]
    fn what_concerns_all_calls_is_what_the_server_as_a_whole_suffers_from() {
        let told = |fault, retry| ModelError {
            retry,
            ..error(fault)
        };
        for (fault, retry, expected) in [
            (Fault::RateLimited, None, true),
            (Fault::Server, None, true),
            (Fault::BadRequest, Some(true), true),
            (Fault::RateLimited, Some(false), false),
            (Fault::BadRequest, None, false),
            (Fault::Cut, None, false),
            (Fault::Timeout, None, false),
            (Fault::Unreachable, None, false),
        ] {
            assert_eq!(
                concerns_all(&told(fault, retry)),
                expected,
                "{fault:?} {retry:?}"
            );
        }
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        for fault in [
            Fault::NoKey,
            Fault::Auth,
            Fault::UnknownModel,
            Fault::BadRequest,
            Fault::Script,
        ] {
            assert_eq!(wait(&error(fault), 0, 0.5), None, "{fault:?}");
        }
        assert_eq!(wait(&error(Fault::Unreachable), 2, 0.5), None);
        assert!(wait(&error(Fault::Unreachable), 1, 0.5).is_some());
    }
}
