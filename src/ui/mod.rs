//! Floor 5: the screen. Sees what is said (domain and protocol) and nothing of the crew itself.

pub mod theme;
pub mod transcript;
