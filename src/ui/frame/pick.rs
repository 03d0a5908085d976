//! The rows of a list to choose from.

/// A row of a list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerRow<T> {
    pub words: String,
    /// The indices, in ascending order, of the characters in `words` that match the search.
    pub marked: Vec<usize>,
    /// The text at the right: a key, or a mark of the current choice.
    pub aside: String,
    /// What it chooses.
    pub item: T,
}

impl<T> PickerRow<T> {
    pub fn new(words: String, aside: String, item: T) -> PickerRow<T> {
        PickerRow {
            words,
            marked: Vec::new(),
            aside,
            item,
        }
    }
}
