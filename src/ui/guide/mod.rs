//! Guidance for the user: the hint line, buttons, the onboarding page, and the tour of the demo.

pub(super) mod bars;
pub mod first;
pub(super) mod hint_words;
pub(super) mod hints;
pub(super) mod tour;
