//! Pure: what the lists of the board, the team and the inbox are filtered by: the words, and whether they are being written.
//! What the words of tasks mean is the board's own (`board/filter.rs`).

use crate::ui::popup::Searching;
use crate::ui::state::pane::Pane;
use crate::ui::textual::terms::{Sign, Term, terms};
use crate::ui::writing::line_input::LineInput;

/// What a list is filtered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The words.
    pub words: LineInput,
    /// Whether they are being written.
    pub searching: Searching,
}

/// The filters of the panes that have one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    board: Option<Filter>,
    team: Option<Filter>,
    inbox: Option<Filter>,
}

impl Filters {
    /// The filter of a pane, while there is one.
    pub fn of(&self, pane: Pane) -> Option<&Filter> {
        match pane {
            Pane::Board => self.board.as_ref(),
            Pane::Team => self.team.as_ref(),
            Pane::Inbox => self.inbox.as_ref(),
            Pane::Lead | Pane::Todo | Pane::Needs => None,
        }
    }

    /// The place of a pane's filter; `None`: it is never filtered.
    pub fn slot(&mut self, pane: Pane) -> Option<&mut Option<Filter>> {
        match pane {
            Pane::Board => Some(&mut self.board),
            Pane::Team => Some(&mut self.team),
            Pane::Inbox => Some(&mut self.inbox),
            Pane::Lead | Pane::Todo | Pane::Needs => None,
        }
    }

    /// The filter of a pane while it is being written.
    pub fn written(&mut self, pane: Pane) -> Option<&mut Filter> {
        let filter = self.slot(pane)?.as_mut();
        filter.filter(|f| f.searching == Searching::Typing)
    }

    /// The words that a pane is filtered by; empty: by none.
    pub fn words(&self, pane: Pane) -> &str {
        self.of(pane).map_or("", |f| f.words.text().trim())
    }

    /// Begins to write the filter of a pane; what there is already is there to be changed.
    pub fn begin(&mut self, pane: Pane) {
        if let Some(slot) = self.slot(pane) {
            let words = slot.take().map_or_else(LineInput::default, |f| f.words);
            *slot = Some(Filter {
                words,
                searching: Searching::Typing,
            });
        }
    }

    /// What is written stays the filter of a pane; without words there is none.
    pub fn keep(&mut self, pane: Pane) {
        let Some(slot) = self.slot(pane) else { return };
        let kept = slot.take().filter(|f| !f.words.text().trim().is_empty());
        *slot = kept.map(|f| Filter {
            searching: Searching::Rest,
            ..f
        });
    }

    /// Ends the filter of a pane: whether there was one.
    pub fn end(&mut self, pane: Pane) -> bool {
        self.slot(pane).is_some_and(|slot| slot.take().is_some())
    }
}

/// What can be written into the filter of a pane; empty where it has none.
pub fn how(pane: Pane) -> &'static str {
    match pane {
        Pane::Board => "words  owner:NAME  status:ready  tag:T  !not",
        Pane::Team => "name, role or task  !not",
        Pane::Inbox => "words  from:NAME  to:NAME  !not",
        Pane::Lead | Pane::Todo | Pane::Needs => "",
    }
}

/// The words of a filter, looked for in what a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Vec<Term>);

impl Words {
    /// The words of `text`; what is not finished yet lets everything through.
    pub fn new(text: &str) -> Words {
        let all = terms(text).into_iter();
        Words(all.filter(|term| !term.value.is_empty()).collect())
    }

    /// Whether all words that are wanted are in `hay`, which is in small letters, and none of the others; `keyed` has the
    /// part, in small letters, that a word with that key is looked for in. A key that nobody knows is a part of its word.
    pub fn fit<'a>(&self, hay: &str, keyed: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| {
            let value = term.value.as_str();
            let part = term.key.as_deref().map(|key| (key, keyed(key)));
            let found = match part {
                None => hay.contains(value),
                Some((_, Some(part))) => part.contains(value.trim_start_matches('@')),
                Some((key, None)) => hay.contains(&format!("{key}:{value}")),
            };
            found == (term.sign == Sign::Wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_count_with_and_without_keys() {
        let hay = "alice bob asks std::fs of note:9";
        let keyed = |key: &str| match key {
            "from" => Some("alice"),
            "to" => Some("bob"),
            _ => None,
        };
        let cases = [
            ("", true),
            ("!", true),
            ("from:", true),
            ("ASKS bob", true),
            ("asks carol", false),
            ("asks !carol", true),
            ("!asks", false),
            ("from:ali", true),
            ("from:@alice to:bob", true),
            ("from:bob", false),
            ("!from:bob", true),
            ("std::fs", true),
            // No such key: a word as others are.
            ("note:9", true),
            ("note:8", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Words::new(text).fit(hay, keyed), expected, "{text}");
        }
    }

    #[test]
    fn each_pane_has_its_own_and_others_have_none() {
        let mut filters = Filters::default();
        for pane in Pane::ALL {
            filters.begin(pane);
            let has_one = matches!(pane, Pane::Board | Pane::Team | Pane::Inbox);
            assert_eq!(filters.written(pane).is_some(), has_one, "{pane:?}");
            assert_eq!(how(pane).is_empty(), !has_one, "{pane:?}");
            if let Some(filter) = filters.written(pane) {
                filter.words.insert(pane.title());
            }
        }
        filters.keep(Pane::Team);
        assert_eq!(filters.words(Pane::Team), "Team");
        assert_eq!(filters.written(Pane::Team), None);
        assert!(filters.written(Pane::Inbox).is_some());
        assert!(filters.end(Pane::Inbox) && !filters.end(Pane::Inbox));
        filters.begin(Pane::Inbox);
        filters.keep(Pane::Inbox);
        assert_eq!(filters.of(Pane::Inbox), None, "no words, no filter");
        assert_eq!(filters.words(Pane::Board), "Board");
    }
}
