//! Filters of the board, team and inbox lists: their text and whether it is being typed. `board/filter.rs` defines what
//! the terms mean for tasks. No I/O.

use crate::ui::keymap::pane::Pane;
use crate::ui::widgets::line_input::LineInput;

/// Filter of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    pub words: LineInput,
    /// Whether the text is being typed.
    pub is_typing: bool,
}

/// The filters of all panes that can have one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filters {
    board: Option<Filter>,
    team: Option<Filter>,
    inbox: Option<Filter>,
}

impl Filters {
    /// Returns the filter of a pane, if one is set.
    pub fn of(&self, pane: Pane) -> Option<&Filter> {
        match pane {
            Pane::Board => self.board.as_ref(),
            Pane::Team => self.team.as_ref(),
            Pane::Inbox => self.inbox.as_ref(),
            Pane::Lead | Pane::Todo | Pane::Needs => None,
        }
    }

    /// Returns the slot for a pane's filter; `None` if the pane cannot be filtered.
    pub fn slot(&mut self, pane: Pane) -> Option<&mut Option<Filter>> {
        match pane {
            Pane::Board => Some(&mut self.board),
            Pane::Team => Some(&mut self.team),
            Pane::Inbox => Some(&mut self.inbox),
            Pane::Lead | Pane::Todo | Pane::Needs => None,
        }
    }

    /// Returns the filter of a pane while it is being typed.
    pub fn editing(&mut self, pane: Pane) -> Option<&mut Filter> {
        let filter = self.slot(pane)?.as_mut();
        filter.filter(|f| f.is_typing)
    }

    /// Returns the filter text of a pane; empty if there is no filter.
    pub fn words(&self, pane: Pane) -> &str {
        self.of(pane).map_or("", |f| f.words.text().trim())
    }

    /// Starts typing the filter of a pane; an existing text is edited.
    pub fn start_editing(&mut self, pane: Pane) {
        if let Some(slot) = self.slot(pane) {
            let words = slot.take().map_or_else(LineInput::default, |f| f.words);
            *slot = Some(Filter {
                words,
                is_typing: true,
            });
        }
    }

    /// Finishes typing and keeps the filter of a pane; a blank filter is removed.
    pub fn finish_editing(&mut self, pane: Pane) {
        let Some(slot) = self.slot(pane) else { return };
        let filter = slot.take().filter(|f| !f.words.text().trim().is_empty());
        *slot = filter.map(|f| Filter {
            is_typing: false,
            ..f
        });
    }

    /// Removes the filter of a pane. Returns whether there was one.
    pub fn remove(&mut self, pane: Pane) -> bool {
        self.slot(pane).is_some_and(|slot| slot.take().is_some())
    }
}

/// Returns a syntax hint for the filter of a pane; empty if the pane cannot be filtered.
pub fn syntax_hint(pane: Pane) -> &'static str {
    match pane {
        Pane::Board => "words  owner:NAME  status:ready  tag:T  !word",
        Pane::Team => "name, role or task  !word",
        Pane::Inbox => "words  from:NAME  to:NAME  !word",
        Pane::Lead | Pane::Todo | Pane::Needs => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::terms::FilterTerms;

    #[test]
    fn every_term_must_match_with_or_without_key() {
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
            // Unknown key: a plain word.
            ("note:9", true),
            ("note:8", false),
        ];
        for (text, expected) in cases {
            assert_eq!(
                FilterTerms::new(text).matches(hay, keyed),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn each_filterable_pane_has_its_own_filter() {
        let mut filters = Filters::default();
        for pane in Pane::ALL {
            filters.start_editing(pane);
            let has_one = matches!(pane, Pane::Board | Pane::Team | Pane::Inbox);
            assert_eq!(filters.editing(pane).is_some(), has_one, "{pane:?}");
            assert_eq!(syntax_hint(pane).is_empty(), !has_one, "{pane:?}");
            if let Some(filter) = filters.editing(pane) {
                filter.words.insert(pane.title());
            }
        }
        filters.finish_editing(Pane::Team);
        assert_eq!(filters.words(Pane::Team), "Team");
        assert_eq!(filters.editing(Pane::Team), None);
        assert!(filters.editing(Pane::Inbox).is_some());
        assert!(filters.remove(Pane::Inbox) && !filters.remove(Pane::Inbox));
        filters.start_editing(Pane::Inbox);
        filters.finish_editing(Pane::Inbox);
        assert_eq!(filters.of(Pane::Inbox), None, "no words, no filter");
        assert_eq!(filters.words(Pane::Board), "Board");
    }
}
