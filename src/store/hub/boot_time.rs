//! Time that goes on while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The clock that counts the sleep of the machine, which the one of [`std::time::Instant`] does not everywhere.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A point in time on this machine. A lease expires on its server while the machine of its holder sleeps, so its holder
/// must count that time too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BootTime(Duration);

impl BootTime {
    pub fn now() -> BootTime {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        BootTime(Duration::new(seconds, nanoseconds))
    }

    pub fn elapsed(self) -> Duration {
        BootTime::now().since(self)
    }

    /// Returns the time between `earlier` and this point; zero if `earlier` is the later one.
    pub fn since(self, earlier: BootTime) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the point after `time`, in which the machine may have slept.
    #[cfg(test)]
    pub fn after(self, time: Duration) -> BootTime {
        BootTime(self.0 + time)
    }

    /// Returns the point before `time`, in which the machine may have slept.
    #[cfg(test)]
    pub fn before(self, time: Duration) -> BootTime {
        BootTime(self.0.saturating_sub(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_as_it_does_for_other_clocks() {
        let (began, other) = (BootTime::now(), std::time::Instant::now());
        std::thread::sleep(Duration::from_millis(20));
        let least = other.elapsed();
        assert!(began.elapsed() >= least);
        assert!(began < BootTime::now());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn sleep_of_the_machine_counts() {
        // The clock of `Instant` stops meanwhile.
        assert_eq!(CLOCK, ClockId::Boottime);
        let woken = BootTime::now();
        let asleep = woken.before(Duration::from_secs(1));
        assert_eq!(woken.since(asleep), Duration::from_secs(1));
        assert_eq!(asleep.since(woken), Duration::ZERO);
    }
}
