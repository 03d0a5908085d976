//! A cell as lines of a width. Pure: the same cell, width and theme give the same lines.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::cell::{Answer, Fold, Kind, Progress, ToolRun};
use super::flow::{Break, Margin, flow};
use super::markdown;
use crate::domain::text::harmless;
use crate::protocol::event::Level;
use crate::ui::textual::{fit, width};
use crate::ui::theme::Theme;

/// Most lines of output that an open tool call shows.
const OUTPUT_LINES: usize = 200;
/// Lines of output that a running tool call shows.
const LIVE_LINES: usize = 5;

/// Whether a cell is the selected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// It is.
    Selected,
    /// It is not.
    Plain,
}

/// The lines of a cell. `above` is what stands before it: cells of another sort are set off by a blank line.
pub fn lines(
    kind: &Kind,
    above: Option<&Kind>,
    mark: Mark,
    columns: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    if above.is_some_and(|above| sort(above) != sort(kind) || sort(kind) == Sort::Talk) {
        out.push(Line::default());
    }
    match kind {
        Kind::Prompt(text) => {
            let margin = Margin {
                first: vec![("› ".into(), theme.user)],
                rest: vec![("  ".into(), Style::default())],
            };
            let runs = [(harmless(text.trim_end()), theme.user)];
            out.extend(flow(&runs, columns, &margin, Break::Words));
        }
        Kind::Answer(answer) => out.extend(said(answer, columns, theme)),
        Kind::Tool(run) => out.extend(tool(run, mark, columns, theme)),
        Kind::Injected(what) => out.extend(plain(&format!("⚑ {what}"), theme.dim, columns)),
        Kind::Notice(level, text) => {
            let (shape, style) = level_look(*level, theme);
            out.extend(plain(&format!("{shape} {text}"), style, columns));
        }
        Kind::Ended(level, what, hint) => {
            let (shape, style) = level_look(*level, theme);
            out.extend(plain(&format!("{shape} {what}"), style, columns));
            if !hint.is_empty() {
                out.extend(plain(&format!("  {hint}"), theme.dim, columns));
            }
        }
    }
    out
}

/// Cells of one sort stand close together.
#[derive(PartialEq, Eq)]
enum Sort {
    Talk,
    Work,
}

fn sort(kind: &Kind) -> Sort {
    match kind {
        Kind::Prompt(_) | Kind::Answer(_) => Sort::Talk,
        Kind::Tool(_) | Kind::Injected(_) | Kind::Notice(..) | Kind::Ended(..) => Sort::Work,
    }
}

fn level_look(level: Level, theme: &Theme) -> (&'static str, Style) {
    match level {
        Level::Info => ("·", theme.dim),
        Level::Warn => ("▲", theme.warn),
        Level::Error => ("✗", theme.error),
    }
}

fn plain(text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    let margin = Margin {
        first: vec![],
        rest: vec![("  ".into(), Style::default())],
    };
    flow(&[(harmless(text), style)], columns, &margin, Break::Words)
}

fn said(answer: &Answer, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    if !answer.thinking.trim().is_empty() {
        let thought = harmless(answer.thinking.trim());
        // What is thought right now is at the end; what was thought is known by its beginning.
        let line = if answer.is_open() {
            thought.lines().last()
        } else {
            thought.lines().next()
        };
        let text = fit(&format!("∴ {}", line.unwrap_or_default()), columns);
        out.push(Line::styled(text, theme.dim));
    }
    out.extend(markdown::lines(&answer.text, columns, theme));
    if !answer.is_open() && looks_like_a_call(&answer.text) {
        let hint = "▲ The model wrote a tool call as text; it was not run. Its server's chat template may lack tools.";
        out.extend(plain(hint, theme.warn, columns));
    }
    out
}

/// Whether an answer holds what should have been a tool call: some servers' templates do that.
fn looks_like_a_call(text: &str) -> bool {
    let has = |words: &str| text.contains(words);
    has("<tool_call>")
        || (has("\"name\"") && (has("\"arguments\"") || has("\"parameters\"")) && has("{"))
}

fn tool(run: &ToolRun, mark: Mark, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let (shape, style) = match run.progress {
        Progress::Running => ("◐", theme.working),
        Progress::Done => ("✓", theme.ok),
        Progress::Failed => ("✗", theme.error),
    };
    let head = format!("{shape} {} ", run.tool);
    // What it works on comes first; what came of it only where both fit.
    let room = columns.saturating_sub(width(&head));
    let result = result(run);
    // How it failed is always told; of a success only where both fit.
    let kept = if run.progress == Progress::Failed && !result.is_empty() {
        width(&result) + 3
    } else {
        0
    };
    let on = fit(&run.on, room.saturating_sub(kept));
    let left = room.saturating_sub(width(&on));
    let result = Some(result).filter(|r| !r.is_empty() && width(r) + 3 <= left);
    let name_style = if mark == Mark::Selected {
        theme.selection
    } else {
        theme.tool
    };
    let mut spans = vec![
        Span::styled(format!("{shape} "), style),
        Span::styled(run.tool.clone(), name_style),
        Span::raw(" "),
        Span::styled(on, theme.text),
    ];
    if let Some(result) = result {
        spans.push(Span::styled(format!(" · {result}"), theme.dim));
    }
    let mut out = vec![Line::from(spans)];
    match (run.fold, run.progress) {
        (Fold::Open, _) => out.extend(everything(run, columns, theme)),
        (Fold::Folded, Progress::Running) => {
            let lines: Vec<&str> = run.output.lines().collect();
            let start = lines.len().saturating_sub(LIVE_LINES);
            out.extend(
                lines[start..]
                    .iter()
                    .map(|l| indented(l, theme.dim, columns)),
            );
        }
        (Fold::Folded, Progress::Failed) => {
            let why = reason(&run.output);
            out.push(indented(why, theme.error, columns));
        }
        (Fold::Folded, Progress::Done) => {}
    }
    out
}

/// The line of a failed call's output that says most: a program's last words, a tool's first.
fn reason(output: &str) -> &str {
    let words = match output.rsplit_once("\n[exit code ") {
        Some((before, _)) => before.lines().rfind(|l| !l.trim().is_empty()),
        None => output.lines().find(|l| !l.trim().is_empty()),
    };
    words.unwrap_or_default()
}

/// One line of a cell that is cut and not wrapped.
fn indented(text: &str, style: Style, columns: usize) -> Line<'static> {
    Line::styled(fit(&format!("  {text}"), columns), style)
}

/// What came of a call, in a few words.
fn result(run: &ToolRun) -> String {
    let mut words = Vec::new();
    if run.progress == Progress::Failed
        && let Some((_, code)) = run.output.rsplit_once("[exit code ")
    {
        words.push(format!("exit {}", code.trim_end().trim_end_matches(']')));
    }
    if run.progress == Progress::Done {
        let lines = run.output.lines().count();
        let first = run.output.lines().next().unwrap_or_default().trim();
        if !run.diff.is_empty() {
            let count = |sign: char, header: &str| {
                run.diff
                    .lines()
                    .filter(|l| l.starts_with(sign) && !l.starts_with(header))
                    .count()
            };
            words.push(format!("+{} −{}", count('+', "+++"), count('-', "---")));
        } else if lines == 1 && width(first) <= 30 {
            words.push(first.to_string());
        } else if lines > 1 && !first.starts_with(['{', '[']) {
            words.push(format!("{lines} lines"));
        }
    }
    if run.took_ms >= 1000 {
        #[allow(clippy::cast_precision_loss)] // hours at the most
        words.push(format!("{:.1} s", run.took_ms as f64 / 1000.0));
    }
    words.join(" · ")
}

/// An open call: its input, what it changed, its output.
fn everything(run: &ToolRun, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let margin = Margin::all(vec![("  ".into(), Style::default())]);
    let block = |text: &str, style: Style| {
        flow(
            &[(text.to_string(), style)],
            columns,
            &margin,
            Break::Anywhere,
        )
    };
    let mut out = Vec::new();
    if !run.input.is_empty() && run.diff.is_empty() {
        out.extend(block(&run.input, theme.code));
    }
    for line in run.diff.lines().take(OUTPUT_LINES) {
        let style = match line.as_bytes().first() {
            Some(b'+') if !line.starts_with("+++") => theme.added,
            Some(b'-') if !line.starts_with("---") => theme.removed,
            _ => theme.dim,
        };
        out.extend(block(line, style));
    }
    let all: Vec<&str> = run.output.lines().collect();
    let half = OUTPUT_LINES / 2;
    if all.len() > OUTPUT_LINES {
        out.extend(all[..half].iter().flat_map(|l| block(l, theme.dim)));
        let left = all.len() - OUTPUT_LINES;
        out.extend(block(
            &format!("… {left} lines are not shown …"),
            theme.warn,
        ));
        out.extend(
            all[all.len() - half..]
                .iter()
                .flat_map(|l| block(l, theme.dim)),
        );
    } else {
        out.extend(all.iter().flat_map(|l| block(l, theme.dim)));
    }
    out
}
