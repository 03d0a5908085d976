//! Draws the list of background jobs and the output of the selected one.

mod popup;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::domain::job::{Job, JobEnd};
use crate::domain::text::{escape_control_chars, one_line};
use crate::domain::timestamp::Timestamp;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::popup::open as open_frame;
pub use crate::ui::popups::jobs::popup::{JobsPopup, is_any_running, open};
use crate::ui::text::{age, fit, pad, pad_name, width, wrap};
use crate::ui::theme::Theme;
use crate::ui::widgets::area::{PopupListLayout, list_with_details};
use crate::ui::widgets::scrollbar::Scrollbar;

/// Maximum width of the column with the names of the agents, in columns.
const NAMES_MAX: usize = 12;

/// Draws the popup with the background jobs. `row` is the index of the selected job; if it is too large, the last job
/// is selected.
pub fn draw(app: &App, row: usize, theme: &Theme, screen: Rect, buffer: &mut Buffer) {
    let jobs = app.model.jobs.ordered_jobs();
    let title = match app.model.jobs.running_count() {
        0 => "Background jobs".to_string(),
        n => format!("Background jobs: {n} running"),
    };
    if jobs.is_empty() {
        let area = place(screen, 0, 0).area;
        let inner = open_frame(app, &title, Vec::new(), theme, area, buffer);
        let lines = no_jobs(screen);
        for (line, row) in lines.into_iter().zip(inner.rows()) {
            Line::styled(line, theme.dim).render(row, buffer);
        }
        return;
    }
    let row = row.min(jobs.len() - 1);
    let PopupListLayout { area, list, first } = place(screen, row, jobs.len());
    let shown = usize::from(list.height);
    let below = frame::position(Some(row), jobs.len(), list.height, theme);
    let inner = open_frame(app, &title, below, theme, area, buffer);
    let bar = Scrollbar::of_list(area, list, first, jobs.len());
    frame::scrollbar(bar, theme.title, theme, buffer);
    let mut rows = inner.rows();
    let names = jobs.iter().map(|job| width(job.agent.as_str()));
    let names = names.max().unwrap_or(0).min(NAMES_MAX);
    for (at, job) in jobs.iter().enumerate().skip(first).take(shown) {
        let Some(area) = rows.next() else { return };
        let mark = if at == row {
            frame::RowHighlight::Selected
        } else {
            frame::RowHighlight::Plain
        };
        let columns = usize::from(area.width).saturating_sub(2);
        frame::row(
            mark,
            line(job, app.now, names, columns, theme),
            theme,
            area,
            buffer,
        );
    }
    let Some(rule) = rows.next() else { return };
    let room = usize::from(rule.width);
    Line::styled("─".repeat(room), theme.dim).render(rule, buffer);
    let rest: Vec<Rect> = rows.collect();
    let Some(job) = jobs.get(row) else { return };
    let text = output(job, (room, rest.len()), theme);
    for (line, row) in text.into_iter().zip(rest) {
        line.render(row, buffer);
    }
}

/// Returns the lines below the list: the command of the selected job and the end of its output, together at most `rows`
/// lines, but at least one.
fn output(job: &Job, (columns, rows): (usize, usize), theme: &Theme) -> Vec<Line<'static>> {
    let command = wrap(
        &format!("$ {}", escape_control_chars(&job.command)),
        columns,
    );
    let mut out: Vec<Line<'static>> = command
        .into_iter()
        .take((rows / 3).max(1))
        .map(|l| Line::styled(l, theme.text))
        .collect();
    let left = rows.saturating_sub(out.len());
    let text = escape_control_chars(job.tail.trim_end());
    let mut lines: Vec<String> = text.lines().flat_map(|l| wrap(l, columns)).collect();
    if lines.is_empty() {
        lines.push(if job.is_running() {
            "No output yet.".into()
        } else {
            "No output.".into()
        });
    }
    let from = lines.len().saturating_sub(left);
    let lines = lines.drain(from..);
    out.extend(lines.map(|l| Line::styled(l, theme.dim)));
    out
}

fn line(
    job: &Job,
    now: Timestamp,
    names: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let (shape, style) = look(job, theme);
    let until = job.ended.as_ref().map_or(now, |(at, _)| *at);
    let words = match &job.ended {
        None => age(until.since(job.began)),
        Some((_, end)) => {
            let end = one_line(&end.to_string());
            format!("{end}, {}", age(until.since(job.began)))
        }
    };
    let who = pad_name(job.agent.as_str(), names);
    let words = fit(&words, columns / 2);
    let room = columns.saturating_sub(width(&words) + width(&who) + 4);
    vec![
        Span::styled(format!("{shape} "), style),
        Span::styled(format!("{who} "), theme.dim),
        Span::styled(pad(&job.title(), room), theme.text),
        Span::styled(format!(" {words}"), style),
    ]
}

/// Returns the symbol and style that show whether a job is running or how it ended.
fn look(job: &Job, theme: &Theme) -> (&'static str, Style) {
    match job.ended.as_ref().map(|(_, end)| end) {
        None => ("●", theme.working),
        Some(JobEnd::Exited { code: 0 }) => ("✓", theme.ok),
        Some(JobEnd::Killed { .. }) => ("·", theme.dim),
        Some(
            JobEnd::Exited { .. }
            | JobEnd::Signalled { .. }
            | JobEnd::TimedOut { .. }
            | JobEnd::NotStarted { .. },
        ) => ("✗", theme.error),
    }
}

/// Maximum width of the popup, in columns.
pub const JOBS_WIDTH: u16 = 120;

/// Maximum number of rows of the job list. The rows of the popup below it show the output of the selected job.
pub const JOBS_MAX: usize = 8;

/// Returns the width of the popup in columns, including its border.
pub fn jobs_width(screen: Rect) -> u16 {
    JOBS_WIDTH.min(screen.width.saturating_sub(4))
}

pub const NO_JOBS: &str = "No background jobs. Agents start them with the tool background_run, for long commands: \
                           builds, test suites, servers.";

/// Returns [`NO_JOBS`], wrapped to the width of the popup without its border.
pub fn no_jobs(screen: Rect) -> Vec<String> {
    wrap(NO_JOBS, usize::from(jobs_width(screen).saturating_sub(4)))
}

/// Returns the layout of the popup for `len` jobs, of which the one at index `row` is selected. If there are no jobs,
/// the popup is only as high as [`NO_JOBS`].
pub fn place(screen: Rect, row: usize, len: usize) -> PopupListLayout {
    let empty = no_jobs(screen).len();
    list_with_details(screen, jobs_width(screen), (row, len, JOBS_MAX), empty)
}
