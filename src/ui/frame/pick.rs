//! A row of a list to choose from.

/// A row of a list to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerRow<T> {
    /// What it says.
    pub words: String,
    /// The indices of the characters in `words` that match the search, in order.
    pub marked: Vec<usize>,
    /// The text on the right: a key or a mark.
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
