//! Draws the event log: one line per event, newest last, and below the list the full text of the selected line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame;
use crate::ui::frame::popup::{open, search};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::{About, LINES_MAX, LogLine, LogSeverity, Topic};
use crate::ui::popups::event_log::{EventLogPopup, place};
use crate::ui::text::{count, fit, format_time_with_seconds, pad, width, wrap, wrap_first_lines};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::centered_rect;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum width of the list, in columns, to show the word for a line's topic in addition to the symbol.
const KIND_FROM: u16 = 72;
/// Width, in columns, of the column with the topic of each event.
const TOPIC_WIDTH: usize = 9;

/// Draws the event log. Returns the position of the text cursor while the user types the filter.
pub fn draw(
    app: &App,
    view: &EventLogPopup,
    theme: &Theme,
    screen: Rect,
    buffer: &mut Buffer,
) -> TextCursor {
    let rows = view.rows(app);
    let title = title(app, view, rows.len());
    if app.model.event_log.is_empty() {
        empty(app, &title, theme, screen, buffer);
        return None;
    }
    let row = view.row(&rows);
    let place = place(app, view, rows.len(), row.unwrap_or(0));
    let list = place.rows;
    let below = frame::position(row, rows.len(), list.list.height, theme);
    open(app, &title, below, theme, list.area, buffer);
    let bar = Scrollbar::of_list(list.area, list.list, list.first, rows.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    let cursor = place
        .search
        .map(|row| search(&view.filter, theme, row, buffer).0);
    if let Some(row) = place.cut {
        Line::styled(fit(&cut(app), usize::from(row.width)), theme.dim).render(row, buffer);
    }
    if rows.is_empty() {
        let context = if view.is_typing {
            Context::Filter
        } else {
            Context::EventLog
        };
        let key = app.prefs.keymap.key(context, Action::Back);
        let words = format!("No matches. {key} clears the filter.");
        Line::styled(words, theme.dim).render(list.list, buffer);
    }
    let shown = rows.iter().enumerate().skip(list.first);
    for ((at, line), area) in shown.zip(list.list.rows()) {
        let mark = if Some(at) == row {
            frame::RowHighlight::Selected
        } else {
            frame::RowHighlight::Plain
        };
        let spans = spans(&app.prefs, line, list.list.width, theme);
        frame::row(mark, spans, theme, area, buffer);
    }
    if let Some(area) = place.whole {
        let selected = row.and_then(|at| rows.get(at)).copied();
        let is_cut = selected.is_some_and(|line| {
            let room = words_room(&app.prefs, line, list.list.width, theme);
            width(&shown_words(line)) > room
        });
        whole(&app.prefs, view, selected, is_cut, theme, area, buffer);
    }
    cursor
}

fn title(model: &CrewModel, view: &EventLogPopup, shown: usize) -> String {
    let all = model.event_log.len();
    if view.is_filtered() {
        let words = view.filter.text().trim();
        return format!("Event log: {words} ({shown} of {all})");
    }
    "Event log".into()
}

/// Returns the note above the oldest line in memory, which says where the older events are.
fn cut(model: &CrewModel) -> String {
    let most = count(LINES_MAX as u64);
    match model.journal_path() {
        Some(path) => format!("  … older events: {path} (at most {most} shown)"),
        None => format!("  … older events are not kept (at most {most} shown)"),
    }
}

fn empty(app: &App, title: &str, theme: &Theme, screen: Rect, buffer: &mut Buffer) {
    let words = "No events yet. This log lists errors, and changes to tasks, messages, requests and teammates with their causes.";
    let columns = 72.min(screen.width.saturating_sub(4));
    let lines = wrap(words, usize::from(columns.saturating_sub(4)));
    let rows = u16::try_from(lines.len()).unwrap_or(1);
    let area = centered_rect(screen, columns, rows + 2);
    let inner = open(app, title, Vec::new(), theme, area, buffer);
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        Line::styled(line, theme.dim).render(row, buffer);
    }
}

/// Returns the text of a line on one row of the screen, with a blank for each line break.
pub fn shown_words(line: &LogLine) -> String {
    line.words.replace('⏎', " ")
}

/// Returns the columns of a line before its text: time, symbol and, in a list of enough `columns`, topic.
fn head(prefs: &Preferences, line: &LogLine, columns: u16, theme: &Theme) -> Vec<Span<'static>> {
    let (shape, style) = look(line, theme);
    let mut out = vec![
        Span::styled(
            format!("{} ", format_time_with_seconds(line.at, &prefs.zone)),
            theme.dim,
        ),
        Span::styled(format!("{shape} "), style),
    ];
    if columns >= KIND_FROM {
        let kind = if line.severity.is_trouble() {
            style
        } else {
            theme.dim
        };
        out.push(Span::styled(pad(line.topic.word(), TOPIC_WIDTH), kind));
    }
    out
}

/// Returns the maximum width of a line's text in a list of `columns` columns.
fn words_room(prefs: &Preferences, line: &LogLine, columns: u16, theme: &Theme) -> usize {
    let head = head(prefs, line, columns, theme);
    let used: usize = head.iter().map(|s| width(&s.content)).sum();
    // The mark of the selected row takes two columns.
    usize::from(columns).saturating_sub(used + 2)
}

fn spans(prefs: &Preferences, line: &LogLine, columns: u16, theme: &Theme) -> Vec<Span<'static>> {
    let mut out = head(prefs, line, columns, theme);
    let words = fit(&shown_words(line), words_room(prefs, line, columns, theme));
    out.push(Span::styled(words, theme.text));
    out
}

/// Returns the symbol and style of a line. Warnings and errors have one symbol and style for each severity, plain lines
/// one for each topic. All lines with [`LogSeverity::Good`] have the same style; they have the symbol of their topic,
/// but a check mark for tasks.
fn look(line: &LogLine, theme: &Theme) -> (&'static str, Style) {
    match (line.severity, line.topic) {
        (LogSeverity::Warn, _) => ("▲", theme.warn),
        (LogSeverity::Error, _) => ("✗", theme.error),
        (LogSeverity::Good, Topic::Task) => ("✓", theme.ok),
        (LogSeverity::Good, topic) => (shape(topic), theme.ok),
        (LogSeverity::Plain, Topic::Task) => (shape(Topic::Task), theme.accent),
        (LogSeverity::Plain, Topic::Mail) => (shape(Topic::Mail), theme.user),
        (LogSeverity::Plain, Topic::Request) => (shape(Topic::Request), theme.waiting),
        (LogSeverity::Plain, Topic::Team) => (shape(Topic::Team), theme.working),
        (LogSeverity::Plain, Topic::Worktree) => (shape(Topic::Worktree), theme.accent),
        (LogSeverity::Plain, Topic::Model | Topic::Job) => (shape(line.topic), theme.tool),
        (LogSeverity::Plain, Topic::Notice) => (shape(Topic::Notice), theme.dim),
    }
}

fn shape(topic: Topic) -> &'static str {
    match topic {
        Topic::Task => "#",
        Topic::Mail => "→",
        Topic::Request => "◆",
        Topic::Team => "⊙",
        Topic::Worktree => "├",
        Topic::Model => "◔",
        Topic::Job => "$",
        Topic::Notice => "·",
    }
}

/// Returns the text that follows the topic of the selected line: the `who:` terms with which the filter finds the line,
/// and what Enter opens.
fn about(prefs: &Preferences, line: &LogLine) -> String {
    let key = prefs.keymap.key(Context::EventLog, Action::Open);
    let who = line.who.iter().map(|who| format!(" who:{who}"));
    let shows = match &line.about {
        About::Nothing => String::new(),
        About::Task(id) => format!(" · {key} shows task {id}"),
        About::Agent(name) => format!(" · {key} shows {name}"),
        About::Message(_) => format!(" · {key} shows the message and its thread"),
        About::Request(..) => format!(" · {key} shows the request or agent"),
        About::Job(_) => format!(" · {key} shows the job"),
    };
    who.chain([shows]).collect()
}

/// Draws the area below the list: the full text of the selected line if the list cuts it (`is_cut`) or, if the filter is
/// invalid, the first error in the filter.
fn whole(
    prefs: &Preferences,
    view: &EventLogPopup,
    selected: Option<&LogLine>,
    is_cut: bool,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let mut rows = area.rows();
    let Some(rule) = rows.next() else { return };
    let columns = usize::from(rule.width);
    Line::styled("─".repeat(columns), theme.border).render(rule, buffer);
    let query = view.query();
    let problem = query.errors().first().map(ToString::to_string);
    let (text, style) = match (problem, selected) {
        (Some(problem), _) => (problem, theme.warn),
        (None, Some(line)) if is_cut => (shown_words(line), theme.text),
        (None, Some(_)) => (String::new(), theme.text),
        (None, None) => return,
    };
    let room = usize::from(area.height) - 1;
    let mut lines = wrap_first_lines(&text, columns.saturating_sub(1), room + 1);
    lines.retain(|line| !line.is_empty());
    if lines.len() > room {
        lines.truncate(room);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last}…"), columns.saturating_sub(1));
        }
    }
    for line in lines {
        if let Some(row) = rows.next() {
            Line::styled(format!(" {line}"), style).render(row, buffer);
        }
    }
    // If a row is left, it shows the terms with which the filter finds the line, and what Enter opens.
    if let (Some(row), Some(line)) = (rows.next(), selected) {
        let words = format!(" kind:{}{}", line.topic.word(), about(prefs, line));
        Line::styled(fit(&words, columns), theme.dim).render(row, buffer);
    }
}
