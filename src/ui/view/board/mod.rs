//! The tasks: what is worked on, what is ready, what waits for what, what is done. Drawn, or listed.

mod graph;
mod list;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::frame::{self, Titles};
use crate::ui::board::{self, Index, Query, Shown, Standing, Why};
use crate::ui::layout;
use crate::ui::look;
use crate::ui::pane::Pane;
use crate::ui::popup::Searching;
use crate::ui::state::{Filter, UiState};
use crate::ui::textual::{fit, width};
use crate::ui::theme::Theme;

/// From this width on the title tells in words how many tasks stand where.
const WORDS_FROM: u16 = 60;

/// Draws them.
pub fn draw(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let index = board::index(state);
    let places = board::places(state, layout::inside(area));
    let below = match &places.shown {
        Shown::Graph(drawing) => graph::beyond(state, &index, drawing, places.body, theme),
        Shown::List(_) => list::beyond(state, places.body, theme),
    };
    let titles = Titles {
        name: title(state, &places.shown),
        aside: counts(&index, area.width, theme),
        below,
    };
    frame::pane(state, Pane::Board, titles, theme, area, buffer);
    if let (Some(filter), Some(row)) = (&state.filter, places.filter) {
        draw_filter(filter, theme, row, buffer);
    }
    match &places.shown {
        Shown::Graph(drawing) => {
            graph::draw(state, &index, drawing, theme, places.body, buffer);
            if let Some(row) = places.about {
                about(state, &index, theme, row, buffer);
            }
        }
        Shown::List(_) if board::rows(state).len() == 0 => {
            let words = if state.board.is_empty() {
                "No tasks yet. The lead writes them when it plans; `crewdeck task add` does too."
            } else {
                "No task fits the filter. Esc clears it."
            };
            frame::empty(words, theme, places.body, buffer);
        }
        Shown::List(_) => list::draw(state, &index, theme, places.body, buffer),
    }
}

fn title(state: &UiState, shown: &Shown) -> String {
    let name = Pane::Board.title();
    match shown {
        Shown::List(_) if state.board.is_empty() => name.into(),
        Shown::Graph(_) => name.into(),
        Shown::List(Why::Asked) => format!("{name} · list"),
        Shown::List(Why::Filtered) => {
            let hits = board::rows(state).len();
            format!("{name} · {hits} of {}", state.board.len())
        }
        Shown::List(Why::Many(count)) => format!("{name} · list: {count} tasks"),
        Shown::List(Why::Deep(steps)) => format!("{name} · list: {steps} steps deep"),
        Shown::List(Why::Tangled) => format!("{name} · list: too many lines"),
    }
}

/// How many tasks stand where: the legend of the shapes at the same time.
fn counts(index: &Index, columns: u16, theme: &Theme) -> Vec<Span<'static>> {
    if index.len() == 0 {
        return Vec::new();
    }
    let mut out = Vec::new();
    for standing in [Standing::InProgress, Standing::Ready, Standing::Blocked] {
        let count = index.count(standing);
        if count > 0 && columns >= WORDS_FROM {
            let (shape, style) = look::standing(standing, theme);
            out.push(Span::styled(format!("{shape} {count} "), style));
            out.push(Span::styled(format!("{}  ", standing.word()), theme.dim));
        }
    }
    let done = index.count(Standing::Done);
    if columns >= WORDS_FROM {
        let (shape, style) = look::standing(Standing::Done, theme);
        out.push(Span::styled(format!("{shape} "), style));
    }
    out.push(Span::styled(
        format!("{done}/{} done", index.len()),
        theme.dim,
    ));
    out
}

/// Draws the filter, and what in it means nothing.
fn draw_filter(filter: &Filter, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let columns = usize::from(row.width);
    let cursor = match filter.searching {
        Searching::Typing => "▏",
        Searching::Rest => "",
    };
    let text = format!(
        "{}{cursor}",
        fit(filter.words.text(), columns.saturating_sub(4))
    );
    let query = Query::new(filter.words.text());
    let aside = match query.problems().first() {
        Some(problem) => Span::styled(format!("▲ {problem} "), theme.warn),
        None if filter.words.text().is_empty() => {
            Span::styled("words  owner:NAME  status:ready  tag:T  !not ", theme.dim)
        }
        None => Span::raw(""),
    };
    let room = columns.saturating_sub(width(&text) + 4);
    let aside = Span::styled(fit(&aside.content, room), aside.style);
    let gap = room.saturating_sub(width(&aside.content));
    Line::from(vec![
        Span::styled(" / ", theme.accent),
        Span::styled(text, theme.text),
        Span::raw(" ".repeat(gap + 1)),
        aside,
    ])
    .render(row, buffer);
}

/// One line about the selected task: nodes are short of room.
fn about(state: &UiState, index: &Index, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let Some(task) = board::selected(state).and_then(|(_, id)| state.board.get(id)) else {
        return;
    };
    let (shape, words, style) = look::task(&state.board, task, theme);
    let place = index.place(task.id).unwrap_or_default();
    let after: Vec<String> = index
        .frees(place)
        .iter()
        .filter_map(|p| index.id(*p))
        .map(|id| id.to_string())
        .collect();
    let label = board::label(task);
    let mut aside = words;
    if !after.is_empty() {
        aside += &format!(" → {}", after.join(" "));
    }
    let tags: String = task.tags.iter().map(|t| format!(" #{t}")).collect();
    let left = format!(
        "{} {}{}",
        label.number,
        label.subject,
        crate::domain::text::one_line(&tags)
    );
    let columns = usize::from(row.width).saturating_sub(4);
    let mut spans = vec![Span::styled(format!(" {shape} "), style)];
    spans.extend(frame::sides(&left, theme.text, &aside, style, columns));
    Line::from(spans).render(row, buffer);
}

/// The style of a task's words.
fn words(standing: Standing, theme: &Theme) -> Style {
    match standing {
        Standing::Done => theme.dim,
        Standing::Ready | Standing::Assigned => theme.accent,
        Standing::InProgress | Standing::Blocked => theme.text,
    }
}
