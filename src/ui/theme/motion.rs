//! Whether the spinner turns, and how fast.

use std::time::Duration;

/// Whether the spinner turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// It turns.
    #[default]
    Full,
    /// It stands still; only seconds are counted.
    Reduced,
}

/// The time between two pictures of the spinner: 8 a second.
pub const SPIN: Duration = Duration::from_millis(125);
