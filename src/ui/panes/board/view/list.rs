//! Draws the tasks as a list, in which blocked tasks are indented below a blocker.

use crate::ui::model::CrewModel;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board as model_board;
use crate::ui::model::board::branches;
use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::model::style;
use crate::ui::panes::board::BoardPane;
use crate::ui::panes::board::list::ListRow;
use crate::ui::text::{display_name, fit, fit_name, pad, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;

/// Rows use short forms if the list is narrower than this number of columns.
const NARROW: usize = 48;
/// Number of columns for a blank and the age of a task in progress.
const AGE: usize = 4;
/// Minimum width to which the name of an owner is shortened, in columns.
const OWNER_LEAST: usize = 6;

fn window(pane: &BoardPane, model: &CrewModel, area: Rect) -> (usize, usize) {
    let selected = pane.selected_row(model).map_or(0, |(at, _)| at);
    let first = list::first_row(pane.rows(model).len(), selected, area.height);
    (selected, first)
}

/// Returns the label on the border that says which row is selected, such as `7 of 20`. Empty if all rows are visible.
pub fn position(
    pane: &BoardPane,
    model: &CrewModel,
    area: Rect,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let (selected, _) = window(pane, model, area);
    frame::position(Some(selected), pane.rows(model).len(), area.height, theme)
}

pub fn draw(
    pane: &BoardPane,
    app: &App,
    index: &Index,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (selected, first) = window(pane, app, area);
    // The index sorts tasks by number, so the last task has the longest number.
    let last = index.len().checked_sub(1).and_then(|at| index.id(at));
    let digits = last.map_or(1, |id| id.to_string().len());
    let rows = pane.rows(app);
    for ((at, row), area) in (first..).zip(rows.from(first)).zip(area.rows()) {
        let mark = frame::RowHighlight::of(app, Pane::Board, at, Some(selected));
        let columns = usize::from(area.width).saturating_sub(2);
        let spans = spans(app, index, *row, digits, columns, theme);
        frame::row(mark, spans, theme, area, buffer);
    }
}

/// Returns the state of a task with the name of its owner shortened, so that the age after it fits into `columns` columns.
fn with_short_owner(words: &str, owner: &str, columns: usize) -> String {
    let over = width(words).saturating_sub(columns);
    if over == 0 || owner.is_empty() {
        return words.into();
    }
    let most = width(owner).saturating_sub(over).max(OWNER_LEAST);
    let short = format!("@{}", fit_name(owner, most));
    words.replacen(&format!("@{owner}"), &short, 1)
}

fn spans(
    app: &App,
    index: &Index,
    row: ListRow,
    digits: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let Some(task) = index.id(row.task).and_then(|id| app.model.board.get(id)) else {
        return Vec::new();
    };
    let (shape, words, style) = branches::look(app, task, theme);
    // In a narrow row, only the symbol shows that a task is completed. The symbol of an unmerged task is less known, so
    // its word stays.
    let is_done = index.board_status(row.task) == BoardStatus::Done;
    let words = match words.strip_prefix("done") {
        Some(rest) if is_done && columns < NARROW => rest.trim_start_matches(", ").into(),
        Some(_) | None => words,
    };
    // In a narrow row, the host of the owner is left out before the owner or the age is cut.
    let on = style::on_host(task);
    let words = if !on.is_empty() && width(&words) + AGE > columns.saturating_sub(digits + 4) / 2 {
        words.replacen(&on, "", 1)
    } else {
        words
    };
    let words = match index.board_status(row.task) {
        BoardStatus::InProgress => format!("{words} {}", app.standing_for(task)),
        BoardStatus::Ready | BoardStatus::Assigned | BoardStatus::Blocked | BoardStatus::Done => {
            words
        }
    };
    let guide = row.guide();
    let columns = columns.saturating_sub(digits + 4);
    // In a narrow list, "in progress" is omitted, because the symbol already says it, and "blocked by" is shortened to
    // "after". This does not depend on the indentation of the row.
    let words = match (
        words.strip_prefix("in progress "),
        words.strip_prefix("blocked by "),
    ) {
        (Some(who), _) if columns < NARROW => who.to_string(),
        (_, Some(others)) => {
            let word = if columns < NARROW {
                "after"
            } else {
                "blocked by"
            };
            waits(word, others, columns.saturating_sub(width(&guide)) / 2)
        }
        _ => words,
    };
    let is_narrow = columns < NARROW;
    let columns = columns.saturating_sub(width(&guide));
    let words = with_short_owner(&words, &display_name(&task.owner), columns / 2);
    let words = fit(&words, columns / 2);
    let behind = |text: &str| match width(text) {
        0 => 0,
        columns => columns + 1,
    };
    let room = columns.saturating_sub(behind(&words));
    let title = one_line(&task.subject);
    // In a narrow list, tags take only columns that the subject leaves free.
    let free = if is_narrow {
        room.saturating_sub(width(&title) + 1)
    } else {
        room
    };
    let tags = whole_tags(&model_board::tags(task), free.min(room / 3));
    let room = room.saturating_sub(behind(&tags));
    let subject = match index.board_status(row.task) {
        BoardStatus::Blocked => theme.dim,
        standing => crate::ui::panes::board::view::words(standing, theme),
    };
    let number = match index.critical_step(row.task) {
        Some(_) => theme.heading,
        None => theme.dim,
    };
    let mut out = vec![
        Span::styled(guide, theme.dim),
        Span::styled(format!("{shape} "), style),
        Span::styled(pad(&task.id.to_string(), digits), number),
        Span::raw(" "),
        Span::styled(pad(&title, room), subject),
    ];
    for (text, style) in [(tags, theme.dim), (words, style)] {
        if !text.is_empty() {
            out.extend([Span::raw(" "), Span::styled(text, style)]);
        }
    }
    out
}

/// Returns the first of `tags`, which are separated by spaces, that fit into `columns` columns. No tag is cut.
fn whole_tags(tags: &str, columns: usize) -> String {
    let ends = tags.match_indices(' ').map(|(at, _)| at);
    let mut forms = ends.chain([tags.len()]).map(|end| &tags[..end]).rev();
    let fitting = forms.find(|form| width(form) <= columns);
    fitting.unwrap_or_default().to_string()
}

/// Returns `word` and the task numbers in `others` that fit into `columns` columns, followed by the count of the
/// remaining ones, as in `after #4 #5 +3`. The first number is always included, even if it does not fit. `others`
/// separates the numbers by spaces.
fn waits(word: &str, others: &str, columns: usize) -> String {
    let all: Vec<&str> = others.split(' ').collect();
    let form = |shown: usize| {
        let named = all.get(..shown).unwrap_or(&all).join(" ");
        match all.len() - shown {
            0 => format!("{word} {named}"),
            more => format!("{word} {named} +{more}"),
        }
    };
    // Each number takes at least three columns, so no more than `columns / 3 + 1` of them can fit.
    let mut forms = (1..=all.len().min(columns / 3 + 1)).rev().map(form);
    let fitting = forms.find(|words| width(words) <= columns);
    fitting.unwrap_or_else(|| form(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_shown_whole_or_not_at_all() {
        for (columns, expected) in [
            (20, "#rust #tests #docs"),
            (17, "#rust #tests"),
            (11, "#rust"),
            (4, ""),
        ] {
            assert_eq!(whole_tags("#rust #tests #docs", columns), expected);
        }
        assert_eq!(whole_tags("", 9), "");
    }

    #[test]
    fn blockers_that_do_not_fit_are_counted() {
        for (others, columns, expected) in [
            ("#4", 20, "after #4"),
            ("#4 #5 #6", 14, "after #4 #5 #6"),
            ("#4 #5 #6", 13, "after #4 +2"),
            ("#4 #5 #6", 4, "after #4 +2"),
            ("#101 #104", 13, "after #101 +1"),
        ] {
            assert_eq!(
                waits("after", others, columns),
                expected,
                "{others} {columns}"
            );
        }
    }

    #[test]
    fn long_owner_is_shortened_before_the_age_is_cut() {
        let owner = "a-very-long-host-12";
        let words = format!("@{owner} 3m");
        for (columns, expected) in [
            (40, "@a-very-long-host-12 3m"),
            (16, "@a-very-…t-12 3m"),
            (8, "@a-…-12 3m"),
        ] {
            let short = with_short_owner(&words, owner, columns);
            assert_eq!(short, expected, "{columns}");
        }
        assert_eq!(with_short_owner("after #1 #2", "", 4), "after #1 #2");
    }
}
