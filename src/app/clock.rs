//! The clock of this process: wall-clock time that never goes back.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::domain::timestamp::Timestamp;

/// When [`now`] was first called, and its last result; `None` before that. Code that must also run with another clock,
/// for example in tests, takes a clock function as a parameter.
static READINGS: Mutex<Option<(Instant, Readings)>> = Mutex::new(None);

/// Returns the wall-clock time, but never less than a previous result. If the system clock is set back, the returned
/// time continues to grow with the monotonic clock until the system clock catches up. As a result, ages stay positive
/// and countdowns do not restart.
pub fn now() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    let wall = wall.unwrap_or_default().as_secs_f64();
    let mut readings = READINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let (began, last) = readings.get_or_insert_with(|| (Instant::now(), Readings::default()));
    last.next(wall, began.elapsed())
}

/// The state from which [`now`] computes its next result.
#[derive(Debug, Default)]
struct Readings {
    /// The last result, in seconds since 1970.
    returned: f64,
    /// The monotonic time from the first result to the last result.
    elapsed: Duration,
}

impl Readings {
    fn next(&mut self, wall: f64, elapsed: Duration) -> Timestamp {
        let passed = elapsed.saturating_sub(self.elapsed).as_secs_f64();
        self.returned = if wall >= self.returned {
            wall
        } else {
            self.returned + passed
        };
        self.elapsed = elapsed;
        Timestamp(self.returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn time_never_goes_back_when_the_system_clock_does() {
        let mut readings = Readings::default();
        let hour = 3600.0;
        let times: Vec<f64> = [
            (1000.0, 0),
            (1002.0, 2),
            // Set back by an hour: time continues.
            (1003.0 - hour, 3),
            (1009.0 - hour, 9),
            // Corrected, then set ahead.
            (1010.0, 10),
            (1011.0 + hour, 11),
            (1012.0, 12),
        ]
        .map(|(wall, elapsed)| readings.next(wall, Duration::from_secs(elapsed)).0)
        .to_vec();
        let ahead = 1011.0 + hour;
        assert_eq!(
            times,
            [1000.0, 1002.0, 1003.0, 1009.0, 1010.0, ahead, ahead + 1.0]
        );
    }

    #[test]
    fn time_is_monotonic_across_threads() {
        let all = std::thread::scope(|scope| {
            let read = || (0..1000).map(|_| now().0).collect::<Vec<f64>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads
                .into_iter()
                .map(|t| t.join().unwrap())
                .collect::<Vec<_>>()
        });
        for times in all {
            assert!(times.is_sorted());
        }
    }
}
