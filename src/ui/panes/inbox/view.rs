//! Draws the inbox: the messages between agents and their delivery steps.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::domain::mail::MailKind;
use crate::domain::text::clip;
use crate::protocol::event::DeliveryState;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::{RowHighlight, Titles, layout as frame_layout};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::messages::{MessageStatus, TrackedMessage};
use crate::ui::model::{sentence, style};
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::inbox::InboxPane;
use crate::ui::text::{display_name, fit, fit_name, format_time, pad, width, wrap_first_lines};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum number of free rows below the list for the text of the selected message: a separator and two rows of text.
const PREVIEW_MIN: u16 = 3;
/// Approximate width of everything in a row except the message text, in columns: the time, the route and the delivery
/// status. A message that fits into the rest of its row is not repeated below the list.
const SHORT: usize = 36;
/// Minimum number of columns that a row must have for the text and the delivery status of its message, so that the
/// status is shown as a symbol and a word. A row with fewer columns shows only the symbol.
const STATUS_WORD_FROM: usize = 29;

const PLACEHOLDER: &str =
    "No messages yet. Messages between agents appear here; @name in the composer sends one.";

/// Draws the messages, newest last.
pub fn draw(pane: &InboxPane, app: &App, area: Rect, canvas: PaneCanvas<'_>) {
    let PaneCanvas {
        theme,
        buffer,
        is_named_above,
        ..
    } = canvas;
    let numbers = pane.message_numbers(app);
    let messages: Vec<&TrackedMessage> = numbers
        .iter()
        .filter_map(|n| app.model.messages.get(*n))
        .collect();
    let (selected, whole) = pane.selected_message(app).unzip();
    let (filter, list) = pane.filter.areas(frame_layout::inside(area));
    let height = list.height;
    let first = list::first_row(messages.len(), selected.unwrap_or(0), height);
    let unread = app.model.messages.unread(&app.model.team);
    let route_width = messages
        .iter()
        .skip(first)
        .take(usize::from(height))
        .map(|t| width(&route(t)))
        .max()
        .unwrap_or(0)
        .min(usize::from(list.width) * 2 / 5);
    let columns = usize::from(list.width).saturating_sub(11 + route_width);
    let has_words = columns >= STATUS_WORD_FROM;
    let below = frame::position(selected, messages.len(), height, theme);
    let titles = Titles {
        name: frame::title_with_counts(
            Pane::Inbox,
            &pane.filter,
            messages.len(),
            app.model.messages.rows(),
        ),
        aside: match unread {
            0 => Vec::new(),
            n => vec![Span::styled(format!("{n} unread"), theme.warn)],
        },
        foot: if has_words || messages.is_empty() {
            Vec::new()
        } else {
            let used: usize = below.iter().map(|s| width(&s.content)).sum();
            let rows = messages.iter().skip(first).take(usize::from(height));
            let delivery = |t: &&TrackedMessage| app.model.messages.delivery(t, &app.model.team);
            let shown: Vec<MessageStatus> = rows.map(|t| delivery(t).status).collect();
            // The blanks and corners beside the two texts of the border.
            let columns = usize::from(area.width).saturating_sub(used + 8);
            legend(&shown, columns, theme)
        },
        below,
        bar: Scrollbar::of_list(area, list, first, messages.len()),
        placeholder: (app.model.messages.is_empty() && filter.is_none())
            .then(|| PLACEHOLDER.into()),
        is_named_above,
        ..Titles::default()
    };
    frame::pane(app, Pane::Inbox, titles, theme, area, buffer);
    if let Some(row) = filter {
        pane.filter.draw(theme, row, buffer);
    }
    if app.model.messages.is_empty() && filter.is_some() {
        frame::empty(PLACEHOLDER, theme, list, buffer);
        return;
    }
    if messages.is_empty() && !app.model.messages.is_empty() {
        frame::empty(&frame::no_match(&app.prefs, "message"), theme, list, buffer);
        return;
    }
    for ((at, traced), area) in messages.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = RowColumns {
            route_width,
            columns,
            has_words,
        };
        let spans = row_spans(app, traced, columns, theme);
        let row = RowHighlight::of(app, Pane::Inbox, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
    if let Some(traced) = whole {
        let used = u16::try_from(messages.len()).unwrap_or(u16::MAX);
        preview(traced, used, theme, list, buffer);
    }
}

/// The widths of the parts of a row, in columns.
#[derive(Clone, Copy)]
struct RowColumns {
    route_width: usize,
    /// The number of columns for the text and the delivery status together.
    columns: usize,
    /// Whether the delivery status is a symbol and a word, instead of the symbol alone.
    has_words: bool,
}

/// Returns a row of the list: time, route, text and delivery status of a message. A broadcast has one row for all its
/// recipients.
fn row_spans(
    app: &App,
    traced: &TrackedMessage,
    row: RowColumns,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let delivery = app.model.messages.delivery(traced, &app.model.team);
    let progress = delivery.status;
    let (shape, style) = style::progress(progress, theme);
    let step = format!("{shape} {}", delivery.words());
    let mut spans = vec![
        Span::styled(
            format!(
                "{} ",
                format_time(traced.message.timestamp, &app.prefs.zone)
            ),
            theme.dim,
        ),
        Span::styled(
            format!("{}  ", pad(&route(traced), row.route_width)),
            theme.accent,
        ),
    ];
    let step = if row.has_words {
        pad(&step, width("✓✓ acted on").max(width(&step)))
    } else {
        pad(shape, 2)
    };
    spans.extend(frame::sides(
        &row_text(traced),
        match progress {
            MessageStatus::At(DeliveryState::ActedOn) => theme.dim,
            MessageStatus::At(
                DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Blocked,
            )
            | MessageStatus::Unread => theme.text,
        },
        &step,
        style,
        row.columns,
    ));
    spans
}

/// Returns a legend of the symbols for the delivery statuses in `shown`, the most relevant status first. It is shown in
/// the border of the pane if the rows have no room for the words. The last entries are left out if they do not fit into
/// `columns` columns.
fn legend(shown: &[MessageStatus], columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let by_relevance = [
        MessageStatus::Unread,
        MessageStatus::At(DeliveryState::Blocked),
        MessageStatus::At(DeliveryState::ActedOn),
        MessageStatus::At(DeliveryState::Delivered),
        MessageStatus::At(DeliveryState::Sent),
    ];
    let mut words = String::new();
    for status in by_relevance.into_iter().filter(|s| shown.contains(s)) {
        let gap = if words.is_empty() { "" } else { "  " };
        let part = format!(
            "{gap}{} {}",
            style::progress(status, theme).0,
            status.word()
        );
        if width(&words) + width(&part) > columns {
            break;
        }
        words.push_str(&part);
    }
    if words.is_empty() {
        return Vec::new();
    }
    vec![Span::styled(words, theme.dim)]
}

/// Shows the selected message below the list, if there is room and the row of the message cannot show it in full.
/// `inner` is the area inside the frame, of which the list takes the first `used` rows.
fn preview(traced: &TrackedMessage, used: u16, theme: &Theme, inner: Rect, buffer: &mut Buffer) {
    let area = Rect {
        y: inner.y + used.min(inner.height),
        height: inner.height.saturating_sub(used),
        ..inner
    };
    let text = area.inner(Margin::new(1, 0));
    let columns = usize::from(text.width);
    let said = row_text(traced);
    if area.height < PREVIEW_MIN || width(&said) + SHORT <= columns {
        return;
    }
    let mut rows = area.rows();
    let rule = format!("{} ", route(traced));
    let rest = usize::from(area.width).saturating_sub(width(&rule) + 4);
    if let Some(row) = rows.next() {
        Line::from(vec![
            Span::styled(" ── ", theme.border),
            Span::styled(rule, theme.dim),
            Span::styled("─".repeat(rest.saturating_sub(1)), theme.border),
        ])
        .render(row, buffer);
    }
    let content = if traced.message.kind.is_protocol() {
        said
    } else {
        traced.message.content.clone()
    };
    let shown = usize::from(area.height) - 1;
    // Limits the work for the very long texts that other programs can write.
    let content = clip(&content, columns * (shown + 2));
    let mut lines = wrap_first_lines(&content, columns, shown + 1);
    if lines.len() > shown {
        lines.truncate(shown);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last}…"), columns);
        }
    }
    for (line, row) in lines.iter().zip(text.rows().skip(1)) {
        Line::styled(line.as_str(), theme.text).render(row, buffer);
    }
}

/// Returns the text of a message in one line, with a blank for each line break. The route already says that a broadcast
/// goes to all.
fn row_text(traced: &TrackedMessage) -> String {
    let text = match traced.message.kind {
        MailKind::Broadcast => sentence::content(&traced.message),
        _ => sentence::message(&traced.message),
    };
    text.replace('⏎', " ")
}

fn route(traced: &TrackedMessage) -> String {
    let from = fit_name(&display_name(&traced.message.from), 16);
    let to = fit_name(&sentence::recipient(&traced.message), 16);
    format!("{from} → {to}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn legend_has_only_states_that_occur_most_relevant_first() {
        let at = MessageStatus::At;
        let (sent, read, done) = (
            at(DeliveryState::Sent),
            at(DeliveryState::Delivered),
            at(DeliveryState::ActedOn),
        );
        let cases: [(&[MessageStatus], usize, &str); 6] = [
            (&[], 60, ""),
            (&[done, done], 60, "✓✓ acted on"),
            (&[sent, done, read], 60, "✓✓ acted on  ✓ delivered  · sent"),
            (&[sent, done, read], 26, "✓✓ acted on  ✓ delivered"),
            (
                &[done, MessageStatus::Unread],
                60,
                "✗ not read  ✓✓ acted on",
            ),
            (&[done], 5, ""),
        ];
        for (shown, columns, expected) in cases {
            let spans = legend(shown, columns, &Theme::default());
            let text: String = spans.iter().map(|s| s.content.as_ref()).collect();
            assert_eq!(text, expected, "{columns}");
        }
    }
}
