//! A row of a picker or of the completion list.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerRow<T> {
    pub words: String,
    /// The indices, from 0 and in ascending order, of the characters in `words` that match the search.
    pub marked: Vec<usize>,
    /// The text at the right, such as a key, a description, or `in use` for the current choice; may be empty.
    pub aside: String,
    /// The value that is chosen with this row.
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
