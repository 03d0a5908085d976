//! The search in the user's earlier messages.

use ratatui::layout::Rect;

use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::input::SavedHistory;
use crate::ui::app::popup::{Next, open_once};
use crate::ui::keymap::Context;
use crate::ui::keymap::pane::Focus;
use crate::ui::popups::picker::{Choices, Picker, PickerRow, low_area};
use crate::ui::text::fuzzy::{FuzzyMatch, TextSearch};

const ROWS_MAX: u16 = 12;

/// The content of the picker: the messages of this session and of earlier ones, newest first.
#[derive(Debug)]
pub struct HistoryChoices;

pub fn open(app: &mut App) {
    open_once(app, Picker::new(HistoryChoices, 0));
}

impl Choices for HistoryChoices {
    type Item = String;

    const TIP: &'static str = "Type to search earlier messages";

    fn title(&self, _app: &App) -> String {
        "Earlier messages".into()
    }

    fn rows(&self, app: &App) -> Vec<PickerRow<String>> {
        let mut out: Vec<PickerRow<String>> = Vec::new();
        for text in app.input.composer.history() {
            if !out.iter().any(|row| row.item == *text) {
                out.push(PickerRow::new(one_line(text), String::new(), text.clone()));
            }
        }
        out
    }

    /// Returns a function that finds `typed` as a substring, regardless of case and without fuzzy matching. The positions of a
    /// match are character indices. All matches get the same score, so that the newest message stays first.
    fn search(&self, typed: &str) -> TextSearch {
        let lower = |text: &str| -> Vec<char> {
            let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
            text.chars().map(lower).collect()
        };
        let typed = lower(typed);
        Box::new(move |text| {
            let at = match typed.len() {
                0 => 0,
                len => lower(text).windows(len).position(|part| part == typed)?,
            };
            Some(FuzzyMatch {
                score: 0,
                positions: (at..at + typed.len()).collect(),
            })
        })
    }

    fn choose(&mut self, app: &mut App, text: String, _out: &mut Vec<Effect>) -> Next {
        app.input.composer.recall(&text);
        app.focus = Focus::Composer;
        Next::Close
    }

    fn area(&self, app: &App, screen: Rect) -> Rect {
        low_area(screen, self.rows(app).len(), ROWS_MAX)
    }

    fn none_matches(&self, app: &App, typed: &str) -> String {
        match app.input.history {
            _ if !typed.is_empty() => "No matches.".into(),
            SavedHistory::Unread | SavedHistory::Requested { .. } => "Loading messages…".into(),
            SavedHistory::Loaded => "You have sent no message in this project yet.".into(),
        }
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::History]
    }
}
