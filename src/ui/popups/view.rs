//! Draws the popups.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::popup::{Choice, CommentBox, CommentStage, Picker, Popup, Question, Reader};
use crate::ui::frame;
use crate::ui::frame::popup::{emphasised, open, search};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::{Models, sentence};
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::reader::text_search;
use crate::ui::popups::{buttons, confirm, picker, reader, text_areas};
use crate::ui::text::{fit, wrap};
use crate::ui::theme::Theme;
use crate::ui::transcript::Drawn;
use crate::ui::widgets::area;
use crate::ui::widgets::composer::Room;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::line_input::Searching;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Draws a popup. Returns the cursor position.
pub fn draw(
    app: &App,
    popup: &Popup,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    match popup {
        Popup::Reader(reader) => read(app, reader, theme, screen, buffer),
        Popup::Picker(picker) => Some(pick(app, picker, theme, screen, buffer)),
        Popup::Jobs { row } => {
            crate::ui::popups::jobs::draw(app, *row, theme, screen, buffer);
            None
        }
        Popup::Costs(view) => {
            crate::ui::popups::costs::view::draw(app, view, theme, screen, buffer);
            None
        }
        // Drawn as part of the layout.
        Popup::Peek(_) => None,
        Popup::EventLog(view) => {
            crate::ui::popups::event_log::view::draw(app, view, theme, screen, buffer)
        }
        Popup::Comment(comment) => write(app, popup, comment, theme, screen, buffer),
        Popup::Task(form) => {
            crate::ui::popups::task_form::view::draw(app, popup, form, theme, screen, buffer)
        }
        Popup::Confirm(question) => {
            confirm(app, popup, question, theme, screen, buffer);
            None
        }
    }
}

fn read(
    app: &App,
    reader: &Reader,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = reader::rows(app, reader, theme);
    let area = reader::place(screen, reader, lines.len());
    let (list, first) = reader::list(reader, area, lines.len());
    let height = area.height.saturating_sub(2);
    let below = frame::beyond(lines.len(), first, height, theme);
    let title = reader::title(app, reader);
    let inner = open(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, lines.len());
    frame::scrollbar(bar, theme.title, buffer);
    let mut before = None;
    for (line, row) in lines.iter().skip(first).zip(list.rows()) {
        (&line.line).render(row, buffer);
        let entry = line.selects();
        let is_one_of_some = line.entry.is_some() || app.diff.files().len() > 1;
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

fn pick(app: &App, picker: &Picker, theme: &Theme, screen: Rect, buffer: &mut Buffer) -> Position {
    let picks = picker_rows::picks(app, picker);
    let area::Place { area, list, first } = picker::place::picker(app, screen, picker, picks.len());
    let title = match picker.choice {
        Choice::Palette { .. } => "Actions".into(),
        Choice::Models => "Model".into(),
        Choice::Themes => "Theme".into(),
        Choice::Copy => "Copy".into(),
        Choice::Scopes(_) => "Allow for the whole team until crewdeck ends".into(),
        Choice::Rules => format!("Allowed until crewdeck ends: {} revokes", takes(app)),
    };
    let below = frame::position(Some(picker.row), picks.len(), list.height, theme);
    let inner = open(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, picks.len());
    frame::scrollbar(bar, theme.title, buffer);
    let (cursor, _) = search(&picker.search, theme, inner, buffer);
    if picks.is_empty() {
        let words = nothing(app, picker);
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

/// Returns the key that accepts the selected row.
fn takes(app: &App) -> String {
    app.prefs.keymap.key(Context::Picker, Action::Accept)
}

fn nothing(app: &App, picker: &Picker) -> String {
    let written = picker.search.text().trim();
    match (&picker.choice, &app.model.models) {
        (Choice::Scopes(_), _) => {
            let key = app.prefs.keymap.key(Context::Picker, Action::Back);
            format!("No matches. {key} cancels.")
        }
        (Choice::Rules, _) if app.model.rules.is_empty() => {
            let context = Context::In(Pane::Needs);
            let key = app.prefs.keymap.key(context, Action::ApproveForTeam);
            format!("No permissions yet. {key} on a permission request adds one.")
        }
        (Choice::Palette { .. } | Choice::Copy | Choice::Themes | Choice::Rules, _) => {
            "No matches.".into()
        }
        (Choice::Models, _) if !written.is_empty() => {
            let key = takes(app);
            format!("No listed model matches. {key} uses the name as typed: {written}")
        }
        (Choice::Models, Models::Unknown | Models::Asked) => "Loading models…".into(),
        (Choice::Models, Models::Listed(_)) => {
            let key = takes(app);
            format!("The server lists no models. Type a name and press {key}.")
        }
    }
}

fn write(
    app: &App,
    popup: &Popup,
    comment: &CommentBox,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let place = confirm::place(app, screen, popup);
    let title = confirm::comment_title(app, comment);
    let inner = open(app, title, Vec::new(), theme, place.area, buffer);
    let text = text_areas::comment(app, popup);
    if text.is_empty() {
        return None;
    }
    let (head, _) = cut_top(inner, 1);
    let about = app.model.requests.get(&comment.request);
    let about = about.map_or_else(String::new, |request| {
        sentence::heading(request, &app.model.board, usize::from(head.width))
    });
    Line::styled(fit(&about, usize::from(head.width)), theme.dim).render(head, buffer);
    buttons(app, popup, place.buttons, theme, buffer);
    let window = comment.text.window(Room::from(text));
    for (line, row) in window.rows.iter().zip(text.rows()) {
        Line::styled(line.as_str(), theme.text).render(row, buffer);
    }
    frame::text_beyond(window.beyond, theme, place.area, buffer);
    let at = Position::new(text.x + window.cursor.1, text.y + window.cursor.0);
    (comment.stage == CommentStage::Writing).then_some(at)
}

/// Draws the buttons.
pub(in crate::ui) fn buttons(
    app: &App,
    popup: &Popup,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    for placed in buttons::box_buttons(app, popup, row) {
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
    app: &App,
    popup: &Popup,
    question: &Question,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) {
    let place = confirm::place(app, screen, popup);
    let title = confirm::question_title(question);
    let inner = open(app, title, Vec::new(), theme, place.area, buffer);
    let lines = confirm::lines(app, question, screen);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        Line::styled(line, theme.text).render(row, buffer);
    }
    buttons(app, popup, place.buttons, theme, buffer);
}
