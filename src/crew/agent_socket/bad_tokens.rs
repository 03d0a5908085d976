//! Delays the answers to wrong tokens at the agent socket if there were many within a minute.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Number of wrong tokens within [`WINDOW`] that are answered without delay.
const FREE: usize = 8;
const WINDOW: Duration = Duration::from_secs(60);
/// The delay of the answer to each wrong token after the first [`FREE`] within [`WINDOW`]. The connection stays open
/// for that time and counts towards the limit on connections without a valid token. Together, the delay and that limit
/// bound the rate of attempts.
const DELAY: Duration = Duration::from_secs(2);

/// The times of the last wrong tokens that were answered without delay, oldest first; at most `FREE`.
#[derive(Debug, Default)]
pub struct BadTokens(VecDeque<Instant>);

impl BadTokens {
    /// Records a wrong token. Returns how long its answer must be delayed.
    pub fn record(&mut self, now: Instant) -> Duration {
        while self.0.front().is_some_and(|at| now - *at >= WINDOW) {
            self.0.pop_front();
        }
        if self.0.len() >= FREE {
            return DELAY;
        }
        self.0.push_back(now);
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tokens_are_delayed_until_the_window_has_passed() {
        let (mut tokens, start) = (BadTokens::default(), Instant::now());
        for _ in 0..FREE {
            assert_eq!(tokens.record(start), Duration::ZERO);
        }
        assert_eq!(tokens.record(start), DELAY);
        let almost = start + WINDOW - Duration::from_millis(1);
        assert_eq!(tokens.record(almost), DELAY);
        assert_eq!(tokens.record(start + WINDOW), Duration::ZERO);
    }
}
