//! The card of a request in the pane "Needs you". The height of the card determines the height of the pane. Plans are
//! rendered as Markdown; all other requests are shown verbatim.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::request::{Approver, Request, RequestKind};
use crate::domain::text::one_line;
use crate::ui::frame::layout as frame_layout;
use crate::ui::model::CrewModel;
use crate::ui::panes::needs::NeedsPane;
use crate::ui::text::{command_text, wrap, wrap_first_lines};
use crate::ui::theme::Theme;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Maximum number of requests whose headings are shown above the card.
const LISTED_MAX: usize = 3;
/// Maximum number of agents that the card names as having sent the same request. Further agents are only counted.
const OTHERS_MAX: usize = 6;
/// Minimum number of visible rows for the text of the request. If fewer are left beside the choices, the choices scroll
/// together with the text.
const TEXT_MIN: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardLineKind {
    /// A line of the details: the working directory, other agents with the same request, and whether the lead may
    /// decide.
    Detail,
    Body,
    /// A line of the choice with this number, counted from 1. The first line of each choice begins with its number.
    Choice(usize),
}

pub type CardLine = (CardLineKind, Line<'static>);

/// The card of the selected request: the lines that scroll, and the choices that stay visible above the buttons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    /// The lines that scroll: the details and the body of the request, followed by the choices if `pinned` is empty.
    pub lines: Vec<CardLine>,
    /// The number of rows on the screen in which `lines` scrolls.
    pub room: usize,
    /// The lines of the choices, if there is room for all of them and for some text. Otherwise empty: the choices are
    /// then at the end of `lines`.
    pub pinned: Vec<CardLine>,
}

/// Returns the area for text in a pane with the frame `area`.
pub fn inside(area: Rect) -> Rect {
    frame_layout::inside(area).inner(frame_layout::BESIDE_TEXT)
}

/// Lays out the card of the selected request for a text width of `width` columns. `height` is the number of rows inside
/// the frame, including the headings and the buttons.
pub fn card(pane: &NeedsPane, model: &CrewModel, width: u16, height: u16, theme: &Theme) -> Card {
    let Some((_, request)) = pane.selected_request(model) else {
        return Card::default();
    };
    let mut lines = text(model, request, width, usize::MAX, theme);
    let choices = choices(request, width, theme);
    let rows = usize::from(height.saturating_sub(heading_rows(model) + 1));
    if choices.len() + TEXT_MIN.min(lines.len()) <= rows {
        let mut choices = choices;
        // Adds a blank line before the buttons if nothing needs to scroll even with that line.
        if !choices.is_empty() && lines.len() + choices.len() + 1 < rows {
            choices.push((CardLineKind::Detail, Line::default()));
        }
        let room = rows - choices.len();
        return Card {
            lines,
            room,
            pinned: choices,
        };
    }
    lines.extend(choices);
    Card {
        lines,
        room: rows,
        pinned: Vec::new(),
    }
}

/// The areas of the selected request's card, and the content to draw in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardLayout {
    /// The rows with the headings of the open requests.
    pub list: Rect,
    /// The area in which [`Card::lines`] is shown and scrolls.
    pub text: Rect,
    /// The area of [`Card::pinned`], the choices that stay visible above the buttons.
    pub pinned: Rect,
    /// The row of the buttons; `None` if there is no row left for them.
    pub buttons: Option<Rect>,
    /// The visible rows of the choices, each with the number of its choice.
    pub choices: Vec<(Rect, usize)>,
    pub card: Card,
    /// The number of lines of [`Card::lines`] that are scrolled off the top.
    pub top: usize,
}

impl CardLayout {
    /// Returns the scrollbar of the text, on the right edge of the pane's frame `area`; `None` if all lines are
    /// visible.
    pub fn bar(&self, area: Rect) -> Option<Scrollbar> {
        Scrollbar::of_list(area, self.text, self.top, self.card.lines.len())
    }
}

/// Computes the areas of the selected request's card. `inside` is the area for text in the pane.
pub fn card_layout(pane: &NeedsPane, model: &CrewModel, inside: Rect, theme: &Theme) -> CardLayout {
    let card = card(pane, model, inside.width, inside.height, theme);
    let pinned = u16::try_from(card.pinned.len()).unwrap_or(u16::MAX);
    let cut = |area: Rect, rows: u16| {
        let height = rows.min(area.height);
        let below = Rect {
            y: area.bottom() - height,
            height,
            ..area
        };
        (
            Rect {
                height: area.height - height,
                ..area
            },
            below,
        )
    };
    let (rest, buttons) = cut(inside, 1);
    let (rest, pinned) = cut(rest, pinned);
    let (list, mut text) = cut(rest, rest.height.saturating_sub(heading_rows(model)));
    // The choices and the buttons follow the text. Rows that the text leaves blank are below them, except for one.
    let filled = u16::try_from(card.lines.len()).unwrap_or(u16::MAX);
    let free = text.height.saturating_sub(filled);
    let up = free.saturating_sub(1);
    text.height -= free;
    let raise = |area: Rect| Rect {
        y: area.y - up,
        ..area
    };
    let (pinned, buttons) = (raise(pinned), raise(buttons));
    let most = card.lines.len().saturating_sub(text.height.into());
    let top = pane.scroll.min(most);
    let lines = card.lines.iter().skip(top).zip(text.rows());
    let choices = lines.chain(card.pinned.iter().zip(pinned.rows()));
    let choices = choices.filter_map(|((part, _), row)| match part {
        CardLineKind::Choice(number) => Some((row, *number)),
        CardLineKind::Detail | CardLineKind::Body => None,
    });
    CardLayout {
        choices: choices.collect(),
        buttons: (buttons.height > 0).then_some(buttons),
        list,
        text,
        pinned,
        card,
        top,
    }
}

/// Returns whether the pane with the frame `area` shows all lines of the selected request and its choices.
pub fn shows_all(pane: &NeedsPane, model: &CrewModel, area: Rect) -> bool {
    let layout = card_layout(pane, model, inside(area), &Theme::default());
    layout.card.lines.len() <= usize::from(layout.text.height)
}

/// Returns whether choice `number` of the selected request is visible: all its lines, or for a long choice as many
/// lines as the text area has rows. Choices are counted from 1, and `area` is the frame of the pane. Returns false if
/// there is no such choice or the pane is not visible.
pub fn shows_choice(
    pane: &NeedsPane,
    model: &CrewModel,
    area: Option<Rect>,
    number: usize,
) -> bool {
    area.is_some_and(|area| {
        let layout = card_layout(pane, model, inside(area), &Theme::default());
        let all = layout.card.lines.iter().chain(&layout.card.pinned);
        let lines = all.filter(|(kind, _)| *kind == CardLineKind::Choice(number));
        let visible = layout.choices.iter().filter(|(_, n)| *n == number);
        let most = usize::from(layout.text.height);
        visible.count() >= lines.count().min(most).max(1)
    })
}

/// Returns the number of lines to scroll off the top so that choice `number` of the selected request is visible.
/// Returns the current number if the choice does not scroll or does not exist. `area` is the frame of the pane.
pub fn scroll_to_choice(pane: &NeedsPane, model: &CrewModel, area: Rect, number: usize) -> usize {
    let layout = card_layout(pane, model, inside(area), &Theme::default());
    let is_choice = |(kind, _): &CardLine| *kind == CardLineKind::Choice(number);
    let lines = &layout.card.lines;
    let (first, last) = (
        lines.iter().position(is_choice),
        lines.iter().rposition(is_choice),
    );
    let (Some(first), Some(last)) = (first, last) else {
        return layout.top;
    };
    let lowest = (last + 1).saturating_sub(layout.text.height.into());
    layout.top.max(lowest).min(first)
}

/// How much of the selected permission request is visible to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Whether the end of the request is visible.
    pub is_at_end: bool,
    /// The number of characters that are hidden because long comments in the command are folded.
    pub folded: usize,
    /// The number of bytes that are cut from the middle of the command because the command is too long to show.
    pub cut: usize,
}

/// Returns how much of the selected permission request is visible, or `None` if the selected request is not a
/// permission request.
pub fn reading_progress(
    pane: &NeedsPane,
    model: &CrewModel,
    area: Option<Rect>,
) -> Option<Reading> {
    let (_, request) = pane.selected_request(model)?;
    if request.kind != RequestKind::Permission {
        return None;
    }
    let is_at_end = area.is_some_and(|area| {
        let card_layout = card_layout(pane, model, inside(area), &Theme::default());
        card_layout.top + usize::from(card_layout.text.height) >= card_layout.card.lines.len()
    });
    let shown = command_text::render_command(&request.body);
    Some(Reading {
        is_at_end,
        folded: shown.folded_chars,
        cut: shown.cut_bytes,
    })
}

/// Returns the number of rows for the headings of the open requests, at most `LISTED_MAX`. The heading of the selected
/// request is one of them.
pub fn heading_rows(model: &CrewModel) -> u16 {
    u16::try_from(model.requests.len().min(LISTED_MAX)).unwrap_or(0)
}

/// Returns the number of rows that the headings, the card and its buttons need inside the frame of the pane. If more
/// than `most` rows are needed, the result may be too small, but is still greater than `most`.
pub fn height(pane: &NeedsPane, model: &CrewModel, width: u16, most: u16) -> u16 {
    let lines = pane.selected_request(model).map_or(0, |(_, request)| {
        let theme = Theme::default();
        let text = text(model, request, width, usize::from(most), &theme);
        text.len() + choices(request, width, &theme).len()
    });
    // Adds one row for the buttons, a blank row before the buttons and, if there are choices, one before the choices.
    let blanks = pane
        .selected_request(model)
        .map_or(1, |(_, r)| 1 + usize::from(!r.choices.is_empty()));
    let lines = u16::try_from(lines + blanks + 1).unwrap_or(u16::MAX);
    lines.saturating_add(heading_rows(model))
}

/// Renders the details and the body of a request, wrapped to `width` columns. To save work, lines of the body after the
/// first `enough` may be missing.
pub fn text(
    model: &CrewModel,
    request: &Request,
    width: u16,
    enough: usize,
    theme: &Theme,
) -> Vec<CardLine> {
    let width = usize::from(width.min(frame_layout::TEXT_WIDEST));
    let body = if request.body.trim().is_empty() {
        "No reason given."
    } else {
        request.body.as_str()
    };
    let details = wrap(&details(model, request), width).into_iter();
    let details = details.filter(|l| !l.is_empty());
    let mut out: Vec<CardLine> = details
        .map(|line| (CardLineKind::Detail, Line::styled(line, theme.dim)))
        .collect();
    match request.kind {
        RequestKind::Plan => {
            let page = model.requests.plans().get(body, width, theme);
            out.extend(
                page.iter()
                    .take(enough)
                    .map(|l| (CardLineKind::Body, l.clone())),
            );
        }
        RequestKind::Permission => {
            let body = command_text::render_command(body).text;
            let body = wrap_first_lines(&body, width, enough).into_iter();
            out.extend(body.map(|line| (CardLineKind::Body, Line::styled(line, theme.text))));
        }
        RequestKind::Question | RequestKind::Shutdown | RequestKind::Budget => {
            let body = wrap_first_lines(body, width, enough).into_iter();
            out.extend(body.map(|line| (CardLineKind::Body, Line::styled(line, theme.text))));
        }
    }
    out
}

pub fn choices(request: &Request, width: u16, theme: &Theme) -> Vec<CardLine> {
    let mut out = Vec::new();
    for (at, choice) in request.choices.iter().enumerate() {
        let room = usize::from(width.min(frame_layout::TEXT_WIDEST))
            .saturating_sub(3)
            .max(1);
        for (i, line) in wrap(&one_line(choice), room).into_iter().enumerate() {
            let key = if i == 0 {
                format!("{}  ", at + 1)
            } else {
                "   ".into()
            };
            let line = Line::from(vec![
                Span::styled(key, theme.accent),
                Span::styled(line, theme.text),
            ]);
            out.push((CardLineKind::Choice(at + 1), line));
        }
    }
    out
}

/// Describes in one line the working directory, other agents with the same request, and whether the lead may decide.
fn details(model: &CrewModel, request: &Request) -> String {
    let mut parts = Vec::new();
    match request.kind {
        RequestKind::Plan | RequestKind::Permission | RequestKind::Question => {
            let root = model.setup.as_ref().map_or("", |s| s.root.as_str());
            let place = match (root, request.workdir.as_str()) {
                (root, "") => root.to_string(),
                ("", below) => below.to_string(),
                (root, below) => format!("{root}/{below}"),
            };
            if !place.is_empty() {
                parts.push(format!("in {}", one_line(&place)));
            }
        }
        RequestKind::Shutdown | RequestKind::Budget => {}
    }
    parts.extend(others(model, request));
    if request.approver == Approver::Lead {
        parts.push("the lead may decide this".into());
    }
    parts.join(" · ")
}

/// Names the agents that have sent the same request as `request`; `None` if there is no other such request. The agent
/// that has sent `request` is named with `again` if it has sent the same request more than once. Names at most
/// [`OTHERS_MAX`] agents and counts the others.
fn others(model: &CrewModel, request: &Request) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for other in model.requests.same(request) {
        let mut name = other.from.to_string();
        if other.from.same(&request.from) {
            name.push_str(" again");
        }
        if other.workdir != request.workdir {
            let place = match other.workdir.as_str() {
                "" => "the root".into(),
                below => one_line(below),
            };
            name.push_str(&format!(" in {place}"));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let beyond = names.len().saturating_sub(OTHERS_MAX);
    names.truncate(OTHERS_MAX);
    let more = if beyond > 0 {
        format!(" and {beyond} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| format!("also asked by {}{more}", names.join(", ")))
}
