//! Draws a picker.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::domain::text::count_noun;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::popup::{open, search, underline_chars};
use crate::ui::popups::picker::{Choices, Picker};
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::widgets::area::PopupListLayout;
use crate::ui::widgets::scrollbar::Scrollbar;

pub fn draw<C: Choices>(
    app: &App,
    picker: &Picker<C>,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Position {
    let rows = picker.rows(app);
    let PopupListLayout { area, list, first } = picker.place(app, screen, rows.len());
    let title = picker.choices.title(app);
    let below = frame::position(Some(picker.row), rows.len(), list.height, theme);
    let inner = open(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, rows.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    let (cursor, _) = search(&picker.search, theme, inner, buffer);
    if rows.is_empty() {
        let typed = picker.search.text().trim();
        let words = picker.choices.none_matches(app, typed);
        for (line, row) in wrap(&words, usize::from(list.width))
            .iter()
            .zip(list.rows())
        {
            Line::styled(line.as_str(), theme.dim).render(row, buffer);
        }
    }
    for ((at, row), place) in rows.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = usize::from(place.width).saturating_sub(2);
        let (mark, style) = if at == picker.row {
            (frame::RowHighlight::Selected, theme.accent)
        } else {
            (frame::RowHighlight::Plain, theme.text)
        };
        // Two blanks, because the text at the right may begin with a word.
        let aside = match row.aside.as_str() {
            "" => String::new(),
            aside => format!(" {aside}"),
        };
        let spans = frame::sides(&row.words, style, &aside, theme.dim, columns);
        let spans = underline_chars(spans, &row.marked, theme);
        frame::row(mark, spans, theme, place, buffer);
    }
    let below = Rect {
        y: list.bottom(),
        height: inner.bottom().saturating_sub(list.bottom()),
        ..list
    };
    let details = picker.details(app, list.width);
    let shown = usize::from(below.height);
    for ((at, line), row) in details.iter().enumerate().zip(below.rows()) {
        let is_cut = at + 1 == shown && details.len() > shown;
        if is_cut {
            let more = format!("… {}", count_noun(details.len() - at, "more line"));
            Line::styled(more, theme.dim).render(row, buffer);
        } else {
            Line::styled(line.as_str(), theme.text).render(row, buffer);
        }
    }
    cursor
}
