//! Draws a comment to a request.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::{CommentDialog, CommentStage, Popup};
use crate::ui::frame;
use crate::ui::frame::popup::open;
use crate::ui::model::sentence;
use crate::ui::popups::buttons::buttons;
use crate::ui::popups::{confirm, text_areas};
use crate::ui::text::fit;
use crate::ui::theme::Theme;
use crate::ui::widgets::composer::TextAreaSize;
use crate::ui::widgets::cut::cut_top;

pub fn write(
    app: &App,
    popup: &Popup,
    comment: &CommentDialog,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let place = confirm::place(app, screen, popup);
    let title = confirm::comment_title(app, comment);
    let inner = open(app, title, Vec::new(), theme, place.area, buffer);
    let text = text_areas::comment(app, popup);
    if text.is_empty() {
        return None;
    }
    let (head, _) = cut_top(inner, 1);
    let about = app.model.requests.get(&comment.request);
    let about = about.map_or_else(String::new, |request| {
        sentence::heading(request, &app.model.board, usize::from(head.width))
    });
    Line::styled(fit(&about, usize::from(head.width)), theme.dim).render(head, buffer);
    buttons(app, popup, place.buttons, theme, buffer);
    let window = comment.text.window(TextAreaSize::from(text));
    for (line, row) in window.rows.iter().zip(text.rows()) {
        Line::styled(line.as_str(), theme.text).render(row, buffer);
    }
    frame::text_beyond(window.overflow, theme, place.area, buffer);
    let at = Position::new(text.x + window.cursor.1, text.y + window.cursor.0);
    (comment.stage == CommentStage::Writing).then_some(at)
}
