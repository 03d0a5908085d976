//! A point in time as the state files write it: seconds since the Unix epoch, with a fraction.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Seconds since the Unix epoch. The reference writes `time.time()`, so a float it stays.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub f64);

impl Stamp {
    /// The time that has passed since `earlier`; zero when the clock went backwards.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration::try_from_secs_f64(self.0 - earlier.0).unwrap_or_default()
    }

    /// This point in time, moved later by `by`.
    #[must_use]
    pub fn after(self, by: Duration) -> Stamp {
        Stamp(self.0 + by.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_backwards_counts_as_no_time() {
        assert_eq!(Stamp(5.0).since(Stamp(9.0)), Duration::ZERO);
        assert_eq!(Stamp(9.0).since(Stamp(5.0)), Duration::from_secs(4));
    }
}
