//! Draws the board: the task graph or list, the counts, the filter and the selected task.

mod graph;
mod list;
mod progress;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::app::App;
use crate::ui::app::onboarding::PageSeverity;
use crate::ui::app::role::SessionRole;
use crate::ui::frame;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::frame::{Titles, layout as frame_layout};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::model::board::{branches, index, train, unlocks};
use crate::ui::model::{CrewModel, board as model_board, style};
use crate::ui::panes::board::filter::BoardQuery;
use crate::ui::panes::board::{BoardPane, ListReason, Shown, label};
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::text::{fit, longest_fitting, width};
use crate::ui::theme::Theme;

/// Maximum number of tasks that are named after "unblocks" in the line that describes the selected task. Further tasks
/// are only counted.
const NEXT_MAX: usize = 4;

pub fn draw(pane: &BoardPane, app: &App, area: Rect, canvas: PaneCanvas<'_>) {
    let PaneCanvas {
        theme,
        buffer,
        is_named_above,
        ..
    } = canvas;
    let index = index(app);
    let places = pane.layout(app, frame_layout::inside(area));
    let below = match &places.shown {
        Shown::Graph(drawing) => graph::beyond(pane, app, &index, drawing, places.body, theme),
        Shown::List(_) => list::position(pane, app, places.body, theme),
    };
    let name = title(pane, app, &places.shown);
    let room = frame::aside_room(app, Pane::Board, &name, is_named_above, area);
    let unmerged = branches::unmerged_tasks(app).len();
    // The blanks and corners beside the two texts of the lower border.
    let used = match below.iter().map(|s| width(&s.content)).sum::<usize>() {
        0 => 4,
        used => used + 8,
    };
    let titles = Titles {
        aside: counts(&index, unmerged, room, theme),
        name,
        foot: progress::spans(
            &index,
            unmerged,
            usize::from(area.width).saturating_sub(used),
            theme,
        ),
        below,
        bar: pane.bar(app, &places, area),
        placeholder: (app.model.board.is_empty() && places.filter.is_none())
            .then(|| placeholder(app)),
        is_named_above,
        ..Titles::default()
    };
    frame::pane(app, Pane::Board, titles, theme, area, buffer);
    if let Some(row) = places.filter {
        draw_filter(&pane.filter, theme, row, buffer);
    }
    if let (Some(row), Some(forms)) = (places.train, train::forms(app)) {
        draw_train(&forms, theme, row, buffer);
    }
    match &places.shown {
        Shown::Graph(drawing) => {
            graph::draw(pane, app, &index, drawing, theme, places.body, buffer);
            let has_keys = app.focus == Focus::Pane(Pane::Board);
            if let Some(row) = places.about.filter(|_| has_keys) {
                about(pane, app, &index, theme, row, buffer);
            }
        }
        Shown::List(_) if app.model.board.is_empty() => {
            // If no filter input is open, `frame::pane` has already drawn the placeholder.
            if places.filter.is_some() {
                frame::empty(&placeholder(app), theme, places.body, buffer);
            }
        }
        Shown::List(_) if pane.rows(app).len() == 0 => {
            let words = frame::no_match(&app.prefs, "task");
            frame::empty(&words, theme, places.body, buffer);
        }
        Shown::List(_) => list::draw(pane, app, &index, theme, places.body, buffer),
    }
}

fn placeholder(app: &App) -> String {
    let is_held_up = app
        .onboarding_page()
        .is_some_and(|page| page.severity == PageSeverity::Missing);
    if is_held_up {
        "The board is shown once the crew starts.".into()
    } else if app.role == SessionRole::Starting {
        "Loading the board…".into()
    } else {
        let key = app
            .prefs
            .keymap
            .key(Context::In(Pane::Board), Action::AddTask);
        format!("No tasks yet. The lead writes them when it plans. In this pane, {key} adds one.")
    }
}

fn title(pane: &BoardPane, model: &CrewModel, shown: &Shown) -> String {
    let name = Pane::Board.title();
    match shown {
        Shown::List(_) if model.board.is_empty() => name.into(),
        Shown::Graph(_) => name.into(),
        Shown::List(ListReason::Filtered) => {
            let hits = pane.rows(model).len();
            format!("{name} · {hits} of {}", model.board.len())
        }
        // The reason is not in the title, where it would displace the counts. The key that asks for the graph says it.
        Shown::List(
            ListReason::Asked
            | ListReason::Many(_)
            | ListReason::Deep(_)
            | ListReason::Tangled
            | ListReason::Narrow,
        ) => format!("{name} · list"),
    }
}

/// A number of tasks on the border of the board.
struct Count {
    /// The status of the counted tasks; `None` for the unmerged ones.
    status: Option<BoardStatus>,
    symbol: (&'static str, Style),
    figure: String,
    word: &'static str,
    /// Whether the word follows the number.
    has_word: bool,
}

/// Returns the label on the border in at most `room` columns: the numbers of tasks in progress, ready and blocked, how
/// many of all tasks are completed, and how many of these are unmerged. As many numbers as possible are followed by
/// their meaning, which also explains the symbols of the graph. The symbols of ready and blocked tasks are hard to tell
/// apart, so they get their words first.
fn counts(index: &Index, unmerged: usize, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let total = index.len();
    if total == 0 {
        return Vec::new();
    }
    let count = |status: BoardStatus| {
        let number = index.count(status);
        let is_done = status == BoardStatus::Done;
        (number > 0 || is_done).then(|| Count {
            status: Some(status),
            symbol: style::status_symbol(status, theme),
            figure: if is_done {
                format!("{number}/{total}")
            } else {
                number.to_string()
            },
            word: status.word(),
            has_word: false,
        })
    };
    let statuses = [
        BoardStatus::InProgress,
        BoardStatus::Ready,
        BoardStatus::Blocked,
        BoardStatus::Done,
    ];
    let mut all: Vec<Count> = statuses.into_iter().filter_map(count).collect();
    // Unmerged tasks are completed tasks, so their count follows that of the completed ones.
    all.extend((unmerged > 0).then(|| Count {
        status: None,
        symbol: (branches::UNMERGED, theme.accent),
        figure: unmerged.to_string(),
        word: "unmerged",
        has_word: false,
    }));
    let fits = |all: &[Count]| {
        let spans = count_spans(all, theme);
        spans.iter().map(|s| width(&s.content)).sum::<usize>() <= room
    };
    // Without room for all counts, first those of open tasks are left out, then that of the unmerged ones.
    if !fits(&all) {
        all.retain(|count| matches!(count.status, None | Some(BoardStatus::Done)));
    }
    if !fits(&all) {
        all.retain(|count| count.status.is_some());
    }
    if !fits(&all) {
        return Vec::new();
    }
    for status in [
        Some(BoardStatus::Ready),
        Some(BoardStatus::Blocked),
        Some(BoardStatus::Done),
        None,
        Some(BoardStatus::InProgress),
    ] {
        if let Some(at) = all.iter().position(|count| count.status == status) {
            all[at].has_word = true;
            all[at].has_word = fits(&all);
        }
    }
    count_spans(&all, theme)
}

fn count_spans(all: &[Count], theme: &Theme) -> Vec<Span<'static>> {
    let mut out = Vec::new();
    let mut is_after_word = false;
    for count in all {
        let gap = match count.status {
            _ if out.is_empty() => "",
            // Unmerged tasks are a part of the completed ones.
            None if is_after_word && count.has_word => ", ",
            _ => "  ",
        };
        let (shape, style) = count.symbol;
        let figure = if count.status == Some(BoardStatus::Done) {
            theme.dim
        } else {
            style
        };
        out.push(Span::styled(gap, theme.dim));
        out.push(Span::styled(format!("{shape} "), style));
        out.push(Span::styled(count.figure.clone(), figure));
        if count.has_word {
            out.push(Span::styled(format!(" {}", count.word), theme.dim));
        }
        is_after_word = count.has_word;
    }
    out
}

/// Draws the filter input and, below it, the first error in the filter text.
fn draw_filter(filter: &ListFilter, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut rows = area.rows();
    if let Some(row) = rows.next() {
        filter.draw(theme, row, buffer);
    }
    let query = BoardQuery::new(filter.text());
    if let (Some(row), Some(problem)) = (rows.next(), query.errors().first()) {
        let text = fit(&format!(" ▲ {problem}"), usize::from(area.width));
        Line::styled(text, theme.warn).render(row, buffer);
    }
}

/// Draws the line about the merge train that runs: the longest of `forms` that fits.
fn draw_train(forms: &[String], theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let columns = usize::from(row.width).saturating_sub(3);
    let forms: Vec<&str> = forms.iter().map(String::as_str).collect();
    let text = fit(longest_fitting(&forms, columns), columns);
    let spans = [
        Span::styled(format!(" {} ", branches::UNMERGED), theme.accent),
        Span::styled(text, theme.text),
    ];
    Line::from(spans.to_vec()).render(row, buffer);
}

/// Draws the line below the graph that describes the selected task in more detail than its node.
fn about(
    pane: &BoardPane,
    app: &App,
    index: &Index,
    theme: &Theme,
    row: Rect,
    buffer: &mut Buffer,
) {
    let Some(task) = pane
        .selected_row(app)
        .and_then(|(_, id)| app.model.board.get(id))
    else {
        return;
    };
    let (shape, words, style) = branches::look(app, task, theme);
    let place = index.place(task.id).unwrap_or_default();
    let label = label::label(task);
    let took = app.standing_for(task);
    let is_done = index.board_status(place) == BoardStatus::Done;
    // A completed task no longer blocks other tasks.
    let next = if is_done {
        String::new()
    } else {
        next(app, index, place)
    };
    let forms = match words.strip_prefix("done") {
        Some(rest) if is_done && !took.is_empty() => {
            [format!("done {took} ago{rest}"), words, String::new()]
        }
        Some(_) | None => [
            format!("{words} {took}{next}"),
            format!("{took}{next}"),
            next.trim_start().to_string(),
        ],
    };
    let forms: Vec<&str> = forms
        .iter()
        .filter(|f| !f.is_empty())
        .map(String::as_str)
        .collect();
    let tags = model_board::tags(task);
    let left = format!("{} {}  {tags}", label.number, label.subject);
    let columns = usize::from(row.width).saturating_sub(5);
    let mut spans = vec![
        Span::styled("› ", theme.accent),
        Span::styled(format!("{shape} "), style),
    ];
    // If there is too little room, the end of the subject is cut rather than the tasks that this task unblocks, because
    // the node shows the subject too.
    let most = columns.saturating_sub(columns / 4);
    let aside = fit(longest_fitting(&forms, most), most);
    let room = columns.saturating_sub(width(&aside) + 1);
    spans.extend(frame::cell(&left, room, theme.text));
    spans.extend([Span::raw(" "), Span::styled(aside, style)]);
    Line::from(spans).render(row, buffer);
}

/// Describes which tasks are no longer blocked when the task at index `place` is completed, and how many other blocked
/// tasks depend on this task directly. Begins with a space; empty if no blocked task depends on it.
fn next(model: &CrewModel, index: &Index, place: usize) -> String {
    let unlocks = index.id(place).map(|id| unlocks(model, id));
    let unlocks = unlocks.unwrap_or_default();
    let blocked = |at: &&usize| index.board_status(**at) == BoardStatus::Blocked;
    let waiting = index.blocked_tasks(place).iter().filter(blocked).count();
    let later = waiting.saturating_sub(unlocks.len());
    let ids: Vec<String> = unlocks
        .iter()
        .map(ToString::to_string)
        .take(NEXT_MAX)
        .collect();
    let more = match unlocks.len().saturating_sub(NEXT_MAX) {
        0 => String::new(),
        n => format!(" +{n}"),
    };
    match (ids.is_empty(), later) {
        (true, 0) => String::new(),
        (true, 1) => " → 1 task waits".into(),
        (true, n) => format!(" → {n} tasks wait"),
        (false, 0) => format!(" → unblocks {}{more}", ids.join(" ")),
        (false, n) => format!(" → unblocks {}{more}, {n} later", ids.join(" ")),
    }
}

/// Returns the style of a task's subject, which depends on the task's status `standing`.
fn words(standing: BoardStatus, theme: &Theme) -> Style {
    match standing {
        BoardStatus::Done => theme.dim,
        BoardStatus::Ready | BoardStatus::Assigned => theme.accent,
        BoardStatus::InProgress | BoardStatus::Blocked => theme.text,
    }
}
