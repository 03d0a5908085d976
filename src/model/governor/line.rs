//! Which call may begin, and when: the line, the cap, and the back-off that all share. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::super::{Fault, ModelError, Server, retry};

/// A call's number, in the order in which the calls were asked for.
pub type Number = u64;

/// All calls that wait or are in flight. Times count from a moment of the owner's choice.
#[derive(Debug)]
pub struct Line {
    /// Most calls in flight.
    max: usize,
    /// The number of the next call.
    next: Number,
    /// First come, first served. As long as there are agents: each has one call at a time.
    waiting: VecDeque<Number>,
    /// The calls in flight, each with the round in which it began.
    running: BTreeMap<Number, u64>,
    gate: Gate,
    /// Refusals in a row; calls that were refused side by side count as one.
    refused: u32,
    /// Whether the server has ever answered.
    server: Server,
    /// Counts refusals up. What a call of an earlier round hears is old news: it does not open the gate.
    round: u64,
}

/// Whether calls may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Gate {
    /// As many as there is room for.
    Open,
    /// None before `until`, then one to see whether the server has recovered.
    Shut { until: Duration, cause: String },
    /// That one is in flight; the others wait for what it hears.
    Probing { probe: Number, cause: String },
}

/// What a call that waits is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// Begin: its place is taken.
    Begin,
    /// Wait until others have moved.
    Queued {
        /// Its place in line; the first is 1.
        place: usize,
    },
    /// Wait until then, or until others have moved.
    Paused {
        /// When the shared back-off is over.
        until: Duration,
        /// Why, in one line.
        cause: String,
    },
}

impl Line {
    /// A line without calls. `max` calls may be in flight, one at the least.
    pub fn new(max: usize) -> Line {
        Line {
            max: max.max(1),
            next: 0,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            gate: Gate::Open,
            refused: 0,
            server: Server::New,
            round: 0,
        }
    }

    /// What is known of the server.
    pub fn server(&self) -> Server {
        self.server
    }

    /// Takes the last place in line.
    pub fn join(&mut self) -> Number {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(number);
        number
    }

    /// What call `number` is to do now. [`Sight::Begin`] comes once.
    pub fn look(&mut self, number: Number, now: Duration) -> Sight {
        if let Gate::Shut { until, cause } = &self.gate
            && now < *until
        {
            return Sight::Paused {
                until: *until,
                cause: cause.clone(),
            };
        }
        let ahead = self.waiting.iter().position(|n| *n == number);
        let place = ahead.map_or(1, |n| n + 1);
        if place > 1 || self.running.len() >= self.max {
            return Sight::Queued { place };
        }
        match &self.gate {
            Gate::Open => {}
            Gate::Shut { cause, .. } => {
                self.gate = Gate::Probing {
                    probe: number,
                    cause: cause.clone(),
                };
            }
            Gate::Probing { .. } => return Sight::Queued { place },
        }
        self.waiting.pop_front();
        self.running.insert(number, self.round);
        Sight::Begin
    }

    /// The server has begun to answer call `number`: it has recovered.
    pub fn answered(&mut self, number: Number) {
        self.server = Server::Known;
        self.heard(number);
    }

    /// The server has time for call `number`.
    fn heard(&mut self, number: Number) {
        if self.running.get(&number) == Some(&self.round) {
            self.refused = 0;
            self.gate = Gate::Open;
        }
    }

    /// Call `number` has failed. How long all are to wait comes back where the failure concerns all.
    pub fn failed(
        &mut self,
        number: Number,
        error: &ModelError,
        now: Duration,
        jitter: f64,
    ) -> Option<Duration> {
        if !retry::concerns_all(error) {
            if has_answered(error.fault) {
                self.heard(number);
            }
            return None;
        }
        let is_news = self.running.get(&number) == Some(&self.round);
        // Side by side with others that were refused: that is the same refusal again.
        let before = if is_news {
            self.refused
        } else {
            self.refused.saturating_sub(1)
        };
        let pause = retry::pause(error, before, jitter)?;
        let until = match &self.gate {
            Gate::Shut { until, .. } => (now + pause).max(*until),
            Gate::Open | Gate::Probing { .. } => now + pause,
        };
        self.refused = before.saturating_add(1);
        self.round += 1;
        self.gate = Gate::Shut {
            until,
            cause: error.message.clone(),
        };
        Some(until.saturating_sub(now))
    }

    /// Call `number` is over, in whatever way; also one that still waited.
    pub fn leave(&mut self, number: Number, now: Duration) {
        self.waiting.retain(|n| *n != number);
        self.running.remove(&number);
        if let Gate::Probing { probe, cause } = &self.gate
            && *probe == number
        {
            // It has heard nothing that tells: the next one in line tries.
            self.gate = Gate::Shut {
                until: now,
                cause: cause.clone(),
            };
        }
    }

    /// Calls in flight.
    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.running.len()
    }
}

/// Whether a failure is an answer of a server that has time to answer.
fn has_answered(fault: Fault) -> bool {
    match fault {
        Fault::NoKey
        | Fault::Auth
        | Fault::UnknownModel
        | Fault::ContextTooLong
        | Fault::BadRequest
        | Fault::Redirected
        | Fault::Script => true,
        Fault::Unreachable
        | Fault::RateLimited
        | Fault::Server
        | Fault::Cut
        | Fault::Garbled
        | Fault::Timeout => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn error(fault: Fault, wait: Option<u64>) -> ModelError {
        ModelError {
            wait: wait.map(ms),
            ..ModelError::new(fault, "busy", "")
        }
    }

    fn paused(until: u64) -> Sight {
        Sight::Paused {
            until: ms(until),
            cause: "busy".into(),
        }
    }

    fn queued(place: usize) -> Sight {
        Sight::Queued { place }
    }

    /// What each of `numbers` sees, in this order.
    fn see(line: &mut Line, numbers: impl IntoIterator<Item = Number>, now: u64) -> Vec<Sight> {
        numbers.into_iter().map(|n| line.look(n, ms(now))).collect()
    }

    fn line_of(max: usize, calls: u64) -> Line {
        let mut line = Line::new(max);
        for _ in 0..calls {
            line.join();
        }
        line
    }

    #[test]
    fn first_come_first_served_up_to_the_cap() {
        let mut line = line_of(2, 5);
        // The last one looks first: it does not get ahead by that.
        assert_eq!(
            see(&mut line, (0..5).rev(), 0),
            [queued(5), queued(4), queued(3), queued(2), Sight::Begin]
        );
        assert_eq!(
            see(&mut line, 1..5, 0),
            [Sight::Begin, queued(1), queued(2), queued(3)]
        );
        // One in the middle gives up, one in flight is done.
        line.leave(3, ms(0));
        line.leave(0, ms(0));
        assert_eq!(see(&mut line, [4, 2], 0), [queued(2), Sight::Begin]);
        assert_eq!(line.in_flight(), 2);
        assert_eq!(line_of(0, 1).look(0, ms(0)), Sight::Begin);
    }

    #[test]
    fn after_a_refusal_all_wait_and_then_one_goes_first() {
        let mut line = line_of(4, 4);
        assert_eq!(line.look(0, ms(0)), Sight::Begin);
        let refused = error(Fault::RateLimited, Some(2500));
        assert_eq!(line.failed(0, &refused, ms(100), 0.0), Some(ms(2500)));
        line.leave(0, ms(100));
        assert_eq!(see(&mut line, [1, 3], 2599), [paused(2600), paused(2600)]);
        assert_eq!(
            see(&mut line, 1..4, 2600),
            [Sight::Begin, queued(1), queued(2)]
        );
        line.answered(1);
        assert_eq!(see(&mut line, 2..4, 2600), [Sight::Begin, Sight::Begin]);
    }

    #[test]
    fn waits_grow_with_each_refused_probe_and_a_success_resets_them() {
        let mut line = Line::new(4);
        let busy = error(Fault::Server, None);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..9 {
            let number = line.join();
            assert_eq!(line.look(number, ms(now)), Sight::Begin);
            let wait = line.failed(number, &busy, ms(now), 1.0).unwrap();
            line.leave(number, ms(now));
            waits.push(wait.as_secs_f64());
            now += u64::try_from(wait.as_millis()).unwrap();
        }
        assert_eq!(
            waits,
            [0.5, 1.5, 4.5, 13.5, 40.5, 120.0, 120.0, 120.0, 120.0]
        );
        let number = line.join();
        assert_eq!(line.look(number, ms(now)), Sight::Begin);
        line.answered(number);
        assert_eq!(line.failed(number, &busy, ms(now), 1.0), Some(ms(500)));
    }

    #[test]
    fn refusals_side_by_side_are_one_and_the_longest_wait_counts() {
        let mut line = line_of(4, 5);
        assert_eq!(see(&mut line, 0..4, 0), vec![Sight::Begin; 4]);
        let busy = error(Fault::Server, None);
        assert_eq!(line.failed(0, &busy, ms(0), 1.0), Some(ms(500)));
        assert_eq!(line.failed(1, &busy, ms(100), 1.0), Some(ms(500)));
        let asked = error(Fault::RateLimited, Some(3000));
        assert_eq!(line.failed(2, &asked, ms(200), 1.0), Some(ms(3000)));
        assert_eq!(line.failed(3, &busy, ms(300), 1.0), Some(ms(2900)));
        for number in 0..4 {
            line.leave(number, ms(300));
        }
        assert_eq!(line.look(4, ms(3199)), paused(3200));
        assert_eq!(line.look(4, ms(3200)), Sight::Begin);
        // Four refusals at a time were one: this is the second.
        assert_eq!(line.failed(4, &busy, ms(3200), 1.0), Some(ms(1500)));
    }

    #[test]
    fn what_an_old_call_hears_does_not_open_the_gate() {
        let mut line = line_of(4, 4);
        assert_eq!(see(&mut line, 0..2, 0), vec![Sight::Begin; 2]);
        let asked = error(Fault::RateLimited, Some(1000));
        line.failed(0, &asked, ms(0), 0.0);
        line.leave(0, ms(0));
        line.answered(1);
        assert_eq!(line.look(2, ms(500)), paused(1000));
        assert_eq!(line.look(2, ms(1000)), Sight::Begin);
        // The old one is refused while the probe is in flight: all wait again, also for the probe.
        assert_eq!(line.failed(1, &asked, ms(1200), 0.0), Some(ms(1000)));
        line.answered(2);
        assert_eq!(line.look(3, ms(1300)), paused(2200));
    }

    #[test]
    fn a_probe_that_learns_nothing_hands_over() {
        for (fault, next) in [
            (Some(Fault::Cut), queued(1)),
            (Some(Fault::Unreachable), queued(1)),
            (None, queued(1)),
            (Some(Fault::BadRequest), Sight::Begin),
            (Some(Fault::ContextTooLong), Sight::Begin),
        ] {
            let mut line = line_of(4, 4);
            line.look(0, ms(0));
            line.failed(0, &error(Fault::Server, Some(1000)), ms(0), 0.0);
            line.leave(0, ms(0));
            assert_eq!(line.look(1, ms(1000)), Sight::Begin);
            if let Some(fault) = fault {
                assert_eq!(line.failed(1, &error(fault, None), ms(1000), 0.0), None);
            }
            line.leave(1, ms(1000));
            assert_eq!(
                see(&mut line, 2..4, 1000),
                [Sight::Begin, next],
                "{fault:?}"
            );
        }
    }

    #[test]
    fn a_wait_that_nobody_should_wait_for_holds_nobody_else_up() {
        let mut line = line_of(1, 2);
        line.look(0, ms(0));
        let hour = error(Fault::RateLimited, Some(3_600_000));
        assert_eq!(line.failed(0, &hour, ms(0), 0.0), None);
        line.leave(0, ms(0));
        assert_eq!(line.look(1, ms(0)), Sight::Begin);
    }
}
