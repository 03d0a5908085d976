//! The animation of the spinner.

use std::time::Duration;

/// How much of the screen is animated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Motion {
    /// The spinner is animated.
    #[default]
    Full,
    /// Nothing is animated; only numbers of seconds change.
    Reduced,
}

/// How long the spinner shows one picture: 8 pictures per second.
pub const SPIN: Duration = Duration::from_millis(125);
