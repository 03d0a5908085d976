//! The filter language of the board: words, `owner:NAME`, `status:ready` and `tag:T`. A `!` before a term excludes what
//! the term matches.

use std::fmt;

use crate::domain::task::Task;
use crate::ui::model::board::index::BoardStatus;
use crate::ui::text::display_name;
use crate::ui::text::terms::terms;

/// The keys of filter terms, as the error about an unknown key lists them.
const KEYS: &str = "owner:, status: or tag:";

/// The values of `status:`, each with the statuses that it matches. The user may type only the beginning of a value; of
/// several values with this beginning, the first one in the table counts.
const STATUS: [(&str, &[BoardStatus]); 10] = [
    ("ready", &[BoardStatus::Ready]),
    ("blocked", &[BoardStatus::Blocked]),
    ("in_progress", &[BoardStatus::InProgress]),
    ("progress", &[BoardStatus::InProgress]),
    ("working", &[BoardStatus::InProgress]),
    ("assigned", &[BoardStatus::Assigned]),
    ("done", &[BoardStatus::Done]),
    ("completed", &[BoardStatus::Done]),
    (
        "open",
        &[
            BoardStatus::InProgress,
            BoardStatus::Ready,
            BoardStatus::Assigned,
            BoardStatus::Blocked,
        ],
    ),
    (
        "pending",
        &[
            BoardStatus::Ready,
            BoardStatus::Assigned,
            BoardStatus::Blocked,
        ],
    ),
];

/// A parsed filter. A task matches the filter if it matches every term.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BoardQuery {
    terms: Vec<BoardTerm>,
    problems: Vec<BoardQueryError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BoardTerm {
    is_negated: bool,
    looks: BoardCondition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum BoardCondition {
    Word(String),
    Owner(String),
    Tag(String),
    Status(&'static [BoardStatus]),
}

/// An invalid term, which the filter ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardQueryError {
    /// The key of the term is unknown. Holds the key, such as `foo:`.
    Key(String),
    /// The value of `status:` is unknown. Holds the value.
    Status(String),
}

impl fmt::Display for BoardQueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoardQueryError::Key(key) => write!(f, "no key {key} use {KEYS}"),
            BoardQueryError::Status(word) => write!(
                f,
                "no status {word}: ready blocked in_progress assigned done open pending"
            ),
        }
    }
}

impl BoardQuery {
    /// Parses `text`. A term that consists of a key without a value matches every task, even after `!`, because the
    /// user is still typing the value. An invalid term is ignored and listed by [`BoardQuery::errors`].
    pub fn new(text: &str) -> BoardQuery {
        let mut out = BoardQuery::default();
        for term in terms(text) {
            let is_negated = term.is_negated;
            match read(term.key.as_deref(), term.value) {
                Ok(Some(looks)) => out.terms.push(BoardTerm { is_negated, looks }),
                Ok(None) => {}
                Err(problem) => out.problems.push(problem),
            }
        }
        out
    }

    /// Returns the invalid terms, which the filter ignores.
    pub fn errors(&self) -> &[BoardQueryError] {
        &self.problems
    }

    /// Returns whether `task`, which has the status `standing` on the board, matches the filter. A plain word is
    /// searched in the number, the subject, the owner with `@`, the tags and the status. Case does not matter.
    pub fn matches(&self, task: &Task, standing: BoardStatus) -> bool {
        let mut hay = None;
        self.terms.iter().all(|term| {
            let found = match &term.looks {
                BoardCondition::Status(all) => all.contains(&standing),
                BoardCondition::Owner(name) => {
                    let owners = [task.owner.to_lowercase(), display_name(&task.owner)];
                    owners.iter().any(|owner| owner.contains(name))
                }
                BoardCondition::Tag(tag) => {
                    task.tags.iter().any(|t| t.to_lowercase().contains(tag))
                }
                BoardCondition::Word(word) => hay
                    .get_or_insert_with(|| words(task, standing))
                    .contains(word),
            };
            found != term.is_negated
        })
    }
}

fn read(key: Option<&str>, value: String) -> Result<Option<BoardCondition>, BoardQueryError> {
    let Some(key) = key else {
        return Ok((!value.is_empty()).then_some(BoardCondition::Word(value)));
    };
    let value = value.trim_start_matches('@');
    let looks = match key {
        "owner" => BoardCondition::Owner(value.into()),
        "tag" => BoardCondition::Tag(value.trim_start_matches('#').into()),
        "status" => {
            let value = value.replace('-', "_");
            let found = STATUS.iter().find(|(name, _)| name.starts_with(&value));
            match found {
                Some((_, all)) => BoardCondition::Status(all),
                None => return Err(BoardQueryError::Status(value)),
            }
        }
        _ => return Err(BoardQueryError::Key(format!("{key}:"))),
    };
    Ok((!value.is_empty()).then_some(looks))
}

fn words(task: &Task, standing: BoardStatus) -> String {
    format!(
        "{} {} @{} {} {}",
        task.id,
        task.subject,
        display_name(&task.owner),
        task.tags.join(" "),
        standing.word(),
    )
    .to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::ui::fixture;

    #[test]
    fn filter_finds_the_expected_tasks() {
        // Task 1 is completed by alice; 2 (bob) and 3 (alice) are in progress; 4 is blocked; 5 is ready and has a tag.
        let board = fixture::board();
        let mut tagged = board.get(TaskId(5)).cloned().unwrap();
        tagged.tags = vec!["Docs".into()];
        let find = |text: &str| -> Vec<u64> {
            let query = BoardQuery::new(text);
            assert_eq!(query.errors(), [], "{text}");
            let tasks = board
                .tasks()
                .map(|t| if t.id == tagged.id { &tagged } else { t });
            tasks
                .filter(|t| {
                    query.matches(t, crate::ui::model::board::index::board_status(&board, t))
                })
                .map(|t| t.id.0)
                .collect()
        };
        let cases: [(&str, &[u64]); 22] = [
            ("", &[1, 2, 3, 4, 5]),
            ("HEADER", &[2, 4]),
            ("header !join", &[2]),
            ("!header", &[1, 3, 5]),
            ("测试", &[4]),
            ("owner:alice", &[1, 3]),
            ("owner:@ALI", &[1, 3]),
            ("!owner:alice", &[2, 4, 5]),
            ("owner:alice status:done", &[1]),
            ("status:ready", &[5]),
            ("status:in_progress", &[2, 3]),
            ("status:in-progress", &[2, 3]),
            ("status:b", &[4]),
            ("status:completed", &[1]),
            ("status:open", &[2, 3, 4, 5]),
            ("!status:done !owner:bob", &[3, 4, 5]),
            ("status:pending", &[4, 5]),
            ("tag:docs", &[5]),
            ("!tag:docs status:", &[1, 2, 3, 4]),
            ("owner:zoe", &[]),
            ("in progress", &[2, 3]),
            ("!", &[1, 2, 3, 4, 5]),
        ];
        for (text, expected) in cases {
            assert_eq!(find(text), expected, "{text}");
        }
    }

    #[test]
    fn invalid_terms_are_reported() {
        let cases = [
            ("colour:red", vec![BoardQueryError::Key("colour:".into())]),
            ("status:lazy", vec![BoardQueryError::Status("lazy".into())]),
            ("std::fs http://x 12:30", vec![]),
            ("owner: status: tag:", vec![]),
            (
                "a:b !c:d",
                vec![
                    BoardQueryError::Key("a:".into()),
                    BoardQueryError::Key("c:".into()),
                ],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(BoardQuery::new(text).errors(), expected, "{text}");
        }
        assert_eq!(
            BoardQueryError::Key("colour:".into()).to_string(),
            "no key colour: use owner:, status: or tag:"
        );
    }
}
