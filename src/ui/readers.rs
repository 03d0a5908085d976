//! The texts of the popups that are read: the keys, a task, a letter, the notices, the skills.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::keymap::{self, Action, Context};
use super::letters::Traced;
use super::pane::Pane;
use super::popup::{Reader, Searching, Text};
use super::state::UiState;
use super::textual::{clock, pad, width as columns, wrap};
use super::theme::Theme;
use super::{keys, look, pickers, problems, rows as lists, sentence, skills, task_page};
use crate::domain::text::{harmless, one_line};
use crate::domain::todo::TodoStatus;

/// Most letters of a thread that are shown beside the one that is read.
const THREAD_MAX: usize = 20;

/// Widest popup of text, in columns.
const WIDTH_MAX: u16 = 96;

/// Where a popup of text lies on a screen.
pub fn area(screen: Rect) -> Rect {
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = screen.height.saturating_sub(4).min(40);
    centered(screen, width, height)
}

/// Where a popup of a text of so many lines lies: a short text gets a low frame.
pub fn place(screen: Rect, reader: &Reader, lines: usize) -> Rect {
    let most = area(screen);
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
    match reader.searching {
        Searching::Rest => centered(screen, most.width, wanted.min(most.height)),
        Searching::Typing => most,
    }
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

/// The title of a popup of text.
pub fn title(state: &UiState, reader: &Reader) -> String {
    match &reader.text {
        Text::Help(_) => "Keys".into(),
        Text::Todo(at) => format!("Todo {}", at + 1),
        Text::Task(id) => format!("Task {id}"),
        Text::Diff(id) => format!("Changes of task {id}"),
        Text::Letter(number) => state.letters.get(*number).map_or_else(
            || "Letter".into(),
            |t| one_line(&format!("Letter from {}", t.letter.from)),
        ),
        Text::Notices => "Notices".into(),
        Text::Problems => "Problems".into(),
        Text::Skills => "Skills".into(),
    }
}

/// A line of a popup of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its words.
    pub line: Line<'static>,
    /// What a click on it does once the popup is closed: the rows of keys that count where the help was opened.
    pub does: Option<Action>,
}

/// The lines of a popup of text on the screen.
pub fn rows(state: &UiState, reader: &Reader, theme: &Theme) -> Vec<Row> {
    let width = area(state.size).width.saturating_sub(4);
    match &reader.text {
        Text::Help(contexts) => help(state, contexts, reader, width.max(1).into(), theme),
        Text::Todo(_)
        | Text::Task(_)
        | Text::Diff(_)
        | Text::Letter(_)
        | Text::Notices
        | Text::Problems
        | Text::Skills => {
            let lines = lines(state, reader, width, theme).into_iter();
            lines.map(|line| Row { line, does: None }).collect()
        }
    }
}

/// Where the lines of a popup at `place` lie, and which is the first one in view.
pub fn list(reader: &Reader, place: Rect, len: usize) -> (Rect, usize) {
    let inside = pickers::inside(place);
    let above = match reader.searching {
        Searching::Rest => 0,
        Searching::Typing => 1.min(inside.height),
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
            let rows = help(state, contexts, reader, width, theme);
            rows.into_iter().map(|row| row.line).collect()
        }
        Text::Todo(at) => todo(state, *at, width, theme),
        Text::Task(id) => match state.board.get(*id) {
            Some(task) => task_page::lines(state, task, width, theme),
            None => vec![plain("This task is no longer on the board.", theme.dim)],
        },
        Text::Diff(_) => diff(&state.diff, width, theme),
        Text::Letter(number) => match state.letters.get(*number) {
            Some(traced) => thread(state, traced, width, theme),
            None => vec![plain("This letter is too old to be kept here.", theme.dim)],
        },
        Text::Notices => notices(state, width, theme),
        Text::Problems => problems::lines(state, width, theme),
        Text::Skills => skills::lines(&state.skills, width, theme),
    }
}

/// A unified diff, its lines coloured by what they do.
fn diff(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let style = |line: &str| match line.as_bytes() {
        [b'+', ..] if !line.starts_with("+++") => theme.added,
        [b'-', ..] if !line.starts_with("---") => theme.removed,
        [b'@', b'@', ..] => theme.accent,
        _ => theme.text,
    };
    let mut out = Vec::new();
    for line in harmless(text).lines() {
        let rows = wrap(line, width);
        out.extend(rows.into_iter().map(|row| plain(row, style(line))));
    }
    out
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

const EVERY_CONTEXT: [Context; 11] = [
    Context::Composer,
    Context::In(Pane::Lead),
    Context::In(Pane::Todo),
    Context::In(Pane::Board),
    Context::In(Pane::Team),
    Context::In(Pane::Inbox),
    Context::In(Pane::Needs),
    Context::Choices,
    Context::Panes,
    Context::Everywhere,
    Context::Picker,
];

fn help(
    state: &UiState,
    contexts: &[Context],
    reader: &Reader,
    width: usize,
    theme: &Theme,
) -> Vec<Row> {
    let others = EVERY_CONTEXT.iter().filter(|c| !contexts.contains(c));
    let search = &reader.search;
    let mut out = Vec::new();
    for context in contexts.iter().chain(others) {
        let mut rows = Vec::new();
        let bound = state.keymap.in_context(*context);
        for binding in bound.filter(|b| !b.keys.is_empty()) {
            let keys: Vec<String> = binding.keys.iter().map(|k| keys::shown(k)).collect();
            let keys = keys.join(", ");
            if search.matches(&format!("{keys} {}", binding.words)) {
                let does = contexts.contains(context).then_some(binding.action);
                help_row((&keys, binding.words), does, width, theme, &mut rows);
            }
        }
        section(&mut out, context.heading(), rows, theme);
    }
    let mut rows = Vec::new();
    let mention = ("@name", "at the start of a message: write to a teammate");
    let slash = keymap::SLASH
        .iter()
        .map(|(word, does, words)| ((*word, *words), Some(*does)));
    for ((word, words), does) in slash.chain([(mention, None)]) {
        if search.matches(&format!("{word} {words}")) {
            help_row((word, words), does, width, theme, &mut rows);
        }
    }
    section(&mut out, "Words in the composer", rows, theme);
    if out.is_empty() {
        out.push(still(plain("No key does that.", theme.dim)));
    }
    out
}

/// A line on which a click does nothing.
fn still(line: Line<'static>) -> Row {
    Row { line, does: None }
}

fn help_row(
    (keys, words): (&str, &str),
    does: Option<Action>,
    width: usize,
    theme: &Theme,
    out: &mut Vec<Row>,
) {
    let column = if width < 70 { 16 } else { 30 };
    let mut push = |line| out.push(Row { line, does });
    // Keys that do not fit their column get a row of their own.
    let mut head = format!("  {keys}");
    if columns(&head) >= column {
        push(plain(head, theme.accent));
        head = String::new();
    }
    for line in wrap(words, width.saturating_sub(column)) {
        push(Line::from(vec![
            Span::styled(pad(&head, column), theme.accent),
            Span::styled(line, theme.text),
        ]));
        head = String::new();
    }
}

fn section(out: &mut Vec<Row>, title: &str, rows: Vec<Row>, theme: &Theme) {
    if rows.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push(still(Line::default()));
    }
    out.push(still(plain(title.to_string(), theme.heading)));
    out.extend(rows);
}

/// A letter whole, and below it what the two wrote to one another before and after, the newest first.
fn thread(state: &UiState, traced: &Traced, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = letter_lines(state, traced, width, theme);
    let others = state.letters.thread(traced).rev();
    let others: Vec<&Traced> = others.filter(|t| t.number != traced.number).collect();
    if others.is_empty() {
        return out;
    }
    let (from, to) = (one_line(&traced.letter.from), one_line(&traced.letter.to));
    out.push(Line::default());
    let title = match others.len() {
        1 => format!("1 more between {from} and {to}"),
        n => format!("{n} more between {from} and {to}"),
    };
    out.push(plain(title, theme.heading));
    for other in others.iter().take(THREAD_MAX) {
        out.push(Line::default());
        out.extend(letter_lines(state, other, width, theme));
    }
    if others.len() > THREAD_MAX {
        let text = format!("{} older ones are not shown.", others.len() - THREAD_MAX);
        out.extend([Line::default(), plain(text, theme.dim)]);
    }
    out
}

fn letter_lines(
    state: &UiState,
    traced: &Traced,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let letter = &traced.letter;
    let route = format!("{} → {}", letter.from, letter.to);
    let mut out = vec![Line::from(vec![
        Span::styled(
            format!("{}  ", clock(letter.timestamp, &state.zone)),
            theme.dim,
        ),
        Span::styled(one_line(&route), theme.accent),
        Span::styled(
            format!(
                "  {} · {}",
                one_line(&letter.kind.to_string()),
                lists::step_word(traced.step)
            ),
            theme.dim,
        ),
    ])];
    if letter.kind.is_protocol() {
        let said = sentence::letter(letter);
        out.extend(wrap(&said, width).into_iter().map(|l| plain(l, theme.text)));
    } else {
        out.push(Line::default());
        let text = wrap(&letter.content, width);
        out.extend(text.into_iter().map(|line| plain(line, theme.text)));
    }
    out
}

fn notices(state: &UiState, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    if state.notices.is_empty() {
        return vec![plain(
            "No notices yet. What goes wrong, and what crewdeck did about it, is kept here.",
            theme.dim,
        )];
    }
    let mut out = Vec::new();
    for noted in state.notices.iter().rev() {
        let (shape, style) = look::level(noted.level, theme);
        let who = noted
            .agent
            .as_ref()
            .map_or_else(String::new, |a| format!("{a}: "));
        let head = format!("{} {shape} ", clock(noted.at, &state.zone));
        let indent = columns(&head);
        for (i, line) in wrap(
            &format!("{who}{}", noted.text),
            width.saturating_sub(indent),
        )
        .into_iter()
        .enumerate()
        {
            let head = if i == 0 {
                head.clone()
            } else {
                " ".repeat(indent)
            };
            out.push(Line::from(vec![
                Span::styled(head, style),
                Span::styled(line, theme.text),
            ]));
        }
    }
    out
}
