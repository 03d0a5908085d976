//! Pure: a look at what is selected in a pane, without leaving it: what it shows, and where it lies.

pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::app::popup::Popup;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::layout::Layout;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::{board as model_board, sentence, style};
use crate::ui::panes;
use crate::ui::panes::needs::card;
use crate::ui::panes::{board, inbox, needs, team};
use crate::ui::popups::{task_page, thread};
use crate::ui::shell::state::UiState;
use crate::ui::text::wrap;
use crate::ui::theme::Theme;
use crate::ui::transcript::Place;
use crate::ui::widgets::area;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Least columns beside the pane: below, what is peeked at lies in the pane itself.
const BESIDE_MIN: u16 = 44;
/// Most columns.
const WIDTH_MAX: u16 = 100;
/// Least rows above or below the pane.
const ROWS_MIN: u16 = 12;
/// Rows that it has where there are so many, however low the pane.
const ROWS: u16 = 24;
/// Rows of a pane in which next to nothing can be read.
const EDGE_ROWS: u16 = 3;
/// Least rows of a pane that shares its place, with its frame.
const LIST_MIN: u16 = 5;

/// Whether something is selected in `pane` that can be peeked at.
pub fn can(app: &App, pane: Pane) -> bool {
    panes::feature::feature(pane).can_peek(app)
}

/// The pane that is peeked at.
fn of(app: &App) -> Option<Pane> {
    let Some(Popup::Peek(pane)) = app.popups.last() else {
        return None;
    };
    (app.focus == Focus::Pane(*pane)).then_some(*pane)
}

/// Whether the conversation of `agent` is peeked at.
pub fn shows(app: &App, agent: &Name) -> bool {
    of(app) == Some(Pane::Team)
        && team::selected_member(app).is_some_and(|(_, name)| name == *agent)
}

/// Finds a place for what is peeked at: beside its pane where there is room, else in the pane's lower part.
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

/// The same place, and what of a pane below it would be no more than its edge.
fn without_rest(peek: Rect, layout: &Layout) -> Rect {
    let covered = layout.panes.iter().filter(|(_, a)| a.intersects(peek));
    let rests = covered.map(|(_, area)| area.bottom().saturating_sub(peek.bottom()));
    let rest = rests.filter(|rest| *rest < EDGE_ROWS).max().unwrap_or(0);
    Rect {
        height: peek.height + rest,
        ..peek
    }
}

/// A place in `body` that leaves `list` in view, if one is large enough: the column beside it, else its own column above
/// or below it.
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
    // As near to the list as it can be.
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

/// What is selected in the pane that is peeked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Task(TaskId),
    /// By its number.
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

/// How far what is peeked at is scrolled. That counts for it alone: whatever is selected next begins where it begins.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    of: Option<Subject>,
    /// Lines of a text that lie above; `None`: it is read from where it begins.
    first: Option<usize>,
    /// Where in a conversation.
    place: Place,
}

/// How far what is peeked at now is scrolled.
pub fn reading(state: &UiState) -> Reading {
    let of = subject(state);
    if of.is_some() && state.reading.of == of {
        return state.reading.clone();
    }
    Reading {
        of,
        ..Reading::default()
    }
}

impl Reading {
    /// Lines of `peeked` that lie above such a place for it.
    pub fn first(&self, peeked: &Peeked, list: Rect) -> usize {
        let most = peeked.lines.len().saturating_sub(usize::from(list.height));
        self.first.unwrap_or(peeked.begin).min(most)
    }

    /// Where in a conversation.
    pub fn place(&self) -> &Place {
        &self.place
    }
}

/// The place for the conversation of an agent, below the `head` lines that are said of it and a rule.
pub fn talk(area: Rect, head: usize) -> Rect {
    let inside = area::inside(area);
    let above = u16::try_from(head).unwrap_or(u16::MAX).saturating_add(1);
    cut_top(inside, above).1
}

/// The scrollbar of what is peeked at, which lies in `area`.
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
    let scrolled = agent.transcript.scrolled_at(&reading.place, viewport)?;
    Scrollbar::new(area, talk, scrolled)
}

/// Where the reading of what is peeked at goes, which lies in `area`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Further by so much.
    By(Scroll),
    /// To where so much lies above, as the scrollbar counts.
    To(usize),
}

/// How far it is scrolled then.
pub fn go(state: &UiState, area: Rect, go: Go) -> Option<Reading> {
    let list = area::inside(area);
    let peeked = peeked(state, usize::from(list.width), &Theme::default())?;
    let mut reading = reading(state);
    let len = peeked.lines.len();
    let Some(name) = &peeked.agent else {
        let seen = usize::from(list.height).max(1);
        let most = len.saturating_sub(seen);
        reading.first = Some(match go {
            Go::By(by) => scrolled(reading.first(&peeked, list), most, by, seen),
            Go::To(first) => first.min(most),
        });
        return Some(reading);
    };
    let talk = talk(area, len);
    let transcript = &state.model.agents.get(name)?.transcript;
    if !talk.is_empty() {
        let viewport = frame_layout::viewport(talk);
        reading.place = match go {
            Go::By(by) => transcript.scroll_from(reading.place, by, viewport),
            Go::To(above) => transcript.place_at(above, viewport),
        };
    }
    Some(reading)
}

/// The request that is peeked at in `area`, if its last line is in view.
pub fn request_at_end(state: &UiState, area: Rect) -> Option<RequestId> {
    let Some(Subject::Request(id)) = subject(state) else {
        return None;
    };
    let list = area::inside(area);
    let peeked = peeked(state, usize::from(list.width), &Theme::default())?;
    let first = reading(state).first(&peeked, list);
    (first + usize::from(list.height) >= peeked.lines.len()).then_some(id)
}

/// The line at the top, of at most `most`, that `by` leads to.
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

/// What is peeked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Peeked {
    /// What it is.
    pub title: String,
    /// What is said of it, above.
    pub lines: Vec<Line<'static>>,
    /// The line with which its reading begins, where not all lines are in view.
    pub begin: usize,
    /// The agent whose newest words stand below.
    pub agent: Option<Name>,
}

/// What is peeked at now, `columns` columns wide.
pub fn peeked(app: &App, columns: usize, theme: &Theme) -> Option<Peeked> {
    let whole = |title: String, lines: Vec<Line<'static>>| Peeked {
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
            Some(Peeked {
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
            Some(Peeked {
                title: name.to_string(),
                lines: about(app, &name, columns, theme),
                begin: 0,
                agent: Some(name),
            })
        }
        Pane::Lead | Pane::Todo => None,
    }
}

/// What an agent does, on what, and what is wrong.
fn about(app: &App, name: &Name, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let activity = app.activity(name);
    let (shape, words, style) = style::activity(&activity, app.now, theme);
    let more = match &activity {
        Activity::Tool { on, .. } => one_line(on),
        Activity::Stuck { why } | Activity::Failed { why } => one_line(why),
        Activity::Backoff { cause, .. } => one_line(cause),
        Activity::Queued { .. } => "waits for a free call".into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lies_beside_the_list_and_never_over_it() {
        let body = Rect::new(0, 1, 160, 40);
        let cases = [
            // In the right column: all of the left one, as near as can be.
            (Rect::new(100, 21, 60, 10), Some(Rect::new(0, 17, 100, 24))),
            // In the left one, the right one is wide enough.
            (Rect::new(0, 1, 90, 40), Some(Rect::new(90, 1, 70, 40))),
            // Both sides are too narrow: above it.
            (Rect::new(30, 31, 100, 10), Some(Rect::new(30, 7, 100, 24))),
            // Below it.
            (Rect::new(30, 1, 100, 10), Some(Rect::new(30, 11, 100, 24))),
            // Nowhere.
            (body, None),
        ];
        for (list, expected) in cases {
            assert_eq!(beside(body, list), expected, "{list}");
        }
    }
}
