//! What stands on the node of a task, and how many columns it takes to say it whole.

use crate::domain::graph::SUBJECT_MAX;
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};
use crate::ui::graph::{NODE_MIN, rows_for};
use crate::ui::text::{called, width};

/// The columns before the further rows of a node.
pub const INDENT: usize = 2;

/// Widest node that is asked for so that its words stay whole; longer words may be cut.
const LEAST_MAX: usize = 30;

/// Shortest and longest name that nodes keep room for.
const OWNER_MIN: usize = 5;
const OWNER_MAX: usize = 12;

/// What stands on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The task's number.
    pub number: String,
    /// Its subject.
    pub subject: String,
    /// Its owner; empty: nobody.
    pub owner: String,
}

impl Label {
    /// The columns that it takes: a shape, the number and the subject with blanks between them, and those for an owner,
    /// who may come and go and moves nothing by it.
    pub fn width(&self, owners: usize) -> usize {
        self.head() + width(&self.subject) + owners
    }

    /// The columns that the shape and the number take.
    pub fn mark_width(&self) -> usize {
        self.number.len() + 2
    }

    /// The columns in which at most `rows` rows hold it with no word cut; no more than [`LEAST_MAX`].
    pub fn least(&self, rows: usize, owners: usize) -> usize {
        let natural = self.width(owners);
        let most = natural.min(LEAST_MAX);
        let fits = |columns: &usize| {
            let rows = rows_for(natural, *columns, rows);
            self.needs(*columns, owners).is_some_and(|n| n <= rows)
        };
        (NODE_MIN..most).find(fits).unwrap_or(most)
    }

    /// The rows that it needs in so many columns; `None`: a word does not fit.
    fn needs(&self, columns: usize, owners: usize) -> Option<usize> {
        let mut rows = 1;
        let mut x = self.head();
        let mut is_fresh = true;
        // With a blank before it, as words have.
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

    fn head(&self) -> usize {
        self.number.len() + 3
    }
}

/// The columns for the owner of any task: for the longest name, within bounds, with a blank and its sign.
pub fn owners(longest: usize) -> usize {
    longest.clamp(OWNER_MIN, OWNER_MAX) + 2
}

/// What stands on the node of a task.
pub fn label(task: &Task) -> Label {
    Label {
        number: task.id.to_string(),
        // Other programs may write longer ones.
        subject: clip(&one_line(&task.subject), SUBJECT_MAX),
        owner: called(&task.owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_columns_keep_words_whole() {
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
            let found = label(subject).least(rows, owners);
            assert_eq!(found, expected, "{subject} {owners} {rows}");
        }
    }
}
