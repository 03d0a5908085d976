//! What stands on the node of a task, and how many columns it takes to say it whole.

use crate::domain::graph::SUBJECT_MAX;
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};
use crate::ui::graph::{NODE_MIN, rows_for};
use crate::ui::textual::width;

/// The columns before the further rows of a node.
pub const INDENT: usize = 2;

/// Widest node that is asked for so that its words stay whole; longer words may be cut.
const LEAST_MAX: usize = 30;

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
    /// The columns that it takes: a shape and the three with blanks between them.
    pub fn width(&self) -> usize {
        self.head() + width(&self.subject) + self.by()
    }

    /// The columns in which at most `rows` rows hold it with no word cut; no more than [`LEAST_MAX`].
    pub fn least(&self, rows: usize, owner: Owner) -> usize {
        let natural = self.width();
        let most = natural.min(LEAST_MAX);
        let fits = |columns: &usize| {
            let rows = rows_for(natural, *columns, rows);
            self.needs(*columns, owner).is_some_and(|n| n <= rows)
        };
        (NODE_MIN..most).find(fits).unwrap_or(most)
    }

    /// The rows that it needs in so many columns; `None`: a word does not fit.
    fn needs(&self, columns: usize, owner: Owner) -> Option<usize> {
        let mut rows = 1;
        let mut x = self.head();
        let mut is_fresh = true;
        let by = match owner {
            Owner::Told => self.by(),
            Owner::Spare => 0,
        };
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

    fn by(&self) -> usize {
        match self.owner.as_str() {
            "" => 0,
            owner => width(owner) + 2,
        }
    }
}

/// Whether a node has to tell the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It does.
    Told,
    /// Only where there is room.
    Spare,
}

/// What stands on the node of a task.
pub fn label(task: &Task) -> Label {
    Label {
        number: task.id.to_string(),
        // Other programs may write longer ones.
        subject: clip(&one_line(&task.subject), SUBJECT_MAX),
        owner: one_line(&task.owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_columns_keep_words_whole() {
        let label = |subject: &str, owner: &str| Label {
            number: "#2".into(),
            subject: subject.into(),
            owner: owner.into(),
        };
        let cases = [
            ("Write lib/count.sh", "", 3, Owner::Spare, 14),
            ("Write lib/count.sh", "alice", 3, Owner::Told, 14),
            ("Write lib/count.sh", "alice", 3, Owner::Spare, 14),
            ("Write lib/count.sh", "alice", 1, Owner::Told, 30),
            ("Add the command report", "", 3, Owner::Spare, 12),
            ("Add the command report", "", 2, Owner::Spare, 16),
            ("Fuzz it", "", 3, Owner::Spare, 12),
            ("Go", "", 3, Owner::Spare, 7),
            (
                "Supercalifragilisticexpialidocious",
                "",
                3,
                Owner::Spare,
                30,
            ),
        ];
        for (subject, owner, rows, told, expected) in cases {
            let found = label(subject, owner).least(rows, told);
            assert_eq!(found, expected, "{subject} {owner} {rows} {told:?}");
        }
    }
}
