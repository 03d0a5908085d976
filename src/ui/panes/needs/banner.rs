//! The banner: one line that announces the open requests while the pane "Needs you" is hidden.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::model::sentence;
use crate::ui::panes::needs::NeedsPane;
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;

/// Minimum width of a request's subject in the banner, in columns. If there is less room, the subject is omitted.
const ABOUT_LEAST: usize = 12;

impl NeedsPane {
    /// Draws the banner: one row with the heading of the selected request, the number of other requests that need the
    /// user, and the key that shows the request. If there are no others and there is room, the row also contains the
    /// subject of the request.
    pub fn draw_banner(&self, app: &App, theme: &Theme, row: Rect, buffer: &mut Buffer) {
        let Some((_, request)) = self.selected_request(app) else {
            return;
        };
        let more = match app.model.requests.for_user() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let key = app.waiting_key();
        let hint = format!("{key} shows it ");
        let room = usize::from(row.width).saturating_sub(width(&hint) + 2);
        let heading = sentence::heading(
            request,
            &app.model.board,
            room.saturating_sub(width(&more) + 2),
        );
        let text = format!("◆ {heading}{more}");
        let rest = room.saturating_sub(width(&text) + 2);
        let about = sentence::about(request).filter(|_| more.is_empty() && rest >= ABOUT_LEAST);
        let about = about.map_or_else(String::new, |about| fit(&about, rest));
        let gap = if about.is_empty() { "" } else { "  " };
        let taken = width(&about) + gap.len();
        let [text, blanks] = frame::cell(&text, room.min(width(&text)), theme.waiting);
        let behind = " ".repeat(room.saturating_sub(text.width() + blanks.width() + taken));
        Line::from(vec![
            Span::raw(" "),
            text,
            blanks,
            Span::raw(gap),
            Span::styled(about, theme.text),
            Span::raw(behind),
            Span::raw(" "),
            Span::styled(hint, theme.accent),
        ])
        .render(row, buffer);
    }
}
