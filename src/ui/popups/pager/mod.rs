//! The pager: a popup with a text that the user can scroll and search. Each such popup implements [`Page`] in a folder
//! of its own.

mod feature;
pub(in crate::ui) mod search;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod view;

use std::fmt::Debug;

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::ui::app::popup::{Copied, Next};
use crate::ui::app::{App, Preferences};
use crate::ui::diff::{FileMark, PageRow};
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::{Action, Context};
use crate::ui::popups::pager::search::{SearchResults, search_rows, tell_match};
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::transcript::MatchStep;
use crate::ui::widgets::area::{self, centered_rect, height_with_border};
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list;

const WIDTH_MAX: u16 = 120;

const NO_MATCH: &str = "No matches in this text.";

/// The content of a pager: its title, its text and, optionally, its sections.
pub trait Page: Debug + 'static {
    /// The description of the popup that the tour of the demo shows.
    const TIP: &'static str;

    fn title(&self, app: &App) -> String;

    /// Returns the rows of the text, at most `width` columns wide.
    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow>;

    /// Returns what the action `Copy` puts on the clipboard; `None` to copy the whole text of the page.
    fn clipboard_text(&self) -> Option<Copied> {
        None
    }

    /// Returns the ages, such as `5m`, that the page shows now or may show later. When one of them changes, the screen is
    /// drawn again.
    fn ages(&self, _app: &App) -> Vec<ShownAge> {
        Vec::new()
    }

    /// Returns key contexts whose keys take precedence over those of [`Context::Reader`].
    fn contexts(&self) -> &'static [Context] {
        &[]
    }

    /// Returns whether an action of [`Page::contexts`] is not available on the page. Its key then only shows a message
    /// that says so.
    fn refuses(&self, _action: Action) -> bool {
        false
    }

    /// Returns whether the page has sections, such as the files of a diff. One of them is the current section.
    fn has_sections(&self) -> bool {
        false
    }

    /// Called after scrolling: makes the section that contains the row with index `_line` the current one. `_line` is the
    /// number of rows if the end of the text is visible.
    fn select_section(&mut self, _rows: &[PagerRow], _line: usize) {}

    /// Returns whether the row is the heading of the current section.
    fn is_current(&self, _row: &PagerRow) -> bool {
        false
    }

    /// Returns the index of the first row of the section to which `_action` leads, for example the next file. If there
    /// is no such section, shows a status message and returns `None`.
    fn section(&self, _app: &mut App, _action: Action, _rows: &[PagerRow]) -> Option<usize> {
        None
    }

    /// Returns whether there is a section to which `_action` leads; `None` if `_action` does not move between sections.
    fn has_section(&self, _action: Action) -> Option<bool> {
        None
    }

    /// Returns the index, from 0, of the section to which a click on this row scrolls. `None` if a click on the row has
    /// no effect.
    fn part(&self, _row: &PagerRow) -> Option<usize> {
        None
    }

    /// Returns the index in `_rows`, from 0, of the first row of section `_part`, a value that [`Page::part`] has returned.
    /// `None` if `_rows` has no such section.
    fn line_of_part(&self, _part: usize, _rows: &[PagerRow]) -> Option<usize> {
        None
    }

    /// Returns whether the page is a list of items, one of which is selected.
    fn has_items(&self, _app: &App) -> bool {
        false
    }

    /// Selects another item of a page that is a list of items, for the scroll command `_by`. Returns `false` if the page
    /// has no items; the command then scrolls the text.
    fn select_item(&mut self, _app: &App, _by: Scroll) -> bool {
        false
    }

    /// Does what the selected item recommends, and returns what happens to the pager. `None` if no item is selected or
    /// it recommends nothing; the pager then closes.
    fn open_item(&mut self, _app: &mut App) -> Option<Next> {
        None
    }

    /// Returns the label of [`Page::open_item`] for the hint line; `None` if that would return `None`.
    fn item_label(&self, _app: &App) -> Option<&'static str> {
        None
    }

    /// Returns the action of `_key` if the text of the page recommends this key to the user and the pager does not bind
    /// it; otherwise `None`.
    fn recommended_action(&self, _prefs: &Preferences, _key: &str) -> Option<Action> {
        None
    }

    /// Called before each event while the pager is the topmost popup. Remembers the item that the page shows, because the
    /// event may change its position in a list.
    fn before_event(&mut self, _app: &App) {}

    /// Called after each event while the pager is the topmost popup. Makes the page show the item that
    /// [`Page::before_event`] has remembered.
    fn after_event(&mut self, _app: &App) {}
}

/// A row of a pager's text, with data for the search and for moving between files.
#[derive(Debug, Clone, PartialEq)]
pub struct PagerRow {
    pub line: Line<'static>,
    /// The number of spans at the start of the row that are decoration, such as line numbers, signs and continuation
    /// marks. The search skips these spans.
    pub margin: usize,
    /// The role of the row when the user moves between the files of a diff; `None` if it has none.
    pub file_mark: Option<FileMark>,
    /// The index of the item to which the row belongs, on a page that is a list of items; otherwise `None`.
    pub item: Option<usize>,
}

impl From<Line<'static>> for PagerRow {
    fn from(line: Line<'static>) -> PagerRow {
        PagerRow {
            line,
            margin: 0,
            file_mark: None,
            item: None,
        }
    }
}

impl From<PageRow> for PagerRow {
    fn from(
        PageRow {
            row,
            file_mark: spot,
        }: PageRow,
    ) -> PagerRow {
        PagerRow {
            margin: row.margin,
            file_mark: spot,
            ..PagerRow::from(Line::from(row.spans))
        }
    }
}

/// Converts lines to rows that have no decoration, so that the search covers the whole of each line.
pub fn text_rows(lines: Vec<Line<'static>>) -> Vec<PagerRow> {
    lines.into_iter().map(PagerRow::from).collect()
}

#[derive(Debug)]
pub struct Pager<P> {
    pub page: P,
    /// Number of rows that are scrolled off the top.
    pub scroll: usize,
    pub search: LineInput,
    /// Whether the user is typing the search text.
    pub is_typing: bool,
    /// The index of the current match, from 0. If it is greater than the index of the last match, the last match is the
    /// current one.
    current: usize,
    /// The value of `scroll` when the user began to type the search text.
    origin: usize,
}

/// The rows of a text and the visible part: the index of its first row and its height in rows.
struct PagerRows {
    rows: Vec<PagerRow>,
    first: usize,
    height: usize,
}

/// Returns the largest area that a pager can cover. A pager with a short text covers fewer rows.
pub fn area(screen: Rect) -> Rect {
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = screen.height.saturating_sub(4).min(40);
    centered_rect(screen, width, height)
}

/// Returns the maximum width of a row in a pager, in columns: the width of the area inside the border.
pub fn text_width(screen: Rect) -> usize {
    area(screen).width.saturating_sub(4).max(1).into()
}

/// Returns the index of the first visible row for the scroll position `scroll`, in a pager with `height` rows inside
/// its border and a text of `len` rows.
pub fn first_line(scroll: usize, len: usize, height: u16) -> usize {
    scroll.min(len.saturating_sub(height.into()))
}

impl<P: Page> Pager<P> {
    pub fn new(page: P) -> Pager<P> {
        Pager {
            page,
            scroll: 0,
            search: LineInput::default(),
            is_typing: false,
            current: 0,
            origin: 0,
        }
    }

    /// Returns whether a search is active or the user is typing its text.
    pub fn is_searching(&self) -> bool {
        self.is_typing || !self.search.text().is_empty()
    }

    fn rows(&self, app: &App, theme: &Theme) -> Vec<PagerRow> {
        self.page.rows(app, text_width(app.size), theme)
    }

    /// Returns the area of a pager whose text has `lines` rows. The pager is at most as high as its text needs.
    fn area(screen: Rect, lines: usize) -> Rect {
        let most = area(screen);
        centered_rect(
            screen,
            most.width,
            height_with_border(lines).min(most.height),
        )
    }

    /// Returns the area for the text in a pager that covers `area`, and the index of the first visible row. `len` is
    /// the number of rows of the text.
    fn list(&self, area: Rect, len: usize) -> (Rect, usize) {
        let list = area::inside(area);
        (list, first_line(self.scroll, len, list.height))
    }

    fn visible(&self, app: &App) -> PagerRows {
        let rows = self.rows(app, &Theme::default());
        let area = Self::area(app.size, rows.len());
        let (list, first) = self.list(area, rows.len());
        PagerRows {
            rows,
            first,
            height: list.height.into(),
        }
    }

    /// Returns the matches in `rows`; none while no search is active.
    fn matches(&self, rows: &[PagerRow]) -> SearchResults {
        search_rows(self.search.text(), self.current, rows)
    }

    fn scroll_by(&mut self, app: &App, by: Scroll) {
        if self.page.select_item(app, by) {
            return self.show_current(app);
        }
        let lines = self.rows(app, &Theme::default()).len();
        let page = usize::from(area(app.size).height.saturating_sub(2)).max(1);
        let most = lines.saturating_sub(page);
        let before = self.scroll;
        self.scroll = list::step(before.min(most), most + 1, by, page);
        if self.scroll != before {
            self.update_section(app);
        }
    }

    /// Scrolls as little as possible so that all rows of the current item are visible.
    fn show_current(&mut self, app: &App) {
        let seen = self.visible(app);
        let is_current = |row: &PagerRow| self.page.is_current(row);
        let first = seen.rows.iter().position(is_current);
        let last = seen.rows.iter().rposition(is_current);
        let (Some(first), Some(last)) = (first, last) else {
            return;
        };
        let least = (last + 1).saturating_sub(seen.height);
        self.scroll = seen.first.max(least).min(first);
    }

    /// Called after scrolling. Makes the section at the top of the visible part the current one or, if the end of the
    /// text is visible, the last section.
    fn update_section(&mut self, app: &App) {
        if !self.page.has_sections() {
            return;
        }
        let seen = self.visible(app);
        let is_at_end = seen.first > 0 && seen.first + seen.height >= seen.rows.len();
        let line = if is_at_end {
            seen.rows.len()
        } else {
            seen.first
        };
        self.page.select_section(&seen.rows, line);
    }

    /// Scrolls so that the row with index `line` is at the top, as far as the length of the text allows, and makes the
    /// section of this row the current one.
    fn scroll_to(&mut self, line: usize, seen: &PagerRows) {
        self.page.select_section(&seen.rows, line);
        self.scroll = line.min(seen.rows.len().saturating_sub(seen.height));
    }

    /// Scrolls to a match, and makes this match and its section the current ones. `choose` selects the match: it
    /// receives all matches and the index of the first visible row, and returns the index of a match and the
    /// [`MatchStep`] that led to it.
    ///
    /// Returns that [`MatchStep`]. Changes nothing and returns [`MatchStep::NoMatch`] if there are no matches or
    /// `choose` returns `None`.
    fn go_to(
        &mut self,
        app: &App,
        choose: impl FnOnce(&SearchResults, usize) -> Option<(usize, MatchStep)>,
    ) -> MatchStep {
        let seen = self.visible(app);
        let found = self.matches(&seen.rows);
        let chosen = choose(&found, seen.first).filter(|_| !found.hits.is_empty());
        let Some((nth, step)) = chosen else {
            return MatchStep::NoMatch;
        };
        let line = found.line(nth);
        self.scroll = if (seen.first..seen.first + seen.height).contains(&line) {
            seen.first
        } else {
            // Shows the match a third of the page below the top, so that the text before it is visible too.
            let most = seen.rows.len().saturating_sub(seen.height);
            line.saturating_sub(seen.height / 3).min(most)
        };
        self.current = nth;
        self.page.select_section(&seen.rows, line);
        step
    }

    /// Opens the search field, which contains the previous search text.
    fn begin_search(&mut self) {
        self.is_typing = true;
        self.origin = self.scroll;
    }

    /// Closes the search field. A blank search text ends the search; otherwise, the search stays active, and if nothing
    /// matches, a status message says so.
    fn finish_search_input(&mut self, app: &mut App) {
        self.is_typing = false;
        if self.search.text().trim().is_empty() {
            self.search = LineInput::default();
        } else if self.go_to(app, |found, _| Some((found.current, MatchStep::Moved)))
            == MatchStep::NoMatch
        {
            app.say(NO_MATCH);
        }
    }

    /// Ends the search. If the user was still typing the search text, scrolls back to where the search began.
    fn end_search(&mut self) {
        if self.is_typing {
            self.scroll = self.origin;
        }
        self.is_typing = false;
        self.search = LineInput::default();
    }

    /// Goes to the next or previous match. The search continues at the other end of the text. If no search is active, a
    /// status message names the key that starts one.
    fn next_match(&mut self, app: &mut App, way: Way) {
        if !self.is_searching() {
            return tell_how_to_search(app);
        }
        let step = self.go_to(app, |found, _| {
            let last = found.hits.len().checked_sub(1)?;
            Some(match way {
                Way::Forward if found.current == last => (0, MatchStep::Wrapped),
                Way::Forward => (found.current + 1, MatchStep::Moved),
                Way::Back if found.current == 0 => (last, MatchStep::Wrapped),
                Way::Back => (found.current - 1, MatchStep::Moved),
            })
        });
        tell_match(app, step, way, NO_MATCH);
    }

    fn accept(&mut self, app: &mut App) -> Next {
        if !self.is_typing {
            return self.page.open_item(app).unwrap_or(Next::Run(Action::Back));
        }
        self.finish_search_input(app);
        Next::Stay
    }
}

pub fn tell_how_to_search(app: &mut App) {
    let key = app.prefs.keymap.key(Context::Reader, Action::Filter);
    app.say(format!("Press {key} to search."));
}
