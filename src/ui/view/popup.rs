//! Draws the popups.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::frame;
use crate::ui::guide::bars;
use crate::ui::keymap::{Action, Context};
use crate::ui::known::sentence;
use crate::ui::layout::cut::cut_top;
use crate::ui::layout::scrollbar::Scrollbar;
use crate::ui::popup::{
    Choice, CommentBox, CommentStage, Picker, Popup, Question, Reader, Searching,
};
use crate::ui::popup::{boxes, pickers, readers};
use crate::ui::state::pane::Pane;
use crate::ui::state::rows;
use crate::ui::state::{Models, UiState};
use crate::ui::textual::text_search;
use crate::ui::textual::{fit, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::Drawn;
use crate::ui::writing::composer::Room;
use crate::ui::writing::line_input::LineInput;
use crate::ui::{hit, writing};

/// Draws a popup. Returns the cursor position.
pub fn draw(
    state: &UiState,
    popup: &Popup,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    match popup {
        Popup::Reader(reader) => read(state, reader, theme, screen, buffer),
        Popup::Picker(picker) => Some(pick(state, picker, theme, screen, buffer)),
        Popup::Jobs { row } => {
            super::jobs::draw(state, *row, theme, screen, buffer);
            None
        }
        Popup::Costs(view) => {
            super::costs::draw(state, view, theme, screen, buffer);
            None
        }
        // Drawn as part of the layout.
        Popup::Peek(_) => None,
        Popup::EventLog(view) => super::event_log::draw(state, view, theme, screen, buffer),
        Popup::Comment(comment) => write(state, popup, comment, theme, screen, buffer),
        Popup::Task(form) => super::task_form::draw(state, popup, form, theme, screen, buffer),
        Popup::Confirm(question) => {
            confirm(state, popup, question, theme, screen, buffer);
            None
        }
    }
}

/// Returns whether the panes are dimmed below a popup. Popups about something visible beside them do not dim.
pub fn covers(popup: &Popup) -> bool {
    match popup {
        Popup::Reader(_)
        | Popup::EventLog(_)
        | Popup::Jobs { .. }
        | Popup::Costs(_)
        | Popup::Task(_)
        | Popup::Confirm(_) => true,
        Popup::Comment(_) | Popup::Peek(_) => false,
        Popup::Picker(picker) => match picker.choice {
            Choice::Palette { .. } | Choice::Models | Choice::Rules => true,
            Choice::Scopes(_) | Choice::Copy | Choice::Themes => false,
        },
    }
}

/// Draws the border and the close button. Returns the area inside.
pub fn open(
    state: &UiState,
    title: &str,
    below: Vec<Span<'static>>,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    if state.popups.last().is_some_and(covers) {
        clear_beside(theme, area, buffer);
    }
    let closes = if hit::has_mouse(state) { " ✕ " } else { "" };
    let inner = lay(title, below, theme, area, buffer);
    let mark = pickers::close_mark(area).intersection(area);
    Line::styled(closes, theme.accent).render(mark, buffer);
    inner
}

/// Clears the columns beside a popup that are too few to be readable.
fn clear_beside(theme: &Theme, area: Rect, buffer: &mut Buffer) {
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
    if sides.iter().all(|side| side.width <= readers::BESIDE_MAX) {
        for side in sides {
            let side = side.intersection(screen);
            Clear.render(side, buffer);
            buffer.set_style(side, theme.ground);
        }
    }
}

/// Blanks wide characters that extend under the left edge of `area`; terminals cannot draw half of one.
fn clear_halves(area: Rect, buffer: &mut Buffer) {
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

/// Draws the border of a popup without a close button. Returns the area inside.
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
    pickers::inside(area)
}

fn read(
    state: &UiState,
    reader: &Reader,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = readers::rows(state, reader, theme);
    let area = readers::place(screen, reader, lines.len());
    let (list, first) = readers::list(reader, area, lines.len());
    let height = area.height.saturating_sub(2);
    let below = frame::beyond(lines.len(), first, height, theme);
    let title = readers::title(state, reader);
    let inner = open(state, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, lines.len());
    frame::scrollbar(bar, theme.title, buffer);
    let mut before = None;
    for (line, row) in lines.iter().skip(first).zip(list.rows()) {
        (&line.line).render(row, buffer);
        let entry = line.selects();
        let is_one_of_some = line.entry.is_some() || state.diff.files().len() > 1;
        if entry == Some(reader.row) && reader.searching == Searching::Rest && is_one_of_some {
            if before != entry && line.entry.is_some() {
                buffer.set_string(row.x, row.y, "›", theme.accent);
            }
            buffer.set_style(row, theme.selection);
        }
        before = entry;
    }
    let at = if text_search::is_on(reader) {
        let found = text_search::found(reader, &lines);
        let drawn = Drawn {
            area: list,
            skip: first,
        };
        drawn.highlight(&found.hits, Some(found.here), theme, buffer);
        frame::search_edge(reader.search.text(), found.count(), theme, area, buffer)
    } else if reader.searching == Searching::Typing {
        search(&reader.search, theme, inner, buffer).0
    } else {
        return None;
    };
    (reader.searching == Searching::Typing).then_some(at)
}

/// Draws a search line on the first row. Returns the cursor position and the area below.
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
    // The end is being typed, so long text is cut at the start.
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

fn pick(
    state: &UiState,
    picker: &Picker,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Position {
    let picks = rows::picks(state, picker);
    let pickers::Place { area, list, first } = pickers::picker(state, screen, picker, picks.len());
    let title = match picker.choice {
        Choice::Palette { .. } => "Actions".into(),
        Choice::Models => "Model".into(),
        Choice::Themes => "Theme".into(),
        Choice::Copy => "Copy".into(),
        Choice::Scopes(_) => "Allow for the whole team until crewdeck ends".into(),
        Choice::Rules => format!("Allowed until crewdeck ends: {} revokes", takes(state)),
    };
    let below = frame::position(Some(picker.row), picks.len(), list.height, theme);
    let inner = open(state, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, picks.len());
    frame::scrollbar(bar, theme.title, buffer);
    let (cursor, _) = search(&picker.search, theme, inner, buffer);
    if picks.is_empty() {
        let words = nothing(state, picker);
        for (line, row) in wrap(&words, usize::from(list.width))
            .iter()
            .zip(list.rows())
        {
            Line::styled(line.as_str(), theme.dim).render(row, buffer);
        }
    }
    for ((at, pick), row) in picks.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = usize::from(row.width).saturating_sub(2);
        let style = if at == picker.row {
            theme.accent
        } else {
            theme.text
        };
        let spans = frame::sides(&pick.words, style, &pick.aside, theme.dim, columns);
        let spans = emphasised(spans, &pick.marked, theme);
        let mark = if at == picker.row {
            frame::Row::Selected
        } else {
            frame::Row::Plain
        };
        frame::row(mark, spans, theme, row, buffer);
    }
    cursor
}

/// Emphasises the characters at the indices `marked` in the first span.
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
            // Underlined in every theme, so that it does not depend on colour.
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

/// Returns the key that accepts the selected row.
fn takes(state: &UiState) -> String {
    state.keymap.key(Context::Picker, Action::Accept)
}

fn nothing(state: &UiState, picker: &Picker) -> String {
    let written = picker.search.text().trim();
    match (&picker.choice, &state.models) {
        (Choice::Scopes(_), _) => {
            let key = state.keymap.key(Context::Picker, Action::Back);
            format!("No matches. {key} cancels.")
        }
        (Choice::Rules, _) if state.rules.is_empty() => {
            let context = Context::In(Pane::Needs);
            let key = state.keymap.key(context, Action::ApproveForTeam);
            format!("No permissions yet. {key} on a permission request adds one.")
        }
        (Choice::Palette { .. } | Choice::Copy | Choice::Themes | Choice::Rules, _) => {
            "No matches.".into()
        }
        (Choice::Models, _) if !written.is_empty() => {
            let key = takes(state);
            format!("No listed model matches. {key} uses the name as typed: {written}")
        }
        (Choice::Models, Models::Unknown | Models::Asked) => "Loading models…".into(),
        (Choice::Models, Models::Listed(_)) => {
            let key = takes(state);
            format!("The server lists no models. Type a name and press {key}.")
        }
    }
}

fn write(
    state: &UiState,
    popup: &Popup,
    comment: &CommentBox,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let place = boxes::place(state, screen, popup);
    let title = boxes::comment_title(state, comment);
    let inner = open(state, title, Vec::new(), theme, place.area, buffer);
    let text = writing::comment(state, popup);
    if text.is_empty() {
        return None;
    }
    let (head, _) = cut_top(inner, 1);
    let about = state.requests.get(&comment.request);
    let about = about.map_or_else(String::new, |request| {
        sentence::heading(request, &state.board, usize::from(head.width))
    });
    Line::styled(fit(&about, usize::from(head.width)), theme.dim).render(head, buffer);
    buttons(state, popup, place.buttons, theme, buffer);
    let window = comment.text.window(Room::from(text));
    for (line, row) in window.rows.iter().zip(text.rows()) {
        Line::styled(line.as_str(), theme.text).render(row, buffer);
    }
    frame::text_beyond(window.beyond, theme, place.area, buffer);
    let at = Position::new(text.x + window.cursor.1, text.y + window.cursor.0);
    (comment.stage == CommentStage::Writing).then_some(at)
}

/// Draws the buttons.
pub(super) fn buttons(
    state: &UiState,
    popup: &Popup,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    for placed in bars::box_buttons(state, popup, row) {
        let button = placed.what;
        let style = match button.action {
            Some(Action::Approve) => theme.yes,
            Some(Action::Reject) => theme.no,
            Some(_) | None => theme.text,
        };
        Line::from(vec![
            Span::styled(format!("{} ", button.key), theme.accent),
            Span::styled(button.words, style),
        ])
        .render(placed.at, buffer);
    }
}

fn confirm(
    state: &UiState,
    popup: &Popup,
    question: &Question,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) {
    let place = boxes::place(state, screen, popup);
    let title = boxes::question_title(question);
    let inner = open(state, title, Vec::new(), theme, place.area, buffer);
    let lines = boxes::lines(state, question, screen);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        Line::styled(line, theme.text).render(row, buffer);
    }
    buttons(state, popup, place.buttons, theme, buffer);
}
