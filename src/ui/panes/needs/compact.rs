//! The card above the composer with the request that the user can answer from the composer: its heading, the first
//! lines of its text, and the choices. The parts are in the same order as in the pane "Needs you". The keys are named in
//! the composer's title.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Borders, Widget};

use crate::domain::request::{Request, RequestKind};
use crate::ui::app::{App, answering};
use crate::ui::frame::hit::Hit;
use crate::ui::keymap::Action;
use crate::ui::model::CrewModel;
use crate::ui::model::sentence;
use crate::ui::panes::needs::card::{self, CardLine, CardLineKind};
use crate::ui::text::{command_text, fit, longest_fitting, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::PlacedPart;

/// Maximum number of rows for the text and the choices together. More rows are used only if the choices alone need
/// them, or if the conversation leaves them blank.
const ROWS_MAX: u16 = 9;
/// Minimum width of the card's heading, in columns. The hint to the right of the heading is shortened or omitted to
/// keep this width.
const HEADING_LEAST: usize = 30;

struct CompactCard {
    lines: Vec<CardLine>,
    /// Whether `lines` shows the whole request.
    is_whole: bool,
}

/// Lays out the card in `inside`, the area below its heading. If the request does not fit, the details are omitted, and
/// the last row stays blank if there is room.
fn card(model: &CrewModel, request: &Request, inside: Rect, theme: &Theme) -> CompactCard {
    let rows = usize::from(inside.height);
    // More lines than fit are rendered, because blank lines are removed afterwards.
    let enough = rows * 2 + 8;
    let text = card::text(model, request, inside.width, enough, theme);
    let (details, body): (Vec<CardLine>, Vec<CardLine>) =
        (text.into_iter()).partition(|(kind, _)| *kind == CardLineKind::Detail);
    let is_long = body.len() >= enough;
    // The details, such as the directory, are omitted for a question: they say where something would be run.
    let details = details
        .into_iter()
        .filter(|_| request.kind != RequestKind::Question);
    let mut lines: Vec<CardLine> = (details.chain(body))
        .filter(|(_, line)| line.width() > 0)
        .collect();
    let choices = card::choices(request, inside.width, theme);
    let is_whole = !is_long && lines.len() + choices.len() <= rows;
    if !is_whole {
        lines.retain(|(kind, _)| *kind == CardLineKind::Body);
        let blank = usize::from(rows > 2 && choices.len() + 1 < rows);
        let room = rows.saturating_sub(choices.len() + blank).max(1);
        if is_long || lines.len() > room {
            lines.truncate(room);
            if let Some((_, last)) = lines.last_mut() {
                mark_cut(last, inside.width.into());
            }
        }
    }
    lines.extend(choices);
    lines.truncate(rows);
    CompactCard { lines, is_whole }
}

/// Puts `…` at the end of `line`, which has at most `columns` columns: the text that follows is left out.
fn mark_cut(line: &mut Line<'static>, columns: usize) {
    let Some(last) = line.spans.pop() else { return };
    let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
    let text = format!("{}…", last.content.trim_end());
    let text = fit(&text, columns.saturating_sub(used));
    line.spans.push(Span::styled(text, last.style));
}

/// Returns the number of rows that the card needs, including its heading and a blank row at its end. `area` is the space
/// that the card shares with the conversation; `free` is the number of rows of `area` in which the conversation shows
/// nothing.
///
/// Below the heading, the card takes at most a third of the height of `area`, and at most `ROWS_MAX` rows. It takes
/// more only to show all choices, or up to `free` rows.
pub fn height(model: &CrewModel, request: &Request, area: Rect, free: u16) -> u16 {
    let choices = card::choices(request, card::inside(area).width, &Theme::default()).len();
    let choices = u16::try_from(choices).unwrap_or(u16::MAX);
    let rows = (area.height / 3).clamp(2, ROWS_MAX);
    let rows = rows.max(choices + 1).max(free);
    let inside = Rect {
        height: rows,
        ..card::inside(area)
    };
    let lines = card(model, request, inside, &Theme::default()).lines.len();
    2 + u16::try_from(lines).unwrap_or(rows)
}

/// Returns the area for the lines below the heading, in a card that covers `area`.
fn inside(area: Rect) -> Rect {
    let below = Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(1),
        ..area
    };
    below.inner(Margin::new(2, 0))
}

pub fn shows_all(model: &CrewModel, request: &Request, area: Rect) -> bool {
    let shown = command_text::render_command(&request.body);
    let is_folded =
        request.kind == RequestKind::Permission && shown.folded_chars + shown.cut_bytes > 0;
    !is_folded && card(model, request, inside(area), &Theme::default()).is_whole
}

/// Returns whether the card in `area` shows all lines of choice `number` of `question`.
pub fn shows_choice(model: &CrewModel, question: &Request, area: Rect, number: usize) -> bool {
    let is_line = |(kind, _): &&CardLine| *kind == CardLineKind::Choice(number);
    let (inside, theme) = (inside(area), Theme::default());
    let all = card::choices(question, inside.width, &theme);
    let shown = card(model, question, inside, &theme).lines;
    all.iter().filter(is_line).count() == shown.iter().filter(is_line).count()
}

/// Draws the card of the request that the user can answer from the composer. Draws nothing if there is no such request.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(request) = answering::request(app) else {
        return;
    };
    let card = card(&app.model, request, inside(area), theme);
    let columns = usize::from(area.width).saturating_sub(8);
    let [long, short] = elsewhere(app, card.is_whole, request);
    let beside = longest_fitting(&[&long, &short], columns.saturating_sub(HEADING_LEAST));
    let room = columns.saturating_sub(width(beside));
    let heading = fit(&sentence::heading(request, &app.model.board, room), room);
    let mut block = Block::new()
        .borders(Borders::TOP)
        .border_type(BorderType::Rounded)
        .border_style(theme.border_waiting)
        .title_style(theme.ground)
        .title_top(Line::from(vec![
            Span::styled(format!(" ◆ {heading}"), theme.waiting),
            Span::raw(" "),
        ]));
    if !beside.is_empty() {
        block = block.title_top(Line::styled(beside.to_string(), theme.accent).right_aligned());
    }
    block.render(area.inner(Margin::new(1, 0)), buffer);
    for ((_, line), row) in card.lines.into_iter().zip(inside(area).rows()) {
        line.render(row, buffer);
    }
}

/// Returns a hint with the key that shows what is not on the card: the rest of the request, and other requests. The
/// hint has a long and a short form. Both are empty if the card shows everything.
fn elsewhere(app: &App, is_whole: bool, request: &Request) -> [String; 2] {
    let others = app
        .model
        .requests
        .cards()
        .filter(|other| other.id != request.id && !app.model.requests.is_answered(&other.id));
    let key = app.waiting_key();
    let long = match (is_whole, others.count()) {
        (true, 0) => return [String::new(), String::new()],
        (true, n) => format!(" {n} more: {key} "),
        (false, 0) => format!(" show all: {key} "),
        (false, n) => format!(" show all and {n} more: {key} "),
    };
    [long, format!(" more: {key} ")]
}

/// Adds the mouse targets of the card. A click on the card focuses the composer; a click on a choice chooses it if
/// the draft is empty. The choices are added first and thus take precedence.
pub fn targets(app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
    let mut put = |at, what| out.push(PlacedPart { at, what });
    if let (Some(request), true) = (answering::request(app), answering::takes_click(app)) {
        let card = card(&app.model, request, inside(area), &Theme::default());
        for ((kind, _), row) in card.lines.into_iter().zip(inside(area).rows()) {
            if let CardLineKind::Choice(number) = kind {
                put(row, Hit::Button(Action::Choose(number)));
            }
        }
    }
    put(area, Hit::Button(Action::Compose));
}
