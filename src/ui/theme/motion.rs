//! Whether the spinner turns, and how fast.

use std::time::Duration;

/// Whether the spinner turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// The spinner turns.
    #[default]
    Full,
    /// No animation; only counted seconds change.
    Reduced,
}

/// The frame time of the spinner: 8 frames per second.
pub const SPIN: Duration = Duration::from_millis(125);
