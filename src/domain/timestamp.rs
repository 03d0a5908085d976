//! Timestamps as stored in the state files.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Seconds since the Unix epoch, with a fraction. A float, because learn-claude-code writes `time.time()`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub f64);

impl Timestamp {
    /// Returns the time since `earlier`. Returns zero if `earlier` is later than `self`, which happens when the clock
    /// was set back.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::try_from_secs_f64(self.0 - earlier.0).unwrap_or_default()
    }

    #[must_use]
    pub fn after(self, by: Duration) -> Timestamp {
        Timestamp(self.0 + by.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backward_clock_counts_as_zero() {
        assert_eq!(Timestamp(5.0).since(Timestamp(9.0)), Duration::ZERO);
        assert_eq!(Timestamp(9.0).since(Timestamp(5.0)), Duration::from_secs(4));
    }
}
