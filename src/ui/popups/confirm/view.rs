//! Draws a question.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::{Confirmation, Popup};
use crate::ui::frame::popup::open;
use crate::ui::popups::buttons::buttons;
use crate::ui::popups::confirm;
use crate::ui::theme::Theme;

pub fn confirm(
    app: &App,
    popup: &Popup,
    question: &Confirmation,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) {
    let place = confirm::place(app, screen, popup);
    let title = confirm::question_title(question);
    let inner = open(app, title, Vec::new(), theme, place.area, buffer);
    let lines = confirm::lines(app, question, screen);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        Line::styled(line, theme.text).render(row, buffer);
    }
    buttons(app, popup, place.buttons, theme, buffer);
}
