//! The picker: a popup with a list that the user can search and choose from. Each such popup implements [`Choices`] in
//! a file of its own.

#[cfg(test)]
mod tests;
mod view;

use std::cmp::Reverse;
use std::fmt::Debug;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::ids::RequestId;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, Popup, Targets, TextCursor, TextInput};
pub use crate::ui::frame::pick::PickerRow;
use crate::ui::keymap::{Action, Context};
use crate::ui::text;
use crate::ui::text::fuzzy::{FuzzyPattern, TextSearch};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::{PopupListLayout, centered_rect, inside, whole_or};
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list::{PAGE, first_row, step};

/// Width of a picker, in columns, on a screen that is wide enough. A picker with longer rows is wider.
const WIDTH: u16 = 76;
/// Maximum width of a picker with long rows, in columns.
const WIDTH_MAX: u16 = 120;
/// Number of columns that a picker needs in addition to the two texts of a row: the border, the mark of the selected
/// row, and the blanks between the texts and at the edges.
const BESIDE_TEXTS: usize = 9;
const HEIGHT_MAX: u16 = 20;
/// Minimum number of rows below the search line, so that there is room for the text of an empty picker.
const ROWS_MIN: u16 = 2;
/// Number of rows of a picker around its list: the border, the search line and the blank row below that.
pub const AROUND_ROWS: u16 = 4;

/// The content of a picker: its title and its rows, and what choosing a row does.
pub trait Choices: Debug + 'static {
    /// The value that the user chooses with a row.
    type Item: Debug + Clone + PartialEq + 'static;
    /// The description of the popup that the tour of the demo shows.
    const TIP: &'static str;

    fn title(&self, app: &App) -> String;

    /// Returns all rows, of which the picker shows those that match the search text.
    fn rows(&self, app: &App) -> Vec<PickerRow<Self::Item>>;

    /// Called when the user has chosen `item`. Returns whether the picker then closes or stays open.
    fn choose(&mut self, app: &mut App, item: Self::Item, out: &mut Vec<Effect>) -> Next;

    /// Returns the item that the user can choose by typing `_typed` as the search text, although no row matches that
    /// text. `None` if no item can be chosen this way.
    fn item_of(&self, _typed: &str) -> Option<Self::Item> {
        None
    }

    /// Returns the function that matches the texts of rows against the search text `typed`. Rows with a higher score
    /// are shown first; rows with equal scores keep their order.
    fn search(&self, typed: &str) -> TextSearch {
        let mut pattern = FuzzyPattern::new(typed);
        Box::new(move |text| pattern.find(text))
    }

    /// Returns key contexts whose keys take precedence over those of [`Context::Picker`].
    fn contexts(&self) -> &'static [Context] {
        &[]
    }

    fn area(&self, app: &App, screen: Rect) -> Rect {
        let columns = |row: &PickerRow<_>| text::width(&row.words) + text::width(&row.aside);
        let longest = self.rows(app).iter().map(columns).max().unwrap_or(0);
        let wanted = u16::try_from(longest + BESIDE_TEXTS).unwrap_or(u16::MAX);
        let wanted = wanted.clamp(WIDTH, WIDTH_MAX);
        let width = wanted.min(screen.width.saturating_sub(4));
        // All rows count, so that the picker keeps its height while the user types a search text.
        let rows = u16::try_from(self.rows(app).len()).unwrap_or(u16::MAX);
        let rows = rows.clamp(ROWS_MIN, HEIGHT_MAX);
        centered_rect(
            screen,
            width,
            height(screen, rows + AROUND_ROWS).min(HEIGHT_MAX),
        )
    }

    /// Returns the lines, at most `_columns` columns wide, that are shown below the list while `_item` is selected.
    fn details(&self, _item: &Self::Item, _columns: usize) -> Vec<String> {
        Vec::new()
    }

    /// Returns the label that the hint line shows for the key that chooses `_item`; `None` for the usual label.
    fn accept_label(&self, _item: &Self::Item) -> Option<&'static str> {
        None
    }

    /// Returns whether the panes behind the picker are dimmed.
    fn dims(&self) -> bool {
        true
    }

    /// Returns the text that is shown in place of rows if there are none or none matches the search text `_typed`.
    fn none_matches(&self, _app: &App, _typed: &str) -> String {
        "No matches.".into()
    }

    /// Returns the index of the row to select when an empty list gets its first rows; `None` to select the first row.
    fn first_selected(&self, _app: &App) -> Option<usize> {
        None
    }

    /// Returns the request that the choice concerns, if any. When that request is closed, the picker is closed too.
    fn request(&self) -> Option<&RequestId> {
        None
    }
}

/// Returns the width of a picker with short rows, in columns, including its border.
pub fn width(screen: Rect) -> u16 {
    WIDTH.min(screen.width.saturating_sub(4))
}

/// Returns the height of a picker in rows, including its border and search line: at most `most`, and at most the height
/// of the screen minus 4.
pub fn height(screen: Rect, most: u16) -> u16 {
    screen.height.saturating_sub(4).min(most)
}

/// Returns the area of a picker with `rows` rows, of which at most `most` are visible. The picker is only as high as
/// its rows need, so that much of the screen stays visible.
pub fn low_area(screen: Rect, rows: usize, most: u16) -> Rect {
    let rows = u16::try_from(rows).unwrap_or(u16::MAX).clamp(1, most);
    // The panes behind the picker stay visible. On a narrow screen, the picker takes the whole width, because the
    // strips beside it would be too narrow to read.
    let width = whole_or(screen, width(screen));
    centered_rect(screen, width, height(screen, rows + AROUND_ROWS))
}

#[derive(Debug)]
pub struct Picker<C: Choices> {
    pub choices: C,
    search: LineInput,
    /// The index of the selected row, counted among the rows that match the search.
    pub row: usize,
    /// The item that was selected before the current event.
    remembered: Option<C::Item>,
}

impl<C: Choices> Picker<C> {
    pub fn new(choices: C, row: usize) -> Picker<C> {
        Picker {
            choices,
            search: LineInput::default(),
            row,
            remembered: None,
        }
    }

    /// Returns the rows that match the search, best match first. Without a search text, returns all rows in their
    /// order.
    pub fn rows(&self, app: &App) -> Vec<PickerRow<C::Item>> {
        let mut find = self.choices.search(self.search.text());
        let typed = self.search.text().trim();
        let rows = self.choices.rows(app).into_iter();
        let mut scored: Vec<_> = rows
            .filter_map(|row| {
                let whole = format!("{} {}", row.words, row.aside);
                let fit = find(&whole)?;
                let words = row.words.chars().count();
                let marked = fit.positions.into_iter().filter(|at| *at < words).collect();
                // The name of a slash command comes first if it is what the user has typed. The key `/` is no command.
                let command = typed.strip_prefix('/').unwrap_or(typed);
                let is_command = row
                    .aside
                    .strip_prefix('/')
                    .is_some_and(|name| !name.is_empty() && name.eq_ignore_ascii_case(command));
                Some(((is_command, fit.score), PickerRow { marked, ..row }))
            })
            .collect();
        scored.sort_by_key(|(score, _)| Reverse(*score));
        scored.into_iter().map(|(_, row)| row).collect()
    }

    pub fn selected_item(&self, app: &App) -> Option<C::Item> {
        let row = self.rows(app).into_iter().nth(self.row)?;
        Some(row.item)
    }

    /// Returns the lines below the list, which describe the selected item.
    fn details(&self, app: &App, columns: u16) -> Vec<String> {
        let item = self.selected_item(app);
        item.map_or_else(Vec::new, |item| self.choices.details(&item, columns.into()))
    }

    /// Returns the item that the key for choosing chooses: the selected one, or the one that the user has typed.
    fn accepted_item(&self, app: &App) -> Option<C::Item> {
        let typed = self.search.text().trim();
        let item = self.selected_item(app);
        item.or_else(|| self.choices.item_of(typed))
    }

    /// Returns the layout of the picker for `len` matching rows. They are below the search line and a blank row.
    fn place(&self, app: &App, screen: Rect, len: usize) -> PopupListLayout {
        let area = self.choices.area(app, screen);
        let inside = inside(area);
        let (_, list) = cut_top(inside, 2);
        let details = self.details(app, inside.width).len();
        let details = u16::try_from(details).unwrap_or(u16::MAX);
        let (list, _) = cut_top(list, list.height.saturating_sub(details).max(1));
        PopupListLayout {
            area,
            list,
            first: first_row(len, self.row, list.height),
        }
    }
}

impl<C: Choices> Popup for Picker<C> {
    fn context(&self) -> Context {
        Context::Picker
    }

    fn more_contexts(&self) -> &'static [Context] {
        self.choices.contexts()
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        Some(view::draw(app, self, theme, screen, buffer))
    }

    fn targets(&self, app: &App) -> Targets {
        let len = self.rows(app).len();
        Targets::list(self.place(app, app.size, len), len)
    }

    fn tip(&self, _app: &App) -> String {
        C::TIP.into()
    }

    fn act(&mut self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => {
                self.row = step(self.row, self.rows(app).len(), by, PAGE);
                Next::Stay
            }
            Action::Accept => match self.accepted_item(app) {
                Some(item) => self.choices.choose(app, item, out),
                None => Next::Stay,
            },
            _ => Next::Pass,
        }
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        match action {
            Action::Accept => Some(self.accepted_item(app).is_some()),
            Action::Move(_) => Some(self.rows(app).len() > 1),
            _ => None,
        }
    }

    fn hint(&self, app: &App, action: Action) -> Option<&'static str> {
        let item = self.selected_item(app).filter(|_| action == Action::Accept);
        self.choices.accept_label(&item?)
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.row = row;
    }

    fn dims(&self) -> bool {
        self.choices.dims()
    }

    fn request(&self) -> Option<&RequestId> {
        self.choices.request()
    }

    fn before_event(&mut self, app: &App) {
        self.remembered = self.selected_item(app);
    }

    fn after_event(&mut self, app: &App) {
        let wanted = self.remembered.take();
        if wanted.is_none()
            && self.search.text().is_empty()
            && let Some(row) = self.choices.first_selected(app)
        {
            self.row = row;
            return;
        }
        let rows = self.rows(app);
        let at = rows
            .iter()
            .position(|row| Some(&row.item) == wanted.as_ref());
        self.row = at.unwrap_or(self.row.min(rows.len().saturating_sub(1)));
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        Some(TextInput::Line(&mut self.search))
    }

    fn text_changed(&mut self, _app: &App) {
        self.row = 0;
    }
}
