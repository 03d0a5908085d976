//! When a failed call is tried again, and after how long. Pure.

use std::time::Duration;

use super::{Fault, ModelError, Server};

/// Most tries of one call, the first included. With waits of our own choice that is nine minutes: an outage of
/// a server should not end the work of a team that nobody watches.
pub const TRIES_MAX: u32 = 16;
/// The first wait; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest wait that a server may ask for; past it the call fails with the server's words.
pub const SERVER_LONGEST: Duration = Duration::from_secs(600);

/// The failed tries of one call, in order; at most [`TRIES_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tries(Vec<Fault>);

impl Tries {
    /// How many there were.
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// How many there were of one kind.
    fn of(&self, fault: Fault) -> u32 {
        let same = self.0.iter().filter(|f| **f == fault);
        u32::try_from(same.count()).unwrap_or(u32::MAX)
    }

    /// Notes another one.
    pub fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }
}

/// The wait before the next try of one call, or `None` when the call has failed for good: too often in all, or
/// too often in the same way. (A cut answer behind two refusals is a first cut, and not a third failure of its
/// kind.)
///
/// `failed` are the tries before this one; `jitter` in 0..1 spreads the repeats of many agents over the last
/// quarter of the wait.
pub fn wait(error: &ModelError, failed: &Tries, jitter: f64) -> Option<Duration> {
    if failed.of(error.fault) + 1 >= tries(error) || failed.count() + 1 >= TRIES_MAX {
        return None;
    }
    let pause = pause(error, failed.count(), jitter)?;
    match error.wait {
        // All wait that long: the governor has reckoned with what was before.
        Some(shared) if concerns_all(error) && !shared.is_zero() => Some(shared),
        Some(_) | None => Some(pause),
    }
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
            .saturating_mul(2u32.saturating_pow(failed))
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
            tries.add(error.fault);
            wait
        });
        waits.map(|w| w.as_secs_f64()).collect()
    }

    fn after(faults: &[Fault]) -> Tries {
        Tries(faults.to_vec())
    }

    #[test]
    fn waits_double_up_to_a_minute_and_end() {
        let expected: Vec<f64> = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
            .into_iter()
            .chain([60.0; 8])
            .collect();
        for error in [
            error(Fault::RateLimited),
            error(Fault::Server),
            known(Fault::Unreachable),
        ] {
            assert_eq!(waits(vec![error; 30]), expected);
        }
        let early = wait(&error(Fault::Server), &Tries::default(), 0.0).unwrap();
        assert_eq!(early, Duration::from_millis(375));
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
        assert_eq!(waits(mixed.map(error)), [0.5, 1.0, 2.0, 4.0, 8.0]);
        let many = mixed.map(known).into_iter().cycle().take(100);
        assert_eq!(waits(many).len(), 15, "an end in all");
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
            [30, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]
        );
        assert_eq!(
            pauses(5000),
            [5000, 5000, 5000, 5000, 5000, 8000, 16_000, 32_000, 60_000]
        );
        assert_eq!(pauses(0)[..3], [500, 1000, 2000], "zero is no wait");
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
