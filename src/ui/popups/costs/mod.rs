//! The cost panel: usage by agent and by task, running model calls, back-off and budgets. Pure.

mod accounts;
mod limits;
mod popup;
pub(in crate::ui) mod sort;
mod table;
#[cfg(test)]
mod tests;
mod view;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::ui::app::App;
pub use crate::ui::popups::costs::popup::{CostTarget, CostsPopup, open};
use crate::ui::popups::costs::sort::CostSort;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::area::{PopupListLayout, centered_rect, height_with_border};
use crate::ui::widgets::list::first_row;

const WIDTH_MAX: u16 = 115;

#[derive(Debug, Clone, PartialEq)]
pub struct CostLine {
    pub spans: Vec<Span<'static>>,
    /// The agent or task that `Enter` opens. A line without a target cannot be selected.
    pub target: Option<CostTarget>,
}

impl CostLine {
    fn plain(spans: Vec<Span<'static>>) -> CostLine {
        CostLine {
            spans,
            target: None,
        }
    }

    fn about(target: CostTarget, spans: Vec<Span<'static>>) -> CostLine {
        CostLine {
            spans,
            target: Some(target),
        }
    }
}

/// Returns all lines of the panel. The rows of its tables are in the order `sort`.
pub fn lines(app: &App, sort: CostSort, theme: &Theme) -> Vec<CostLine> {
    // The first column is reserved for the selection mark.
    let columns = usize::from(width(app.size).saturating_sub(6));
    let mut accounts = accounts::accounts(app);
    sort.sort_accounts(&mut accounts.all);
    if accounts.sum.usage.total() == 0 {
        let words =
            "No tokens used yet. Tokens and costs appear after the first answer of a model.";
        let mut out = words_of(words, columns, theme);
        out.push(CostLine::plain(Vec::new()));
        out.extend(limits::lines(app, &accounts, columns, theme));
        return out;
    }
    let mut out = table::agents(app, &accounts, sort, columns, theme);
    out.push(CostLine::plain(Vec::new()));
    out.extend(limits::lines(app, &accounts, columns, theme));
    let tasks = table::tasks(app, &accounts, sort, columns, theme);
    if !tasks.is_empty() {
        out.push(CostLine::plain(Vec::new()));
        out.extend(tasks);
    }
    out
}

/// Returns the panel as plain text, for copying.
pub fn text(app: &App, sort: CostSort) -> String {
    let lines = lines(app, sort, &Theme::default()).into_iter();
    let lines = lines.map(|line| Line::from(line.spans).to_string());
    lines
        .map(|line| line.trim_end().to_string())
        .collect::<Vec<_>>()
        .join("\n")
}

fn words_of(words: &str, columns: usize, theme: &Theme) -> Vec<CostLine> {
    let lines = wrap(words, columns.max(1)).into_iter();
    lines
        .map(|line| CostLine::plain(vec![Span::styled(line, theme.dim)]))
        .collect()
}

fn width(screen: Rect) -> u16 {
    WIDTH_MAX.min(screen.width.saturating_sub(4))
}

/// Returns the area of the panel and the index of its first visible line, so that the selected line is visible. If the
/// selected line is the last one that can be selected, the lines below it are visible too, as far as there is room.
pub fn place(screen: Rect, view: &CostsPopup, lines: &[CostLine]) -> PopupListLayout {
    let most = screen.height.saturating_sub(4);
    let area = centered_rect(
        screen,
        width(screen),
        height_with_border(lines.len()).min(most),
    );
    let list = area::inside(area);
    let at = view.row(lines).unwrap_or(0);
    let at = if lines.iter().skip(at + 1).any(|l| l.target.is_some()) {
        at
    } else {
        // If the last line that can be selected is selected, scrolls to the end, so that the user can read the lines
        // below it.
        lines.len().saturating_sub(1)
    };
    let first = first_row(lines.len(), at, list.height);
    // The selected line stays in view even if many lines follow.
    let first = first.min(view.row(lines).unwrap_or(first));
    PopupListLayout { area, list, first }
}
