//! Draws the completion list directly above the composer, and returns its mouse targets.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::hit::{Hit, visible_rows};
use crate::ui::frame::layout::Layout;
use crate::ui::frame::popup;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::lead::complete::{Choice, Completion};
use crate::ui::panes::lead::{LeadPane, complete, files, offers};
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Adds the rows of the completion list as mouse targets. The area of the list blocks the targets of the panes that the
/// list covers.
pub fn targets(pane: &LeadPane, app: &App, layout: &Layout, out: &mut Vec<PlacedPart<Hit>>) {
    let len = complete::candidates(pane, app).len();
    if let Some(place) = complete::popup_layout(pane, layout, len) {
        let rows = visible_rows(place.list, place.first, len);
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

/// Draws the completion list if there are completions. If there are none yet, because files are still being read or a
/// server is not connected, draws a note instead.
pub fn draw(pane: &LeadPane, app: &App, theme: &Theme, layout: &Layout, buffer: &mut Buffer) {
    let offers = complete::candidates(pane, app);
    let of_server = offers::note(app);
    let is_waiting = of_server.is_some() || files::is_reading(app);
    let note = of_server.or_else(|| files::note(app));
    let Some((selected, offer)) = complete::selected_completion(pane, app) else {
        let is_dismissed = pane.completion == Completion::Dismissed;
        if let Some(note) = note.filter(|_| !is_dismissed && is_waiting) {
            draw_note(pane, &note, theme, layout, buffer);
        }
        return;
    };
    let Some(place) = complete::popup_layout(pane, layout, offers.len()) else {
        return;
    };
    let is_name = |offer: &complete::CompletionRow| offer.item == Choice::Word;
    let title = match (offer.words.starts_with('@'), offers.iter().any(is_name)) {
        (false, _) => "Commands",
        (true, true) if offers.iter().all(is_name) => "Write to",
        (true, false) => "Attach",
        (true, true) => "Write to or attach",
    };
    let mut below = frame::position(Some(selected), offers.len(), place.list.height, theme);
    if let Some(note) = note {
        below = vec![Span::styled(note, theme.dim)];
    } else if below.is_empty() {
        let key = app.prefs.keymap.key(Context::Completion, Action::Complete);
        below = vec![Span::styled(format!("{key} completes"), theme.dim)];
    }
    popup::draw_border(title, below, theme, place.area, buffer);
    let bar = Scrollbar::of_list(place.area, place.list, place.first, offers.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
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
        let mut offer = offer.clone();
        match offer.item {
            Choice::File => files::shorten(&mut offer, usize::from(row.width).saturating_sub(2)),
            Choice::Resource | Choice::Start(_) => files::shorten(&mut offer, complete::NAMES_MAX),
            Choice::Run(_) | Choice::Word => {}
        }
        let name = width(&offer.words);
        let room = usize::from(row.width).saturating_sub(first.max(name) + 4);
        let blanks = " ".repeat(first.saturating_sub(name) + 2);
        let words = vec![
            Span::styled(offer.words.clone(), style),
            Span::raw(blanks),
            Span::styled(fit(&offer.aside, room), theme.dim),
        ];
        let words = popup::underline_chars(words, &offer.marked, theme);
        frame::row(mark, words, theme, row, buffer);
    }
}

/// Draws the completion list with only a note in it, for example that files are being read.
fn draw_note(pane: &LeadPane, note: &str, theme: &Theme, layout: &Layout, buffer: &mut Buffer) {
    let Some(place) = complete::popup_layout(pane, layout, 1) else {
        return;
    };
    popup::draw_border("Attach", Vec::new(), theme, place.area, buffer);
    let words = vec![Span::styled(note.to_string(), theme.dim)];
    frame::row(frame::RowHighlight::Plain, words, theme, place.list, buffer);
}
