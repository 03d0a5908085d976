//! When a failed call is tried again, and after how long. Pure.

use std::time::Duration;

use super::{Fault, ModelError, Server};

/// Most tries of one call, the first included. With waits of our own choice they last five minutes: an outage of a
/// server should not end the work of a team that nobody watches, and few tries do not add to its load.
pub const TRIES_MAX: u32 = 8;
/// Longest sum of the waits of one call, with those that the server asks for.
pub const WAITS_MAX: Duration = Duration::from_secs(15 * 60);
/// The first wait; each further one is [`GROWTH`] times as long.
const FIRST: Duration = Duration::from_millis(500);
/// By how much each wait is longer than the one before.
const GROWTH: u32 = 3;
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(120);
/// The longest wait that a server may ask for; past it the call fails with the server's words.
pub const SERVER_LONGEST: Duration = Duration::from_secs(600);

/// The failed tries of one call, in order; at most [`TRIES_MAX`], and for how long was waited after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tries {
    faults: Vec<Fault>,
    waited: Duration,
}

impl Tries {
    /// How many there were.
    pub fn count(&self) -> u32 {
        u32::try_from(self.faults.len()).unwrap_or(u32::MAX)
    }

    /// How many there were of one kind.
    fn of(&self, fault: Fault) -> u32 {
        let same = self.faults.iter().filter(|f| **f == fault);
        u32::try_from(same.count()).unwrap_or(u32::MAX)
    }

    /// Notes another one, and the wait that follows it.
    pub fn add(&mut self, fault: Fault, wait: Option<Duration>) {
        self.faults.push(fault);
        self.waited = self.waited.saturating_add(wait.unwrap_or_default());
    }

    /// How long was waited between them.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

/// The wait before the next try of one call, or `None` when the call has failed for good: too often in all, too
/// often in the same way, or for too long. (A cut answer behind two refusals is a first cut, and not a third failure of its
/// kind.)
///
/// `failed` are the tries before this one; `jitter` in 0..1 spreads the repeats of many agents over the last
/// quarter of the wait.
pub fn wait(error: &ModelError, failed: &Tries, jitter: f64) -> Option<Duration> {
    if failed.of(error.fault) + 1 >= tries(error) || failed.count() + 1 >= TRIES_MAX {
        return None;
    }
    let pause = pause(error, failed.count(), jitter)?;
    let wait = match error.wait {
        // All wait that long: the governor has reckoned with what was before.
        Some(shared) if concerns_all(error) && !shared.is_zero() => shared,
        Some(_) | None => pause,
    };
    (failed.waited + wait <= WAITS_MAX).then_some(wait)
}

/// Most tries of a call that fails like this, the first included.
pub fn most(error: &ModelError) -> u32 {
    tries(error).min(TRIES_MAX)
}

/// The wait after a failure, however often there has been one: `failed` times before this one. `None`: it
/// will not pass by waiting, or the server asks for longer than anybody should wait.
///
/// What the server asks for is never cut short. It is made longer where it was too short before: a server that
/// asks for nothing, or for the same again and again, is not asked without end in no time.
pub fn pause(error: &ModelError, failed: u32, jitter: f64) -> Option<Duration> {
    if !error.retry.unwrap_or_else(|| is_passing(error.fault)) {
        return None;
    }
    let own = |failed: u32| {
        FIRST
            .saturating_mul(GROWTH.saturating_pow(failed))
            .min(LONGEST)
    };
    let spread = own(failed).mul_f64(0.75 + 0.25 * jitter.clamp(0.0, 1.0));
    match error.wait {
        Some(asked) if asked > SERVER_LONGEST => None,
        Some(Duration::ZERO) | None => Some(spread),
        Some(asked) => Some(match failed.checked_sub(1) {
            Some(before) => asked.max(own(before)),
            None => asked,
        }),
    }
}

/// Whether a failure concerns all calls to its server and not only the one that failed: it has too much to
/// do (429, 529), is broken (5xx), is gone although it was there, or says so itself (`x-should-retry`).
pub fn concerns_all(error: &ModelError) -> bool {
    error.retry.unwrap_or(match (error.fault, error.server) {
        (Fault::RateLimited | Fault::Server, _) | (Fault::Unreachable, Server::Known) => true,
        (Fault::Unreachable, Server::New)
        | (
            Fault::NoKey
            | Fault::Auth
            | Fault::UnknownModel
            | Fault::ContextTooLong
            | Fault::BadRequest
            | Fault::Cut
            | Fault::Garbled
            | Fault::Timeout
            | Fault::Redirected
            | Fault::Script,
            _,
        ) => false,
    })
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
        | Fault::Redirected
        | Fault::Script => false,
    }
}

/// Most tries that fail in the same way, the first included.
fn tries(error: &ModelError) -> u32 {
    match (error.fault, error.server) {
        // Nothing has ever answered there: that rarely changes while somebody waits.
        (Fault::Unreachable, Server::New) => 3,
        (Fault::Garbled, Server::New) => 2,
        // Each of these tries may cost as much as a whole answer.
        (Fault::Garbled, Server::Known) | (Fault::Cut | Fault::Timeout, _) => 5,
        (Fault::Unreachable, Server::Known)
        | (
            Fault::RateLimited
            | Fault::Server
            | Fault::NoKey
            | Fault::Auth
            | Fault::UnknownModel
            | Fault::ContextTooLong
            | Fault::BadRequest
            | Fault::Redirected
            | Fault::Script,
            _,
        ) => TRIES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn error(fault: Fault) -> ModelError {
        ModelError::new(fault, "x", "")
    }

    fn known(fault: Fault) -> ModelError {
        ModelError {
            server: Server::Known,
            ..error(fault)
        }
    }

    /// The waits of a call that meets these faults one after another.
    fn waits(errors: impl IntoIterator<Item = ModelError>) -> Vec<f64> {
        let mut tries = Tries::default();
        let waits = errors.into_iter().map_while(|error| {
            let wait = wait(&error, &tries, 1.0);
            tries.add(error.fault, wait);
            wait
        });
        waits.map(|w| w.as_secs_f64()).collect()
    }

    fn after(faults: &[Fault]) -> Tries {
        Tries {
            faults: faults.to_vec(),
            waited: Duration::ZERO,
        }
    }

    #[test]
    fn waits_grow_and_end_after_eight_tries_and_five_minutes() {
        let expected = [0.5, 1.5, 4.5, 13.5, 40.5, 120.0, 120.0];
        assert!(expected.iter().sum::<f64>() < 301.0);
        for error in [
            error(Fault::RateLimited),
            error(Fault::Server),
            known(Fault::Unreachable),
        ] {
            assert_eq!(waits(vec![error; 30]), expected);
        }
        assert_eq!(most(&error(Fault::Server)), 8);
        let early = wait(&error(Fault::Server), &Tries::default(), 0.0).unwrap();
        assert_eq!(early, Duration::from_millis(375));
    }

    #[test]
    fn waits_that_the_server_asks_for_are_bounded_in_sum() {
        let asks = ModelError {
            wait: Some(Duration::from_secs(240)),
            ..error(Fault::Server)
        };
        assert_eq!(waits(vec![asks; 30]), [240.0; 3]);
    }

    #[test]
    fn how_often_depends_on_what_is_known_of_the_server_and_each_kind_counts_by_itself() {
        for (error, repeats) in [
            (error(Fault::Unreachable), 2),
            (error(Fault::Garbled), 1),
            (known(Fault::Garbled), 4),
            (known(Fault::Cut), 4),
            (error(Fault::Timeout), 4),
        ] {
            assert_eq!(waits(vec![error.clone(); 30]).len(), repeats, "{error:?}");
        }
        let mixed = [
            Fault::RateLimited,
            Fault::Server,
            Fault::Unreachable,
            Fault::Cut,
            Fault::Garbled,
        ];
        assert_eq!(waits(mixed.map(error)), [0.5, 1.5, 4.5, 13.5, 40.5]);
        let many = mixed.map(known).into_iter().cycle().take(100);
        assert_eq!(waits(many).len(), 7, "an end in all");
    }

    #[test]
    fn the_server_has_the_last_word() {
        let none = Tries::default();
        let mut limited = error(Fault::RateLimited);
        limited.wait = Some(Duration::from_secs(42));
        assert_eq!(wait(&limited, &none, 0.3), Some(Duration::from_secs(42)));
        limited.wait = Some(Duration::from_secs(3600));
        assert_eq!(wait(&limited, &none, 0.3), None);
        let mut never = error(Fault::Server);
        never.retry = Some(false);
        assert_eq!(wait(&never, &none, 0.3), None);
        let mut again = error(Fault::BadRequest);
        again.retry = Some(true);
        assert!(wait(&again, &none, 0.3).is_some());
    }

    #[test]
    fn a_server_that_asks_for_too_little_again_and_again_is_left_alone_for_longer() {
        let asks = |ms: u64| ModelError {
            wait: Some(Duration::from_millis(ms)),
            ..error(Fault::RateLimited)
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
        assert_eq!(pauses(0)[..3], [500, 1500, 4500], "zero is no wait");
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
        assert!(concerns_all(&known(Fault::Unreachable)));
        assert!(!concerns_all(&known(Fault::Cut)));
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        for fault in [
            Fault::NoKey,
            Fault::Auth,
            Fault::UnknownModel,
            Fault::BadRequest,
            Fault::Redirected,
            Fault::Script,
        ] {
            assert_eq!(
                wait(&error(fault), &Tries::default(), 0.5),
                None,
                "{fault:?}"
            );
        }
        let twice = after(&[Fault::Unreachable; 2]);
        assert_eq!(wait(&error(Fault::Unreachable), &twice, 0.5), None);
    }
}
