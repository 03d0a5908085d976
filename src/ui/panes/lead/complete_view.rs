//! Draws the completion list for the first word of a message, directly above the composer, and returns its mouse targets.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::hit::{Hit, listed};
use crate::ui::frame::layout::Layout;
use crate::ui::frame::popup;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::lead::{LeadPane, complete};
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Adds the rows of the list. Its area blocks the targets below.
pub fn targets(pane: &LeadPane, app: &App, layout: &Layout, out: &mut Vec<PlacedPart<Hit>>) {
    let len = complete::candidates(pane, app).len();
    if let Some(place) = complete::popup_layout(pane, layout, len) {
        let rows = listed(place.list, place.first, len);
        out.extend(rows.map(|(at, row)| PlacedPart {
            at,
            what: Hit::CompletionRow(row),
        }));
        out.push(PlacedPart {
            at: place.area,
            what: Hit::Nothing,
        });
    }
}

/// Draws the list if a completion is open.
pub fn draw(pane: &LeadPane, app: &App, theme: &Theme, layout: &Layout, buffer: &mut Buffer) {
    let offers = complete::candidates(pane, app);
    let Some((selected, offer)) = complete::selected(pane, app) else {
        return;
    };
    let Some(place) = complete::popup_layout(pane, layout, offers.len()) else {
        return;
    };
    let title = if offer.words.starts_with('@') {
        "Write to"
    } else {
        "Commands"
    };
    let mut below = frame::position(Some(selected), offers.len(), place.list.height, theme);
    if below.is_empty() {
        let key = app.prefs.keymap.key(Context::Completion, Action::Complete);
        below = vec![Span::styled(format!("{key} completes"), theme.dim)];
    }
    popup::draw_border(title, below, theme, place.area, buffer);
    let bar = Scrollbar::of_list(place.area, place.list, place.first, offers.len());
    frame::scrollbar(bar, theme.title, buffer);
    let first = complete::name_width(&offers);
    for ((at, offer), row) in offers
        .iter()
        .enumerate()
        .skip(place.first)
        .zip(place.list.rows())
    {
        let (mark, style) = if at == selected {
            (frame::RowHighlight::Selected, theme.accent)
        } else {
            (frame::RowHighlight::Plain, theme.text)
        };
        let room = usize::from(row.width).saturating_sub(first + 3);
        let blanks = " ".repeat(first.saturating_sub(width(&offer.words)) + 2);
        let words = vec![
            Span::styled(offer.words.clone(), style),
            Span::raw(blanks),
            Span::styled(fit(&offer.aside, room), theme.dim),
        ];
        let words = popup::emphasised(words, &offer.marked, theme);
        frame::row(mark, words, theme, row, buffer);
    }
}
