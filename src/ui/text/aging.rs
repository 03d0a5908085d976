//! Ages on the screen and when they next read differently.

use std::time::Duration;

use crate::domain::timestamp::Timestamp;
use crate::ui::text::{age, age_valid_for};

/// An age that is shown now or later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownAge {
    /// The time from which the age counts.
    pub since: Timestamp,
    /// The minimum age at which it is shown.
    pub from: Duration,
}

impl ShownAge {
    /// Creates an age that is shown at once.
    pub fn at_once(since: Timestamp) -> ShownAge {
        ShownAge {
            since,
            from: Duration::ZERO,
        }
    }

    /// What it says.
    pub fn reads(&self, now: Timestamp) -> Option<String> {
        let passed = now.since(self.since);
        (passed >= self.from).then(|| age(passed))
    }

    /// Returns how long the text stays the same.
    pub fn lasts(&self, now: Timestamp) -> Duration {
        let passed = now.since(self.since);
        if passed < self.from {
            self.from.saturating_sub(passed)
        } else {
            age_valid_for(passed)
        }
    }
}
