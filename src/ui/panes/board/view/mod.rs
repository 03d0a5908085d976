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
use crate::ui::model::board::{branches, index, unlocks};
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
    let used: usize = below.iter().map(|s| width(&s.content)).sum();
    let titles = Titles {
        aside: counts(&index, unmerged, room, theme),
        name,
        foot: progress::spans(
            &index,
            unmerged,
            usize::from(area.width).saturating_sub(used + 8),
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
        format!(
            "No tasks yet. Say what you want done: the lead writes tasks when it plans. In this pane, {key} adds one."
        )
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

/// Returns the label on the border in at most `room` columns: the numbers of tasks in progress, ready and blocked, how
/// many of all tasks are completed, and how many of these are unmerged. As far as there is room, each number is followed
/// by its meaning, which also explains the symbols of the graph.
fn counts(index: &Index, unmerged: usize, room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let total = index.len();
    let done = index.count(BoardStatus::Done);
    let mut long = Vec::new();
    // The middle form: only the counts that ask the user to act (ready, unmerged) keep their words.
    let mut middle = Vec::new();
    let mut short = Vec::new();
    for here in [
        BoardStatus::InProgress,
        BoardStatus::Ready,
        BoardStatus::Blocked,
    ] {
        let count = index.count(here);
        if count > 0 {
            let (shape, style) = style::status_symbol(here, theme);
            long.push(Span::styled(format!("{shape} {count} "), style));
            long.push(Span::styled(format!("{}  ", here.word()), theme.dim));
            let brief = Span::styled(format!("{shape} {count}  "), style);
            if here == BoardStatus::Ready {
                middle.extend_from_slice(&long[long.len().saturating_sub(2)..]);
            } else {
                middle.push(brief.clone());
            }
            short.push(brief);
        }
    }
    let (shape, style) = style::status_symbol(BoardStatus::Done, theme);
    let symbol = Span::styled(format!("{shape} "), style);
    let figure = format!("{done}/{total}");
    let mut words = vec![
        symbol.clone(),
        Span::styled(format!("{figure} done"), theme.dim),
    ];
    let mut brief = vec![symbol, Span::styled(figure, theme.dim)];
    // Without room for a symbol, the count of completed tasks is shown alone.
    let alone = vec![Span::styled(format!("{done}/{total} done"), theme.dim)];
    let mut last = Vec::new();
    if unmerged > 0 {
        // Unmerged tasks are completed tasks, so their count follows that of the completed ones.
        let count = Span::styled(format!("{} {unmerged}", branches::UNMERGED), theme.accent);
        words.extend([
            Span::styled(", ", theme.dim),
            count.clone(),
            Span::styled(" unmerged", theme.dim),
        ]);
        brief.extend([Span::raw("  "), count]);
        last.clone_from(&brief);
    }
    for spans in [&mut long, &mut middle] {
        spans.extend_from_slice(&words);
    }
    short.extend(brief);
    let fits = |spans: &Vec<Span>| spans.iter().map(|s| width(&s.content)).sum::<usize>() <= room;
    let forms = [long, middle, short, last, alone].into_iter();
    let found = forms.filter(|spans| !spans.is_empty()).find(fits);
    found.filter(|_| total > 0).unwrap_or_default()
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
