//! Decides which model call may start and when, by the queue, the limit on concurrent calls and the shared back-off.
//! Does no I/O.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::super::{ErrorKind, ModelError, retry};

/// The number of a call, in the order in which calls are queued.
pub type CallNumber = u64;

/// The waiting and the running model calls. Times are durations since a zero point that the caller chooses.
#[derive(Debug)]
pub struct CallQueue {
    max: usize,
    next: CallNumber,
    /// The waiting calls, first in, first out. Each agent has at most one of them.
    waiting: VecDeque<CallNumber>,
    /// The running calls, each with the value that `round` had when the call started.
    running: BTreeMap<CallNumber, u64>,
    gate: Gate,
    /// The number of consecutive server-wide failures (failures that affect all calls to the server). This number
    /// determines the length of the next back-off. Failures of concurrent calls count as one.
    failures: u32,
    /// Whether any call has received data. An error response does not count.
    server_has_answered: bool,
    /// The number of server-wide failures so far. The success of a call ends the back-off only if the call started
    /// after the last of these failures: the server may have answered an older call before that failure.
    round: u64,
}

/// Whether the shared back-off lets calls start.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Gate {
    Open,
    /// No call may start before `until`. After this time, a single call, the probe, tests whether the server has
    /// recovered.
    Shut {
        until: Duration,
        cause: String,
    },
    /// The probe is running; all other calls wait for its result.
    Probing {
        probe: CallNumber,
        cause: String,
    },
}

/// Whether a queued call may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The call starts; it now counts as running.
    Start,
    /// The call waits. Call `CallQueue::try_start` again when the queue has changed.
    Queued {
        /// The position in the queue; the first is 1.
        place: usize,
    },
    /// The call waits for the end of the shared back-off. Call `CallQueue::try_start` again when the back-off ends or
    /// the queue has changed.
    Paused {
        /// The end of the back-off, as a duration since the queue's zero point.
        until: Duration,
        /// The message of the error that started the back-off, in one line.
        cause: String,
    },
}

impl CallQueue {
    /// Creates an empty queue that lets at most `max` calls run concurrently; 0 counts as 1.
    pub fn new(max: usize) -> CallQueue {
        CallQueue {
            max: max.max(1),
            next: 0,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            gate: Gate::Open,
            failures: 0,
            server_has_answered: false,
            round: 0,
        }
    }

    /// Returns whether any call has received data. An error response does not count.
    pub fn server_has_answered(&self) -> bool {
        self.server_has_answered
    }

    pub fn enqueue(&mut self) -> CallNumber {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(number);
        number
    }

    /// Starts call `number` if it may start now, and returns the decision. `number` must be a waiting call: after
    /// [`Admission::Start`] or [`CallQueue::remove`], do not call this again for it.
    pub fn try_start(&mut self, number: CallNumber, now: Duration) -> Admission {
        if let Gate::Shut { until, cause } = &self.gate
            && now < *until
        {
            return Admission::Paused {
                until: *until,
                cause: cause.clone(),
            };
        }
        let ahead = self.waiting.iter().position(|n| *n == number);
        let place = ahead.map_or(1, |n| n + 1);
        if place > 1 || self.running.len() >= self.max {
            return Admission::Queued { place };
        }
        match &self.gate {
            Gate::Open => {}
            Gate::Shut { cause, .. } => {
                self.gate = Gate::Probing {
                    probe: number,
                    cause: cause.clone(),
                };
            }
            Gate::Probing { .. } => return Admission::Queued { place },
        }
        self.waiting.pop_front();
        self.running.insert(number, self.round);
        Admission::Start
    }

    /// Records that the server has started to answer call `number`. Ends the back-off, unless the call started before
    /// the last failure that affected all calls.
    pub fn record_success(&mut self, number: CallNumber) {
        self.server_has_answered = true;
        self.open_gate(number);
    }

    /// Ends the back-off, unless call `number` started before the last failure that affected all calls.
    fn open_gate(&mut self, number: CallNumber) {
        if self.running.get(&number) == Some(&self.round) {
            self.failures = 0;
            self.gate = Gate::Open;
        }
    }

    /// Records that call `number` has failed. The call counts as running until [`CallQueue::remove`].
    ///
    /// If the failure affects all calls to the server and the call may be retried, starts or extends the shared
    /// back-off and returns its remaining time. Otherwise returns `None`. An error that shows that the server works,
    /// such as an unknown model, ends the back-off like a success. `jitter`, in 0..1, varies the length of the
    /// back-off.
    pub fn record_failure(
        &mut self,
        number: CallNumber,
        error: &ModelError,
        now: Duration,
        jitter: f64,
    ) -> Option<Duration> {
        if !retry::is_server_wide(error) {
            if is_server_up(error.kind) {
                self.open_gate(number);
            }
            return None;
        }
        let is_new = self.running.get(&number) == Some(&self.round);
        // A call that started before the last failure of the server ran concurrently with the call that failed then.
        // Both failures count as one.
        let before = if is_new {
            self.failures
        } else {
            self.failures.saturating_sub(1)
        };
        let pause = retry::pause(error, before, jitter)?;
        let until = match &self.gate {
            Gate::Shut { until, .. } => (now + pause).max(*until),
            Gate::Open | Gate::Probing { .. } => now + pause,
        };
        self.failures = before.saturating_add(1);
        self.round += 1;
        self.gate = Gate::Shut {
            until,
            cause: error.message.clone(),
        };
        Some(until.saturating_sub(now))
    }

    /// Removes call `number`, whether it is waiting or running. If the call was the probe, which tests whether the
    /// server has recovered, the next call becomes the probe.
    pub fn remove(&mut self, number: CallNumber, now: Duration) {
        self.waiting.retain(|n| *n != number);
        self.running.remove(&number);
        if let Gate::Probing { probe, cause } = &self.gate
            && *probe == number
        {
            // The probe ended without a clear result, so the next call becomes the probe.
            self.gate = Gate::Shut {
                until: now,
                cause: cause.clone(),
            };
        }
    }

    #[cfg(test)]
    pub fn running_count(&self) -> usize {
        self.running.len()
    }
}

/// Returns whether an error of this kind shows that the server works. Such an error ends the back-off like a success.
fn is_server_up(fault: ErrorKind) -> bool {
    match fault {
        ErrorKind::NoKey
        | ErrorKind::Auth
        | ErrorKind::UnknownModel
        | ErrorKind::ContextTooLong
        | ErrorKind::BadRequest
        | ErrorKind::Redirected
        | ErrorKind::Script => true,
        ErrorKind::Unreachable
        | ErrorKind::RateLimited
        | ErrorKind::Server
        | ErrorKind::Truncated
        | ErrorKind::InvalidResponse
        | ErrorKind::Timeout => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn error(fault: ErrorKind, wait: Option<u64>) -> ModelError {
        ModelError {
            wait: wait.map(ms),
            ..ModelError::new(fault, "busy", "")
        }
    }

    fn paused_until(until: u64) -> Admission {
        Admission::Paused {
            until: ms(until),
            cause: "busy".into(),
        }
    }

    fn queued_at(place: usize) -> Admission {
        Admission::Queued { place }
    }

    /// Tries to start the calls in the given order. `now` is in milliseconds.
    fn try_all(
        queue: &mut CallQueue,
        numbers: impl IntoIterator<Item = CallNumber>,
        now: u64,
    ) -> Vec<Admission> {
        numbers
            .into_iter()
            .map(|n| queue.try_start(n, ms(now)))
            .collect()
    }

    fn queue_of(max: usize, calls: u64) -> CallQueue {
        let mut queue = CallQueue::new(max);
        for _ in 0..calls {
            queue.enqueue();
        }
        queue
    }

    #[test]
    fn calls_start_in_order_up_to_the_limit() {
        let mut queue = queue_of(2, 5);
        // The last call in the queue tries first, but does not start before the others.
        assert_eq!(
            try_all(&mut queue, (0..5).rev(), 0),
            [
                queued_at(5),
                queued_at(4),
                queued_at(3),
                queued_at(2),
                Admission::Start
            ]
        );
        assert_eq!(
            try_all(&mut queue, 1..5, 0),
            [Admission::Start, queued_at(1), queued_at(2), queued_at(3)]
        );
        // Call 3, which waits, is cancelled. Call 0, which runs, ends.
        queue.remove(3, ms(0));
        queue.remove(0, ms(0));
        assert_eq!(
            try_all(&mut queue, [4, 2], 0),
            [queued_at(2), Admission::Start]
        );
        assert_eq!(queue.running_count(), 2);
        assert_eq!(queue_of(0, 1).try_start(0, ms(0)), Admission::Start);
    }

    #[test]
    fn after_a_failure_all_wait_then_one_probe_starts() {
        let mut queue = queue_of(4, 4);
        assert_eq!(queue.try_start(0, ms(0)), Admission::Start);
        let limited = error(ErrorKind::RateLimited, Some(2500));
        assert_eq!(
            queue.record_failure(0, &limited, ms(100), 0.0),
            Some(ms(2500))
        );
        queue.remove(0, ms(100));
        assert_eq!(
            try_all(&mut queue, [1, 3], 2599),
            [paused_until(2600), paused_until(2600)]
        );
        assert_eq!(
            try_all(&mut queue, 1..4, 2600),
            [Admission::Start, queued_at(1), queued_at(2)]
        );
        queue.record_success(1);
        assert_eq!(
            try_all(&mut queue, 2..4, 2600),
            [Admission::Start, Admission::Start]
        );
    }

    #[test]
    fn backoff_grows_with_failed_probes_and_success_resets_it() {
        let mut queue = CallQueue::new(4);
        let busy = error(ErrorKind::Server, None);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let number = queue.enqueue();
            assert_eq!(queue.try_start(number, ms(now)), Admission::Start);
            let wait = queue.record_failure(number, &busy, ms(now), 1.0).unwrap();
            queue.remove(number, ms(now));
            waits.push(wait.as_secs_f64());
            now += u64::try_from(wait.as_millis()).unwrap();
        }
        assert_eq!(
            waits,
            [0.5, 1.5, 4.5, 13.5, 40.5, 120.0, 120.0, 120.0, 120.0]
        );
        let number = queue.enqueue();
        assert_eq!(queue.try_start(number, ms(now)), Admission::Start);
        queue.record_success(number);
        assert_eq!(
            queue.record_failure(number, &busy, ms(now), 1.0),
            Some(ms(500))
        );
    }

    #[test]
    fn concurrent_failures_count_once_with_the_longest_wait() {
        let mut queue = queue_of(4, 5);
        assert_eq!(try_all(&mut queue, 0..4, 0), vec![Admission::Start; 4]);
        let busy = error(ErrorKind::Server, None);
        assert_eq!(queue.record_failure(0, &busy, ms(0), 1.0), Some(ms(500)));
        assert_eq!(queue.record_failure(1, &busy, ms(100), 1.0), Some(ms(500)));
        let asked = error(ErrorKind::RateLimited, Some(3000));
        assert_eq!(
            queue.record_failure(2, &asked, ms(200), 1.0),
            Some(ms(3000))
        );
        assert_eq!(queue.record_failure(3, &busy, ms(300), 1.0), Some(ms(2900)));
        for number in 0..4 {
            queue.remove(number, ms(300));
        }
        assert_eq!(queue.try_start(4, ms(3199)), paused_until(3200));
        assert_eq!(queue.try_start(4, ms(3200)), Admission::Start);
        // The four concurrent failures count as one, so this failure is the second.
        assert_eq!(
            queue.record_failure(4, &busy, ms(3200), 1.0),
            Some(ms(1500))
        );
    }

    #[test]
    fn success_of_an_earlier_call_does_not_end_the_backoff() {
        let mut queue = queue_of(4, 4);
        assert_eq!(try_all(&mut queue, 0..2, 0), vec![Admission::Start; 2]);
        let asked = error(ErrorKind::RateLimited, Some(1000));
        queue.record_failure(0, &asked, ms(0), 0.0);
        queue.remove(0, ms(0));
        queue.record_success(1);
        assert_eq!(queue.try_start(2, ms(500)), paused_until(1000));
        assert_eq!(queue.try_start(2, ms(1000)), Admission::Start);
        // The earlier call fails while the probe runs: the back-off starts again, and the probe cannot end it.
        assert_eq!(
            queue.record_failure(1, &asked, ms(1200), 0.0),
            Some(ms(1000))
        );
        queue.record_success(2);
        assert_eq!(queue.try_start(3, ms(1300)), paused_until(2200));
    }

    #[test]
    fn probe_without_clear_result_is_followed_by_another() {
        for (fault, next) in [
            (Some(ErrorKind::Truncated), queued_at(1)),
            (Some(ErrorKind::Unreachable), queued_at(1)),
            (None, queued_at(1)),
            (Some(ErrorKind::BadRequest), Admission::Start),
            (Some(ErrorKind::ContextTooLong), Admission::Start),
        ] {
            let mut queue = queue_of(4, 4);
            queue.try_start(0, ms(0));
            queue.record_failure(0, &error(ErrorKind::Server, Some(1000)), ms(0), 0.0);
            queue.remove(0, ms(0));
            assert_eq!(queue.try_start(1, ms(1000)), Admission::Start);
            if let Some(fault) = fault {
                assert_eq!(
                    queue.record_failure(1, &error(fault, None), ms(1000), 0.0),
                    None
                );
            }
            queue.remove(1, ms(1000));
            assert_eq!(
                try_all(&mut queue, 2..4, 1000),
                [Admission::Start, next],
                "{fault:?}"
            );
        }
    }

    #[test]
    fn too_long_server_wait_does_not_pause_other_calls() {
        let mut queue = queue_of(1, 2);
        queue.try_start(0, ms(0));
        let hour = error(ErrorKind::RateLimited, Some(3_600_000));
        assert_eq!(queue.record_failure(0, &hour, ms(0), 0.0), None);
        queue.remove(0, ms(0));
        assert_eq!(queue.try_start(1, ms(0)), Admission::Start);
    }
}
