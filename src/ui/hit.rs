//! Pure: what lies under the mouse. It counts by the same places as the views draw by.

use ratatui::layout::{Position, Rect};

use super::keymap::Action;
use super::layout::{self, Layout};
use super::pane::{Focus, Pane};
use super::popup::Popup;
use super::rows::first_row;
use super::state::UiState;
use super::theme::Theme;
use super::{bars, complete, needs_card, pickers, readers, rows};
use crate::domain::ids::TaskId;

/// What the mouse holds while its button is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Held {
    /// Nothing.
    #[default]
    Nothing,
    /// The border between two columns.
    Border,
}

/// What is remembered of the mouse between two of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pointer {
    /// What it holds.
    pub held: Held,
    /// The row of a popup that it clicked last, with no key in between: a second click takes it.
    pub clicked: Option<usize>,
}

/// What lies under the mouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// Nothing that a click means.
    Nothing,
    /// The line of a recording.
    Replay(Rect),
    /// The border between two columns.
    Border,
    /// The tab of a pane.
    Tab(Pane),
    /// The line that says that something waits.
    Banner,
    /// A hint or a button that does this.
    Button(Action),
    /// A row of a pane's list, by its place in the list.
    Row(Pane, usize),
    /// A task of the board.
    Task(TaskId),
    /// A row of the conversation, counted from the first one in view.
    Talk(usize),
    /// A pane, beside its rows.
    Pane(Pane),
    /// Where the person writes.
    Composer,
    /// A row of the list that completes a word.
    Offer(usize),
    /// A row of a popup's list.
    PopupRow(usize),
    /// A popup, beside its rows.
    Popup,
    /// The screen beside a popup.
    BesidePopup,
}

/// What lies at a cell.
pub fn at(state: &UiState, column: u16, row: u16) -> Hit {
    let here = Position::new(column, row);
    let layout = layout::layout(state, state.size);
    let hints = bars::hint_line(state, layout.hints);
    if let Some(hint) = hints.iter().find(|h| h.at.contains(here)) {
        return Hit::Button(hint.what.action);
    }
    if let Some(popup) = state.popups.last() {
        return in_popup(state, popup, here);
    }
    if let Some(hit) = in_offers(state, &layout, here) {
        return hit;
    }
    if let Some(line) = layout.replay.filter(|r| r.contains(here)) {
        return Hit::Replay(line);
    }
    if layout.banner.is_some_and(|r| r.contains(here)) {
        return Hit::Banner;
    }
    if let Some((line, offered)) = &layout.tabs {
        let tabs = bars::tab_line(state, &layout, *line, offered);
        if let Some(tab) = tabs.iter().find(|t| t.at.contains(here)) {
            return Hit::Tab(tab.what.0);
        }
    }
    if layout.border.is_some_and(|r| r.contains(here)) {
        return Hit::Border;
    }
    match layout.at(column, row) {
        None => Hit::Nothing,
        Some(Focus::Composer) => Hit::Composer,
        Some(Focus::Pane(pane)) => in_pane(state, &layout, pane, here),
    }
}

/// What lies there of the list that completes a word.
fn in_offers(state: &UiState, layout: &Layout, here: Position) -> Option<Hit> {
    let len = complete::offers(state).len();
    let place = complete::place(state, layout, len)?;
    let row = row_of(place.list, here, place.first, len).map(Hit::Offer);
    place
        .area
        .contains(here)
        .then(|| row.unwrap_or(Hit::Nothing))
}

fn in_popup(state: &UiState, popup: &Popup, here: Position) -> Hit {
    let (area, list) = match popup {
        Popup::Reader(reader) => {
            let most = readers::area(state.size);
            let width = most.width.saturating_sub(4);
            let lines = readers::lines(state, reader, width, &Theme::default());
            (readers::place(state.size, reader, lines.len()), None)
        }
        Popup::Picker(picker) => {
            let len = rows::picks(state, picker).len();
            let place = pickers::picker(state, state.size, picker, len);
            (place.area, Some((place.list, place.first, len)))
        }
        Popup::Jobs { row } => {
            let len = state.jobs.listed().len();
            let place = pickers::jobs(state.size, *row, len);
            (place.area, Some((place.list, place.first, len)))
        }
        // What is written or asked there is not put away by a slip of the mouse.
        Popup::Comment(_) | Popup::Confirm(_) => return Hit::Popup,
    };
    if !area.contains(here) {
        return Hit::BesidePopup;
    }
    let row = list.and_then(|(list, first, len)| row_of(list, here, first, len));
    row.map_or(Hit::Popup, Hit::PopupRow)
}

/// The place in a list of `len` rows whose first one in view is `first`.
fn row_of(list: Rect, here: Position, first: usize, len: usize) -> Option<usize> {
    let row = first + usize::from(here.y.checked_sub(list.y)?);
    (list.contains(here) && row < len).then_some(row)
}

fn in_pane(state: &UiState, layout: &Layout, pane: Pane, here: Position) -> Hit {
    let Some(area) = layout.pane(pane) else {
        return Hit::Nothing;
    };
    let inside = layout::inside(area);
    let listed = |len: usize, selected: Option<usize>| {
        let first = first_row(len, selected.unwrap_or(0), inside.height);
        row_of(inside, here, first, len)
    };
    let row = match pane {
        Pane::Todo => None,
        Pane::Board => {
            let task = super::board::task_at(state, inside, here.x, here.y);
            return task.map_or(Hit::Pane(pane), Hit::Task);
        }
        Pane::Lead => {
            let talk = layout::talk(state, area);
            let row = talk.contains(here).then(|| usize::from(here.y - talk.y));
            return row.map_or(Hit::Pane(pane), Hit::Talk);
        }
        Pane::Team => {
            let selected = rows::selected_member(state).map(|(at, _)| at);
            listed(rows::team(state).len(), selected)
        }
        Pane::Inbox => listed(state.letters.len(), rows::selected_letter(state)),
        Pane::Needs => return in_card(state, area, here),
    };
    row.map_or(Hit::Pane(pane), |at| Hit::Row(pane, at))
}

fn in_card(state: &UiState, area: Rect, here: Position) -> Hit {
    let pane = Hit::Pane(Pane::Needs);
    let inside = needs_card::inside(area);
    let (Some((at, request)), Some(last)) =
        (rows::selected_request(state), inside.rows().next_back())
    else {
        return pane;
    };
    let buttons = bars::buttons(state, request, last);
    if let Some(button) = buttons.iter().find(|b| b.at.contains(here)) {
        return button.what.action.map_or(pane, Hit::Button);
    }
    let pinned = needs_card::card(state, inside.width, inside.height).pinned;
    let below = u16::try_from(pinned.len() + 1).unwrap_or(u16::MAX);
    let list = Rect {
        height: needs_card::listed(state).min(inside.height.saturating_sub(below)),
        ..inside
    };
    let len = state.requests.len();
    let first = first_row(len, at, needs_card::listed(state));
    row_of(list, here, first, len).map_or(pane, |at| Hit::Row(Pane::Needs, at))
}
