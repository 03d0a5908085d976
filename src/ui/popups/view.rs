//! What lies over the panes, in a frame in the middle.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use crate::ui::app::popup::{
    Choice, CommentBox, CommentStage, Picker, Popup, Question, Reader, Searching,
};
use crate::ui::app::{Models, UiState};
use crate::ui::frame;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::sentence;
use crate::ui::panes::rows;
use crate::ui::popups::reader::text_search;
use crate::ui::popups::{confirm, picker, reader, text_areas};
use crate::ui::shell::hints::bars;
use crate::ui::shell::hit_test;
use crate::ui::text::{fit, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::Drawn;
use crate::ui::widgets::composer::Room;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Draws a popup; where the cursor is to be comes back.
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
            crate::ui::popups::jobs::draw(state, *row, theme, screen, buffer);
            None
        }
        Popup::Costs(view) => {
            crate::ui::popups::costs::view::draw(state, view, theme, screen, buffer);
            None
        }
        // It has its place in the layout.
        Popup::Peek(_) => None,
        Popup::EventLog(view) => {
            crate::ui::popups::event_log::view::draw(state, view, theme, screen, buffer)
        }
        Popup::Comment(comment) => write(state, popup, comment, theme, screen, buffer),
        Popup::Task(form) => {
            crate::ui::popups::task_form::view::draw(state, popup, form, theme, screen, buffer)
        }
        Popup::Confirm(question) => {
            confirm(state, popup, question, theme, screen, buffer);
            None
        }
    }
}

/// Whether what lies below a popup matters no more while it is open; else it is about what can be seen beside it.
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

/// Draws the frame; the place inside comes back.
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
    let closes = if hit_test::has_mouse(state) {
        " ✕ "
    } else {
        ""
    };
    let inner = lay(title, below, theme, area, buffer);
    let mark = picker::place::close_mark(area).intersection(area);
    Line::styled(closes, theme.accent).render(mark, buffer);
    inner
}

/// Clears the columns beside a popup that leaves next to none: single letters of what lies below would stand there.
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
    if sides.iter().all(|side| side.width <= reader::BESIDE_MAX) {
        for side in sides {
            let side = side.intersection(screen);
            Clear.render(side, buffer);
            buffer.set_style(side, theme.ground);
        }
    }
}

/// Blanks the wide characters that reach from the left below `area`: half of one cannot be drawn, and a terminal would
/// draw it whole, over the frame.
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
    picker::place::inside(area)
}

fn read(
    state: &UiState,
    reader: &Reader,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = reader::rows(state, reader, theme);
    let area = reader::place(screen, reader, lines.len());
    let (list, first) = reader::list(reader, area, lines.len());
    let height = area.height.saturating_sub(2);
    let below = frame::beyond(lines.len(), first, height, theme);
    let title = reader::title(state, reader);
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

fn pick(
    state: &UiState,
    picker: &Picker,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Position {
    let picks = rows::picks(state, picker);
    let picker::place::Place { area, list, first } =
        picker::place::picker(state, screen, picker, picks.len());
    let title = match picker.choice {
        Choice::Palette { .. } => "Actions".into(),
        Choice::Models => "Model".into(),
        Choice::Themes => "Theme".into(),
        Choice::Copy => "Copy".into(),
        Choice::Scopes(_) => "Allow for the whole team until crewdeck ends".into(),
        Choice::Rules => format!(
            "Allowed until crewdeck ends: {} takes it back",
            takes(state)
        ),
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

/// The key that takes the selected line of a list.
fn takes(state: &UiState) -> String {
    state.keymap.key(Context::Picker, Action::Accept)
}

fn nothing(state: &UiState, picker: &Picker) -> String {
    let written = picker.search.text().trim();
    match (&picker.choice, &state.models) {
        (Choice::Palette { .. }, _) => "No action has these words.".into(),
        (Choice::Copy, _) => "Nothing to copy has these words.".into(),
        (Choice::Themes, _) => "No theme has these words.".into(),
        (Choice::Scopes(_), _) => {
            let key = state.keymap.key(Context::Picker, Action::Back);
            format!("None has these words. {key} allows nothing.")
        }
        (Choice::Rules, _) if state.rules.is_empty() => {
            let context = Context::In(Pane::Needs);
            let key = state.keymap.key(context, Action::ApproveForTeam);
            format!("No rules yet. {key} on a permission's card makes one.")
        }
        (Choice::Rules, _) => "No rule has these words.".into(),
        (Choice::Models, _) if !written.is_empty() => {
            let key = takes(state);
            format!("No listed model fits. {key} takes the name as it is written: {written}")
        }
        (Choice::Models, Models::Unknown | Models::Asked) => "Asking the server…".into(),
        (Choice::Models, Models::Listed(_)) => {
            let key = takes(state);
            format!("The server lists no models. Write a name and press {key}.")
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
    let place = confirm::place(state, screen, popup);
    let title = confirm::comment_title(state, comment);
    let inner = open(state, title, Vec::new(), theme, place.area, buffer);
    let text = text_areas::comment(state, popup);
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

/// Draws what can be answered.
pub(in crate::ui) fn buttons(
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
    let place = confirm::place(state, screen, popup);
    let title = confirm::question_title(question);
    let inner = open(state, title, Vec::new(), theme, place.area, buffer);
    let lines = confirm::lines(state, question, screen);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        Line::styled(line, theme.text).render(row, buffer);
    }
    buttons(state, popup, place.buttons, theme, buffer);
}
