//! Lays out a tool call as rows: folded to one row, or open with its input, changes and output.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::text::{count_noun, escape_control_chars, one_line};
use crate::ui::diff::{self, DiffPainter};
use crate::ui::text::pad;
use crate::ui::text::wrap::{Break, Margin, Row, fit, width, wrap};
use crate::ui::transcript::call_group::CallGroup;
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::fields::Field;
use crate::ui::transcript::layout::LayoutParams;
use crate::ui::transcript::run::{ToolCallState, ToolRun};
use crate::ui::transcript::tool_display::{OutputKind, tool_display};

/// Maximum number of lines of a diff or output that an unfolded tool call shows. If there are more, the first and the
/// last lines are shown.
const LINES_MAX: usize = 200;
/// Maximum number of rows of one input or output field of an unfolded tool call. If there are more, the first and the
/// last rows are shown.
const FIELD_ROWS: usize = 60;
/// The character that stands for a line break in the subject of a call.
const LINE_BREAK: char = '⏎';
/// Maximum width of field names, in columns. Longer names are cut.
const NAME_MAX: usize = 16;
/// Maximum number of rows that one line of an output takes. If there are more, the first and the last rows are shown.
const ROWS_OF_LINE: usize = 60;
/// Maximum number of rows of the user's answer to a question that a folded tool call shows.
const ANSWER_ROWS: usize = 8;
/// Maximum number of output lines that a folded tool call shows while it runs: the last ones.
const LIVE_LINES: usize = 5;
/// Minimum width, in columns, that the subject of a call, such as a path, keeps when it is cut to make room for the
/// call's result. If there is still no room, the result is omitted. For a failed call the minimum is one column,
/// because its result is more important than its subject.
const SUBJECT_WIDTH_MIN: usize = 16;

/// Returns the rows of a tool call. Adds the number of visible characters in them to `text_offset`, the number of
/// visible characters before the call.
pub fn rows(
    run: &ToolRun,
    is_selected: bool,
    page: LayoutParams<'_>,
    text_offset: &mut usize,
) -> Vec<Row> {
    let mut out = vec![call_row(run, is_selected, page)];
    match (run.fold, run.state) {
        (Fold::Open, _) => {
            let fields = run.input.iter().chain(&run.output_fields);
            let names = fields.map(|f| width(&f.name)).max().unwrap_or(0);
            let names = names.min(NAME_MAX);
            if run.diff.is_empty() {
                out.extend(field_rows(
                    &run.input,
                    names,
                    page.theme.code,
                    page,
                    text_offset,
                ));
            }
            out.extend(diff_rows(&run.diff, page, text_offset));
            out.extend(field_rows(
                &run.output_fields,
                names,
                page.theme.text,
                page,
                text_offset,
            ));
            if tool_display(&run.tool).output == OutputKind::User {
                out.extend(answer_rows(&run.output, FIELD_ROWS, page, text_offset));
            } else {
                out.extend(output_rows(run.shown_output(), page, text_offset));
            }
        }
        (Fold::Folded, ToolCallState::Done)
            if tool_display(&run.tool).output == OutputKind::User =>
        {
            out.extend(answer_rows(&run.output, ANSWER_ROWS, page, text_offset));
        }
        (Fold::Folded, ToolCallState::Running) => {
            let all: Vec<&str> = run.output.lines().collect();
            let last = &all[all.len().saturating_sub(LIVE_LINES)..];
            out.extend(
                last.iter()
                    .map(|l| cut_line(visible_part(l), page.theme.dim, page)),
            );
        }
        (Fold::Folded, ToolCallState::Failed) => {
            let why = run.error_line();
            if !why.is_empty() {
                out.push(cut_line(&why, page.theme.error, page));
            }
        }
        (Fold::Folded, ToolCallState::Done | ToolCallState::Abandoned) => {}
    }
    out
}

/// Returns the rows of a call's diff. If the diff has more than [`LINES_MAX`] lines, the first and the last lines are
/// shown.
fn diff_rows(diff: &str, page: LayoutParams<'_>, text_offset: &mut usize) -> Vec<Row> {
    let lines = diff::read(diff.trim_end());
    let mut painter = DiffPainter::new(diff::DiffParams {
        columns: page.columns,
        theme: page.theme,
        placement: diff::DiffPlacement::Conversation,
        digits: diff::digits(&lines),
    });
    let Some(omitted) = lines.len().checked_sub(LINES_MAX).filter(|n| *n > 0) else {
        return painter.rows(&lines, text_offset);
    };
    let (head, rest) = lines.split_at(LINES_MAX / 2);
    let (middle, tail) = rest.split_at(omitted);
    let mut out = painter.rows(head, text_offset);
    out.push(omission_row(omitted, &out, page));
    painter.skip(middle);
    out.extend(painter.rows(tail, text_offset));
    out
}

/// Returns a row that says that `omitted` lines are missing. It gets the text offset of the last row in `above`, which
/// holds the rows before it.
fn omission_row(omitted: usize, above: &[Row], page: LayoutParams<'_>) -> Row {
    let mark = format!("… {} not shown …", count_noun(omitted, "line"));
    let at = above.last().map_or(0, |row| row.text_offset);
    Row::decoration(cut_line(&mark, page.theme.warn, page).spans, at)
}

/// Returns the rows of the output of a question to the user. The user's answer has the style of the user's text and
/// begins with `› `, so that it does not look like text of the tool. Other output, such as an error, is dim and
/// unmarked. `rows` is the maximum number of rows, as in [`elide_rows`].
fn answer_rows(
    output: &str,
    rows: usize,
    page: LayoutParams<'_>,
    text_offset: &mut usize,
) -> Vec<Row> {
    // Journals of older versions contain the second form.
    let starts = ["The user answers: ", "The person answers: "];
    let answer = starts.iter().find_map(|start| output.strip_prefix(start));
    let (sign, text, style) = match answer {
        Some(answer) => ("› ", answer, page.theme.user),
        None => ("", output, page.theme.dim),
    };
    let first = vec!["  ".into(), Span::styled(sign, style)];
    let under = vec![" ".repeat(2 + width(sign)).into()];
    let words = [Span::styled(escape_control_chars(text.trim()), style)];
    let all = wrap(
        &words,
        page.columns,
        &Margin::hanging(first, under),
        Break::Words,
        text_offset,
    );
    elide_rows(all, rows, page)
}

/// Returns the rows of the header of a call group: `✓ tool × 8 · first … last · result`, and while the group is folded,
/// the first error. If all calls have the same subject, it is shown once. While the group is open, `expanded` replaces
/// the subjects.
pub fn call_group(calls: &CallGroup, is_selected: bool, page: LayoutParams<'_>) -> Vec<Row> {
    let name = format!("{} × {}", calls.tool, calls.len);
    let result = calls.result();
    let on = match calls.fold {
        Fold::Open => "expanded".to_string(),
        Fold::Folded if calls.is_same => calls.first.clone(),
        Fold::Folded => {
            let result_width = match width(&result) {
                0 => 0,
                result => result + 3,
            };
            // The symbol, and what separates it, the name and the subjects.
            let other_width = width(&name) + 5 + result_width;
            let room = page.columns.saturating_sub(other_width);
            calls.subjects(room)
        }
    };
    let on = match on.as_str() {
        "" => on,
        on => format!("· {on}"),
    };
    let head = CallLine {
        progress: calls.progress(),
        name: &name,
        on: &on,
        changes: None,
        result,
    };
    let mut out = vec![call_line_row(&head, is_selected, page)];
    if calls.fold == Fold::Folded && !calls.first_error.is_empty() {
        out.push(cut_line(&calls.first_error, page.theme.error, page));
    }
    out
}

/// The content of the first row of a call or call group.
struct CallLine<'a> {
    progress: ToolCallState,
    name: &'a str,
    on: &'a str,
    /// The numbers of added and removed lines, if the call changed a file.
    changes: Option<(usize, usize)>,
    result: String,
}

/// Returns the first row of a call. If the subject has several lines, such as a script, the row shows only its first
/// line.
fn call_row(run: &ToolRun, is_selected: bool, page: LayoutParams<'_>) -> Row {
    let on = match run.subject.split_once(LINE_BREAK) {
        Some((first, _)) => format!("{first} …"),
        None => run.subject.clone(),
    };
    let head = CallLine {
        progress: run.state,
        name: &run.tool,
        on: &on,
        changes: run.changes(),
        result: run.result(),
    };
    call_line_row(&head, is_selected, page)
}

/// Returns the row `✓ tool subject +3 -1 · result`, cut to the width of the page.
fn call_line_row(run: &CallLine<'_>, is_selected: bool, page: LayoutParams<'_>) -> Row {
    let theme = page.theme;
    let (shape, style) = match run.progress {
        ToolCallState::Running => ("◐", theme.working),
        ToolCallState::Done => ("✓", theme.ok),
        ToolCallState::Failed => ("✗", theme.error),
        ToolCallState::Abandoned => ("◌", theme.dim),
    };
    let name_style = if is_selected {
        theme.selection
    } else {
        theme.tool
    };
    let mut row = RowBuilder::new(page.columns);
    row.put(shape, style);
    row.put(" ", Style::default());
    row.put(run.name, name_style);
    // The result is shown completely or not at all. The subject is cut to make room for the result, but not to less
    // than `least` columns. The result of a failed call is more important than its subject.
    let least = match run.progress {
        ToolCallState::Failed => 1,
        ToolCallState::Running | ToolCallState::Done | ToolCallState::Abandoned => {
            SUBJECT_WIDTH_MIN
        }
    };
    let least = least.min(width(run.on));
    let mut result: Vec<Span> = Vec::new();
    if let Some((added, removed)) = run.changes {
        result.push(" ".into());
        result.extend(diff::counts(added, removed, theme));
    }
    if !run.result.is_empty() {
        result.push(Span::styled(format!(" · {}", run.result), theme.dim));
    }
    let wide = |result: &[Span]| result.iter().map(|s| width(&s.content)).sum::<usize>();
    if 1 + least + wide(&result) > row.room {
        result.clear();
    }
    if !run.on.is_empty() {
        let room = row.room.saturating_sub(1 + wide(&result));
        row.put(" ", Style::default());
        row.put(&fit(run.on, room), theme.text);
    }
    for part in result {
        row.put(&part.content, part.style);
    }
    Row::decoration(row.spans, 0)
}

/// Builds a row from parts. Cuts what exceeds its width.
struct RowBuilder {
    spans: Vec<Span<'static>>,
    room: usize,
}

impl RowBuilder {
    fn new(room: usize) -> RowBuilder {
        let spans = Vec::new();
        RowBuilder { spans, room }
    }

    fn put(&mut self, text: &str, style: Style) {
        let text = fit(text, self.room);
        if !text.is_empty() {
            self.room -= width(&text);
            self.spans.push(Span::styled(text, style));
        }
    }
}

/// Returns what a terminal would show of a line: the text after the last carriage return.
fn visible_part(line: &str) -> &str {
    line.trim_end_matches('\r')
        .rsplit('\r')
        .next()
        .unwrap_or_default()
}

/// Returns one row with the start of a line of text, indented by two columns. What does not fit into the row is cut
/// off.
fn cut_line(text: &str, style: Style, page: LayoutParams<'_>) -> Row {
    let mut row = RowBuilder::new(page.columns);
    row.put("  ", Style::default());
    // The text is cut before it is escaped, because a line can be 256 KiB long.
    let some: String = text.chars().take(page.columns * 4).collect();
    row.put(&escape_control_chars(&some), style);
    Row::decoration(row.spans, 0)
}

fn block(text: &str, style: Style, page: LayoutParams<'_>, text_offset: &mut usize) -> Vec<Row> {
    if text.is_empty() {
        return Vec::new();
    }
    let margin = Margin {
        first: vec!["  ".into()],
        line: vec!["  ".into()],
        rest: vec![Span::styled("↳ ", page.theme.dim)],
    };
    let words = [Span::styled(escape_control_chars(text), style)];
    wrap(&words, page.columns, &margin, Break::Anywhere, text_offset)
}

/// Returns the rows of fields in two columns, names and values. `wide` is the width of the names in columns; longer
/// names are cut. Long values wrap within the second column and take at most [`FIELD_ROWS`] rows, as in [`elide_rows`].
fn field_rows(
    fields: &[Field],
    wide: usize,
    style: Style,
    page: LayoutParams<'_>,
    text_offset: &mut usize,
) -> Vec<Row> {
    let mut out = Vec::new();
    for Field { name, value } in fields {
        let is_named = !name.is_empty();
        let name = pad(&one_line(name), wide);
        let (first, under) = if is_named {
            let name = Span::styled(format!("  {name}  "), page.theme.dim);
            (vec![name], wide + 4)
        } else {
            (vec!["  ".into()], 2)
        };
        let value = value.trim_end();
        if value.is_empty() {
            out.push(Row::decoration(first, *text_offset));
            continue;
        }
        let margin = Margin::hanging(first, vec![" ".repeat(under).into()]);
        let words = [Span::styled(escape_control_chars(value), style)];
        let rows = wrap(&words, page.columns, &margin, Break::Words, text_offset);
        out.extend(elide_rows(rows, FIELD_ROWS, page));
    }
    out
}

/// Returns the lines of `text` that an open call shows: all lines, or the first and the last `LINES_MAX / 2` lines if
/// there are more than [`LINES_MAX`]. Blank lines at the end of `text` do not count.
pub fn shown_lines(text: &str) -> impl Iterator<Item = &str> {
    first_and_last_lines(text, LINES_MAX)
}

/// Returns all lines of `text`, or the first and the last `max / 2` lines if there are more than `max`. Blank lines at
/// the end of `text` do not count. `max` must be at least 2.
pub fn first_and_last_lines(text: &str, max: usize) -> impl Iterator<Item = &str> {
    let (head, tail) = split_ends(text.trim_end(), max);
    head.lines().chain(tail.lines())
}

/// If `text` has more than `max` lines, returns two parts: the first and the last `max / 2` lines. Otherwise, returns
/// the whole text as the first part and an empty second part. `text` must not end with a line break.
fn split_ends(text: &str, max: usize) -> (&str, &str) {
    let mut breaks = text.match_indices('\n').map(|(at, _)| at);
    if breaks.clone().nth(max - 1).is_none() {
        return (text, "");
    }
    let head = breaks.nth(max / 2 - 1).unwrap_or(text.len());
    let mut back = text.rmatch_indices('\n').map(|(at, _)| at);
    let tail = back.nth(max / 2 - 1).unwrap_or(text.len());
    (&text[..head], text.get(tail + 1..).unwrap_or_default())
}

/// Returns the rows of an output; none if all its lines are empty. If the output has more than [`LINES_MAX`] lines, a
/// row that says how many are missing replaces the lines in the middle.
fn output_rows(text: &str, page: LayoutParams<'_>, text_offset: &mut usize) -> Vec<Row> {
    let all: Vec<&str> = text.trim_end().lines().collect();
    if all.iter().all(|l| l.is_empty()) {
        return Vec::new();
    }
    elide_lines(&all, page, text_offset, |line, text_offset| {
        if line.is_empty() {
            vec![Row::decoration(vec![], *text_offset)]
        } else {
            block(line, page.theme.dim, page, text_offset)
        }
    })
}

/// Calls `rows` for each line in `all` and returns the resulting rows, at most [`ROWS_OF_LINE`] for each line, as in
/// [`elide_rows`]. If there are more than [`LINES_MAX`] lines, a row that says how many are missing replaces the lines
/// in the middle, and `rows` is not called for them.
fn elide_lines<T>(
    all: &[T],
    page: LayoutParams<'_>,
    text_offset: &mut usize,
    rows: impl Fn(&T, &mut usize) -> Vec<Row>,
) -> Vec<Row> {
    let mut out = Vec::new();
    let mut draw = |some: &[T], out: &mut Vec<Row>| {
        for line in some {
            let rows = rows(line, text_offset);
            out.extend(elide_rows(rows, ROWS_OF_LINE, page));
        }
    };
    if all.len() <= LINES_MAX {
        draw(all, &mut out);
    } else {
        let half = LINES_MAX / 2;
        draw(&all[..half], &mut out);
        out.push(omission_row(all.len() - LINES_MAX, &out, page));
        draw(&all[all.len() - half..], &mut out);
    }
    out
}

/// Limits `rows` to `max` rows. If there are more, one additional row that says how many are missing replaces the rows
/// in the middle.
pub fn elide_rows(mut rows: Vec<Row>, max: usize, page: LayoutParams<'_>) -> Vec<Row> {
    if rows.len() <= max {
        return rows;
    }
    let left = rows.len() - max;
    let start = max / 2;
    let text_offset = rows[start].text_offset;
    let mark = format!("… {} not shown …", count_noun(left, "row"));
    let mark = Row::decoration(cut_line(&mark, page.theme.warn, page).spans, text_offset);
    rows.splice(start..start + left, [mark]);
    rows
}
