//! The lines of the page of a task: status, description, dependencies and history.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::checks;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::text::{count_noun, one_line};
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::board::{branches, index, unlocks};
use crate::ui::model::{CrewModel, board as model_board, style};
use crate::ui::text::{age, count, display_name, format_time, pad, width as columns, wrap};
use crate::ui::theme::Theme;

/// Maximum number of tasks in each list of dependencies: the tasks that block the shown task, the tasks that it blocks,
/// and the tasks that are no longer blocked when it is completed.
const EDGES_MAX: usize = 50;

/// Maximum number of history entries that the page lists.
const STEPS_MAX: usize = 40;

/// Width of the column with the names of the fields, in columns.
const NAMES: usize = 15;

/// Returns who has completed a task, and on which host; empty for other tasks.
fn completed_by(task: &Task, status: BoardStatus) -> String {
    match (status, task.owner.is_empty()) {
        (BoardStatus::Done, false) => {
            let on = style::on_host(task);
            format!(" by {}{on}", display_name(&task.owner))
        }
        _ => String::new(),
    }
}

/// Renders the page of a task, `width` columns wide: subject, status, description, fields, dependencies and history.
pub fn lines(app: &App, task: &Task, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let plain = |text: String, style: Style| Line::styled(text, style);
    let mut out: Vec<Line> = wrap(&task.subject, width)
        .into_iter()
        .map(|line| plain(line, theme.heading))
        .collect();
    let (shape, words, style) = branches::look(app, task, theme);
    // The owner and the time are shown before the merge status.
    let (words, rest) = match words.split_once(", ") {
        Some((words, rest)) if branches::is_unmerged(app, task) => {
            (words.to_string(), format!("; {rest}"))
        }
        Some(_) | None => (words, String::new()),
    };
    let here = index::board_status(&app.model.board, task);
    let by = completed_by(task, here);
    out.push(Line::from(vec![
        Span::styled(format!("{shape} {words}"), style),
        Span::styled(by, theme.dim),
        Span::styled(
            match (app.standing_for(task).as_str(), here) {
                ("", _) => String::new(),
                (passed, BoardStatus::Done) => format!(", {passed} ago"),
                (took, _) => format!(", for {took}"),
            },
            theme.dim,
        ),
        Span::styled(rest, style),
    ]));
    out.push(Line::default());
    if task.description.trim().is_empty() {
        out.push(plain("No description.".into(), theme.dim));
    } else {
        let text = wrap(&task.description, width);
        out.extend(text.into_iter().map(|line| plain(line, theme.text)));
    }
    out.push(Line::default());
    let mut field = |name: &str, text: String| {
        for (i, line) in wrap(&text, width.saturating_sub(NAMES))
            .into_iter()
            .enumerate()
        {
            let name = if i == 0 { name } else { "" };
            out.push(Line::from(vec![
                Span::styled(pad(name, NAMES), theme.dim),
                Span::styled(line, theme.text),
            ]));
        }
    };
    field("tags", model_board::tags(task));
    field("worktree", one_line(&task.worktree));
    field("branch", one_line(&branches::words(app, task)));
    if task.attempts > 0 {
        let times = usize::try_from(task.attempts).unwrap_or(usize::MAX);
        field("claimed", count_noun(times, "time"));
    }
    if let Some(used) = app.model.costs.of(task.id) {
        let tokens = count(used.usage.total());
        let cost = used.cost.map(|cost| format!(", {cost}"));
        let cost = cost.unwrap_or_default();
        field("spent", format!("{tokens} tokens{cost}"));
    }
    field("created", when(app, task.created_at));
    if task.updated_at != task.created_at {
        field("changed", when(app, task.updated_at));
    }
    let index = index(app);
    let place = index.place(task.id).unwrap_or(usize::MAX);
    if let Some(step) = index.critical_step(place) {
        let (step, of) = (step + 1, index.critical().len());
        let text = format!("task {step} of {of} in the longest chain of open tasks");
        field("critical path", text);
    }
    let unlocks = unlocks(app, task.id);
    if !unlocks.is_empty() {
        let ids = unlocks.iter().take(EDGES_MAX).map(ToString::to_string);
        field("unblocks", ids.collect::<Vec<_>>().join(" "));
    }
    checks::add(app, task, width, theme, &mut out);
    let on_board =
        |places: &[usize]| -> Vec<TaskId> { places.iter().filter_map(|p| index.id(*p)).collect() };
    let mut before = on_board(index.blockers(place));
    // A blocker that is not on the board is not in the index, but still blocks the task.
    let missing = task
        .blocked_by
        .iter()
        .filter(|id| index.place(**id).is_none());
    before.extend(missing);
    edges(app, "Waits for", &before, width, theme, &mut out);
    edges(
        app,
        "Blocks",
        &on_board(index.blocked_tasks(place)),
        width,
        theme,
        &mut out,
    );
    history(app, task, width, theme, &mut out);
    out
}

/// Adds the newest [`STEPS_MAX`] entries of a task's history to `out`, newest first, and the number of older ones. Adds
/// nothing if there is no history.
fn history(app: &App, task: &Task, width: usize, theme: &Theme, out: &mut Vec<Line<'static>>) {
    let mut steps = app.model.history.of(task.id);
    let newest: Vec<_> = steps.by_ref().take(STEPS_MAX).collect();
    if newest.is_empty() {
        return;
    }
    out.push(Line::default());
    out.push(Line::styled("History", theme.heading));
    for (at, step) in newest {
        let when = format!("  {}  ", format_time(at, &app.prefs.zone));
        let indent = columns(&when);
        for (i, line) in wrap(&step.words(), width.saturating_sub(indent))
            .into_iter()
            .enumerate()
        {
            let when = if i == 0 { when.as_str() } else { "" };
            out.push(Line::from(vec![
                Span::styled(pad(when, indent), theme.dim),
                Span::styled(line, theme.text),
            ]));
        }
    }
    let older = match (steps.count(), app.model.history.is_cut()) {
        (0, false) => return,
        (0, true) => "  earlier history is not kept".to_string(),
        (n, _) => format!("  and {n} more"),
    };
    out.push(Line::styled(older, theme.dim));
}

/// Returns the time of day of `at` and how long ago that was; empty if `at` is unknown.
fn when(app: &App, at: Timestamp) -> String {
    if at.0 <= 0.0 {
        return String::new();
    }
    format!(
        "{}, {} ago",
        format_time(at, &app.prefs.zone),
        age(app.now.since(at))
    )
}

fn edges(
    model: &CrewModel,
    title: &str,
    ids: &[TaskId],
    width: usize,
    theme: &Theme,
    out: &mut Vec<Line<'static>>,
) {
    if ids.is_empty() {
        return;
    }
    out.push(Line::default());
    out.push(Line::styled(title.to_string(), theme.heading));
    let digits = ids.iter().map(|id| id.to_string().len()).max().unwrap_or(1);
    for id in ids.iter().take(EDGES_MAX) {
        let number = pad(&id.to_string(), digits);
        let Some(task) = model.board.get(*id) else {
            let text = format!("  ? {number} is not on the board");
            out.push(Line::styled(text, theme.warn));
            continue;
        };
        let (shape, words, style) = branches::look(model, task, theme);
        let subject = one_line(&task.subject);
        let room = width.saturating_sub(digits + 5);
        let words = crate::ui::text::fit(&words, room / 2);
        out.push(Line::from(vec![
            Span::styled(format!("  {shape} {number} "), style),
            Span::styled(
                pad(&subject, room.saturating_sub(columns(&words) + 1)),
                theme.text,
            ),
            Span::styled(format!(" {words}"), style),
        ]));
    }
    if ids.len() > EDGES_MAX {
        let text = format!("  and {} more", ids.len() - EDGES_MAX);
        out.push(Line::styled(text, theme.dim));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::TaskGraph;
    use crate::ui::fixture::{NOON, after_events, board, ready};

    #[test]
    fn page_shows_all_fields() {
        let mut tasks: Vec<Task> = board().tasks().cloned().collect();
        let join = &mut tasks[3];
        join.tags = vec!["rust".into(), "io".into()];
        join.worktree = "join".into();
        join.attempts = 2;
        join.updated_at = Timestamp(NOON + 1.0);
        join.blocked_by.push(TaskId(99));
        join.blocks = vec![TaskId(5)];
        let graph = TaskGraph::new(tasks);
        let board = crate::ui::fixture::board_event(&graph);
        let state = after_events(160, 45, vec![ready(), board]);
        let task = state.model.board.get(TaskId(4)).unwrap();
        let page = lines(&state, task, 60, &Theme::default());
        let text: Vec<String> = page.iter().map(|l| l.to_string() + "\n").collect();
        insta::assert_snapshot!(text.concat());
    }

    #[test]
    fn status_names_the_host_of_the_claim() {
        let mut state = crate::ui::fixture::busy(160, 45);
        crate::ui::fixture::apply_events(&mut state, crate::ui::fixture::three_hosts());
        let status = |id: u64| {
            let task = state.model.board.get(TaskId(id)).unwrap();
            lines(&state, task, 60, &Theme::default())[1].to_string()
        };
        assert!(
            status(2).contains("in progress @bob on gpu-box"),
            "{}",
            status(2)
        );
        assert!(!status(3).contains(" on "), "{}", status(3));
    }

    #[test]
    fn description_comes_before_fields_edges_and_history() {
        let mut state = crate::ui::fixture::busy(160, 45);
        let task = state.model.board.get(TaskId(4)).unwrap().clone();
        let mut edited = task.clone();
        edited.updated_at = Timestamp(NOON + 5.0);
        edited.description.push('.');
        let changed = vec![std::sync::Arc::new(edited)];
        let event = crate::protocol::EventKind::Board(crate::protocol::BoardEvent::BoardChanged {
            changed,
            removed: vec![],
        });
        crate::ui::fixture::apply_events(&mut state, vec![event]);
        let page = lines(&state, &task, 60, &Theme::default());
        let text: Vec<String> = page.iter().map(Line::to_string).collect();
        let at = |words: &str| text.iter().position(|line| line.contains(words));
        let description = at("keep the public").unwrap();
        for below in ["created", "Waits for", "History"] {
            assert!(at(below).unwrap() > description, "{text:#?}");
        }
    }
}
