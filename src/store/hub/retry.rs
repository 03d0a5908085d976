//! Pauses between attempts of writers that compete for the same state.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Maximum time that a change is tried again because others were faster.
pub(super) const CHANGED_WITHIN: Duration = Duration::from_secs(60);
/// Maximum pause, in microseconds.
const PAUSE_MAX: u64 = 64_000;

/// Waits before the attempt after `attempt`, the number of attempts so far. The pause is random, so that writers that have
/// met once do not meet again, and grows with the number of attempts.
pub(super) fn pause(attempt: u32) {
    let most = (500_u64 << attempt.min(7)).min(PAUSE_MAX);
    // Each `RandomState` has other keys.
    let random = RandomState::new().hash_one(attempt);
    std::thread::sleep(Duration::from_micros(random % most));
}
