//! Undo and redo of edits. One step undoes a typed word, a paste or a deletion.

use std::collections::VecDeque;

/// Maximum number of steps that can be undone. If it is exceeded, the oldest step is dropped.
const STEPS_MAX: usize = 200;
/// Maximum total length, in bytes, of the texts that are kept for undo. If it is exceeded, the oldest texts are
/// dropped.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A text, and the position of the cursor in it as line and character, both from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSnapshot {
    pub text: String,
    pub cursor: (usize, usize),
}

/// The kind of an edit, which decides whether the edit joins the previous undo step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// A typed character of a word, which joins the step of the previous character.
    Character,
    /// A typed blank, which joins the step of the word before it and ends that step.
    Blank,
    /// Any other key, paste or deletion.
    Other,
}

/// The texts that undo and redo restore: the draft before each step, and the drafts that were undone.
#[derive(Debug, Default)]
pub struct UndoStack {
    past: VecDeque<TextSnapshot>,
    future: Vec<TextSnapshot>,
    /// Whether the next character joins the last step.
    is_typing: bool,
}

impl UndoStack {
    /// Returns whether an edit of this kind belongs to the last step, so that no snapshot is needed.
    pub fn joins(&self, kind: EditKind) -> bool {
        self.is_typing && kind != EditKind::Other
    }

    /// Records an edit, after which nothing can be redone. `before` is the text before the edit if the edit begins a
    /// new step, else `None`.
    pub fn record(&mut self, kind: EditKind, before: Option<TextSnapshot>) {
        self.is_typing = kind == EditKind::Character;
        self.future.clear();
        self.past.extend(before);
        let mut bytes = self.bytes();
        while self.past.len() > STEPS_MAX || bytes > BYTES_MAX {
            bytes -= self.past.pop_front().map_or(bytes, |step| step.text.len());
        }
    }

    /// Returns the total length, in bytes, of the texts that are kept for undo.
    pub fn bytes(&self) -> usize {
        self.past.iter().map(|step| step.text.len()).sum()
    }

    /// Ends the current undo step, because the cursor has moved.
    pub fn end_step(&mut self) {
        self.is_typing = false;
    }

    /// Returns the text before the last step; `None` if there is no step to undo. Stores `now`, the current text, for
    /// [`UndoStack::redo`].
    pub fn undo(&mut self, now: TextSnapshot) -> Option<TextSnapshot> {
        self.is_typing = false;
        let before = self.past.pop_back()?;
        self.future.push(now);
        Some(before)
    }

    /// Returns the text that was undone last; `None` if there is none. Stores `now`, the current text, for
    /// [`UndoStack::undo`].
    pub fn redo(&mut self, now: TextSnapshot) -> Option<TextSnapshot> {
        self.is_typing = false;
        let after = self.future.pop()?;
        self.past.push_back(now);
        Some(after)
    }
}
