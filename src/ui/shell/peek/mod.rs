//! Pure: the preview of a pane's selection: its content and layout.

mod popup;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::layout::Layout;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::{board as model_board, sentence, style};
use crate::ui::panes;
use crate::ui::panes::needs::card;
use crate::ui::panes::{board, inbox, needs, team};
use crate::ui::popups::{task_page, thread};
pub use crate::ui::shell::peek::popup::Peek;
use crate::ui::shell::state::UiState;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::transcript::ScrollAnchor;
use crate::ui::widgets::area;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum columns beside the pane. With fewer, the preview takes the lower part of the pane.
const BESIDE_MIN: u16 = 44;
/// Maximum columns.
const WIDTH_MAX: u16 = 100;
/// Minimum rows above or below the pane.
const ROWS_MIN: u16 = 12;
/// Rows of the preview if the screen has them, even if the pane is lower.
const ROWS: u16 = 24;
/// A pane with fewer visible rows than this is covered completely.
const EDGE_ROWS: u16 = 3;
/// Minimum rows, with border, of a pane that shares its area with the preview.
const LIST_MIN: u16 = 5;

/// Returns whether `pane` has a selection to preview.
pub fn can(app: &App, pane: Pane) -> bool {
    panes::feature::feature(pane).can_peek(app)
}

/// Returns the previewed pane.
fn of(app: &App) -> Option<Pane> {
    let pane = app.popups.top::<Peek>()?.pane;
    (app.focus == Focus::Pane(pane)).then_some(pane)
}

/// Returns whether the conversation of `agent` is previewed.
pub fn shows(app: &App, agent: &Name) -> bool {
    of(app) == Some(Pane::Team)
        && team::selected_member(app).is_some_and(|(_, name)| name == *agent)
}

/// Places the preview beside its pane if there is room, else in the lower part of the pane.
pub fn make_room(app: &App, layout: &mut Layout) {
    let Some(pane) = of(app) else { return };
    let Some(list) = layout.pane(pane) else {
        return;
    };
    let all = layout.panes.iter().map(|(_, area)| *area);
    let body = all.chain(layout.composer).reduce(Rect::union);
    let body = body.unwrap_or(list);
    layout.peek = beside(body, list).map(|peek| without_rest(peek, layout));
    if layout.peek.is_none() {
        let height = (list.height * 2 / 5).max(LIST_MIN).min(list.height);
        let (above, below) = cut_top(list, height);
        layout.peek = Some(below);
        for (other, area) in &mut layout.panes {
            if *other == pane {
                *area = above;
            }
        }
    }
}

/// Extends the preview over a pane below of which less than [`EDGE_ROWS`] would be visible.
fn without_rest(peek: Rect, layout: &Layout) -> Rect {
    let covered = layout.panes.iter().filter(|(_, a)| a.intersects(peek));
    let rests = covered.map(|(_, area)| area.bottom().saturating_sub(peek.bottom()));
    let rest = rests.filter(|rest| *rest < EDGE_ROWS).max().unwrap_or(0);
    Rect {
        height: peek.height + rest,
        ..peek
    }
}

/// Returns an area in `body` that does not cover `list`, if one is large enough: beside the list, else above or below
/// it.
fn beside(body: Rect, list: Rect) -> Option<Rect> {
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
    let height = best.height.min(list.height.max(ROWS));
    // As close to the list as possible.
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

/// The previewed item.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Task(TaskId),
    /// A message, by its number.
    Letter(u64),
    Request(RequestId),
    Agent(Name),
}

fn subject(app: &App) -> Option<Subject> {
    match of(app)? {
        Pane::Board => board::selected(app).map(|(_, id)| Subject::Task(id)),
        Pane::Inbox => inbox::selected_letter(app).map(|(_, l)| Subject::Letter(l.number)),
        Pane::Needs => needs::selected_request(app).map(|(_, r)| Subject::Request(r.id.clone())),
        Pane::Team => team::selected_member(app).map(|(_, name)| Subject::Agent(name)),
        Pane::Lead | Pane::Todo => None,
    }
}

/// The scroll position of the preview. It belongs to one item: another item starts at its beginning.
#[derive(Debug, Clone, Default)]
pub struct PreviewScroll {
    of: Option<Subject>,
    /// Lines scrolled off the top; `None` for the item's default start.
    first: Option<usize>,
    /// The position in a conversation.
    place: ScrollAnchor,
}

/// Returns the scroll position of the current preview.
pub fn reading(state: &UiState) -> PreviewScroll {
    let of = subject(state);
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

impl PreviewScroll {
    /// Returns how many lines of `peeked` are scrolled off the top of `list`.
    pub fn first(&self, peeked: &Preview, list: Rect) -> usize {
        let most = peeked.lines.len().saturating_sub(usize::from(list.height));
        self.first.unwrap_or(peeked.begin).min(most)
    }

    /// Returns the position in a conversation.
    pub fn place(&self) -> &ScrollAnchor {
        &self.place
    }
}

/// Returns the area of an agent's conversation, below `head` lines and a rule.
pub fn talk(area: Rect, head: usize) -> Rect {
    let inside = area::inside(area);
    let above = u16::try_from(head).unwrap_or(u16::MAX).saturating_add(1);
    cut_top(inside, above).1
}

/// Returns the scrollbar of the preview in `area`.
pub fn scrollbar(state: &UiState, area: Rect) -> Option<Scrollbar> {
    let list = area::inside(area);
    let peeked = peeked(state, usize::from(list.width), &Theme::default())?;
    let reading = reading(state);
    let len = peeked.lines.len();
    let Some(name) = &peeked.agent else {
        return Scrollbar::of_list(area, list, reading.first(&peeked, list), len);
    };
    let talk = talk(area, len);
    let agent = state.model.agents.get(name).filter(|a| a.has_spoken)?;
    if talk.is_empty() {
        return None;
    }
    let viewport = frame_layout::viewport(talk);
    let scrolled = agent.transcript.scroll_state_at(&reading.place, viewport)?;
    Scrollbar::new(area, talk, scrolled)
}

/// A scroll movement of the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrollTo {
    /// Relative.
    By(Scroll),
    /// Absolute: this many rows above, as the scrollbar counts.
    To(usize),
}

/// Returns the scroll position after a movement.
pub fn go(state: &UiState, area: Rect, go: ScrollTo) -> Option<PreviewScroll> {
    let list = area::inside(area);
    let peeked = peeked(state, usize::from(list.width), &Theme::default())?;
    let mut reading = reading(state);
    let len = peeked.lines.len();
    let Some(name) = &peeked.agent else {
        let seen = usize::from(list.height).max(1);
        let most = len.saturating_sub(seen);
        reading.first = Some(match go {
            ScrollTo::By(by) => scrolled(reading.first(&peeked, list), most, by, seen),
            ScrollTo::To(first) => first.min(most),
        });
        return Some(reading);
    };
    let talk = talk(area, len);
    let transcript = &state.model.agents.get(name)?.transcript;
    if !talk.is_empty() {
        let viewport = frame_layout::viewport(talk);
        reading.place = match go {
            ScrollTo::By(by) => transcript.scroll_from(reading.place, by, viewport),
            ScrollTo::To(above) => transcript.anchor_at_offset(above, viewport),
        };
    }
    Some(reading)
}

/// Returns the request previewed in `area` if its last line is visible.
pub fn request_at_end(state: &UiState, area: Rect) -> Option<RequestId> {
    let Some(Subject::Request(id)) = subject(state) else {
        return None;
    };
    let list = area::inside(area);
    let peeked = peeked(state, usize::from(list.width), &Theme::default())?;
    let first = reading(state).first(&peeked, list);
    (first + usize::from(list.height) >= peeked.lines.len()).then_some(id)
}

/// Returns the first visible line, at most `most`, after scrolling by `by`.
fn scrolled(first: usize, most: usize, by: Scroll, seen: usize) -> usize {
    let page = seen.saturating_sub(1).max(1);
    let half = seen.div_ceil(2);
    let to = match by {
        Scroll::LineUp => first.saturating_sub(1),
        Scroll::LineDown => first + 1,
        Scroll::HalfUp => first.saturating_sub(half),
        Scroll::HalfDown => first + half,
        Scroll::PageUp => first.saturating_sub(page),
        Scroll::PageDown => first + page,
        Scroll::Top => 0,
        Scroll::Bottom => most,
    };
    to.min(most)
}

/// The content of the preview.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The title.
    pub title: String,
    /// The lines at the top.
    pub lines: Vec<Line<'static>>,
    /// The line to start at if not all lines fit.
    pub begin: usize,
    /// The agent whose conversation is shown below.
    pub agent: Option<Name>,
}

/// Returns the content of the preview for a width of `columns`.
pub fn peeked(app: &App, columns: usize, theme: &Theme) -> Option<Preview> {
    let whole = |title: String, lines: Vec<Line<'static>>| Preview {
        title,
        lines,
        begin: 0,
        agent: None,
    };
    match of(app)? {
        Pane::Board => {
            let (_, id) = board::selected(app)?;
            let task = app.model.board.get(id)?;
            let lines = task_page::lines(app, task, columns, theme);
            Some(whole(format!("Task {id}"), lines))
        }
        Pane::Inbox => {
            let (_, traced) = inbox::selected_letter(app)?;
            let thread = thread::lay_out(app, traced, columns, theme);
            Some(Preview {
                begin: thread.opened,
                ..whole(thread::title(app, traced), thread.lines)
            })
        }
        Pane::Needs => {
            let (at, request) = needs::selected_request(app)?;
            let width = u16::try_from(columns).unwrap_or(u16::MAX);
            let heading = sentence::heading(request, &app.model.board, columns);
            let mut lines = vec![Line::styled(heading, theme.heading), Line::default()];
            let words = card::text(app, request, width, usize::MAX, theme).into_iter();
            let words = words.chain(card::choices(request, width, theme));
            lines.extend(words.map(|(_, line)| line));
            let title = format!("Request {} of {}", at + 1, app.model.requests.len());
            Some(whole(title, lines))
        }
        Pane::Team => {
            let (_, name) = team::selected_member(app)?;
            Some(Preview {
                title: name.to_string(),
                lines: about(app, &name, columns, theme),
                begin: 0,
                agent: Some(name),
            })
        }
        Pane::Lead | Pane::Todo => None,
    }
}

/// Returns the activity, the task and the problems of an agent.
fn about(app: &App, name: &Name, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let activity = app.activity(name);
    let (shape, words, style) = style::activity(&activity, app.now, theme);
    let more = match &activity {
        Activity::Tool { on, .. } => one_line(on),
        Activity::Stuck { why } | Activity::Failed { why } => one_line(why),
        Activity::Backoff { cause, .. } => one_line(cause),
        Activity::Queued { .. } => "waiting in the call queue".into(),
        Activity::Idle
        | Activity::Thinking
        | Activity::Compacting
        | Activity::NeedsYou { .. }
        | Activity::Gone => String::new(),
    };
    let mut out = Vec::new();
    let now = format!("{shape} {words}  {more}");
    let mut rest = wrap(now.trim_end(), columns).into_iter();
    out.extend(rest.next().map(|line| Line::styled(line, style)));
    out.extend(rest.take(1).map(|line| Line::styled(line, style)));
    let task = model_board::open_task(app, name)
        .map(|t| format!("{} {}", t.id, one_line(&t.subject)))
        .or_else(|| app.model.team.find(name).map(|m| one_line(&m.role)))
        .or_else(|| app.model.agents.get(name).map(|a| a.errand.clone()))
        .unwrap_or_default();
    if !task.is_empty() {
        let task = crate::ui::text::fit(&task, columns);
        out.push(Line::from(vec![Span::styled(task, theme.dim)]));
    }
    out
}
