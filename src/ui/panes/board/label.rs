//! The label of a task's graph node, and the width that the label needs.

use crate::domain::graph::SUBJECT_MAX;
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};
use crate::ui::graph::{NODE_MIN, rows_for};
use crate::ui::text::{display_name, width};

/// Indentation of all rows of a node except the first, in columns.
pub const INDENT: usize = 2;

/// Maximum value that [`Label::min_width`] returns, in columns. A label that needs more columns may be truncated.
const LEAST_MAX: usize = 30;

/// Minimum number of columns of a subject that a node must show, so that the user can recognise the task.
const SUBJECT_LEAST: usize = 10;

/// Minimum width that nodes reserve for the owner's name, in columns, without the space and the `@` before the name.
const OWNER_MIN: usize = 5;
const OWNER_MAX: usize = 12;

/// The parts of the text in a task's graph node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The task's number, such as `#12`.
    pub number: String,
    /// The task's subject as one line, cut to [`SUBJECT_MAX`] characters.
    pub subject: String,
    /// The owner's display name; empty if the task has no owner.
    pub owner: String,
}

impl Label {
    /// Returns the width of the whole label in one row, in columns: symbol, number, subject, and `owners` columns for
    /// the owner. These columns are reserved even for a task without an owner, so that a claim or release does not move
    /// nodes.
    pub fn width(&self, owners: usize) -> usize {
        self.head() + width(&self.subject) + owners
    }

    /// Returns the width of the symbol and the number, in columns.
    pub fn mark_width(&self) -> usize {
        self.number.len() + 2
    }

    /// Returns the width at which the subject fits into the first row, in columns.
    pub fn subject_width(&self) -> usize {
        self.head() + width(&self.subject)
    }

    /// Returns the smallest width, in columns, at which the label fits into at most `rows` rows without truncating a
    /// word. The result is at most [`LEAST_MAX`].
    pub fn min_width(&self, rows: usize, owners: usize) -> usize {
        let natural = self.width(owners);
        let most = natural.min(LEAST_MAX);
        let fits = |columns: &usize| {
            let rows = rows_for(natural, *columns, rows);
            self.rows_needed(*columns, owners)
                .is_some_and(|n| n <= rows)
        };
        (NODE_MIN..most).find(fits).unwrap_or(most)
    }

    /// Returns the number of rows that the label needs at a width of `columns`, or `None` if a word is too long for a
    /// row.
    pub fn rows_needed(&self, columns: usize, owners: usize) -> Option<usize> {
        let mut rows = 1;
        let mut x = self.head();
        let mut is_fresh = true;
        // `owners` includes the space before the `@`.
        let by = owners.saturating_sub(1);
        let words = self.subject.split_whitespace().map(width);
        for word in words.chain((by > 0).then_some(by)) {
            let blank = usize::from(!is_fresh);
            if x + blank + word <= columns {
                x += blank + word;
            } else if INDENT + word <= columns {
                rows += 1;
                x = INDENT + word;
            } else {
                return None;
            }
            is_fresh = false;
        }
        Some(rows)
    }

    /// Returns whether a node of `columns` columns and `rows` rows has room for the whole subject, or for at least
    /// [`SUBJECT_LEAST`] columns of it. The owner takes `owners` columns of the node.
    pub fn is_readable(&self, columns: usize, rows: usize, owners: usize) -> bool {
        let first = columns.saturating_sub(self.head());
        let next = columns.saturating_sub(INDENT);
        let last = if rows > 1 { next } else { first };
        // The owner takes at most half of the last row.
        let room = first + next * rows.saturating_sub(1) - owners.min(last / 2);
        width(&self.subject).min(SUBJECT_LEAST) <= room
    }

    fn head(&self) -> usize {
        self.number.len() + 3
    }
}

/// Returns the number of columns that every node reserves for its owner: a space, `@`, and `longest` columns, the width
/// of the longest name. `longest` is limited to the range from [`OWNER_MIN`] to `OWNER_MAX`.
pub fn owners(longest: usize) -> usize {
    longest.clamp(OWNER_MIN, OWNER_MAX) + 2
}

pub fn label(task: &Task) -> Label {
    Label {
        number: task.id.to_string(),
        // Task files written by other programs may have longer subjects.
        subject: clip(&one_line(&task.subject), SUBJECT_MAX),
        owner: display_name(&task.owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_is_readable_if_enough_of_its_subject_is_shown() {
        let label = |subject: &str| Label {
            number: "#2".into(),
            subject: subject.into(),
            owner: String::new(),
        };
        let cases = [
            ("Write lib/count.sh", 12, 1, 7, false),
            ("Write lib/count.sh", 21, 1, 7, false),
            ("Write lib/count.sh", 22, 1, 7, true),
            ("Write lib/count.sh", 12, 2, 7, true),
            ("Fuzz", 12, 1, 7, true),
            ("Fuzz", 9, 1, 7, false),
        ];
        for (subject, columns, rows, owners, expected) in cases {
            let found = label(subject).is_readable(columns, rows, owners);
            assert_eq!(found, expected, "{subject} {columns} {rows}");
        }
    }

    #[test]
    fn least_width_keeps_words_whole() {
        let label = |subject: &str| Label {
            number: "#2".into(),
            subject: subject.into(),
            owner: String::new(),
        };
        let cases = [
            ("Write lib/count.sh", 0, 3, 14),
            ("Write lib/count.sh", 7, 3, 14),
            ("Write lib/count.sh", 7, 1, 30),
            ("Add the command report", 0, 3, 12),
            ("Add the command report", 0, 2, 16),
            ("Add the command report", 7, 3, 15),
            ("Fuzz it", 0, 3, 12),
            ("Go", 0, 3, 7),
            ("Supercalifragilisticexpialidocious", 0, 3, 30),
        ];
        for (subject, owners, rows, expected) in cases {
            let found = label(subject).min_width(rows, owners);
            assert_eq!(found, expected, "{subject} {owners} {rows}");
        }
    }
}
