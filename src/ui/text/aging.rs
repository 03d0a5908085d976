//! Ages on the screen, such as `5m`, and how long their text stays unchanged.

use std::time::Duration;

use crate::domain::timestamp::Timestamp;
use crate::ui::text::{age, age_valid_for};

/// An age that the screen shows once the age has reached a minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownAge {
    /// The time at which the age is zero.
    pub since: Timestamp,
    /// The screen shows the age only if it is at least this long.
    pub from: Duration,
}

impl ShownAge {
    /// Creates an age that is shown immediately, without a minimum.
    pub fn at_once(since: Timestamp) -> ShownAge {
        ShownAge {
            since,
            from: Duration::ZERO,
        }
    }

    /// Returns the text of the age at the time `now`, or `None` if the age is not shown yet.
    pub fn text(&self, now: Timestamp) -> Option<String> {
        let passed = now.since(self.since);
        (passed >= self.from).then(|| age(passed))
    }

    /// Returns how long after `now` the result of [`ShownAge::text`] stays the same.
    pub fn valid_for(&self, now: Timestamp) -> Duration {
        let passed = now.since(self.since);
        if passed < self.from {
            self.from.saturating_sub(passed)
        } else {
            age_valid_for(passed)
        }
    }
}
