//! What tells the person what to press next: the hint line, the buttons, the first page, the tour of the demo.

pub(super) mod bars;
pub mod first;
pub(super) mod hint_words;
pub(super) mod hints;
pub(super) mod tour;
