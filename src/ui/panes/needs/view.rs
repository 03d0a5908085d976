//! Draws the pane "Needs you": the headings of the open requests, and the selected request with its buttons.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::Titles;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::requests::is_for_lead;
use crate::ui::model::sentence;
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::needs::{NeedsPane, buttons, card};
use crate::ui::text::{format_time, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;

fn placeholder(pane: &NeedsPane, app: &App) -> String {
    if let Some(closed) = &pane.closed {
        let (from, what) = (&closed.from, &closed.summary);
        let next = if app.is_running(from) {
            format!("{from} continues; its next request appears here.")
        } else {
            "No other request is open.".into()
        };
        let key = app.prefs.keymap.key(Context::Panes, Action::Back);
        return format!("{what} {next} {key} goes back.");
    }
    let key = app.waiting_key();
    format!("No open requests. Plans, questions and permissions appear here; {key} opens them.")
}

/// Draws the headings of the requests, the text and the choices of the selected request and, below them, its buttons.
pub fn draw(pane: &NeedsPane, app: &App, area: Rect, canvas: PaneCanvas<'_>) {
    let PaneCanvas {
        theme,
        buffer,
        is_named_above,
        ..
    } = canvas;
    let selected = pane.selected_request(app);
    let mut titles = Titles {
        name: "Needs you".into(),
        calls: app.model.requests.for_user() > 0,
        is_named_above,
        ..Titles::default()
    };
    if let (Some((at, _)), n @ 2..) = (selected, app.model.requests.len()) {
        titles.aside = vec![Span::styled(format!("{} of {n}", at + 1), theme.waiting)];
    }
    if selected.is_none() {
        titles.placeholder = Some(placeholder(pane, app));
    }
    frame::pane(app, Pane::Needs, titles, theme, area, buffer);
    let Some((at, request)) = selected else {
        return;
    };
    let inner = card::inside(area);
    let places = card::card_layout(pane, app, inner, theme);
    if let Some(row) = places.buttons {
        buttons(app, request, theme, row, buffer);
    }
    for ((_, line), row) in places.card.pinned.iter().zip(places.pinned.rows()) {
        line.render(row, buffer);
    }
    let first = list::first_row(app.model.requests.len(), at, card::heading_rows(app));
    let listed = app.model.requests.cards().enumerate().skip(first);
    for ((place, other), row) in listed.zip(places.list.rows()) {
        // Requests that the lead can decide, too, are less prominent.
        let (shape, style) = match (place == at, is_for_lead(other)) {
            (true, false) => ("◆", theme.waiting),
            (true, true) => ("◆", theme.text),
            (false, _) => ("◇", theme.dim),
        };
        let columns = usize::from(row.width).saturating_sub(2);
        // The time is shown only if the text of the heading leaves enough columns free.
        let words = sentence::heading(other, &app.model.board, columns);
        let when = format!(" {}", format_time(other.created_at, &app.prefs.zone));
        let when = if width(&words) + width(&when) > columns {
            String::new()
        } else {
            when
        };
        let [words, blanks] = frame::cell(&words, columns.saturating_sub(width(&when)), style);
        Line::from(vec![
            Span::styled(format!("{shape} "), style),
            words,
            blanks,
            Span::styled(when, theme.dim),
        ])
        .render(row, buffer);
    }
    let lines = places.card.lines.iter().skip(places.top);
    for ((_, line), row) in lines.zip(places.text.rows()) {
        line.render(row, buffer);
    }
    let thumb = frame::thumb(app, Pane::Needs, theme);
    frame::scrollbar(places.bar(area), thumb, theme, buffer);
    // The number of hidden lines is drawn on the border, because inside the pane it would hide a line of the request.
    let shown = places.top + usize::from(places.text.height);
    let below = places.card.lines.len().saturating_sub(shown);
    let key = |by| app.prefs.keymap.key(Context::Panes, Action::Move(by));
    let (down, up) = (key(Scroll::LineDown), key(Scroll::LineUp));
    // The keys scroll the card only while the pane has the focus. In a preview, they select the next request.
    let has_keys = app.focus == Focus::Pane(Pane::Needs) && app.popups.is_empty();
    let is_unread =
        request.kind == RequestKind::Permission && pane.seen_to_end.as_ref() != Some(&request.id);
    let how = if has_keys && is_unread {
        let page = key(Scroll::PageDown);
        format!(": {page} before approving")
    } else if has_keys {
        format!(", {down} {up} scroll")
    } else {
        String::new()
    };
    let mark = match (places.top, below) {
        (0, 0) => return,
        (top, 0) => format!(" ↑ {top} lines above "),
        (_, 1) => format!(" ↓ 1 more line{how} "),
        (_, n) => format!(" ↓ {n} more lines{how} "),
    };
    let wide = u16::try_from(width(&mark)).unwrap_or(u16::MAX);
    let wide = wide.min(area.width.saturating_sub(2));
    let place = Rect {
        x: (area.right() - 1).saturating_sub(wide),
        y: area.bottom().saturating_sub(1),
        width: wide,
        height: 1,
    };
    Line::styled(mark, theme.accent).render(place, buffer);
}

fn buttons(app: &App, request: &Request, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    if app.model.requests.is_answered(&request.id) {
        Line::styled("Sending your decision…", theme.dim).render(row, buffer);
        return;
    }
    if app.focus != Focus::Pane(Pane::Needs) {
        let key = app.waiting_key();
        Line::from(vec![
            Span::styled(format!("{key} "), theme.accent),
            Span::styled("review", theme.dim),
        ])
        .render(row, buffer);
        return;
    }
    for placed in buttons::buttons(app, request, row) {
        let button = placed.what;
        let style = match button.action {
            Some(Action::Reject) => theme.no,
            Some(Action::Open) => theme.text,
            Some(Action::Comment) if button.words != "answer" => theme.text,
            Some(_) | None => theme.yes,
        };
        Line::from(vec![
            Span::styled(format!("{} ", button.key), theme.accent),
            Span::styled(button.words, style),
        ])
        .render(placed.at, buffer);
    }
}
