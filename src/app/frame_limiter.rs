//! Limits the frame rate to 30 per second, with priority for keys over streamed events. Reads no clock and does no I/O.

use std::time::Duration;

/// Maximum number of frames per second on average over a longer time.
const FRAMES: f64 = 30.0;
/// Number of frames that may be drawn without a delay after a pause without frames.
const BURST: f64 = 3.0;
/// Number of frames that may be drawn without a delay at the start, when the empty panes, the team and the board arrive
/// within milliseconds.
const START: f64 = BURST + 3.0;
/// Minimum time from any frame to a frame for an event, except during the burst at the start. Events can thus use at
/// most 20 of the 30 frames per second. The others are left for keys, so that typed text appears at once while answers
/// stream in.
const STREAM: Duration = Duration::from_millis(50);

/// Number of frames that events must leave for keys. As a result, a key has to wait only if keys alone arrive faster
/// than [`FRAMES`].
const RESERVE: f64 = 1.0;

/// Why a frame is drawn. A later variant has higher priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameCause {
    /// An event of the crew or a tick.
    Event,
    /// User input.
    Key,
}

/// A token bucket that limits the frame rate: each frame takes a token. All times are measured from the same fixed
/// point in time.
#[derive(Debug)]
pub struct FrameLimiter {
    /// The number of frames that may be drawn without a delay, as of the time `last`.
    left: f64,
    last: Option<Duration>,
}

impl Default for FrameLimiter {
    fn default() -> FrameLimiter {
        FrameLimiter {
            left: START,
            last: None,
        }
    }
}

impl FrameLimiter {
    /// Returns the earliest time at which a frame with this cause may be drawn. If the result is not later than `now`,
    /// the frame may be drawn at once.
    pub fn due(&self, cause: FrameCause, now: Duration) -> Duration {
        let Some(last) = self.last else { return now };
        let needed = match cause {
            FrameCause::Key => 1.0,
            FrameCause::Event => 1.0 + RESERVE,
        };
        let missing = needed - self.left_at(now);
        let counted = if missing > 0.0 {
            now + Duration::from_secs_f64(missing / FRAMES)
        } else {
            now
        };
        match cause {
            FrameCause::Key => counted,
            FrameCause::Event if self.left > BURST => counted,
            FrameCause::Event => counted.max(last + STREAM),
        }
    }

    /// Counts a frame that was drawn at the time `now` against the limits.
    pub fn count_frame(&mut self, now: Duration) {
        self.left = (self.left_at(now) - 1.0).max(0.0);
        self.last = Some(now);
    }

    fn left_at(&self, now: Duration) -> f64 {
        let passed = self
            .last
            .map_or(0.0, |last| now.saturating_sub(last).as_secs_f64());
        (self.left + passed * FRAMES).min(self.left.max(BURST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of frames in ten seconds of constant requests for `cause`.
    fn frames(cause: FrameCause) -> usize {
        let mut limiter = FrameLimiter::default();
        let (mut now, mut count) = (Duration::ZERO, 0);
        while now < Duration::from_secs(10) {
            now = now.max(limiter.due(cause, now));
            limiter.count_frame(now);
            count += 1;
        }
        count
    }

    #[test]
    fn frame_rate_stays_within_thirty_per_second() {
        assert!(
            (298..=307).contains(&frames(FrameCause::Key)),
            "{}",
            frames(FrameCause::Key)
        );
        assert!(
            (199..=205).contains(&frames(FrameCause::Event)),
            "{}",
            frames(FrameCause::Event)
        );
    }

    /// Simulates ten seconds of constant events and a key every `every` milliseconds. Returns the number of frames and
    /// the longest wait of a key.
    fn simulate_typing(every: u64) -> (usize, Duration) {
        let mut limiter = FrameLimiter::default();
        let (mut frames, mut longest) = (0, Duration::ZERO);
        let mut typed: Option<Duration> = None;
        for now in (0..10_000).map(Duration::from_millis) {
            if now.as_millis().is_multiple_of(u128::from(every)) {
                typed = typed.or(Some(now));
            }
            let cause = typed.map_or(FrameCause::Event, |_| FrameCause::Key);
            if limiter.due(cause, now) <= now {
                longest = longest.max(
                    typed
                        .take()
                        .map_or(Duration::ZERO, |at| now.saturating_sub(at)),
                );
                limiter.count_frame(now);
                frames += 1;
            }
        }
        (frames, longest)
    }

    #[test]
    fn key_waits_only_if_keys_exceed_the_frame_rate() {
        let millis = Duration::from_millis;
        for (every, longest) in [
            (500, 0),
            (100, 0),
            (80, 0),
            (70, 0),
            (60, 0),
            (50, 0),
            (40, 0),
            (34, 0),
            (20, 34),
            (5, 34),
        ] {
            let (frames, waited) = simulate_typing(every);
            // Thirty per second, plus the burst at the start.
            assert!(frames <= 306, "{frames} frames, a key every {every} ms");
            assert!(
                waited <= millis(longest),
                "waited {waited:?}, a key every {every} ms"
            );
        }
    }

    #[test]
    fn first_frames_are_drawn_at_once_then_limited() {
        let mut limiter = FrameLimiter::default();
        let at = Duration::from_millis;
        let mut waits = Vec::new();
        for now in [0, 5, 8, 12].map(at) {
            let due = limiter.due(FrameCause::Event, now).max(now);
            waits.push(due.saturating_sub(now));
            limiter.count_frame(due);
        }
        assert_eq!(waits, [at(0), at(0), at(0), STREAM.saturating_sub(at(4))]);
    }

    #[test]
    fn key_is_drawn_at_once_during_a_stream() {
        let mut limiter = FrameLimiter::default();
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            now = now.max(limiter.due(FrameCause::Event, now));
            limiter.count_frame(now);
        }
        let typed = now + Duration::from_millis(5);
        assert_eq!(limiter.due(FrameCause::Key, typed), typed);
        assert!(limiter.due(FrameCause::Event, typed) > typed);
    }
}
