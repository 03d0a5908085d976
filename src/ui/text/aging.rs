//! Ages on the screen and when they next read differently.

use std::time::Duration;

use crate::domain::stamp::Stamp;
use crate::ui::text::{age, age_lasts};

/// An age that is on the screen, or will be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aging {
    /// Since when it is counted.
    pub since: Stamp,
    /// How old it is when it comes up.
    pub from: Duration,
}

impl Aging {
    /// One that is there from the beginning.
    pub fn at_once(since: Stamp) -> Aging {
        Aging {
            since,
            from: Duration::ZERO,
        }
    }

    /// What it says.
    pub fn reads(&self, now: Stamp) -> Option<String> {
        let passed = now.since(self.since);
        (passed >= self.from).then(|| age(passed))
    }

    /// How long it says so.
    pub fn lasts(&self, now: Stamp) -> Duration {
        let passed = now.since(self.since);
        if passed < self.from {
            self.from.saturating_sub(passed)
        } else {
            age_lasts(passed)
        }
    }
}
