//! The clock of this process: the one on the wall, but for its jumps back.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::domain::stamp::Stamp;

/// The readings of this process. Time is the same for all of it, so there is one; who needs another clock is
/// given one as a function.
static READINGS: Mutex<Option<(Instant, Readings)>> = Mutex::new(None);

/// The time of the clock on the wall, never earlier than what was said before: where that clock is set back, time
/// goes on from there until the wall has caught up. So no age is negative and no countdown begins anew.
pub fn now() -> Stamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    let wall = wall.unwrap_or_default().as_secs_f64();
    let mut readings = READINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let (began, last) = readings.get_or_insert_with(|| (Instant::now(), Readings::default()));
    last.next(wall, began.elapsed())
}

/// The last readings.
#[derive(Debug, Default)]
struct Readings {
    /// What was said, in seconds since 1970.
    said: f64,
    /// How long the process had run by then, by a clock that nobody sets.
    ran: Duration,
}

impl Readings {
    fn next(&mut self, wall: f64, ran: Duration) -> Stamp {
        let passed = ran.saturating_sub(self.ran).as_secs_f64();
        self.said = if wall >= self.said {
            wall
        } else {
            self.said + passed
        };
        self.ran = ran;
        Stamp(self.said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn it_follows_the_wall_but_never_goes_back() {
        let mut readings = Readings::default();
        let hour = 3600.0;
        let told: Vec<f64> = [
            (1000.0, 0),
            (1002.0, 2),
            // Set back by an hour: it goes on.
            (1003.0 - hour, 3),
            (1009.0 - hour, 9),
            // Set right, and set ahead.
            (1010.0, 10),
            (1011.0 + hour, 11),
            (1012.0, 12),
        ]
        .map(|(wall, ran)| readings.next(wall, Duration::from_secs(ran)).0)
        .to_vec();
        let ahead = 1011.0 + hour;
        assert_eq!(
            told,
            [1000.0, 1002.0, 1003.0, 1009.0, 1010.0, ahead, ahead + 1.0]
        );
    }

    #[test]
    fn many_threads_see_one_order() {
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
