//! What the user writes: the composer, the drafts, the forms of tasks.

/// State of the completion list since the last typed character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completion {
    /// The list is offered with this row selected.
    Offered(usize),
    /// The list is offered with the first row selected.
    #[default]
    Fresh,
    /// The user dismissed the list; the next typed character brings it back.
    PutAway,
}
