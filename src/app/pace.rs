//! When the next frame may be drawn: at most 30 a second, and keys do not wait behind streams. Pure.

use std::time::Duration;

/// Frames a second, in the long run.
const FRAMES: f64 = 30.0;
/// Frames that may come at once after a rest.
const BURST: f64 = 3.0;
/// Frames that may come at once at the start: the empty panes, who is here, and what is on the board. They come
/// within milliseconds, and nobody types yet.
const START: f64 = BURST + 3.0;
/// The shortest time between two frames that only what happened asks for. It leaves a third of all frames
/// to keys, so that what a person types is shown at once while replies stream in.
const STREAM: Duration = Duration::from_millis(50);

/// Frames that stay in reserve for keys when one is drawn for what happened: a key waits only where keys alone come
/// faster than frames may be drawn.
const RESERVE: f64 = 1.0;

/// Who asks for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Something happened.
    Event,
    /// The person did something.
    Key,
}

/// Counts frames. Times are since any fixed point.
#[derive(Debug)]
pub struct Pace {
    left: f64,
    last: Option<Duration>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            left: START,
            last: None,
        }
    }
}

impl Pace {
    /// When a frame that `cause` asks for may be drawn; not later than `now`: at once.
    pub fn due(&self, cause: Cause, now: Duration) -> Duration {
        let Some(last) = self.last else { return now };
        let needed = match cause {
            Cause::Key => 1.0,
            Cause::Event => 1.0 + RESERVE,
        };
        let missing = needed - self.left_at(now);
        let counted = if missing > 0.0 {
            now + Duration::from_secs_f64(missing / FRAMES)
        } else {
            now
        };
        match cause {
            Cause::Key => counted,
            Cause::Event if self.left > BURST => counted,
            Cause::Event => counted.max(last + STREAM),
        }
    }

    /// A frame was drawn.
    pub fn drawn(&mut self, now: Duration) {
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

    /// Frames drawn within ten seconds when `cause` asks all the time.
    fn frames(cause: Cause) -> usize {
        let mut pace = Pace::default();
        let (mut now, mut count) = (Duration::ZERO, 0);
        while now < Duration::from_secs(10) {
            now = now.max(pace.due(cause, now));
            pace.drawn(now);
            count += 1;
        }
        count
    }

    #[test]
    fn never_more_than_thirty_a_second() {
        assert!(
            (298..=307).contains(&frames(Cause::Key)),
            "{}",
            frames(Cause::Key)
        );
        assert!(
            (199..=205).contains(&frames(Cause::Event)),
            "{}",
            frames(Cause::Event)
        );
    }

    /// Types a key every so many milliseconds for ten seconds while things happen all the time: the frames drawn, and
    /// the longest that a key waited for its own.
    fn typing(every: u64) -> (usize, Duration) {
        let mut pace = Pace::default();
        let (mut frames, mut longest) = (0, Duration::ZERO);
        let mut typed: Option<Duration> = None;
        for now in (0..10_000).map(Duration::from_millis) {
            if now.as_millis().is_multiple_of(u128::from(every)) {
                typed = typed.or(Some(now));
            }
            let cause = typed.map_or(Cause::Event, |_| Cause::Key);
            if pace.due(cause, now) <= now {
                longest = longest.max(
                    typed
                        .take()
                        .map_or(Duration::ZERO, |at| now.saturating_sub(at)),
                );
                pace.drawn(now);
                frames += 1;
            }
        }
        (frames, longest)
    }

    #[test]
    fn a_key_waits_only_where_keys_alone_come_faster_than_frames() {
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
            let (frames, waited) = typing(every);
            // Thirty a second, and those that may come at once at the start.
            assert!(frames <= 306, "{frames} frames, a key every {every} ms");
            assert!(
                waited <= millis(longest),
                "waited {waited:?}, a key every {every} ms"
            );
        }
    }

    #[test]
    fn what_the_start_brings_is_drawn_at_once_and_then_no_more() {
        let mut pace = Pace::default();
        let at = Duration::from_millis;
        let mut waits = Vec::new();
        for now in [0, 5, 8, 12].map(at) {
            let due = pace.due(Cause::Event, now).max(now);
            waits.push(due.saturating_sub(now));
            pace.drawn(due);
        }
        assert_eq!(waits, [at(0), at(0), at(0), STREAM.saturating_sub(at(4))]);
    }

    #[test]
    fn a_key_is_drawn_at_once_while_a_stream_is_drawn_all_the_time() {
        let mut pace = Pace::default();
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            now = now.max(pace.due(Cause::Event, now));
            pace.drawn(now);
        }
        let typed = now + Duration::from_millis(5);
        assert_eq!(pace.due(Cause::Key, typed), typed);
        assert!(pace.due(Cause::Event, typed) > typed);
    }
}
