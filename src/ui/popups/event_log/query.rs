//! The filter language of the event log: words, `who:NAME` and `kind:message`. A single `!` matches warnings and
//! errors; a `!` before a term excludes what the term matches.

use std::fmt;

use crate::ui::model::event_log::{LogLine, Topic};
use crate::ui::text::terms::{Term, terms};

/// A parsed filter. A line matches the filter if it matches every term.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventLogQuery {
    terms: Vec<LogTerm>,
    problems: Vec<EventLogQueryError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LogTerm {
    is_negated: bool,
    condition: LogCondition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LogCondition {
    Word(String),
    Who(String),
    Kind(Topic),
    Trouble,
}

/// An invalid term, which the filter ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventLogQueryError {
    /// A term with an unknown key, such as `foo:bar`. Holds the key.
    Key(String),
    /// A term `kind:…` whose value is not the start of a topic's name. Holds the value.
    Kind(String),
}

impl fmt::Display for EventLogQueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventLogQueryError::Key(key) => write!(f, "unknown key {key}: use who: or kind:"),
            EventLogQueryError::Kind(word) => {
                let words = Topic::ALL.map(Topic::word);
                write!(f, "unknown kind {word}: use {}", words.join(", "))
            }
        }
    }
}

impl EventLogQuery {
    /// Parses `text`. A term that consists of a key without a value matches every line, because the user is still
    /// typing the value. A term with an unknown key or kind also matches every line, and [`EventLogQuery::errors`]
    /// lists it. The term `!` alone matches warnings and errors.
    pub fn new(text: &str) -> EventLogQuery {
        let mut out = EventLogQuery::default();
        for term in terms(text) {
            let Term {
                mut is_negated,
                key,
                value,
            } = term;
            let condition = match (key.as_deref(), value) {
                (None, value) if value.is_empty() && is_negated => {
                    is_negated = false;
                    LogCondition::Trouble
                }
                (_, value) if value.is_empty() => continue,
                (None, word) => LogCondition::Word(word),
                (Some("who"), name) => LogCondition::Who(name.trim_start_matches('@').into()),
                (Some("kind"), word) => {
                    // The former word for messages still works.
                    let is_mail = |t: &Topic| *t == Topic::Mail && word == "mail";
                    let is_meant = |t: &&Topic| t.word().starts_with(&word) || is_mail(t);
                    match Topic::ALL.iter().find(is_meant) {
                        Some(topic) => LogCondition::Kind(*topic),
                        None => {
                            out.problems.push(EventLogQueryError::Kind(word));
                            continue;
                        }
                    }
                }
                (Some(key), _) => {
                    out.problems.push(EventLogQueryError::Key(key.into()));
                    continue;
                }
            };
            out.terms.push(LogTerm {
                is_negated,
                condition,
            });
        }
        out
    }

    /// Returns the invalid terms, which the filter ignores.
    pub fn errors(&self) -> &[EventLogQueryError] {
        &self.problems
    }

    pub fn matches(&self, line: &LogLine) -> bool {
        let mut hay = None;
        self.terms.iter().all(|term| {
            let found = match &term.condition {
                LogCondition::Trouble => line.severity.is_trouble(),
                LogCondition::Kind(topic) => line.topic == *topic,
                LogCondition::Who(name) => line.who.iter().any(|w| w.to_lowercase().contains(name)),
                LogCondition::Word(word) => hay
                    .get_or_insert_with(|| {
                        format!("{} {}", line.topic.word(), line.words).to_lowercase()
                    })
                    .contains(word),
            };
            found != term.is_negated
        })
    }
}
