//! Draws the cost panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::popup::open;
use crate::ui::popups::costs;
use crate::ui::popups::costs::CostsPopup;
use crate::ui::theme::Theme;
use crate::ui::widgets::scrollbar::Scrollbar;

pub fn draw(app: &App, view: &CostsPopup, theme: &Theme, screen: Rect, buffer: &mut Buffer) {
    let lines = costs::lines(app, view.sort, theme);
    let place = costs::place(screen, view, &lines);
    let selected = view.row(&lines);
    let below = frame::beyond(lines.len(), place.first, place.list.height, theme);
    open(app, "Cost", below, theme, place.area, buffer);
    let bar = Scrollbar::of_list(place.area, place.list, place.first, lines.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    let shown = lines.into_iter().enumerate().skip(place.first);
    for ((at, line), area) in shown.zip(place.list.rows()) {
        let mark = if selected == Some(at) {
            frame::RowHighlight::Selected
        } else {
            frame::RowHighlight::Plain
        };
        frame::row(mark, line.spans, theme, area, buffer);
    }
}
