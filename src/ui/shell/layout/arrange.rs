//! Computes the areas of the panes for each layout and screen size. Pure.

use ratatui::layout::Rect;

use crate::domain::request::{Request, RequestKind};
use crate::domain::screen::PaneLayout;
use crate::ui::app::{App, answering};
use crate::ui::frame::layout::{BESIDE_TEXT, Layout, SizeClass, TEXT_WIDEST, omits_tabs, viewport};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::feature::PaneFeature;
use crate::ui::panes::lead::conversation_area;
use crate::ui::panes::needs::compact;
use crate::ui::shell::layout::shares;
use crate::ui::shell::layout::shares::PaneContent;
use crate::ui::shell::layout::tabbed;
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour;
use crate::ui::widgets::composer::{ROWS_MAX, TextAreaSize};
use crate::ui::widgets::cut::{cut_left, cut_top};

/// Places the focused pane on `body`, the area for all panes, below a line of tabs and, if a request is open, the line
/// that announces it. On narrow screens, the layout `Focus` omits the tabs to save a row.
pub fn one(state: &UiState, out: &mut Layout, body: Rect) {
    let pane = state.focus.pane();
    let body = if omits_tabs(out.class, state.arrangement.screen.layout) {
        body
    } else {
        let (tabs, body) = cut_top(body, 1);
        let offered = Pane::ALL
            .into_iter()
            .filter(|p| state.panes.get(*p).has_tab(state))
            .collect();
        out.tabs = Some((tabs, offered));
        body
    };
    let body = banner(state, out, body, pane);
    alone(state, out, pane, body);
}

/// Places the conversation on the whole width if board, team and inbox are empty. Each empty pane of [`Pane::lines`]
/// gets one line below the conversation, which says what the pane will show. If board, team or inbox has content,
/// places nothing and returns false.
///
/// The todo list and requests are placed in the conversation's column. The lines of the conversation therefore keep
/// their width when a list or a request appears or disappears.
pub fn only_conversation(state: &UiState, out: &mut Layout, body: Rect) -> bool {
    let is_empty = |pane: &Pane| state.panes.get(*pane).content_rows(state) == 0;
    let (todo, others): (Vec<Pane>, Vec<Pane>) =
        Pane::lines().partition(|pane| *pane == Pane::Todo);
    if !others.iter().all(is_empty) {
        return false;
    }
    let empty: Vec<Pane> = todo.into_iter().filter(is_empty).chain(others).collect();
    let before = out.clone();
    conversation_with_lines(state, out, body, &empty);
    // The pane "Needs you" shows what no card above the composer shows.
    let mut open = state.model.requests.cards();
    let is_waiting = open.any(|request| !state.model.requests.is_answered(&request.id));
    let has_focus = state.focus == Focus::Pane(Pane::Needs);
    if has_focus || is_waiting && out.request.is_none() {
        *out = before;
        let body = needs(state, out, body, body.height);
        conversation_with_lines(state, out, body, &empty);
    }
    true
}

/// Minimum height, in rows, of the area for the conversation and the composer at which the lines of all empty panes are
/// shown below the conversation. In a lower area, only the line of the focused pane is shown.
const LINES_FROM: u16 = 12;

/// Places the conversation with the todo list, and one line for each pane in `empty` directly above the composer and
/// the request card.
fn conversation_with_lines(state: &UiState, out: &mut Layout, body: Rect, empty: &[Pane]) {
    let todo = if empty.contains(&Pane::Todo) {
        TodoPlacement::Elsewhere
    } else {
        TodoPlacement::AboveComposer
    };
    let is_shown = |pane: &Pane| body.height >= LINES_FROM || state.focus == Focus::Pane(*pane);
    let lines: Vec<Pane> = empty.iter().copied().filter(is_shown).collect();
    let count = u16::try_from(lines.len()).unwrap_or(0);
    let (area, _) = cut_top(body, body.height.saturating_sub(count));
    conversation(state, out, area, todo);
    // The card and the composer move down by the rows of the lines.
    let mut top = area.bottom();
    for part in [&mut out.request, &mut out.composer].into_iter().flatten() {
        top = top.min(part.y);
        part.y += count;
    }
    let rows = Rect {
        y: top,
        height: count,
        ..area
    };
    out.panes.extend(lines.into_iter().zip(rows.rows()));
}

/// Minimum height of the area for all panes, in rows, at which a screen of middle width shows all panes at once. In a
/// lower area, tabs select the panes on the right side.
const ALL_PANES_FROM: u16 = 30;

/// Places the conversation with the todo list on the left and the other panes on the right. The pane "Needs you" is on
/// top of the right side if it has requests or the focus.
///
/// If `body`, the area for all panes, has fewer than [`ALL_PANES_FROM`] rows, the left side has no todo list. The right
/// side then has a line of tabs and shows the pane of the selected tab, and other panes only if they fit.
pub fn middle(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 58);
    if body.height >= ALL_PANES_FROM {
        let right = needs(state, out, right, right.height);
        conversation(state, out, left, TodoPlacement::AboveComposer);
        column(state, out, right, last_in_column(state));
        return;
    }
    let right = needs(state, out, right, tabbed::least_height(state, right));
    conversation(state, out, left, TodoPlacement::Elsewhere);
    tabbed::tabbed(state, out, right);
}

/// Places the conversation with the todo list on the left and a column with the other panes on the right, with the pane
/// "Needs you" on top of that column if the pane has requests or the focus.
pub fn wide(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 50);
    let right = needs(state, out, right, right.height);
    conversation(state, out, left, TodoPlacement::AboveComposer);
    column(state, out, right, last_in_column(state));
}

/// Places the board, the team and the pane `last` in `area`, from top to bottom.
fn column(state: &UiState, out: &mut Layout, area: Rect, last: Pane) {
    let content = |pane: Pane| PaneContent {
        rows: state.panes.get(pane).content_rows(state),
        has_focus: state.focus == Focus::Pane(pane),
    };
    let board = state.panes.get(Pane::Board);
    let wanted = match board.content_rows(state) {
        0 => 0,
        _ => board.wanted_height(state, area.width, area.height),
    };
    let rows = shares::column(area.height, wanted, content(Pane::Team), content(last));
    let (board, rest) = cut_top(area, rows.board);
    let (team, inbox) = cut_top(rest, rows.team);
    out.panes
        .extend([(Pane::Board, board), (Pane::Team, team), (last, inbox)]);
}

/// Returns the lowest pane of a column: the pane of the selected tab. If that is the board, the team or the todo list,
/// returns the inbox instead, because those three have areas of their own.
fn last_in_column(app: &App) -> Pane {
    let is_guest = |pane: &Pane| !matches!(pane, Pane::Board | Pane::Team | Pane::Todo);
    Some(app.arrangement.tab)
        .filter(is_guest)
        .unwrap_or(Pane::Inbox)
}

/// Places the board in the larger left column, and the conversation with the todo list in the right column, below the pane
/// "Needs you" if that pane has requests or the focus. Below the board, a wide screen shows two other panes side by side;
/// a screen of middle width shows one pane with tabs.
pub fn board_first(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 62);
    let right = needs(state, out, right, right.height);
    conversation(state, out, right, TodoPlacement::WhereRoom);
    // The row of panes below the board is high enough for the team and some messages.
    let messages = if state.panes.inbox.content_rows(state) == 0 {
        shares::EMPTY
    } else {
        left.height / 4
    };
    let strip = shares::strip(left.height, state.panes.team.content_rows(state)).max(messages);
    if out.class == SizeClass::Wide {
        let (board, below) = cut_top(left, left.height.saturating_sub(strip));
        let (team, inbox) = cut_left(below, below.width / 2);
        out.panes.extend([
            (Pane::Board, board),
            (Pane::Team, team),
            (last_in_column(state), inbox),
        ]);
    } else {
        let (board, below) = cut_top(left, left.height.saturating_sub(strip + 1));
        let (tabs, below) = cut_top(below, 1);
        // The board and the todo list have areas in this layout and need no tab.
        let offered = Pane::TABS.into_iter();
        let offered: Vec<Pane> = offered
            .filter(|pane| !matches!(pane, Pane::Board | Pane::Todo))
            .collect();
        let pane = Some(state.arrangement.tab).filter(|tab| offered.contains(tab));
        let pane = pane.unwrap_or(Pane::Team);
        out.tabs = Some((tabs, offered));
        out.panes.extend([(Pane::Board, board), (pane, below)]);
    }
}

/// Places the conversation and an area with tabs one above the other, below the pane "Needs you" if it has requests or
/// the focus. In the layout `Board`, the tabs are above the conversation, otherwise below it. Used on screens that are
/// narrow and tall.
pub fn stack_panes(state: &UiState, out: &mut Layout, body: Rect) {
    let body = needs(state, out, body, body.height);
    let shared = |out: &mut Layout, area: Rect| {
        let (tabs, pane) = cut_top(area, 1);
        out.tabs = Some((tabs, Pane::TABS.to_vec()));
        out.panes.push((state.arrangement.tab, pane));
    };
    let (upper, lower) = cut_top(body, body.height * 11 / 20);
    match state.arrangement.screen.layout {
        PaneLayout::Wall | PaneLayout::Focus => {
            conversation(state, out, upper, TodoPlacement::Elsewhere);
            shared(out, lower);
        }
        PaneLayout::Board => {
            shared(out, upper);
            conversation(state, out, lower, TodoPlacement::Elsewhere);
        }
    }
}

/// Splits `body`, the area for all panes, into a left and a right column. The left column gets the share of the width
/// that the user has set, else `default` percent.
///
/// If the share is `default`, the column of the conversation is at most as wide as its longest lines of text, although
/// code may be wider. The conversation is in the left column in the layout `Wall`, and in the right one in the layout
/// `Board`.
fn columns(app: &App, out: &mut Layout, body: Rect, default: u16) -> (Rect, Rect) {
    let percent =
        |share| u16::try_from(u32::from(body.width) * u32::from(share) / 100).unwrap_or(body.width);
    let share = app.arrangement.screen.left(default);
    // Width that the conversation needs for its longest lines of text, with the frame.
    let needs = TEXT_WIDEST + 2 * (BESIDE_TEXT.horizontal + 1);
    let width = match app.arrangement.screen.layout {
        PaneLayout::Wall if share == default => percent(share).min(needs),
        PaneLayout::Board if share == default => {
            percent(share).max(body.width.saturating_sub(needs))
        }
        PaneLayout::Wall | PaneLayout::Board | PaneLayout::Focus => percent(share),
    };
    let (left, right) = cut_left(body, width);
    // The mouse target of the border covers the adjacent edges of both frames, because one column is hard to hit.
    out.border = Some(Rect {
        x: right.x.saturating_sub(1),
        width: 2,
        ..body
    });
    (left, right)
}

/// Places one pane on `body`, the area for all panes.
pub fn alone(state: &UiState, out: &mut Layout, pane: Pane, body: Rect) {
    if pane == Pane::Lead {
        conversation(state, out, body, TodoPlacement::Elsewhere);
    } else {
        out.panes.push((pane, body));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TodoPlacement {
    AboveComposer,
    /// The list is above the composer if the area is at least `TODO_AREA_HEIGHT_MIN` rows high or the list has the
    /// focus; otherwise it is not shown.
    WhereRoom,
    /// The list is not shown in the area of the conversation.
    Elsewhere,
}

/// Minimum height, in rows, of the area that the conversation and the todo list share, at which
/// [`TodoPlacement::WhereRoom`] shows the list. In a lower area, the list is shown only while it has the focus.
const TODO_AREA_HEIGHT_MIN: u16 = 15;

/// Minimum height, in rows, of the conversation, with its title line, above the card that shows an open request.
const TALK_MIN: u16 = 4;

/// Places the conversation, the todo list and, except in a replay, the composer. Must be called after the pane "Needs
/// you" was placed: the request of the shown agent gets a card above the composer only if that pane does not show the
/// request.
fn conversation(state: &UiState, out: &mut Layout, area: Rect, todo: TodoPlacement) {
    let upper = if state.replay.is_some() {
        area
    } else {
        let composer = if out.class == SizeClass::Narrow && is_idle(state) {
            // On a narrow screen, an empty composer without focus is one row with a hint.
            1
        } else {
            composer_height(state, area)
        };
        let (upper, composer) = cut_top(area, area.height.saturating_sub(composer));
        out.composer = Some(composer);
        request_card(state, out, upper)
    };
    let list = state.panes.get(Pane::Todo);
    let has_focus = state.focus == Focus::Pane(Pane::Todo);
    let is_wanted = list.content_rows(state) > 0 && state.arrangement.screen.shows_todo();
    let is_here = match todo {
        TodoPlacement::AboveComposer => has_focus || is_wanted,
        TodoPlacement::WhereRoom => has_focus || is_wanted && upper.height >= TODO_AREA_HEIGHT_MIN,
        TodoPlacement::Elsewhere => false,
    };
    if is_here {
        let most = (upper.height / 3).max(3);
        let height = list.wanted_height(state, upper.width, most);
        let (talk, list) = cut_top(upper, upper.height.saturating_sub(height));
        out.panes.push((Pane::Lead, talk));
        out.panes.push((Pane::Todo, list));
    } else {
        out.panes.push((Pane::Lead, upper));
    }
}

/// Places the card of the request that can be answered from the composer, at the bottom of `upper`. Returns the area
/// above the card, or `upper` if no card was placed. Places no card in these cases:
///
/// - There is no such request, or no room for its card.
/// - The pane "Needs you" has the focus.
/// - The pane "Needs you" shows this request, an identical one, or a request that the user has just decided.
fn request_card(state: &UiState, out: &mut Layout, upper: Rect) -> Rect {
    let Some(request) = answering::request(state) else {
        return upper;
    };
    // After the user's decision, the request stays selected in the pane "Needs you" until the crew confirms the
    // decision. No card is shown in that time.
    let shows = |selected: &Request| {
        let is_decided = state.model.requests.is_answered(&selected.id);
        is_decided || selected.id == request.id || selected.is_like(request)
    };
    let is_in_needs =
        out.pane(Pane::Needs).is_some() && state.selected_request().is_some_and(shows);
    if is_in_needs || state.focus == Focus::Pane(Pane::Needs) {
        return upper;
    }
    let free = match request.kind {
        RequestKind::Question => blank_rows(state, upper),
        _ => 0,
    };
    let height = compact::height(&state.model, request, upper, free);
    let height = height.min(upper.height.saturating_sub(TALK_MIN));
    if height < 2 {
        return upper;
    }
    let (talk, card) = cut_top(upper, upper.height - height);
    out.request = Some(card);
    talk
}

/// Returns the number of rows that the shown conversation leaves blank in a pane with the frame `area`.
fn blank_rows(state: &UiState, area: Rect) -> u16 {
    let talk = conversation_area(state, area);
    let agent = state.model.agents.get(&state.shown);
    let viewport = viewport(talk);
    let filled = agent.map_or(0, |agent| agent.transcript.filled_rows(viewport));
    talk.height
        .saturating_sub(u16::try_from(filled).unwrap_or(u16::MAX))
}

/// Returns whether the composer is empty and not focused.
fn is_idle(app: &App) -> bool {
    app.focus != Focus::Composer && app.input.composer.is_empty()
}

/// Returns the height of the composer with its frame, in rows. The text takes at most [`ROWS_MAX`] rows and a third of
/// the area's height.
fn composer_height(app: &App, area: Rect) -> u16 {
    let width = area.width.saturating_sub(4);
    let limit = ROWS_MAX.min(area.height / 3).max(1);
    let room = TextAreaSize {
        width,
        height: limit,
    };
    let rows = app.input.composer.window(room).rows.len();
    u16::try_from(rows).unwrap_or(limit).clamp(1, limit) + 2
}

/// Places the pane "Needs you" on top of a column if the pane has requests or the focus. The pane takes at most its
/// share of the rows, or all rows that the other panes leave free if these are more. `others` is the number of rows
/// that the other panes need. Returns the rest of the column.
fn needs(state: &UiState, out: &mut Layout, column: Rect, others: u16) -> Rect {
    let has_focus = state.focus == Focus::Pane(Pane::Needs);
    if state.model.requests.is_empty() && !has_focus {
        return column;
    }
    let pane = state.panes.get(Pane::Needs);
    // The pane is larger while it has the focus, so that the user can read the whole request, and for a question with
    // choices, so that the choices leave room for the text.
    let share = match pane.inner_context(state) {
        _ if has_focus => 75,
        Some(_) => 60,
        None => 45,
    };
    let share = (column.height * share / 100).max(8);
    let most = share.max(column.height.saturating_sub(others));
    let height = pane.wanted_height(state, column.width, most);
    let (top, rest) = cut_top(column, height);
    out.panes.push((Pane::Needs, top));
    rest
}

/// Places the line that announces open requests above `pane`, the only pane on the screen. Omits the line if no request
/// waits for the user, if `pane` is "Needs you", if a card above the composer shows a request, or if the tour line
/// describes the request. Returns the rest of `body`, the area for all panes.
pub fn banner(state: &UiState, out: &mut Layout, body: Rect, pane: Pane) -> Rect {
    let is_told = out.tour.is_some() && tour::replaces_banner(state);
    let has_card = pane == Pane::Lead && answering::request(state).is_some();
    if pane == Pane::Needs || has_card || state.model.requests.for_user() == 0 || is_told {
        return body;
    }
    let (line, rest) = cut_top(body, 1);
    out.banner = Some(line);
    rest
}
