//! Places the panes that share a column below a line of tabs. Pure.

use ratatui::layout::Rect;

use crate::ui::frame::layout::Layout;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::layout::shares;
use crate::ui::shell::state::UiState;
use crate::ui::widgets::cut::cut_top;

/// Height of the line of tabs, in rows.
const TAB_LINE: u16 = 1;

/// Places a line of tabs at the top of `column` and below it the pane of the selected tab. So that no rows stay blank,
/// also places the other panes with content, except the todo list, as far as the heights that they need fit into the
/// rest of the column. The lowest pane takes the rows that remain. Panes below another pane have no tab.
pub fn tabbed(state: &UiState, out: &mut Layout, column: Rect) {
    let (tabs, body) = cut_top(column, TAB_LINE);
    let selected = state.arrangement.tab;
    let mut rest = body
        .height
        .saturating_sub(wanted_height(state, selected, body));
    let mut shown = vec![selected];
    for pane in Pane::TABS {
        let height = wanted_height(state, pane, body);
        let has_content = state.panes.get(pane).content_rows(state) > 0;
        // The todo list belongs to the conversation and is shown only if its tab is selected.
        if pane != selected && pane != Pane::Todo && has_content && height <= rest {
            rest -= height;
            shown.push(pane);
        }
    }
    let place = |pane: &Pane| Pane::TABS.iter().position(|tab| tab == pane);
    shown.sort_by_key(place);
    // The tab names only the pane directly below. The others have their name in their frame and need no tab.
    let is_offered = |pane: &Pane| !shown.iter().skip(1).any(|below| below == pane);
    let offered = Pane::TABS.into_iter().filter(is_offered).collect();
    out.tabs = Some((tabs, offered));
    let lowest = shown.last().copied();
    let mut below = body;
    for pane in shown {
        let height = if lowest == Some(pane) {
            below.height
        } else {
            wanted_height(state, pane, body)
        };
        let (area, rest) = cut_top(below, height);
        out.panes.push((pane, area));
        below = rest;
    }
}

/// Returns the number of rows that the line of tabs and the pane of the selected tab need in `column`.
pub fn least_height(state: &UiState, column: Rect) -> u16 {
    TAB_LINE + wanted_height(state, state.arrangement.tab, column)
}

/// Returns the height that `pane` needs in `column`, in rows, including its frame. The height grows in steps of several
/// rows, so that panes rarely move. The inbox has a fixed height; if its messages need more rows and its tab is
/// selected, it has the height of the column.
fn wanted_height(state: &UiState, pane: Pane, column: Rect) -> u16 {
    let feature = state.panes.get(pane);
    let height = match (pane, feature.content_rows(state)) {
        (_, 0) => shares::PLACEHOLDER,
        (Pane::Board | Pane::Todo, _) => feature.wanted_height(state, column.width, column.height),
        (Pane::Team, members) => shares::team_height(members),
        // A list that grows without end.
        (_, rows) => {
            let height = shares::inbox_height(column.height);
            let is_whole = rows + 2 <= usize::from(height);
            // A longer list has all rows while its tab is selected.
            if is_whole || state.arrangement.tab != pane {
                height
            } else {
                column.height
            }
        }
    };
    height.min(column.height)
}
