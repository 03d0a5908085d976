//! Waiting for something that another process or thread does.

use std::time::{Duration, Instant};

/// Longer than anything that a test waits for takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until `is_so` returns true. Panics after [`TIMEOUT`]; `what` describes the condition in the panic message.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Waits until `find` returns a value, and returns it. Panics like [`wait_until`].
pub fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < until, "timed out: {what}");
        // Without a pause, the waiting test takes processor time from the tests beside it.
        std::thread::sleep(Duration::from_millis(2));
    }
}
