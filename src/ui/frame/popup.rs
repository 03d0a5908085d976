//! The frame of popups, and their search line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use crate::ui::app::App;
use crate::ui::app::popup::covers;
use crate::ui::frame::hit;
use crate::ui::text::{fit, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::line_input::LineInput;

/// Draws the frame; the place inside comes back.
pub fn open(
    app: &App,
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    if app.popups.last().is_some_and(covers) {
        clear_beside(theme, area, buffer);
    }
    let closes = if hit::has_mouse(app) { " ✕ " } else { "" };
    let inner = lay(title, below, theme, area, buffer);
    let mark = area::close_mark(area).intersection(area);
    Line::styled(closes, theme.accent).render(mark, buffer);
    inner
}

/// Clears the columns beside a popup that leaves next to none: single letters of what lies below would stand there.
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

/// Blanks the wide characters that reach from the left below `area`: half of one cannot be drawn, and a terminal would
/// draw it whole, over the frame.
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

/// Draws the frame of what lies over the panes and goes by itself; the place inside comes back.
pub fn lay(
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    clear_halves(area, buffer);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.panel);
    // The mark that closes it may stand behind the title.
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

/// Draws a search line on the first row; the cursor's place and the place below come back.
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
    // The end is what is being written: a long text loses its beginning.
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

/// The first of `spans` with the letters at the places `marked` emphasised.
pub fn emphasised(
    mut spans: Vec<Span<'static>>,
    marked: &[usize],
    theme: &Theme,
) -> Vec<Span<'static>> {
    if marked.is_empty() || spans.is_empty() {
        return spans;
    }
    let rest = spans.split_off(1);
    let words = spans.remove(0);
    for (at, letter) in words.content.chars().enumerate() {
        let style = if marked.binary_search(&at).is_ok() {
            // Underlined in every theme, so that it is seen without colour too.
            theme.link
        } else {
            words.style
        };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push(letter),
            _ => spans.push(Span::styled(letter.to_string(), style)),
        }
    }
    spans.extend(rest);
    spans
}
