//! The frame of popups, and their search line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::frame::hit;
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::line_input::LineInput;

/// Draws the border of a popup with its title, with `below` at the lower right, and with a close button if the mouse is
/// in use. Returns the area inside the border.
pub fn open(
    app: &App,
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    if app.popups.last().is_some_and(Popup::dims) {
        clear_beside(theme, area, buffer);
    }
    let closes = if hit::has_mouse(&app.prefs) {
        " ✕ "
    } else {
        ""
    };
    let inner = draw_border(title, below, theme, area, buffer);
    let mark = area::close_mark(area).intersection(area);
    Line::styled(closes, theme.accent).render(mark, buffer);
    inner
}

/// Clears the columns to the left and right of a popup if each side has at most [`area::BESIDE_MAX`] columns, which are
/// too few for readable text.
pub fn clear_beside(theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let screen = buffer.area;
    let sides = [
        Rect {
            x: screen.x,
            width: area.x.saturating_sub(screen.x),
            ..area
        },
        Rect {
            x: area.right(),
            width: screen.right().saturating_sub(area.right()),
            ..area
        },
    ];
    if sides.iter().all(|side| side.width <= area::BESIDE_MAX) {
        for side in sides {
            let side = side.intersection(screen);
            Clear.render(side, buffer);
            buffer.set_style(side, theme.ground);
        }
    }
}

/// Replaces each wide character that extends across the left edge of `area` with a space, because terminals cannot draw
/// half of a character.
pub fn clear_halves(area: Rect, buffer: &mut Buffer) {
    let Some(x) = area.x.checked_sub(1).filter(|x| *x >= buffer.area.x) else {
        return;
    };
    for y in area.top()..area.bottom().min(buffer.area.bottom()) {
        let cell = &mut buffer[(x, y)];
        if width(cell.symbol()) > 1 {
            cell.set_symbol(" ");
        }
    }
}

/// Clears `area` and draws the border of a popup around it, without a close button. `below` is drawn at the right of
/// the lower border. Returns the area inside the border.
pub fn draw_border(
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    clear_halves(area, buffer);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.panel);
    // Leaves room for the close button after the title.
    let room = usize::from(area.width).saturating_sub(7);
    let mut block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border_focused)
        .title_style(theme.panel)
        .title_top(Line::styled(
            format!(" {} ", fit(title, room)),
            theme.title_focused,
        ));
    if !below.is_empty() {
        let mut spans = vec![Span::raw(" ")];
        spans.extend(below);
        spans.push(Span::raw(" "));
        block = block.title_bottom(Line::from(spans).right_aligned());
    }
    block.render(area, buffer);
    area::inside(area)
}

/// Draws a search input in the first row of `area`. Returns the cursor position and the area below the input.
pub fn search(
    input: &LineInput,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> (Position, Rect) {
    let row = Rect {
        height: 1.min(area.height),
        ..area
    };
    let room = usize::from(row.width).saturating_sub(3);
    // The user types at the end of the text, so long text is cut at the start.
    let mut text = input.text();
    while width(text) > room {
        let mut chars = text.chars();
        chars.next();
        text = chars.as_str();
    }
    Line::from(vec![
        Span::styled("› ", theme.accent),
        match text {
            "" => Span::styled("type to search", theme.dim),
            text => Span::styled(text, theme.text),
        },
    ])
    .render(row, buffer);
    let column = u16::try_from(width(text) + 2).unwrap_or(0);
    let at = Position::new(row.x + column, row.y);
    let rest = Rect {
        y: area.y + row.height,
        height: area.height - row.height,
        ..area
    };
    (at, rest)
}

/// Underlines characters of the first span. `marked` holds the indices of these characters, from 0 and in ascending
/// order.
pub fn underline_chars(
    mut spans: Vec<Span<'static>>,
    marked: &[usize],
    theme: &Theme,
) -> Vec<Span<'static>> {
    if marked.is_empty() || spans.is_empty() {
        return spans;
    }
    let rest = spans.split_off(1);
    let words = spans.remove(0);
    for (at, character) in words.content.chars().enumerate() {
        let style = if marked.binary_search(&at).is_ok() {
            // Underlined in every theme, so that it does not depend on colour.
            theme.link
        } else {
            words.style
        };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push(character),
            _ => spans.push(Span::styled(character.to_string(), style)),
        }
    }
    spans.extend(rest);
    spans
}
