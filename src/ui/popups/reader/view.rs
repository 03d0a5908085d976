//! Draws a text that is read.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::Pager;
use crate::ui::frame;
use crate::ui::frame::popup::{open, search};
use crate::ui::popups::reader;
use crate::ui::popups::reader::text_search;
use crate::ui::theme::Theme;
use crate::ui::transcript::VisibleRows;
use crate::ui::widgets::line_input::Searching;
use crate::ui::widgets::scrollbar::Scrollbar;

pub fn read(
    app: &App,
    reader: &Pager,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = reader::rows(app, reader, theme);
    let area = reader::place(screen, reader, lines.len());
    let (list, first) = reader::list(reader, area, lines.len());
    let height = area.height.saturating_sub(2);
    let below = frame::beyond(lines.len(), first, height, theme);
    let title = reader::title(app, reader);
    let inner = open(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, lines.len());
    frame::scrollbar(bar, theme.title, buffer);
    let mut before = None;
    for (line, row) in lines.iter().skip(first).zip(list.rows()) {
        (&line.line).render(row, buffer);
        let entry = line.selects();
        let is_one_of_some = line.entry.is_some() || app.diff.files().len() > 1;
        if entry == Some(reader.row) && reader.searching == Searching::Rest && is_one_of_some {
            if before != entry && line.entry.is_some() {
                buffer.set_string(row.x, row.y, "›", theme.accent);
            }
            buffer.set_style(row, theme.selection);
        }
        before = entry;
    }
    let at = if text_search::is_searching(reader) {
        let found = text_search::search_lines(reader, &lines);
        let drawn = VisibleRows {
            area: list,
            skip: first,
        };
        drawn.highlight(&found.hits, Some(found.current), theme, buffer);
        frame::search_edge(reader.search.text(), found.count(), theme, area, buffer)
    } else if reader.searching == Searching::Typing {
        search(&reader.search, theme, inner, buffer).0
    } else {
        return None;
    };
    (reader.searching == Searching::Typing).then_some(at)
}
