//! The page without a model: what is missing, how to set it, and the demo. And the page without room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::keymap::{Action, Context};
use crate::ui::layout::{HEIGHT_MIN, WIDTH_MIN};
use crate::ui::readers::centered;
use crate::ui::state::UiState;
use crate::ui::textual::wrap;
use crate::ui::theme::Theme;

/// Draws the page.
pub fn draw(
    state: &UiState,
    (reason, steps): (&str, &[String]),
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let key = |action| format!("{} ", state.keymap.key(Context::FirstRun, action));
    let columns = usize::from(area.width.saturating_sub(8)).min(76);
    let mut lines = vec![
        Line::styled("crewdeck", theme.title_focused),
        Line::styled("a team of coding agents, on one screen", theme.dim),
        Line::default(),
    ];
    let text = |out: &mut Vec<Line<'static>>, words: &str, style| {
        out.extend(
            wrap(words, columns)
                .into_iter()
                .map(|l| Line::styled(l, style)),
        );
    };
    text(&mut lines, reason, theme.warn);
    lines.push(Line::default());
    for step in steps {
        let wrapped = wrap(step, columns.saturating_sub(2));
        for (i, line) in wrapped.into_iter().enumerate() {
            let mark = if i == 0 { "· " } else { "  " };
            lines.push(Line::from(vec![
                Span::styled(mark, theme.accent),
                Span::styled(line, theme.text),
            ]));
        }
    }
    lines.push(Line::default());
    lines.push(Line::from(vec![
        Span::styled(key(Action::StartDemo), theme.accent),
        Span::styled("start the demo: it needs no key and no network", theme.text),
    ]));
    lines.push(Line::from(vec![
        Span::styled(key(Action::Quit), theme.accent),
        Span::styled("quit", theme.text),
    ]));
    let height = u16::try_from(lines.len()).unwrap_or(area.height);
    let width = u16::try_from(columns).unwrap_or(area.width);
    let place = centered(area, width, height.min(area.height.saturating_sub(1)));
    for (line, row) in lines.iter().zip(place.rows()) {
        line.render(row, buffer);
    }
}

/// Says on a screen without room for panes how much is needed.
pub fn too_small(area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let words = format!(
        "crewdeck needs {WIDTH_MIN} columns and {HEIGHT_MIN} rows.\nThis is {} by {}: make the window larger or the font smaller.\nThe crew goes on meanwhile.",
        area.width, area.height
    );
    let lines = wrap(&words, usize::from(area.width));
    let height = u16::try_from(lines.len()).unwrap_or(area.height);
    let place = centered(area, area.width, height);
    for (line, row) in lines.iter().zip(place.rows()) {
        Line::styled(line.as_str(), theme.text)
            .centered()
            .render(row, buffer);
    }
}
