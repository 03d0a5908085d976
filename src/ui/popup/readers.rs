//! Content and layout of pagers: tasks, messages, problems, skills. `help` has the key bindings.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::domain::text::harmless;
use crate::domain::todo::TodoStatus;
use crate::ui::diff::{self, PageRow, Spot};
use crate::ui::known::thread;
use crate::ui::popup::help::{self, Entry};
use crate::ui::popup::{Reader, Searching, Text};
use crate::ui::popup::{pickers, skills, task_page};
use crate::ui::state::UiState;
use crate::ui::state::rows as lists;
use crate::ui::textual::wrap;
use crate::ui::theme::Theme;
use crate::ui::{look, problems};

/// Maximum width of a pager, in columns.
const WIDTH_MAX: u16 = 96;

/// Returns the largest area of a pager.
pub fn area(screen: Rect) -> Rect {
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = screen.height.saturating_sub(4).min(40);
    centered(screen, width, height)
}

/// Minimum rows of a popup with text, inside its border; a lower one is easily overlooked.
pub const ROWS_MIN: u16 = 5;

/// Returns the area of a pager for a text of `lines` lines; a short text gets a lower popup. The help keeps its size
/// while its rows are filtered.
pub fn place(screen: Rect, reader: &Reader, lines: usize) -> Rect {
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

/// Returns the height of a popup with border around `lines` lines of text.
pub fn framed(lines: usize) -> u16 {
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX);
    wanted.max(ROWS_MIN).saturating_add(2)
}

/// Returns a centered rectangle, clipped to `screen`.
pub fn centered(screen: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(screen.width);
    let height = height.min(screen.height);
    Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - height) / 2,
        width,
        height,
    }
}

/// Maximum columns beside a popup that are too few to be readable.
pub const BESIDE_MAX: u16 = 4;

/// Returns `width`, or the screen's width if only a few unreadable columns would be left beside the popup.
pub fn whole_or(screen: Rect, width: u16) -> u16 {
    if screen.width.saturating_sub(width).div_ceil(2) <= BESIDE_MAX {
        screen.width
    } else {
        width
    }
}

/// Returns a rectangle centered at the bottom, above the hint lines, so that the content at the top of the screen
/// stays readable.
pub fn low(screen: Rect, width: u16, height: u16) -> Rect {
    let area = centered(screen, whole_or(screen, width), height);
    Rect {
        y: screen
            .bottom()
            .saturating_sub(area.height + 2)
            .max(screen.y),
        ..area
    }
}

/// Returns the first visible line of an opened message; earlier messages of its thread are above.
pub fn begin(state: &UiState, letter: u64) -> usize {
    let width = usize::from(area(state.size).width.saturating_sub(4).max(1));
    let traced = state.letters.get(letter);
    let thread = traced.map(|t| thread::lay_out(state, t, width, &Theme::default()));
    thread.map_or(0, |thread| thread.opened)
}

/// Returns the title of a pager.
pub fn title(state: &UiState, reader: &Reader) -> String {
    match &reader.text {
        Text::Help(_) => "Keys".into(),
        Text::Todo(at) => format!("Todo {}", at + 1),
        Text::Task(id) => format!("Task {id}"),
        Text::Diff(id) => {
            let files = state.diff.files();
            match files.get(reader.row) {
                Some(file) if files.len() > 1 => {
                    let at = format!("{}/{}", reader.row + 1, files.len());
                    format!("Changes of task {id} · {at} {file}")
                }
                Some(_) | None => format!("Changes of task {id}"),
            }
        }
        Text::Letter(number) => state
            .letters
            .get(*number)
            .map_or_else(|| "Message".into(), |t| thread::title(state, t)),
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
pub fn rows(state: &UiState, reader: &Reader, theme: &Theme) -> Vec<Row> {
    let width = area(state.size).width.saturating_sub(4);
    match &reader.text {
        Text::Help(contexts) => help::rows(state, contexts, reader, width.max(1).into(), theme),
        Text::Diff(_) => {
            let rows = diff::page(&state.diff, width.max(1).into(), theme);
            rows.into_iter().map(Row::from).collect()
        }
        Text::Todo(_) | Text::Task(_) | Text::Letter(_) | Text::Problems | Text::Skills => {
            let lines = lines(state, reader, width, theme).into_iter();
            lines.map(Row::words).collect()
        }
    }
}

/// Returns the area of the lines in a popup at `place`, and the first visible one.
pub fn list(reader: &Reader, place: Rect, len: usize) -> (Rect, usize) {
    let inside = pickers::inside(place);
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
pub fn lines(state: &UiState, reader: &Reader, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    match &reader.text {
        Text::Help(contexts) => {
            let rows = help::rows(state, contexts, reader, width, theme);
            rows.into_iter().map(|row| row.line).collect()
        }
        Text::Todo(at) => todo(state, *at, width, theme),
        Text::Task(id) => match state.board.get(*id) {
            Some(task) => task_page::lines(state, task, width, theme),
            None => vec![plain("This task is no longer on the board.", theme.dim)],
        },
        Text::Diff(_) => {
            let rows = diff::page(&state.diff, width, theme).into_iter();
            rows.map(|row| Line::from(row.row.spans)).collect()
        }
        Text::Letter(number) => match state.letters.get(*number) {
            Some(traced) => thread::lay_out(state, traced, width, theme).lines,
            None => vec![plain("This message is no longer kept.", theme.dim)],
        },
        Text::Problems => problems::lines(state, width, theme),
        Text::Skills => skills::lines(&state.skills, width, theme),
    }
}

fn plain(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::styled(text.into(), style)
}

/// Returns the full text of a todo item.
fn todo(state: &UiState, at: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(item) = lists::todo(state).get(at) else {
        return vec![plain("This item is no longer on the list.", theme.dim)];
    };
    let (shape, style) = look::todo(item.status, theme);
    let words = match item.status {
        TodoStatus::Pending => "not started",
        TodoStatus::InProgress => "in progress",
        TodoStatus::Completed => "done",
    };
    let mut out = vec![plain(format!("{shape} {words}"), style)];
    out.push(Line::default());
    let text = wrap(&harmless(&item.text), width).into_iter();
    out.extend(text.map(|line| plain(line, theme.text)));
    out
}
