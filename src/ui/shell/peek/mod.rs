//! The preview of the item that is selected in a pane: its content and layout. Pure.

mod popup;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::layout::Layout;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::feature::{Preview, SelectedItem};
pub use crate::ui::shell::peek::popup::{Peek, PreviewScroll};
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;
use crate::ui::widgets::area;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::list::step;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum width of a preview outside its pane, in columns. If no such area is free, the preview takes the lower part
/// of the pane.
const BESIDE_MIN: u16 = 44;
/// Maximum width of a preview outside its pane, in columns.
const WIDTH_MAX: u16 = 100;
/// Minimum height of a preview outside its pane, in rows.
const ROWS_MIN: u16 = 12;
/// Height of a preview outside its pane, in rows, if there is room. If the previewed pane or the previewed text is
/// higher, the preview is as high as the higher of the two.
const ROWS: u16 = 24;
/// Minimum number of rows of another pane to leave visible below the preview. If fewer would be visible, the preview
/// covers them.
const EDGE_ROWS: u16 = 3;
/// Minimum height in rows, with border, of a pane whose lower part the preview takes.
const LIST_MIN: u16 = 5;

fn previewed_pane(app: &App) -> Option<Pane> {
    let pane = app.popups.top::<Peek>()?.pane;
    (app.focus == Focus::Pane(pane)).then_some(pane)
}

/// Returns whether the conversation of `agent` is previewed.
pub fn shows(state: &UiState, agent: &Name) -> bool {
    selected_item(state).is_some_and(|item| item == SelectedItem::Agent(agent.clone()))
}

/// Places the preview outside the previewed pane if there is room, else in the lower part of that pane. Does nothing if
/// no pane is previewed or that pane is not on the screen.
pub fn make_room(state: &UiState, layout: &mut Layout) {
    let Some(pane) = previewed_pane(state) else {
        return;
    };
    let Some(list) = layout.pane(pane) else {
        return;
    };
    let all = layout.panes.iter().map(|(_, area)| *area);
    let body = all.chain(layout.composer).reduce(Rect::union);
    let body = body.unwrap_or(list);
    let wanted = |columns| text_rows(state, columns);
    layout.peek = beside(body, list, wanted).map(|peek| without_rest(peek, layout));
    if layout.peek.is_none() {
        let height = match pane {
            // The card of the request shows the same text, so that only the title of the pane is left.
            Pane::Needs => 1,
            _ => (list.height * 2 / 5).max(LIST_MIN),
        };
        let height = height.min(list.height);
        let (above, below) = cut_top(list, height);
        layout.peek = Some(below);
        for (other, area) in &mut layout.panes {
            if *other == pane {
                *area = above;
            }
        }
    }
}

/// Returns the number of rows, including the frame, that a preview of `columns` columns needs to show its whole text.
/// The conversation of an agent is not counted, because it fills any area.
fn text_rows(state: &UiState, columns: u16) -> u16 {
    let inside = area::inside(Rect::new(0, 0, columns, ROWS));
    let peeked = preview_content(state, usize::from(inside.width), &Theme::default());
    let lines = peeked.map_or(0, |peeked| peeked.lines.len());
    u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2)
}

/// Extends the preview down to the end of each pane that the preview covers partly, if fewer than [`EDGE_ROWS`] rows of
/// that pane would stay visible.
fn without_rest(peek: Rect, layout: &Layout) -> Rect {
    let covered = layout.panes.iter().filter(|(_, a)| a.intersects(peek));
    let rests = covered.map(|(_, area)| area.bottom().saturating_sub(peek.bottom()));
    let rest = rests.filter(|rest| *rest < EDGE_ROWS).max().unwrap_or(0);
    Rect {
        height: peek.height + rest,
        ..peek
    }
}

/// Returns an area for the preview in `body`, outside of `list`: left or right of the list, else above or below it.
/// `wanted` returns the number of rows that the text needs, given a number of columns. Returns `None` if none of these
/// areas is large enough.
fn beside(body: Rect, list: Rect, wanted: impl Fn(u16) -> u16) -> Option<Rect> {
    let left = Rect {
        width: list.x - body.x,
        ..body
    };
    let right = Rect {
        x: list.right(),
        width: body.right() - list.right(),
        ..body
    };
    let above = Rect {
        y: body.y,
        height: list.y - body.y,
        ..list
    };
    let below = Rect {
        y: list.bottom(),
        height: body.bottom() - list.bottom(),
        ..list
    };
    let largest = |places: [Rect; 2]| {
        let fits = |area: &Rect| area.width >= BESIDE_MIN && area.height >= ROWS_MIN;
        places.into_iter().filter(fits).max_by_key(|a| a.area())
    };
    let best = largest([left, right]).or_else(|| largest([above, below]))?;
    let width = best.width.min(WIDTH_MAX);
    let height = best.height.min(list.height.max(ROWS).max(wanted(width)));
    // The preview is as close to the list as possible.
    let near = |at: u16, from: u16, room: u16| at.clamp(from, from + room);
    Some(Rect {
        x: near(list.x.saturating_sub(width), best.x, best.width - width),
        y: near(
            list.y.min(best.bottom() - height),
            best.y,
            best.height - height,
        ),
        width,
        height,
    })
}

fn selected_item(state: &UiState) -> Option<SelectedItem> {
    state.panes.get(previewed_pane(state)?).selected_item(state)
}

pub fn scroll_position(state: &UiState) -> PreviewScroll {
    let of = selected_item(state);
    if let Some(peek) = state.popups.top::<Peek>()
        && of.is_some()
        && peek.scroll.of == of
    {
        return peek.scroll.clone();
    }
    PreviewScroll {
        of,
        ..PreviewScroll::default()
    }
}

/// Returns the area of an agent's conversation in a preview with the area `area`: the part below `head` lines about the
/// agent and a horizontal rule.
pub fn conversation_area(area: Rect, head: usize) -> Rect {
    let inside = area::inside(area);
    let above = u16::try_from(head).unwrap_or(u16::MAX).saturating_add(1);
    cut_top(inside, above).1
}

/// Returns the scrollbar of the preview in `area`. If an agent is previewed, this is the scrollbar of its conversation.
/// `None` if nothing is previewed or all lines are visible.
pub fn scrollbar(state: &UiState, area: Rect) -> Option<Scrollbar> {
    let list = area::inside(area);
    let peeked = preview_content(state, usize::from(list.width), &Theme::default())?;
    let scroll_position = scroll_position(state);
    let len = peeked.lines.len();
    let Some(name) = &peeked.agent else {
        return Scrollbar::of_list(area, list, scroll_position.first(&peeked, list), len);
    };
    let conversation_area = conversation_area(area, len);
    let agent = state.model.agents.get(name).filter(|a| a.has_entries)?;
    if conversation_area.is_empty() {
        return None;
    }
    let viewport = frame_layout::viewport(conversation_area);
    let scrolled = agent
        .transcript
        .scroll_state_at(&scroll_position.anchor, viewport)?;
    Scrollbar::new(area, conversation_area, scrolled)
}

/// A scroll movement of the preview. Positions are counted in lines; in a conversation, in units of the scrollbar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollTo {
    /// Scrolls relative to the current position.
    By(Scroll),
    /// Scrolls so that this amount of content is above the visible part.
    To(usize),
}

/// Returns the scroll position of the preview in `area` after the movement `to`; `None` if nothing is previewed.
pub fn scroll_position_after(state: &UiState, area: Rect, to: ScrollTo) -> Option<PreviewScroll> {
    let list = area::inside(area);
    let peeked = preview_content(state, usize::from(list.width), &Theme::default())?;
    let mut scroll_position = scroll_position(state);
    let len = peeked.lines.len();
    let Some(name) = &peeked.agent else {
        let seen = usize::from(list.height).max(1);
        let most = len.saturating_sub(seen);
        scroll_position.first = Some(match to {
            ScrollTo::By(by) => {
                // One line of the previous page stays visible.
                let page = seen.saturating_sub(1).max(1);
                step(scroll_position.first(&peeked, list), most + 1, by, page)
            }
            ScrollTo::To(first) => first.min(most),
        });
        return Some(scroll_position);
    };
    let conversation_area = conversation_area(area, len);
    let transcript = &state.model.agents.get(name)?.transcript;
    if !conversation_area.is_empty() {
        let viewport = frame_layout::viewport(conversation_area);
        scroll_position.anchor = match to {
            ScrollTo::By(by) => transcript.scroll_from(scroll_position.anchor, by, viewport),
            ScrollTo::To(above) => transcript.anchor_at_offset(above, viewport),
        };
    }
    Some(scroll_position)
}

/// Returns the previewed pane if the last line of its [`Preview`] in `area` is visible; else `None`. The conversation
/// of a previewed agent is not part of these lines.
pub fn read_to_end(state: &UiState, area: Rect) -> Option<Pane> {
    let pane = previewed_pane(state)?;
    let list = area::inside(area);
    let peeked = preview_content(state, usize::from(list.width), &Theme::default())?;
    let first = scroll_position(state).first(&peeked, list);
    (first + usize::from(list.height) >= peeked.lines.len()).then_some(pane)
}

/// Returns the content of the preview, wrapped to `columns` columns; `None` if nothing is previewed.
pub fn preview_content(state: &UiState, columns: usize, theme: &Theme) -> Option<Preview> {
    state
        .panes
        .get(previewed_pane(state)?)
        .preview(state, columns, theme)
}
