//! Content and layout of pagers: tasks, messages, problems, skills. `help` has the key bindings.

mod feature;
pub(in crate::ui) mod text_search;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::domain::text::escape_control_chars;
use crate::domain::todo::TodoStatus;
use crate::ui::app::App;
use crate::ui::app::popup::{Pager, Popup, Text, push};
use crate::ui::diff::{PageRow, Spot, page};
use crate::ui::model::style;
use crate::ui::popups::help::Entry;
use crate::ui::popups::{help, problems, reader, skills, task_page, thread};
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::area::{centered, framed};
use crate::ui::widgets::line_input::Searching;
pub use feature::ReaderPopup;

/// Maximum width of a pager, in columns.
const WIDTH_MAX: u16 = 96;

/// Returns the largest area of a pager.
pub fn area(screen: Rect) -> Rect {
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = screen.height.saturating_sub(4).min(40);
    centered(screen, width, height)
}

/// Where a popup of a pager for a text of ` lines` lines; a short text gets a lower popup. The help keeps its size
/// while its rows are filtered.
pub fn place(screen: Rect, reader: &Pager, lines: usize) -> Rect {
    let most = area(screen);
    match &reader.text {
        Text::Help(_) => most,
        Text::Todo(_)
        | Text::Task(_)
        | Text::Diff(_)
        | Text::Letter(_)
        | Text::Problems
        | Text::Skills => centered(screen, most.width, framed(lines).min(most.height)),
    }
}

/// The first visible line of an opened message; earlier messages of its thread are above.
pub fn begin(app: &App, letter: u64) -> usize {
    let width = usize::from(area(app.size).width.saturating_sub(4).max(1));
    let traced = app.model.letters.get(letter);
    let thread = traced.map(|t| thread::lay_out(app, t, width, &Theme::default()));
    thread.map_or(0, |thread| thread.opened)
}

/// Returns the title of a pager.
pub fn title(app: &App, reader: &Pager) -> String {
    match &reader.text {
        Text::Help(_) => "Keys".into(),
        Text::Todo(at) => format!("Todo {}", at + 1),
        Text::Task(id) => format!("Task {id}"),
        Text::Diff(id) => {
            let files = app.diff.files();
            match files.get(reader.row) {
                Some(file) if files.len() > 1 => {
                    let at = format!("{}/{}", reader.row + 1, files.len());
                    format!("Changes of task {id} · {at} {file}")
                }
                Some(_) | None => format!("Changes of task {id}"),
            }
        }
        Text::Letter(number) => app
            .model
            .letters
            .get(*number)
            .map_or_else(|| "Message".into(), |t| thread::title(app, t)),
        Text::Problems => "Problems".into(),
        Text::Skills => "Skills".into(),
    }
}

/// A line of a pager.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The text.
    pub line: Line<'static>,
    /// How many spans from the left are decoration (line numbers, signs, continuation marks), which the search skips.
    pub margin: usize,
    /// The help entry that the line belongs to.
    pub entry: Option<Entry>,
    /// The position of the line in a diff, for moving between files.
    pub spot: Option<Spot>,
}

impl Row {
    /// Returns the value of [`Reader::row`] that the line stands for: a help entry or a file heading.
    pub fn selects(&self) -> Option<usize> {
        match (self.entry, self.spot) {
            (Some(entry), _) => Some(entry.at),
            (None, Some(Spot::Begins(file))) => Some(file),
            (None, Some(Spot::LeadsTo(_)) | None) => None,
        }
    }

    /// Creates a line of plain text.
    pub fn words(line: Line<'static>) -> Row {
        Row {
            line,
            margin: 0,
            entry: None,
            spot: None,
        }
    }
}

impl From<PageRow> for Row {
    fn from(PageRow { row, spot }: PageRow) -> Row {
        Row {
            margin: row.margin,
            spot,
            ..Row::words(Line::from(row.spans))
        }
    }
}

/// Returns the lines of a pager as they are on the screen.
pub fn rows(app: &App, reader: &Pager, theme: &Theme) -> Vec<Row> {
    let width = area(app.size).width.saturating_sub(4);
    match &reader.text {
        Text::Help(contexts) => {
            help::rows(&app.prefs, contexts, reader, width.max(1).into(), theme)
        }
        Text::Diff(_) => {
            let rows = page(&app.diff, width.max(1).into(), theme);
            rows.into_iter().map(Row::from).collect()
        }
        Text::Todo(_) | Text::Task(_) | Text::Letter(_) | Text::Problems | Text::Skills => {
            let lines = lines(app, reader, width, theme).into_iter();
            lines.map(Row::words).collect()
        }
    }
}

/// Returns the area of the lines in a popup at `place`, and the first visible one.
pub fn list(reader: &Pager, place: Rect, len: usize) -> (Rect, usize) {
    let inside = area::inside(place);
    let above = match (&reader.text, reader.searching) {
        (Text::Help(_), Searching::Typing) => 1.min(inside.height),
        (_, Searching::Typing | Searching::Rest) => 0,
    };
    let list = Rect {
        y: inside.y + above,
        height: inside.height - above,
        ..inside
    };
    let first = reader.scroll.min(len.saturating_sub(inside.height.into()));
    (list, first)
}

/// Returns the lines of a pager, `width` columns wide.
pub fn lines(app: &App, reader: &Pager, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    match &reader.text {
        Text::Help(contexts) => {
            let rows = help::rows(&app.prefs, contexts, reader, width, theme);
            rows.into_iter().map(|row| row.line).collect()
        }
        Text::Todo(at) => todo(app, *at, width, theme),
        Text::Task(id) => match app.model.board.get(*id) {
            Some(task) => task_page::lines(app, task, width, theme),
            None => vec![plain("This task is no longer on the board.", theme.dim)],
        },
        Text::Diff(_) => {
            let rows = page(&app.diff, width, theme).into_iter();
            rows.map(|row| Line::from(row.row.spans)).collect()
        }
        Text::Letter(number) => match app.model.letters.get(*number) {
            Some(traced) => thread::lay_out(app, traced, width, theme).lines,
            None => vec![plain("This message is no longer kept.", theme.dim)],
        },
        Text::Problems => problems::lines(app, width, theme),
        Text::Skills => skills::lines(&app.model.skills, width, theme),
    }
}

fn plain(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::styled(text.into(), style)
}

/// Returns the full text of a todo item.
fn todo(app: &App, at: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(item) = app.shown_todo().get(at) else {
        return vec![plain("This item is no longer on the list.", theme.dim)];
    };
    let (shape, style) = style::todo(item.status, theme);
    let words = match item.status {
        TodoStatus::Pending => "not started",
        TodoStatus::InProgress => "in progress",
        TodoStatus::Completed => "done",
    };
    let mut out = vec![plain(format!("{shape} {words}"), style)];
    out.push(Line::default());
    let text = wrap(&escape_control_chars(&item.text), width).into_iter();
    out.extend(text.map(|line| plain(line, theme.text)));
    out
}

/// Opens a message in its thread.
pub fn letter_and_thread(app: &mut App, number: u64) {
    let scroll = reader::begin(app, number);
    let mut popup = Popup::read(Text::Letter(number));
    if let Popup::Pager(reader) = &mut popup {
        reader.scroll = scroll;
    }
    push(app, popup);
}

/// Closes the help if it is the top popup.
pub fn close_help(app: &mut App) {
    let is_help = |p: &Popup| matches!(p, Popup::Pager(r) if matches!(r.text, Text::Help(_)));
    app.popups.pop_if(|popup| is_help(popup));
}
