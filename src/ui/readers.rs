//! The texts of the popups that are read: a task, a letter, the problems, the skills; `help` has the keys.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::help::{self, Entry};
use super::popup::{Reader, Searching, Text};
use super::state::UiState;
use super::textual::wrap;
use super::theme::Theme;
use super::{look, pickers, problems, rows as lists, skills, task_page, thread};
use crate::domain::text::harmless;
use crate::domain::todo::TodoStatus;

/// Widest popup of text, in columns.
const WIDTH_MAX: u16 = 96;

/// Where a popup of text lies on a screen.
pub fn area(screen: Rect) -> Rect {
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = screen.height.saturating_sub(4).min(40);
    centered(screen, width, height)
}

/// Least rows of a popup of words, inside of its frame: a strip of one or two is overlooked.
pub const ROWS_MIN: u16 = 5;

/// Where a popup of a text of so many lines lies: a short text gets a low frame. The frame of the help does not change while
/// its rows are filtered.
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

/// The height of the frame around so many lines of words.
pub fn framed(lines: usize) -> u16 {
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX);
    wanted.max(ROWS_MIN).saturating_add(2)
}

/// A rectangle in the middle of another, cut to it.
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

/// A rectangle in the middle of the lower edge of another, above the lines with hints: what it is about, which lies on top
/// of the screen, can be read meanwhile.
pub fn low(screen: Rect, width: u16, height: u16) -> Rect {
    let area = centered(screen, width, height);
    Rect {
        y: screen
            .bottom()
            .saturating_sub(area.height + 2)
            .max(screen.y),
        ..area
    }
}

/// The first line in view of a letter that is opened: its thread begins above it.
pub fn begin(state: &UiState, letter: u64) -> usize {
    let width = usize::from(area(state.size).width.saturating_sub(4).max(1));
    let traced = state.letters.get(letter);
    let thread = traced.map(|t| thread::lay_out(state, t, width, &Theme::default()));
    thread.map_or(0, |thread| thread.opened)
}

/// The title of a popup of text.
pub fn title(state: &UiState, reader: &Reader) -> String {
    match &reader.text {
        Text::Help(_) => "Keys".into(),
        Text::Todo(at) => format!("Todo {}", at + 1),
        Text::Task(id) => format!("Task {id}"),
        Text::Diff(id) => format!("Changes of task {id}"),
        Text::Letter(number) => state
            .letters
            .get(*number)
            .map_or_else(|| "Letter".into(), |t| thread::title(state, t)),
        Text::Problems => "Problems".into(),
        Text::Skills => "Skills".into(),
    }
}

/// A line of a popup of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its words.
    pub line: Line<'static>,
    /// The entry of the help that it is a line of.
    pub entry: Option<Entry>,
}

/// The lines of a popup of text on the screen.
pub fn rows(state: &UiState, reader: &Reader, theme: &Theme) -> Vec<Row> {
    let width = area(state.size).width.saturating_sub(4);
    match &reader.text {
        Text::Help(contexts) => help::rows(state, contexts, reader, width.max(1).into(), theme),
        Text::Todo(_)
        | Text::Task(_)
        | Text::Diff(_)
        | Text::Letter(_)
        | Text::Problems
        | Text::Skills => {
            let lines = lines(state, reader, width, theme).into_iter();
            lines.map(|line| Row { line, entry: None }).collect()
        }
    }
}

/// Where the lines of a popup at `place` lie, and which is the first one in view.
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

/// The lines of a popup of text, `width` columns wide.
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
        Text::Diff(_) => diff(&state.diff, width, theme),
        Text::Letter(number) => match state.letters.get(*number) {
            Some(traced) => thread::lay_out(state, traced, width, theme).lines,
            None => vec![plain("This letter is too old to be kept here.", theme.dim)],
        },
        Text::Problems => problems::lines(state, width, theme),
        Text::Skills => skills::lines(&state.skills, width, theme),
    }
}

/// A unified diff, its lines coloured by what they do.
fn diff(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut part = DiffPart::Summary;
    let mut out = Vec::new();
    for line in harmless(text).lines() {
        if line.starts_with("diff --git ") {
            part = DiffPart::Head;
        } else if line.starts_with("@@") {
            part = DiffPart::Changes;
        }
        let style = match (part, line.as_bytes()) {
            (DiffPart::Head, [b'd', b'i', b'f', ..]) => theme.heading,
            (DiffPart::Head, _) => theme.dim,
            (DiffPart::Changes, [b'+', ..]) => theme.added,
            (DiffPart::Changes, [b'-', ..]) => theme.removed,
            (DiffPart::Changes, [b'@', ..]) => theme.accent,
            (DiffPart::Summary | DiffPart::Changes, _) => theme.text,
        };
        let mut rows = wrap(line, width);
        if rows.is_empty() {
            rows.push(String::new());
        }
        out.extend(rows.into_iter().map(|row| plain(row, style)));
    }
    out
}

/// What a line of a diff belongs to: the same sign says different things there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffPart {
    /// The changed files, before the changes.
    Summary,
    /// What is said of a file before its changes.
    Head,
    /// The changes of a file.
    Changes,
}

fn plain(text: impl Into<String>, style: Style) -> Line<'static> {
    Line::styled(text.into(), style)
}

/// An item of the shown todo list, whole.
fn todo(state: &UiState, at: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(item) = lists::todo(state).get(at) else {
        return vec![plain("This item is no longer on the list.", theme.dim)];
    };
    let (shape, style) = look::todo(item.status, theme);
    let words = match item.status {
        TodoStatus::Pending => "not begun",
        TodoStatus::InProgress => "in progress",
        TodoStatus::Completed => "done",
    };
    let mut out = vec![plain(format!("{shape} {words}"), style)];
    out.push(Line::default());
    let text = wrap(&harmless(&item.text), width).into_iter();
    out.extend(text.map(|line| plain(line, theme.text)));
    out
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::TaskId;
    use crate::protocol::EventKind;
    use crate::ui::fixture::{started, tell};
    use crate::ui::popup::Popup;
    use crate::ui::theme::{ColorDepth, ThemeName};

    #[test]
    fn a_diff_keeps_its_columns_and_its_empty_lines_and_its_heads_stand_out() {
        let mut state = started(100, 30);
        let shown = EventKind::DiffShown {
            task: TaskId(4),
            stat: " a.sh  | 1 +\n b.txt | 1 -\n".into(),
            text: "diff --git a/a.sh b/a.sh\nindex 1..2 100644\n--- a/a.sh\n+++ b/a.sh\n\
                   @@ -1,2 +1,3 @@\n one\n \n+two\n--- three\n"
                .into(),
            untracked: vec![],
        };
        tell(&mut state, vec![shown]);
        let theme = Theme::new(ThemeName::Dark, ColorDepth::True);
        let Some(Popup::Reader(reader)) = state.popups.last() else {
            panic!("nothing is shown");
        };
        let found: Vec<(String, Style)> = lines(&state, reader, 40, &theme)
            .into_iter()
            .map(|line| (line.to_string(), line.style))
            .collect();
        let expected = [
            (" a.sh  | 1 +", theme.text),
            (" b.txt | 1 -", theme.text),
            ("", theme.text),
            ("diff --git a/a.sh b/a.sh", theme.heading),
            ("index 1..2 100644", theme.dim),
            ("--- a/a.sh", theme.dim),
            ("+++ b/a.sh", theme.dim),
            ("@@ -1,2 +1,3 @@", theme.accent),
            (" one", theme.text),
            ("", theme.text),
            ("+two", theme.added),
            // A line that begins with two dashes, taken away.
            ("--- three", theme.removed),
        ];
        assert_eq!(
            found,
            expected.map(|(text, style)| (text.to_string(), style))
        );
    }
}
