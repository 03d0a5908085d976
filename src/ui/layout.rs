//! Where things lie on the screen, by its width and the layout that the person chose. Views draw there, the mouse and page keys count by it.

use ratatui::layout::{Margin, Position, Rect};

use super::composer::ROWS_MAX;
use super::cut::{cut_left, cut_top};
use super::needs_card;
use super::pane::{Focus, Pane};
use super::peek;
use super::state::UiState;
use super::tour;
use crate::domain::screen::Arrangement;

/// Narrowest screen with panes, in columns.
pub const WIDTH_MIN: u16 = 60;
/// Lowest screen with panes, in rows.
pub const HEIGHT_MIN: u16 = 16;
/// From here on all panes lie side by side.
pub const WIDE: u16 = 140;
/// From here on the conversation and one more pane lie side by side.
pub const MIDDLE: u16 = 100;

/// The panes of the right column that share one place on a middling screen, and their tab line.
pub const TABS: [Pane; 4] = [Pane::Board, Pane::Team, Pane::Inbox, Pane::Todo];

/// Which layout a screen gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Too small for panes.
    Small,
    /// One pane at a time.
    Narrow,
    /// The conversation, and a column with tabs.
    Middle,
    /// The conversation, and a column with all panes.
    Wide,
}

/// The class of a screen of that size.
pub fn class(area: Rect) -> Class {
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        Class::Small
    } else if area.width < MIDDLE {
        Class::Narrow
    } else if area.width < WIDE {
        Class::Middle
    } else {
        Class::Wide
    }
}

/// Where everything lies. What is not there is not drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Which layout it is.
    pub class: Class,
    /// The line at the top.
    pub status: Rect,
    /// The line at the bottom.
    pub hints: Rect,
    /// The line that guides through the demo, while there is one.
    pub tour: Option<Rect>,
    /// The line that says where a recording stands, while one is played.
    pub replay: Option<Rect>,
    /// The tab line and the panes that it offers.
    pub tabs: Option<(Rect, Vec<Pane>)>,
    /// The line that says that something waits, where its pane is not in view.
    pub banner: Option<Rect>,
    /// The border between two columns: the mouse moves it.
    pub border: Option<Rect>,
    /// The panes in view.
    pub panes: Vec<(Pane, Rect)>,
    /// Where the person writes.
    pub composer: Option<Rect>,
    /// What is peeked at, while something is.
    pub peek: Option<Rect>,
}

impl Layout {
    /// Where a pane lies, if it is in view.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(p, _)| *p == pane)
            .map(|(_, area)| *area)
    }

    /// What lies at a cell: who gets the keys by a click there.
    pub fn at(&self, column: u16, row: u16) -> Option<Focus> {
        let here = Position::new(column, row);
        if self.composer.is_some_and(|area| area.contains(here)) {
            return Some(Focus::Composer);
        }
        self.panes
            .iter()
            .find(|(_, area)| area.contains(here))
            .map(|(pane, _)| Focus::Pane(*pane))
    }
}

/// The blank columns beside a text that fills a pane.
pub const BESIDE_TEXT: Margin = Margin::new(1, 0);

/// Most columns of running text: the eye does not find the next line at the end of a longer one.
pub const TEXT_WIDEST: u16 = 120;

/// The inside of a pane's frame.
pub fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// Most rows of messages that are on their way.
const QUEUED_MAX: u16 = 3;

/// The rows at the lower edge of a conversation `height` rows high that show messages on their way to its agent.
pub fn queued_rows(state: &UiState, height: u16) -> u16 {
    let waiting = state.queued.iter().filter(|q| q.to == state.shown).count();
    let waiting = u16::try_from(waiting).unwrap_or(u16::MAX);
    waiting.min(QUEUED_MAX).min(height / 3)
}

/// Where the words of a conversation lie in a pane with the frame `area`.
pub fn talk(state: &UiState, area: Rect) -> Rect {
    let inner = inside(area).inner(BESIDE_TEXT);
    Rect {
        width: inner.width.min(TEXT_WIDEST),
        height: inner.height - queued_rows(state, inner.height),
        ..inner
    }
}

/// Where everything lies on a screen of size `area`.
pub fn layout(state: &UiState, area: Rect) -> Layout {
    let mut out = lay_out(state, area);
    peek::make_room(state, &mut out);
    out
}

fn lay_out(state: &UiState, area: Rect) -> Layout {
    let class = class(area);
    let row = |y: u16| Rect::new(area.x, y, area.width, 1.min(area.height));
    let mut out = Layout {
        class,
        status: row(area.y),
        hints: row(area.bottom().saturating_sub(1)),
        tour: None,
        replay: None,
        tabs: None,
        banner: None,
        border: None,
        panes: Vec::new(),
        composer: None,
        peek: None,
    };
    if class == Class::Small {
        return out;
    }
    let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
    if state.replay.is_some() {
        body.height -= 1;
        out.replay = Some(row(body.bottom()));
    } else if tour::line(state).is_some() {
        body.height -= 1;
        out.tour = Some(row(body.bottom()));
    }
    if let (Some(pane), Class::Middle | Class::Wide) = (state.zoom, class) {
        let body = banner(state, &mut out, body, pane);
        alone(state, &mut out, pane, body);
        return out;
    }
    match (class, state.screen.layout) {
        (Class::Small, _) => {}
        (Class::Narrow, _) | (_, Arrangement::Focus) => one(state, &mut out, body),
        (Class::Middle, Arrangement::Wall) => middle(state, &mut out, body),
        (Class::Wide, Arrangement::Wall) => wide(state, &mut out, body),
        (Class::Middle | Class::Wide, Arrangement::Board) => board_first(state, &mut out, body),
    }
    out
}

/// Whether one pane is in view at a time, whatever else there is.
pub fn shows_one(state: &UiState) -> bool {
    class(state.size) == Class::Narrow || state.screen.layout == Arrangement::Focus
}

/// One pane at a time, and a line with the others.
fn one(state: &UiState, out: &mut Layout, body: Rect) {
    let (tabs, body) = cut_top(body, 1);
    let pane = state.focus.pane();
    let offered = Pane::ALL
        .into_iter()
        .filter(|p| *p != Pane::Needs || !state.requests.is_empty() || pane == Pane::Needs)
        .collect();
    out.tabs = Some((tabs, offered));
    let body = banner(state, out, body, pane);
    alone(state, out, pane, body);
}

fn middle(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 58);
    conversation(state, out, left, Todo::Elsewhere);
    let right = needs(state, out, right);
    let (tabs, pane) = cut_top(right, 1);
    out.tabs = Some((tabs, TABS.to_vec()));
    out.panes.push((state.tab, pane));
}

fn wide(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 55);
    conversation(state, out, left, Todo::AboveComposer);
    let right = needs(state, out, right);
    let rows = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).saturating_add(2);
    // The team gets what it needs up to a third, the board up to three fifths of the rest, or all that letters leave.
    let team = rows(state.team.members.len()).clamp(4, (right.height / 3).max(4));
    let rest = right.height.saturating_sub(team);
    // A drawing needs rows between its parts and one for words about the selected task.
    let letters = rows(state.letters.len() + LETTER).max(6);
    let most = (rest * 3 / 5).max(rest.saturating_sub(letters)).max(6);
    let board = rows(state.board.len() * 3 / 2 + 2).clamp(6, most);
    let (board, right) = cut_top(right, board);
    let (team, inbox) = cut_top(right, team);
    out.panes.extend([
        (Pane::Board, board),
        (Pane::Team, team),
        (Pane::Inbox, inbox),
    ]);
}

/// The board in the large column on the left, whoever has the keys; the conversation with its todo list beside it.
fn board_first(state: &UiState, out: &mut Layout, body: Rect) {
    let (left, right) = columns(state, out, body, 62);
    let right = needs(state, out, right);
    conversation(state, out, right, Todo::WhereRoom);
    // What is known of the team fits below the tasks, and some letters.
    let rows = |n: usize| u16::try_from(n).unwrap_or(u16::MAX).saturating_add(2);
    let most = (left.height / 3).max(4);
    let letters = rows(state.letters.len()).min(left.height / 4);
    let strip = rows(state.team.members.len()).max(letters).clamp(4, most);
    if out.class == Class::Wide {
        let (board, below) = cut_top(left, left.height.saturating_sub(strip));
        let (team, inbox) = cut_left(below, below.width / 2);
        out.panes.extend([
            (Pane::Board, board),
            (Pane::Team, team),
            (Pane::Inbox, inbox),
        ]);
    } else {
        let (board, below) = cut_top(left, left.height.saturating_sub(strip + 1));
        let (tabs, below) = cut_top(below, 1);
        let pane = match state.tab {
            Pane::Inbox => Pane::Inbox,
            Pane::Lead | Pane::Todo | Pane::Board | Pane::Team | Pane::Needs => Pane::Team,
        };
        out.tabs = Some((tabs, vec![Pane::Team, Pane::Inbox]));
        out.panes.extend([(Pane::Board, board), (pane, below)]);
    }
}

/// The two columns, the left one with so many percent unless the person moved the border.
fn columns(state: &UiState, out: &mut Layout, body: Rect, usual: u16) -> (Rect, Rect) {
    let percent =
        |share| u16::try_from(u32::from(body.width) * u32::from(share) / 100).unwrap_or(body.width);
    let share = state.screen.left(usual);
    // The conversation takes no more than its lines need, unless the person wants it so.
    let needs = TEXT_WIDEST + 2 * (BESIDE_TEXT.horizontal + 1);
    let width = match state.screen.layout {
        Arrangement::Wall if share == usual => percent(share).min(needs),
        Arrangement::Board if share == usual => {
            percent(share).max(body.width.saturating_sub(needs))
        }
        Arrangement::Wall | Arrangement::Board | Arrangement::Focus => percent(share),
    };
    let (left, right) = cut_left(body, width);
    // Both frames' edges: one column alone is hard to hit.
    out.border = Some(Rect {
        x: right.x.saturating_sub(1),
        width: 2,
        ..body
    });
    (left, right)
}

/// One pane that has the whole body.
fn alone(state: &UiState, out: &mut Layout, pane: Pane, body: Rect) {
    if pane == Pane::Lead {
        conversation(state, out, body, Todo::Elsewhere);
    } else {
        out.panes.push((pane, body));
    }
}

/// The rows below a list of letters that show a short one whole.
const LETTER: usize = 3;

/// Where the todo list lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Todo {
    AboveComposer,
    /// The same, where the conversation keeps enough rows, and while it has the keys.
    WhereRoom,
    Elsewhere,
}

/// Rows of a conversation from which on a list below it leaves enough of it.
const TALK_FROM: u16 = 15;

fn conversation(state: &UiState, out: &mut Layout, area: Rect, todo: Todo) {
    let upper = if state.replay.is_some() {
        area
    } else {
        let composer = composer_height(state, area);
        let (upper, composer) = cut_top(area, area.height.saturating_sub(composer));
        out.composer = Some(composer);
        upper
    };
    let items = state
        .agents
        .get(&state.shown)
        .map_or(0, |a| a.todo.items().len());
    let has_focus = state.focus == Focus::Pane(Pane::Todo);
    let is_wanted = items > 0 && state.screen.shows_todo();
    let is_here = match todo {
        Todo::AboveComposer => has_focus || is_wanted,
        Todo::WhereRoom => has_focus || is_wanted && upper.height >= TALK_FROM,
        Todo::Elsewhere => false,
    };
    if is_here {
        let wanted = u16::try_from(items.max(1)).unwrap_or(u16::MAX);
        let most = (upper.height / 3).max(3);
        let height = wanted.saturating_add(2).min(most);
        let (talk, list) = cut_top(upper, upper.height.saturating_sub(height));
        out.panes.push((Pane::Lead, talk));
        out.panes.push((Pane::Todo, list));
    } else {
        out.panes.push((Pane::Lead, upper));
    }
}

/// The rows of the composer with its frame: as many as its text has, up to a bound.
fn composer_height(state: &UiState, area: Rect) -> u16 {
    let width = area.width.saturating_sub(4);
    let most = ROWS_MAX.min(area.height / 3).max(1);
    let rows = state.composer.window(width, most).rows.len();
    u16::try_from(rows).unwrap_or(most).clamp(1, most) + 2
}

/// The pane of what waits, on top of a column; what is left of the column comes back.
fn needs(state: &UiState, out: &mut Layout, column: Rect) -> Rect {
    let has_focus = state.focus == Focus::Pane(Pane::Needs);
    if state.requests.is_empty() && !has_focus {
        return column;
    }
    // Who decides wants to see all of it.
    let share = if has_focus { 75 } else { 45 };
    let most = (column.height * share / 100).max(8);
    let wanted = needs_card::height(state, column.width.saturating_sub(4), most);
    let height = wanted.saturating_add(2).clamp(6, most);
    let (top, rest) = cut_top(column, height);
    out.panes.push((Pane::Needs, top));
    rest
}

fn banner(state: &UiState, out: &mut Layout, body: Rect, pane: Pane) -> Rect {
    if pane == Pane::Needs || state.requests.for_person() == 0 {
        return body;
    }
    let (line, rest) = cut_top(body, 1);
    out.banner = Some(line);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::fixture;

    #[test]
    fn the_class_follows_the_size() {
        let cases = [
            (59, 16, Class::Small),
            (60, 15, Class::Small),
            (60, 16, Class::Narrow),
            (99, 50, Class::Narrow),
            (100, 16, Class::Middle),
            (139, 50, Class::Middle),
            (140, 16, Class::Wide),
        ];
        for (width, height, expected) in cases {
            assert_eq!(class(Rect::new(0, 0, width, height)), expected);
        }
    }

    #[test]
    fn nothing_overlaps_and_nothing_is_outside() {
        let sizes = (60..=400).step_by(17).chain([61, 99, 100, 139, 140, 400]);
        for width in sizes {
            let mut state = fixture::busy(width, 60);
            for height in (16..60).chain([90, 120]) {
                for arrangement in Arrangement::ALL {
                    state.screen.layout = arrangement;
                    for focus in [
                        Focus::Composer,
                        Focus::Pane(Pane::Needs),
                        Focus::Pane(Pane::Todo),
                    ] {
                        state.focus = focus;
                        for share in [None, Some(0), Some(100)] {
                            state.screen.wall_left = share;
                            state.screen.board_left = share;
                            check(&state, Rect::new(0, 0, width, height));
                        }
                    }
                }
            }
        }
    }

    fn check(state: &UiState, area: Rect) {
        let layout = layout(state, area);
        let mut parts: Vec<Rect> = layout.panes.iter().map(|(_, r)| *r).collect();
        parts.extend([layout.status, layout.hints]);
        parts.extend(layout.composer);
        parts.extend(layout.banner);
        parts.extend(layout.tabs.map(|(r, _)| r));
        for (i, one) in parts.iter().enumerate() {
            assert_eq!(area.intersection(*one), *one, "{area}");
            for other in &parts[i + 1..] {
                assert!(!one.intersects(*other), "{area}: {one} {other}");
            }
        }
        let cells: u32 = parts.iter().map(|r| r.area()).sum();
        assert_eq!(cells, area.area(), "{area}: a hole, or less than all");
    }

    #[test]
    fn what_waits_is_on_top_of_its_column() {
        for width in [100, 160] {
            let layout = layout(&fixture::busy(width, 40), Rect::new(0, 0, width, 40));
            let needs = layout.pane(Pane::Needs).unwrap();
            assert_eq!(needs.y, 1);
            assert_eq!(layout.at(needs.x, needs.y), Some(Focus::Pane(Pane::Needs)));
        }
    }
}
