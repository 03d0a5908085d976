//! The help: all key bindings, those for everyday use first. The user can filter them and run the selected one.

mod rows;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::hit::Hit;
use crate::ui::app::popup::{Copied, Next, Popup, Targets, TextCursor, TextInput, open_once};
use crate::ui::frame;
use crate::ui::frame::elsewhere;
use crate::ui::frame::popup::{open as open_frame, search};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::{Action, Context};
pub use crate::ui::popups::help::rows::{EntryEffect, HelpEntry};
use crate::ui::popups::help::rows::{HelpRow, reveal, rows, step};
use crate::ui::popups::pager;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

#[derive(Debug)]
pub struct HelpPopup {
    /// The key contexts that were in effect when the help was opened.
    contexts: Vec<Context>,
    /// Number of rows that are scrolled off the top of the help.
    scroll: usize,
    /// The index of the selected entry among the entries that match the filter.
    pub selected: usize,
    filter: LineInput,
    /// Whether the user is typing the filter.
    is_typing: bool,
}

/// The rows of the help that match the filter, and the visible part: its first row and its height in rows.
struct VisibleHelp {
    rows: Vec<HelpRow>,
    first: usize,
    height: usize,
}

/// Opens the help. The keys of `contexts` are listed first.
pub fn open(app: &mut App, contexts: Vec<Context>) {
    let help = HelpPopup {
        contexts,
        scroll: 0,
        selected: 0,
        filter: LineInput::default(),
        is_typing: false,
    };
    open_once(app, help);
}

impl HelpPopup {
    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<HelpRow> {
        rows(&app.prefs, &self.contexts, &self.filter, width, theme)
    }

    /// Returns the area for the rows in a popup that covers `area`, and the index of the first visible row. `len` is
    /// the number of rows.
    fn list(&self, area: Rect, len: usize) -> (Rect, usize) {
        let inside = area::inside(area);
        let above = u16::from(self.is_typing).min(inside.height);
        let list = Rect {
            y: inside.y + above,
            height: inside.height - above,
            ..inside
        };
        (list, pager::first_line(self.scroll, len, list.height))
    }

    fn visible(&self, app: &App) -> VisibleHelp {
        let rows = self.rows(app, pager::text_width(app.size), &Theme::default());
        let (list, first) = self.list(pager::area(app.size), rows.len());
        VisibleHelp {
            rows,
            first,
            height: list.height.into(),
        }
    }

    fn scroll_by(&mut self, app: &App, by: Scroll) {
        let seen = self.visible(app);
        self.selected = step(&seen.rows, self.selected, by, seen.height);
        self.scroll = reveal(&seen.rows, self.selected, seen.first, seen.height);
    }

    fn end_filter(&mut self) {
        (self.scroll, self.selected) = (0, 0);
        self.is_typing = false;
        self.filter = LineInput::default();
    }

    /// Returns the entry with index `at` among the entries that match the filter; `None` if there are fewer entries.
    pub fn entry(&self, app: &App, at: usize) -> Option<HelpEntry> {
        let seen = self.visible(app);
        let mut entries = seen.rows.iter().filter_map(|row| row.entry);
        entries.find(|entry| entry.at == at)
    }

    /// Closes the help and runs the action of the selected entry. If the key of the entry did not work where the help
    /// was opened, or the entry does not describe a key, the help stays open and a status message says where or how to
    /// use the entry.
    fn run(&self, app: &mut App) -> Next {
        let Some(entry) = self.entry(app, self.selected) else {
            return Next::Stay;
        };
        let words = match entry.effect {
            EntryEffect::Here(action) => return Next::CloseAndRun(action),
            EntryEffect::There(context, words) => elsewhere::pane_hint(&app.prefs, context, words)
                .map_or_else(
                    || format!("Not available here. Works in: {}.", context.heading()),
                    |place| format!("Not available here. Works in {place}"),
                ),
            EntryEffect::Type => "Type this in the composer; it is not a key.".into(),
            EntryEffect::Symbol => "This is a symbol on the screen, not a key.".into(),
        };
        app.say(words);
        Next::Stay
    }
}

impl Popup for HelpPopup {
    fn context(&self) -> Context {
        if self.is_typing {
            Context::Filter
        } else {
            Context::Reader
        }
    }

    fn draw(&self, app: &App, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> TextCursor {
        let rows = self.rows(app, pager::text_width(app.size), theme);
        let area = pager::area(screen);
        let (list, first) = self.list(area, rows.len());
        let height = area.height.saturating_sub(2);
        let below = frame::beyond(rows.len(), first, height, theme);
        let inner = open_frame(app, "Keys", below, theme, area, buffer);
        let bar = Scrollbar::of_list(area, list, first, rows.len());
        frame::scrollbar(bar, theme.title, theme, buffer);
        let mut before = None;
        for (row, at) in rows.iter().skip(first).zip(list.rows()) {
            (&row.line).render(at, buffer);
            let entry = row.entry.map(|entry| entry.at);
            if entry == Some(self.selected) && !self.is_typing {
                if before != entry {
                    buffer.set_string(at.x, at.y, "›", theme.accent);
                }
                buffer.set_style(at, theme.selection);
            }
            before = entry;
        }
        self.is_typing
            .then(|| search(&self.filter, theme, inner, buffer).0)
    }

    fn targets(&self, app: &App) -> Targets {
        let seen = self.visible(app);
        let area = pager::area(app.size);
        let (list, first) = self.list(area, seen.rows.len());
        let entries = seen.rows.iter().skip(first).zip(list.rows());
        let entries = entries.filter_map(|(row, at)| match row.entry? {
            HelpEntry {
                at: entry,
                effect: EntryEffect::Here(_),
            } => Some(PlacedPart {
                at,
                what: Hit::PopupPart(entry),
            }),
            _ => None,
        });
        Targets {
            area,
            inside: entries.collect(),
            bar: Scrollbar::of_list(area, list, first, seen.rows.len()),
            beside: Hit::BesidePopup,
        }
    }

    fn tip(&self, _app: &App) -> String {
        "All keys, those for everyday use first".into()
    }

    fn act(&mut self, app: &mut App, action: Action, _out: &mut Vec<Effect>) -> Next {
        match action {
            Action::Move(by) => self.scroll_by(app, by),
            Action::Filter => self.is_typing = true,
            Action::Accept if self.is_typing => self.is_typing = false,
            Action::Accept => return self.run(app),
            Action::Back if self.is_typing => self.end_filter(),
            Action::NextMatch | Action::PrevMatch => pager::tell_how_to_search(app),
            _ => return Next::Pass,
        }
        Next::Stay
    }

    fn press(&mut self, app: &mut App, part: usize, _at: Position) -> Next {
        self.selected = part;
        self.run(app)
    }

    fn jump(&mut self, app: &App, _first: usize, row: usize) {
        let seen = self.visible(app);
        let below = seen.rows.iter().skip(row).find_map(|row| row.entry);
        let entry = below.or_else(|| seen.rows.iter().rev().find_map(|row| row.entry));
        if let Some(entry) = entry {
            self.selected = entry.at;
            self.scroll = reveal(&seen.rows, self.selected, seen.first, seen.height);
        }
    }

    fn is_text(&self) -> bool {
        true
    }

    fn offers(&self, _app: &App, action: Action) -> Option<bool> {
        match action {
            Action::NextMatch | Action::PrevMatch => Some(false),
            Action::Filter | Action::Accept => Some(true),
            _ => None,
        }
    }

    fn hint(&self, _app: &App, action: Action) -> Option<&'static str> {
        match action {
            _ if self.is_typing => None,
            Action::Move(Scroll::LineDown) => Some("select"),
            Action::Accept => Some("run the action"),
            _ => None,
        }
    }

    fn clipboard_text(&self, app: &App) -> Copied {
        let width = usize::from(pager::area(app.size).width.max(1));
        let rows = self.rows(app, width, &Theme::default());
        let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
        Copied::Text("the text".into(), lines.join("\n"))
    }

    fn text_input(&mut self) -> Option<TextInput<'_>> {
        let filter = &mut self.filter;
        self.is_typing.then_some(TextInput::Line(filter))
    }

    fn text_changed(&mut self, _app: &App) {
        (self.scroll, self.selected) = (0, 0);
    }
}
