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
        let missing = 1.0 - self.left_at(now);
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
