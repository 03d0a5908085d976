//! Draws a pager.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame;
use crate::ui::frame::popup::open;
use crate::ui::popups::pager::{Page, Pager};
use crate::ui::theme::Theme;
use crate::ui::transcript::VisibleRows;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Draws a pager. Returns the position of the text cursor while the user types the search text.
pub fn draw<P: Page>(
    app: &App,
    pager: &Pager<P>,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> TextCursor {
    let rows = pager.rows(app, theme);
    let area = Pager::<P>::area(screen, rows.len());
    let (list, first) = pager.list(area, rows.len());
    let height = area.height.saturating_sub(2);
    let below = frame::beyond(rows.len(), first, height, theme);
    open(app, &pager.page.title(app), below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, rows.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    for (row, at) in rows.iter().skip(first).zip(list.rows()) {
        (&row.line).render(at, buffer);
        if !pager.is_typing && pager.page.is_current(row) {
            buffer.set_style(at, theme.selection);
        }
    }
    if !pager.is_searching() {
        return None;
    }
    let found = pager.matches(&rows);
    let drawn = VisibleRows {
        area: list,
        skip: first,
    };
    drawn.highlight(&found.hits, Some(found.current), theme, buffer);
    let words = pager.search.text();
    let at = frame::search_edge(words, found.count(), theme, area, buffer);
    pager.is_typing.then_some(at)
}
