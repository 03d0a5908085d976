//! The filter language of the event log: words, `who:NAME`, `kind:mail`, `!` alone for warnings and errors, and `!` before
//! a term to exclude it.

use std::fmt;

use crate::ui::model::event_log::{LogLine, Topic};
use crate::ui::text::terms::{Polarity, Term, terms};

/// A parsed filter. A line matches the filter if it matches all terms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    wanted: Vec<(Polarity, Looks)>,
    problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Looks {
    Word(String),
    Who(String),
    Kind(Topic),
    Trouble,
}

/// An invalid term, which the filter ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The key of this term is unknown.
    Key(String),
    /// This value of `kind:` is unknown.
    Kind(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Key(key) => write!(f, "{key}: not one of who: kind:"),
            Problem::Kind(word) => {
                let words = Topic::ALL.map(Topic::word);
                write!(f, "{word} not one of {}", words.join(" "))
            }
        }
    }
}

impl Query {
    /// Parses `text`. A key without a value matches every line, because the user is still typing.
    pub fn new(text: &str) -> Query {
        let mut out = Query::default();
        for Term { sign, key, value } in terms(text) {
            let looks = match (key.as_deref(), value) {
                (None, value) if value.is_empty() && sign == Polarity::Unwanted => {
                    out.wanted.push((Polarity::Wanted, Looks::Trouble));
                    continue;
                }
                (_, value) if value.is_empty() => continue,
                (None, word) => Looks::Word(word),
                (Some("who"), name) => Looks::Who(name.trim_start_matches('@').into()),
                (Some("kind"), word) => {
                    match Topic::ALL.iter().find(|t| t.word().starts_with(&word)) {
                        Some(topic) => Looks::Kind(*topic),
                        None => {
                            out.problems.push(Problem::Kind(word));
                            continue;
                        }
                    }
                }
                (Some(key), _) => {
                    out.problems.push(Problem::Key(key.into()));
                    continue;
                }
            };
            out.wanted.push((sign, looks));
        }
        out
    }

    /// Returns the invalid terms.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns whether `line` matches the filter.
    pub fn matches(&self, line: &LogLine) -> bool {
        let mut hay = None;
        self.wanted.iter().all(|(sign, looks)| {
            let found = match looks {
                Looks::Trouble => line.tone.is_trouble(),
                Looks::Kind(topic) => line.topic == *topic,
                Looks::Who(name) => line.who.iter().any(|w| w.to_lowercase().contains(name)),
                Looks::Word(word) => hay
                    .get_or_insert_with(|| {
                        format!("{} {}", line.topic.word(), line.words).to_lowercase()
                    })
                    .contains(word),
            };
            found == (*sign == Polarity::Wanted)
        })
    }
}
